//! What a short level says about a latency target: clearly inside, clearly outside, or neither.
//!
//! A scout has about two requests per user. That is too few for the percentile of a target, so the
//! answer only shows a search where to measure: a wrong one costs time, and no result is based on
//! it. Not here: the verdict on a level with enough requests (`slo`).

use super::finding::Finding;
use super::interval::{Part, mean_bounds};
use super::{metric_of, score};
use crate::request::{RequestMetrics, each_value};
use crate::slo::ERROR_RATE_MAX;
use crate::stat::percentile_of_sorted;
use crate::stat::special::normal_upper_quantile;
use ifm_core::order::Order as _;
use ifm_core::spec::{LoadSpec, SloSpec, SloTerm};
use ifm_core::{Outcome, Phase, RequestRecord};

/// Minimum number of judged requests.
const REQUESTS_MIN: usize = 8;
/// Requests above a limit, or failed, before a scout is clearly outside: two may be one event.
const OVER_MIN: usize = 3;
/// Chance of a result as extreme at a load exactly at the limit.
const CHANCE: f64 = 0.005;
/// Standard errors between a mean, or a share of gaps, and its limit.
const DISTANCE: f64 = 3.0;
/// What is near the limit has to be measured: values are compared with this share of it, and with
/// the limit over this share.
const MARGIN: f64 = 0.9;
/// A percentile of at most this share of its limit is inside.
const FAR: f64 = 0.6;
/// Confidence that a percentile extrapolated from a log-normal distribution is not larger.
const CONFIDENCE: f64 = 0.95;

/// What the measured requests of a scout at this load say about a target. In a closed loop, the
/// first and the last request of each user are left out: all begin together, and at the end nothing
/// follows. At a rate, the first and the last third are left out for the same reason.
pub fn scouted(records: &[RequestRecord], slo: &SloSpec, load: &LoadSpec) -> Finding {
    let is_of_load = |record: &&RequestRecord| record.phase == Phase::Measure;
    if records.iter().filter(is_of_load).any(|record| record.outcome == Outcome::Dropped) {
        // More requests were in flight than allowed: the server did not keep up.
        return Finding::Outside;
    }
    let ended = |record: &&RequestRecord| record.outcome.is_ok() || record.outcome.is_failure();
    let mut sent: Vec<&RequestRecord> = records.iter().filter(is_of_load).filter(ended).collect();
    sent.order_by_key(|record| (record.start_ns, record.seq));
    let is_open = load.arrivals.is_some();
    let planned = load.requests.map_or(sent.len(), |requests| requests as usize);
    let edge = if is_open { planned / 3 } else { load.concurrency as usize };
    // A scout that ended early because the target was missed has no end to leave out.
    let end = sent.len().min(planned.saturating_sub(edge));
    let judged = sent.get(edge..end).unwrap_or_default();
    let failed = judged.iter().filter(|record| record.outcome.is_failure()).count();
    if is_more(failed, judged.len(), ERROR_RATE_MAX) {
        return Finding::Outside;
    }
    let terms: Vec<Finding> = slo.terms.iter().map(|term| of_term(term, judged, is_open)).collect();
    if terms.contains(&Finding::Outside) {
        Finding::Outside
    } else if failed == 0 && !terms.is_empty() && terms.iter().all(|term| *term == Finding::Inside)
    {
        Finding::Inside
    } else {
        Finding::Unsettled
    }
}

