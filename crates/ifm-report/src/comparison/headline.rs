//! The answer of a comparison in one sentence: `fp8 vs bf16: ITL p50 41.2 % lower (41.0 to 41.5)`.
//!
//! Only decided rows are in it: it states nothing that the verdicts of the table do not.

use super::words;
use crate::format::plain;
use ifm_compare::comparison::{COPIES, Comparison, Measure, Pair, Row, Verdict};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::words::counted;
use ifm_metrics::stat::Estimate;

/// Most measures in the sentence.
const MEASURES_MAX: usize = 3;

/// What the other side does compared with the baseline.
pub(crate) fn headline(comparison: &Comparison, pair: &Pair) -> String {
    let is_inter_event = comparison.baseline.is_inter_event || pair.side.is_inter_event;
    let of = words::single_runs(pair).map_or("", |_| " (one run each)");
    let names = format!("{} vs {}{of}", plain(&pair.side.label), plain(&comparison.baseline.label));
    let mut parts: Vec<String> = Vec::new();
    let rows = match pair.is_of_prediction(&comparison.baseline) && !pair.side.is_predicted {
        true => pair.rows.iter().map(turned).collect(),
        false => pair.rows.clone(),
    };
    for measure in chosen(&rows) {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.measure == measure).collect();
        parts.extend(clause(measure, &rows, is_inter_event));
    }
    let is_alone = comparison.baseline.runs.len() == 1 && pair.side.runs.len() == 1;
    if is_alone && pair.differences.iter().any(|found| found.what == COPIES) {
        return format!("{names}: {COPIES}, so nothing can differ");
    }
    let undecided = pair.count(Verdict::Inconclusive);
    let rows = counted(pair.rows.len() as u64, "row");
    match parts.is_empty() {
        true if pair.rows.is_empty() => format!("{names}: nothing to compare"),
        true if undecided == pair.rows.len() => {
            format!("{names}: no difference shown or excluded in {rows}")
        }
        true => format!("{names}: no difference shown; {undecided} of {rows} inconclusive"),
        false => format!("{names}: {}", parts.join(", ")),
    }
}

/// A row whose change is that of the first side against the second: predicted against measured, where
/// the prediction comes first.
fn turned(row: &Row) -> Row {
    let is_share = row.measure.is_share();
    let turn = |value: f64| if is_share { -value } else { 1.0 / value };
    let change = row.change.map(|change| Estimate {
        value: turn(change.value),
        low: turn(change.high),
        high: turn(change.low),
    });
    Row { change, ..row.clone() }
}

/// Whether a verdict says that the sides differ by a relevant amount.
fn is_decided(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse) || verdict.is_of_prediction()
}

/// The decided measures that a reader asks for first: failures, how long a token takes, how long the
/// first one takes, and how much comes out; then other decided measures.
fn chosen(rows: &[Row]) -> Vec<Measure> {
    let is_decided = |row: &&Row| is_decided(row.verdict);
    let mut all: Vec<Measure> = Vec::new();
    for row in rows.iter().filter(is_decided) {
        // The gap between tokens has two names; the first measure of a topic is enough.
        if !all.iter().any(|known| topic(known.metric) == topic(row.measure.metric)) {
            all.push(row.measure);
        }
    }
    all.order_by_key(|measure| topic(measure.metric));
    all.truncate(MEASURES_MAX);
    all
}

/// What a metric is about, in the order of the sentence; all others come last, each by itself.
fn topic(metric: Metric) -> (usize, Option<Metric>) {
    match metric {
        Metric::ErrorRate => (0, None),
        Metric::Itl | Metric::Tpot => (1, None),
        Metric::Ttft | Metric::TtftDue => (2, None),
        Metric::OutputRate => (3, None),
        other => (4, Some(other)),
    }
}

/// One measure over its loads, or one part for each direction; absent without decided rows.
fn clause(measure: Measure, rows: &[&Row], is_inter_event: bool) -> Option<String> {
    let none = if measure.is_share() { 0.0 } else { 1.0 };
    let decided = rows.iter().filter(|row| is_decided(row.verdict));
    let known = decided.filter_map(|row| Some((*row, row.change?)));
    let (lower, higher): (Vec<_>, Vec<_>) = known.partition(|(_, change)| change.value < none);
    let part = |some: &[(&Row, Estimate)], is_lower: bool| {
        let at = match some.len() == rows.len() {
            true => String::new(),
            false => {
                let loads: Vec<_> = some.iter().map(|(row, _)| &row.at).collect();
                format!(" at {}", words::loads(&loads))
            }
        };
        (!some.is_empty()).then(|| size(measure, some, is_lower, &at))
    };
    let parts: Vec<String> =
        [part(&lower, true), part(&higher, false)].into_iter().flatten().collect();
    let is_error = rows.iter().any(|row| row.verdict.is_of_prediction());
    let of = if is_error { "predicted " } else { "" };
    let name = format!("{of}{}", words::measure(measure, is_inter_event));
    (!parts.is_empty()).then(|| format!("{name} {}", parts.join(" and ")))
}

