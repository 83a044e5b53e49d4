//! A file on its way in: a name, and bytes that are read once from the front.

use super::bounds::TEXT_BYTES_MAX;
use super::decoding::{Decoded, Seen};
use super::error::ImportError;
use super::head::Head;
use std::cell::Cell;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

/// Bytes that are looked at to recognise a file.
const HEAD_BYTES: u64 = 64 * 1024;

/// A file that is to be read.
pub struct Input<'a> {
    name: String,
    reader: Box<dyn BufRead + 'a>,
    seen: Rc<Cell<Seen>>,
}

impl std::fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'a> Input<'a> {
    /// A file, by the name that messages use, and its bytes. What a byte order mark says of them is
    /// believed: all that follows sees UTF-8.
    pub fn new(name: impl Into<String>, reader: impl Read + 'a) -> Input<'a> {
        let (reader, seen) = Decoded::new(reader);
        let reader = Box::new(BufReader::with_capacity(1 << 17, reader));
        Input { name: name.into(), reader, seen }
    }

    /// The name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Looks at the beginning; the input still has it.
    pub(crate) fn with_head(mut self) -> Result<(Head, Input<'a>), ImportError> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(HEAD_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| self.unreadable(error))?;
        let head = Head::new(&self.name, bytes.clone());
        let reader = Box::new(Cursor::new(bytes).chain(self.reader));
        Ok((head, Input { name: self.name, reader, seen: self.seen }))
    }

    /// What is seen of the file while it is read.
    pub(crate) fn seen(&self) -> Rc<Cell<Seen>> {
        Rc::clone(&self.seen)
    }

    /// The bytes, for a reader that goes through them once.
    pub fn reader(&mut self) -> &mut (dyn BufRead + 'a) {
        &mut self.reader
    }

    /// The whole file as bytes, for text. Files with fields are read piece by piece instead, whatever their size.
    pub(crate) fn all(mut self) -> Result<Vec<u8>, ImportError> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.unreadable(error))?;
        if bytes.len() as u64 > TEXT_BYTES_MAX {
            return Err(ImportError::TooLarge {
                name: self.name,
                max_mb: TEXT_BYTES_MAX / 1_000_000,
            });
        }
        Ok(bytes)
    }

    fn unreadable(&self, error: std::io::Error) -> ImportError {
        ImportError::Unreadable { name: self.name.clone(), error }
    }
}
