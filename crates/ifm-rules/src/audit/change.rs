//! Changes that a sentence states: `23 % faster than`, `1.5x the throughput`, `from 120 to 90 ms (25 %)`.
//!
//! Only what can be read in one way is taken: one change to a sentence, no other number that is not
//! understood, no hedge and no supposition. Not here: whether a change is true (`stated_change`).

use std::ops::Range;

/// Which way something changed, as the sentence says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// More speed, less time.
    Faster,
    /// Less speed, more time.
    Slower,
    /// A greater number.
    Higher,
    /// A smaller number.
    Lower,
    /// The sentence leaves it to its numbers.
    Unsaid,
}

/// A number of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Number {
    /// Its value.
    pub value: f64,
    /// One unit of its last digit: writers cut off as often as they round.
    pub unit_of_last: f64,
    /// Its digits.
    pub at: Range<usize>,
    /// What follows the number up to white space: `ms`, `%`, `x`; empty if nothing does.
    pub suffix: String,
}

/// A change that a sentence states.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    /// The number: hundredths, or times.
    pub number: Number,
    /// Whether it is in hundredths.
    pub is_percent: bool,
    pub direction: Direction,
    /// Where the reference of the comparison is named: after `than`. Absent for changes from one
    /// number to another.
    pub than: Option<usize>,
    /// The numbers of `from … to …`.
    pub ends: Option<[Number; 2]>,
    /// Other numbers, each with the factor that it sets.
    pub load: Vec<(&'static str, f64)>,
}

/// Comparatives, and which way each goes.
pub(super) const COMPARATIVES: [(&str, Direction); 12] = [
    ("faster", Direction::Faster),
    ("quicker", Direction::Faster),
    ("slower", Direction::Slower),
    ("higher", Direction::Higher),
    ("greater", Direction::Higher),
    ("larger", Direction::Higher),
    ("longer", Direction::Higher),
    ("more", Direction::Higher),
    ("lower", Direction::Lower),
    ("smaller", Direction::Lower),
    ("shorter", Direction::Lower),
    ("less", Direction::Lower),
];
/// Nouns after a change from one number to another, where comparatives may also appear.
const NOUNS: [&str; 12] = [
    "reduction",
    "decrease",
    "drop",
    "decline",
    "increase",
    "gain",
    "improvement",
    "rise",
    "growth",
    "speedup",
    "speed-up",
    "slowdown",
];
/// Words in front of a number that make it a bound or a guess.
const HEDGES: [&str; 19] = [
    "about",
    "around",
    "roughly",
    "approximately",
    "approx.",
    "~",
    "≈",
    "up",
    "to",
    "over",
    "least",
    "most",
    "than",
    "under",
    "nearly",
    "almost",
    "some",
    "another",
    "first",
];
/// Words of what was not measured.
pub(super) const SUPPOSED: [&str; 14] = [
    "would",
    "could",
    "should",
    "might",
    "may",
    "if",
    "expect",
    "expected",
    "theoretical",
    "theoretically",
    "ideally",
    "target",
    "typically",
    "reference",
];
/// Words that follow a number of streams or a size.
const BEHIND: [(&str, &str); 7] = [
    ("users", ifm_core::sheet::key::CONCURRENCY),
    ("user", ifm_core::sheet::key::CONCURRENCY),
    ("concurrent", ifm_core::sheet::key::CONCURRENCY),
    ("streams", ifm_core::sheet::key::CONCURRENCY),
    ("clients", ifm_core::sheet::key::CONCURRENCY),
    ("req/s", ifm_core::sheet::key::RATE),
    ("rps", ifm_core::sheet::key::RATE),
];
/// Words that precede such a number.
const BEFORE: [(&str, &str); 4] = [
    ("concurrency", ifm_core::sheet::key::CONCURRENCY),
    ("concurrency of", ifm_core::sheet::key::CONCURRENCY),
    ("batch size", ifm_core::sheet::key::BATCH_SIZE),
    ("batch", ifm_core::sheet::key::BATCH_SIZE),
];
/// Words between a comparative and its `than` at most.
const WORDS_TO_THAN: usize = 5;

