//! What single requests say of the figures of their row.
//!
//! Only for tools of which it is known, by files with both, that their figures are those of the
//! requests as they are kept: the successful ones, percentiles between neighbours, deviations by
//! `n`. Of the gaps between tokens their sum and number are kept, so that their mean is all that
//! follows.

use super::Cell;
use super::subject::slack;
use crate::stat::percentile_of_sorted;
use ifm_core::sheet::{Figure, Quantity, SheetRequest, Statistic, StdKind};

/// Tools, and whether times to the last piece are kept as they compute them.
const TOOLS: [(&str, bool); 3] = [
    ("vllm bench serve", true),
    ("sglang.bench_serving", false),
    ("sglang.bench_serving, Rust client", false),
];
/// Share by which a figure may differ.
const APART: f64 = 1e-3;
/// Single requests that a sheet keeps of a row: beyond them some are missing.
const REQUESTS_MAX: usize = 1_000_000;

/// Figures of a row with what its requests give, in canonical units.
pub(super) fn recomputed<'c>(cell: &'c Cell) -> Vec<(&'c Figure, f64)> {
    let tool = cell.measured_by();
    let known = TOOLS.iter().find(|(name, _)| Some(*name) == tool);
    let good: Vec<&SheetRequest> =
        cell.row.requests.iter().filter(|request| request.error.is_none()).collect();
    // Where the numbers differ the figures are of other requests.
    let completed = cell.row.value(&Quantity::RequestsOk, Statistic::Value);
    let is_whole = cell.row.requests.len() < REQUESTS_MAX && completed == Some(good.len() as f64);
    let Some((_, has_ends)) = known.filter(|_| is_whole && !good.is_empty()) else {
        return Vec::new();
    };
    let all = |of: fn(&SheetRequest) -> Option<f64>| {
        let mut values = good.iter().map(|request| of(request)).collect::<Option<Vec<f64>>>()?;
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then_some(values)
    };
    let ttft = all(|request| request.ttft_ms);
    let e2e = all(|request| request.e2e_ms).filter(|_| *has_ends);
    let tpot = e2e.as_ref().and_then(|_| per_token(&good));
    let tokens = |of: fn(&SheetRequest) -> Option<u64>| -> Option<f64> {
        good.iter().map(|request| of(request).map(|n| n as f64)).sum()
    };
    let expected = |figure: &Figure| match figure.quantity {
        Quantity::Ttft => of_population(ttft.as_ref()?, figure.statistic),
        Quantity::E2e => of_population(e2e.as_ref()?, figure.statistic),
        Quantity::Tpot => of_population(tpot.as_ref()?, figure.statistic),
        Quantity::Itl if figure.statistic == Statistic::Mean => mean_gap(&good),
        Quantity::InputTokens if is_sum(figure) => tokens(|request| request.input_tokens),
        Quantity::OutputTokens if is_sum(figure) => tokens(|request| request.output_tokens),
        _ => None,
    };
    let with_value = cell.row.figures.iter().filter(|figure| figure.canonical().is_some());
    with_value.filter_map(|figure| Some((figure, expected(figure)?))).collect()
}

/// Whether a figure differs from what its requests give.
pub(super) fn differs(figure: &Figure, expected: f64) -> bool {
    figure.canonical().is_some_and(|stated| {
        (stated - expected).abs() > APART * expected.abs() + slack(figure) + 1e-9
    })
}

fn is_sum(figure: &Figure) -> bool {
    matches!(figure.statistic, Statistic::Sum | Statistic::Value)
}

/// Time per output token of each request, those of one token left out.
fn per_token(good: &[&SheetRequest]) -> Option<Vec<f64>> {
    let mut values = Vec::new();
    for request in good {
        let tokens = request.output_tokens?;
        if tokens > 1 {
            values.push((request.e2e_ms? - request.ttft_ms?) / (tokens - 1) as f64);
        }
    }
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then_some(values)
}

fn mean_gap(good: &[&SheetRequest]) -> Option<f64> {
    let gaps: u64 = good.iter().map(|request| request.gaps.map(u64::from)).sum::<Option<u64>>()?;
    let sum: f64 = good.iter().map(|request| request.gaps_sum_ms).sum::<Option<f64>>()?;
    (gaps > 0).then(|| sum / gaps as f64)
}

fn of_population(sorted: &[f64], statistic: Statistic) -> Option<f64> {
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    match statistic {
        Statistic::Mean => Some(mean),
        Statistic::Median => percentile_of_sorted(sorted, 50.0),
        Statistic::Percentile(percent) => percentile_of_sorted(sorted, percent),
        Statistic::Min => sorted.first().copied(),
        Statistic::Max => sorted.last().copied(),
        Statistic::Std(StdKind::Population) => {
            let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
            Some((squares / sorted.len() as f64).sqrt())
        }
        _ => None,
    }
}
