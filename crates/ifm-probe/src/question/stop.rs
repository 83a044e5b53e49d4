//! Whether a stop text ends an answer.

use super::stream::SHORT_ANSWER;
use super::{Finding, Grade, Inquiry, Section};
use ifm_wire::Answer;
use serde_json::json;

/// Characters of the stop text.
const STOP_CHARS: usize = 3;

/// A part from the middle of an answer as the stop text of the same request.
pub fn ask(inquiry: &mut Inquiry) -> Vec<Finding> {
    let id = (Section::Wishes, "stop");
    let (before, tokens) = match &inquiry.forced {
        Some((answer, tokens)) => (text_of(answer), *tokens),
        None => return vec![Finding::unknown(id, "there was no answer to stop")],
    };
    let Some(stop) = middle(&before) else {
        return vec![Finding::unknown(id, "no answer was long enough to stop")];
    };
    let heard = inquiry.say(SHORT_ANSWER, tokens, true, json!({"stop": [stop]}));
    let text = match heard {
        Ok(heard) => text_of(&heard.answer),
        Err(why) => return vec![Finding::unknown(id, why)],
    };
    let how = "the same request with a part of its answer as the stop text";
    vec![if !before.starts_with(&text) && !text.starts_with(&before) {
        Finding::unknown(id, "the same request did not give the same answer")
    } else if text.len() < before.len() {
        Finding::known(id, Grade::Good, true, "honored").how(how)
    } else {
        Finding::known(id, Grade::Note, false, "not honored").how(how)
    }]
}

fn text_of(answer: &Answer) -> String {
    answer.text.as_deref().unwrap_or_default().to_owned()
}

/// Some characters after the middle of a text that do not occur before.
fn middle(text: &str) -> Option<String> {
    let chars: Vec<char> = text.chars().collect();
    let half = chars.len() / 2;
    (half..chars.len()).find_map(|from| {
        let part: String = chars.get(from..from + STOP_CHARS)?.iter().collect();
        let is_plain = !part.contains('\u{fffd}') && part.trim() == part;
        let before: String = chars.get(..from + STOP_CHARS - 1)?.iter().collect();
        (is_plain && !before.contains(&part)).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_text_is_new_where_it_stands() {
        assert_eq!(middle("abcdefgh").as_deref(), Some("efg"));
        assert_eq!(middle("aaaaaaaa"), None);
        assert_eq!(middle("ab"), None);
        assert_eq!(middle("abcd   efgh").as_deref(), Some("efg"));
    }
}
