//! One answer on its way: which bytes are due, and which tokens have gone. Pure: no socket, no
//! clock.

use super::pace::Pace;
use super::template::Template;
use std::io::IoSlice;
use std::sync::Arc;

/// Largest coalesced send, bytes.
const SEND_BYTES_MAX: u64 = 16 * 1024;

/// One answer: head, opening, token events, tail, and how far it has gone.
#[derive(Debug)]
pub struct Stream {
    template: Arc<Template>,
    pace: Pace,
    begin_ns: u64,
    tokens: u32,
    tail: Vec<u8>,
    /// Bytes that have gone out.
    sent: u64,
}

/// What to do next about a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Bytes up to this position are due.
    SendTo(u64),
    /// Nothing is due before this time, nanoseconds.
    WaitUntil(u64),
    /// Everything has gone.
    Done,
}

impl Stream {
    /// An answer of `tokens` tokens that begins at `begin_ns`.
    pub fn new(
        template: Arc<Template>,
        pace: Pace,
        begin_ns: u64,
        tokens: u32,
        prompt_tokens: u64,
    ) -> Stream {
        let tail = template.tail(prompt_tokens, tokens, pace.usage);
        Stream { template, pace, begin_ns, tokens, tail, sent: 0 }
    }

    fn head_end(&self) -> u64 {
        self.template.head.len() as u64
    }

    fn opening_end(&self) -> u64 {
        self.head_end() + self.template.opening.len() as u64
    }

    fn tokens_end(&self, tokens: u32) -> u64 {
        self.opening_end() + u64::from(tokens) * self.template.event_bytes as u64
    }

    fn total(&self) -> u64 {
        self.tokens_end(self.tokens) + self.tail.len() as u64
    }

    /// Tokens of which the last byte has gone out.
    pub fn tokens_sent(&self) -> u32 {
        let bytes = self.sent.saturating_sub(self.opening_end());
        (bytes / self.template.event_bytes as u64).min(u64::from(self.tokens)) as u32
    }

    /// Whether the head has gone out.
    pub fn head_sent(&self) -> bool {
        self.sent >= self.head_end()
    }

    /// What is due at a time.
    pub fn turn(&self, now_ns: u64) -> Turn {
        if self.sent >= self.total() {
            return Turn::Done;
        }
        if self.sent < self.head_end() {
            return Turn::SendTo(self.head_end());
        }
        let elapsed_ns = now_ns.checked_sub(self.begin_ns);
        let due_tokens = elapsed_ns.map_or(0, |ns| self.pace.tokens_due(ns, self.tokens));
        // The tail goes with the last token; so does the opening with the first one.
        let due_end = match due_tokens {
            0 => self.sent,
            due if due == self.tokens => self.total(),
            due => self.tokens_end(due),
        };
        if due_end <= self.sent {
            return Turn::WaitUntil(self.begin_ns + self.pace.due_ns(self.tokens_sent()));
        }
        if self.pace.coalesce && due_end - self.sent <= SEND_BYTES_MAX {
            return Turn::SendTo(due_end);
        }
        let reach = if self.pace.coalesce { self.sent + SEND_BYTES_MAX } else { self.sent };
        Turn::SendTo(self.whole_events(reach).min(due_end))
    }

    /// The last end of an event at or before a position; the first one after `sent` if there is
    /// none between.
    fn whole_events(&self, reach: u64) -> u64 {
        let event_bytes = self.template.event_bytes as u64;
        let opening_end = self.opening_end();
        if self.sent < opening_end && reach < opening_end + event_bytes {
            return opening_end;
        }
        let last = opening_end + (reach - opening_end) / event_bytes * event_bytes;
        let next = if last > self.sent { last } else { last + event_bytes };
        let tokens_end = self.tokens_end(self.tokens);
        match next > tokens_end {
            false => next,
            true if self.sent < tokens_end => tokens_end,
            true => self.total(),
        }
    }

    /// The bytes from the stream's position up to `to`, in at most four parts, some of
    /// them empty. They may end before the position.
    pub fn parts(&self, to: u64) -> [IoSlice<'_>; 4] {
        let (events_start, events_end) = (self.opening_end(), self.tokens_end(self.tokens));
        let from = self.sent.clamp(events_start, events_end);
        let until = to.clamp(from, events_end);
        let events = self.template.events(from - events_start, until - events_start);
        // The block may hold less than is asked for; then the tail must wait.
        let tail_to = if events.len() as u64 == until - from { to } else { events_end };
        [
            IoSlice::new(self.cut(&self.template.head, 0, to)),
            IoSlice::new(self.cut(&self.template.opening, self.head_end(), to)),
            IoSlice::new(events),
            IoSlice::new(self.cut(&self.tail, events_end, tail_to)),
        ]
    }

