//! Sentences without figures that say why, or how something compares: `speed drops because the
//! bandwidth is shared`.
//!
//! They are kept as stated rows without a figure, so that what a document concludes can be held
//! against what it measured. Not here: whether they hold.

use super::stated::Sentence;
use ifm_core::sheet::{Place, Row, RowRole};

/// Longest sentence that is kept, bytes.
const SENTENCE_BYTES_MAX: usize = 2000;
/// Fewest words of a sentence that says something.
const WORDS_MIN: usize = 4;

/// More white space than there is between two words of a sentence.
const COLUMNS: &str = "        ";

/// Words of reasons, of limits, of queues and of comparisons.
const WORDS: [&str; 35] = [
    "because ",
    "due to ",
    "the reason ",
    "caused by ",
    "thanks to ",
    "explained by ",
    "bottleneck",
    "bandwidth",
    "-bound",
    "memory bound",
    "compute bound",
    "limited by",
    "queu",
    "nothing waits",
    "no waiting",
    "never wait",
    "immediate",
    "scheduling",
    "interfer",
    "saturat",
    "faster than",
    "slower than",
    "better than",
    "worse than",
    "higher than",
    "lower than",
    "more than",
    "less than",
    "outperform",
    "compared to",
    "compared with",
    "as fast as",
    "matching",
    "no impact",
    "no difference",
];

/// Words of an order among all.
const FIRST: [&str; 8] =
    ["fastest", "quickest", "slowest", "highest", "lowest", "largest", "longest", "shortest"];
/// Words of an order of two, with a `than` behind them.
const BEFORE: [&str; 9] =
    ["faster", "quicker", "slower", "higher", "greater", "longer", "lower", "smaller", "shorter"];

/// Words that a program begins a message with.
const LOG_WORDS: [&str; 5] = ["DEBUG", "INFO", "WARN", "WARNING", "ERROR"];

/// Whether a paragraph is what a program printed while it ran, which claims nothing about results.
pub(super) fn is_log(paragraph: &str) -> bool {
    let is_sign = |c: char| !c.is_alphanumeric();
    paragraph.split_whitespace().any(|word| LOG_WORDS.contains(&word.trim_matches(is_sign)))
}

/// A row for a sentence that claims something; absent for others, for questions and for code.
pub(super) fn row(sentence: &Sentence<'_>) -> Option<Row> {
    let text = sentence.text.trim();
    // Columns of a program are not sentences.
    if text.contains(COLUMNS) {
        return None;
    }
    if sentence.code || text.len() > SENTENCE_BYTES_MAX || text.ends_with(['?', ':']) {
        return None;
    }
    let lower = text.to_lowercase();
    let is_claim = text.split_whitespace().count() >= WORDS_MIN
        && (WORDS.iter().any(|word| lower.contains(word)) || is_change(&lower) || is_order(&lower));
    is_claim.then(|| {
        let mut row = Row::new(RowRole::Stated, Place::line(sentence.line));
        row.text = Some(text.to_owned());
        row
    })
}

/// Whether a sentence in small letters sets one thing against another with a percentage or a
/// factor: `1.5x higher output throughput than`.
fn is_change(lower: &str) -> bool {
    let is_factor = |word: &str| {
        let behind = word.trim_start_matches(|c: char| !c.is_ascii_digit());
        let sign = behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        sign.len() < behind.len() && matches!(sign, "%" | "x" | "×")
    };
    let is_sign = |word: &str| matches!(word, "%" | "percent" | "x" | "×" | "times");
    lower.contains(" than ") && lower.split_whitespace().any(|w| is_factor(w) || is_sign(w))
}

/// Whether a sentence in small letters puts things in an order: `blue is the fastest`, `a lower TTFT
/// than`.
fn is_order(lower: &str) -> bool {
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let is_before = |word: &str| BEFORE.contains(&word) && lower.contains(" than ");
    words.any(|word| FIRST.contains(&word) || is_before(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_programs_are_told_by_their_first_words() {
        for (text, expect) in [
            (
                "(MainProcess) WARNING 11-20 [datasets.py:680] This is expected due to sampling.",
                true,
            ),
            ("[INFO] Waiting because the server is busy.", true),
            ("Information is lost because of rounding; a warning is due.", false),
        ] {
            assert_eq!(is_log(text), expect, "{text}");
        }
    }

    #[test]
    fn claims_are_kept_as_they_were_written() {
        let row = |text| row(&Sentence { line: 7, text, code: false });
        let claim = " Speed drops because the memory's bandwidth is shared.";
        let kept = row(claim).expect("a row");
        assert_eq!((kept.role, kept.place.line), (RowRole::Stated, Some(7)));
        assert_eq!(kept.text.as_deref(), Some(claim.trim()));
        assert!(kept.figures.is_empty());
        assert!(row("Red has 1.5x higher output throughput than blue.").is_some());
        assert!(row("Red needs 12 % less of it than blue.").is_some());
        assert!(row("Red has a lower time to the first token than blue.").is_some());
        assert!(row("Of all models red is the fastest.").is_some());
        for text in [
            "Filtering it                 out due to a short latency of it.",
            "Red has other things than blue.",
            "The delay between tokens.",
            "Is it faster than before?",
            "This is slower than that:",
            "Bandwidth",
        ] {
            assert_eq!(row(text), None, "{text}");
        }
        assert_eq!(super::row(&Sentence { line: 7, text: claim, code: true }), None);
    }
}
