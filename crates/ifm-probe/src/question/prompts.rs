//! How the server counts prompts, and whether it accepts token IDs.

use super::inquiry::Wish;
use super::{Finding, Grade, Inquiry, Section};
use ifm_core::Prompt;
use ifm_core::spec::Api;
use ifm_workload::word_texts;
use serde_json::{Value, json};

/// Tokens of the two texts together.
const TEXT_TOKENS: u32 = 256;
/// Token IDs of a prompt of IDs.
const IDS: [u32; 8] = [300, 301, 302, 303, 304, 305, 306, 307];

/// Texts with known token counts, separately and together.
pub fn ask(inquiry: &mut Inquiry) -> Vec<Finding> {
    let mut findings = vec![match count(inquiry) {
        Ok(counts) => counts.finding(inquiry.is_own_tokenizer),
        Err(why) => Finding::unknown((Section::Prompts, "tokenizer"), why),
    }];
    findings.push(token_ids(inquiry));
    findings
}

struct Counts {
    template_tokens: i64,
    counted: i64,
    made: i64,
}

/// The constant part of a prompt is the sum of two texts counted separately, minus the count of
/// both together.
fn count(inquiry: &mut Inquiry) -> Result<Counts, String> {
    let [(first, _), (second, _)] =
        word_texts(&inquiry.tokenizer, TEXT_TOKENS).map_err(|error| error.to_string())?;
    let both = format!("{first} {second}");
    let made = inquiry.tokenizer.encode(&both).map_err(|error| error.to_string())?.len();
    let mut counts = [0; 3];
    for (place, text) in counts.iter_mut().zip([first, second, both]) {
        let heard = inquiry.say(&text, 1, false, Value::Null)?;
        let counted = heard.answer.prompt_tokens.filter(|counted| !counted.from.is_estimate());
        let counted = counted.ok_or("the server does not report how long a prompt was")?;
        *place = i64::from(counted.tokens);
    }
    let [first, second, both] = counts;
    let template_tokens = first + second - both;
    Ok(Counts { template_tokens, counted: both - template_tokens, made: made as i64 })
}

impl Counts {
    fn finding(&self, is_own_tokenizer: bool) -> Finding {
        let id = (Section::Prompts, "tokenizer");
        let (template, counted, made) = (self.template_tokens, self.counted, self.made);
        let ratio = counted as f64 / made.max(1) as f64;
        let value = json!({"ratio": ratio, "template_tokens": template});
        let how =
            format!("{made} tokens were counted as {counted}, without {template} of the template");
        if template < 0 || counted <= 0 {
            return Finding::unknown(id, format!("its counts do not add up: {how}"));
        }
        let finding = match (counted == made, is_own_tokenizer) {
            (true, _) => Finding::known(
                id,
                Grade::Good,
                value,
                format!("like the embedded tokenizer, plus {template} tokens of its chat template"),
            ),
            (false, true) => Finding::known(
                id,
                Grade::Caution,
                value,
                format!("{ratio:.3} of its tokens to one of the given tokenizer"),
            )
            .means(
                "the file of --tokenizer is not the model's: prompts have other lengths than requested",
            ),
            (false, false) => Finding::known(
                id,
                Grade::Note,
                value,
                format!(
                    "{ratio:.3} of its tokens per embedded-tokenizer token, and {template} of its chat template"
                ),
            )
            .means("a run calibrates its prompts by the server's count, or uses --tokenizer FILE"),
        };
        finding.how(how)
    }
}

fn token_ids(inquiry: &mut Inquiry) -> Finding {
    let id = (Section::Prompts, "token_ids");
    let prompt = Prompt::Tokens(IDS.to_vec());
    let api = Api::Completions;
    let stream = inquiry.only_streams;
    let wish =
        Wish { api, prompt: &prompt, tokens: 1, stream, ignore_eos: false, fields: Value::Null };
    match inquiry.ask(&wish) {
        Err(why) if why.starts_with("HTTP") => Finding::known(id, Grade::Note, false, "not taken")
            .how(why)
            .means("prompts are sent as text"),
        Err(why) => Finding::unknown(id, why),
        Ok(heard) => {
            let counted = heard.answer.prompt_tokens.map(|counted| counted.tokens);
            let asked = IDS.len() as u32;
            let (text, grade) = match counted {
                Some(tokens) if tokens == asked => ("accepted unchanged".to_owned(), Grade::Good),
                Some(tokens) if tokens == asked + 1 => {
                    ("accepted, with a special token before them".to_owned(), Grade::Good)
                }
                Some(tokens) => (format!("accepted, but counted as {tokens}"), Grade::Note),
                None => ("taken".to_owned(), Grade::Good),
            };
            Finding::known(id, grade, true, text).how(format!("{asked} ids to /completions"))
        }
    }
}