    /// What lies between the stream's position and `to`, of a part that begins at `start`.
    fn cut<'a>(&self, part: &'a [u8], start: u64, to: u64) -> &'a [u8] {
        let at = |position: u64| position.saturating_sub(start).min(part.len() as u64) as usize;
        part.get(at(self.sent)..at(to)).unwrap_or_default()
    }

    /// Records that `bytes` more bytes have gone out.
    pub fn advance(&mut self, bytes: u64) {
        self.sent = (self.sent + bytes).min(self.total());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::Api;

    fn pace(itl_ns: u64, coalesce: bool) -> Pace {
        Pace { ttft_ns: 1_000, itl_ns, coalesce, burst: 1, usage: true }
    }

    /// Sends a stream with a kernel that takes at most `room` bytes at a time; the bytes, and the
    /// size of each send.
    fn sends(pace: Pace, tokens: u32, room: usize, api: Api) -> (Vec<u8>, Vec<usize>) {
        let mut stream = Stream::new(Arc::new(Template::new(api)), pace, 50, tokens, 3);
        let (mut bytes, mut sizes, mut now_ns) = (Vec::new(), Vec::new(), 50);
        loop {
            match stream.turn(now_ns) {
                Turn::Done => return (bytes, sizes),
                Turn::WaitUntil(due_ns) => {
                    assert!(due_ns > now_ns, "{due_ns} {now_ns}");
                    now_ns = due_ns;
                }
                Turn::SendTo(to) => {
                    let all: Vec<u8> =
                        stream.parts(to).iter().flat_map(|part| part.to_vec()).collect();
                    let part = &all[..all.len().min(room)];
                    assert!(!part.is_empty());
                    bytes.extend_from_slice(part);
                    sizes.push(part.len());
                    let size = part.len() as u64;
                    stream.advance(size);
                }
            }
        }
    }

    fn whole(tokens: u32, api: Api) -> Vec<u8> {
        let template = Template::new(api);
        let end = u64::from(tokens) * template.event_bytes as u64;
        let mut bytes = [template.head.as_slice(), &template.opening].concat();
        let mut from = 0;
        while from < end {
            let window = template.events(from, end);
            bytes.extend_from_slice(window);
            from += window.len() as u64;
        }
        bytes.extend(template.tail(3, tokens, true));
        bytes
    }

    #[test]
    fn the_bytes_are_the_same_however_they_are_sent() {
        for api in [Api::Chat, Api::Completions] {
            for tokens in [1, 2, 65, 300] {
                let expected = whole(tokens, api);
                for itl_ns in [0, 7] {
                    for coalesce in [false, true] {
                        for room in [61, 5_000, usize::MAX] {
                            let (bytes, _) = sends(pace(itl_ns, coalesce), tokens, room, api);
                            assert!(
                                bytes == expected,
                                "{api:?} {tokens} {itl_ns} {coalesce} {room}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn without_coalescing_each_event_is_a_send_of_its_own() {
        let size = Template::new(Api::Chat).event_bytes;
        for itl_ns in [0, 7] {
            let (_, sizes) = sends(pace(itl_ns, false), 20, usize::MAX, Api::Chat);
            assert_eq!(sizes.len(), 2 + 20 + 1);
            assert!(sizes[2..22].iter().all(|sent| *sent == size));
        }
    }

    #[test]
    fn coalesced_sends_end_with_whole_events_and_hold_at_most_16_kb() {
        let template = Template::new(Api::Chat);
        let (_, sizes) = sends(pace(0, true), 1_000, usize::MAX, Api::Chat);
        assert!(sizes.iter().all(|sent| *sent as u64 <= SEND_BYTES_MAX));
        let mut at = 0;
        for size in &sizes[..sizes.len() - 1] {
            at += size;
            let past = at as u64 - template.head.len() as u64;
            assert!(
                past == 0
                    || (past - template.opening.len() as u64)
                        .is_multiple_of(template.event_bytes as u64)
            );
        }
        let paced = sends(pace(7, true), 20, usize::MAX, Api::Chat).1;
        assert_eq!(paced.len(), 1 + 20, "head, then one send per due token");
    }

    #[test]
    fn tokens_count_when_their_last_byte_has_gone() {
        let template = Arc::new(Template::new(Api::Chat));
        let before = (template.head.len() + template.opening.len()) as u64;
        let event_bytes = template.event_bytes as u64;
        let mut stream = Stream::new(template, pace(0, false), 0, 2, 3);
        assert!(!stream.head_sent());
        stream.advance(before + event_bytes - 1);
        assert!(stream.head_sent());
        assert_eq!(stream.tokens_sent(), 0);
        stream.advance(1);
        assert_eq!(stream.tokens_sent(), 1);
        stream.advance(1 << 40);
        assert_eq!((stream.tokens_sent(), stream.turn(0)), (2, Turn::Done));
    }
}
