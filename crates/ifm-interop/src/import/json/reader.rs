//! Streaming JSON: values are read one after the other from the start of a file.
//!
//! Result files of a gigabyte are lists of small numbers. Nothing is kept here but a window of the
//! file; what a caller does not ask for is skipped. Bare `NaN` and `Infinity`, which Python writes,
//! are numbers that are not known. A damaged object ends where the next one of the file begins.

use super::enclosed::Enclosed;
use super::fault::{Fault, FaultKind};
use serde_json::{Map, Number, Value};
use std::io::Read;

/// Bytes that are read at once.
const WINDOW_BYTES: usize = 1 << 18;
/// Characters of a number or word at most.
const WORD_BYTES_MAX: usize = 512;
/// Bytes of a text that is kept at most; the rest of it is passed over.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Maximum number of characters to quote from a text that is in the place of a number.
const TOLD_CHARACTERS_MAX: usize = 40;
/// Blanks between a `{` and the name behind it at most.
const BLANKS_MAX: usize = 64;
/// How deep values may lie in each other.
const DEPTH_MAX: u32 = 100;

/// What kind of value comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    Text,
    /// A number, or a word for an unknown one.
    Number,
    /// `true`, `false`
    Bool,
    /// `null`
    Null,
    /// The file ends.
    End,
}

/// Takes values from the front of a file.
pub(crate) struct Reader<'a> {
    source: &'a mut dyn Read,
    window: Vec<u8>,
    at: usize,
    filled: usize,
    /// Bytes before the window.
    passed: u64,
    line: u32,
    depth: u32,
    /// Name of the first field of the file's objects: where it is the first field of an object that
    /// begins a line, the object before it has broken off.
    marker: Option<String>,
    line_start: bool,
    /// Whether an object that begins like the file's first one shows that the previous one broke
    /// off.
    is_of_records: bool,
}

