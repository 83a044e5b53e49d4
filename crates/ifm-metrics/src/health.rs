//! The client's own error: from evidence to a verdict.
//!
//! Each limit below is a constant with its reason. With kernel receive timestamps, a late reader
//! distorts a timestamp only if it finds several events of one stream in one read: so its lag is
//! compared with the shortest gaps, and only if events did share reads. Not here: collecting the
//! evidence, which is the client's part.

use crate::request::{RequestMetrics, each_gap};
use crate::stat::{Distribution, Population};
use ifm_core::{ClientHealth, HealthVerdict, Phase, RequestRecord};

/// Below this share of reads with a kernel stamp, times depend on how fast the client reads.
pub const STAMP_COVERAGE_MIN: f64 = 0.99;
/// With at most this many streams, a reader is quick enough without kernel stamps.
pub const STREAMS_WITHOUT_STAMPS_MAX: u32 = 100;
/// Largest error, at P99, of stamps that are taken when bytes are read: as much as a request may leave late.
pub const STAMP_ERROR_NS_P99_MAX: u64 = 1_000_000;
/// A request sent later than this after its due time, at P99, was not sent when it was wanted.
pub const SEND_LATENESS_NS_P99_MAX: u64 = 1_000_000;
/// Largest P99 of the lateness of requests as a share of the median answer's time.
pub const SEND_LATENESS_SHARE_MAX: f64 = 0.02;
/// A reading thread that is busier than this share of the time queues what arrives.
pub const READER_BUSY_SHARE_MAX: f64 = 0.80;
/// A hypervisor that takes more than this share of the CPU time takes it from the measurement too.
pub const STEAL_SHARE_MAX: f64 = 0.02;
/// More than this share of sends that found no bytes ready means that preparing could not keep up.
pub const STARVED_SHARE_MAX: f64 = 0.001;
/// Below this share of events that share a read with another, the lag of the reader cannot matter.
pub const CO_ARRIVED_SHARE_MIN: f64 = 0.01;
/// The percentile of the gaps that the lag is compared with.
const GAP_PERCENTILE: f64 = 5.0;

/// The client's observations of itself over one run, before any judgment, and the data for judging
/// them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HealthEvidence {
    /// All but the verdict and its reasons.
    pub seen: ClientHealth,
    /// Median time from start to last token, nanoseconds; absent without a complete answer.
    pub e2e_ns_p50: Option<u64>,
    /// Most streams open at once.
    pub streams_max: u32,
    /// Requests sent.
    pub requests: u64,
    /// Fifth percentile of the gaps between events, see [`gap_ns_p5`]; absent without gaps.
    pub gap_ns_p5: Option<u64>,
}

/// Judges the evidence. The order of the reasons is fixed.
pub fn judge(evidence: HealthEvidence) -> ClientHealth {
    let reasons: Vec<String> = [
        uncovered(&evidence),
        late(&evidence),
        busy(&evidence),
        stolen(&evidence),
        stepped(&evidence),
        starved(&evidence),
        lagging(&evidence),
        stalled(&evidence),
    ]
    .into_iter()
    .flatten()
    .collect();
    let verdict = if reasons.is_empty() { HealthVerdict::Good } else { HealthVerdict::Suspect };
    ClientHealth { verdict, reasons, ..evidence.seen }
}

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn uncovered(evidence: &HealthEvidence) -> Option<String> {
    if let Some(late_ns) = evidence.seen.stamp_error.and_then(|error| error.p99_ns()) {
        // What was measured says more than the number of streams.
        return (late_ns > STAMP_ERROR_NS_P99_MAX).then(|| {
            format!(
                "timestamps were not taken by the kernel and were late: up to {:.1} ms at P99",
                ms(late_ns)
            )
        });
    }
    let coverage = share(evidence.seen.stamped_reads, evidence.seen.reads)?;
    let many = evidence.streams_max > STREAMS_WITHOUT_STAMPS_MAX;
    (many && coverage < STAMP_COVERAGE_MIN).then(|| {
        format!(
            "only {:.1} % of the reads have a kernel receive timestamp, with {} streams",
            coverage * 100.0,
            evidence.streams_max
        )
    })
}

fn late(evidence: &HealthEvidence) -> Option<String> {
    let p99_ns = evidence.seen.send_lateness?.p99_ns;
    // A request that a slot sends late is timed from when it was sent: no latency is wrong, but
    // the slot was idle meanwhile. That matters by its share of the slot's time.
    let of_answer_ns = (evidence.e2e_ns_p50.unwrap_or(0) as f64 * SEND_LATENESS_SHARE_MAX) as u64;
    (p99_ns > SEND_LATENESS_NS_P99_MAX.max(of_answer_ns))
        .then(|| format!("requests left late: {:.1} ms after they were due at P99", ms(p99_ns)))
}

