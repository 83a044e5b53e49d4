//! The bytes of each id of a byte-level vocabulary.
//!
//! Byte-level vocabularies write every byte as one printable character. Undoing
//! that once, at load, turns decoding into copying, and lets a stream be decoded
//! token by token without looking back.
//!
//! Not here: vocabularies of other kinds, whose text depends on the neighbours.

use std::sync::LazyLock;

/// Characters below this one represent bytes; the scheme uses no other.
const CHARACTERS: usize = 0x144;

/// The byte that each character represents.
static BYTE_OF: LazyLock<[Option<u8>; CHARACTERS]> = LazyLock::new(|| {
    let mut byte_of = [None; CHARACTERS];
    let mut spare = 0x100;
    for byte in 0..=u8::MAX {
        let printable = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
        let character = if printable {
            usize::from(byte)
        } else {
            spare += 1;
            spare - 1
        };
        if let Some(place) = byte_of.get_mut(character) {
            *place = Some(byte);
        }
    }
    byte_of
});

/// The character that represents each byte.
static CHARACTER_OF: LazyLock<[char; 256]> = LazyLock::new(|| {
    let mut character_of = ['\0'; 256];
    for (character, byte) in (0_u32..).zip(BYTE_OF.iter()) {
        if let (Some(character), &Some(byte)) = (char::from_u32(character), byte)
            && let Some(place) = character_of.get_mut(usize::from(byte))
        {
            *place = character;
        }
    }
    character_of
});

/// Bytes as a byte-level vocabulary writes them.
pub(crate) fn write(bytes: &[u8]) -> String {
    bytes.iter().filter_map(|&byte| CHARACTER_OF.get(usize::from(byte))).collect()
}

/// The 256 bytes in order of the character that represents each.
pub(crate) fn in_order() -> impl Iterator<Item = u8> {
    BYTE_OF.iter().flatten().copied()
}

/// Bytes of every token, by id, in one allocation.
#[derive(Debug, Default)]
pub(crate) struct ByteTable {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl ByteTable {
    /// An empty table with room for a number of tokens.
    pub(crate) fn with_capacity(tokens: usize) -> Self {
        Self { bytes: Vec::with_capacity(tokens * 8), ends: Vec::with_capacity(tokens) }
    }

    /// Appends the token with the next id, given as the vocabulary writes it.
    ///
    /// A token with a character that represents no byte means itself, as in the
    /// decoder of the `tokenizers` crate.
    pub(crate) fn push(&mut self, token: &str) {
        let start = self.bytes.len();
        for character in token.chars() {
            match BYTE_OF.get(character as usize).copied().flatten() {
                Some(byte) => self.bytes.push(byte),
                None => {
                    self.bytes.truncate(start);
                    self.bytes.extend_from_slice(token.as_bytes());
                    break;
                }
            }
        }
        self.ends.push(self.bytes.len() as u32);
    }

    /// Length of the longest token.
    pub(crate) fn longest(&self) -> usize {
        let starts = std::iter::once(&0).chain(&self.ends);
        let lengths = starts.zip(&self.ends).map(|(start, end)| end.saturating_sub(*start));
        lengths.max().map_or(0, |length| length as usize)
    }

    /// Appends the token with the next id, given as its bytes.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Bytes of one token; none for an id outside the table.
    pub(crate) fn get(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let start = match id.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or(0),
            None => 0,
        };
        self.ends
            .get(id)
            .and_then(|&end| self.bytes.get(start as usize..end as usize))
            .unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let mut bytes = BYTE_OF.iter().flatten().copied().collect::<Vec<_>>();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        assert_eq!(BYTE_OF['Ġ' as usize], Some(b' '));
        assert_eq!(BYTE_OF['Ċ' as usize], Some(b'\n'));
        assert_eq!(BYTE_OF['é' as usize], Some(0xE9));
        assert_eq!(write(" é\n".as_bytes()), "ĠÃ©Ċ");
        assert_eq!(in_order().take(2).collect::<Vec<_>>(), b"!\"");
    }

    #[test]
    fn tokens_are_bytes_or_themselves() {
        let mut table = ByteTable::with_capacity(3);
        table.push("Ġthe");
        table.push("");
        table.push("▁the");
        assert_eq!(table.get(0), b" the");
        assert_eq!(table.get(1), b"");
        assert_eq!(table.get(2), "▁the".as_bytes());
        assert_eq!(table.get(3), b"");
        assert_eq!(table.get(u32::MAX), b"");
    }
}
