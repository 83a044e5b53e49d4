//! Integers whose scales are stored separately: `Int8` with a scale for each row, `Int4`
//! with a scale for each group of a row.
//!
//! `Int8`: `rows * columns` signed bytes, then `rows` scales as 32-bit floats; a value is
//! `q * scale`. `Int4`: `rows * columns / 2` bytes, the even column in the low half,
//! levels 0 to 15; then `rows * groups` scales as 16-bit floats; then, with zeros, as many
//! bytes with the level that represents 0, which is 8 without them; a value is
//! `(q - zero) * scale`.
//!
//! Not here: the orders in which checkpoints store such integers; who reads those files
//! brings them into this one.

use super::rounding::{inverse, nearest, read_f16, write_f16};

/// The dimensions of a matrix of four-bit integers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Int4 {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Columns that share a scale; divides `columns`.
    pub(super) group: usize,
    pub(super) zeros: bool,
}

impl Int4 {
    fn groups(self) -> usize {
        self.columns / self.group
    }

    fn scales_start(self) -> usize {
        self.rows * self.columns / 2
    }

    fn zeros_start(self) -> usize {
        self.scales_start() + self.rows * self.groups() * 2
    }

    /// Decodes a row.
    pub(super) fn decode_row(self, bytes: &[u8], row: usize, out: &mut [f32]) {
        for (index, out) in out.chunks_exact_mut(self.group).enumerate() {
            let place = row * self.groups() + index;
            let scale = read_f16(&bytes[self.scales_start() + 2 * place..]);
            let zero = if self.zeros { bytes[self.zeros_start() + place] } else { 8 };
            let first = (row * self.columns + index * self.group) / 2;
            for (pair, byte) in out.chunks_exact_mut(2).zip(&bytes[first..]) {
                pair[0] = (f32::from(byte & 15) - f32::from(zero)) * scale;
                pair[1] = (f32::from(byte >> 4) - f32::from(zero)) * scale;
            }
        }
    }

    /// Encodes all rows. Without zeros a step is 2 / 15 of the largest size, with them
    /// 1 / 15 of the range that holds all values and 0: nothing is off by more than half
    /// a step and what a 16-bit scale loses.
    pub(super) fn encode(self, values: &[f32], bytes: &mut [u8]) {
        for (place, values) in values.chunks_exact(self.group).enumerate() {
            let least = values.iter().copied().fold(0.0, f32::min);
            let most = values.iter().copied().fold(0.0, f32::max);
            let range = if self.zeros { most - least } else { 2.0 * most.max(-least) };
            let at = self.scales_start() + 2 * place;
            let factor = inverse(write_f16(range / 15.0, &mut bytes[at..]));
            let mut zero = 8;
            if self.zeros {
                zero = nearest(-least * factor).clamp(0, 15);
                bytes[self.zeros_start() + place] = zero as u8;
            }
            let level = |value: f32| (nearest(value * factor) + zero).clamp(0, 15) as u8;
            let first = place * self.group / 2;
            for (byte, pair) in bytes[first..].iter_mut().zip(values.chunks_exact(2)) {
                *byte = level(pair[0]) | (level(pair[1]) << 4);
            }
        }
    }
}

/// Decodes a row of `Int8`.
pub(super) fn decode_int8_row(bytes: &[u8], rows: usize, row: usize, out: &mut [f32]) {
    let columns = out.len();
    let at = rows * columns + 4 * row;
    let scale = f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    for (out, byte) in out.iter_mut().zip(&bytes[row * columns..]) {
        *out = f32::from(*byte as i8) * scale;
    }
}

/// Encodes all rows of `Int8`: the largest size of a row becomes 127.
pub(super) fn encode_int8(columns: usize, values: &[f32], bytes: &mut [u8]) {
    let (levels, scales) = bytes.split_at_mut(values.len());
    let rows = values.chunks_exact(columns).zip(levels.chunks_exact_mut(columns));
    for ((values, levels), scale) in rows.zip(scales.chunks_exact_mut(4)) {
        let largest = values.iter().fold(0.0_f32, |a, b| a.max(b.abs()));
        let step = largest / 127.0;
        scale.copy_from_slice(&step.to_le_bytes());
        let factor = inverse(step);
        for (level, value) in levels.iter_mut().zip(values) {
            *level = nearest(value * factor) as u8;
        }
    }
}
