//! A JSON document of any size as pieces, in bounded memory.
//!
//! A reader names the paths at which its document is cut, such as `/benchmarks/*` and
//! `/benchmarks/*/requests/*/*`. Each value at such a path is handed over as a piece of its own as
//! soon as it is complete, inner ones before the one they stand in, which holds nothing in their
//! place; what remains of the document comes last. A file that breaks off, or is damaged somewhere,
//! gives all that was whole before. Not here: what the pieces mean.

use serde::de::DeserializeOwned;
use std::io::{self, BufRead};

/// Bytes of one piece at most; a document that has a larger one is not read further.
const PIECE_BYTES_MAX: usize = 256_000_000;
/// Bytes of a name that is compared with a path.
const NAME_BYTES_MAX: usize = 4096;

/// A value that was cut out.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    /// Which of the paths it was cut at; absent for what remains of the document.
    pub cut: Option<usize>,
    /// Names and positions from the document's root.
    pub path: &'a [String],
    /// Line on which it begins, from 1.
    pub line: u32,
    /// Its JSON, without the pieces that were cut out of it.
    pub bytes: &'a [u8],
    /// Whether the file broke off inside of it: what came before is here.
    pub broken_off: bool,
}

impl Piece<'_> {
    /// The value, with `null` for the bare words that Python writes.
    ///
    /// # Errors
    /// What is wrong, with the line in the file.
    pub fn value<T: DeserializeOwned>(&self) -> Result<T, (u32, String)> {
        super::lenient(self.bytes).map_err(|error| {
            let line = self.line.saturating_add(u32::try_from(error.line()).unwrap_or(1) - 1);
            (line, super::reason(&error))
        })
    }

    /// Its JSON pointer.
    pub fn pointer(&self) -> String {
        super::pointer(self.path)
    }
}

/// How the reading ended.
#[derive(Debug)]
pub(crate) enum End {
    /// With the end of the file.
    Whole,
    /// Earlier, on this line; why.
    Early(u32, String),
}

/// Cuts the documents of a file at the paths and hands the pieces over.
///
/// # Errors
/// When the file cannot be read from.
pub(crate) fn read(
    reader: &mut dyn BufRead,
    paths: &[&str],
    take: &mut dyn FnMut(Piece<'_>),
) -> io::Result<End> {
    let paths: Vec<Vec<&str>> =
        paths.iter().map(|path| path.split('/').skip(1).collect()).collect();
    let mut knife = Knife {
        reader,
        line: 1,
        paths: &paths,
        path: Vec::new(),
        out: Vec::new(),
        closed: false,
        take,
    };
    loop {
        match knife.document() {
            Ok(true) => {}
            Ok(false) => return Ok(End::Whole),
            Err(Stop::Io(error)) => return Err(error),
            Err(Stop::End) => {
                return Ok(End::Early(knife.line, "the file ends here in the middle".to_owned()));
            }
            Err(Stop::Damage(reason)) => return Ok(End::Early(knife.line, reason.to_owned())),
        }
    }
}

/// Why a document is not read further.
enum Stop {
    /// The file ends.
    End,
    /// It is no JSON, or too large.
    Damage(&'static str),
    /// It cannot be read from.
    Io(io::Error),
}

struct Knife<'a> {
    reader: &'a mut dyn BufRead,
    line: u32,
    paths: &'a [Vec<&'a str>],
    /// Where it is.
    path: Vec<String>,
    /// The piece that is being filled.
    out: Vec<u8>,
    /// Whether an object or array that broke off was closed at the end of `out`.
    closed: bool,
    take: &'a mut dyn FnMut(Piece<'_>),
}

