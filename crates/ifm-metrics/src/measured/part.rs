//! Summary of a part of a level's requests: the requests of one turn, or of one class of mixed
//! traffic.
//!
//! Not here: which requests belong together (`turns`, `classes`).

use super::{Latencies, TokenFacts};
use crate::stat::Distribution;
use ifm_core::Metric;
use ifm_core::RequestRecord;

/// Some of the requests of a level. Latencies and lengths are over complete answers; latencies
/// exclude the first wave where the level's do, so that both have the same population.
#[derive(Debug, Clone, PartialEq)]
pub struct PartSummary {
    /// Requests that were sent.
    pub sent: u64,
    /// Complete answers among them.
    pub ok: u64,
    /// Start to first token, nanoseconds.
    pub ttft_ns: Option<Distribution>,
    /// Gaps between token-bearing events, pooled, nanoseconds.
    pub gap_ns: Option<Distribution>,
    /// Start to last token, nanoseconds.
    pub e2e_ns: Option<Distribution>,
    /// Mean prompt tokens as counted: in conversations, all turns so far.
    pub prompt_mean: Option<f64>,
    /// Mean output tokens.
    pub output_mean: Option<f64>,
    /// Cached tokens over prompt tokens, if the server reported both, 0 to 1.
    pub cached_share: Option<f64>,
    /// Prompt tokens that had been said before over prompt tokens, where the workload counted, 0 to
    /// 1: what a cache that forgets nothing would know.
    pub ideal_share: Option<f64>,
}

impl PartSummary {
    /// Sums requests up, of which `judged` are those that the level's latencies are over.
    pub(crate) fn of(
        records: &[&RequestRecord],
        judged: &[&RequestRecord],
        percentiles: &[f64],
    ) -> PartSummary {
        let latencies = Latencies::of(judged, percentiles);
        let tokens = TokenFacts::of(records);
        PartSummary {
            sent: records.len() as u64,
            ok: records.iter().filter(|record| record.outcome.is_ok()).count() as u64,
            ttft_ns: latencies.get(Metric::Ttft).cloned(),
            gap_ns: latencies.get(Metric::Itl).cloned(),
            e2e_ns: latencies.get(Metric::E2e).cloned(),
            prompt_mean: tokens.prompt_mean,
            output_mean: tokens.output_mean,
            cached_share: tokens.cached_share,
            ideal_share: tokens.ideal_share,
        }
    }
}
