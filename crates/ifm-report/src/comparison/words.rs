//! Words and numbers that the formats of comparisons and gates share.
//!
//! What is not here: layout.

pub(crate) use super::difference_words::{differences, kind, sides};

use crate::format::{ABSENT, number, percent, plain, span};
use crate::model::load_words;
use ifm_compare::comparison::contrast::{SHARE_POINTS_MIN, rounded_up};
use ifm_compare::comparison::{
    Apart, Basis, Capacity, CapacityPair, CapacityState, Cell, Comparison, Condition, Doubt,
    Measure, Metric, Over, Pair, RepeatedPrompt, Row, Shortage, SpeedUp, Unit, Verdict,
};
use ifm_core::words::counted;
use ifm_metrics::level::Load;
use ifm_metrics::stat::Estimate;
use ifm_metrics::{Severity, Warning};

const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;
const BYTES_PER_MB: f64 = 1e6;
/// Decimal gigabytes, as most people write memory.
const BYTES_PER_GB: f64 = 1e9;
const FLOP_PER_TFLOP: f64 = 1e12;
const J_PER_KJ: f64 = 1e3;
/// From here on a time is written in seconds.
const SECONDS_FROM_NS: f64 = 999.5e6;
/// Up to this number rows are named, where one reason holds for all that are inconclusive.
const NAMED_ROWS: usize = 4;
/// Above this factor a change is written as a factor.
const FACTOR_FROM: f64 = 4.0;

/// The name of a measure in a table: `TTFT p99`.
pub(crate) fn measure(measure: Measure, is_inter_event: bool) -> String {
    let metric = measure.metric;
    let name = if is_inter_event && metric == Metric::Itl { "IEL" } else { metric.name() };
    if measure.over == Over::Value { name.to_owned() } else { format!("{name} {}", measure.over) }
}

/// What was asked for, in words. A load is written as everywhere else.
pub(crate) fn condition(at: &Condition) -> String {
    match at.load {
        Some(load) if at.setting.is_empty() => load_words(Some(load)),
        _ => plain(&at.to_string()),
    }
}

/// A value with its unit.
pub(crate) fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Ns => span(value),
        Unit::Share => percent(value),
        _ => match written(unit, value) {
            (_, "") => number(value),
            (per, name) => format!("{} {name}", number(value / per)),
        },
    }
}

/// The divisor used to write a value of a unit, and the unit name that follows.
fn written(unit: Unit, value: f64) -> (f64, &'static str) {
    let size = value.abs();
    match unit {
        Unit::Ns if size >= SECONDS_FROM_NS => (NS_PER_S, "s"),
        Unit::Ns => (NS_PER_MS, "ms"),
        Unit::Bytes if size >= BYTES_PER_GB => (BYTES_PER_GB, "GB"),
        Unit::Bytes => (BYTES_PER_MB, "MB"),
        Unit::J if size >= J_PER_KJ => (J_PER_KJ, "kJ"),
        Unit::J => (1.0, "J"),
        Unit::W => (1.0, "W"),
        Unit::BytesPerS => (BYTES_PER_GB, "GB/s"),
        Unit::FlopPerS => (FLOP_PER_TFLOP, "TFLOP/s"),
        Unit::Usd => (1.0, "USD"),
        Unit::TokPerS
        | Unit::ReqPerS
        | Unit::StepPerS
        | Unit::SessionPerHour
        | Unit::ImagePerS
        | Unit::MegapixelPerS
        | Unit::Plain => (1.0, ""),
        Unit::Share => (1e-2, ""),
    }
}

