//! Rows of JSON: a list, a line for each, or one document with a list in it.
//!
//! A list is cut into its elements by counting brackets outside strings, so one
//! malformed element spoils no other, every element has its line, and no more than one
//! is in memory.
//!
//! Not here: other formats.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
    vec,
};

use ifm_core::regular::open_regular;
use serde_json::{Map, Value};

use super::{Given, ROW_BYTES_MAX, RowFile};
use crate::error::WorkloadError;

/// The largest document that is not a list, in bytes.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;
/// The mark at the beginning of some files in UTF-8.
const MARK: &[u8] = &[0xef, 0xbb, 0xbf];
/// Fields of a document in which its rows may stand.
const ROW_FIELDS: [&str; 5] = ["rows", "data", "conversations", "requests", "items"];

/// The rows of one file.
pub(super) struct JsonRows {
    name: String,
    path: PathBuf,
    reader: BufReader<File>,
    layout: Layout,
    line: u64,
}

enum Layout {
    Lines,
    /// Whether the list has ended.
    List(bool),
    Document(vec::IntoIter<Value>),
}

/// What ended an element of a list.
enum End {
    Comma,
    List,
    File,
}

impl JsonRows {
    /// Finds out how the rows stand in a file.
    ///
    /// # Errors
    /// [`WorkloadError::File`] for UTF-16 and for a document without a list of rows.
    pub(super) fn open(
        name: String,
        path: &Path,
        file: File,
        is_whole: bool,
    ) -> Result<Self, WorkloadError> {
        let reader = BufReader::with_capacity(1 << 16, file);
        let mut rows = Self { name, path: path.to_owned(), reader, layout: Layout::Lines, line: 1 };
        rows.skip_mark()?;
        match rows.skip_space()? {
            Some(b'[') => {
                rows.reader.consume(1);
                rows.layout = Layout::List(false);
            }
            Some(b'{') if path.extension().is_some_and(|ending| ending == "json") => {
                rows.find_document(is_whole)?;
            }
            _ => {}
        }
        Ok(rows)
    }

    fn error(&self, reason: impl Into<String>) -> WorkloadError {
        WorkloadError::File { file: self.name.clone(), reason: reason.into() }
    }

    fn read_error(&self, source: std::io::Error) -> WorkloadError {
        WorkloadError::Read { path: self.path.clone(), source }
    }

