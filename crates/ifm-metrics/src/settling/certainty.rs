//! Whether the requests of a load surely keep or miss a target, although they depend on each other.
//!
//! Neighbours in a queue wait for the same answers, so their waits rise and fall together. An
//! interval that takes them for independent is too narrow, the more
//! so the nearer the server is to its limit, which is where it matters: of two stations at 85 % of
//! what they can do, thirty waits tell as much as one independent one would. So the share of values above each limit gets an interval that knows what the
//! autocovariances say. Not here: looks at a level under way, which only ask whether the
//! target is missed ([`Settling`](super::Settling)), and failures.

use super::interval::{Part, mean_bounds, share_at_most};
use super::{TAIL, is_missed, metric_of, score};
use crate::request::RequestMetrics;
use crate::request::each_value;
use crate::stat::special::normal_upper_quantile;
use ifm_core::order::Order as _;
use ifm_core::spec::{SloSpec, SloTerm};
use ifm_core::{Metric, Phase, RequestRecord};

/// Above this share of answers without a value, a target is open.
const UNKNOWN_SHARE: f64 = 0.01;

/// What the requests of a load say about a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Every term is surely kept.
    Kept,
    /// A term is surely missed.
    Missed,
    /// Neither is sure.
    Open,
}

/// What measured requests of one load, in any order, say about a target: for each term the 95 %
/// interval of the share of values above its limit (Wilson's, with as many trials as the requests
/// are worth) against the share that its percentile leaves. `is_open` says that TTFT and E2E count
/// from the due time. A target without a term, and one with fewer than eight values for a term, is
/// open unless another term is missed. Sessions of conversations are not considered here: a target
/// over nothing else is open.
pub fn certainty(records: &[RequestRecord], slo: &SloSpec, is_open: bool) -> Certainty {
    let is_judged =
        |record: &&RequestRecord| record.phase == Phase::Measure && record.outcome.is_ok();
    let mut judged: Vec<&RequestRecord> = records.iter().filter(is_judged).collect();
    judged.order_by_key(|record| (record.start_ns, record.seq));
    let of_requests = slo.terms.iter().filter(|term| !term.metric.is_of_sessions());
    let terms: Vec<Certainty> = of_requests.map(|term| of_term(term, &judged, is_open)).collect();
    if terms.contains(&Certainty::Missed) {
        Certainty::Missed
    } else if !terms.is_empty() && terms.iter().all(|term| *term == Certainty::Kept) {
        Certainty::Kept
    } else {
        Certainty::Open
    }
}