/// The one change that a sentence states, in small letters with single spaces. `names` are places
/// whose digits belong to names.
pub(super) fn change(sentence: &str, names: &[Range<usize>]) -> Option<Change> {
    let words =
        || sentence.split(' ').map(|word| word.trim_matches(|c: char| ",;:()\"".contains(c)));
    if words().any(|word| SUPPOSED.contains(&word)) || sentence.ends_with('?') {
        return None;
    }
    let mut numbers = numbers(sentence);
    numbers.retain(|number| {
        !names.iter().any(|name| name.start <= number.at.start && number.at.end <= name.end)
    });
    let ends = ends(sentence, &numbers);
    let mut change = None;
    let mut load = Vec::new();
    for number in &numbers {
        if ends.as_ref().is_some_and(|ends| ends.contains(number)) {
            continue;
        }
        if let Some(is_percent) = is_change(sentence, number) {
            // With two changes in a sentence, it is ambiguous which belongs to what.
            if change.replace((number.clone(), is_percent)).is_some() {
                return None;
            }
        } else {
            load.push(load_of(sentence, number)?);
        }
    }
    let (number, is_percent) = change?;
    if is_hedged(sentence, &number) {
        return None;
    }
    let behind = sentence.get(number.at.end + number.suffix.len()..)?;
    // `23 %` with a space: the sign is the next word.
    let behind = match number.suffix.is_empty() {
        true => behind.trim_start().split_once(' ').map_or("", |(_, rest)| rest),
        false => behind,
    };
    let first = behind.split_whitespace().next().unwrap_or_default();
    let first = first.trim_matches(|c: char| c.is_ascii_punctuation());
    if let Some(ends) = ends {
        let is_noun = NOUNS.contains(&first) || direction(&COMPARATIVES, first).is_some();
        let before = sentence.get(..number.at.start)?.trim_end_matches(['+', '-', '−']);
        let is_aside = before.ends_with('(') && (behind.starts_with(')') || is_noun);
        let is_by = before.trim_end().ends_with(" by");
        let is_change = is_noun || is_aside || is_by;
        let direction = Direction::Unsaid;
        return is_change.then_some(Change {
            number,
            is_percent,
            direction,
            than: None,
            ends: Some(ends),
            load,
        });
    }
    let direction = direction(&COMPARATIVES, first)?;
    let than = than(sentence, sentence.len() - behind.len())?;
    Some(Change { number, is_percent, direction, than: Some(than), ends: None, load })
}

/// Which way a word of a list goes; absent for a word that is not in it.
pub(super) fn direction(words: &[(&str, Direction)], word: &str) -> Option<Direction> {
    words.iter().find(|(known, _)| *known == word).map(|(_, direction)| *direction)
}

/// The byte after the `than` that follows soon, in the same clause.
pub(super) fn than(sentence: &str, from: usize) -> Option<usize> {
    let rest = sentence.get(from..)?;
    let at = rest.find(" than ")?;
    let between = rest.get(..at)?;
    let is_near = between.split_whitespace().count() <= WORDS_TO_THAN + 1
        && !between.contains([',', ';', ':', '(', '.']);
    is_near.then_some(from + at + " than ".len())
}

/// Every number that is not part of a word.
pub(super) fn numbers(sentence: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(step) =
        sentence.get(at..).and_then(|rest| rest.find(|c: char| c.is_ascii_digit()))
    {
        let start = at + step;
        let rest = sentence.get(start..).unwrap_or_default();
        let length = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','))
            .unwrap_or(rest.len());
        let digits = rest.get(..length).unwrap_or_default().trim_end_matches(['.', ',']);
        at = start + digits.len();
        let before = sentence.get(..start).and_then(|text| text.chars().next_back());
        let suffix: String = sentence
            .get(at..)
            .unwrap_or_default()
            .chars()
            .take_while(|c| !c.is_whitespace() && !",;:()\"".contains(*c))
            .collect();
        let suffix = suffix.trim_end_matches('.').to_owned();
        // `p99`, `w8a8`, `3.1-8b`: part of a word.
        let is_word = before
            .is_some_and(|c| c.is_alphanumeric() || "-_./#".contains(c) && c != '-')
            || before == Some('-')
                && sentence
                    .get(..start - 1)
                    .is_some_and(|t| t.ends_with(|c: char| c.is_alphanumeric()));
        if is_word {
            at += suffix.len();
            continue;
        }
        let plain = digits.replace(',', "");
        let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        if let Ok(value) = plain.parse() {
            let unit_of_last = 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
            found.push(Number { value, unit_of_last, at: start..at, suffix });
        }
    }
    found
}

/// Whether a number is a change: in hundredths, or in times.
fn is_change(sentence: &str, number: &Number) -> Option<bool> {
    let next = match number.suffix.as_str() {
        "" => sentence.get(number.at.end..)?.split_whitespace().next()?,
        suffix => suffix,
    };
    match next.trim_matches(|c: char| ",.;:)".contains(c)) {
        "%" | "percent" => Some(true),
        "x" | "×" | "times" | "-fold" => Some(false),
        _ => None,
    }
}

