//! Server-sent events, read incrementally (WHATWG HTML, 9.2.6 "Interpreting an event stream").
//!
//! Lines end with CR, LF or CRLF; a leading byte-order mark, comments and unknown fields are
//! skipped; several `data` lines join with a line feed. Unlike there, an event with an empty payload
//! is left out, unless it names itself an error: some servers send empty ones to keep a connection
//! alive. And an event without the blank line behind it is given out when the stream ends
//! ([`EventReader::finish`]), for the reader to judge whether it is whole: some servers leave out
//! the last blank line. The stamp of an event is that of the read that held the last byte of its
//! payload, not of the blank line behind it.

use memchr::{memchr, memchr2};

/// Largest event accepted, bytes.
pub const EVENT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Memory that a buffer keeps from one answer to the next, bytes.
pub(crate) const BUFFER_BYTES_KEPT: usize = 1024 * 1024;

/// How much is kept of lines that are no part of an event stream, bytes.
const STRAY_BYTES_MAX: usize = 512;

/// The fields of an event stream.
const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'input> {
    /// The payload.
    pub data: &'input [u8],
    /// Whether the event named itself `error`.
    pub is_error: bool,
    /// Stamp of the read that held the last payload byte.
    pub at_ns: u64,
}

/// The event exceeds [`EVENT_BYTES_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {EVENT_BYTES_MAX} bytes")]
pub struct EventTooLarge;

/// Incremental reader of an event stream. [`EventReader::reset`] makes it ready for the next.
#[derive(Debug, Default)]
pub struct EventReader {
    /// The line so far, when a read ended within it.
    line: Vec<u8>,
    /// Stamp of the read that brought the last byte of `line`.
    line_at_ns: u64,
    /// Payload of the event so far, each line followed by a line feed.
    data: Vec<u8>,
    data_at_ns: u64,
    is_error: bool,
    /// The last line ended with a carriage return: a line feed right behind belongs to it.
    after_return: bool,
    /// Whether the first line is over: only that may begin with a byte-order mark.
    first_line_over: bool,
    /// The first lines that no event stream has: a page of a proxy, a sentence, bare JSON.
    stray: Vec<u8>,
}

impl EventReader {
    /// The first lines that are no part of an event stream, which a reader skips.
    pub fn stray(&self) -> &[u8] {
        &self.stray
    }

    /// Forgets the stream; buffers are kept.
    pub fn reset(&mut self) {
        self.stray.clear();
        for buffer in [&mut self.line, &mut self.data] {
            buffer.clear();
            buffer.shrink_to(BUFFER_BYTES_KEPT);
        }
        self.is_error = false;
        self.after_return = false;
        self.first_line_over = false;
    }

    /// Memory that the event that has not ended takes, bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// Forgets the event that has not ended, buffers included.
    pub(crate) fn discard(&mut self) {
        self.line = Vec::new();
        self.data = Vec::new();
        self.is_error = false;
    }