/// What the values of a unit are divided by in a chart, and its name.
pub(crate) fn axis_unit(unit: Unit) -> (f64, &'static str) {
    match unit {
        Unit::Ns => (NS_PER_MS, "ms"),
        Unit::Share => (1e-2, "%"),
        Unit::Bytes => (BYTES_PER_GB, "GB"),
        Unit::J => (1.0, "J"),
        Unit::W => (1.0, "W"),
        Unit::BytesPerS => (BYTES_PER_GB, "GB/s"),
        Unit::FlopPerS => (FLOP_PER_TFLOP, "TFLOP/s"),
        Unit::Usd => (1.0, "USD"),
        Unit::TokPerS => (1.0, "tok/s"),
        Unit::ReqPerS => (1.0, "req/s"),
        Unit::StepPerS => (1.0, "steps/s"),
        Unit::SessionPerHour => (1.0, "sessions/h"),
        Unit::ImagePerS => (1.0, "images/s"),
        Unit::MegapixelPerS => (1.0, "megapixels/s"),
        Unit::Plain => (1.0, ""),
    }
}

/// A value with half of its interval, `22.2 ±0.1 ms`, or with both bounds where half of it exceeds the value; `≈` where
/// it lies between two measured loads.
pub(crate) fn cell(unit: Unit, cell: &Cell) -> String {
    let sign = if cell.is_interpolated { "≈" } else { "" };
    let half = cell.low.zip(cell.high).map(|(low, high)| (high - cell.value).max(cell.value - low));
    let half = half.filter(|_| !cell.is_interpolated);
    let text = match (half, unit) {
        (None, _) | (_, Unit::Share) => value(unit, cell.value),
        (Some(half), _) if half > cell.value.abs() => bounds(unit, cell),
        (Some(half), _) => {
            let (per, name) = written(unit, cell.value);
            let text = number(cell.value / per);
            format!("{text} ±{} {name}", half_of(&text, half / per)).trim_end().to_owned()
        }
    };
    format!("{sign}{text}")
}

/// A half width with as many places as the value that it belongs to, and up to two more where it would vanish.
fn half_of(value: &str, half: f64) -> String {
    let places = value.split_once('.').map_or(0, |(_, places)| places.len());
    let is_cut = value.ends_with(|c: char| !c.is_ascii_digit());
    if half <= 0.0 || is_cut {
        return number(half);
    }
    let with = |places: usize| format!("{half:.places$}");
    let shows = |text: &String| text.chars().any(|c| !matches!(c, '0' | '.'));
    (places..places + 3).map(with).find(shows).unwrap_or_else(|| "0".to_owned())
}

/// A value with the bounds of its interval, `31.0 ms [30.1, 32.2]`.
pub(crate) fn bounds(unit: Unit, cell: &Cell) -> String {
    let text = value(unit, cell.value);
    let side = |end: Option<f64>| {
        end.map_or_else(|| ABSENT.to_owned(), |end| bound(unit, end, cell.value))
    };
    match (cell.low, cell.high) {
        (None, None) => text,
        (low, high) => format!("{text} [{}, {}]", side(low), side(high)),
    }
}

/// A bound in the unit of the value that it belongs to, without the unit's name.
fn bound(unit: Unit, bound: f64, of: f64) -> String {
    number(bound / written(unit, of).0)
}

/// A share with its sign, without the percent sign.
fn signed(share: f64) -> String {
    let value = share * 100.0;
    let size = value.abs();
    let digits = if size >= 99.95 { format!("{size:.0}") } else { format!("{size:.1}") };
    let is_zero = digits.trim_matches(['0', '.']).is_empty();
    let sign = match () {
        () if is_zero => "",
        () if value < 0.0 => "−",
        () => "+",
    };
    format!("{sign}{digits}")
}

/// A change with its interval: `−33.8 % [−34.5, −33.0]`, `4.9 × [4.1, 6.0]`, `+5.0 points [+3.1, +8.0]`.
/// `change` is second over first, or for shares second minus first.
pub(crate) fn change(is_share: bool, change: Estimate) -> String {
    let Estimate { value, low, high } = change;
    let alone = alone(is_share, value);
    if is_share {
        return format!("{alone} [{}, {}]", signed(low), signed(high));
    }
    if value >= FACTOR_FROM {
        return format!("{alone} [{}, {}]", number(low), number(high));
    }
    let less = |ratio: f64| signed(ratio - 1.0);
    format!("{alone} [{}, {}]", less(low), less(high))
}

