//! A JSON document of any size as pieces, in bounded memory.
//!
//! A reader names the paths at which its document is cut, such as `/benchmarks/*` and
//! `/benchmarks/*/requests/*/*`. Each value at such a path becomes a piece of its own as soon as it
//! is complete, inner pieces before the one that contains them, where they leave no value; the
//! remainder of the document comes last. A file that breaks off, or is damaged somewhere, gives all
//! pieces that were complete before. Not here: what the pieces mean.

use super::super::bounds::{REQUESTS_MAX, VALUE_BYTES_MAX};
use super::fault::{Fault, FaultKind};
use super::reader::{Kind, Reader};
use serde::de::DeserializeOwned;
use std::io::{self, BufRead};

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
            let line = self
                .line
                .saturating_add(u32::try_from(error.line()).unwrap_or(1).saturating_sub(1));
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
    source: &mut dyn BufRead,
    paths: &[&str],
    take: &mut dyn FnMut(Piece<'_>),
) -> io::Result<End> {
    let paths: Vec<Vec<&str>> =
        paths.iter().map(|path| path.split('/').skip(1).collect()).collect();
    let mut source = source;
    let mut reader = Reader::of_documents(&mut source);
    let mut knife = Knife { paths: &paths, path: Vec::new(), out: Vec::new(), cut: 0, take };
    let all: Vec<usize> = (0..paths.len()).collect();
    loop {
        match knife.document(&mut reader, &all) {
            Ok(true) => {}
            Ok(false) => return Ok(End::Whole),
            Err(Fault { kind: FaultKind::Unreadable(error), .. }) => return Err(error),
            Err(fault) => return Ok(End::Early(fault.line, fault.kind.to_string())),
        }
    }
}

struct Knife<'a> {
    paths: &'a [Vec<&'a str>],
    /// Where it is.
    path: Vec<String>,
    /// The piece that is being filled: JSON at any time, but for what is open.
    out: Vec<u8>,
    /// Pieces so far.
    cut: usize,
    take: &'a mut dyn FnMut(Piece<'_>),
}

impl Knife<'_> {
    /// Reads a document; false where none follows.
    fn document(&mut self, reader: &mut Reader<'_>, open: &[usize]) -> Result<bool, Fault> {
        if reader.kind()? == Kind::End {
            return Ok(false);
        }
        self.path.clear();
        self.piece(reader, None, open).map(|()| true)
    }

    /// Reads a value and hands it over, whole or as far as it was.
    fn piece(
        &mut self,
        reader: &mut Reader<'_>,
        cut: Option<usize>,
        open: &[usize],
    ) -> Result<(), Fault> {
        reader.kind()?;
        let line = reader.line();
        if cut.is_some() {
            self.cut += 1;
            if self.cut > REQUESTS_MAX {
                return Err(Fault { line, kind: FaultKind::Many(REQUESTS_MAX) });
            }
        }
        let outer = std::mem::take(&mut self.out);
        let ended = self.value(reader, open);
        if ended.is_ok() || self.out.len() > 2 {
            let (path, bytes, broken_off) = (&self.path[..], &self.out[..], ended.is_err());
            (self.take)(Piece { cut, path, line, bytes, broken_off });
        }
        self.out = outer;
        ended
    }

    /// Copies a value whose place begins all of the `open` paths. Where it fails, what was whole of
    /// an object or array that was followed inside stays in `out`, closed.
    fn value(&mut self, reader: &mut Reader<'_>, open: &[usize]) -> Result<(), Fault> {
        match reader.kind()? {
            Kind::Object if !open.is_empty() => {
                self.out.push(b'{');
                let ended = reader.object(|name, reader| self.member(reader, Some(name), 0, open));
                self.out.push(b'}');
                ended
            }
            Kind::Array if !open.is_empty() => {
                self.out.push(b'[');
                let mut indices = 0..;
                let ended = reader.array(|reader| {
                    self.member(reader, None, indices.next().unwrap_or(usize::MAX), open)
                });
                self.out.push(b']');
                ended
            }
            _ => reader.copy(&mut self.out, VALUE_BYTES_MAX),
        }
    }

    /// Reads a member of an object, or the element of an array of this index. One that becomes a
    /// piece of its own leaves nothing in `out`.
    fn member(
        &mut self,
        reader: &mut Reader<'_>,
        name: Option<&str>,
        index: usize,
        open: &[usize],
    ) -> Result<(), Fault> {
        let step = name.map_or_else(|| index.to_string(), str::to_owned);
        let (inner, cut) = self.following(&step, open);
        self.path.push(step);
        let ended = match cut {
            Some(_) => self.piece(reader, cut, &inner),
            None => self.kept(reader, name, &inner),
        };
        self.path.pop();
        ended
    }

    /// Of the open paths those that go on below a step, and the one that ends with it.
    fn following(&self, step: &str, open: &[usize]) -> (Vec<usize>, Option<usize>) {
        let depth = self.path.len();
        let (mut inner, mut cut) = (Vec::new(), None);
        for &at in open {
            let Some(path) = self.paths.get(at) else { continue };
            if path.get(depth).is_some_and(|own| *own == "*" || *own == step) {
                match path.len() == depth + 1 {
                    true => cut = Some(at),
                    false => inner.push(at),
                }
            }
        }
        (inner, cut)
    }

    /// Copies a member or element, with its name and the comma before it.
    fn kept(
        &mut self,
        reader: &mut Reader<'_>,
        name: Option<&str>,
        open: &[usize],
    ) -> Result<(), Fault> {
        let before = self.out.len();
        if !matches!(self.out.last(), Some(b'{' | b'[')) {
            self.out.push(b',');
        }
        if let Some(name) = name {
            self.out.extend_from_slice(serde_json::Value::from(name).to_string().as_bytes());
            self.out.push(b':');
        }
        let empty = self.out.len();
        let ended = self.value(reader, open);
        if self.out.len() == empty {
            self.out.truncate(before);
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    /// Returns this number of bytes per read.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(out.len());
            self.0.read(&mut out[..length])
        }
    }

    /// Pieces as `pointer=json`, with `!` where the file broke off, and how it ended. The text is
    /// read in chunks of `bytes` bytes.
    fn cut(text: &str, paths: &[&str], bytes: usize) -> (Vec<String>, Option<u32>) {
        let mut pieces = Vec::new();
        let mut reader = BufReader::with_capacity(1, Slow(text.as_bytes(), bytes));
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
    fn inner_pieces_come_first_however_the_text_comes_in() {
        for bytes in 1..40 {
            let (pieces, end) = cut(TEXT, PATHS, bytes);
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
        let (pieces, end) = cut("{\"a\":1}\n[2]\n {}", &[], 8);
        assert_eq!(pieces, ["1:={\"a\":1}", "2:=[2]", "3:={}"]);
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
