//! A percentage or a factor between two figures is theirs.
//!
//! `red is 23 % faster than blue` is compared with the rows of both if the sentence names the
//! quantity and two subjects of one kind that rows were measured for; `from 120 ms to 90 ms, a 25 %
//! reduction` is compared with its own numbers. If a word has two meanings, both are accepted;
//! ambiguous statements are left alone.

use super::super::change::{Change, Direction, change};
use super::super::sentence::{Sentence, sentences};
use super::super::subject::slack;
use super::super::{Cell, Finding, Level, Looked, Rule, Spot, Subject};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{RowRole, Statistic, Unit, key};
use std::collections::BTreeSet;
use std::ops::Range;

pub(super) const RULE: Rule = Rule {
    id: "stated_change",
    title: "stated percentages and factors agree with their figures",
    look,
};

/// What two things that are compared may differ in.
pub(super) const SIDES: [&str; 6] =
    [key::MODEL, key::CONDITION, key::QUANTIZATION, key::GPU, key::ENGINE, key::WORKLOAD];
/// Maximum number of pairs of rows that are checked for one sentence.
const PAIRS_MAX: usize = 10_000;

/// Names of quantities in sentences. Of overlapping ones the longest counts.
const NAMES: [(&str, Metric); 24] = [
    ("ttft", Metric::Ttft),
    ("time to first token", Metric::Ttft),
    ("first-token latency", Metric::Ttft),
    ("itl", Metric::Itl),
    ("inter-token latency", Metric::Itl),
    ("tpot", Metric::Tpot),
    ("time per output token", Metric::Tpot),
    ("end-to-end latency", Metric::E2e),
    ("e2e latency", Metric::E2e),
    ("request latency", Metric::E2e),
    ("latency", Metric::E2e),
    ("output throughput", Metric::OutputRate),
    ("output token throughput", Metric::OutputRate),
    ("total throughput", Metric::TotalRate),
    ("total token throughput", Metric::TotalRate),
    ("overall throughput", Metric::TotalRate),
    ("input throughput", Metric::InputRate),
    ("request throughput", Metric::RequestRate),
    ("requests per second", Metric::RequestRate),
    ("prefill speed", Metric::PrefillRate),
    ("prompt processing", Metric::PrefillRate),
    ("decode speed", Metric::DecodeRate),
    ("text generation", Metric::DecodeRate),
    ("goodput", Metric::Goodput),
];
/// Words that could be more than one quantity.
const UNCLEAR: [&str; 8] =
    ["throughput", "speed", "decode", "prefill", "generation", "power", "memory", "energy"];
/// Words for one number of a population.
const STATISTICS: [(&str, Statistic); 6] = [
    ("p99", Statistic::Percentile(99.0)),
    ("p95", Statistic::Percentile(95.0)),
    ("p90", Statistic::Percentile(90.0)),
    ("median", Statistic::Median),
    ("mean", Statistic::Mean),
    ("average", Statistic::Mean),
];

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut findings = Vec::new();
    for sentence in sentences(subject) {
        let Some(checked) = own_numbers(&sentence).or_else(|| rows(subject, &sentence)) else {
            continue;
        };
        seen += 1;
        findings.extend(checked.finding(&sentence));
    }
    match seen {
        0 => Looked::Needs("percentages or factors between two figures that the document names"),
        _ => Looked::Found(findings),
    }
}

/// A change and what its figures give.
struct Checked {
    change: Change,
    /// Smallest and largest change that the figures give, by any reading, as the sentence counts it.
    low: f64,
    high: f64,
    /// The first reading, which is reported.
    told: f64,
    /// The figures as text.
    figures: String,
    spots: Vec<Spot>,
}

