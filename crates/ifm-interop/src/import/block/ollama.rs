//! What `ollama run --verbose` prints after an answer: counts, durations and rates of the prompt
//! and of the generation. Other programs print the same lines.

use super::super::Recognised;
use super::super::text::{Line, Text};
use super::answer::{Answer, GENERATION_TIME, LOAD_TIME, own};
use super::{Block, Found};
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Figure, RemarkKind, Statistic, Unit};

pub(super) struct Ollama;

const TOOL: &str = "ollama run --verbose";
/// Fewest lines of a block: one label alone may be of anything.
const LINES_MIN: usize = 2;

const CACHE: &str =
    "prompt tokens of the request: the engine does not report which came from its cache";
const WHOLE: &str = "of one answer: loading, prompt and generation";
const RATE: &str = "tokens over the duration that is printed with them";

const LABELS: [&str; 8] = [
    "total duration",
    "load duration",
    "prompt eval count",
    "prompt eval duration",
    "prompt eval rate",
    "eval count",
    "eval duration",
    "eval rate",
];

impl Block for Ollama {
    fn about(&self) -> Recognised {
        Recognised { id: "ollama-verbose", title: "ollama run --verbose, printed statistics" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        entry(first.text)?;
        let mut entries: Vec<(u32, &str, &str)> = Vec::new();
        for line in text.from(first.number) {
            let Some((label, value)) = entry(line.text) else { break };
            if entries.iter().any(|(_, other, _)| *other == label) {
                break;
            }
            entries.push((line.number, label, value));
        }
        let is_eval = entries.iter().any(|(_, label, _)| label.contains("eval"));
        let last_line = entries.last()?.0;
        if entries.len() < LINES_MIN || !is_eval {
            return None;
        }
        let mut answer = Answer::new(first.number, Some("ollama"));
        for (line, label, value) in entries {
            take(&mut answer, line, label, value);
        }
        Some(answer.into_block(TOOL, last_line))
    }
}

/// A label of a block and what is printed after it, without marks of lists and quotes.
fn entry(line: &str) -> Option<(&'static str, &str)> {
    let (label, value) = line.split_once(':')?;
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '-' | '*' | '>' | '•' | '`' | '|');
    let label = label.trim_matches(is_mark).to_ascii_lowercase();
    let label = LABELS.iter().find(|known| **known == label)?;
    let value = value.trim_matches(is_mark);
    value.starts_with(|c: char| c.is_ascii_digit() || c == '.').then_some((*label, value))
}

fn take(answer: &mut Answer, line: u32, label: &'static str, value: &str) {
    let same = Definition::Same;
    let different = |text: &str| Definition::Different(text.to_owned());
    let derivable = |text: &str| Definition::Derivable(text.to_owned());
    let (quantity, definition) = match label {
        "total duration" => (Metric::Duration, different(WHOLE)),
        "load duration" => (own(LOAD_TIME), same),
        "prompt eval count" => (Metric::InputTokens, different(CACHE)),
        "prompt eval duration" => (Metric::Prefill, same),
        "prompt eval rate" => (Metric::PrefillRate, derivable(RATE)),
        "eval count" => (Metric::OutputTokens, same),
        "eval duration" => (own(GENERATION_TIME), same),
        _ => (Metric::DecodeRate, derivable(RATE)),
    };
    if label.ends_with("duration") {
        match duration(value) {
            Some(time) if time.seconds > 0.0 => {
                answer.push(line, time.figure(quantity).defined(definition));
            }
            Some(_) => answer.keep_unmeasured(quantity, value),
            None => unread(answer, line, label, value),
        }
        return;
    }
    let (number, unit) = match value.split_once(char::is_whitespace) {
        Some((number, unit)) => (number, unit.trim()),
        None => (value, ""),
    };
    let (is_unit, kind) = match label.ends_with("rate") {
        true => (matches!(unit, "tokens/s" | "token/s" | "t/s" | "tok/s" | ""), Unit::PerS),
        false => (matches!(unit, "token(s)" | "tokens" | "token" | ""), Unit::Count),
    };
    match is_unit {
        true => answer.add(line, quantity, number, kind, definition),
        false => unread(answer, line, label, value),
    }
}

fn unread(answer: &mut Answer, line: u32, label: &str, value: &str) {
    answer.keep(label, value);
    answer.remark(RemarkKind::Missing, line, format!("{label}: `{value}` was not understood"));
}

/// A duration as Go and other programs print it.
#[derive(Debug, PartialEq)]
pub(super) struct Duration<'a> {
    pub seconds: f64,
    /// Digits and unit, where there is one unit.
    single: Option<(&'a str, Unit)>,
}

impl Duration<'_> {
    /// The figure of it, in the unit that was printed.
    pub fn figure(&self, quantity: Metric) -> Figure {
        let value = Statistic::Value;
        match &self.single {
            Some((digits, unit)) => {
                let number = digits.parse().unwrap_or(f64::NAN);
                Figure::new(quantity, value, number, unit.clone()).as_printed(*digits)
            }
            None => Figure::new(quantity, value, self.seconds, Unit::S),
        }
    }
}

/// `4.25s`, `51.2ms`, `900µs`, `1m2.5s`, `1h0m3s`, `4.25 s`.
pub(super) fn duration(text: &str) -> Option<Duration<'_>> {
    let (mut seconds, mut pieces, mut single) = (0.0, 0, None);
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace());
        let (word, next) = after.split_at(end.unwrap_or(after.len()));
        let (factor, unit) = match word {
            "h" => (3600.0, Unit::H),
            "m" | "min" => (60.0, Unit::Min),
            "s" | "sec" | "seconds" => (1.0, Unit::S),
            "ms" => (1e-3, Unit::Ms),
            "µs" | "μs" | "us" => (1e-6, Unit::Us),
            "ns" => (1e-9, Unit::Ns),
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * factor;
        pieces += 1;
        single = Some((number, unit));
        rest = next.trim_start();
    }
    (pieces > 0).then(|| Duration { seconds, single: single.filter(|_| pieces == 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_their_unit() {
        let of = |text: &str| duration(text).map(|time| time.figure(Metric::Duration));
        let value = |text: &str| {
            let figure = of(text).expect("a duration");
            (figure.canonical().expect("ms"), figure.printed)
        };
        assert_eq!(value("4.250s"), (4250.0, Some("4.250".to_owned())));
        assert_eq!(value("51.2ms"), (51.2, Some("51.2".to_owned())));
        assert_eq!(value("900µs").1, Some("900".to_owned()));
        assert!((value("900µs").0 - 0.9).abs() < 1e-12);
        assert_eq!(value("1m2.5s"), (62_500.0, None));
        assert_eq!(value("1h0m3s"), (3_603_000.0, None));
        for text in ["", "4", "s", "4 parsecs", "1m2.5", "soon"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
