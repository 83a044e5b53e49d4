//! Whether answers have the requested length: over all answers of the probe.

use super::noted::Length;
use super::{Finding, Grade, Inquiry, Section};
use serde_json::Value;

/// Checks the lengths so far.
pub fn ask(inquiry: &mut Inquiry) -> Vec<Finding> {
    vec![judge(&inquiry.lengths)]
}

fn judge(lengths: &[Length]) -> Finding {
    let id = (Section::Wishes, "max_tokens");
    let told = |length: &Length| {
        let reason = length.finish_reason.as_deref().unwrap_or("none");
        format!("{} tokens for {} requested, finish reason {reason}", length.counted, length.asked)
    };
    let worst = lengths.iter().filter(|length| length.counted > length.asked);
    if let Some(worst) = worst.max_by_key(|length| length.counted - length.asked) {
        return Finding::known(id, Grade::Caution, false, "exceeded")
            .how(told(worst))
            .means("answers are longer than requested: compare tokens, not requests");
    }
    let is_cut = |length: &&Length| length.finish_reason.as_deref() == Some("length");
    let cut: Vec<&Length> = lengths.iter().filter(is_cut).collect();
    match cut.iter().find(|length| length.counted < length.asked) {
        Some(short) => Finding::known(id, Grade::Caution, false, "too short")
            .how(told(short))
            .means("the server cuts answers earlier than requested, or counts them differently"),
        None if cut.is_empty() => {
            let why = match lengths.is_empty() {
                true => "the server does not count its answers",
                false => "every answer ended by itself",
            };
            Finding::unknown(id, why)
        }
        None => Finding::known(id, Grade::Good, Value::Bool(true), "exact").how(format!(
            "{} answers of 1 to {} tokens",
            cut.len(),
            longest(&cut)
        )),
    }
}

fn longest(lengths: &[&Length]) -> u32 {
    lengths.iter().map(|length| length.asked).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_that_were_cut_prove_the_length() {
        let length = |asked, counted, reason: &str| Length {
            asked,
            counted,
            finish_reason: Some(reason.to_owned()),
        };
        let text = |lengths: &[Length]| judge(lengths).text;
        assert_eq!(text(&[length(24, 24, "length"), length(24, 3, "stop")]), "exact");
        assert_eq!(text(&[length(24, 24, "length"), length(1, 20, "stop")]), "exceeded");
        assert_eq!(text(&[length(24, 23, "length")]), "too short");
        assert_eq!(judge(&[length(24, 24, "stop")]).grade, Grade::Unknown);
        assert_eq!(judge(&[]).grade, Grade::Unknown);
    }
}
