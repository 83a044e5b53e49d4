//! Requests of a level, by how they ended.

use ifm_core::order::Order as _;
use ifm_core::{Outcome, RequestRecord};

/// Maximum number of different finish reasons counted in one level.
const FINISH_REASONS_MAX: usize = 64;

/// How many requests ended how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests that were sent: all but those dropped by a limit of ours.
    pub sent: u64,
    /// Complete answers, filtered ones among them.
    pub ok: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that we cut off.
    pub cancelled: u64,
    /// Requests that were never sent.
    pub dropped: u64,
    /// Each outcome that occurred, in the order of the closed list; `ok` always.
    pub outcomes: Vec<(Outcome, u64)>,
    /// Each HTTP status that occurred, rising.
    pub statuses: Vec<(u16, u64)>,
    /// Each finish reason that the server gave, as it wrote it, most frequent first.
    pub finish_reasons: Vec<(String, u64)>,
    /// The longest `Retry-After` that came with a 429 or another status, seconds.
    pub retry_after_s_max: Option<u32>,
}

impl Counts {
    pub fn of(measured: &[&RequestRecord]) -> Counts {
        let mut counts = Counts::default();
        let mut outcomes: Vec<(Outcome, u64)> =
            Outcome::ALL.into_iter().map(|outcome| (outcome, 0)).collect();
        for record in measured {
            let outcome = record.outcome;
            if let Some((_, count)) = outcomes.iter_mut().find(|(known, _)| *known == outcome) {
                *count += 1;
            }
            counts.sent += u64::from(outcome != Outcome::Dropped);
            counts.ok += u64::from(outcome.is_ok());
            counts.failed += u64::from(outcome.is_failure());
            counts.cancelled += u64::from(outcome == Outcome::Cancelled);
            counts.dropped += u64::from(outcome == Outcome::Dropped);
            if let Some(status) = record.http_status {
                match counts.statuses.iter_mut().find(|(known, _)| *known == status) {
                    Some((_, count)) => *count += 1,
                    None => counts.statuses.push((status, 1)),
                }
            }
            if let Some(reason) = &record.finish_reason {
                let has_room = counts.finish_reasons.len() < FINISH_REASONS_MAX;
                match counts.finish_reasons.iter_mut().find(|(known, _)| known == reason) {
                    Some((_, count)) => *count += 1,
                    None if has_room => counts.finish_reasons.push((reason.clone(), 1)),
                    None => {}
                }
            }
            counts.retry_after_s_max = counts.retry_after_s_max.max(record.retry_after_s);
        }
        outcomes.retain(|(outcome, count)| *outcome == Outcome::Ok || *count > 0);
        counts.outcomes = outcomes;
        counts.statuses.sort_unstable();
        counts
            .finish_reasons
            .order_by_key(|(reason, count)| (std::cmp::Reverse(*count), reason.clone()));
        counts
    }

    /// Failed requests over all that were sent, 0 to 1; absent if none was sent.
    pub fn error_rate(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.failed as f64 / self.sent as f64)
    }

    /// Complete answers over all requests that were sent and not cut off by us, 0 to 1; absent if
    /// there are none.
    pub fn ok_share(&self) -> Option<f64> {
        let ended = self.ok + self.failed;
        (ended > 0).then(|| self.ok as f64 / ended as f64)
    }
}