fn is_hedged(sentence: &str, number: &Number) -> bool {
    let before = sentence.get(..number.at.start).unwrap_or_default();
    let word = before.split_whitespace().next_back().unwrap_or_default();
    // `from 120 ms to 25 %`: no change, but an end.
    HEDGES.contains(&word.trim_start_matches('(')) || before.ends_with(['~', '≈', '<', '>', '–'])
}

/// The numbers of the one `from … to …` of a sentence.
fn ends(sentence: &str, numbers: &[Number]) -> Option<[Number; 2]> {
    let behind = |word: &str, number: &&Number| {
        sentence.get(..number.at.start).is_some_and(|before| before.ends_with(word))
    };
    let mut low = numbers.iter().filter(|number| behind(" from ", number));
    let mut high = numbers.iter().filter(|number| behind(" to ", number));
    let pair = (low.next()?.clone(), high.next()?.clone());
    let is_sole = low.next().is_none() && high.next().is_none();
    let unit = |number: &Number| match number.suffix.as_str() {
        "" => sentence
            .get(number.at.end..)
            .and_then(|rest| rest.split_whitespace().next())
            .unwrap_or_default()
            .trim_matches(|c: char| ",.;:)(".contains(c))
            .to_owned(),
        suffix => suffix.to_owned(),
    };
    let (first, second) = (unit(&pair.0), unit(&pair.1));
    let is_alike = (first == second || first == "to") && !second.contains('%') && second != "x";
    let is_ordered = pair.0.at.end < pair.1.at.start;
    (is_sole && is_alike && is_ordered).then_some([pair.0, pair.1])
}

/// What another number sets.
pub(super) fn load_of(sentence: &str, number: &Number) -> Option<(&'static str, f64)> {
    let next = match number.suffix.as_str() {
        "" => sentence.get(number.at.end..)?.split_whitespace().next().unwrap_or_default(),
        suffix => suffix,
    };
    let next = next.trim_matches(|c: char| ",.;:()".contains(c));
    let before = sentence.get(..number.at.start)?.trim_end().trim_end_matches('=').trim_end();
    let behind = BEHIND.iter().find(|(word, _)| next == *word);
    let set = behind.or_else(|| BEFORE.iter().find(|(word, _)| before.ends_with(word)))?;
    Some((set.1, number.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_only_where_they_are_plain() {
        let read = |text: &str| {
            let change = change(text, &[])?;
            let ends = change.ends.map(|[low, high]| (low.value, high.value));
            Some((change.number.value, change.is_percent, change.direction, ends))
        };
        for (text, expect) in [
            ("red is 23 % faster than blue.", Some((23.0, true, Direction::Faster, None))),
            ("red is 23% slower than blue.", Some((23.0, true, Direction::Slower, None))),
            (
                "red has 1.5x higher output throughput than blue",
                Some((1.5, false, Direction::Higher, None)),
            ),
            (
                "at 32 users red needs 12.5 percent less power than blue",
                Some((12.5, true, Direction::Lower, None)),
            ),
            (
                "the ttft falls from 120 ms to 90 ms, a 25 % reduction.",
                Some((25.0, true, Direction::Unsaid, Some((120.0, 90.0)))),
            ),
            (
                "speed drops from 90.5 to 11 tok/s (8.2x).",
                Some((8.2, false, Direction::Unsaid, Some((90.5, 11.0)))),
            ),
            (
                "the ttft rises from 90 ms to 120 ms, 33 % longer.",
                Some((33.0, true, Direction::Unsaid, Some((90.0, 120.0)))),
            ),
            ("red is up to 23 % faster than blue.", None),
            ("red is about 2x faster than blue.", None),
            ("red would be 23 % faster than blue.", None),
            ("red is 23 % faster than blue, and 12 % slower than green.", None),
            ("with 7 layers red is 23 % faster than blue.", None),
            ("efficiency falls from 61 % to 9 %.", None),
            ("red is 23 % faster.", None),
            ("p99 is 3 ms at w8a8.", None),
            ("accuracy rises from 120 ms to 90 ms in 25 % of cases.", None),
        ] {
            assert_eq!(read(text), expect, "{text}");
        }
    }

    #[test]
    fn loads_and_names_are_not_changes() {
        let text = "at 32 users llama 3 is 23 % faster than llama 2.";
        let name = |name: &str| text.find(name).map(|at| at..at + name.len()).unwrap();
        let found = change(text, &[name("llama 3"), name("llama 2")]).unwrap();
        assert_eq!(found.load, [(ifm_core::sheet::key::CONCURRENCY, 32.0)]);
        assert_eq!(text.get(found.than.unwrap()..), Some("llama 2."));
        assert_eq!(change(text, &[]), None);
    }
}
