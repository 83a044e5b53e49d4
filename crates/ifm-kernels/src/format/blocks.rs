//! Blocks of 32 values with one scale: `Q4_0`, `Q4_1`, `Q5_0`, `Q5_1`, `Q8_0`.
//!
//! The layouts follow GGUF (ggml's `ggml-common.h`): a 16-bit scale `d`, in the
//! kinds that end in `1` a 16-bit smallest value `m`, in the five-bit kinds a word with
//! the fifth bits, then the values; value `i` and value `i + 16` share a byte, value `i`
//! in its low half. A value is `d * (q - offset)` or `d * q + m`.
//!
//! Not here: kinds with scales of scales (`superblocks`), of whole rows (`integers`).

use super::rounding::{inverse, nearest, read_f16, write_f16};

/// Values of a block.
pub(super) const BLOCK: usize = 32;
/// Half of it: the values in the low halves of the bytes.
const HALF: usize = BLOCK / 2;

/// 18 bytes: scale, 16 bytes.
pub(super) fn decode_q4_0(block: &[u8], out: &mut [f32]) {
    let scale = read_f16(block);
    for (index, byte) in block[2..18].iter().enumerate() {
        out[index] = scale * (f32::from(byte & 15) - 8.0);
        out[index + HALF] = scale * (f32::from(byte >> 4) - 8.0);
    }
}

/// 20 bytes: scale, smallest value, 16 bytes.
pub(super) fn decode_q4_1(block: &[u8], out: &mut [f32]) {
    let (scale, least) = (read_f16(block), read_f16(&block[2..]));
    for (index, byte) in block[4..20].iter().enumerate() {
        out[index] = scale * f32::from(byte & 15) + least;
        out[index + HALF] = scale * f32::from(byte >> 4) + least;
    }
}

/// The five bits of value `index`: `high` holds the fifth bits, `low` the rest.
fn five_bits(high: &[u8], low: &[u8], index: usize) -> f32 {
    let byte = low[index % HALF];
    let four = if index < HALF { byte & 15 } else { byte >> 4 };
    let fifth = (high[index / 8] >> (index % 8)) & 1;
    f32::from(four | (fifth << 4))
}

/// 22 bytes: scale, 4 bytes of fifth bits, 16 bytes.
pub(super) fn decode_q5_0(block: &[u8], out: &mut [f32]) {
    let scale = read_f16(block);
    for (index, out) in out.iter_mut().enumerate() {
        *out = scale * (five_bits(&block[2..6], &block[6..22], index) - 16.0);
    }
}

/// 24 bytes: scale, smallest value, 4 bytes of fifth bits, 16 bytes.
pub(super) fn decode_q5_1(block: &[u8], out: &mut [f32]) {
    let (scale, least) = (read_f16(block), read_f16(&block[2..]));
    for (index, out) in out.iter_mut().enumerate() {
        *out = scale * five_bits(&block[4..8], &block[8..24], index) + least;
    }
}

/// 34 bytes: scale, 32 signed bytes.
pub(super) fn decode_q8_0(block: &[u8], out: &mut [f32]) {
    let scale = read_f16(block);
    for (out, byte) in out.iter_mut().zip(&block[2..34]) {
        *out = scale * f32::from(*byte as i8);
    }
}

/// The scale takes the value of the largest size to -8, which 4 bits have and 8 they
/// have not.
pub(super) fn encode_q4_0(values: &[f32], block: &mut [u8]) {
    let extreme = values.iter().fold(0.0_f32, |a, &b| if b.abs() > a.abs() { b } else { a });
    let scale = extreme / -8.0;
    write_f16(scale, block);
    let factor = inverse(scale);
    let four = |value: f32| (nearest(value * factor) + 8).clamp(0, 15) as u8;
    for (index, byte) in block[2..18].iter_mut().enumerate() {
        *byte = four(values[index]) | (four(values[index + HALF]) << 4);
    }
}

/// The smallest value becomes 0, the largest 15.
pub(super) fn encode_q4_1(values: &[f32], block: &mut [u8]) {
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let scale = (most - least) / 15.0;
    write_f16(scale, block);
    write_f16(least, &mut block[2..]);
    let factor = inverse(scale);
    let four = |value: f32| nearest((value - least) * factor).clamp(0, 15) as u8;
    for (index, byte) in block[4..20].iter_mut().enumerate() {
        *byte = four(values[index]) | (four(values[index + HALF]) << 4);
    }
}

/// The largest size becomes 127.
pub(super) fn encode_q8_0(values: &[f32], block: &mut [u8]) {
    let largest = values.iter().fold(0.0_f32, |a, b| a.max(b.abs()));
    let scale = largest / 127.0;
    write_f16(scale, block);
    let factor = inverse(scale);
    for (byte, value) in block[2..34].iter_mut().zip(values) {
        *byte = nearest(value * factor) as u8;
    }
}