impl Checked {
    fn finding(&self, sentence: &Sentence) -> Option<Finding> {
        let Change { number, is_percent, .. } = &self.change;
        let is_within = number.value + number.unit_of_last >= self.low
            && number.value - number.unit_of_last <= self.high;
        if is_within {
            return None;
        }
        let sign = if *is_percent { " %" } else { " times" };
        let decimals = usize::from(number.unit_of_last < 1.0 || !is_percent) + 1;
        let text = format!(
            "\"{}\": {} give {:.decimals$}{sign}, not {}{sign}",
            sentence.shown(),
            self.figures,
            self.told,
            number.value,
        );
        let finding = Finding::new(RULE.id, Level::Strong, text)
            .at(sentence.cell.spot())
            .at_all(self.spots.clone())
            .with("stated", number.value, sign.trim())
            .with("of the figures", self.told, sign.trim())
            .remedy("compute it again, and name the two figures");
        Some(finding)
    }
}

/// What a number `a` against `b` changed by, by every reading of the words, as the sentence counts.
fn readings(change: &Change, is_time: bool, a: f64, b: f64) -> Vec<f64> {
    let ratio = a / b;
    let (more, less) = (ratio - 1.0, 1.0 - ratio);
    let inverse = 1.0 / ratio;
    let scale = if change.is_percent { 100.0 } else { 1.0 };
    let found = match (change.is_percent, change.direction, is_time) {
        (true, Direction::Higher, _)
        | (true, Direction::Faster, false)
        | (true, Direction::Slower, true) => vec![more],
        (true, Direction::Lower, _) => vec![less],
        (true, Direction::Faster, true) | (true, Direction::Slower, false) => {
            vec![less, inverse - 1.0]
        }
        (true, Direction::Unsaid, _) => vec![more.abs(), (inverse - 1.0).abs()],
        (false, Direction::Higher, _)
        | (false, Direction::Faster, false)
        | (false, Direction::Slower, true) => vec![ratio, more],
        (false, Direction::Lower, _)
        | (false, Direction::Faster, true)
        | (false, Direction::Slower, false) => vec![inverse, inverse - 1.0],
        (false, Direction::Unsaid, _) => {
            let greater = ratio.max(inverse);
            vec![greater, greater - 1.0]
        }
    };
    found.into_iter().map(|value| value * scale).collect()
}

/// Readings of two figures that may each be off by a given error: the first, the smallest, the
/// largest. Values between two readings are not readings: each is compared with the number by
/// itself.
fn span(change: &Change, is_time: bool, a: (f64, f64), b: (f64, f64)) -> Option<(f64, f64, f64)> {
    let told = *readings(change, is_time, a.0, b.0).first()?;
    let corners = [(a.0 - a.1, b.0 + b.1), (a.0 + a.1, b.0 - b.1)];
    if corners.iter().any(|(a, b)| *a <= 0.0 || *b <= 0.0) {
        return None;
    }
    let [first, second] = corners.map(|(a, b)| readings(change, is_time, a, b));
    let number = &change.number;
    let ranges = first.iter().zip(&second).map(|(x, y)| (x.min(*y), x.max(*y)));
    let fits = |(low, high): &(f64, f64)| {
        number.value + number.unit_of_last >= *low && number.value - number.unit_of_last <= *high
    };
    let all: Vec<(f64, f64)> = ranges.collect();
    let (low, high) = all.iter().find(|range| fits(range)).or_else(|| all.first())?;
    Some((told, *low, *high))
}

/// `from 120 ms to 90 ms, a 25 % reduction`.
fn own_numbers(sentence: &Sentence) -> Option<Checked> {
    let change = change(&sentence.lower, &[])?;
    let [from, to] = change.ends.clone()?;
    let half = |number: &super::super::change::Number| (number.value, number.unit_of_last / 2.0);
    let (told, low, high) = span(&change, false, half(&to), half(&from))?;
    let figures = format!("{} and {}", from.value, to.value);
    Some(Checked { change, low, high, told, figures, spots: Vec::new() })
}

/// `red is 23 % faster than blue`.
fn rows(subject: &Subject, sentence: &Sentence) -> Option<Checked> {
    let cells: Vec<&Cell> = [RowRole::Measured, RowRole::Summary]
        .into_iter()
        .flat_map(|role| subject.cells(role))
        .filter(|cell| std::ptr::eq(cell.sheet, sentence.cell.sheet))
        .collect();
    SIDES.iter().find_map(|side| between(sentence, &cells, side))
}

