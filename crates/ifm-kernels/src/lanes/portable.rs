//! Lanes as arrays, for every processor; the compiler makes vectors of what it can.

use super::{LANES, Lanes, Task};

/// Lanes without any instructions of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portable;

type Array = [f32; LANES];

/// Adding it leaves the nearest integer in the low bits: 1.5 * 2^23.
const ROUND: f32 = 12_582_912.0;

/// The bits without the sign: their order is that of the magnitudes.
#[inline(always)]
fn magnitude(value: f32) -> u32 {
    value.to_bits() & 0x7FFF_FFFF
}

unsafe fn array<T: Copy, const N: usize>(from: *const u8) -> [T; N] {
    // SAFETY: the caller's pointer is good for the array; it need not be aligned.
    unsafe { from.cast::<[T; N]>().read_unaligned() }
}

/// A 16-bit float as a 32-bit one, without a branch. The exponent of a 16-bit float is 112
/// less; the multiplication also makes subnormal numbers normal.
#[inline(always)]
fn widen(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7FFF) << 13;
    let finite = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
    let endless = u32::from(bits & 0x7C00 == 0x7C00).wrapping_neg() & 0x7F80_0000;
    f32::from_bits(finite | endless | u32::from(bits & 0x8000) << 16)
}

fn dot(mut sums: [i32; LANES], bytes: &[u8; 4 * LANES], quad: [i8; 4]) -> [i32; LANES] {
    for (sum, bytes) in sums.iter_mut().zip(bytes.as_chunks::<4>().0) {
        let products =
            bytes.iter().zip(quad).map(|(byte, value)| i32::from(*byte) * i32::from(value));
        *sum += products.sum::<i32>();
    }
    sums
}

impl Lanes for Portable {
    type Floats = Array;
    type Sums = [i32; LANES];
    type Bytes = [u8; 4 * LANES];
    type Nibbles = [u8; 4 * LANES];

    const QUAD: usize = 4;
    const FLOAT_TOKENS: usize = 4;
    // More at once leave no registers: a quarter of the speed.
    const INTEGER_TOKENS: usize = 1;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Array {
        [value; LANES]
    }
    #[inline(always)]
    unsafe fn multiply(a: Array, b: Array) -> Array {
        std::array::from_fn(|lane| a[lane] * b[lane])
    }
    // Rounded twice: without an instruction for it, rounding once is a call.
    #[inline(always)]
    unsafe fn multiply_add(a: Array, b: Array, c: Array) -> Array {
        std::array::from_fn(|lane| a[lane] * b[lane] + c[lane])
    }
    #[inline(always)]
    unsafe fn load_f32(from: *const u8) -> Array {
        // SAFETY: the caller's promise.
        unsafe { array(from) }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u8) -> Array {
        // SAFETY: the caller's promise.
        unsafe { array::<u16, LANES>(from) }.map(widen)
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u8) -> Array {
        // SAFETY: the caller's promise.
        unsafe { array::<u16, LANES>(from) }.map(|bits| f32::from_bits(u32::from(bits) << 16))
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const u8) -> Array {
        // SAFETY: the caller's promise.
        unsafe { array::<i8, LANES>(from) }.map(f32::from)
    }
    #[inline(always)]
    unsafe fn load_u8(from: *const u8) -> Array {
        // SAFETY: the caller's promise.
        unsafe { array::<u8, LANES>(from) }.map(f32::from)
    }
    #[inline(always)]
    unsafe fn load_u4(from: *const u8) -> [Array; 2] {
        // SAFETY: the caller's promise.
        let bytes = unsafe { array::<u8, LANES>(from) };
        [bytes.map(|byte| f32::from(byte & 15)), bytes.map(|byte| f32::from(byte >> 4))]
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, values: Array) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<Array>().write_unaligned(values) }
    }
    #[inline(always)]
    unsafe fn greater(a: Array, b: Array) -> Array {
        std::array::from_fn(|lane| f32::from_bits(magnitude(a[lane]).max(magnitude(b[lane]))))
    }
    #[inline(always)]
    unsafe fn greatest(values: Array) -> f32 {
        f32::from_bits(values.into_iter().map(magnitude).fold(0, u32::max))
    }
    #[inline(always)]
    unsafe fn round(values: Array, inverse: Array, to: *mut i8) -> i32 {
        let codes: [i8; LANES] = std::array::from_fn(|lane| {
            let steps = (values[lane] * inverse[lane]).clamp(-127.0, 127.0);
            (steps + ROUND).to_bits() as u8 as i8
        });
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[i8; LANES]>().write_unaligned(codes) };
        codes.into_iter().map(i32::from).sum()
    }
    #[inline(always)]
    unsafe fn load_bytes(from: *const u8) -> Self::Bytes {
        // SAFETY: the caller's promise.
        unsafe { array(from) }
    }
    #[inline(always)]
    unsafe fn load_nibbles(from: *const u8) -> [Self::Nibbles; 2] {
        // SAFETY: the caller's promise.
        let bytes = unsafe { array::<u8, { 4 * LANES }>(from) };
        [bytes.map(|byte| byte & 15), bytes.map(|byte| byte >> 4)]
    }
    #[inline(always)]
    unsafe fn start8(value: i32) -> Self::Sums {
        [value; LANES]
    }
    #[inline(always)]
    unsafe fn dot8(sums: Self::Sums, bytes: Self::Bytes, quad: *const u8) -> Self::Sums {
        // SAFETY: the caller's promise.
        dot(sums, &bytes, unsafe { array(quad) })
    }
    #[inline(always)]
    unsafe fn start4(value: i32) -> Self::Sums {
        [value; LANES]
    }
    #[inline(always)]
    unsafe fn dot4(sums: Self::Sums, nibbles: Self::Nibbles, quad: *const u8) -> Self::Sums {
        // SAFETY: the caller's promise.
        dot(sums, &nibbles, unsafe { array(quad) })
    }
    #[inline(always)]
    unsafe fn finish4(sums: Self::Sums, _value: i32) -> Self::Sums {
        sums
    }
    #[inline(always)]
    unsafe fn to_floats(sums: Self::Sums) -> Array {
        sums.map(|sum| sum as f32)
    }

    unsafe fn run<T: Task>(task: T) {
        // SAFETY: the caller's promise.
        unsafe { task.run::<Self>() }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    #[test]
    fn all_halves_are_widened_exactly() {
        for bits in 0..=u16::MAX {
            let expected = f16::from_bits(bits).to_f32();
            let got = widen(bits);
            assert!(got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan());
        }
    }
}
