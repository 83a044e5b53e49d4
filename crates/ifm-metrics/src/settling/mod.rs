//! Whether a level under way has enough data: its intervals are as narrow as asked, or its latency
//! target is surely missed.
//!
//! A judge sees each measured request as it finishes and looks at all of them at sizes that grow by
//! a quarter. The sizes follow from the specification alone: looking all the time would stop at the
//! first lucky moment. Only requests that have ended can be judged; requests in flight when the
//! judge has enough finish and are part of the level, so what takes long is not left out. Not here:
//! stopping the level, which is the part of the load generator.

mod certainty;
mod finding;
mod interval;
mod scout;

pub use certainty::{Certainty, certainty};
pub use finding::Finding;
pub(crate) use interval::median_with_half_width;
pub use scout::scouted;

use crate::request::{RequestMetrics, each_gap, each_value};
use crate::slo::ERROR_RATE_MAX;
use crate::stat::interval::TAIL;
use crate::stat::special::normal_upper_quantile;
use ifm_core::order::Order as _;
use ifm_core::spec::{EarlyEnd, LoadSpec, SloSpec, SloTerm};
use ifm_core::{LevelEnd, Metric, Phase, RequestRecord};
use interval::{Part, half_width_of_median, half_width_of_ratio, mean_bounds, share_at_least};

const NS_PER_S: f64 = 1e9;

/// A request as the judge keeps it.
#[derive(Debug, Clone, Copy)]
struct Glance {
    start_ns: u64,
    seq: u32,
    failed: bool,
    /// TTFT of a complete answer, or E2E where it was not streamed, nanoseconds.
    wait_ns: Option<u64>,
    /// Gaps of a complete answer.
    gaps: Part,
    /// Where its part of each term begins in `Settling::over`.
    over: usize,
}

/// The judge of one level. Memory: about 70 bytes for each request, and 16 for each term.
#[derive(Debug)]
pub struct Settling {
    asked: EarlyEnd,
    terms: Vec<SloTerm>,
    /// Requests that began together at the start, which is the ramp.
    first_wave: usize,
    /// Whether waiting counts from the due time.
    is_open: bool,
    glances: Vec<Glance>,
    /// By request and term: values above the limit, and all values.
    over: Vec<Part>,
    first_start_ns: u64,
    last_end_ns: u64,
    next_look: usize,
    looks: u32,
}

impl Settling {
    /// A judge for a level with this load; absent where nothing ends it early.
    pub fn new(load: &LoadSpec, slo: &SloSpec) -> Option<Settling> {
        let asked = load.early_end?;
        let is_open = load.arrivals.is_some();
        Some(Settling {
            asked,
            terms: if asked.at_broken_target { slo.terms.clone() } else { Vec::new() },
            first_wave: if is_open { 0 } else { load.concurrency as usize },
            is_open,
            glances: Vec::new(),
            over: Vec::new(),
            first_start_ns: u64::MAX,
            last_end_ns: 0,
            next_look: asked.requests_min.max(1) as usize,
            looks: 0,
        })
    }

    /// Adds a finished request. Returns what ends the level once it has enough data.
    pub fn add(&mut self, record: &RequestRecord) -> Option<LevelEnd> {
        let counts = record.outcome.is_ok() || record.outcome.is_failure();
        if record.phase != Phase::Measure || !counts {
            return None;
        }
        self.keep(record);
        if self.glances.len() < self.next_look {
            return None;
        }
        // A quarter more each time, and at least one.
        self.next_look = self.glances.len() + (self.glances.len() / 4).max(1);
        let span_ns = self.last_end_ns.saturating_sub(self.first_start_ns);
        if (span_ns as f64) < self.asked.seconds_min * NS_PER_S {
            return None;
        }
        self.look()
    }