/// The two values of a factor that a sentence compares, with their rows.
fn between(sentence: &Sentence, cells: &[&Cell], side: &str) -> Option<Checked> {
    let named = named(sentence, cells, side);
    let places: Vec<Range<usize>> = named.iter().map(|(_, place)| place.clone()).collect();
    let change = change(&sentence.lower, &places)?;
    let than = change.than?;
    let of = |is_side: &dyn Fn(&Range<usize>) -> bool| {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        names.extend(named.iter().filter(|(_, place)| is_side(place)).map(|(name, _)| *name));
        let sole = names.len() == 1;
        names.into_iter().next().filter(|_| sole)
    };
    let a = of(&|place| place.end <= change.number.at.start)?;
    let b = of(&|place| place.start >= than)?;
    let is_all = named.iter().all(|(name, _)| *name == a || *name == b);
    if a == b || !is_all {
        return None;
    }
    let fits = |cell: &&&Cell| {
        change.load.iter().all(|(name, value)| cell.factors.number(name) == Some(*value))
            && others_fit(sentence, cells, cell, side)
    };
    let rows = |name: &str| -> Vec<&Cell> {
        cells
            .iter()
            .filter(|cell| cell.factors.get(side) == Some(name))
            .filter(fits)
            .copied()
            .collect()
    };
    compare(&change, sentence, (a, &rows(a)), (b, &rows(b)))
}

/// Whether a row holds for the other names in a sentence: one of two workloads, one of two machines.
pub(super) fn others_fit(sentence: &Sentence, cells: &[&Cell], cell: &Cell, side: &str) -> bool {
    SIDES.iter().filter(|other| **other != side).all(|other| {
        let named = named(sentence, cells, other);
        named.is_empty() || named.iter().any(|(name, _)| cell.factors.get(other) == Some(name))
    })
}

/// Values of a factor that a sentence names, each as a whole word and not inside of a longer one.
pub(super) fn named<'c>(
    sentence: &Sentence,
    cells: &[&'c Cell],
    side: &str,
) -> Vec<(&'c str, Range<usize>)> {
    let mut values: Vec<&str> = cells.iter().filter_map(|cell| cell.factors.get(side)).collect();
    values.order_by_key(|value| (std::cmp::Reverse(value.len()), *value));
    values.dedup();
    let mut found: Vec<(&str, Range<usize>)> = Vec::new();
    for value in values.into_iter().filter(|value| value.trim().len() >= 2) {
        for place in words(&sentence.lower, &value.to_lowercase()) {
            let is_inside =
                found.iter().any(|(_, other)| other.start <= place.start && place.end <= other.end);
            if !is_inside {
                found.push((value, place));
            }
        }
    }
    found
}

/// Places of a phrase that is not part of a longer word.
fn words<'t>(text: &'t str, phrase: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let is_open = |rest: &str| {
        let mut chars = rest.chars();
        match chars.next() {
            Some(c) if c.is_alphanumeric() => false,
            // `3.1` goes on, `blue.` ends; `blue's` is blue.
            Some('-' | '.' | '_' | '/' | '+') => !chars.next().is_some_and(char::is_alphanumeric),
            _ => true,
        }
    };
    let is_start = |before: &str| {
        !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | '+'))
    };
    text.match_indices(phrase).filter_map(move |(at, _)| {
        let end = at + phrase.len();
        let is_whole = is_start(text.get(..at)?) && is_open(text.get(end..)?);
        is_whole.then_some(at..end)
    })
}

