//! Numbers and texts as bytes: little-endian base-128 numbers, small first.

/// Most bytes of one number.
const VARINT_BYTES_MAX: usize = 10;

/// Adds a number, 1 to 10 bytes.
#[inline]
pub(super) fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Adds the way from `base` to `value`: few bytes where they are near, either way round.
#[inline]
pub(super) fn put_offset(out: &mut Vec<u8>, base: u64, value: u64) {
    let offset = value.wrapping_sub(base) as i64;
    put_number(out, ((offset << 1) ^ (offset >> 63)) as u64);
}

/// Adds a text with its length in bytes.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// A place in a payload. Each step gives `None` where the bytes end too early or make no sense.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes }
    }

    /// Bytes that are left: also a bound on the number of elements that can follow.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for (index, byte) in self.bytes.iter().take(VARINT_BYTES_MAX).enumerate() {
            let bits = u64::from(byte & 0x7f);
            let shifted = bits << (7 * index);
            if shifted >> (7 * index) != bits {
                return None;
            }
            value |= shifted;
            if byte & 0x80 == 0 {
                self.bytes = self.bytes.get(index + 1..)?;
                return Some(value);
            }
        }
        None
    }

    #[inline]
    pub(super) fn offset(&mut self, base: u64) -> Option<u64> {
        let zigzag = self.number()?;
        let offset = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        Some(base.wrapping_add(offset as u64))
    }

    /// A number that fits a smaller type.
    pub(super) fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.number()?).ok()
    }

    /// A number of elements that follow, of at least `bytes_each` bytes each.
    pub(super) fn count(&mut self, bytes_each: usize) -> Option<usize> {
        let count: usize = self.small()?;
        (count.checked_mul(bytes_each)? <= self.left()).then_some(count)
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        let count = self.count(1)?;
        Some(std::str::from_utf8(self.take(count)?).ok()?.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_and_offsets_read_back(value: u64, base: u64, text in ".{0,20}") {
            let mut out = Vec::new();
            put_number(&mut out, value);
            put_offset(&mut out, base, value);
            put_text(&mut out, &text);
            let mut cursor = Cursor::new(&out);
            prop_assert_eq!(cursor.number(), Some(value));
            prop_assert_eq!(cursor.offset(base), Some(value));
            prop_assert_eq!(cursor.text(), Some(text));
            prop_assert_eq!(cursor.left(), 0);
        }
    }

    #[test]
    fn small_steps_take_few_bytes_either_way() {
        let bytes_of = |base, value| {
            let mut out = Vec::new();
            put_offset(&mut out, base, value);
            out.len()
        };
        assert_eq!(bytes_of(1000, 1000), 1);
        assert_eq!(bytes_of(1000, 1063), 1);
        assert_eq!(bytes_of(1000, 936), 1);
        assert_eq!(bytes_of(0, 20_000_000), 4);
    }

    #[test]
    fn senseless_numbers_are_refused() {
        for bytes in [&[][..], &[0x80], &[0xff; 10], &[0xff; 11]] {
            assert_eq!(Cursor::new(bytes).number(), None, "{bytes:?}");
        }
        let top = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Cursor::new(&top).number(), Some(u64::MAX));
    }
}
