//! A slot: one connection, its current request, and what it passes on to the decoder.

use crate::feed::Prepared;
use crate::transport::Transport;
use crate::upload::Upload;
use ifm_sys::ClockPair;
use ifm_wire::{EndCause, ResponseReader};

/// Bytes that one segment holds. Large enough that handing one over costs nothing per event.
pub(crate) const SEGMENT_BYTES: usize = 64 * 1024;
/// Stamps that one segment holds.
pub(crate) const SEGMENT_STAMPS: usize = 512;

/// How long the reads of a segment may span before it goes to the decoder, nanoseconds. A long answer
/// is decoded while it arrives, so that the live view counts its tokens, at one message per second.
const SPAN_NS: u64 = 500_000_000;
/// Slots whose requests began together hand over at this many different times.
const SPAN_STEPS: u64 = 64;
/// The step between two of these times, nanoseconds.
const SPAN_STEP_NS: u64 = 10_000_000;

/// A page of memory.
const PAGE_BYTES: usize = 4096;

/// What is known of one read. 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadStamp {
    /// Monotonic time of arrival: the kernel's stamp, or ours without one.
    pub at_ns: u64,
    /// Bytes of the segment up to and including this read.
    pub end: u32,
    /// From the kernel's stamp to ours, nanoseconds; [`NO_KERNEL_STAMP`] without one.
    pub lag_ns: u32,
}

pub(crate) const NO_KERNEL_STAMP: u32 = u32::MAX;

/// Raw bytes of one response, in order, and the stamps of the reads that brought them.
#[derive(Debug)]
pub(crate) struct Segment {
    pub bytes: Vec<u8>,
    pub stamps: Vec<ReadStamp>,
}

impl Segment {
    pub fn new() -> Segment {
        Segment {
            bytes: Vec::with_capacity(SEGMENT_BYTES),
            stamps: Vec::with_capacity(SEGMENT_STAMPS),
        }
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.stamps.clear();
    }

    /// Whether another read fits.
    pub fn has_room(&self, room: usize) -> bool {
        self.bytes.capacity() - self.bytes.len() >= room
            && self.stamps.len() < self.stamps.capacity()
    }

    /// Whether the reads of this slot's segment span enough time to hand them over.
    pub fn is_due(&self, slot: u32) -> bool {
        let (Some(first), Some(last)) = (self.stamps.first(), self.stamps.last()) else {
            return false;
        };
        let span_ns = SPAN_NS + u64::from(slot) % SPAN_STEPS * SPAN_STEP_NS;
        last.at_ns.saturating_sub(first.at_ns) >= span_ns
    }

    /// Notes a read that ended now. A kernel stamp counts if it lies between `earliest_ns` and
    /// now; any other is a step of the wall clock or comes from another world, and is not used.
    pub fn note_read(
        &mut self,
        user_ns: u64,
        kernel_real_ns: Option<u64>,
        clock: ClockPair,
        earliest_ns: u64,
    ) {
        /// How far the two clocks may be off each other: the error of the pair, and its drift.
        const CLOCK_ERROR_NS: u64 = 200_000;
        let kernel_ns = kernel_real_ns
            .map(|real| clock.to_mono(real))
            .filter(|&at| at <= user_ns + CLOCK_ERROR_NS && at + CLOCK_ERROR_NS >= earliest_ns)
            .map(|at| at.clamp(earliest_ns, user_ns));
        let lag_ns = match kernel_ns {
            Some(at) => (user_ns - at).min(u64::from(NO_KERNEL_STAMP - 1)) as u32,
            None => NO_KERNEL_STAMP,
        };
        let at_ns = kernel_ns.unwrap_or(user_ns);
        self.stamps.push(ReadStamp { at_ns, end: self.bytes.len() as u32, lag_ns });
    }
}

/// What goes from a shard to the decoder. Parts of one slot arrive in order.
#[derive(Debug)]
pub(crate) enum Message {
    /// The response goes on.
    Part { slot: u32, seq: u32, tokens_asked: Option<u32>, segment: Box<Segment> },
    /// The exchange is over.
    End { slot: u32, segment: Box<Segment>, done: Box<Done> },
}

impl Message {
    /// Memory that the smallest message holds: a page of bytes and one of stamps.
    pub const HELD_BYTES_MIN: usize = 2 * PAGE_BYTES;

    /// Memory that the message holds, bytes: the pages that its buffers have touched.
    pub fn held_bytes(&self) -> usize {
        let pages = |bytes: usize| bytes.next_multiple_of(PAGE_BYTES).max(PAGE_BYTES);
        let of = |segment: &Segment| {
            pages(segment.bytes.len()) + pages(segment.stamps.len() * size_of::<ReadStamp>())
        };
        match self {
            Message::Part { segment, .. } => of(segment),
            Message::End { segment, done, .. } => of(segment) + done.request.held_bytes,
        }
    }
}