/// The quantity that a sentence names; all of them where it names none.
pub(super) fn quantities(lower: &str) -> Option<Vec<Metric>> {
    let mut places: Vec<(Range<usize>, Metric)> = NAMES
        .iter()
        .flat_map(|(name, quantity)| words(lower, name).map(move |place| (place, *quantity)))
        .collect();
    places.order_by_key(|(place, _)| std::cmp::Reverse(place.len()));
    let mut outer: Vec<(Range<usize>, Metric)> = Vec::new();
    for (place, quantity) in places {
        if !outer.iter().any(|(other, _)| other.start <= place.start && place.end <= other.end) {
            outer.push((place, quantity));
        }
    }
    let is_covered = |place: &Range<usize>| {
        outer.iter().any(|(other, _)| other.start <= place.start && place.end <= other.end)
    };
    let is_unclear = UNCLEAR.iter().any(|word| words(lower, word).any(|place| !is_covered(&place)));
    let named: BTreeSet<Metric> = outer.iter().map(|(_, quantity)| *quantity).collect();
    match named.len() {
        0 => Some(Vec::new()),
        1 if !is_unclear => Some(named.into_iter().collect()),
        _ => None,
    }
}

/// Whether a quantity is a time: less of it is faster.
pub(super) fn is_time(quantity: Metric) -> bool {
    matches!(
        quantity,
        Metric::Ttft
            | Metric::Ttfat
            | Metric::Itl
            | Metric::Tpot
            | Metric::E2e
            | Metric::Prefill
            | Metric::Kernel
            | Metric::Duration
    )
}

/// What a row measured that two rows are compared by: times and rates.
pub(super) fn measured(cell: &Cell) -> BTreeSet<Metric> {
    let is_speed = |unit: &Unit| matches!(unit, Unit::PerS | Unit::PerMin | Unit::PerH);
    let figures = cell.row.figures.iter().filter(|figure| figure.value.is_some());
    figures
        .filter(|figure| is_time(figure.quantity) || is_speed(&figure.unit))
        .map(|figure| figure.quantity)
        .collect()
}