/// A change without an interval: `−33.8 %`, `4.9 ×`, `+5.0 points`.
fn alone(is_share: bool, value: f64) -> String {
    match is_share {
        true => format!("{} points", signed(value)),
        false if value >= FACTOR_FROM => format!("{} ×", number(value)),
        false => format!("{} %", signed(value - 1.0)),
    }
}

/// The change of a row, with its interval where there is one that can be relied on.
pub(crate) fn row_change(row: &Row) -> String {
    let is_share = row.measure.is_share();
    let reliable = reliable_change(row).map(|found| change(is_share, found));
    let value = || change_value(row).map(|value| alone(is_share, value));
    reliable.or_else(value).unwrap_or_else(|| ABSENT.to_owned())
}

/// The change of a row with an interval that can be relied on: where too few values leave the row inconclusive, an
/// interval that excludes no change would contradict the verdict.
pub(crate) fn reliable_change(row: &Row) -> Option<Estimate> {
    let none = if row.measure.is_share() { 0.0 } else { 1.0 };
    let is_short = matches!(row.doubt, Some(Doubt::Short(_)));
    let excludes_none = |found: &Estimate| found.low > none || found.high < none;
    row.change.filter(|found| !(is_short && excludes_none(found)))
}

/// The change of a row without its interval.
pub(crate) fn change_value(row: &Row) -> Option<f64> {
    row.change.map(|found| found.value).or(row.difference)
}

/// The change of a threshold: a share of the baseline's value, or points.
pub(crate) fn gate_change(
    is_share: bool,
    found: Option<Estimate>,
    difference: Option<f64>,
) -> String {
    let none = if is_share { 0.0 } else { 1.0 };
    let with_interval = found.map(|found| change(is_share, found.map(|value| value + none)));
    let difference = || difference.map(|value| alone(is_share, value + none));
    with_interval.or_else(difference).unwrap_or_else(|| ABSENT.to_owned())
}

/// A verdict in words.
pub(crate) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::PredictedAbove => "predicted above measured",
        Verdict::PredictedBelow => "predicted below measured",
        Verdict::NoRelevantDifference => "no relevant difference",
        Verdict::NoDifferenceShown => "no difference shown",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// The verdict of a row in words, with its reason where the data do not decide: an interval that
/// excludes no difference needs one next to it.
pub(crate) fn row_verdict(row: &Row) -> String {
    let word = verdict(row.verdict);
    let reason = match (row.doubt.as_ref(), row.detectable) {
        (None, _) => return word.to_owned(),
        (Some(Doubt::Wide), Some(least)) => {
            format!("only {} or more would show", least_shown(row.measure, least))
        }
        (Some(doubt), _) => brief(doubt),
    };
    format!("{word} ({reason})")
}

/// Why the data do not decide, in a few words.
pub(crate) fn brief(doubt: &Doubt) -> String {
    let short = |n: &u64, of: &str, needed: &u64| format!("{n}{of}, {needed} needed");
    match doubt {
        Doubt::Short(Shortage::Values { n, needed }) => format!("n={}", short(n, "", needed)),
        Doubt::Short(Shortage::Bounds { p, n, needed }) => {
            format!("n={} for an interval of P{p}", short(n, "", needed))
        }
        Doubt::Short(Shortage::Dependent { n, needed }) => {
            format!("n≈{}", short(n, "", needed))
        }
        Doubt::Short(Shortage::Repeats { n, needed }) => short(n, " repeats", needed),
        Doubt::Short(Shortage::Tail { .. }) => "a few requests dominate".to_owned(),
        Doubt::Short(Shortage::Disturbed { n, of }) => format!("{n} of {of} repeats disturbed"),
        Doubt::NoSpread => "identical repeats".to_owned(),
        Doubt::Short(Shortage::Runs { n, needed }) => short(n, " runs", needed),
        Doubt::NoValue => "no value".to_owned(),
        Doubt::OneNumber { .. } => "one number".to_owned(),
        Doubt::Uncounted => "n unknown".to_owned(),
        Doubt::Definitions(..) => "other definition".to_owned(),
        Doubt::NoRatio => "value at zero".to_owned(),
        Doubt::Between => "between loads".to_owned(),
        Doubt::Wide => "wide interval".to_owned(),
        Doubt::Size => "size not settled".to_owned(),
        Doubt::Correction => "after correction".to_owned(),
    }
}