impl Knife<'_> {
    /// Reads a document; false where none follows.
    fn document(&mut self) -> Result<bool, Stop> {
        if self.next()?.is_none() {
            return Ok(false);
        }
        self.path.clear();
        self.out.clear();
        let open: Vec<usize> = (0..self.paths.len()).collect();
        let line = self.line;
        let ended = self.value(&open);
        if ended.is_ok() || self.out.len() > 2 {
            self.hand_over(None, line, ended.is_err());
        }
        ended.map(|()| true)
    }

    /// Reads a value whose place begins all of the `open` paths. Where it fails inside of an
    /// object or array, what was whole of that stays in `out`.
    fn value(&mut self, open: &[usize]) -> Result<(), Stop> {
        let first = self.next()?.ok_or(Stop::End)?;
        match first {
            b'{' | b'[' if open.is_empty() => self.copy_nested(),
            b'{' => self.members(open, b'}'),
            b'[' => self.members(open, b']'),
            b'"' => self.copy_string(),
            b'}' | b']' | b',' | b':' => Err(Stop::Damage("a value is missing")),
            _ => self.copy_scalar(),
        }
    }

    fn members(&mut self, open: &[usize], close: u8) -> Result<(), Stop> {
        self.copy_one()?;
        let mut whole = self.out.len();
        let ended = self.members_within(open, close, &mut whole);
        if ended.is_err() {
            self.out.truncate(whole);
            self.out.push(close);
            self.closed = true;
        }
        ended
    }

    fn members_within(&mut self, open: &[usize], close: u8, whole: &mut usize) -> Result<(), Stop> {
        for index in 0.. {
            let mut next = self.next()?.ok_or(Stop::End)?;
            if next == close {
                return self.copy_one();
            }
            let before = self.out.len();
            if index > 0 && next == b',' {
                self.reader.consume(1);
                next = self.next()?.ok_or(Stop::End)?;
            } else if index > 0 {
                return Err(Stop::Damage("a comma is missing"));
            }
            // A piece that was cut out leaves no comma behind.
            if before > 0 && !matches!(self.out.last(), Some(b'{' | b'[')) {
                self.out.push(b',');
            }
            let name = match close {
                b'}' if next == b'"' => self.name()?,
                b'}' => return Err(Stop::Damage("a name is missing")),
                _ => index.to_string(),
            };
            match self.member(name, open) {
                Ok(true) => {}
                Ok(false) => self.out.truncate(before),
                Err(stop) => {
                    if std::mem::take(&mut self.closed) {
                        *whole = self.out.len();
                    }
                    return Err(stop);
                }
            }
            *whole = self.out.len();
        }
        Ok(())
    }

    /// Reads a member; false where it became a piece of its own.
    fn member(&mut self, name: String, open: &[usize]) -> Result<bool, Stop> {
        let depth = self.path.len();
        let (mut inner, mut cut) = (Vec::new(), None);
        for &at in open {
            let Some(path) = self.paths.get(at) else { continue };
            if path.get(depth).is_some_and(|step| *step == "*" || *step == name) {
                match path.len() == depth + 1 {
                    true => cut = Some(at),
                    false => inner.push(at),
                }
            }
        }
        self.path.push(name);
        let ended = match cut {
            None => self.value(&inner),
            Some(_) => self.piece(cut, &inner),
        };
        self.path.pop();
        ended.map(|()| cut.is_none())
    }

    fn piece(&mut self, cut: Option<usize>, inner: &[usize]) -> Result<(), Stop> {
        self.next()?;
        let line = self.line;
        let outer = std::mem::take(&mut self.out);
        let ended = self.value(inner);
        // A value that is not followed inside is whole or it is nothing.
        if ended.is_ok() || (!inner.is_empty() && self.out.len() > 2) {
            self.hand_over(cut, line, ended.is_err());
        }
        self.out = outer;
        self.closed = false;
        ended
    }

    fn hand_over(&mut self, cut: Option<usize>, line: u32, broken_off: bool) {
        let (path, bytes) = (&self.path[..], &self.out[..]);
        (self.take)(Piece { cut, path, line, bytes, broken_off });
    }

    /// A name and the colon behind it, copied.
    fn name(&mut self) -> Result<String, Stop> {
        let start = self.out.len();
        self.copy_string()?;
        let quoted = self.out.get(start..).unwrap_or_default();
        let name = match quoted.len() <= NAME_BYTES_MAX {
            true => serde_json::from_slice(quoted).map_err(|_| Stop::Damage("a broken name"))?,
            false => return Err(Stop::Damage("a name that is too long")),
        };
        match self.next()? {
            Some(b':') => self.copy_one()?,
            Some(_) => return Err(Stop::Damage("a colon is missing")),
            None => return Err(Stop::End),
        }
        Ok(name)
    }

    /// The next byte that is no white space, not taken.
    fn next(&mut self) -> Result<Option<u8>, Stop> {
        loop {
            let bytes = self.reader.fill_buf().map_err(Stop::Io)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let (lines, found) = (lines(&bytes[..blank]), bytes.get(blank).copied());
            self.line = self.line.saturating_add(lines);
            self.reader.consume(blank);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    fn copy_one(&mut self) -> Result<(), Stop> {
        self.copy(|bytes| (bytes.len().min(1), true))
    }

    /// An object or array with all that is in it.
    fn copy_nested(&mut self) -> Result<(), Stop> {
        let (mut depth, mut text) = (0_usize, Text::default());
        self.copy(|bytes| {
            let mut at = 0;
            while let Some(&byte) = bytes.get(at) {
                if text.inside {
                    at += text.rest(&bytes[at..]);
                    continue;
                }
                at += 1;
                match byte {
                    b'"' => text.inside = true,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth = depth.saturating_sub(1);
                        if depth == 0 {
                            return (at, true);
                        }
                    }
                    _ => {}
                }
            }
            (at, false)
        })
    }

    fn copy_string(&mut self) -> Result<(), Stop> {
        self.copy_one()?;
        let mut text = Text { inside: true, escaped: false };
        self.copy(|bytes| (text.rest(bytes), !text.inside))
    }

    fn copy_scalar(&mut self) -> Result<(), Stop> {
        let ended = self.copy(|bytes| {
            let length = bytes.iter().take_while(|byte| !is_end_of_scalar(**byte)).count();
            (length, length < bytes.len())
        });
        match ended {
            // A number may end with the file.
            Err(Stop::End) if self.path.is_empty() => Ok(()),
            ended => ended,
        }
    }

    /// Copies bytes until `upto` says that it is done; it tells how many of those it saw belong.
    fn copy(&mut self, mut upto: impl FnMut(&[u8]) -> (usize, bool)) -> Result<(), Stop> {
        loop {
            let bytes = self.reader.fill_buf().map_err(Stop::Io)?;
            if bytes.is_empty() {
                return Err(Stop::End);
            }
            let (length, done) = upto(bytes);
            let taken = &bytes[..length.min(bytes.len())];
            self.out.extend_from_slice(taken);
            self.line = self.line.saturating_add(lines(taken));
            self.reader.consume(length);
            if self.out.len() > PIECE_BYTES_MAX {
                return Err(Stop::Damage("one value of more than 256 MB"));
            }
            if done {
                return Ok(());
            }
        }
    }
}