impl<'a> Reader<'a> {
    /// The values of a file.
    pub fn new(source: &'a mut dyn Read) -> Reader<'a> {
        Reader {
            source,
            window: vec![0; WINDOW_BYTES],
            at: 0,
            filled: 0,
            passed: 0,
            line: 1,
            depth: 0,
            marker: None,
            line_start: true,
            is_of_records: true,
        }
    }

    /// The values of a file whose objects may hold others of their own kind.
    pub fn of_documents(source: &'a mut dyn Read) -> Reader<'a> {
        Reader { is_of_records: false, ..Reader::new(source) }
    }

    /// The line that is being read, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Bytes that have been read.
    pub fn bytes(&self) -> u64 {
        self.passed + self.at as u64
    }

    /// What comes next; nothing is taken.
    pub fn kind(&mut self) -> Result<Kind, Fault> {
        Ok(match self.blank()? {
            None => Kind::End,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::Text,
            Some(b'-' | b'0'..=b'9' | b'N' | b'I' | b'+') => Kind::Number,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            Some(_) => return Err(self.fault(FaultKind::NoValue)),
        })
    }

    /// Reads an object: calls `field` with each name, at the start of its value. `field` must read
    /// that value.
    pub fn object(
        &mut self,
        mut field: impl FnMut(&str, &mut Reader<'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.open(b'{')?;
        let mut name = String::new();
        if self.blank()? != Some(b'}') {
            loop {
                self.text_into(&mut name)?;
                if self.marker.is_none() && name.len() <= WORD_BYTES_MAX {
                    self.marker = Some(name.clone());
                }
                self.expect(b':')?;
                self.blank()?;
                field(&name, self)?;
                if !self.more(b'}')? {
                    break;
                }
            }
        }
        self.close();
        Ok(())
    }

    /// Reads an array: calls `element` at the start of each value. `element` must read the value.
    pub fn array(
        &mut self,
        mut element: impl FnMut(&mut Reader<'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.open(b'[')?;
        if self.blank()? != Some(b']') {
            loop {
                element(self)?;
                if !self.more(b']')? {
                    break;
                }
            }
        }
        self.close();
        Ok(())
    }

    /// Reads a number. Absent for `null`, for numbers that are not finite, and for other values:
    /// `other` receives the other value, unless it means "unknown", as `null` does.
    pub fn number_or(&mut self, other: impl FnOnce(&str)) -> Result<Option<f64>, Fault> {
        match self.kind()? {
            Kind::Number => {
                let word = self.word()?;
                let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
                let number: f64 = number.ok_or_else(|| self.fault(FaultKind::NoValue))?;
                self.ended()?;
                Ok(Some(number).filter(|number| number.is_finite()))
            }
            Kind::Text => {
                let text = self.text()?;
                let number = text.trim().parse::<f64>().ok();
                if number.is_none() && !text.trim().is_empty() {
                    let shown: String = text.chars().take(TOLD_CHARACTERS_MAX).collect();
                    other(&format!("\"{shown}\""));
                }
                Ok(number.filter(|number| number.is_finite()))
            }
            kind => {
                match kind {
                    Kind::Bool => other("true or false"),
                    Kind::Array => other("a list"),
                    Kind::Object => other("an object"),
                    _ => {}
                }
                self.skip().map(|()| None)
            }
        }
    }

    /// Takes a scalar as it is written, text without its quotes. Absent for `null` and for lists
    /// and objects; what is infinite is `inf`.
    pub fn setting(&mut self) -> Result<Option<String>, Fault> {
        Ok(match self.kind()? {
            Kind::Text => Some(self.text()?),
            Kind::Number | Kind::Bool => {
                let word = String::from_utf8_lossy(self.word()?).into_owned();
                self.ended()?;
                Some(word.replace("Infinity", "inf")).filter(|word| word != "NaN")
            }
            Kind::Null | Kind::Array | Kind::Object | Kind::End => {
                self.skip()?;
                None
            }
        })
    }

    /// Takes a text.
    pub fn text(&mut self) -> Result<String, Fault> {
        let mut text = String::new();
        self.text_into(&mut text)?;
        Ok(text)
    }

    /// Takes a value whole, unless it is longer than this in the file: then it is passed over.
    pub fn value(&mut self, bytes_max: usize) -> Result<Option<Value>, Fault> {
        let end = self.bytes() + bytes_max as u64;
        let value = self.value_until(end)?;
        Ok(Some(value).filter(|_| self.bytes() <= end))
    }

    /// Reads a value and appends it to `out` as it is written, without validating its contents. On
    /// failure, nothing is appended.
    pub fn copy(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> Result<(), Fault> {
        let before = out.len();
        let copied = match self.kind()? {
            Kind::Object | Kind::Array | Kind::Text => self.copy_enclosed(out, bytes_max),
            Kind::Number | Kind::Bool | Kind::Null => {
                self.word().map(|word| out.extend_from_slice(word))
            }
            Kind::End => Err(self.fault(FaultKind::Ends)),
        };
        if copied.is_err() {
            out.truncate(before);
        }
        copied
    }

    fn copy_enclosed(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> Result<(), Fault> {
        let mut enclosed = Enclosed::default();
        loop {
            let (length, is_done) = enclosed.pass(&self.window[self.at..self.filled]);
            let passed = &self.window[self.at..self.at + length];
            out.extend_from_slice(passed);
            let lines = memchr::memchr_iter(b'\n', passed).count();
            self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
            self.at += length;
            if out.len() > bytes_max {
                return Err(self.fault(FaultKind::Large(bytes_max / 1_000_000)));
            }
            if is_done {
                return Ok(());
            }
            if !self.fill()? {
                return Err(self.fault(FaultKind::Ends));
            }
        }
    }

    /// Passes over a value.
    pub fn skip(&mut self) -> Result<(), Fault> {
        match self.kind()? {
            Kind::Object => self.object(|_, reader| reader.skip()),
            Kind::Array => self.array(|reader| reader.skip()),
            Kind::Text => self.pass_text(),
            Kind::Number | Kind::Bool | Kind::Null => self.word().map(drop),
            Kind::End => Err(self.fault(FaultKind::Ends)),
        }
    }

    /// Iterates over the objects of a file: a single one, several in sequence, or the elements of
    /// an array. Calls `take` at the start of each, or of anything else, and `take` must read it;
    /// where it fails, the reader continues with the next object.
    ///
    /// # Errors
    /// When the file cannot be read from.
    pub fn objects(
        &mut self,
        mut take: impl FnMut(&mut Reader<'a>) -> Result<(), Fault>,
    ) -> Result<(), std::io::Error> {
        loop {
            let result = match self.blank() {
                Ok(None) => return Ok(()),
                Ok(Some(b',' | b'[' | b']')) => {
                    self.at += 1;
                    continue;
                }
                Ok(Some(_)) => take(self),
                Err(fault) => Err(fault),
            };
            let Err(fault) = result else { continue };
            if let FaultKind::Unreadable(error) = fault.kind {
                return Err(error);
            }
            match self.recover() {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(Fault { kind: FaultKind::Unreadable(error), .. }) => return Err(error),
                Err(_) => return Ok(()),
            }
        }
    }

    /// Goes to where the next object of the file's own kind begins, after a fault. False at the
    /// end of the file.
    fn recover(&mut self) -> Result<bool, Fault> {
        self.depth = 0;
        loop {
            let rest = &self.window[self.at..self.filled];
            let Some(found) = memchr::memchr2(b'{', b'\n', rest) else {
                self.at = self.filled;
                if !self.fill()? {
                    return Ok(false);
                }
                continue;
            };
            self.at += found;
            if self.window[self.at] == b'\n' {
                self.at += 1;
                self.line = self.line.saturating_add(1);
                self.line_start = true;
                continue;
            }
            if self.begins_anew()? {
                return Ok(true);
            }
            self.at += 1;
            self.line_start = false;
        }
    }

    fn value_until(&mut self, end: u64) -> Result<Value, Fault> {
        Ok(match self.kind()? {
            Kind::Object => {
                let mut fields = Map::new();
                self.object(|name, reader| {
                    let value = reader.value_until(end)?;
                    if reader.bytes() <= end {
                        fields.insert(name.to_owned(), value);
                    }
                    Ok(())
                })?;
                Value::Object(fields)
            }
            Kind::Array => {
                let mut values = Vec::new();
                self.array(|reader| {
                    let value = reader.value_until(end)?;
                    if reader.bytes() <= end {
                        values.push(value);
                    }
                    Ok(())
                })?;
                Value::Array(values)
            }
            Kind::Text => Value::String(self.text()?),
            Kind::Number | Kind::Bool | Kind::Null => self.scalar()?,
            Kind::End => return Err(self.fault(FaultKind::Ends)),
        })
    }

    fn scalar(&mut self) -> Result<Value, Fault> {
        let word = self.word()?;
        let value = match word {
            b"true" => Some(Value::Bool(true)),
            b"false" => Some(Value::Bool(false)),
            b"null" => Some(Value::Null),
            word => std::str::from_utf8(word).ok().and_then(|word| {
                let whole = word.parse::<u64>().ok().map(Number::from);
                let whole = whole.or_else(|| word.parse::<i64>().ok().map(Number::from));
                match whole {
                    Some(whole) => Some(Value::Number(whole)),
                    None => word
                        .parse::<f64>()
                        .ok()
                        .map(|number| Number::from_f64(number).map_or(Value::Null, Value::Number)),
                }
            }),
        };
        let value = value.ok_or_else(|| self.fault(FaultKind::NoValue))?;
        self.ended()?;
        Ok(value)
    }

    /// Behind a number or word: it is whole only where something goes on or closes.
    fn ended(&mut self) -> Result<(), Fault> {
        match self.blank()? {
            Some(b',' | b'}' | b']') => Ok(()),
            Some(_) => Err(self.fault(FaultKind::Expected(','))),
            None => Err(self.fault(FaultKind::Ends)),
        }
    }

    /// A number or word, up to what cannot belong to it.
    fn word(&mut self) -> Result<&[u8], Fault> {
        let mut length = 0;
        loop {
            let rest = &self.window[self.at + length..self.filled];
            let ends = |byte: &u8| !byte.is_ascii_alphanumeric() && !b"+-.".contains(byte);
            if let Some(more) = rest.iter().position(ends) {
                length += more;
                break;
            }
            length += rest.len();
            if length > WORD_BYTES_MAX {
                return Err(self.fault(FaultKind::NoValue));
            }
            if !self.fill()? {
                return Err(self.fault(FaultKind::Ends));
            }
        }
        let start = self.at;
        self.at += length;
        Ok(&self.window[start..self.at])
    }

    fn text_into(&mut self, out: &mut String) -> Result<(), Fault> {
        if self.blank()? != Some(b'"') {
            return Err(self.fault(FaultKind::NoText));
        }
        self.at += 1;
        let mut bytes = std::mem::take(out).into_bytes();
        bytes.clear();
        loop {
            let rest = &self.window[self.at..self.filled];
            let stop = memchr::memchr3(b'"', b'\\', b'\n', rest);
            let plain = &rest[..stop.unwrap_or(rest.len())];
            let room = TEXT_BYTES_MAX.saturating_sub(bytes.len());
            bytes.extend_from_slice(&plain[..plain.len().min(room)]);
            self.at += plain.len();
            match stop.map(|_| self.window[self.at]) {
                None if !self.fill()? => return Err(self.fault(FaultKind::Ends)),
                None => {}
                Some(b'"') => break,
                Some(b'\n') => return Err(self.fault(FaultKind::OpenText)),
                Some(_) => self.escape(&mut bytes)?,
            }
        }
        self.at += 1;
        *out = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        Ok(())
    }

    fn pass_text(&mut self) -> Result<(), Fault> {
        self.at += 1;
        loop {
            let rest = &self.window[self.at..self.filled];
            match memchr::memchr3(b'"', b'\\', b'\n', rest) {
                None => {
                    self.at = self.filled;
                    if !self.fill()? {
                        return Err(self.fault(FaultKind::Ends));
                    }
                }
                Some(found) => {
                    self.at += found;
                    match self.window[self.at] {
                        b'"' => break,
                        b'\n' => return Err(self.fault(FaultKind::OpenText)),
                        _ => {
                            self.at += 1;
                            self.byte()?;
                        }
                    }
                }
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads an escape sequence, from its backslash.
    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        self.at += 1;
        let plain = match self.byte()? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let mut code = u32::from(self.hex()?);
                // A character beyond the 16 bits comes as two.
                if (0xd800..0xdc00).contains(&code) && self.ahead(2)? == b"\\u" {
                    self.at += 2;
                    let low = u32::from(self.hex()?);
                    code = 0x1_0000 + ((code - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
                }
                let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            b'\n' => return Err(self.fault(FaultKind::OpenText)),
            other => other,
        };
        out.push(plain);
        Ok(())
    }

    fn hex(&mut self) -> Result<u16, Fault> {
        let digits = self.ahead(4)?;
        let text = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 4);
        let code = text.and_then(|text| u16::from_str_radix(text, 16).ok());
        let code = code.ok_or_else(|| self.fault(FaultKind::NoText))?;
        self.at += 4;
        Ok(code)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        if self.at == self.filled && !self.fill()? {
            return Err(self.fault(FaultKind::Ends));
        }
        let byte = self.window[self.at];
        if byte != b'\n' {
            self.at += 1;
        }
        Ok(byte)
    }

    /// The next `bytes` bytes, or fewer at the end of the file.
    fn ahead(&mut self, bytes: usize) -> Result<&[u8], Fault> {
        while self.filled - self.at < bytes && self.fill()? {}
        Ok(&self.window[self.at..self.filled.min(self.at + bytes)])
    }

    /// Skips blanks, and returns the byte after them.
    fn blank(&mut self) -> Result<Option<u8>, Fault> {
        loop {
            while self.at < self.filled {
                match self.window[self.at] {
                    b' ' | b'\t' | b'\r' => {}
                    b'\n' => {
                        self.line = self.line.saturating_add(1);
                        self.line_start = true;
                    }
                    other => return Ok(Some(other)),
                }
                self.at += 1;
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Fault> {
        if self.blank()? != Some(wanted) {
            return Err(self.fault(FaultKind::Expected(char::from(wanted))));
        }
        self.at += 1;
        Ok(())
    }

    fn open(&mut self, bracket: u8) -> Result<(), Fault> {
        self.blank()?;
        let may_begin_anew = self.is_of_records && self.depth > 0 && self.line_start;
        if bracket == b'{' && may_begin_anew && self.begins_anew()? {
            return Err(self.fault(FaultKind::BreaksOff));
        }
        self.expect(bracket)?;
        self.line_start = false;
        self.depth += 1;
        match self.depth > DEPTH_MAX {
            true => Err(self.fault(FaultKind::Deep)),
            false => Ok(()),
        }
    }

    /// After a value: whether another follows, or the bracket that closes.
    fn more(&mut self, bracket: u8) -> Result<bool, Fault> {
        self.line_start = false;
        match self.blank()? {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == bracket => Ok(false),
            _ => Err(self.fault(FaultKind::Expected(char::from(bracket)))),
        }
    }

    fn close(&mut self) {
        self.at += 1;
        self.depth -= 1;
    }

    /// Whether the `{` that comes next begins an object of the file's own kind.
    fn begins_anew(&mut self) -> Result<bool, Fault> {
        let Some(marker) = self.marker.take() else { return Ok(self.line_start) };
        let ahead = self.ahead(marker.len() + BLANKS_MAX)?;
        let name = ahead.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
        let name = name.and_then(|rest| rest.strip_prefix(b"\""));
        let same = name.and_then(|rest| rest.strip_prefix(marker.as_bytes()));
        let anew = same.is_some_and(|rest| rest.starts_with(b"\""));
        self.marker = Some(marker);
        Ok(anew)
    }

    /// Brings in more of the file; false at its end.
    fn fill(&mut self) -> Result<bool, Fault> {
        self.window.copy_within(self.at..self.filled, 0);
        self.passed += self.at as u64;
        self.filled -= self.at;
        self.at = 0;
        loop {
            match self.source.read(&mut self.window[self.filled..]) {
                Ok(0) => return Ok(false),
                Ok(more) => {
                    self.filled += more;
                    return Ok(true);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fault(FaultKind::Unreadable(error))),
            }
        }
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        Fault { line: self.line, kind }
    }
}
