//! Tables as GuideLLM prints them: heads in three lines, cells between pipes.
//!
//! The figures use the definitions of the document or run; the strategy cell holds the rate where it
//! is known. Not here: GuideLLM's own files (`ifm-interop`).

use super::super::Subject;
use crate::format::{ABSENT, plain};
use ifm_core::Metric;
use ifm_core::sheet::{Statistic, key};
use ifm_core::spec::ArrivalLaw;
use ifm_metrics::level::Load;
use ifm_results::Pooled;
use ifm_rules::insight::Party;

const MS_PER_S: f64 = 1e3;
const MEDIAN: Statistic = Statistic::Median;
const MEAN: Statistic = Statistic::Mean;
const P95: Statistic = Statistic::Percentile(95.0);

/// A head over several columns.
struct Group {
    name: &'static str,
    unit: &'static str,
    columns: Vec<Column>,
}

/// One column of figures.
struct Column {
    name: &'static str,
    quantity: Metric,
    statistic: Statistic,
    /// What the canonical unit is divided by.
    scale: f64,
}

fn group(
    (name, unit): (&'static str, &'static str),
    columns: &[(&'static str, Metric, Statistic, f64)],
) -> Group {
    let column = |(name, quantity, statistic, scale): &(&'static str, Metric, Statistic, f64)| {
        Column { name, quantity: *quantity, statistic: *statistic, scale: *scale }
    };
    Group { name, unit, columns: columns.iter().map(column).collect() }
}

/// The table of latencies and the table of throughputs of one of the things compared.
pub(super) fn tables(subject: &Subject, party: &Party) -> [String; 2] {
    let time = |head, quantity: Metric, scale| {
        group(head, &[("Mdn", quantity, MEDIAN, scale), ("p95", quantity, P95, scale)])
    };
    let rate = |head, quantity: Metric| {
        group(head, &[("Mdn", quantity, MEDIAN, 1.0), ("Mean", quantity, MEAN, 1.0)])
    };
    let latency = [
        time(("Request Latency", "Sec"), Metric::E2e, MS_PER_S),
        time(("TTFT", "ms"), Metric::Ttft, 1.0),
        time(("ITL", "ms"), Metric::Itl, 1.0),
        time(("TPOT", "ms"), Metric::Tpot, 1.0),
    ];
    let throughput = [
        rate(("Requests", "Per Sec"), Metric::RequestRate),
        rate(("Requests", "Concurrency"), Metric::InFlight),
        rate(("Input Tokens", "Per Sec"), Metric::InputRate),
        rate(("Output Tokens", "Per Sec"), Metric::OutputRate),
        rate(("Total Tokens", "Per Sec"), Metric::TotalRate),
    ];
    [latency.as_slice(), &throughput].map(|groups| table(subject, party, groups))
}

/// The strategy with its rate: `constant@0.73`, `concurrent@8`. If the document does not state the
/// requested rate, the served rate is shown, marked as served.
fn strategy(subject: &Subject, cell: &Pooled) -> String {
    let stated = cell.factor(key::STRATEGY).map(|strategy| plain(&strategy));
    match (cell.load(), stated) {
        (Some(Load::Users(users)), _) => format!("concurrent@{users}"),
        (Some(Load::ReqPerS(rate)), stated) => {
            format!("{}@{rate}", stated.unwrap_or_else(|| law(subject, cell).to_owned()))
        }
        (None, Some(stated)) if stated == "constant" || stated == "poisson" => {
            let served = [(MEDIAN, "median"), (MEAN, "mean")]
                .into_iter()
                .find_map(|(of, word)| Some((cell.stat(Metric::RequestRate, of)?, word)));
            match served {
                Some((rate, of)) => {
                    let rate = printed(rate.value, &rate.printed);
                    format!("{stated} ({rate}/s served, {of})")
                }
                None => stated,
            }
        }
        (None, stated) => stated.unwrap_or_else(|| ABSENT.to_owned()),
    }
}

/// The law of the arrivals of an inferometer level.
fn law(subject: &Subject, cell: &Pooled) -> &'static str {
    let found = cell.first().and_then(|point| {
        let level = point.place.pointer.as_deref()?.rsplit('/').next()?.parse::<usize>().ok()?;
        let run = subject.runs.get(point.source)?;
        Some(run.manifest.spec.levels.get(level)?.arrivals.as_ref()?.law)
    });
    match found {
        Some(ArrivalLaw::Constant) => "constant",
        Some(ArrivalLaw::Poisson) => "poisson",
        Some(ArrivalLaw::Gamma(_)) => "gamma",
        Some(ArrivalLaw::Burst(_)) => "burst",
        Some(ArrivalLaw::Replay(_)) => "replay",
        None => "rate",
    }
}

/// With as many decimals as were printed, else one, or two below 10.
fn printed(value: f64, printed: &Option<String>) -> String {
    let decimals = printed.as_deref().map(|text| {
        text.trim().split_once('.').map_or(0, |(_, decimals)| decimals.trim_end().len().min(6))
    });
    let decimals = decimals.unwrap_or(if value.abs() < 9.995 { 2 } else { 1 });
    ifm_chart::rounded(value, decimals)
}

/// Heads over the same columns are written once.
fn table(subject: &Subject, party: &Party, groups: &[Group]) -> String {
    let row = |cell: &Pooled| {
        let mut row = vec![strategy(subject, cell)];
        row.extend(groups.iter().flat_map(|group| &group.columns).map(|column| {
            // The rate of a whole level is the mean over its time.
            let whole = || cell.stat(column.quantity, Statistic::Value);
            let found = cell.stat(column.quantity, column.statistic);
            match found.or_else(|| (column.statistic == MEAN).then(whole).flatten()) {
                Some(found) => printed(found.value / column.scale, &found.printed),
                None => ABSENT.to_owned(),
            }
        }));
        row
    };
    let rows: Vec<Vec<String>> = party.cells.iter().map(row).collect();
    let columns = || groups.iter().flat_map(|group| &group.columns);
    let mut heads = vec![String::new()];
    heads.extend(columns().map(|column| column.name.to_owned()));
    let mut widths: Vec<usize> = heads.iter().map(|head| head.chars().count()).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    if let Some(first) = widths.first_mut() {
        *first = (*first).max("Benchmark".len());
    }
    // A head needs room over its columns, with a blank on each side.
    for (first, names) in spans(groups, |group| group.name).iter().chain(&spans(groups, unit)) {
        let (count, name) = names;
        let room: usize = widths.iter().skip(*first).take(*count).map(|width| width + 2).sum();
        let short = (name.chars().count() + 2).saturating_sub(room);
        if let Some(last) = widths.get_mut(first + count - 1) {
            *last += short;
        }
    }
    let mut lines = vec![rule(&widths, '=')];
    lines.push(head("Benchmark", &spans(groups, |group| group.name), &widths));
    lines.push(head("Strategy", &spans(groups, unit), &widths));
    lines.push(line(&heads, &widths));
    lines.push(rule(&widths, '-'));
    lines.extend(rows.iter().map(|row| line(row, &widths)));
    lines.push(rule(&widths, '='));
    lines.join("\n") + "\n"
}

fn unit(group: &Group) -> &'static str {
    group.unit
}