    /// Takes bytes that one read brought and calls `on_event` for each event they complete.
    ///
    /// # Errors
    /// [`EventTooLarge`]; the reader is then of no more use.
    #[inline]
    pub fn feed(
        &mut self,
        mut input: &[u8],
        at_ns: u64,
        on_event: &mut impl FnMut(Event<'_>),
    ) -> Result<(), EventTooLarge> {
        while !input.is_empty() {
            if self.after_return {
                self.after_return = false;
                if input[0] == b'\n' {
                    input = &input[1..];
                    continue;
                }
            }
            if self.first_line_over
                && self.line.is_empty()
                && self.data.is_empty()
                && !self.is_error
            {
                // The usual case: one whole event of one line lies in the input.
                if let Some((data, used)) = whole_event(input) {
                    if !data.is_empty() {
                        on_event(Event { data, is_error: false, at_ns });
                    }
                    input = &input[used..];
                    continue;
                }
            }
            match memchr2(b'\n', b'\r', input) {
                None => {
                    self.line.extend_from_slice(input);
                    self.line_at_ns = at_ns;
                    return self.check_size();
                }
                Some(end) => {
                    self.after_return = input[end] == b'\r';
                    if self.line.is_empty() {
                        self.take_line(&input[..end], at_ns, on_event);
                    } else {
                        if end > 0 {
                            self.line.extend_from_slice(&input[..end]);
                            self.line_at_ns = at_ns;
                        }
                        let line = std::mem::take(&mut self.line);
                        self.take_line(&line, self.line_at_ns, on_event);
                        self.line = line;
                        self.line.clear();
                    }
                    self.check_size()?;
                    input = &input[end + 1..];
                }
            }
        }
        Ok(())
    }

    /// The stream is over: an event whose blank line, or even last line end, is missing is given
    /// out as it is. It may be cut off.
    pub fn finish(&mut self, on_event: &mut impl FnMut(Event<'_>)) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, self.line_at_ns, on_event);
        }
        self.take_line(&[], self.line_at_ns, on_event);
        self.line = line;
        self.line.clear();
    }

    fn check_size(&self) -> Result<(), EventTooLarge> {
        let size = self.line.len() + self.data.len();
        if size > EVENT_BYTES_MAX { Err(EventTooLarge) } else { Ok(()) }
    }

    #[cold]
    fn keep_stray(&mut self, line: &[u8]) {
        let room = STRAY_BYTES_MAX.saturating_sub(self.stray.len() + 1);
        if room > 0 {
            self.stray.extend(line.iter().take(room));
            self.stray.push(b'\n');
        }
    }

    fn take_line(&mut self, line: &[u8], at_ns: u64, on_event: &mut impl FnMut(Event<'_>)) {
        let line = match std::mem::replace(&mut self.first_line_over, true) {
            true => line,
            false => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
        };
        if line.is_empty() {
            if let Some((_line_feed, data)) = self.data.split_last()
                && (!data.is_empty() || self.is_error)
            {
                on_event(Event { data, is_error: self.is_error, at_ns: self.data_at_ns });
            }
            self.data.clear();
            self.is_error = false;
            return;
        }
        let (name, value) = match memchr(b':', line) {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match name {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
                self.data_at_ns = at_ns;
            }
            b"event" => self.is_error = value == b"error",
            // A comment has no name, and the name of a line that was cut off is the front of one.
            _ if FIELDS.iter().any(|field| field.starts_with(name)) => {}
            _ => self.keep_stray(line),
        }
    }
}

/// If the input begins with `data:`, one line, and a blank line: the payload and the bytes used.
#[inline]
fn whole_event(input: &[u8]) -> Option<(&[u8], usize)> {
    let value = input.strip_prefix(b"data:")?;
    let start = if value.first() == Some(&b' ') { 6 } else { 5 };
    let end = start + memchr2(b'\n', b'\r', &input[start..])?;
    let behind = match (input[end], &input[end + 1..]) {
        (b'\n', [b'\n', ..]) => 2,
        (b'\r', [b'\n', b'\r', b'\n', ..]) => 4,
        _ => return None,
    };
    Some((&input[start..end], end + behind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(parts: &[&[u8]]) -> Vec<(String, u64)> {
        let mut reader = EventReader::default();
        let mut seen = Vec::new();
        for (position, part) in parts.iter().enumerate() {
            reader
                .feed(part, position as u64, &mut |event| {
                    seen.push((String::from_utf8_lossy(event.data).into_owned(), event.at_ns));
                })
                .unwrap();
        }
        seen
    }

    fn check(stream: &str, expect: &[&str]) {
        let whole: Vec<String> = events(&[stream.as_bytes()]).into_iter().map(|e| e.0).collect();
        assert_eq!(whole, expect, "{stream:?}");
        for position in 0..=stream.len() {
            let (front, back) = stream.as_bytes().split_at(position);
            let split: Vec<String> = events(&[front, back]).into_iter().map(|e| e.0).collect();
            assert_eq!(split, whole, "{stream:?} split at {position}");
        }
    }

    #[test]
    fn the_grammar_holds_for_every_split() {
        check("data: a\n\ndata:b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("data: a\n\r\ndata: b\r\n\n", &["a", "b"]);
        check(": beat\n\n:\n\ndata: a\n: between\n\n", &["a"]);
        check("data: one\ndata: two\n\n", &["one\ntwo"]);
        check("data\ndata\n\n", &["\n"]);
        check("data\n\ndata:\n\ndata: \n\n", &[]);
        check("event: error\nid: 7\nretry: 10\ndata: a\n\n", &["a"]);
        check("\u{feff}data: a\n\n", &["a"]);
        check("data:  two spaces\n\n", &[" two spaces"]);
        check("dataset: x\ndata : x\n\ndata: a\n\n", &["a"]);
        check("data: no blank line\n", &[]);
        check("data: no line end", &[]);
        check("data: \u{2028}line separator\u{85}\n\n", &["\u{2028}line separator\u{85}"]);
    }

    #[test]
    fn the_stamp_is_that_of_the_last_payload_byte() {
        let stamp = |parts: &[&[u8]]| events(parts).first().map(|event| event.1);
        assert_eq!(stamp(&[b"data: ab", b"\n\n"]), Some(0));
        assert_eq!(stamp(&[b"data: ab\n", b"\n"]), Some(0));
        assert_eq!(stamp(&[b"data: ", b"ab\n\n"]), Some(1));
        assert_eq!(stamp(&[b"data: a", b"b", b"\n", b"\n"]), Some(1));
        assert_eq!(stamp(&[b"data: a\ndata: b\n: c", b"\n\n"]), Some(0));
        assert_eq!(stamp(&[b"data: a\n", b"data: b\n", b"\n"]), Some(1));
    }

    #[test]
    fn the_end_of_the_stream_gives_out_an_event_without_its_blank_line() {
        for (stream, expect) in [
            ("data: a\n\ndata: b", Some(("b", 0))),
            ("data: a\n\ndata: b\n", Some(("b", 0))),
            ("data: a\r\n\r\ndata: b\r\n", Some(("b", 0))),
            ("data: b\r", Some(("b", 0))),
            ("data: a\ndata: b", Some(("a\nb", 0))),
            ("\u{feff}data:b", Some(("b", 0))),
            ("data: a\n\n", None),
            ("data: a\n\n: beat", None),
            ("data: a\n\ndata", None),
            ("data: a\n\ndat", None),
            ("", None),
        ] {
            for position in 0..=stream.len() {
                let mut reader = EventReader::default();
                let (front, back) = stream.as_bytes().split_at(position);
                reader.feed(front, 0, &mut |_| {}).unwrap();
                reader.feed(back, 0, &mut |_| {}).unwrap();
                let mut last = None;
                reader.finish(&mut |event| {
                    last = Some((String::from_utf8_lossy(event.data).into_owned(), event.at_ns));
                });
                let last = last.as_ref().map(|(text, at_ns)| (text.as_str(), *at_ns));
                assert_eq!(last, expect, "{stream:?} split at {position}");
            }
        }
    }

    #[test]
    fn an_event_may_call_itself_an_error_and_the_next_does_not_inherit() {
        let mut reader = EventReader::default();
        let mut errors = Vec::new();
        let stream = b"event: error\ndata: a\n\ndata: b\n\nevent: error\n\ndata: c\n\n";
        reader.feed(stream, 0, &mut |event| errors.push(event.is_error)).unwrap();
        assert_eq!(errors, [true, false, false]);
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut reader = EventReader::default();
        let block = vec![b'x'; 1 << 20];
        let mut refused = false;
        for _ in 0..=EVENT_BYTES_MAX >> 20 {
            refused |= reader.feed(&block, 0, &mut |_| {}).is_err();
        }
        assert!(refused);
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            stream in "(data: ?[a-c]{0,3}|:x|event: error|id|data|\u{feff})?(\n|\r|\r\n){1,2}(data:[a-c]{1,9}(\n|\r\n|\r)){0,3}(\n\n|\r\n\r\n|\r\r)(data: z\n\n){0,3}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        ) {
            let bytes = stream.as_bytes();
            let mut places: Vec<usize> =
                cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let parts: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let texts = |parts: &[&[u8]]| -> Vec<String> {
                events(parts).into_iter().map(|event| event.0).collect()
            };
            prop_assert_eq!(texts(&parts), texts(&[bytes]));
        }
    }
}
