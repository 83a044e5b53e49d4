//! Rounding to whole numbers and to 16-bit floats, the same on every machine.
//!
//! Not here: the formats that round (`blocks`, `superblocks`, `integers`).

use half::f16;

/// 1.5 x 2^23: a float of this size has no bits left for a fraction.
const NO_FRACTION: f32 = 12_582_912.0;

/// The nearest whole number, the even one of two, for |value| < 2^22. The addition
/// rounds; a processor without an instruction for it needs no call.
pub(super) fn nearest(value: f32) -> i32 {
    (value + NO_FRACTION).to_bits() as i32 - NO_FRACTION.to_bits() as i32
}

/// 1 / value, and 0 for 0: values that are all 0 are stored as 0.
pub(super) fn inverse(value: f32) -> f32 {
    if value == 0.0 { 0.0 } else { 1.0 / value }
}

/// The number at the start of `bytes`, a 16-bit float of IEEE 754.
pub(super) fn read_f16(bytes: &[u8]) -> f32 {
    f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
}

/// Writes the nearest 16-bit float to the start of `bytes` and gives its value.
pub(super) fn write_f16(value: f32, bytes: &mut [u8]) -> f32 {
    let nearest = f16::from_f32(value);
    bytes[..2].copy_from_slice(&nearest.to_le_bytes());
    nearest.to_f32()
}