fn of_term(term: &SloTerm, judged: &[&RequestRecord], is_open: bool) -> Finding {
    let (mut parts, mut values) = (Vec::new(), Vec::new());
    for record in judged.iter().filter(|record| record.outcome.is_ok()) {
        let mut part = Part { sum: 0.0, count: 0.0 };
        each_value(
            record,
            &RequestMetrics::derive(record),
            metric_of(term, is_open),
            |value, _| {
                part.count += 1.0;
                part.sum += score(term, value);
                values.push(value);
            },
        );
        if part.count > 0.0 {
            parts.push(part);
        }
    }
    if parts.len() < REQUESTS_MIN {
        return Finding::Unsettled;
    }
    let Some(p) = term.percentile else { return of_bounds(&parts, term.limit(), 0.0) };
    let allowed = 1.0 - p / 100.0;
    let count_over = |limit: f64| values.iter().filter(|value| **value > limit).count();
    let (over, n) = (count_over(term.limit() / MARGIN), values.len());
    let finding = if n > parts.len() {
        // Of gaps, which come by the hundred: even without one above the limit, up to three of them
        // might have been expected.
        of_bounds(&parts, allowed, DISTANCE / n as f64)
    } else if is_more(over, n, allowed) {
        Finding::Outside
    } else if at_most(count_over(MARGIN * term.limit()), n, allowed) <= CHANCE
        || extrapolated(&values, p).is_some_and(|high| high <= MARGIN * term.limit())
    {
        Finding::Inside
    } else {
        Finding::Unsettled
    };
    match finding {
        Finding::Unsettled if is_far_below(&mut values, p, term.limit()) => Finding::Inside,
        finding => finding,
    }
}

/// Whether the percentile of the values themselves is far below the limit, although they are few.
fn is_far_below(values: &mut [f64], percentile: f64, limit: f64) -> bool {
    values.sort_unstable_by(f64::total_cmp);
    percentile_of_sorted(values, percentile).is_some_and(|value| value <= FAR * limit)
}

/// A mean, or a share, against its limit.
fn of_bounds(parts: &[Part], limit: f64, margin: f64) -> Finding {
    match mean_bounds(parts, DISTANCE) {
        Some((low, _)) if low > limit => Finding::Outside,
        Some((_, high)) if high + margin <= limit => Finding::Inside,
        _ => Finding::Unsettled,
    }
}

/// Whether clearly more of `n` requests are above a limit than the share that may be.
fn is_more(over: usize, n: usize, allowed: f64) -> bool {
    over >= OVER_MIN && 1.0 - at_most(over - 1, n, allowed) <= CHANCE
}

/// Chance that at most `hits` of `n` independent requests are above a limit that this share exceeds.
fn at_most(hits: usize, n: usize, share: f64) -> f64 {
    if share <= 0.0 {
        return 1.0;
    }
    let odds = (share / (1.0 - share)).ln();
    let mut log_chance = n as f64 * (1.0 - share).ln();
    let mut sum = log_chance.exp();
    for hit in 1..=hits.min(n) {
        log_chance += ((n - hit + 1) as f64 / hit as f64).ln() + odds;
        sum += log_chance.exp();
    }
    sum.min(1.0)
}

