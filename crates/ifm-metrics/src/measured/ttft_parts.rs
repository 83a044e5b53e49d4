//! The time to first token as a sum: upload, network and frontend, queue, scheduled to first token.
//!
//! Two of the parts are the server's own (it reports how long the request waited and how long it
//! took from being scheduled to the first token), one is the client's, and the rest was not timed:
//! both ways through the network, and everything in the server before the queue and after the first
//! token. The sum is the TTFT by construction, so the only possible error is that the parts are
//! more than the whole. Not here: the check for that (`warning`).

use super::upload;
use crate::stat::Distribution;
use ifm_core::RequestRecord;

/// By how much the parts may exceed the whole, nanoseconds: servers report milliseconds, and not
/// all of them with decimals.
const TOLERANCE_NS: i64 = 1_000_000;

/// The parts of one request's TTFT, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TtftSplit {
    /// Start to first token.
    pub ttft_ns: u64,
    /// Start to the end of the upload: the last byte acknowledged if the kernel reports it,
    /// otherwise the last byte handed to the kernel.
    pub upload_ns: u64,
    /// Whether the upload ends with the acknowledgement.
    pub is_acked: bool,
    /// Arrival at the server until scheduled, as the server reported; absent if it reported only
    /// the next part.
    pub queue_ns: Option<u64>,
    /// Scheduled to first token, as the server reported.
    pub first_token_ns: u64,
    /// What remains; below 0 where the parts are more than the whole.
    pub rest_ns: i64,
}

impl TtftSplit {
    /// For a streamed answer whose server reported at least the time from scheduled to first token.
    pub fn of(record: &RequestRecord) -> Option<TtftSplit> {
        let first_ns = record.first_token_ns().filter(|_| record.streamed)?;
        let ttft_ns = first_ns.saturating_sub(record.start_ns);
        let (upload_ns, is_acked) = upload::of(record)?;
        let (queue_ns, first_token_ns) = (record.server_queue_ns, record.server_first_token_ns?);
        let told_ns =
            upload_ns.saturating_add(queue_ns.unwrap_or(0)).saturating_add(first_token_ns);
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let rest_ns = signed(ttft_ns).saturating_sub(signed(told_ns));
        Some(TtftSplit { ttft_ns, upload_ns, is_acked, queue_ns, first_token_ns, rest_ns })
    }

    /// Whether the parts are at most the whole, within 1 ms.
    pub fn adds_up(&self) -> bool {
        self.rest_ns >= -TOLERANCE_NS
    }
}

/// The parts of the TTFT at one level, over the requests whose server reported the same parts and
/// whose parts add up.
#[derive(Debug, Clone, PartialEq)]
pub struct TtftParts {
    /// Requests whose server reported its parts.
    pub requests: u64,
    /// Requests whose parts add up.
    pub adding_up: u64,
    /// Start to first token, nanoseconds.
    pub ttft_ns: Distribution,
    /// Start to the end of the upload, nanoseconds; see [`TtftSplit::upload_ns`].
    pub upload_ns: Distribution,
    /// Requests whose parts add up and whose upload ends with the acknowledgement of its last byte.
    pub acked: u64,
    /// Network, frontend and everything else that was not timed, nanoseconds; with the queue if the
    /// server does not report it.
    pub rest_ns: Distribution,
    /// Arrival until scheduled, nanoseconds, as the server reported.
    pub queue_ns: Option<Distribution>,
    /// Scheduled to first token, nanoseconds, as the server reported.
    pub first_token_ns: Distribution,
}

impl TtftParts {
    /// Over complete answers among these requests; absent if no server reported them, and if no
    /// request adds up. If some report their queue, those that do not are left out.
    pub fn of(requests: &[&RequestRecord], percentiles: &[f64]) -> Option<TtftParts> {
        let splits = told(requests);
        let good: Vec<&TtftSplit> = splits.iter().filter(|split| split.adds_up()).collect();
        let over = |value: fn(&TtftSplit) -> Option<f64>| {
            let values: Option<Vec<f64>> = good.iter().map(|split| value(split)).collect();
            Distribution::from_values(values?, percentiles)
        };
        Some(TtftParts {
            requests: splits.len() as u64,
            adding_up: good.len() as u64,
            ttft_ns: over(|split| Some(split.ttft_ns as f64))?,
            upload_ns: over(|split| Some(split.upload_ns as f64))?,
            acked: good.iter().filter(|split| split.is_acked).count() as u64,
            rest_ns: over(|split| Some(split.rest_ns.max(0) as f64))?,
            queue_ns: over(|split| split.queue_ns.map(|ns| ns as f64)),
            first_token_ns: over(|split| Some(split.first_token_ns as f64))?,
        })
    }
}

/// The splits of complete answers: of those that tell their queue, or, where none does, of all.
pub fn told(requests: &[&RequestRecord]) -> Vec<TtftSplit> {
    let ok = requests.iter().filter(|record| record.outcome.is_ok());
    let mut splits: Vec<TtftSplit> = ok.filter_map(|record| TtftSplit::of(record)).collect();
    if splits.iter().any(|split| split.queue_ns.is_some()) {
        splits.retain(|split| split.queue_ns.is_some());
    }
    splits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, closed_loop, run};
    use ifm_core::Metric;

    #[test]
    fn the_parts_are_the_whole() {
        let mut run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        let parts = |run: &ifm_core::RunData| crate::summarize(run).levels[0].ttft_parts.clone();
        assert_eq!(parts(&run), None);
        for record in &mut run.requests {
            record.sent_ns = Some(record.start_ns + MS);
            record.server_first_token_ns = Some(80 * MS);
        }
        let found = parts(&run).expect("parts");
        assert_eq!(found.queue_ns, None);
        assert_eq!(found.rest_ns.median(), Some(19e6));
        run.requests.iter_mut().for_each(|record| record.server_queue_ns = Some(9 * MS));
        // One reports no queue, another a longer one than possible.
        run.requests[10].server_queue_ns = None;
        run.requests[11].server_queue_ns = Some(30 * MS);
        let found = parts(&run).expect("parts");
        let judged = crate::summarize(&run).levels[0].latencies.get(Metric::Ttft).expect("TTFT").n;
        assert_eq!((found.requests, found.adding_up), (judged - 1, judged - 2));
        let queue_ns = found.queue_ns.expect("a queue");
        assert_eq!(found.acked, 0);
        let sum = found.upload_ns.mean + found.rest_ns.mean + queue_ns.mean;
        assert_eq!(sum + found.first_token_ns.mean, found.ttft_ns.mean);
        assert_eq!((found.rest_ns.median(), queue_ns.median()), (Some(10e6), Some(9e6)));
    }

    #[test]
    fn the_parts_may_exceed_the_whole_by_what_is_rounded() {
        let mut record = crate::testing::request(0, 0, 0, 1000.0, &[100.0, 120.0]);
        record.sent_ns = Some(record.start_ns);
        for (queue_ms, adds_up) in [(0, true), (20, true), (21, true), (22, false)] {
            record.server_first_token_ns = Some(80 * MS);
            record.server_queue_ns = Some(queue_ms * MS);
            let split = TtftSplit::of(&record).expect("told");
            assert_eq!(split.adds_up(), adds_up, "{queue_ms}");
        }
        // The kernel's acknowledgement of the last byte has priority over the time of handing it
        // over.
        record.acked_ns = Some(record.start_ns + 2 * MS);
        let split = TtftSplit::of(&record).expect("told");
        assert_eq!((split.upload_ns, split.is_acked), (2 * MS, true));
        record.streamed = false;
        assert_eq!(TtftSplit::of(&record), None);
    }
}
