//! Rounding to whole numbers and to 16-bit floats, the same on every machine.
//!
//! Not here: the formats that round (`blocks`, `superblocks`, `integers`).

/// 1.5 x 2^23: a float of this size has no bits left for a fraction.
const NO_FRACTION: f32 = 12_582_912.0;

/// The nearest whole number, the even one of two, for |value| < 2^22. The addition
/// rounds; a processor without an instruction for it needs no call.
pub(crate) fn nearest(value: f32) -> i32 {
    (value + NO_FRACTION).to_bits() as i32 - NO_FRACTION.to_bits() as i32
}

/// 1 / value, and 0 for 0: values that are all 0 are stored as 0.
pub(crate) fn inverse(value: f32) -> f32 {
    if value == 0.0 { 0.0 } else { 1.0 / value }
}

/// The number at the start of `bytes`, a 16-bit float (IEEE 754 binary16).
pub(crate) fn read_f16(bytes: &[u8]) -> f32 {
    f16_to_f32(u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// Writes the nearest 16-bit float to the start of `bytes` and gives its value.
pub(crate) fn write_f16(value: f32, bytes: &mut [u8]) -> f32 {
    let bits = f32_to_f16(value);
    bytes[..2].copy_from_slice(&bits.to_le_bytes());
    f16_to_f32(bits)
}

/// Widens the bits of a binary16; exact.
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    // Exponent and fraction in the places of a binary32 are the value over 2^112: the
    // product restores it, subnormal numbers too.
    let magnitude = f32::from_bits(u32::from(bits & 0x7FFF) << 13);
    let scaled = magnitude * f32::from_bits((254 - 15) << 23);
    let is_special = bits & 0x7C00 == 0x7C00;
    let special = f32::from_bits(0x7F80_0000 | (u32::from(bits & 0x03FF) << 13));
    let sign = u32::from(bits & 0x8000) << 16;
    f32::from_bits(if is_special { special } else { scaled }.to_bits() | sign)
}

/// The bits of the nearest binary16, the even one of two; too large is infinite.
pub(crate) fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7FFF_FFFF;
    /// The smallest normal number, 2^-14, as bits of a binary32.
    const NORMAL_MIN: u32 = (127 - 14) << 23;
    /// Rounds to infinity from here on: 65,520.
    const INFINITE_MIN: u32 = 0x477F_F000;
    let rounded = if magnitude > 0x7F80_0000 {
        0x7E00
    } else if magnitude >= INFINITE_MIN {
        0x7C00
    } else if magnitude < NORMAL_MIN {
        // Steps of 2^-24: added to 0.5, whose last bit is one, the addition rounds.
        (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5_f32.to_bits()
    } else {
        let to_even = (magnitude >> 13) & 1;
        (magnitude - ((127 - 15) << 23) + 0xFFF + to_even) >> 13
    };
    sign | rounded as u16
}

/// Widens the bits of a bfloat16; exact.
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The bits of the nearest bfloat16, the even one of two.
pub(crate) fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) as u16
}
