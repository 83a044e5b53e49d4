//! Files that say by a byte order mark how their characters are written, as UTF-8: editors and
//! shells of Windows write UTF-16, and a mark in front of UTF-8.
//!
//! Bytes without a mark are passed through unchanged. Not here: text that was decoded with the
//! wrong encoding (`encoding`).

use ifm_core::Sheet;
use ifm_core::sheet::{Place, Remark, RemarkKind};
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Bytes that are decoded at once.
const CHUNK_BYTES: usize = 1 << 15;
/// Bytes of the longest mark.
const MARK_BYTES_MAX: u64 = 3;

/// How the characters of a file are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Written {
    /// Without a mark.
    #[default]
    Plain,
    MarkedUtf8,
    Utf16Le,
    Utf16Be,
}

/// What was seen of a file on its way in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    written: Written,
    /// Bytes of the file so far.
    bytes: u64,
    /// Halves of characters without their other half.
    broken: u64,
}

impl Seen {
    /// Adds a remark about the file's encoding to a sheet, and sets the size of the file.
    pub fn tell(self, sheet: &mut Sheet) {
        let text = match self.written {
            Written::Plain => return,
            Written::MarkedUtf8 => "a byte order mark of UTF-8 stands before the text",
            Written::Utf16Le => "the file is UTF-16, low byte first, by its byte order mark",
            Written::Utf16Be => "the file is UTF-16, high byte first, by its byte order mark",
        };
        sheet.source.bytes = self.bytes;
        let mut tell = |kind, text: String| {
            sheet.remarks.insert(0, Remark { kind, place: Place::line(1), text });
        };
        if self.broken > 0 {
            tell(RemarkKind::Lost, format!("{} halves of characters of UTF-16", self.broken));
        }
        tell(RemarkKind::Assumed, text.to_owned());
    }
}

/// A file's bytes as UTF-8.
pub(crate) struct Decoded<R> {
    source: R,
    seen: Rc<Cell<Seen>>,
    begun: bool,
    /// What is ready to be read.
    out: Vec<u8>,
    at: usize,
    /// Bytes and the half of a character that wait for what follows.
    rest: Vec<u8>,
    half: Option<u16>,
}

impl<R: Read> Decoded<R> {
    /// The bytes of a file, and what will be seen of them.
    pub fn new(source: R) -> (Decoded<R>, Rc<Cell<Seen>>) {
        let seen = Rc::new(Cell::new(Seen::default()));
        let decoded = Decoded {
            source,
            seen: Rc::clone(&seen),
            begun: false,
            out: Vec::new(),
            at: 0,
            rest: Vec::new(),
            half: None,
        };
        (decoded, seen)
    }

    fn begin(&mut self) -> io::Result<()> {
        let mut first = Vec::new();
        self.source.by_ref().take(MARK_BYTES_MAX).read_to_end(&mut first)?;
        self.begun = true;
        let (written, mark) = match first.as_slice() {
            [0xef, 0xbb, 0xbf] => (Written::MarkedUtf8, 3),
            [0xff, 0xfe, ..] => (Written::Utf16Le, 2),
            [0xfe, 0xff, ..] => (Written::Utf16Be, 2),
            _ => (Written::Plain, 0),
        };
        self.seen.set(Seen { written, bytes: first.len() as u64, broken: 0 });
        let behind = first.split_off(mark);
        match written {
            Written::Plain | Written::MarkedUtf8 => self.out = behind,
            Written::Utf16Le | Written::Utf16Be => self.rest = behind,
        }
        Ok(())
    }