/// Upper bound of a percentile that so few values do not contain, from a log-normal distribution
/// with their mean and deviation (the one-sided tolerance factor of M. G. Natrella, "Experimental
/// Statistics", 1963, section A-2). Absent where a value is not positive.
fn extrapolated(values: &[f64], percentile: f64) -> Option<f64> {
    let logs: Option<Vec<f64>> =
        values.iter().map(|value| (*value > 0.0).then(|| value.ln())).collect();
    let logs = logs?;
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let of_percentile = normal_upper_quantile(1.0 - percentile / 100.0);
    let of_confidence = normal_upper_quantile(1.0 - CONFIDENCE);
    let a = 1.0 - of_confidence.powi(2) / (2.0 * (n - 1.0));
    let b = of_percentile.powi(2) - of_confidence.powi(2) / n;
    let factor = (of_percentile + (of_percentile.powi(2) - a * b).max(0.0).sqrt()) / a;
    Some((mean + factor * variance.sqrt()).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slo;
    use crate::stat::random::RandomStream;
    use crate::testing::{request, run};

    const USERS: u32 = 8;
    const TRIES: u64 = 400;

    /// A closed loop of eight users with a first token after log-normal times: a median of 100 ms,
    /// and this deviation of the logarithm.
    fn scout(deviation: f64, requests: u32, seed: u64) -> Vec<RequestRecord> {
        let mut stream = RandomStream::new(seed);
        (0..requests)
            .map(|seq| {
                let ttft_ms = 100.0 * (deviation * stream.normal()).exp();
                let at_ms = f64::from(seq / USERS) * 1000.0;
                request(seq, 0, seq % USERS, at_ms, &[ttft_ms, ttft_ms + 20.0, ttft_ms + 40.0])
            })
            .collect()
    }

    fn load(requests: u32) -> LoadSpec {
        let load = run(&[USERS], Vec::new()).manifest.spec.levels[0].clone();
        LoadSpec { requests: Some(requests), scout: true, ..load }
    }

    /// Shares of scouts that are clearly inside and clearly outside a limit on the TTFT.
    fn shares(terms: &str, deviation: f64) -> (f64, f64) {
        let slo = slo::parse(terms).unwrap();
        let load = load(32);
        let found: Vec<Finding> =
            (0..TRIES).map(|seed| scouted(&scout(deviation, 32, seed), &slo, &load)).collect();
        let share =
            |finding| found.iter().filter(|found| **found == finding).count() as f64 / TRIES as f64;
        (share(Finding::Inside), share(Finding::Outside))
    }

    /// The limit is the true percentile: `100 ms · exp(0.3 · z)`.
    #[test]
    fn a_load_at_the_limit_is_seldom_clear() {
        for (terms, inside_max) in [
            ("ttft:p50<100ms", 0.02),
            ("ttft:p75<122.4ms", 0.05),
            ("ttft:p90<146.9ms", 0.08),
            ("ttft:p95<163.8ms", 0.08),
            ("ttft:p99<201.0ms", 0.08),
        ] {
            let (inside, outside) = shares(terms, 0.3);
            assert!(inside <= inside_max, "{terms}: {inside} inside");
            assert!(outside <= 0.02, "{terms}: {outside} outside");
        }
    }

    /// Limits at twice and at half of the true percentile.
    #[test]
    fn loads_far_from_the_limit_are_clear() {
        for (terms, is_inside) in [
            ("ttft:p50<200ms", true),
            ("ttft:p90<294ms", true),
            ("ttft:p99<402ms", true),
            ("ttft:p50<50ms", false),
            ("ttft:p90<74ms", false),
            ("ttft:p99<100ms", false),
        ] {
            let (inside, outside) = shares(terms, 0.3);
            let (right, wrong) = if is_inside { (inside, outside) } else { (outside, inside) };
            assert!(right >= 0.9 && wrong == 0.0, "{terms}: {right} right, {wrong} wrong");
        }
    }

    #[test]
    fn gaps_and_means_are_judged_over_whole_requests() {
        let load = load(32);
        let records = scout(0.3, 32, 1);
        let found = |terms: &str| scouted(&records, &slo::parse(terms).unwrap(), &load);
        // All gaps are 20 ms; 32 of them cannot show a P99 near its limit.
        assert_eq!(found("itl:p90<21ms"), Finding::Inside);
        assert_eq!(found("itl:p99<21ms"), Finding::Unsettled);
        assert_eq!(found("itl:p99<40ms"), Finding::Inside);
        assert_eq!(found("itl:p99<10ms"), Finding::Outside);
        assert_eq!(found("ttft:mean<200ms"), Finding::Inside);
        assert_eq!(found("ttft:mean<50ms"), Finding::Outside);
        assert_eq!(found("ttft:mean<105ms"), Finding::Unsettled);
        assert_eq!(found("ttft:p50<200ms,itl:p50<1ms"), Finding::Outside);
    }

    #[test]
    fn failures_are_never_inside() {
        let slo = slo::parse("ttft:p50<1s").unwrap();
        let load = load(32);
        let with_failures = |failures: usize| {
            let mut records = scout(0.3, 32, 1);
            for record in records.iter_mut().skip(8).take(failures) {
                record.outcome = Outcome::HttpError;
            }
            scouted(&records, &slo, &load)
        };
        assert_eq!(with_failures(0), Finding::Inside);
        assert_eq!(with_failures(1), Finding::Unsettled);
        assert_eq!(with_failures(3), Finding::Outside);
        // Too few remain.
        let short = LoadSpec { requests: Some(20), ..load.clone() };
        assert_eq!(scouted(&scout(0.3, 20, 1), &slo, &short), Finding::Unsettled);
    }

    #[test]
    fn chances_are_those_of_a_binomial_distribution() {
        // 0.5^10; (1 + 10) / 1024; all of them.
        for (hits, expect) in [(0, 1.0 / 1024.0), (1, 11.0 / 1024.0), (10, 1.0)] {
            assert!((at_most(hits, 10, 0.5) - expect).abs() < 1e-9, "{hits}");
        }
    }
}