/// What the shard knows of a finished exchange. Times are on the monotonic clock.
#[derive(Debug)]
pub(crate) struct Done {
    pub request: Box<Prepared>,
    pub start_ns: u64,
    pub sent_ns: Option<u64>,
    pub acked_ns: Option<u64>,
    pub end_ns: u64,
    pub connect_ns: Option<u64>,
    pub tls_ns: Option<u64>,
    pub dead_ns: Option<u64>,
    pub sent_bytes: usize,
    pub cause: EndCause,
}

/// State of a slot's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// No connection.
    Down,
    /// TCP handshake under way since.
    Connecting { since_ns: u64 },
    /// TLS handshake under way; TCP took.
    Shaking { since_ns: u64, connect_ns: u64 },
    /// Ready.
    Up,
}

impl Line {
    /// Whether it has been in the making for longer than the limit.
    pub fn is_late(self, now: u64, limit_ns: Option<u64>) -> bool {
        let since_ns = match self {
            Line::Connecting { since_ns } => since_ns,
            Line::Shaking { since_ns, connect_ns } => since_ns - connect_ns,
            Line::Down | Line::Up => return false,
        };
        limit_ns.is_some_and(|limit| now.saturating_sub(since_ns) > limit)
    }
}

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Active {
    pub request: Box<Prepared>,
    pub start_ns: u64,
    pub sent_ns: Option<u64>,
    /// Bytes handed to the kernel (or to TLS).
    pub sent: usize,
    /// The kernel's timestamps of its last byte.
    pub upload: Upload,
    pub connect_ns: Option<u64>,
    pub tls_ns: Option<u64>,
    /// Time from the start until a connection was found dead and another one was asked for.
    pub dead_ns: Option<u64>,
    /// Whether the connection had carried an answer before: it may have died in between.
    pub on_reused_line: bool,
    /// When the last byte came or went.
    pub last_activity_ns: u64,
    /// Whether any byte of the response arrived.
    pub has_bytes: bool,
    /// The last question to the decoder about a first token.
    pub asked_decoder: Option<Asked>,
}

/// A question to the decoder, whether a first token has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// Start of the wait that raised it.
    pub since_ns: u64,
    /// When no answer means no token.
    pub until_ns: u64,
}

/// One of the level's concurrent users.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Index over all shards.
    pub id: u32,
    pub line: Line,
    pub transport: Option<Transport>,
    pub reader: ResponseReader,
    pub segment: Box<Segment>,
    pub active: Option<Active>,
    /// Whether epoll is asked about writability.
    pub waits_to_write: bool,
    /// Whether this line has carried a whole answer.
    pub line_used: bool,
    /// Connection attempts and transport failures in a row.
    pub failures: u32,
    /// When the previous request ended; absent before the first.
    pub free_since_ns: Option<u64>,
}

impl Slot {
    pub fn new(id: u32) -> Slot {
        Slot {
            id,
            line: Line::Down,
            transport: None,
            reader: ResponseReader::new(),
            segment: Box::new(Segment::new()),
            active: None,
            waits_to_write: false,
            line_used: false,
            failures: 0,
            free_since_ns: None,
        }
    }

    /// Closes the connection; epoll forgets it with the socket.
    pub fn hang_up(&mut self) {
        self.transport = None;
        self.line = Line::Down;
        self.waits_to_write = false;
        self.line_used = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_outside_the_exchange_is_not_believed() {
        let clock = ClockPair { mono_ns: 0, offset_ns: 1_000_000_000 };
        let real = |mono: u64| Some(mono + 1_000_000_000);
        let stamp = |kernel| {
            let mut segment = Segment::new();
            segment.note_read(9_000_000, kernel, clock, 5_000_000);
            segment.stamps[0]
        };
        assert_eq!(stamp(real(8_000_000)).at_ns, 8_000_000);
        assert_eq!(stamp(real(8_000_000)).lag_ns, 1_000_000);
        for unusable in [None, real(20_000_000), real(1_000_000)] {
            assert_eq!(stamp(unusable).at_ns, 9_000_000);
            assert_eq!(stamp(unusable).lag_ns, NO_KERNEL_STAMP);
        }
        // Within the error of the clocks the stamp is brought into the exchange.
        assert_eq!(stamp(real(4_900_000)).at_ns, 5_000_000);
        assert_eq!(stamp(real(9_100_000)).at_ns, 9_000_000);
    }
}
