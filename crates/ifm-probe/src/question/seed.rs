//! Whether a seed makes an answer reproducible.

use super::{Finding, Grade, Inquiry, Section};
use serde_json::json;

const PROMPT: &str = "Write a random sentence about anything.";
const TOKENS: u32 = 16;

/// The same seed twice and another one, at temperature 1.
pub fn ask(inquiry: &mut Inquiry) -> Vec<Finding> {
    let id = (Section::Wishes, "seed");
    let mut texts = Vec::new();
    for seed in [7, 7, 8] {
        match inquiry.say(PROMPT, TOKENS, false, json!({"seed": seed, "temperature": 1})) {
            Ok(heard) => texts.push(heard.answer.text.map(String::from).unwrap_or_default()),
            Err(why) => return vec![Finding::unknown(id, why)],
        }
    }
    let how = "three answers at temperature 1, two of them with one seed";
    let is_same = |a: usize, b: usize| texts.get(a) == texts.get(b);
    vec![match (is_same(0, 1), is_same(0, 2)) {
        _ if texts.iter().any(String::is_empty) => Finding::unknown(id, "an answer had no text"),
        (true, false) => Finding::known(id, Grade::Good, true, "honored").how(how),
        (true, true) => {
            Finding::unknown(id, "the answer is the same for every seed, even at temperature 1")
        }
        (false, _) => Finding::known(id, Grade::Note, false, "not honored")
            .how(how)
            .means("texts are not reproducible; lengths are if ignore_eos is honored"),
    }]
}