    fn keep(&mut self, record: &RequestRecord) {
        self.first_start_ns = self.first_start_ns.min(record.start_ns);
        self.last_end_ns = self.last_end_ns.max(record.end_ns);
        let metrics = RequestMetrics::derive(record);
        let is_ok = record.outcome.is_ok();
        let (ttft, e2e) = waits(&metrics, self.is_open);
        let mut gaps = Part { sum: 0.0, count: 0.0 };
        if is_ok && record.streamed {
            each_gap(record, |gap, _| {
                gaps.sum += gap as f64;
                gaps.count += 1.0;
            });
        }
        self.glances.push(Glance {
            start_ns: record.start_ns,
            seq: record.seq,
            failed: record.outcome.is_failure(),
            wait_ns: if record.streamed { ttft } else { e2e }.filter(|_| is_ok),
            gaps,
            over: self.over.len(),
        });
        for term in &self.terms {
            let mut over = Part { sum: 0.0, count: 0.0 };
            if is_ok {
                each_value(record, &metrics, metric_of(term, self.is_open), |value, _| {
                    over.count += 1.0;
                    over.sum += score(term, value);
                });
            }
            self.over.push(over);
        }
    }

    fn look(&mut self) -> Option<LevelEnd> {
        self.looks += 1;
        self.glances.order_by_key(|glance| (glance.start_ns, glance.seq));
        let judged = self.glances.get(self.first_wave..).unwrap_or_default();
        let look = f64::from(self.looks);
        // The k-th look may be wrong with a share of 1 / (k (k + 1)) of the whole chance: all looks
        // together, and all terms, are wrong no more often than one look at one term would be.
        let tail = TAIL / (look * (look + 1.0)) / (self.terms.len() + 1) as f64;
        let z = normal_upper_quantile(tail);
        let failures: Vec<Part> = judged
            .iter()
            .map(|glance| Part { sum: f64::from(u8::from(glance.failed)), count: 1.0 })
            .collect();
        if share_at_least(&failures, z).is_some_and(|share| share > ERROR_RATE_MAX) {
            return Some(LevelEnd::TooManyErrors);
        }
        if self.terms.iter().enumerate().any(|(term, _)| self.is_broken(judged, term, z)) {
            return Some(LevelEnd::TargetBroken);
        }
        let share = self.asked.settled_share?;
        is_settled(judged, share).then_some(LevelEnd::Settled)
    }

    /// Whether surely more values are above the limit of a term than its percentile leaves.
    fn is_broken(&self, judged: &[Glance], term: usize, z: f64) -> bool {
        let parts: Vec<Part> = judged
            .iter()
            .filter_map(|glance| self.over.get(glance.over + term).copied())
            .filter(|part| part.count > 0.0)
            .collect();
        self.terms.get(term).is_some_and(|term| is_missed(term, &parts, z))
    }
}

/// The metric of a term, from the due time where requests have one.
fn metric_of(term: &SloTerm, is_open: bool) -> Metric {
    if is_open { term.metric.from_due() } else { term.metric }
}

/// What a value counts for a term: the value itself for a mean, else whether it is above the limit.
fn score(term: &SloTerm, value: f64) -> f64 {
    let is_over = value > term.limit();
    term.percentile.map_or(value, |_| f64::from(u8::from(is_over)))
}

/// Whether a term is missed, `z` standard errors from doubt: more values are above its limit than
/// its percentile leaves, or the mean is above it.
fn is_missed(term: &SloTerm, parts: &[Part], z: f64) -> bool {
    match term.percentile {
        Some(p) => share_at_least(parts, z).is_some_and(|share| share > 1.0 - p / 100.0),
        None => mean_bounds(parts, z).is_some_and(|(low, _)| low > term.limit()),
    }
}

/// Whether the mean gap and the median wait are known to within a share of themselves. What the
/// answers do not have is not asked for; without either nothing is settled.
fn is_settled(judged: &[Glance], share: f64) -> bool {
    let gaps: Vec<Part> =
        judged.iter().map(|glance| glance.gaps).filter(|gaps| gaps.count > 0.0).collect();
    let waits: Vec<f64> =
        judged.iter().filter_map(|glance| glance.wait_ns).map(|wait| wait as f64).collect();
    let is_narrow = |width: Option<f64>| width.is_some_and(|width| width <= share);
    !waits.is_empty()
        && is_narrow(half_width_of_median(&waits))
        && (gaps.is_empty() || is_narrow(half_width_of_ratio(&gaps)))
}

/// TTFT and E2E as a target counts them: from the due time where there is one.
fn waits(metrics: &RequestMetrics, is_open: bool) -> (Option<u64>, Option<u64>) {
    match is_open {
        true => (metrics.ttft_ns_from_due, metrics.e2e_ns_from_due),
        false => (metrics.ttft_ns, metrics.e2e_ns),
    }
}

#[cfg(test)]
mod tests;
