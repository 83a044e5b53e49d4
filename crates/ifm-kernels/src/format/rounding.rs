//! Rounding to whole numbers and to 16-bit floats, the same on every machine.
//!
//! Not here: the formats that round (`blocks`, `superblocks`, `integers`).

use half::f16;

/// 1.5 x 2^23: a float of this size has no bits left for a fraction.
const NO_FRACTION: f32 = 12_582_912.0;

/// The nearest whole number, the even one of two, for |value| < 2^22. The addition
/// rounds; a processor without an instruction for it needs no call.
#[inline]
pub(super) fn nearest(value: f32) -> i32 {
    ((value + NO_FRACTION).to_bits() as i32).wrapping_sub(NO_FRACTION.to_bits() as i32)
}

/// The same as a float.
#[inline]
pub(super) fn nearest_float(value: f32) -> f32 {
    (value + NO_FRACTION) - NO_FRACTION
}

/// The value, or the end of the range that it is beyond.
#[inline]
pub(super) fn within(value: f32, least: f32, most: f32) -> f32 {
    // Two comparisons are two instructions; `clamp` has more to say about what is no number.
    let value = if value > least { value } else { least };
    if value < most { value } else { most }
}

/// 1 / value, and 0 for 0: values that are all 0 are stored as 0.
#[inline]
pub(super) fn inverse(value: f32) -> f32 {
    if value == 0.0 { 0.0 } else { 1.0 / value }
}

/// The number at the start of `bytes`, a 16-bit float of IEEE 754.
#[inline]
pub(super) fn read_f16(bytes: &[u8]) -> f32 {
    f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
}

/// Writes the nearest 16-bit float to the start of `bytes` and gives its value.
#[inline]
pub(super) fn write_f16(value: f32, bytes: &mut [u8]) -> f32 {
    let nearest = f16::from_f32(value);
    bytes[..2].copy_from_slice(&nearest.to_le_bytes());
    nearest.to_f32()
}
