//! JSON values one to a line, read incrementally (as `application/x-ndjson` is used).
//!
//! Lines end with LF or CRLF; empty ones are skipped, as is a byte-order mark before the first. A
//! last line without its end counts if it is a whole JSON value: some servers leave the end out,
//! and a line that was cut off is never whole. The stamp of a line is that of the read that held
//! its last byte, not of the line feed behind it.

use crate::sse::{BUFFER_BYTES_KEPT, EVENT_BYTES_MAX, Event, EventTooLarge};
use memchr::memchr;
use serde::de::IgnoredAny;

/// Incremental reader of lines. [`LineReader::reset`] makes it ready for the next stream.
#[derive(Debug, Default)]
pub struct LineReader {
    /// The line so far, when a read ended within it.
    line: Vec<u8>,
    /// Stamp of the read that brought the last byte of `line`.
    line_at_ns: u64,
    /// Whether the first line is over: only that may begin with a byte-order mark.
    first_line_over: bool,
}

impl LineReader {
    /// Forgets the stream; the buffer is kept.
    pub fn reset(&mut self) {
        self.line.clear();
        self.line.shrink_to(BUFFER_BYTES_KEPT);
        self.first_line_over = false;
    }

    /// Memory that the line that has not ended takes, bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.line.len()
    }

    /// Forgets the line that has not ended, its buffer included.
    pub(crate) fn discard(&mut self) {
        self.line = Vec::new();
    }

    /// Takes bytes that one read brought and calls `on_event` for each line they complete.
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
        while let Some(end) = memchr(b'\n', input) {
            if self.line.is_empty() {
                self.take_line(&input[..end], at_ns, on_event);
            } else {
                self.keep(&input[..end], at_ns)?;
                let line = std::mem::take(&mut self.line);
                self.take_line(&line, self.line_at_ns, on_event);
                self.line = line;
                self.line.clear();
            }
            input = &input[end + 1..];
        }
        self.keep(input, at_ns)
    }

    /// The stream is over: a last line without its end is taken if it is a whole value.
    pub fn finish(&mut self, on_event: &mut impl FnMut(Event<'_>)) {
        let line = std::mem::take(&mut self.line);
        if serde_json::from_slice::<IgnoredAny>(without_mark(&line)).is_ok() {
            self.take_line(&line, self.line_at_ns, on_event);
        }
        self.line = line;
        self.line.clear();
    }

    /// Keeps the bytes of a line that is not over.
    fn keep(&mut self, part: &[u8], at_ns: u64) -> Result<(), EventTooLarge> {
        if part.is_empty() {
            return Ok(());
        }
        self.line.extend_from_slice(part);
        // A carriage return is not a byte of the value.
        if part != b"\r" {
            self.line_at_ns = at_ns;
        }
        if self.line.len() > EVENT_BYTES_MAX { Err(EventTooLarge) } else { Ok(()) }
    }

    fn take_line(&mut self, line: &[u8], at_ns: u64, on_event: &mut impl FnMut(Event<'_>)) {
        let line = match std::mem::replace(&mut self.first_line_over, true) {
            true => line,
            false => without_mark(line),
        };
        let data = line.trim_ascii();
        if !data.is_empty() {
            on_event(Event { data, is_error: false, at_ns });
        }
    }
}

/// The text behind a byte-order mark, if there is one.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(parts: &[&[u8]], ends: bool) -> Vec<(String, u64)> {
        let mut reader = LineReader::default();
        let mut seen = Vec::new();
        let mut note = |event: Event<'_>| {
            seen.push((String::from_utf8_lossy(event.data).into_owned(), event.at_ns));
        };
        for (position, part) in parts.iter().enumerate() {
            reader.feed(part, position as u64, &mut note).unwrap();
        }
        if ends {
            reader.finish(&mut note);
        }
        seen
    }

    fn check(stream: &str, expect: &[&str]) {
        let whole: Vec<String> =
            lines(&[stream.as_bytes()], true).into_iter().map(|l| l.0).collect();
        assert_eq!(whole, expect, "{stream:?}");
        for position in 0..=stream.len() {
            let (front, back) = stream.as_bytes().split_at(position);
            let split = lines(&[front, back], true);
            let split: Vec<String> = split.into_iter().map(|line| line.0).collect();
            assert_eq!(split, whole, "{stream:?} split at {position}");
        }
    }

    #[test]
    fn the_grammar_holds_for_every_split() {
        check("{\"a\":1}\n{\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"]);
        check("{\"a\":1}\r\n\r\n\n{\"b\":2}\r\n", &["{\"a\":1}", "{\"b\":2}"]);
        check("\u{feff}{\"a\":1}\n{\"b\":2}", &["{\"a\":1}", "{\"b\":2}"]);
        check("{\"a\":1}\n{\"b\":", &["{\"a\":1}"]);
        check("{\"a\":\"\u{2028}\\n\"}\n", &["{\"a\":\"\u{2028}\\n\"}"]);
        check("not json\n", &["not json"]);
        check("", &[]);
    }

    #[test]
    fn the_stamp_is_that_of_the_last_byte_of_the_value() {
        let stamp = |parts: &[&[u8]]| lines(parts, false).first().map(|line| line.1);
        assert_eq!(stamp(&[b"{}", b"\n"]), Some(0));
        assert_eq!(stamp(&[b"{}", b"\r", b"\n"]), Some(0));
        assert_eq!(stamp(&[b"{", b"}\n"]), Some(1));
        assert_eq!(stamp(&[b"{", b"}", b"\n"]), Some(1));
        assert_eq!(lines(&[b"{", b"}"], true), [("{}".to_owned(), 1)]);
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut reader = LineReader::default();
        let block = vec![b'x'; 1 << 20];
        let mut refused = false;
        for _ in 0..=EVENT_BYTES_MAX >> 20 {
            refused |= reader.feed(&block, 0, &mut |_| {}).is_err();
        }
        assert!(refused);
    }
}
