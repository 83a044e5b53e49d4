//! What a file is of which nothing is known: to say more than that nothing is.

use super::Head;
use super::json::Reader;
use std::fmt;

/// What a file is of which nothing is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nature {
    /// It has no bytes.
    Empty,
    /// It has nothing but white space.
    Blank,
    /// It is packed by this program.
    Packed(&'static str),
    /// It is not text.
    Binary,
    /// The file begins like JSON but is not valid JSON.
    BrokenJson {
        /// Line on which it breaks, from 1.
        line: u32,
        /// Bytes before that, of the whole file.
        bytes: u64,
        /// What is wrong there.
        reason: String,
    },
    /// It is a document of ours that holds no results.
    Ours,
    /// It is a web page.
    Page,
    /// Unknown.
    Other,
}

/// How packed files begin.
const PACKED: &[(&[u8], &str)] = &[
    (&[0x1f, 0x8b], "gzip"),
    (b"PK\x03\x04", "zip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (b"BZh", "bzip2"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
];

impl Nature {
    /// What is not read although it is text: its numbers describe results but are no measurements.
    pub(crate) fn about_results(head: &Head) -> Option<Nature> {
        let text = head.text();
        let begin = text.trim_start().get(..14).unwrap_or_default().to_ascii_lowercase();
        let is_page = begin == "<!doctype html" || begin.starts_with("<html");
        if is_page { Some(Nature::Page) } else { is_ours(head).then_some(Nature::Ours) }
    }

    /// The kind of these bytes: all of a text, or the beginning of a file that is not text.
    pub(crate) fn of(bytes: &[u8]) -> Nature {
        let packed = PACKED.iter().find(|(begin, _)| bytes.starts_with(begin));
        if bytes.is_empty() {
            Nature::Empty
        } else if let Some((_, program)) = packed {
            Nature::Packed(program)
        } else if bytes.contains(&0) {
            Nature::Binary
        } else if bytes.iter().all(u8::is_ascii_whitespace) {
            Nature::Blank
        } else {
            broken_json(bytes).unwrap_or(Nature::Other)
        }
    }
}

impl fmt::Display for Nature {
    /// The text after "no known results in it".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Nature::Empty => f.write_str(": the file is empty"),
            Nature::Blank => f.write_str(": nothing but white space"),
            Nature::Packed(program) => write!(f, ": it is packed by {program}, unpack it first"),
            Nature::Binary => f.write_str(": a binary file, no text"),
            Nature::BrokenJson { line, bytes, reason } => {
                write!(
                    f,
                    ": it begins as JSON and breaks on line {line}, after {bytes} bytes: {reason}"
                )
            }
            Nature::Ours => f.write_str(
                ": a report by inferometer, not results; name the run or the file that it is about",
            ),
            Nature::Page => f.write_str(
                ": a web page; give it the results that the page was made of, or its text",
            ),
            Nature::Other => Ok(()),
        }
    }
}

/// Whether it is a document of ours, whichever: by its kind, a page of a report by its fields.
fn is_ours(head: &Head) -> bool {
    const KINDS: [&str; 6] =
        ["audit", "comparison", "gate", "history", "measured_capacity", "ranking"];
    let has_version = head.has_keys(&["schema_version"]);
    let text = head.text();
    let is_of_ours = |behind: &str| {
        let value = behind.trim_start().strip_prefix(':').map(str::trim_start);
        let Some(value) = value.and_then(|value| value.strip_prefix('"')) else { return false };
        let kind = value.split('"').next().unwrap_or_default();
        kind.starts_with("inferometer_") || (has_version && KINDS.contains(&kind))
    };
    head.is_json()
        && (text.split("\"kind\"").skip(1).any(is_of_ours)
            || head.has_keys(&["answers", "banners", "conditions"]))
}

/// The fault in a file that begins like JSON but is not valid JSON. Prose in brackets is not broken
/// JSON.
fn broken_json(bytes: &[u8]) -> Option<Nature> {
    let mut visible = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
    let begins = matches!(
        (visible.next()?, visible.next()),
        (b'{', Some(b'"')) | (b'[', Some(b'{' | b'[' | b'"'))
    );
    if !begins {
        return None;
    }
    let mut source = bytes;
    let mut reader = Reader::of_documents(&mut source);
    loop {
        match reader.kind().map(|kind| kind == super::json::Kind::End) {
            Ok(true) => return None,
            Ok(false) => {}
            Err(fault) => return Some(broken(&reader, fault.line, &fault)),
        }
        if let Err(fault) = reader.skip() {
            return Some(broken(&reader, fault.line, &fault));
        }
    }
}

fn broken(reader: &Reader<'_>, line: u32, reason: &impl fmt::Display) -> Nature {
    Nature::BrokenJson { line, bytes: reader.bytes(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, read};

    #[test]
    fn what_a_file_is_is_told() {
        for (bytes, expected) in [
            (&b""[..], ": the file is empty"),
            (b" \n\t", ": nothing but white space"),
            (b"\x1f\x8b\x08", ": it is packed by gzip, unpack it first"),
            (b"PK\x03\x04x", ": it is packed by zip, unpack it first"),
            (b"MZ\0\x01", ": a binary file, no text"),
            (b"just words", ""),
            (b"[INFO] 12:00 started", ""),
            (b"[1]", ""),
            (b"{\"a\": 1}\n{\"a\": NaN}\n", ""),
            (
                b"{\"a\": 1,\n\"b\": [1, 2",
                ": it begins as JSON and breaks on line 2, after 18 bytes: the file ends inside a value",
            ),
        ] {
            let told = read(Input::new("x", bytes)).expect_err("nothing known").to_string();
            assert_eq!(told, format!("x: no known results in it{expected}"));
        }
        let page =
            read(Input::new("x", &b"\n<!DOCTYPE html><p>TTFT 5 ms</p>"[..])).expect_err("a page");
        assert!(page.to_string().contains(": a web page; "), "{page}");
        for ours in [
            &b"{\"answers\": [], \"banners\": [], \"conditions\": [\"TTFT 5 ms\"]}"[..],
            b"{\"kind\":\"inferometer_limit\",\"note\":\"TTFT 5 ms\"}",
            b"{\"schema_version\": \"1.0\", \"kind\": \"audit\", \"findings\": []}",
        ] {
            let told = read(Input::new("x", ours)).expect_err("no results");
            assert!(told.to_string().contains("a report by inferometer, not results"), "{told}");
            assert!(told.hints().is_empty());
        }
        let another = &b"{\"schema_version\": \"2\", \"kind\": \"bench\"}"[..];
        let told = read(Input::new("x", another)).expect_err("no results").to_string();
        assert!(!told.contains("inferometer"), "{told}");
        let comma = Nature::of(b"{\"a\": 1\n\"b\": 2}");
        assert!(matches!(comma, Nature::BrokenJson { line: 2, .. }), "{comma:?}");
    }
}