    /// Decodes more of UTF-16; false at the end of the file.
    fn decode(&mut self, unit_of: fn([u8; 2]) -> u16) -> io::Result<bool> {
        let before = self.rest.len();
        self.source.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut self.rest)?;
        let read = self.rest.len() - before;
        let mut seen = self.seen.get();
        seen.bytes += read as u64;
        self.out.clear();
        self.at = 0;
        let pairs = self.rest.chunks_exact(2);
        let behind = pairs.remainder().to_vec();
        let mut units: Vec<u16> = self.half.take().into_iter().collect();
        units.extend(pairs.filter_map(|pair| pair.try_into().ok()).map(unit_of));
        self.rest = behind;
        let is_end = read == 0;
        if !is_end && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            self.half = units.pop();
        }
        if is_end && !self.rest.is_empty() {
            self.rest.clear();
            seen.broken += 1;
        }
        let mut text = String::with_capacity(units.len());
        for decoded in char::decode_utf16(units) {
            seen.broken += u64::from(decoded.is_err());
            text.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.seen.set(seen);
        self.out = text.into_bytes();
        Ok(!is_end)
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.begun {
            self.begin()?;
        }
        loop {
            let ready = self.out.get(self.at..).unwrap_or_default();
            if !ready.is_empty() || buffer.is_empty() {
                let length = ready.len().min(buffer.len());
                for (to, from) in buffer.iter_mut().zip(ready) {
                    *to = *from;
                }
                self.at += length;
                return Ok(length);
            }
            let mut seen = self.seen.get();
            let unit_of = match seen.written {
                Written::Utf16Le => u16::from_le_bytes,
                Written::Utf16Be => u16::from_be_bytes,
                Written::Plain | Written::MarkedUtf8 => {
                    let read = self.source.read(buffer)?;
                    seen.bytes += read as u64;
                    self.seen.set(seen);
                    return Ok(read);
                }
            };
            if !self.decode(unit_of)? && self.out.is_empty() {
                return Ok(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, read};
    use proptest::prelude::*;

    fn utf_16(text: &str, big: bool) -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        let bytes = units.map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
        bytes.flatten().collect()
    }

    fn decoded(bytes: &[u8]) -> (String, Seen) {
        let (mut decoded, seen) = Decoded::new(bytes);
        let mut text = String::new();
        decoded.read_to_string(&mut text).expect("text");
        (text, seen.get())
    }

    const CSV: &str = "model,ttft_mean_ms\na,50.5\n";

    #[test]
    fn marks_tell_how_a_file_is_written() {
        let marked = format!("\u{feff}{CSV}").into_bytes();
        for bytes in [utf_16(CSV, false), utf_16(CSV, true), marked] {
            let (text, seen) = decoded(&bytes);
            assert_eq!((text.as_str(), seen.bytes, seen.broken), (CSV, bytes.len() as u64, 0));
        }
        assert_eq!(decoded(CSV.as_bytes()).1.written, Written::Plain);
        assert_eq!(decoded(b"").0, "");
        assert_eq!(decoded(b"\xff\xfe").0, "");
    }

    #[test]
    fn what_is_no_utf_16_is_counted() {
        let (text, seen) = decoded(b"\xff\xfea\0\x00\xd8b\0c");
        assert_eq!((text.as_str(), seen.broken), ("a\u{fffd}b", 2));
    }

    #[test]
    fn files_of_every_kind_are_read_and_told() {
        let json = r#"{"date": "x", "backend": "vllm", "model_id": "m", "num_prompts": 2,
            "duration": 1.5, "completed": 2, "total_input_tokens": 4, "total_output_tokens": 8,
            "request_throughput": 1.5, "output_throughput": 5.0, "mean_ttft_ms": 50.5}"#;
        let table = "| Users | TTFT (ms) |\n|--|--|\n| 1 | 50 |\n";
        for text in [json, table] {
            let plain = read(Input::new("x", text.as_bytes())).expect("a sheet");
            for bytes in
                [utf_16(text, false), utf_16(text, true), format!("\u{feff}{text}").into_bytes()]
            {
                let sheet = read(Input::new("x", bytes.as_slice())).expect("a sheet");
                assert_eq!(sheet.parts, plain.parts);
                assert_eq!(sheet.source.bytes, bytes.len() as u64);
                assert_eq!(sheet.remarks.len(), plain.remarks.len() + 1);
                let remark = &sheet.remarks[0];
                assert!(remark.text.contains("byte order mark"), "{remark:?}");
                assert_eq!(remark.kind, RemarkKind::Assumed);
            }
            assert!(!plain.remarks.iter().any(|remark| remark.text.contains("byte order mark")));
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in "\\PC{0,200}", copies in 1_usize..400, big: bool) {
            let text = text.repeat(copies);
            prop_assert_eq!(&decoded(&utf_16(&text, big)).0, &text);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut marked = vec![0xff, 0xfe];
            marked.extend(&bytes);
            let _ = decoded(&marked);
            let (mut decoded, _) = Decoded::new(bytes.as_slice());
            let mut out = Vec::new();
            decoded.read_to_end(&mut out).expect("bytes");
            prop_assert!(bytes.ends_with(&out) || bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]));
        }
    }
}