fn stalled(evidence: &HealthEvidence) -> Option<String> {
    let stalls = evidence.seen.decoder_stalls;
    (stalls > 0)
        .then(|| format!("reading had to wait {stalls} times because decoding was far behind"))
}

fn busy(evidence: &HealthEvidence) -> Option<String> {
    let share = evidence.seen.reader_busy_share;
    (share > READER_BUSY_SHARE_MAX).then(|| {
        format!("the busiest reading thread was on a CPU {:.0} % of the time", share * 100.0)
    })
}

fn stolen(evidence: &HealthEvidence) -> Option<String> {
    let share = evidence.seen.steal_share?;
    (share > STEAL_SHARE_MAX).then(|| {
        format!("{:.1} % CPU steal: the hypervisor gave this time to others", share * 100.0)
    })
}

fn stepped(evidence: &HealthEvidence) -> Option<String> {
    (evidence.seen.clock_steps > 0).then(|| {
        let times = if evidence.seen.clock_steps == 1 { "time" } else { "times" };
        format!("the wall clock was stepped {} {times} during the run", evidence.seen.clock_steps)
    })
}

fn starved(evidence: &HealthEvidence) -> Option<String> {
    let share = share(evidence.seen.starved_sends, evidence.requests)?;
    (share > STARVED_SHARE_MAX).then(|| {
        format!(
            "{} of {} requests were due before their bytes were ready",
            evidence.seen.starved_sends, evidence.requests
        )
    })
}

fn lagging(evidence: &HealthEvidence) -> Option<String> {
    let lag_ns = evidence.seen.reader_lag?.p99_ns;
    let gap_ns = evidence.gap_ns_p5?;
    let shared = share(evidence.seen.co_arrived_events, evidence.seen.events)?;
    (lag_ns > gap_ns && shared > CO_ARRIVED_SHARE_MIN).then(|| {
        format!(
            "the client read late: {:.1} ms at P99, longer than the short gaps of {:.1} ms, and \
             {:.1} % of the events arrived together in one read",
            ms(lag_ns),
            ms(gap_ns),
            shared * 100.0
        )
    })
}

/// Gaps above zero of measured requests: two events of one read have no gap to hold a lag against.
struct Gaps<'a>(&'a [RequestRecord]);

impl Population for Gaps<'_> {
    fn visit(&self, mut each: impl FnMut(u64)) {
        for record in self.0.iter().filter(|record| record.phase == Phase::Measure) {
            each_gap(record, |gap, _| {
                if gap > 0 {
                    each(gap);
                }
            });
        }
    }
}

/// Fifth percentile of the gaps between events of the measured requests, nanoseconds, gaps of zero
/// left out; absent without gaps.
pub fn gap_ns_p5(requests: &[RequestRecord]) -> Option<u64> {
    let gaps = Distribution::from_population(&Gaps(requests), 1.0, &[GAP_PERCENTILE])?;
    gaps.percentile(GAP_PERCENTILE).map(|percentile| percentile.value.round() as u64)
}