fn compare(
    change: &Change,
    sentence: &Sentence,
    (a_name, a): (&str, &[&Cell]),
    (b_name, b): (&str, &[&Cell]),
) -> Option<Checked> {
    let mut sought = quantities(&sentence.lower)?;
    if sought.is_empty() {
        // A sentence that names none is of the only one there is.
        let all: BTreeSet<Metric> = a.iter().chain(b).flat_map(|cell| measured(cell)).collect();
        sought = all.into_iter().collect();
    }
    let [quantity] = &sought[..] else { return None };
    let statistic =
        STATISTICS.iter().find(|(word, _)| words(&sentence.lower, word).next().is_some());
    let values = |cells: &[&Cell]| -> Vec<(f64, f64)> {
        let figures = cells.iter().flat_map(|cell| &cell.row.figures);
        let fits = |found: Statistic| match statistic {
            Some((_, wanted)) => found == *wanted,
            None => matches!(found, Statistic::Value | Statistic::Mean | Statistic::Median),
        };
        figures
            .filter(|figure| figure.quantity == *quantity && fits(figure.statistic))
            .filter_map(|figure| Some((figure.canonical()?, slack(figure))))
            .collect()
    };
    let (first, second) = (values(a), values(b));
    if first.is_empty() || second.is_empty() || first.len() * second.len() > PAIRS_MAX {
        return None;
    }
    let mut spans = Vec::new();
    for a in &first {
        for b in &second {
            spans.push(span(change, is_time(*quantity), *a, *b)?);
        }
    }
    let (told, ..) = *spans.first()?;
    let low = spans.iter().map(|(_, low, _)| *low).fold(f64::INFINITY, f64::min);
    let high = spans.iter().map(|(.., high)| *high).fold(f64::NEG_INFINITY, f64::max);
    let figures = match (&first[..], &second[..]) {
        ([a], [b]) => format!("{quantity} of {} ({a_name}) and {} ({b_name})", a.0, b.0),
        _ => format!("the rows of {a_name} and {b_name} ({quantity}), at {low:.1} to {high:.1},"),
    };
    let spots = a.iter().chain(b).map(|cell| cell.spot()).collect();
    Some(Checked { change: change.clone(), low, high, told, figures, spots })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Part, PartKind, Place, Row};

    /// Red: 120 tokens per second and a TTFT of 50 ms; blue: 100 and 40. With 8 users.
    fn document(text: &str) -> Sheet {
        let level = |line, model: &str, rate: &str, ttft: &str| {
            let mut row = row(
                line,
                &[
                    (Metric::OutputRate, Statistic::Value, rate, Unit::PerS),
                    (Metric::Ttft, Statistic::Mean, ttft, Unit::Ms),
                ],
            );
            row.factors = row.factors.with(key::MODEL, model).with(key::CONCURRENCY, 8);
            row
        };
        let rows = vec![level(3, "Red-7B", "120.0", "50.0"), level(4, "Blue", "100.0", "40.0")];
        let mut sheet = sheet(PartKind::Serving, rows);
        let mut said = Row::new(RowRole::Stated, Place::line(9));
        said.text = Some(text.to_owned());
        let part = Part { rows: vec![said], ..Part::new(PartKind::Conclusion, Place::line(9)) };
        sheet.parts.push(part);
        sheet
    }

    #[test]
    fn reports_only_false_changes() {
        for (text, expect) in [
            ("Red-7B has a 20 % higher output throughput than Blue.", None),
            (
                "Red-7B has a 30 % higher output throughput than Blue.",
                Some("give 20.0 %, not 30 %"),
            ),
            ("At 8 users, Red-7B is 1.2x faster than Blue in output throughput.", None),
            (
                "Red-7B has 1.5x higher output throughput than Blue.",
                Some("give 1.20 times, not 1.5"),
            ),
            ("Blue has a 20 % lower TTFT than Red-7B.", None),
            ("Blue's TTFT is 25% faster than Red-7B's.", None),
            ("Blue has a 35 % lower TTFT than Red-7B.", Some("give 20.0 %, not 35 %")),
            ("The TTFT falls from 50 ms to 40 ms, a 20 % reduction.", None),
            (
                "The TTFT falls from 50 ms to 40 ms, a 40 % reduction.",
                Some("give 20.0 %, not 40 %"),
            ),
            ("Throughput rises from 100 to 120 tok/s (1.6x).", Some("give 1.20 times, not 1.6")),
        ] {
            let findings = found("stated_change", &[document(text)]);
            match expect {
                None => assert_eq!(findings, [], "{text}"),
                Some(words) => {
                    let [finding] = &findings[..] else { panic!("{text}: {findings:?}") };
                    assert!(finding.text.contains(words), "{text}: {}", finding.text);
                }
            }
        }
    }

    /// All of these are ambiguous.
    #[test]
    fn what_cannot_be_identified_is_left_alone() {
        for text in [
            "Red-7B is 60 % faster than Blue.",
            "Red-7B has 60 % higher throughput than Blue.",
            "Red has a 60 % higher output throughput than Blue.",
            "Red-7B has a 60 % higher output throughput than Green.",
            "Red-7B has a 60 % higher output throughput than Blue with 3 GPUs.",
            "At 16 users Red-7B has a 60 % higher output throughput than Blue.",
            "Red-7B has up to 60 % higher output throughput than Blue.",
            "Red-7B would have a 60 % higher output throughput than Blue.",
            "Red-7B has a 60 % higher output throughput and TTFT than Blue.",
            "Red-7B has a 60 % higher P99 TTFT than Blue.",
            "Than Blue no other is 60 % faster, Red-7B apart.",
        ] {
            assert_eq!(found("stated_change", &[document(text)]), [], "{text}");
        }
    }

    #[test]
    fn several_rows_are_one_range() {
        let mut of = document("Red-7B has a 60 % higher output throughput than Blue.");
        let mut other = of.parts[0].rows[0].clone();
        other.factors.set(key::CONCURRENCY, 16);
        other.figures[0].value = Some(170.0);
        other.figures[0].printed = Some("170.0".to_owned());
        of.parts[0].rows.push(other);
        assert_eq!(found("stated_change", std::slice::from_ref(&of)), []);
        of.parts[0].rows[2].figures[0].value = Some(150.0);
        assert_eq!(found("stated_change", &[of]).len(), 1);
    }
}
