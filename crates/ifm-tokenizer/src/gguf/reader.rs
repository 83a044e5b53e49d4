//! The key and value pairs at the start of a GGUF file.
//!
//! Only what was asked for is kept; the rest, chat templates and settings, is read
//! past. Lengths in the file are believed only as far as bytes follow, and all bytes
//! together have a limit, so a file that lies costs no memory.
//!
//! Not here: tensors, which come after the pairs; a reader of weights continues at
//! [`Head::bytes`].

use std::{
    collections::HashMap,
    io::{self, Read},
    iter::once,
};

use sha2::{Digest as _, Sha256};

use crate::error::Problem;

/// The bytes that a GGUF file begins with.
pub(crate) const MAGIC: [u8; 4] = *b"GGUF";

/// Bytes of all pairs together at most. Vocabularies of 256 thousand tokens with their
/// merges have near 16 MB.
const BYTES_MAX: u64 = 256 << 20;
/// Bytes of one text at most: tokens, merges, names.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// Pairs at most. Real files have fewer than a hundred.
const PAIRS_MAX: u64 = 1 << 16;
/// Entries for which room is made before they are read.
const ROOM_MAX: u64 = 1 << 18;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer of any width.
    Number(i128),
    /// Yes or no.
    Bool(bool),
    /// A float of either width.
    Float(f64),
    /// A text, in UTF-8 as a rule.
    Text(Vec<u8>),
    /// A list of integers, or of yes and no as 1 and 0.
    Numbers(Vec<i128>),
    /// A list of floats.
    Floats(Vec<f64>),
    /// A list of texts.
    Texts(Vec<Vec<u8>>),
}

/// The header before the tensors of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// The pairs that were wanted.
    pub pairs: HashMap<String, Value>,
    /// Number of tensors that the file claims to have.
    pub tensors: u64,
    /// Bytes of all this; the descriptions of the tensors begin here.
    pub bytes: u64,
}

impl Value {
    /// Feeds the value to a digest, lengths included, so that no two values are alike.
    pub(crate) fn digest(&self, hasher: &mut Sha256) {
        let mut feed = |kind: u8, count: usize, entries: &mut dyn Iterator<Item = &[u8]>| {
            hasher.update([kind]);
            hasher.update((count as u64).to_le_bytes());
            entries.for_each(|entry| {
                hasher.update((entry.len() as u64).to_le_bytes());
                hasher.update(entry);
            });
        };
        match self {
            Self::Number(number) => feed(0, 1, &mut once(&number.to_le_bytes()[..])),
            Self::Bool(flag) => feed(1, 1, &mut once(&[u8::from(*flag)][..])),
            Self::Float(float) => feed(2, 1, &mut once(&float.to_le_bytes()[..])),
            Self::Text(text) => feed(3, 1, &mut once(text.as_slice())),
            Self::Numbers(numbers) => {
                let bytes = numbers.iter().map(|number| number.to_le_bytes()).collect::<Vec<_>>();
                feed(4, bytes.len(), &mut bytes.iter().map(<[u8; 16]>::as_slice));
            }
            Self::Floats(floats) => {
                let bytes = floats.iter().map(|float| float.to_le_bytes()).collect::<Vec<_>>();
                feed(5, bytes.len(), &mut bytes.iter().map(<[u8; 8]>::as_slice));
            }
            Self::Texts(texts) => feed(6, texts.len(), &mut texts.iter().map(Vec::as_slice)),
        }
    }
}

/// Numbers of the types in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Unsigned(u8),
    Signed(u8),
    Float(u8),
    Bool,
    Text,
    Array,
}

impl Type {
    fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Unsigned(1),
            1 => Self::Signed(1),
            2 => Self::Unsigned(2),
            3 => Self::Signed(2),
            4 => Self::Unsigned(4),
            5 => Self::Signed(4),
            6 => Self::Float(4),
            7 => Self::Bool,
            8 => Self::Text,
            9 => Self::Array,
            10 => Self::Unsigned(8),
            11 => Self::Signed(8),
            12 => Self::Float(8),
            _ => return None,
        })
    }
}

/// Reads the head of a file, with the pairs whose keys are wanted.
///
/// # Errors
/// [`Problem::Damaged`] for what is not GGUF, cut short or at odds with itself,
/// [`Problem::Unsupported`] for other versions than 2 and 3 and for big-endian files.
pub fn read(source: impl Read, is_wanted: impl Fn(&str) -> bool) -> Result<Head, Problem> {
    let mut reader = Reader { source: source.take(BYTES_MAX) };
    if reader.array::<4>()? != MAGIC {
        return Err(Problem::damaged("it does not begin with GGUF"));
    }
    let version = u32::from_le_bytes(reader.array()?);
    if !matches!(version, 2 | 3) {
        let what = if matches!(version.swap_bytes(), 1..=3) {
            "a GGUF file for big-endian machines; give one for little-endian machines".to_owned()
        } else {
            format!("version {version} of GGUF; give a file of version 2 or 3")
        };
        return Err(Problem::unsupported(what));
    }
    let tensors = reader.length()?;
    let count = reader.length()?;
    if count > PAIRS_MAX {
        return Err(Problem::damaged(format!("it claims to have {count} keys")));
    }
    let mut pairs = HashMap::new();
    for _ in 0..count {
        let key = reader.text()?;
        let key = String::from_utf8(key)
            .map_err(|_| Problem::damaged("the name of a key is not UTF-8"))?;
        let kind = reader.kind()?;
        if is_wanted(&key) {
            let value = reader.value(kind).map_err(|problem| match problem {
                Problem::Damaged(reason) => Problem::Damaged(format!("under {key}: {reason}")),
                other => other,
            })?;
            pairs.insert(key, value);
        } else {
            reader.skip(kind, 0)?;
        }
    }
    Ok(Head { pairs, tensors, bytes: reader.place() })
}