    /// Passes over the mark of UTF-8 and refuses that of UTF-16.
    fn skip_mark(&mut self) -> Result<(), WorkloadError> {
        let start = self.reader.fill_buf();
        let start = match start {
            Ok(bytes) => bytes.get(..bytes.len().min(3)).unwrap_or_default().to_vec(),
            Err(error) => return Err(self.read_error(error)),
        };
        if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
            return Err(self.error("is written in UTF-16; save it as UTF-8"));
        }
        if start == MARK {
            self.reader.consume(MARK.len());
        }
        Ok(())
    }

    /// Passes over white space; the byte that follows, which stays.
    fn skip_space(&mut self) -> Result<Option<u8>, WorkloadError> {
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) => return Err(self.read_error(error)),
            };
            if bytes.is_empty() {
                return Ok(None);
            }
            let space = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let passed = bytes.get(..space).unwrap_or_default();
            self.line += passed.iter().filter(|&&byte| byte == b'\n').count() as u64;
            let next = bytes.get(space).copied();
            self.reader.consume(space);
            if next.is_some() {
                return Ok(next);
            }
        }
    }

    /// A file that begins with an object: a line for each row when the first line is
    /// one whole object, else one document: a row itself, or a list of rows.
    fn find_document(&mut self, is_whole: bool) -> Result<(), WorkloadError> {
        let probe = open_regular(&self.path).map_err(|error| self.read_error(error))?;
        let mut probe = BufReader::new(probe.take(DOCUMENT_BYTES_MAX + 1));
        let mut first = Vec::new();
        probe.read_until(b'\n', &mut first).map_err(|error| self.read_error(error))?;
        let more = !probe.fill_buf().map_err(|error| self.read_error(error))?.is_empty();
        if first.starts_with(MARK) {
            first.drain(..MARK.len());
        }
        let whole = serde_json::from_slice::<Map<String, Value>>(&first);
        if let Ok(object) = &whole
            && (more || is_whole || find_list(object).is_none())
        {
            return Ok(());
        }
        let mut bytes = first;
        let read = probe.read_to_end(&mut bytes);
        read.map_err(|error| self.read_error(error))?;
        if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
            return Err(self.error(format!(
                "is one document of more than {} MiB; write a list or a line for each row",
                DOCUMENT_BYTES_MAX >> 20
            )));
        }
        let document = serde_json::from_slice::<Map<String, Value>>(&bytes)
            .map_err(|error| self.error(format!("is not JSON: {error}")))?;
        if is_whole {
            self.layout = Layout::Document(vec![Value::Object(document)].into_iter());
            return Ok(());
        }
        let Some(field) = find_list(&document) else {
            return Err(self.error(format!(
                "is a document without a list of rows (looked for {})",
                ROW_FIELDS.join(", ")
            )));
        };
        let rows = match document.into_iter().find(|(name, _)| name == field) {
            Some((_, Value::Array(rows))) => rows,
            _ => Vec::new(),
        };
        self.layout = Layout::Document(rows.into_iter());
        Ok(())
    }

    fn next_line(&mut self) -> Result<Given, WorkloadError> {
        loop {
            let mut bytes = Vec::new();
            let limit = ROW_BYTES_MAX as u64 + 1;
            let read = (&mut self.reader).take(limit).read_until(b'\n', &mut bytes);
            read.map_err(|error| self.read_error(error))?;
            let line = self.line;
            if bytes.is_empty() {
                return Ok(None);
            }
            if bytes.len() > ROW_BYTES_MAX {
                return Err(self.error(format!("line {line} is longer than 64 MiB")));
            }
            self.line += 1;
            if !bytes.trim_ascii().is_empty() {
                return Ok(Some((line, parse(&bytes))));
            }
        }
    }

    fn next_element(&mut self) -> Result<Given, WorkloadError> {
        loop {
            let line = match self.skip_space()? {
                Some(b']') => {
                    self.layout = Layout::List(true);
                    return Ok(None);
                }
                Some(b',') => {
                    self.reader.consume(1);
                    continue;
                }
                Some(_) => self.line,
                None => {
                    self.layout = Layout::List(true);
                    return Err(self.error(format!(
                        "the list is not closed: the file ends in line {}; is it whole?",
                        self.line
                    )));
                }
            };
            let mut bytes = Vec::new();
            match self.take_element(&mut bytes)? {
                End::Comma => {}
                End::List => self.layout = Layout::List(true),
                End::File => {
                    self.layout = Layout::List(true);
                    return Ok(Some((line, Err("the row is not closed".to_owned()))));
                }
            }
            return Ok(Some((line, parse(&bytes))));
        }
    }

    /// Takes bytes up to a comma or the bracket that ends the list, outside strings and
    /// inner brackets.
    fn take_element(&mut self, element: &mut Vec<u8>) -> Result<End, WorkloadError> {
        let (mut depth, mut in_string, mut escaped) = (0_u32, false, false);
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) => return Err(self.read_error(error)),
            };
            if bytes.is_empty() {
                return Ok(End::File);
            }
            let mut end = None;
            let mut taken = 0;
            for &byte in bytes {
                taken += 1;
                self.line += u64::from(byte == b'\n');
                if in_string {
                    match byte {
                        _ if escaped => escaped = false,
                        b'\\' => escaped = true,
                        b'"' => in_string = false,
                        _ => {}
                    }
                    continue;
                }
                match byte {
                    b'"' => in_string = true,
                    b'{' | b'[' => depth += 1,
                    b']' if depth == 0 => end = Some(End::List),
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    b',' if depth == 0 => end = Some(End::Comma),
                    _ => {}
                }
                if end.is_some() {
                    break;
                }
            }
            let kept = taken - usize::from(end.is_some());
            element.extend_from_slice(bytes.get(..kept).unwrap_or_default());
            self.reader.consume(taken);
            if let Some(end) = end {
                return Ok(end);
            }
            if element.len() > ROW_BYTES_MAX {
                let line = self.line;
                return Err(self.error(format!("the row before line {line} is over 64 MiB")));
            }
        }
    }
}

impl RowFile for JsonRows {
    fn next(&mut self) -> Result<Given, WorkloadError> {
        match &mut self.layout {
            Layout::Lines => self.next_line(),
            Layout::List(true) => Ok(None),
            Layout::List(false) => self.next_element(),
            Layout::Document(rows) => {
                let row = rows.next();
                self.line += u64::from(row.is_some());
                Ok(row.map(|row| (self.line - 1, object(row))))
            }
        }
    }

    fn header(&self) -> Option<&[String]> {
        None
    }
}

/// The field of a document in which its rows stand.
fn find_list(document: &Map<String, Value>) -> Option<&'static str> {
    ROW_FIELDS.into_iter().find(|name| document.get(*name).is_some_and(Value::is_array))
}

fn parse(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(format!("not UTF-8 at byte {} of the row", error.valid_up_to()));
    }
    serde_json::from_slice(bytes).map_err(|error| format!("not JSON: {error}")).and_then(object)
}

/// A row as an object. A list stands for a conversation.
fn object(row: Value) -> Result<Map<String, Value>, String> {
    match row {
        Value::Object(fields) => Ok(fields),
        Value::Array(turns) => Ok(Map::from_iter([("messages".to_owned(), Value::Array(turns))])),
        other => Err(format!("not an object but {}", kind(&other))),
    }
}

/// What a value is, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
