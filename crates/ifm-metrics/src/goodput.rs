//! Goodput: requests for which every term of the latency target holds.
//!
//! A term is applied to one request: its TTFT, its E2E, its TPOT (the largest, with several
//! choices), and for `itl` the term's percentile over the request's own gaps. A request with one
//! token has no gap and no TPOT, so such a term cannot be broken on it. A request that did not
//! complete is not good. One that completed without the metric of a term (its answer has no sound,
//! its tokens came at once, or the kernel did not report when its last byte arrived) is neither
//! good nor not, unless another term is broken. A term over whole sessions applies to no request.
//! Not here: percentiles over requests.

use crate::request::{RequestMetrics, each_gap, each_value};
use crate::stat::quantile::percentile_is_at_most;
use ifm_core::spec::{SloSpec, SloTerm};
use ifm_core::{Metric, RequestRecord};

/// Requests that met the whole target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goodput {
    /// Requests that met every term.
    pub good: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Complete ones among them that break no term and have no value for one.
    pub unknown: u64,
}

impl Goodput {
    /// Requests that met the target or did not.
    pub fn judged(&self) -> u64 {
        self.sent.saturating_sub(self.unknown)
    }

    /// Good requests over all that could be judged, 0 to 1; absent if there was none.
    pub fn attainment(&self) -> Option<f64> {
        (self.judged() > 0).then(|| self.good as f64 / self.judged() as f64)
    }
}

/// For each request, whether it is good.
pub(crate) struct Evaluation {
    pub good: Vec<bool>,
    unknown: u64,
}

impl Evaluation {
    /// Of this many requests that were sent.
    pub fn goodput(&self, sent: u64) -> Goodput {
        let good = self.good.iter().filter(|good| **good).count() as u64;
        Goodput { good, sent, unknown: self.unknown }
    }
}

/// Asks every request; absent without terms, where a term needs tokens in time and an answer was not
/// streamed, and where no complete answer has what a term bounds: sound has no first token.
pub(crate) fn evaluate(slo: &SloSpec, sent: &[&RequestRecord]) -> Option<Evaluation> {
    let mut slo = slo.clone();
    slo.terms.retain(|term| !term.metric.is_of_sessions());
    let needs_stream = slo.terms.iter().any(|term| term.metric.needs_stream());
    let unstreamed = sent.iter().any(|record| record.outcome.is_ok() && !record.streamed);
    if slo.terms.is_empty() || (needs_stream && unstreamed) {
        return None;
    }
    let complete = || sent.iter().filter(|record| record.outcome.is_ok());
    let is_known = |term: &SloTerm| complete().any(|record| has_metric(term, record));
    if complete().next().is_some() && !slo.terms.iter().all(is_known) {
        return None;
    }
    let met: Vec<Option<bool>> = sent.iter().map(|record| meets(&slo, record)).collect();
    Some(Evaluation {
        good: met.iter().map(|met| *met == Some(true)).collect(),
        unknown: met.iter().filter(|met| met.is_none()).count() as u64,
    })
}

/// Whether an answer has the metric of a term. An answer with a single token has no gap, so no gap
/// of it can be too long.
fn has_metric(term: &SloTerm, record: &RequestRecord) -> bool {
    let metric = match term.metric {
        Metric::Itl | Metric::Tpot => Metric::Ttft,
        other => other.from_due(),
    };
    let mut any = false;
    let metrics = RequestMetrics::derive(record);
    each_value(record, &metrics, metric, |_, _| any = true);
    any && (term.metric != Metric::Tpot || metrics.tpot_absence.is_none())
}

/// Whether a request meets the target; absent where that is not known.
fn meets(slo: &SloSpec, record: &RequestRecord) -> Option<bool> {
    if !record.outcome.is_ok() {
        return Some(false);
    }
    let metrics = RequestMetrics::derive(record);
    let mut is_known = true;
    for term in &slo.terms {
        match holds(term, record, &metrics) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => is_known = false,
        }
    }
    is_known.then_some(true)
}

fn holds(term: &SloTerm, record: &RequestRecord, metrics: &RequestMetrics) -> Option<bool> {
    let limit = term.limit();
    if term.metric == Metric::Itl {
        return Some(match term.percentile {
            Some(percentile) => gaps_hold(record, percentile, limit),
            None => mean_gap_holds(record, limit),
        });
    }
    let (mut any, mut all) = (false, true);
    each_value(record, metrics, term.metric.from_due(), |value, _| {
        any = true;
        all &= value <= limit;
    });
    match (any, term.metric) {
        (true, _) => Some(all),
        // A request with one token has no time per token that could be too long.
        (false, Metric::Tpot) => metrics.tpot_absence.is_none().then_some(true),
        (false, metric) if metric.may_be_absent() => None,
        (false, _) => Some(false),
    }
}