struct Reader<R> {
    source: io::Take<R>,
}

impl<R: Read> Reader<R> {
    fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Problem> {
        let mut bytes = [0; BYTES];
        self.source.read_exact(&mut bytes).map_err(|error| self.ended(&error))?;
        Ok(bytes)
    }

    /// Bytes that have been read.
    fn place(&self) -> u64 {
        BYTES_MAX - self.source.limit()
    }

    fn ended(&self, error: &io::Error) -> Problem {
        let place = self.place();
        if self.source.limit() == 0 {
            return Problem::damaged(format!("its keys have more than {BYTES_MAX} bytes"));
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                Problem::damaged(format!("it ends early, near byte {place}"))
            }
            _ => Problem::damaged(format!("it cannot be read near byte {place}: {error}")),
        }
    }

    fn length(&mut self) -> Result<u64, Problem> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn kind(&mut self) -> Result<Type, Problem> {
        let number = u32::from_le_bytes(self.array()?);
        Type::from_number(number)
            .ok_or_else(|| Problem::damaged(format!("there is no type {number} of values")))
    }

    fn text(&mut self) -> Result<Vec<u8>, Problem> {
        let length = self.length()?;
        if length > TEXT_BYTES_MAX {
            return Err(Problem::damaged(format!("a text claims to have {length} bytes")));
        }
        let mut text = Vec::new();
        let read = (&mut self.source).take(length).read_to_end(&mut text);
        match read {
            Ok(count) if count as u64 == length => Ok(text),
            Ok(_) => Err(self.ended(&io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(self.ended(&error)),
        }
    }

    /// The bits of a value of a fixed width; with its sign if it has one.
    fn number(&mut self, kind: Type) -> Result<i128, Problem> {
        let bytes = width(kind);
        let mut number = [0_u8; 8];
        let wanted = number.get_mut(..bytes as usize).unwrap_or_default();
        self.source.read_exact(wanted).map_err(|error| self.ended(&error))?;
        let number = u64::from_le_bytes(number);
        let unused = 64 - 8 * bytes;
        Ok(match kind {
            Type::Signed(_) => i128::from((number << unused).cast_signed() >> unused),
            _ => i128::from(number),
        })
    }

    fn float(&mut self, kind: Type) -> Result<f64, Problem> {
        let bits = self.number(kind)?;
        Ok(match kind {
            Type::Float(4) => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits as u64),
        })
    }

    fn value(&mut self, kind: Type) -> Result<Value, Problem> {
        Ok(match kind {
            Type::Unsigned(_) | Type::Signed(_) => Value::Number(self.number(kind)?),
            Type::Bool => Value::Bool(self.number(kind)? != 0),
            Type::Float(_) => Value::Float(self.float(kind)?),
            Type::Text => Value::Text(self.text()?),
            Type::Array => {
                let kind = self.kind()?;
                let count = self.length()?;
                match kind {
                    Type::Text => Value::Texts(self.list(count, Self::text)?),
                    Type::Float(_) => Value::Floats(self.list(count, |this| this.float(kind))?),
                    Type::Array => return Err(Problem::damaged("a list of lists")),
                    _ => Value::Numbers(self.list(count, |this| this.number(kind))?),
                }
            }
        })
    }

    fn list<T>(
        &mut self,
        count: u64,
        mut read: impl FnMut(&mut Self) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        // A list that claims more than there is ends with the bytes.
        let mut list = Vec::with_capacity(count.min(ROOM_MAX) as usize);
        for _ in 0..count {
            list.push(read(self)?);
        }
        Ok(list)
    }

    /// Reads past a value. `depth` counts the lists around it.
    fn skip(&mut self, kind: Type, depth: u8) -> Result<(), Problem> {
        const DEPTH_MAX: u8 = 4;
        if kind != Type::Array {
            let bytes = if kind == Type::Text { self.length()? } else { width(kind) };
            return self.skip_bytes(bytes);
        }
        if depth == DEPTH_MAX {
            return Err(Problem::damaged("lists of lists of lists"));
        }
        let kind = self.kind()?;
        let count = self.length()?;
        if !matches!(kind, Type::Array | Type::Text) {
            return self.skip_bytes(count.saturating_mul(width(kind)));
        }
        (0..count).try_for_each(|_| self.skip(kind, depth + 1))
    }

    fn skip_bytes(&mut self, bytes: u64) -> Result<(), Problem> {
        match io::copy(&mut (&mut self.source).take(bytes), &mut io::sink()) {
            Ok(count) if count == bytes => Ok(()),
            Ok(_) => Err(self.ended(&io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(self.ended(&error)),
        }
    }
}

/// Bytes of a value of a fixed width.
fn width(kind: Type) -> u64 {
    match kind {
        Type::Unsigned(bytes) | Type::Signed(bytes) | Type::Float(bytes) => u64::from(bytes),
        Type::Bool | Type::Text | Type::Array => 1,
    }
}
