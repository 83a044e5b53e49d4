//! The compiled map of characters in a SentencePiece model.
//!
//! A tree over bytes, packed into 32-bit cells (the "double array" of darts-clone),
//! followed by the replacements, each ended by a zero byte. Cells are trusted no
//! further than the bounds of the array.
//!
//! Not here: what else is done to a text (`normalizer`).

use crate::error::Problem;

/// Bytes of one cell.
const CELL_BYTES: usize = 4;

/// A map from byte strings to their replacements.
#[derive(Debug)]
pub(crate) struct CharacterMap {
    cells: Vec<u32>,
    replacements: Vec<u8>,
}

impl CharacterMap {
    /// Reads a compiled map: the bytes of its cells as a 32-bit number, the cells,
    /// the replacements.
    pub(crate) fn new(mut blob: Vec<u8>) -> Result<Self, Problem> {
        let damaged =
            || Problem::damaged("the map of characters (precompiled_charsmap) is cut short");
        let size = blob.first_chunk::<CELL_BYTES>().ok_or_else(damaged)?;
        let size = u32::from_le_bytes(*size) as usize;
        let end = CELL_BYTES.saturating_add(size);
        if end >= blob.len() {
            return Err(damaged());
        }
        let replacements = blob.split_off(end);
        let cells = blob
            .get(CELL_BYTES..)
            .unwrap_or(&[])
            .chunks_exact(CELL_BYTES)
            .filter_map(|cell| cell.try_into().ok().map(u32::from_le_bytes))
            .collect();
        Ok(Self { cells, replacements })
    }

    /// The replacement of the longest string that the bytes begin with, and how many
    /// bytes it replaces.
    pub(crate) fn longest(&self, bytes: &[u8]) -> Option<(&[u8], usize)> {
        let mut node = offset(*self.cells.first()?);
        let mut longest = None;
        for (index, &byte) in bytes.iter().enumerate() {
            node ^= usize::from(byte);
            let Some(&cell) = self.cells.get(node).filter(|&&cell| label(cell) == u32::from(byte))
            else {
                break;
            };
            node ^= offset(cell);
            if has_value(cell) {
                longest = self.cells.get(node).map(|&cell| (value(cell), index + 1));
            }
        }
        let (at, length) = longest?;
        let replacement = self.replacements.get(at..)?;
        let end = replacement.iter().position(|&byte| byte == 0).unwrap_or(replacement.len());
        Some((replacement.get(..end)?, length))
    }
}

/// Whether a string ends at the cell.
fn has_value(cell: u32) -> bool {
    (cell >> 8) & 1 == 1
}

/// The value of a cell that holds one.
fn value(cell: u32) -> usize {
    (cell & (u32::MAX >> 1)) as usize
}

/// The byte that leads to the cell; more than a byte for cells that hold a value.
fn label(cell: u32) -> u32 {
    cell & (1 << 31 | 0xFF)
}

/// How far the children of the cell are from it, combined by exclusive or.
fn offset(cell: u32) -> usize {
    ((cell >> 10) << ((cell & 1 << 9) >> 6)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_is_cut_short_or_lies_is_refused_or_matches_nothing() {
        for blob in [&b""[..], b"\x01", b"\x04\0\0\0\0\0\0\0", b"\xFF\xFF\xFF\xFFabc"] {
            assert!(CharacterMap::new(blob.to_vec()).is_err(), "{blob:?}");
        }
        // Cells that point anywhere: found or not, never out of bounds.
        for seed in 0..2000_u32 {
            let mut blob = vec![64, 0, 0, 0];
            for index in 0..24_u32 {
                let cell = (seed * 31 + index).wrapping_mul(2_654_435_761).rotate_left(seed % 32);
                blob.extend((cell ^ index).to_le_bytes());
            }
            let map = CharacterMap::new(blob).unwrap();
            for byte in 0..=255 {
                if let Some((_, length)) = map.longest(&[byte, byte ^ 1, 3, 0]) {
                    assert!(length <= 4);
                }
            }
        }
    }
}