/// Why the data do not decide, with the smallest difference that would probably have shown.
pub(crate) fn reason(doubt: Option<&Doubt>, detectable: Option<(Measure, f64)>) -> String {
    match (doubt, detectable) {
        (Some(doubt @ (Doubt::Wide | Doubt::Correction)), Some((measure, least))) => {
            let least = least_shown(measure, least);
            format!("{doubt}: only {least} or more would probably show")
        }
        (Some(doubt), _) => doubt.to_string(),
        (None, _) => "the data do not decide".to_owned(),
    }
}

/// Why two sides of a ranking cannot be distinguished.
pub(crate) fn reason_of_pair(doubt: Option<&Doubt>, detectable: Option<(Measure, f64)>) -> String {
    match doubt {
        Some(Doubt::Size) => "it is not settled whether the difference is relevant".to_owned(),
        doubt => reason(doubt, detectable),
    }
}

/// What a value over several runs is.
pub(crate) const OF_RUNS: &str = "a value over several runs of a side is their geometric mean";

/// Rows that are inconclusive, by reason: which rows, and the reason; then what a value over several
/// runs is, where there are any.
pub(crate) fn doubts(pair: &Pair, is_inter_event: bool) -> Vec<String> {
    let mut found: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in &pair.rows {
        let Some(doubt) = &row.doubt else { continue };
        let reason = reason(Some(doubt), row.detectable.map(|least| (row.measure, least)));
        match found.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, rows)) => rows.push(row),
            None => found.push((reason, vec![row])),
        }
    }
    let is_only = found.len() == 1;
    let line = |(reason, rows): &(String, Vec<&Row>)| match is_only && rows.len() > NAMED_ROWS {
        true => format!("every inconclusive row: {reason}"),
        false => format!("{}: {reason}", places(rows, is_inter_event)),
    };
    found.iter().map(line).chain(has_runs(pair).then(|| OF_RUNS.to_owned())).collect()
}

/// Whether a value is one of several runs.
pub(super) fn has_runs(pair: &Pair) -> bool {
    pair.rows.iter().flat_map(|row| [row.a, row.b]).flatten().any(|cell| cell.runs > 1)
}

/// Rows in few words: `TTFT p99 at 1, 4 users; ITL p50 at 4 users`.
fn places(rows: &[&Row], is_inter_event: bool) -> String {
    let mut by_measure: Vec<(Measure, Vec<&Condition>)> = Vec::new();
    for row in rows {
        match by_measure.iter_mut().find(|(measure, _)| *measure == row.measure) {
            Some((_, loads)) => loads.push(&row.at),
            None => by_measure.push((row.measure, vec![&row.at])),
        }
    }
    let mut by_loads: Vec<(Vec<String>, Vec<&Condition>)> = Vec::new();
    for (found, loads) in by_measure {
        let name = measure(found, is_inter_event);
        match by_loads.iter_mut().find(|(_, known)| *known == loads) {
            Some((names, _)) => names.push(name),
            None => by_loads.push((vec![name], loads)),
        }
    }
    let words: Vec<String> = by_loads
        .iter()
        .map(|(names, at)| format!("{} at {}", names.join(", "), loads(at)))
        .collect();
    words.join("; ")
}