/// Whether the mean gap of an answer is within a limit; of one without a gap nothing breaks it.
fn mean_gap_holds(record: &RequestRecord, limit_ns: f64) -> bool {
    let (mut n, mut sum) = (0u64, 0.0);
    each_gap(record, |gap, _| {
        n += 1;
        sum += gap as f64;
    });
    sum <= limit_ns * n as f64
}

fn gaps_hold(record: &RequestRecord, percentile: f64, limit_ns: f64) -> bool {
    // Most requests are decided by their largest gap alone.
    let (mut n, mut largest) = (0u64, 0u64);
    each_gap(record, |gap, _| {
        n += 1;
        largest = largest.max(gap);
    });
    if largest as f64 <= limit_ns {
        return true;
    }
    let mut gaps = Vec::with_capacity(n as usize);
    each_gap(record, |gap, _| gaps.push(gap));
    percentile_is_at_most(gaps.into_iter(), n, percentile, limit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slo::parse;
    use crate::testing::{failed, request};
    use ifm_core::MadeAudio;

    fn good(slo: &str, record: &RequestRecord) -> Option<bool> {
        let slo = parse(slo).expect("a target");
        evaluate(&slo, &[record]).and_then(|evaluation| evaluation.good.first().copied())
    }

    #[test]
    fn all_terms_on_the_same_request() {
        let record = request(0, 0, 0, 0.0, &[100.0, 120.0, 160.0]);
        // TTFT 100, gaps 20 and 40, TPOT 30, E2E 160.
        assert_eq!(good("ttft:100 tpot:30 e2e:160", &record), Some(true));
        assert_eq!(good("ttft:99 tpot:30", &record), Some(false));
        assert_eq!(good("ttft:100 tpot:29", &record), Some(false));
        assert_eq!(good("itl:p100<40ms", &record), Some(true));
        assert_eq!(good("itl:p100<39ms", &record), Some(false));
        assert_eq!(good("itl:p50<30ms", &record), Some(true));
        assert_eq!(good("itl:p50<29ms", &record), Some(false));
        assert_eq!(good("itl:mean<30ms", &record), Some(true));
        assert_eq!(good("itl:mean<29.9ms", &record), Some(false));
        assert_eq!(good("ttft:mean<100ms", &record), Some(true));
    }

    #[test]
    fn one_token_breaks_no_term_about_gaps() {
        assert_eq!(good("ttft:100 tpot:1 itl:1", &request(0, 0, 0, 0.0, &[100.0])), Some(true));
    }

    #[test]
    fn tokens_that_came_at_once_neither_meet_nor_miss_a_tpot_target() {
        let at_once = request(0, 0, 0, 0.0, &[160.0, 160.0, 160.0]);
        let one_by_one = request(1, 0, 0, 0.0, &[100.0, 120.0, 160.0]);
        assert_eq!(good("ttft:200 tpot:30", &at_once), None);
        let slo = parse("ttft:200 tpot:30").expect("a target");
        let found = evaluate(&slo, &[&at_once, &one_by_one]).expect("one has all metrics");
        assert_eq!((found.good, found.unknown), (vec![false, true], 1));
        let slo = parse("ttft:150 tpot:30").expect("a target");
        let found = evaluate(&slo, &[&at_once, &one_by_one]).expect("one has all metrics");
        assert_eq!((found.good, found.unknown), (vec![false, true], 0), "TTFT is broken");
    }

    #[test]
    fn sound_neither_meets_nor_misses_a_token_target() {
        let mut sound = request(0, 0, 0, 0.0, &[100.0]);
        sound.made_audio = Some(MadeAudio {
            first_ns: sound.start_ns,
            audio_ns: None,
            bytes: 1,
            silence_ns: None,
            silences: None,
        });
        sound.choices = 0;
        for slo in ["ttft:100 itl:10", "itl:10", "tpot:10 e2e:1000"] {
            assert_eq!(good(slo, &sound), None, "{slo}");
        }
        assert_eq!(good("e2e:1000", &sound), Some(true));
    }

    #[test]
    fn what_did_not_complete_is_not_good() {
        assert_eq!(good("ttft:1000", &failed(0, 0, 0, 0.0, 5.0)), Some(false));
    }

    #[test]
    fn an_answer_that_was_not_streamed_cannot_be_asked_for_its_first_token() {
        let mut record = request(0, 0, 0, 0.0, &[100.0]);
        record.streamed = false;
        assert_eq!(good("ttft:1000", &record), None);
        assert_eq!(good("e2e:1000", &record), Some(true));
    }
}
