//! How late a stamp is that no kernel took.
//!
//! Where the kernel does not stamp what arrives, a stamp is taken when a shard has read the bytes, and
//! whatever kept the shard from reading is in it. Two things do. It was still reading what else had come:
//! how long the bytes had waited by then, at most, the shard knows of every read. And it had to be woken,
//! of which it knows nothing: so each shard has one connection more, over loopback, on which bytes of our
//! own arrive at any time while the load runs, and say when they left.

use crate::Histogram;
use ifm_core::health::StampError;
use ifm_sys::mono_ns;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Shortest pause between two marks; the longest is twice that. About 130 a second tell a 99th percentile
/// within seconds and cost nothing.
const PAUSE_NS: u64 = 5_000_000;
/// Bytes of a mark: the time at which it left, nanoseconds on the monotonic clock.
const MARK_BYTES: usize = size_of::<u64>();
/// Marks taken at once: more wait only where the shard stood still for half a second.
const MARKS_AT_ONCE: usize = 64;

/// How late stamps were, in two parts that add up.
#[derive(Debug, Clone, Default)]
pub struct LateStamps {
    /// From when a read's bytes were not there yet, as far as is known, to the read: at most so late. Where
    /// the shard had waited for something to come, from the end of that wait.
    pub reading: Histogram,
    /// From a mark's leaving to its being read: what waking up takes, sending and reading included. Each mark
    /// counts once for every socket that was ready with it.
    pub waking: Histogram,
}

impl LateStamps {
    /// Adds the report of another shard or level.
    pub fn merge(&mut self, other: &LateStamps) {
        self.reading.merge(&other.reading);
        self.waking.merge(&other.waking);
    }

    /// Both parts; absent where no stamp was taken so.
    pub fn quantiles(&self) -> Option<StampError> {
        Some(StampError { reading: self.reading.quantiles()?, waking: self.waking.quantiles() })
    }
}

/// The ends that are written to, one for each shard.
#[derive(Debug)]
pub(crate) struct Marker {
    streams: Vec<TcpStream>,
}

/// The end that a shard reads.
#[derive(Debug)]
pub(crate) struct Marks {
    pub stream: TcpStream,
    /// Marks that came in part; loopback does not cut one, but nothing promises that.
    bytes: [u8; MARK_BYTES * MARKS_AT_ONCE],
    filled: usize,
    /// From a mark's leaving to its being read.
    pub late: Histogram,
}

/// Connects a marker with this many readers.
///
/// # Errors
/// Socket errors: without loopback there are no marks, and the error of the stamps is unknown.
pub(crate) fn connect(readers: usize) -> io::Result<(Marker, Vec<Marks>)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let mut streams = Vec::with_capacity(readers);
    let mut marks = Vec::with_capacity(readers);
    for _ in 0..readers {
        let near = TcpStream::connect(address)?;
        near.set_nodelay(true)?;
        // A shard that reads no more must not hold up the end of the level.
        near.set_nonblocking(true)?;
        let own = near.local_addr()?;
        let far = loop {
            // Anyone on this host may have been quicker.
            let (far, peer) = listener.accept()?;
            if peer == own {
                break far;
            }
        };
        far.set_nonblocking(true)?;
        streams.push(near);
        marks.push(Marks {
            stream: far,
            bytes: [0; MARK_BYTES * MARKS_AT_ONCE],
            filled: 0,
            late: Histogram::default(),
        });
    }
    Ok((Marker { streams }, marks))
}

impl Marker {
    /// Sends marks until the level is over. The pauses are not alike, so that no rhythm of the load hides
    /// from them.
    pub fn run(mut self, over: &AtomicBool) {
        // Knuth's linear congruence; where the pauses fall does not matter, only that they differ.
        let mut drawn = 1_u64;
        while !over.load(Ordering::Relaxed) {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            std::thread::sleep(Duration::from_nanos(PAUSE_NS + (drawn >> 33) % PAUSE_NS));
            for stream in &mut self.streams {
                // A full socket, or a shard that has ended: there is no delay to measure.
                let _ = stream.write(&mono_ns().to_ne_bytes());
            }
        }
    }
}

impl Marks {
    /// Reads the marks that have arrived and records their delay: once for each socket that was ready at the
    /// same time, since a shard that wakes late is late for all of them.
    pub fn take(&mut self, ready: usize) {
        while let Ok(count) = self.stream.read(&mut self.bytes[self.filled..]) {
            let now = mono_ns();
            self.filled += count;
            let whole = self.filled - self.filled % MARK_BYTES;
            for mark in self.bytes[..whole].as_chunks::<MARK_BYTES>().0 {
                let late_ns = now.saturating_sub(u64::from_ne_bytes(*mark));
                (0..ready).for_each(|_| self.late.record(late_ns));
            }
            self.bytes.copy_within(whole..self.filled, 0);
            self.filled -= whole;
            if count == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_that_waits_is_late_by_its_wait() {
        let (mut marker, mut marks) = connect(2).unwrap();
        let left_ns = mono_ns();
        for _ in 0..MARKS_AT_ONCE + 1 {
            marker.streams[1].write_all(&left_ns.to_ne_bytes()).unwrap();
        }
        std::thread::sleep(Duration::from_millis(30));
        let [one, other] = &mut marks[..] else { panic!("two were asked for") };
        one.take(1);
        assert_eq!(one.late.quantiles(), None, "it got none");
        // What a socket holds may come in several reads.
        while other.late.quantiles().is_none_or(|late| late.n <= MARKS_AT_ONCE as u64) {
            other.take(1);
        }
        let (late, waited_ns) = (other.late.quantiles().unwrap(), mono_ns() - left_ns);
        assert_eq!(late.n, MARKS_AT_ONCE as u64 + 1);
        assert!(late.p50_ns >= 30_000_000 && late.max_ns <= waited_ns, "{late:?}");
    }

    #[test]
    fn a_mark_in_two_halves_is_one_mark() {
        let (mut marker, mut marks) = connect(1).unwrap();
        let bytes = mono_ns().to_ne_bytes();
        for half in bytes.chunks(3) {
            marker.streams[0].write_all(half).unwrap();
            std::thread::sleep(Duration::from_millis(2));
            marks[0].take(3);
        }
        while marks[0].late.quantiles().is_none() {
            marks[0].take(3);
        }
        assert_eq!((marks[0].late.quantiles().unwrap().n, marks[0].filled), (3, 0));
    }
}