/// Loads in few words: `1, 4, 16 users`.
pub(crate) fn loads(all: &[&Condition]) -> String {
    let Some((last, before)) = all.split_last() else { return String::new() };
    let before: Vec<String> = before
        .iter()
        .map(|at| match at.load {
            Some(Load::Users(users)) if at.setting.is_empty() => users.to_string(),
            Some(Load::ReqPerS(rate)) if at.setting.is_empty() => number(rate),
            _ => condition(at),
        })
        .collect();
    let separator = if last.setting.is_empty() { ", " } else { "; " };
    match before.as_slice() {
        [] => condition(last),
        before => format!("{}{separator}{}", before.join(separator), condition(last)),
    }
}

/// The smallest change that would probably show, as the change of the row is written.
pub(crate) fn least_shown(measure: Measure, least: f64) -> String {
    match measure.is_share() {
        true => format!("{} points", number(rounded_up(least) * 100.0)),
        false => percent(rounded_up(least)),
    }
}

/// What a run's own checks found that may mislead: one line for each, each once.
pub(crate) fn cautions(warnings: &[Warning]) -> Vec<crate::words::Told> {
    let mut lines = crate::words::told(warnings);
    let mut known: Vec<String> = Vec::new();
    lines.retain(|(severity, text)| {
        let is_new = *severity > Severity::Note && !known.contains(text);
        known.push(text.clone());
        is_new
    });
    lines
}

/// The capacities of a pair, first side, second side, and the ratio.
pub(crate) fn capacity(pair: &CapacityPair) -> (String, String, String) {
    let ratio = pair.ratio.map(|ratio| match pair.ratio_between {
        Some((low, high)) => format!("{} × [{}, {}]", number(ratio), number(low), number(high)),
        None => format!("{} ×", number(ratio)),
    });
    (side_capacity(&pair.a), side_capacity(&pair.b), ratio.unwrap_or_default())
}

fn side_capacity(capacity: &Capacity) -> String {
    // A measured load is a whole number of users or a rate as it was asked.
    let measured = |load: f64| if load.fract() == 0.0 { format!("{load}") } else { number(load) };
    let load = capacity.load.map(measured).unwrap_or_default();
    match capacity.state {
        CapacityState::Unknown => "not known".to_owned(),
        CapacityState::Below => format!("below {load}"),
        CapacityState::AtLeast => format!("at least {load}"),
        CapacityState::Found => {
            let end = |load: Option<f64>| load.map_or_else(|| "–".to_owned(), measured);
            format!("{load} [{}, {}]", end(capacity.low), end(capacity.high))
        }
    }
}

/// What a capacity is counted in.
pub(crate) fn capacity_unit(pair: &CapacityPair) -> &'static str {
    if pair.is_rate { "req/s" } else { "users" }
}

/// The result in sentences.
pub(crate) fn summary(comparison: &Comparison, pair: &Pair) -> Vec<String> {
    let name = plain(&pair.side.label);
    let mut lines = Vec::new();
    if pair.rows.is_empty() {
        lines.push(format!("{name}: nothing to compare"));
        return lines;
    }
    let is_contest = !pair.is_of_prediction(&comparison.baseline);
    let tally: Vec<String> = Verdict::ALL
        .into_iter()
        .map(|known| (known, pair.count(known)))
        .filter(|(known, n)| {
            *n > 0 || is_contest && matches!(known, Verdict::Better | Verdict::Worse)
        })
        .map(|(known, n)| format!("{n} {}", verdict(known)))
        .collect();
    lines.push(format!(
        "{name}: {} of {}",
        tally.join(", "),
        counted(pair.rows.len() as u64, "row")
    ));
    lines.extend(pair.speed_ups.iter().map(speed_up));
    lines.extend(pair.repeated_prompt.iter().map(repeated_prompt));
    lines.extend(crossovers(pair));
    lines.extend(pair.apart.iter().map(stands_apart));
    lines.push(basis(comparison, pair));
    lines
}

/// What speculative decoding brought at a load.
fn speed_up(found: &SpeedUp) -> String {
    let SpeedUp { at, measure: of, ratio } = found;
    format!(
        "speculative decoding at {}: {:.2} [{:.2}, {:.2}] times as fast, by {} without over with it",
        condition(at),
        ratio.value,
        ratio.low,
        ratio.high,
        measure(*of, false)
    )
}

