//! When bytes that were sent had left, and when the peer had acknowledged them, as the kernel stamps
//! it.
//!
//! `SO_TIMESTAMPING` reports on the socket's error queue when the packet with a marked byte went to
//! the device, and when the peer's kernel had acknowledged that byte. A mark belongs to one call and
//! means its last byte, so that unmarked requests cost nothing. Stamps are on the wall clock, as in
//! [`crate::recv`].
//!
//! The alternative, to ask `TCP_INFO` again and again whether anything is on its way, was tried
//! against it: it costs a call at every look, and is late by half the time between two of them.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{next_stamp, send_marked, stamp_sends, way};
#[cfg(target_os = "linux")]
pub use linux::{next_stamp, send_marked, stamp_sends, way};

/// What the kernel has to say about a marked byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentStamp {
    /// Bytes that were written since [`stamp_sends`], before the marked one; of 32 bits.
    pub id: u32,
    /// What happened.
    pub what: SentStep,
    /// When, on the wall clock.
    pub real_ns: u64,
}

/// How far a byte came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentStep {
    /// Its packet was given to the device, for the first time or again.
    Left,
    /// The peer's kernel has it.
    Acknowledged,
}

/// What the kernel knows of a connection's way to its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The shortest round trip so far, nanoseconds.
    pub round_trip_ns: u64,
    /// Whether the peer had everything already that was sent again: then nothing was lost.
    pub is_lossless: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::IoSlice;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_last_byte_is_stamped_when_it_left_and_when_it_was_acknowledged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        if stamp_sends(&near).is_err() {
            return; // A host without the option reports nothing.
        }
        let before = crate::real_ns();
        let (head, body) = (vec![b'h'; 100], vec![b'b'; 20_000]);
        let sent = send_marked(&near, &[IoSlice::new(&head), IoSlice::new(&body)]).unwrap();
        assert_eq!(sent, 20_100);
        far.read_exact(&mut vec![0; sent]).unwrap();
        let mut seen = Vec::new();
        let deadline = crate::mono_ns() + 5_000_000_000;
        while seen.len() < 2 && crate::mono_ns() < deadline {
            seen.extend(next_stamp(&near).unwrap());
        }
        let after = crate::real_ns();
        let steps: Vec<(u32, SentStep)> = seen.iter().map(|stamp| (stamp.id, stamp.what)).collect();
        let last = sent as u32 - 1;
        assert_eq!(steps, [(last, SentStep::Left), (last, SentStep::Acknowledged)]);
        assert!(before <= seen[0].real_ns && seen[0].real_ns <= seen[1].real_ns);
        assert!(seen[1].real_ns <= after);
        assert!(way(&near).is_some_and(|way| way.round_trip_ns < 5_000_000_000));
        assert_eq!(next_stamp(&near).unwrap(), None);
    }
}