fn of_term(term: &SloTerm, judged: &[&RequestRecord], is_open: bool) -> Certainty {
    let (mut over, mut means) = (Vec::new(), Vec::new());
    for record in judged {
        let (mut part, mut sum) = (Part { sum: 0.0, count: 0.0 }, 0.0);
        each_value(
            record,
            &RequestMetrics::derive(record),
            metric_of(term, is_open),
            |value, _| {
                part.count += 1.0;
                part.sum += score(term, value);
                sum += value;
            },
        );
        if part.count > 0.0 {
            over.push(part);
            means.push(sum / part.count);
        }
    }
    // Unknown values may be on either side.
    let unknown = judged.iter().filter(|record| {
        term.metric == Metric::Tpot && RequestMetrics::derive(record).tpot_absence.is_some()
    });
    if unknown.count() as f64 > UNKNOWN_SHARE * judged.len() as f64 {
        return Certainty::Open;
    }
    let z = normal_upper_quantile(TAIL);
    let is_kept = match term.percentile {
        Some(p) => share_at_most(&over, &means).is_some_and(|high| high <= 1.0 - p / 100.0),
        None => mean_bounds(&over, z).is_some_and(|(_, high)| high <= term.limit()),
    };
    // The dependence of the waits themselves is considered for good news only: waits that grow
    // without end all depend on each other, and are bad news however few they are worth.
    if is_missed(term, &over, z) {
        Certainty::Missed
    } else if is_kept {
        Certainty::Kept
    } else {
        Certainty::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slo;
    use crate::stat::random::RandomStream;
    use crate::testing::request;

    const NS_PER_MS: f64 = 1e6;

    /// A queue in front of two stations, 10 ms each, that begins empty: answers of one token to
    /// requests that come at random.
    fn queue(req_per_s: f64, requests: u32, seed: u64) -> Vec<RequestRecord> {
        const SERVICE_MS: f64 = 10.0;
        let mut stream = RandomStream::new(seed);
        let (mut at_ms, mut free_ms) = (0.0, [0.0f64; 2]);
        let mut next = |seq| {
            let uniform = ((stream.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64;
            at_ms -= uniform.ln() * 1e3 / req_per_s;
            free_ms.sort_unstable_by(f64::total_cmp);
            let begin_ms = free_ms[0].max(at_ms);
            free_ms[0] = begin_ms + SERVICE_MS;
            request(seq, 0, 0, at_ms, &[free_ms[0] - at_ms])
        };
        (0..requests).map(&mut next).collect()
    }

    fn share_above(records: &[RequestRecord], limit_ms: f64) -> f64 {
        let above = |record: &&RequestRecord| {
            (record.end_ns - record.start_ns) as f64 > limit_ms * NS_PER_MS
        };
        records.iter().filter(above).count() as f64 / records.len() as f64
    }

    /// Of 400 looks at a rate whose P90 is the limit, so that every sure verdict is a wrong one, how
    /// many are sure; and how many would be if waits were independent.
    #[test]
    fn a_load_at_the_limit_is_rarely_sure_and_others_are_decided() {
        const RATE: f64 = 170.0;
        let long = queue(RATE, 2_000_000, 99);
        let mut waits: Vec<f64> =
            long.iter().map(|record| (record.end_ns - record.start_ns) as f64 / 1e6).collect();
        waits.sort_unstable_by(f64::total_cmp);
        let limit_ms = waits[waits.len() * 9 / 10];
        assert!((share_above(&long, limit_ms) - 0.1).abs() < 1e-3, "{limit_ms}");
        let target = slo::parse(&format!("ttft:p90<{limit_ms}ms")).unwrap();
        let looks: Vec<_> = (0..400).map(|seed| queue(RATE, 2_000, seed)).collect();
        let sure =
            looks.iter().filter(|look| certainty(look, &target, true) != Certainty::Open).count();
        let naive = looks
            .iter()
            .filter(|look| {
                let (above, n) = (share_above(look, limit_ms), look.len() as f64);
                (above - 0.1).abs() > 1.96 * (0.1 * 0.9 / n).sqrt()
            })
            .count();
        println!("limit {limit_ms} ms: sure {sure} of 400, as if independent {naive}");
        assert!(naive > 120, "{naive}: the test has no dependence in it");
        assert!(sure < 80, "{sure} of 400");

        let found = |rate: f64, expect| {
            let found = (0..50).filter(|seed| {
                certainty(&queue(rate, 2_000, 1_000 + seed), &target, true) == expect
            });
            found.count()
        };
        let (kept, missed) = (found(140.0, Certainty::Kept), found(195.0, Certainty::Missed));
        println!("kept {kept} and missed {missed} of 50");
        assert!(kept >= 40 && missed >= 40, "kept {kept}, missed {missed}");
    }

    #[test]
    fn keeps_requests_without_waits_and_leaves_unknown_ones_open() {
        let alike: Vec<_> =
            (0..400).map(|seq| request(seq, 0, 0, f64::from(seq), &[20.0])).collect();
        let found = |records: &[RequestRecord], text: &str| {
            certainty(records, &slo::parse(text).unwrap(), false)
        };
        assert_eq!(found(&alike, "ttft:p99<25ms"), Certainty::Kept);
        assert_eq!(found(&alike, "ttft:p99<15ms"), Certainty::Missed);
        assert_eq!(found(&alike[..100], "ttft:p99<25ms"), Certainty::Open);
        assert_eq!(found(&alike, "ttft:p99<25ms,itl:p99<5ms"), Certainty::Open, "no gap");
        assert_eq!(found(&alike[..7], "ttft:p50<15ms"), Certainty::Open);
    }

    #[test]
    fn a_mean_is_sure_where_its_interval_lies_on_one_side() {
        // 10 and 30 ms in turn: mean 20, standard error 10 / sqrt(400) = 0.5 at most.
        let turns: Vec<_> = (0..400)
            .map(|seq| request(seq, 0, 0, f64::from(seq), &[10.0 + 20.0 * f64::from(seq % 2)]))
            .collect();
        let found = |text: &str| certainty(&turns, &slo::parse(text).unwrap(), false);
        assert_eq!(found("ttft:mean<22ms"), Certainty::Kept);
        assert_eq!(found("ttft:mean<18ms"), Certainty::Missed);
        assert_eq!(found("ttft:mean<20.1ms"), Certainty::Open);
        assert_eq!(found("ttft:p99<22ms"), Certainty::Missed, "half of them are above");
    }
}