/// MLPerf's TEST04 at a load.
fn repeated_prompt(found: &RepeatedPrompt) -> String {
    let RepeatedPrompt { at, measure: by, ratio, fails } = found;
    format!(
        "one prompt again and again at {}: {:.2} [{:.2}, {:.2}] times as fast as new ones, by {}: {}",
        condition(at),
        ratio.value,
        ratio.low,
        ratio.high,
        measure(*by, false),
        if *fails { "answers come from a cache (fails MLPerf's TEST04)" } else { "passes TEST04" }
    )
}

/// Measures with one pattern of verdicts over the loads.
struct Crossover<'a> {
    better: Vec<&'a Condition>,
    worse: Vec<&'a Condition>,
    names: Vec<String>,
}

/// Measures that are better at some loads and worse at others.
fn crossovers(pair: &Pair) -> Vec<String> {
    let mut found: Vec<Crossover> = Vec::new();
    let mut seen: Vec<Measure> = Vec::new();
    for row in &pair.rows {
        if seen.contains(&row.measure) {
            continue;
        }
        seen.push(row.measure);
        let at = |wanted: Verdict| -> Vec<&Condition> {
            let rows = pair.rows.iter().filter(|other| other.measure == row.measure);
            rows.filter(|other| other.verdict == wanted).map(|other| &other.at).collect()
        };
        let (better, worse) = (at(Verdict::Better), at(Verdict::Worse));
        if better.is_empty() || worse.is_empty() {
            continue;
        }
        let name = measure(row.measure, pair.side.is_inter_event);
        match found.iter_mut().find(|known| known.better == better && known.worse == worse) {
            Some(known) => known.names.push(name),
            None => found.push(Crossover { better, worse, names: vec![name] }),
        }
    }
    let line = |found: &Crossover| {
        let (better, worse) = (loads(&found.better), loads(&found.worse));
        format!("{}: better at {better}, worse at {worse}", found.names.join(", "))
    };
    found.iter().map(line).collect()
}

fn stands_apart(apart: &Apart) -> String {
    let unit = apart.measure.unit();
    format!(
        "run {} of {} is an outlier at {}: {} {}, the mean is {}",
        plain(&apart.run),
        plain(&apart.side),
        condition(&apart.at),
        measure(apart.measure, false),
        value(unit, apart.value),
        value(unit, apart.mean)
    )
}

/// That the intervals of single runs do not contain how runs differ, which comes before any verdict;
/// absent where repeats show it.
pub(crate) fn single_runs(pair: &Pair) -> Option<String> {
    let has = |wanted: &[Basis]| {
        pair.rows.iter().any(|row| row.basis.is_some_and(|basis| wanted.contains(&basis)))
    };
    let are_single = has(&[Basis::Requests, Basis::Stated]) && !has(&[Basis::Runs]);
    are_single.then(|| SINGLE_RUNS.to_owned())
}

/// What the intervals of one run on each side leave out, and what to do about it.
const SINGLE_RUNS: &str = "one run on each side: the intervals exclude run-to-run variation; \
    measure each side three times and compare a1,a2,a3 with b1,b2,b3";

