//! Requests at the start of a level that were still warming up, by evidence.
//!
//! They are left out of the steady window, so of rates. Latencies keep them: a percentile over
//! requests that were chosen by their latency would be one of the choice. What is not here: the
//! test ([`transient`]), and warm-up requests that were sent as such, which are in no number.

use crate::request::RequestMetrics;
use crate::stat::transient::{self, Course};
use ifm_core::RequestRecord;

/// The head of a level, before it was steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Warming {
    /// Complete answers that belong to it, in the order of their starts.
    pub requests: u64,
    /// From the first start to that of the first request behind them, seconds.
    pub seconds: f64,
    /// When the first request behind them started, nanoseconds since the run's origin.
    pub end_ns: u64,
    /// Which latency tells: `TTFT` or `TPOT`.
    pub metric: &'static str,
    /// Its geometric mean over that of the rest.
    pub ratio: f64,
}

impl Warming {
    /// By TTFT and TPOT of complete answers: the longer head, and TTFT for one as long.
    pub(super) fn of(measured: &[&RequestRecord]) -> Option<Warming> {
        let mut ok: Vec<&RequestRecord> =
            measured.iter().copied().filter(|record| record.outcome.is_ok()).collect();
        ok.sort_by_key(|record| (record.start_ns, record.seq));
        let metrics: Vec<RequestMetrics> =
            ok.iter().map(|record| RequestMetrics::derive(record)).collect();
        let ttft = |metrics: &RequestMetrics| metrics.ttft_ns.map(|value| value as f64);
        let tpot = |metrics: &RequestMetrics| metrics.tpot_ns.or(metrics.tpot_ns_estimated);
        let heads = [head("TPOT", &ok, &metrics, tpot), head("TTFT", &ok, &metrics, ttft)];
        heads.into_iter().flatten().max_by_key(|head| head.requests)
    }
}

/// The head by one latency. Requests without a value are passed over.
fn head(
    metric: &'static str,
    ok: &[&RequestRecord],
    metrics: &[RequestMetrics],
    value: impl Fn(&RequestMetrics) -> Option<f64>,
) -> Option<Warming> {
    let told: Vec<(usize, f64)> = metrics
        .iter()
        .enumerate()
        .filter_map(|(place, metrics)| Some((place, value(metrics)?)))
        .collect();
    let values: Vec<f64> = told.iter().map(|(_, value)| *value).collect();
    let Course::Settles { values, ratio } = transient::course(&values)? else { return None };
    let (place, _) = told.get(values)?;
    let (first, behind) = (ok.first()?, ok.get(*place)?);
    let seconds = behind.start_ns.saturating_sub(first.start_ns) as f64 / 1e9;
    Some(Warming { requests: *place as u64, seconds, end_ns: behind.start_ns, metric, ratio })
}
