//! Figures of a document that holds single requests and nothing else, such as AIPerf's records.
//!
//! Computed here, and marked so in their definition. What does not follow from the stored data of a
//! request, such as percentiles of single gaps, stays absent. Not here: requests against the
//! figures of their row (`audit/requests`).

use super::Stat;
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Row, SheetRequest, Statistic};
use ifm_metrics::stat::quantile::{is_enough, percentile_of_sorted};

const HOW: &str = "computed from the single requests of the document";
const PERCENTS: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// Figures of a row's requests; none where it has figures of its own.
pub(super) fn stats(row: &Row) -> Vec<Stat> {
    if !row.figures.is_empty() || row.requests.is_empty() {
        return Vec::new();
    }
    let good: Vec<&SheetRequest> =
        row.requests.iter().filter(|request| request.error.is_none()).collect();
    let mut out = Vec::new();
    let mut add = |metric: Metric, statistic: Statistic, value: f64, n: Option<u64>| {
        let enough = match (statistic, n) {
            (Statistic::Percentile(percent), Some(n)) => is_enough(n, percent),
            _ => true,
        };
        out.push(Stat {
            n,
            is_enough: enough,
            definition: Definition::Derivable(HOW.to_owned()),
            ..Stat::new(metric, statistic, value)
        });
    };
    add(Metric::Requests, Statistic::Value, row.requests.len() as f64, None);
    add(Metric::RequestsOk, Statistic::Value, good.len() as f64, None);
    let failed = row.requests.len() - good.len();
    add(Metric::RequestsFailed, Statistic::Value, failed as f64, None);

    let of = |value: &dyn Fn(&SheetRequest) -> Option<f64>| -> Vec<f64> {
        let mut values: Vec<f64> = good.iter().filter_map(|request| value(request)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let per_token = |request: &SheetRequest| {
        let gaps = request.output_tokens?.checked_sub(1).filter(|gaps| *gaps > 0)?;
        Some((request.e2e_ms? - request.ttft_ms?) / gaps as f64)
    };
    for (metric, values) in [
        (Metric::Ttft, of(&|request| request.ttft_ms)),
        (Metric::Tpot, of(&per_token)),
        (Metric::E2e, of(&|request| request.e2e_ms)),
        (Metric::InputTokens, of(&|request| Some(request.input_tokens? as f64))),
        (Metric::OutputTokens, of(&|request| Some(request.output_tokens? as f64))),
    ] {
        let n = Some(values.len() as u64).filter(|n| *n > 0);
        let Some(n) = n else { continue };
        add(metric, Statistic::Mean, values.iter().sum::<f64>() / n as f64, Some(n));
        for percent in PERCENTS {
            let statistic = match percent {
                50.0 => Statistic::Median,
                _ => Statistic::Percentile(percent),
            };
            if let Some(value) = percentile_of_sorted(&values, percent) {
                add(metric, statistic, value, Some(n));
            }
        }
    }
    if let Some((sum, gaps)) = gaps(&good) {
        add(Metric::Itl, Statistic::Mean, sum / gaps as f64, Some(gaps));
    }
    if let Some(seconds) = seconds(&row.requests) {
        let total = |of: fn(&SheetRequest) -> Option<u64>| {
            let sum = good.iter().map(|request| of(request)).sum::<Option<u64>>();
            sum.map(|sum| sum as f64)
        };
        let (input, output) =
            (total(|request| request.input_tokens), total(|request| request.output_tokens));
        let both = input.zip(output).map(|(input, output)| input + output);
        // Little's law over the whole time, of requests that failed too.
        let within: Option<f64> = row.requests.iter().map(|request| request.e2e_ms).sum();
        for (metric, sum) in [
            (Metric::RequestRate, Some(good.len() as f64)),
            (Metric::InputRate, input),
            (Metric::OutputRate, output),
            (Metric::TotalRate, both),
        ] {
            if let Some(sum) = sum {
                add(metric, Statistic::Value, sum / seconds, None);
            }
        }
        if let Some(within) = within {
            add(Metric::InFlight, Statistic::Mean, within / 1e3 / seconds, None);
        }
        add(Metric::Duration, Statistic::Value, seconds * 1e3, None);
    }
    out
}

/// The sum of all gaps in ms, and how many there are.
fn gaps(good: &[&SheetRequest]) -> Option<(f64, u64)> {
    let sum = good.iter().map(|request| request.gaps_sum_ms).sum::<Option<f64>>()?;
    let gaps = good.iter().map(|request| request.gaps.map(u64::from)).sum::<Option<u64>>()?;
    (gaps > 0).then_some((sum, gaps))
}

/// From the first start to the last end, where every request has both.
fn seconds(requests: &[SheetRequest]) -> Option<f64> {
    let starts = requests.iter().map(|request| request.start_s).collect::<Option<Vec<f64>>>()?;
    let ends =
        requests.iter().zip(&starts).map(|(request, start)| Some(start + request.e2e_ms? / 1e3));
    let ends = ends.collect::<Option<Vec<f64>>>()?;
    let first = starts.into_iter().fold(f64::INFINITY, f64::min);
    let last = ends.into_iter().fold(f64::NEG_INFINITY, f64::max);
    Some(last - first).filter(|seconds| *seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Results;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Part, PartKind, RowRole, Source};

    /// Three requests, the last of which failed, within a second.
    fn bare() -> Row {
        let request = |start_s, ttft_ms, e2e_ms, tokens| SheetRequest {
            start_s: Some(start_s),
            ttft_ms: Some(ttft_ms),
            e2e_ms: Some(e2e_ms),
            input_tokens: Some(100),
            output_tokens: Some(tokens),
            ..SheetRequest::default()
        };
        let mut row = Row::new(RowRole::Measured, ifm_core::sheet::Place::default());
        row.requests = vec![request(0.0, 100.0, 500.0, 5), request(0.2, 200.0, 800.0, 11)];
        row.requests
            .push(SheetRequest { error: Some("500".to_owned()), ..request(0.4, 10.0, 100.0, 1) });
        row
    }

    fn sheet(name: &str, row: Row) -> Sheet {
        let part = Part {
            rows: vec![row],
            ..Part::new(PartKind::Serving, ifm_core::sheet::Place::default())
        };
        let (name, tool) = (name.to_owned(), Some("aiperf".to_owned()));
        let source = Source { name, tool, ..Source::default() };
        Sheet { source, parts: vec![part], remarks: Vec::new() }
    }

    #[test]
    fn requests_without_figures_give_them() {
        let results = Results::of_sheets(&[sheet("a/records.jsonl", bare())]);
        let value = |metric, statistic| results.points[0].value(metric, statistic);
        assert_eq!(value(Metric::RequestsOk, Statistic::Value), Some(2.0));
        assert_eq!(value(Metric::RequestsFailed, Statistic::Value), Some(1.0));
        assert_eq!(value(Metric::Ttft, Statistic::Mean), Some(150.0));
        // 400 ms over 4 gaps, 600 over 10.
        assert_eq!(value(Metric::Tpot, Statistic::Mean), Some(80.0));
        assert_eq!(value(Metric::OutputRate, Statistic::Value), Some(16.0));
        assert_eq!(value(Metric::InFlight, Statistic::Mean), Some(1.4));
        assert_eq!(value(Metric::Itl, Statistic::Mean), None, "gaps are not known");
        let p99 = results.points[0].stat(Metric::Ttft, Statistic::Percentile(99.0)).unwrap();
        assert!(!p99.is_enough && p99.n == Some(2), "{p99:?}");
    }
}