type Span = (usize, (usize, &'static str));

/// First column, number of columns and words of each head. The names of neighbours that are the
/// same are one head; units never are.
fn spans(groups: &[Group], words: impl Fn(&Group) -> &'static str) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut at = 1;
    for group in groups {
        let (word, count) = (words(group), group.columns.len());
        match spans.last_mut() {
            Some((_, (known, name))) if *name == word && word == group.name => *known += count,
            _ => spans.push((at, (count, word))),
        }
        at += count;
    }
    spans
}

fn rule(widths: &[usize], sign: char) -> String {
    let bars: Vec<String> = widths.iter().map(|width| sign.to_string().repeat(width + 2)).collect();
    format!("|{}|", bars.join("|"))
}

fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

/// A head takes as many pipes at its end as it has columns.
fn head(first: &str, spans: &[Span], widths: &[usize]) -> String {
    let mut line = format!("| {} |", pad(first, widths.first().copied().unwrap_or_default()));
    for (at, (count, name)) in spans {
        let room: usize = widths.iter().skip(*at).take(*count).map(|width| width + 2).sum();
        line.push_str(&format!(" {} {}", pad(name, room.saturating_sub(2)), "|".repeat(*count)));
    }
    line
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let cells: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!(" {} ", pad(cell, *width))).collect();
    format!("|{}|", cells.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_spans_its_columns() {
        let groups = [group(
            ("Request Latency", "Sec"),
            &[("Mdn", Metric::E2e, MEDIAN, 1e3), ("p95", Metric::E2e, P95, 1e3)],
        )];
        let widths = [11, 7, 6];
        assert_eq!(
            head("Benchmark", &spans(&groups, |group| group.name), &widths),
            "| Benchmark   | Request Latency ||"
        );
        assert_eq!(rule(&widths, '='), "|=============|=========|========|");
    }
}
