//! The fields of a message in protocol buffers' wire format.
//!
//! A SentencePiece model needs three messages of it, so a reader of forty lines
//! replaces a code generator.
//!
//! Not here: what the fields mean (`model_file`).

use crate::error::Problem;

/// The value of one field, as encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'bytes> {
    /// Wire type 0: integers, booleans, enumerations.
    Number(u64),
    /// Wire type 5: 32 bits, such as a float.
    Bits(u32),
    /// Wire type 2: text, bytes, messages.
    Bytes(&'bytes [u8]),
    /// Wire type 1: 64 bits. Nothing that is read here has them.
    Other,
}

/// Field numbers and values of a message, in the order of the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'bytes> {
    rest: &'bytes [u8],
}

impl<'bytes> Fields<'bytes> {
    /// The fields of a message.
    pub(crate) fn new(message: &'bytes [u8]) -> Self {
        Self { rest: message }
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, count: u64) -> Option<&'bytes [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(count).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, Value<'bytes>)> {
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => Value::Number(self.number()?),
            1 => self.take(8).map(|_| Value::Other)?,
            2 => {
                let count = self.number()?;
                Value::Bytes(self.take(count)?)
            }
            5 => Value::Bits(u32::from_le_bytes(self.take(4)?.try_into().ok()?)),
            _ => return None,
        };
        Some((tag >> 3, value))
    }
}

impl<'bytes> Iterator for Fields<'bytes> {
    type Item = Result<(u64, Value<'bytes>), Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let left = self.rest.len();
        Some(self.field().ok_or_else(|| {
            self.rest = &[];
            Problem::damaged(format!(
                "it is not a SentencePiece model, or damaged: a field is cut short or of no known \
                 kind, {left} bytes before the end of its message"
            ))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_apart() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1D, 0, 0, 0x80, 0x3F, 0x21]
            .into_iter()
            .chain([9; 8])
            .collect::<Vec<u8>>();
        let fields = Fields::new(&bytes).collect::<Result<Vec<_>, _>>().unwrap();
        assert_eq!(
            fields,
            [
                (1, Value::Number(150)),
                (2, Value::Bytes(b"hi")),
                (3, Value::Bits(1.0_f32.to_bits())),
                (4, Value::Other),
            ]
        );
    }

    #[test]
    fn what_is_cut_short_or_of_no_known_kind_is_told_once() {
        let lying = [0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, b'x'];
        let endless = [0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1];
        for bytes in [&b"\x08"[..], b"\x12\x05hi", b"\x1D\x00", b"\x0B", &lying, &endless] {
            let fields = Fields::new(bytes).collect::<Vec<_>>();
            assert_eq!(fields.len(), 1, "{bytes:?}");
            assert!(fields[0].is_err(), "{bytes:?}");
        }
    }
}