/// Changes of one direction: `27.0 to 29.0 % lower at 1, 8 users (22.9 to 30.0)`, the last from the lowest to
/// the highest end of their intervals.
fn size(measure: Measure, rows: &[(&Row, Estimate)], is_lower: bool, at: &str) -> String {
    let none = if measure.is_share() { 0.0 } else { 1.0 };
    let unit = if measure.is_share() { "points" } else { "%" };
    let is_error = rows.iter().any(|(row, _)| row.verdict.is_of_prediction());
    let word = match (is_error, is_lower) {
        (false, true) => "lower",
        (false, false) => "higher",
        (true, true) => "below measured",
        (true, false) => "above measured",
    };
    // Without its sign; an end of an interval on the other side keeps one.
    let size = |change: f64| (change - none) * if is_lower { -100.0 } else { 100.0 };
    let range = |of: fn(&Estimate) -> [f64; 2]| {
        let all = rows.iter().flat_map(|(_, change)| of(change)).map(size);
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)))
    };
    let (from, to) = range(|change| [change.value, change.value]);
    // As many decimals as the interval has, so that the value lies in it.
    let value = between(&format!("{from:.1}"), &format!("{to:.1}"));
    let (low, high) = range(|change| [change.low, change.high]);
    format!("{value} {unit} {word}{at} ({low:.1} to {high:.1})")
}

fn between(from: &str, to: &str) -> String {
    if from == to { from.to_owned() } else { format!("{from} to {to}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compared, noisy, settings, side};
    use ifm_compare::comparison::compare;

    #[test]
    fn only_decided_rows_are_in_the_sentence() {
        let mut comparison = compared();
        let found = headline(&comparison, &comparison.pairs[0]);
        insta::assert_snapshot!(found);
        for row in &mut comparison.pairs[0].rows {
            row.verdict = Verdict::Inconclusive;
        }
        let found = headline(&comparison, &comparison.pairs[0]);
        assert!(found.contains(": no difference shown or excluded in "), "{found}");
        let own = comparison.pairs[0].differences.clone();
        comparison.pairs[0].differences[0].what = COPIES.to_owned();
        let found = headline(&comparison, &comparison.pairs[0]);
        assert!(found.ends_with(": the same measurement on both sides, so nothing can differ"));
        comparison.pairs[0].differences = own;
        comparison.pairs[0].rows[0].verdict = Verdict::NoDifferenceShown;
        let found = headline(&comparison, &comparison.pairs[0]);
        assert!(found.contains("no difference shown"), "{found}");
    }

    #[test]
    fn the_value_lies_in_its_interval() {
        let mut comparison = compared();
        let row = &mut comparison.pairs[0].rows[0];
        row.verdict = Verdict::Better;
        row.change = Some(Estimate { value: 0.5951, low: 0.5943, high: 0.5959 });
        let found = size(row.measure, &[(&*row, row.change.unwrap())], true, "");
        assert_eq!(found, "40.5 % lower (40.4 to 40.6)");
    }

    /// The change is that of the prediction against the measurement, whichever side comes first.
    #[test]
    fn a_prediction_is_above_or_below_measured() {
        let measures = Measure::DEFAULT;
        let measured = noisy(1, &[(4, 10.0)]);
        let mut computed = ifm_metrics::testing::predicted(noisy(2, &[(4, 5.0)]));
        computed.manifest.run_id = "8812cafe".to_owned();
        let sides = [side("real", &measured, &measures), side("sim", &computed, &measures)];
        let [real, sim] = &sides;
        let style = crate::TerminalStyle { width: 160, color: false, ascii: false, verbose: false };
        for (base, other) in [(real, sim), (sim, real)] {
            let comparison = compare(base, std::slice::from_ref(other), &settings());
            let found = headline(&comparison, &comparison.pairs[0]);
            assert!(found.contains("predicted ITL p50 50.0 % below measured"), "{found}");
            assert!(found.contains("predicted out tok/s 35.4 % above measured"), "{found}");
            let all = crate::comparison_markdown(&comparison)
                + &crate::comparison_json(&comparison)
                + &crate::comparison_terminal(&comparison, &style);
            assert!(
                !["faster", " better", "worse)"].iter().any(|word| all.contains(word)),
                "{all}"
            );
            assert!(all.contains("predicted below measured"), "{all}");
            assert!(all.contains("\"verdict\": \"predicted_below\""), "{all}");
        }
    }

    #[test]
    fn a_measure_that_goes_both_ways_has_both_sizes() {
        let mut comparison = compared();
        let at = |value| Some(Estimate { value, low: value - 0.01, high: value + 0.01 });
        let rows = &mut comparison.pairs[0].rows;
        let (row, mut other) = (rows[0].clone(), rows[0].clone());
        rows.clear();
        rows.push(Row { change: at(0.5), verdict: Verdict::Better, ..row });
        other.change = at(1.5);
        other.verdict = Verdict::Worse;
        rows.push(other);
        let found = headline(&comparison, &comparison.pairs[0]);
        assert!(found.contains(" 50.0 % lower at "), "{found}");
        assert!(found.contains(" and 50.0 % higher at "), "{found}");
    }
}
