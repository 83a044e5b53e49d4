//! A level by our own definitions, from its summary.

use super::rows::push;
use crate::level::LevelSummary;
use crate::media_figures;
use crate::stat::Distribution;
use ifm_core::Metric;
use ifm_core::metric::MetricUnit;
use ifm_core::sheet::{Row, Statistic, StdKind, Unit};

const NS_PER_MS: f64 = 1e6;

/// Adds every figure that the summary has.
pub(super) fn fill(level: &LevelSummary, row: &mut Row) {
    let latencies = &level.latencies;
    for found in latencies.populations().filter(|found| found.metric.is_stated()) {
        let (scale, unit) = match found.metric.unit() {
            MetricUnit::Ns => (NS_PER_MS, Unit::Ms),
            MetricUnit::TokPerS => (1.0, Unit::PerS),
            _ => (1.0, Unit::One),
        };
        population(row, latencies.quantity(found), &found.values, (scale, unit));
    }
    let value = Statistic::Value;
    let counts = &level.counts;
    push(row, Metric::Requests, value, counts.sent as f64, Unit::Count);
    push(row, Metric::RequestsOk, value, counts.ok as f64, Unit::Count);
    push(row, Metric::RequestsFailed, value, counts.failed as f64, Unit::Count);
    if let Some(tokens) = level.tokens.prompt_total {
        push(row, Metric::InputTokens, value, tokens as f64, Unit::Count);
    }
    if let Some(tokens) = level.tokens.output_total {
        push(row, Metric::OutputTokens, value, tokens as f64, Unit::Count);
    }
    for (quantity, total, unit) in media_figures::totals(level) {
        push(row, quantity, value, total, unit);
    }
    let Some(window) = level.window() else { return };
    push(row, Metric::Duration, value, window.window.seconds(), Unit::S);
    push(row, Metric::RequestRate, value, window.req_per_s, Unit::PerS);
    push(row, Metric::InFlight, Statistic::Mean, window.concurrency.mean, Unit::Count);
    push(row, Metric::PeakInFlight, value, f64::from(window.concurrency.max), Unit::Count);
    if let Some(rate) = level.output_tok_per_s() {
        push(row, Metric::OutputRate, value, rate, Unit::PerS);
    }
    if let Some(rate) = window.total_tok_per_s {
        push(row, Metric::TotalRate, value, rate, Unit::PerS);
    }
    if let Some(rate) = window.good_req_per_s {
        push(row, Metric::Goodput, value, rate, Unit::PerS);
    }
}

fn population(
    row: &mut Row,
    quantity: Metric,
    distribution: &Distribution,
    (scale, unit): (f64, Unit),
) {
    let mut add =
        |statistic, value: f64| push(row, quantity, statistic, value / scale, unit.clone());
    add(Statistic::Mean, distribution.mean);
    if let Some(std) = distribution.std {
        add(Statistic::Std(StdKind::Sample), std);
    }
    add(Statistic::Min, distribution.min);
    add(Statistic::Max, distribution.max);
    for percentile in &distribution.percentiles {
        add(Statistic::percentile(percentile.p), percentile.value);
    }
    push(row, quantity, Statistic::Count, distribution.n as f64, Unit::Count);
}
