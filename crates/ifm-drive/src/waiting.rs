//! How long a shard may look away.

use ifm_sys::mono_ns;
use std::time::Duration;

/// Longest wait when nothing is ready.
pub(crate) const WAIT_NS: u64 = 5_000_000;
/// Wait while a slot is free and a request is on its way from the feeder.
const WAIT_FOR_FEED_NS: u64 = 100_000;
/// How long before a due time the loop no longer sleeps: about what waking up takes.
const AWAKE_NS: u64 = 60_000;

/// How long a shard that runs before all other threads goes on without a rest, and how long it then
/// rests: what feeds and decodes may need its processor. A request that is due comes before the
/// rest, up to the second limit.
const WITHOUT_REST_NS: u64 = 1_000_000;
const WITHOUT_REST_MAX_NS: u64 = 10_000_000;
pub(crate) const REST_NS: u64 = 100_000;

/// What a free slot waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// No slot is free, or nothing more comes.
    No,
    /// A request on its way from the feeder.
    ForFeed,
    /// The due time of the next request.
    Until { due_ns: u64 },
}

impl Waiting {
    /// How long to wait for sockets.
    pub fn timeout_ns(self, now: u64) -> u64 {
        match self {
            Waiting::No => WAIT_NS,
            Waiting::ForFeed => WAIT_FOR_FEED_NS,
            Waiting::Until { .. } => WAIT_NS.min(self.rest_ns(now)),
        }
    }

    /// How long nothing has to be sent for certain.
    pub fn rest_ns(self, now: u64) -> u64 {
        match self {
            Waiting::No | Waiting::ForFeed => u64::MAX,
            Waiting::Until { due_ns } => due_ns.saturating_sub(now).saturating_sub(AWAKE_NS),
        }
    }

    /// Rests, if that is due, after a wait for sockets that began at `since`; when the shard last
    /// rested. Of a shard that runs before all other threads.
    pub fn rest(self, since: u64, rested_ns: u64) -> u64 {
        let now = mono_ns();
        // A wait of that length was none that sockets ended at once.
        if now - since > REST_NS / 10 {
            return now;
        }
        let pause_ns = match now - rested_ns {
            without if without < WITHOUT_REST_NS => return rested_ns,
            without if without < WITHOUT_REST_MAX_NS => REST_NS.min(self.rest_ns(now)),
            _ => REST_NS,
        };
        if pause_ns == 0 {
            return rested_ns;
        }
        std::thread::sleep(Duration::from_nanos(pause_ns));
        mono_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_due_time_is_met_awake() {
        let until = Waiting::Until { due_ns: 10_000_000 };
        assert_eq!(until.timeout_ns(0), WAIT_NS, "sockets are looked at now and then");
        assert_eq!(until.timeout_ns(9_000_000), 1_000_000 - AWAKE_NS);
        assert_eq!(until.timeout_ns(10_000_000 - AWAKE_NS), 0, "it no longer sleeps");
        assert_eq!(until.timeout_ns(11_000_000), 0);
        assert_eq!(Waiting::No.rest_ns(5), u64::MAX);
    }
}
