//! Requests at the start of a level that were slower or faster than the rest, by evidence.
//!
//! They are left out of the steady window, so of rates. Latencies keep them: a percentile over
//! requests that were chosen by their latency would be one of the choice. Not here: the test
//! ([`transient`]), and requests sent as warm-up, which are in no number.

use crate::request::RequestMetrics;
use crate::stat::transient::{self, Course};
use ifm_core::RequestRecord;
use ifm_core::order::Order as _;

/// The head of a level, before it was steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Warming {
    /// Complete answers that belong to it, in the order of their starts.
    pub requests: u64,
    /// From the first start to that of the first request after them, seconds.
    pub seconds: f64,
    /// When the first request after them started, nanoseconds since the run's origin.
    pub end_ns: u64,
    /// Which latency shows it: `TTFT` or `TPOT`.
    pub metric: &'static str,
    /// Its geometric mean over that of the rest.
    pub ratio: f64,
    /// Its geometric mean over all requests after the head, milliseconds.
    pub rest_ms: f64,
}

impl Warming {
    /// Geometric mean of the latency at the head, milliseconds.
    pub fn head_ms(&self) -> f64 {
        self.rest_ms * self.ratio
    }

    /// Whether the head was slower: what a cold start looks like. A faster one is a server that
    /// lost speed, or one whose first answers met less load.
    pub fn is_cold(&self) -> bool {
        self.ratio > 1.0
    }
}

impl Warming {
    /// By TTFT and TPOT of complete answers: the longer head, and TTFT for one as long.
    pub fn of(measured: &[&RequestRecord]) -> Option<Warming> {
        let mut ok: Vec<&RequestRecord> =
            measured.iter().copied().filter(|record| record.outcome.is_ok()).collect();
        ok.order_by_key(|record| (record.start_ns, record.seq));
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
    let Course::Settles { values: cut, ratio } = transient::course(&values)? else { return None };
    let (place, _) = told.get(cut)?;
    let rest = values.get(cut..).filter(|rest| !rest.is_empty())?;
    let rest_ns = (rest.iter().map(|value| value.ln()).sum::<f64>() / rest.len() as f64).exp();
    let (first, behind) = (ok.first()?, ok.get(*place)?);
    let seconds = behind.start_ns.saturating_sub(first.start_ns) as f64 / 1e9;
    Some(Warming {
        requests: *place as u64,
        seconds,
        end_ns: behind.start_ns,
        metric,
        ratio,
        rest_ms: rest_ns / 1e6,
    })
}