/// What the intervals rest on.
pub(crate) fn basis(comparison: &Comparison, pair: &Pair) -> String {
    let has = |basis: Basis| pair.rows.iter().any(|row: &Row| row.basis == Some(basis));
    let mut from: Vec<&str> = Vec::new();
    if has(Basis::Runs) {
        from.push("repeated runs");
    }
    if has(Basis::Requests) {
        from.push(match has(Basis::Runs) {
            true => "the requests of one run where there are no repeats",
            false => "the requests of one run on each side",
        });
    }
    if has(Basis::Stated) {
        from.push("stated means, deviations and counts, as if each value were independent");
    }
    let tested = match comparison.tested {
        0 => String::new(),
        tested => format!("; corrected for {}", counted(tested as u64, "comparison")),
    };
    let of_shares = match has(Basis::Counts) {
        true => format!(", of shares {} points", number(SHARE_POINTS_MIN * 100.0)),
        false => String::new(),
    };
    let rest = format!(
        "changes of {} or more are relevant{of_shares}{tested}",
        percent(comparison.threshold)
    );
    match from.is_empty() {
        true if has(Basis::Counts) => {
            format!("shares are of counted requests; nothing else has an interval; {rest}")
        }
        true => "no interval: the results hold single numbers".to_owned(),
        false => {
            let confidence = percent(comparison.confidence);
            format!("{confidence} intervals from {}; {rest}", from.join("; from "))
        }
    }
}

/// The head of a side: its name and runs.
pub(crate) fn side(label: &str, runs: &[String]) -> String {
    let label = plain(label);
    match runs {
        // A file is named by the end of its path.
        [only] if plain(only).ends_with(&label) => label,
        [only] => format!("{label} (run {})", plain(only)),
        several => format!("{label} ({} runs)", several.len()),
    }
}

/// The rows of a pair by load.
pub(crate) fn by_load(pair: &Pair) -> Vec<(&Condition, Vec<&Row>)> {
    let mut groups: Vec<(&Condition, Vec<&Row>)> = Vec::new();
    for row in &pair.rows {
        match groups.last_mut() {
            Some((at, rows)) if **at == row.at => rows.push(row),
            _ => groups.push((&row.at, vec![row])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_written_with_their_sign() {
        let estimate = |low, value, high| Estimate { value, low, high };
        let check = |is_share, found, expect: &str| assert_eq!(change(is_share, found), expect);
        check(false, estimate(0.655, 0.662, 0.67), "−33.8 % [−34.5, −33.0]");
        check(false, estimate(0.999_9, 1.000_1, 1.02), "0.0 % [0.0, +2.0]");
        check(false, estimate(0.6, 5.93, 10.9), "5.93 × [0.60, 10.9]");
        check(false, estimate(1.5, 2.6, 3.0), "+160 % [+50.0, +200]");
        check(true, estimate(0.02, 0.05, 0.081), "+5.0 points [+2.0, +8.1]");
    }

    #[test]
    fn cells_have_half_their_interval() {
        let found = |value, low, high, is_interpolated| Cell {
            value,
            low: Some(low),
            high: Some(high),
            n: Some(9),
            runs: 1,
            is_interpolated,
        };
        let ms = |v: f64| v * NS_PER_MS;
        let check = |unit, found: Cell, expect: &str| assert_eq!(cell(unit, &found), expect);
        check(Unit::Ns, found(ms(22.2), ms(22.1), ms(22.36), false), "22.2 ±0.2 ms");
        check(Unit::Ns, found(ms(1150.0), ms(1100.0), ms(1210.0), false), "1.15 ±0.06 s");
        check(Unit::Ns, found(ms(100.0), ms(99.98), ms(100.01), false), "100 ±0.02 ms");
        check(Unit::Ns, found(ms(100.0), ms(100.0), ms(100.0), false), "100 ±0 ms");
        let wide = found(ms(23.6), ms(20.0), ms(98.8), false);
        check(Unit::Ns, wide, "23.6 ms [20.0, 98.8]");
        check(Unit::TokPerS, found(2352.0, 2300.0, 2380.0, false), "2\u{202F}352 ±52");
        check(Unit::Ns, found(ms(20.0), ms(10.0), ms(40.0), true), "≈20.0 ms");
        check(Unit::Share, found(0.05, 0.03, 0.08, false), "5%");
        let exact = bounds(Unit::Ns, &found(ms(31.0), ms(30.1), ms(32.2), false));
        assert_eq!(exact, "31.0 ms [30.1, 32.2]");
        assert_eq!(bounds(Unit::Share, &found(0.05, 0.031, 0.08, false)), "5% [3.10, 8.00]");
    }
}