fn is_end_of_scalar(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b':' | b'"' | b'{' | b'[') || byte.is_ascii_whitespace()
}

fn lines(bytes: &[u8]) -> u32 {
    u32::try_from(memchr::memchr_iter(b'\n', bytes).count()).unwrap_or(u32::MAX)
}

/// Whether a string goes on.
#[derive(Default)]
struct Text {
    inside: bool,
    escaped: bool,
}

impl Text {
    /// Bytes of the string that stand here, with the closing mark.
    fn rest(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            if std::mem::take(&mut self.escaped) {
                at += 1;
                continue;
            }
            match memchr::memchr2(b'"', b'\\', &bytes[at..]) {
                None => return bytes.len(),
                Some(next) => {
                    at += next + 1;
                    match bytes[at - 1] {
                        b'\\' => self.escaped = true,
                        _ => {
                            self.inside = false;
                            return at;
                        }
                    }
                }
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    /// Pieces as `pointer=json`, with `!` where the file broke off, and how it ended.
    fn cut(text: &str, paths: &[&str], buffer: usize) -> (Vec<String>, Option<u32>) {
        let mut pieces = Vec::new();
        let mut reader = BufReader::with_capacity(buffer, text.as_bytes());
        let end = read(&mut reader, paths, &mut |piece| {
            let mark = if piece.broken_off { "!" } else { "" };
            let json = String::from_utf8_lossy(piece.bytes);
            pieces.push(format!("{}:{}{mark}={json}", piece.line, piece.pointer()));
        });
        let end = match end.unwrap() {
            End::Whole => None,
            End::Early(line, _) => Some(line),
        };
        (pieces, end)
    }

    const PATHS: &[&str] = &["/runs/*", "/runs/*/requests/*/*"];
    const TEXT: &str = "{\"v\": 1, \"runs\": [\n {\"a\": \"x\\\"]\", \"requests\": {\"ok\": \
                        [{\"t\": [1]},\n {\"t\": 2}], \"bad\": []}, \"b\": 3},\n {\"a\": 4}\n], \
                        \"w\": null}";

    #[test]
    fn inner_pieces_come_first_whatever_the_buffer() {
        for buffer in 1..40 {
            let (pieces, end) = cut(TEXT, PATHS, buffer);
            assert_eq!(
                pieces,
                [
                    "2:/runs/0/requests/ok/0={\"t\": [1]}",
                    "3:/runs/0/requests/ok/1={\"t\": 2}",
                    "2:/runs/0={\"a\":\"x\\\"]\",\"requests\":{\"ok\":[],\"bad\":[]},\"b\":3}",
                    "4:/runs/1={\"a\":4}",
                    "1:={\"v\":1,\"runs\":[],\"w\":null}",
                ]
            );
            assert_eq!(end, None);
        }
    }

    #[test]
    fn what_was_whole_before_the_end_is_kept() {
        let at = TEXT.find("2}").unwrap();
        let (pieces, end) = cut(&TEXT[..at], PATHS, 64);
        assert_eq!(
            pieces,
            [
                "2:/runs/0/requests/ok/0={\"t\": [1]}",
                "2:/runs/0!={\"a\":\"x\\\"]\",\"requests\":{\"ok\":[]}}",
                "1:!={\"v\":1,\"runs\":[]}",
            ]
        );
        assert_eq!(end, Some(3));
    }

    #[test]
    fn documents_in_a_row() {
        let (pieces, end) = cut("{\"a\":1}\n[2]\n 3", &[], 8);
        assert_eq!(pieces, ["1:={\"a\":1}", "2:=[2]", "3:=3"]);
        assert_eq!(end, None);
        let (pieces, end) = cut("[{\"a\":1},{\"a\":2}]", &["/*"], 8);
        assert_eq!(pieces, ["1:/0={\"a\":1}", "1:/1={\"a\":2}", "1:=[]"]);
        assert_eq!(end, None);
    }

    #[test]
    fn any_cut_ends_without_harm_and_gives_json() {
        for length in 0..TEXT.len() {
            if TEXT.is_char_boundary(length) {
                let (pieces, _) = cut(&TEXT[..length], PATHS, 7);
                for piece in pieces {
                    let json = piece.split_once('=').unwrap().1;
                    serde_json::from_str::<serde_json::Value>(json).expect(json);
                }
            }
        }
    }
}
