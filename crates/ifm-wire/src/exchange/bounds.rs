//! How large one answer may be, so that a server that does not end its answers takes no memory.
//!
//! The bound follows from the number of tokens that the request asks for. What exceeds it is thrown
//! away, with what was held of the answer, and the request fails with a sentence.

use super::{Body, ExchangeDecoder};
use crate::sse::EVENT_BYTES_MAX;

/// Begins the sentence of every answer that exceeds a bound.
pub const TOO_LARGE: &str = "the answer is too large";

/// Token-bearing events per requested token: one is usual, and several choices have one each.
const EVENTS_PER_TOKEN: usize = 64;
/// Events that any answer may have.
const EVENTS_MIN: usize = 65_536;
/// Events of an answer to a request that leaves the length to the server.
const EVENTS_WITHOUT_LENGTH: usize = 1_048_576;
/// Bytes on the wire per event that is allowed. A server that repeats the text so far in each event
/// stays below this up to 131,072 tokens.
const BYTES_PER_EVENT: u64 = 16 * KIB;
/// Bytes on the wire of an answer of which nothing but an error sentence is kept.
const UNREAD_BYTES_MAX: u64 = MIB;
/// Largest answer kept when it is not a stream of events, bytes.
pub(super) const DOCUMENT_BYTES_MAX: usize = 64 * MIB as usize;
/// Memory that one unfinished answer may take, bytes: text that is kept, columns, and the part of an
/// event that has arrived.
const HELD_BYTES_MAX: usize = 128 * MIB as usize;
/// Bytes on the wire between two checks. Reads that are smaller cost one comparison.
pub(super) const CHECK_BYTES: u64 = 64 * KIB;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// The bounds of the answer to one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Output tokens that the request asks for; absent where the server decides.
    pub(super) tokens_asked: Option<u32>,
}

impl Bounds {
    fn events(self) -> usize {
        match self.tokens_asked {
            Some(tokens) => EVENTS_MIN.max(EVENTS_PER_TOKEN.saturating_mul(tokens as usize)),
            None => EVENTS_WITHOUT_LENGTH,
        }
    }

    fn bytes(self) -> u64 {
        BYTES_PER_EVENT.saturating_mul(self.events() as u64)
    }

    fn for_tokens(self) -> String {
        match self.tokens_asked {
            Some(1) => "for 1 requested token".to_owned(),
            Some(tokens) => format!("for {tokens} requested tokens"),
            None => "for a request without a maximum length".to_owned(),
        }
    }
}

impl ExchangeDecoder {
    /// Sets how many output tokens the request asks for, which bounds its answer. Holds until the
    /// exchange ends.
    pub fn expect_tokens(&mut self, tokens_asked: Option<u32>) {
        self.bounds.tokens_asked = tokens_asked;
    }

    /// Whether the answer exceeds a bound: more of it is thrown away, and the connection can be closed.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Memory that the unfinished answer takes, bytes.
    pub fn held_bytes(&self) -> usize {
        let parts = self.events.held_bytes() + self.lines.held_bytes() + self.document.len();
        parts + self.facts.held_bytes()
    }

    /// Checks the bounds that depend on the whole answer so far.
    #[cold]
    pub(super) fn check_bounds(&mut self) {
        self.checked_at_bytes = self.wire_bytes + CHECK_BYTES;
        let is_read = self.is_success() && self.body != Body::Encoded;
        let bytes_max = if is_read { self.bounds.bytes() } else { UNREAD_BYTES_MAX };
        if self.events_so_far() > self.bounds.events() {
            let (events, tokens) = (self.bounds.events(), self.bounds.for_tokens());
            self.refuse(&format!("more than {events} token events {tokens}"));
        } else if self.wire_bytes > bytes_max && self.reader.head().is_some() {
            let (mib, tokens) = (bytes_max / MIB, self.bounds.for_tokens());
            self.refuse(&format!("more than {mib} MiB {tokens}"));
        } else if self.held_bytes() > HELD_BYTES_MAX {
            let mib = HELD_BYTES_MAX as u64 / MIB;
            self.refuse(&format!("its text takes more than {mib} MiB"));
        }
    }

    #[cold]
    pub(super) fn refuse_event(&mut self) {
        self.refuse(&format!("more than {} MiB in one event", EVENT_BYTES_MAX as u64 / MIB));
    }

    #[cold]
    pub(super) fn refuse_document(&mut self) {
        let mib = DOCUMENT_BYTES_MAX as u64 / MIB;
        self.refuse(&format!("more than {mib} MiB that are not a stream of events"));
    }

    /// Throws away what is held of the answer and all that follows. The request fails for this reason,
    /// unless it has already ended or failed.
    pub fn refuse(&mut self, reason: &str) {
        if std::mem::replace(&mut self.is_refused, true) {
            return;
        }
        self.events.discard();
        self.lines.discard();
        if self.is_success() {
            self.document = Vec::new();
            if self.facts.end_mark_ns.is_none() {
                self.facts.fail(format!("{TOO_LARGE}: {reason}"));
                self.facts.discard_output();
            }
        }
    }
}
