//! When the last byte of a request had come to the server's machine.
//!
//! The kernel tells two times of it: when its packet had left, and when the server's kernel had
//! acknowledged it. The latter is what is wanted, but a receiver may keep an acknowledgement back for
//! some 40 ms, and let the answer carry it. So it counts at most one round trip behind the former, the
//! shortest that the connection has had.
//!
//! Only requests of some size are asked about: the others are gone with one call.

use crate::transport::Transport;
use ifm_sys::{ClockPair, SentStamp, SentStep};

/// Requests from this size on are asked about, bytes.
pub(crate) const STAMPED_FROM_BYTES: usize = 16 * 1024;
/// How far the clocks may be off each other.
const CLOCK_ERROR_NS: u64 = 200_000;

/// What is known of the last byte of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Upload {
    /// Its id in the kernel's stamps, once it was written.
    last_id: Option<u32>,
    /// When its packet left last, monotonic.
    left_ns: Option<u64>,
    /// When it was acknowledged.
    acked_ns: Option<u64>,
}

impl Upload {
    /// The last byte of a request of this size was written.
    pub fn written(&mut self, transport: &Transport, bytes: usize) {
        self.last_id = transport.last_id().filter(|_| bytes >= STAMPED_FROM_BYTES);
    }

    /// Whether the kernel has still to tell.
    pub fn is_open(&self) -> bool {
        self.last_id.is_some() && self.acked_ns.is_none()
    }

    /// Takes what the kernel has to tell; whether it had. `start_ns` is when the request began.
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
                self.take(stamp, at_ns, || transport.round_trip_ns());
            }
        }
        has_told
    }

    fn take(&mut self, stamp: SentStamp, at_ns: u64, round_trip: impl Fn() -> Option<u64>) {
        match stamp.what {
            SentStep::Left => self.left_ns = Some(at_ns),
            SentStep::Acknowledged => {
                let latest = self.left_ns.zip(round_trip()).map(|(left, trip)| left + trip);
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
    fn an_acknowledgement_that_was_kept_back_counts_one_round_trip_behind_the_packet() {
        let of = |steps: &[(SentStep, u64)], trip_ns: Option<u64>| {
            let mut upload = Upload { last_id: Some(9), ..Upload::default() };
            for (what, at_ns) in steps {
                let stamp = SentStamp { id: 9, what: *what, real_ns: 0 };
                upload.take(stamp, *at_ns, || trip_ns);
            }
            (upload.acked_ns(), upload.is_open())
        };
        let (left, acked) = (SentStep::Left, SentStep::Acknowledged);
        assert_eq!(of(&[(left, 100), (acked, 40_000)], Some(50)), (Some(150), false));
        assert_eq!(of(&[(left, 100), (acked, 120)], Some(50)), (Some(120), false));
        // A packet that was sent again was not there before.
        assert_eq!(of(&[(left, 100), (left, 900), (acked, 960)], Some(50)), (Some(950), false));
        assert_eq!(of(&[(left, 100), (acked, 40_000)], None), (Some(40_000), false));
        assert_eq!(of(&[(acked, 70)], Some(50)), (Some(70), false));
        assert_eq!(of(&[(left, 100)], Some(50)), (None, true));
    }
}
