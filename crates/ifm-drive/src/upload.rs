//! When the last byte of a request had come to the server's machine.
//!
//! The kernel reports two times: when the packet left, and when the server's kernel acknowledged it. The
//! second is the one we need, but a receiver may delay an acknowledgement by some 40 ms to send it with
//! the answer. So it counts as at most one round trip after the first time, using the shortest round trip
//! that the connection has had. A kernel that waits too long for the acknowledgement sends the packet
//! again; then the first time counts if the server had all that was sent again, and the last one
//! otherwise.
//!
//! Only requests of some size are asked about: the others are gone with one call.

use crate::transport::{STAMPED_FROM_BYTES, Transport};
use ifm_sys::sent::Way;
use ifm_sys::{ClockPair, SentStamp, SentStep};

/// How far the clocks may be off each other.
const CLOCK_ERROR_NS: u64 = 200_000;

/// What is known of the last byte of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Upload {
    /// Its id in the kernel's stamps, once it was written.
    last_id: Option<u32>,
    /// When its packet left first and last, monotonic.
    left_ns: Option<(u64, u64)>,
    /// When it was acknowledged.
    acked_ns: Option<u64>,
}

impl Upload {
    /// The last byte of a request of this size was written.
    pub fn written(&mut self, transport: &Transport, bytes: usize) {
        self.last_id = transport.last_id().filter(|_| bytes >= STAMPED_FROM_BYTES);
    }

    /// Whether the kernel's report is still pending.
    pub fn is_open(&self) -> bool {
        self.last_id.is_some() && self.acked_ns.is_none()
    }

    /// Reads the kernel's pending reports; returns whether there were any. `start_ns` is when the request began.
    pub fn note(
        &mut self,
        transport: &Transport,
        clock: ClockPair,
        start_ns: u64,
        now_ns: u64,
    ) -> bool {
        let mut has_told = false;
        while let Some(stamp) = transport.next_stamp() {
            has_told = true;
            let at_ns = clock.to_mono(stamp.real_ns);
            let is_within = at_ns <= now_ns + CLOCK_ERROR_NS && at_ns + CLOCK_ERROR_NS >= start_ns;
            if Some(stamp.id) == self.last_id && is_within {
                let at_ns = at_ns.clamp(start_ns, now_ns.max(start_ns));
                self.take(stamp, at_ns, || transport.way());
            }
        }
        has_told
    }

    fn take(&mut self, stamp: SentStamp, at_ns: u64, way: impl Fn() -> Option<Way>) {
        match stamp.what {
            SentStep::Left => {
                let first_ns = self.left_ns.map_or(at_ns, |(first_ns, _)| first_ns);
                self.left_ns = Some((first_ns, at_ns));
            }
            SentStep::Acknowledged => {
                let latest = self.left_ns.zip(way()).map(|((first_ns, last_ns), way)| {
                    let left_ns = if way.is_lossless { first_ns } else { last_ns };
                    left_ns + way.round_trip_ns
                });
                self.acked_ns = Some(latest.map_or(at_ns, |latest| at_ns.min(latest)));
            }
        }
    }

    /// When the last byte had been acknowledged, or would have been without delay; absent where the
    /// kernel did not tell that it was.
    pub fn acked_ns(&self) -> Option<u64> {
        self.acked_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delayed_acknowledgement_counts_one_round_trip_after_the_packet() {
        let of = |steps: &[(SentStep, u64)], way: Option<(u64, bool)>| {
            let mut upload = Upload { last_id: Some(9), ..Upload::default() };
            for (what, at_ns) in steps {
                let stamp = SentStamp { id: 9, what: *what, real_ns: 0 };
                let way =
                    way.map(|(round_trip_ns, is_lossless)| Way { round_trip_ns, is_lossless });
                upload.take(stamp, *at_ns, || way);
            }
            (upload.acked_ns(), upload.is_open())
        };
        let (left, acked) = (SentStep::Left, SentStep::Acknowledged);
        let (whole, lossy) = (Some((50, true)), Some((50, false)));
        assert_eq!(of(&[(left, 100), (acked, 40_000)], whole), (Some(150), false));
        assert_eq!(of(&[(left, 100), (acked, 120)], whole), (Some(120), false));
        // A packet that was lost was there when it had been sent again; one that was not, before.
        let twice = [(left, 100), (left, 900), (acked, 960)];
        assert_eq!(of(&twice, lossy), (Some(950), false));
        assert_eq!(of(&twice, whole), (Some(150), false));
        assert_eq!(of(&[(left, 100), (acked, 40_000)], None), (Some(40_000), false));
        assert_eq!(of(&[(acked, 70)], whole), (Some(70), false));
        assert_eq!(of(&[(left, 100)], whole), (None, true));
    }
}