/// Median time from start to last token of the measured requests, nanoseconds; absent without a
/// complete answer.
pub fn e2e_ns_p50(requests: &[RequestRecord]) -> Option<u64> {
    let mut spans: Vec<u64> = requests
        .iter()
        .filter(|record| record.phase == Phase::Measure)
        .filter_map(|record| RequestMetrics::derive(record).e2e_ns)
        .collect();
    let middle = spans.len() / 2;
    (!spans.is_empty()).then(|| *spans.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, request};
    use ifm_core::health::{SpanQuantiles, StampError};

    fn spans(p99_ns: u64) -> Option<SpanQuantiles> {
        Some(SpanQuantiles { n: 1000, p50_ns: p99_ns / 2, p99_ns, max_ns: 2 * p99_ns })
    }

    /// A client that is as bad as it may be without being suspect.
    fn just_good() -> HealthEvidence {
        let seen = ClientHealth {
            reader_lag: spans(5 * MS),
            send_lateness: spans(SEND_LATENESS_NS_P99_MAX),
            reads: 1000,
            stamped_reads: 990,
            events: 1000,
            co_arrived_events: 500,
            reader_busy_share: READER_BUSY_SHARE_MAX,
            steal_share: Some(STEAL_SHARE_MAX),
            starved_sends: 1,
            ..ClientHealth::default()
        };
        HealthEvidence {
            seen,
            e2e_ns_p50: Some(10 * MS),
            streams_max: 1000,
            requests: 1000,
            gap_ns_p5: Some(5 * MS),
        }
    }

    #[test]
    fn accepts_lateness_that_is_small_compared_with_answers() {
        let mut patient = HealthEvidence { e2e_ns_p50: Some(1000 * MS), ..just_good() };
        patient.seen.send_lateness = spans(20 * MS);
        assert_eq!(judge(patient).verdict, HealthVerdict::Good);
    }

    #[test]
    fn the_median_answer_is_over_measured_complete_ones() {
        assert_eq!(e2e_ns_p50(&[]), None);
        let mut warm = request(0, 0, 0, 0.0, &[1.0, 900.0]);
        warm.phase = Phase::Warmup;
        let requests = [
            warm,
            request(1, 0, 0, 0.0, &[1.0, 10.0]),
            request(2, 0, 0, 0.0, &[1.0, 30.0]),
            request(3, 0, 0, 0.0, &[1.0, 20.0]),
        ];
        assert_eq!(e2e_ns_p50(&requests), Some(20 * MS));
    }

    #[test]
    fn a_client_within_all_limits_is_good() {
        let health = judge(just_good());
        assert_eq!(health.reasons, Vec::<String>::new());
        assert_eq!(health.verdict, HealthVerdict::Good);
        assert_eq!(judge(HealthEvidence::default()).verdict, HealthVerdict::Good);
    }

    #[test]
    fn each_limit_fires_alone() {
        let check = |corrupt: fn(&mut HealthEvidence), word: &str| {
            let mut evidence = just_good();
            corrupt(&mut evidence);
            let health = judge(evidence);
            assert_eq!(health.verdict, HealthVerdict::Suspect, "{word}");
            assert_eq!(health.reasons.len(), 1, "{:?}", health.reasons);
            assert!(health.reasons[0].contains(word), "{:?}", health.reasons);
        };
        check(|evidence| evidence.seen.stamped_reads = 989, "receive timestamp");
        check(|evidence| evidence.seen.send_lateness = spans(MS + 1), "left late");
        check(|evidence| evidence.seen.decoder_stalls = 1, "decoding was far behind");
        check(
            |evidence| {
                evidence.e2e_ns_p50 = Some(100 * MS);
                evidence.seen.send_lateness = spans(2 * MS + 1);
            },
            "left late",
        );
        check(|evidence| evidence.seen.reader_busy_share = 0.81, "reading thread");
        check(|evidence| evidence.seen.steal_share = Some(0.021), "CPU steal");
        check(|evidence| evidence.seen.clock_steps = 1, "stepped 1 time ");
        check(|evidence| evidence.seen.starved_sends = 2, "bytes were ready");
        check(|evidence| evidence.seen.reader_lag = spans(5 * MS + 1), "read late");
    }

    #[test]
    fn few_streams_need_no_kernel_stamps() {
        let mut evidence = just_good();
        (evidence.seen.stamped_reads, evidence.streams_max) = (0, STREAMS_WITHOUT_STAMPS_MAX);
        assert_eq!(judge(evidence).verdict, HealthVerdict::Good);
    }

    #[test]
    fn a_measured_error_of_stamps_counts_instead_of_the_streams() {
        let with = |p99_ns: u64| {
            let mut evidence = just_good();
            (evidence.seen.stamped_reads, evidence.streams_max) = (0, 2000);
            let part = spans(p99_ns / 2);
            evidence.seen.stamp_error = part.map(|reading| StampError { reading, waking: part });
            judge(evidence)
        };
        assert_eq!(with(STAMP_ERROR_NS_P99_MAX).verdict, HealthVerdict::Good);
        let reasons = with(2 * MS).reasons;
        assert_eq!(
            reasons,
            ["timestamps were not taken by the kernel and were late: up to 2.0 ms at P99"]
        );
        // Where one part is not known, neither is the sum.
        let mut evidence = just_good();
        (evidence.seen.stamped_reads, evidence.streams_max) = (0, 2000);
        evidence.seen.stamp_error =
            spans(MS / 2).map(|reading| StampError { reading, waking: None });
        assert_eq!(judge(evidence).verdict, HealthVerdict::Suspect);
    }

    #[test]
    fn a_late_reader_does_no_harm_while_events_come_alone() {
        let mut evidence = just_good();
        evidence.seen.reader_lag = spans(100 * MS);
        evidence.seen.co_arrived_events = 10;
        assert_eq!(judge(evidence).verdict, HealthVerdict::Good);
    }

    #[test]
    fn computes_quantiles() {
        let requests = [request(0, 0, 0, 0.0, &[100.0, 100.0, 120.0, 160.0])];
        // Gaps 20 and 40: the fifth percentile is 21.
        assert_eq!(gap_ns_p5(&requests), Some(21 * MS));
        assert_eq!(gap_ns_p5(&[]), None);
    }
}
