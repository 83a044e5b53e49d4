//! Lanes of NEON, which every 64-bit Arm has: four vectors of four.

use std::arch::aarch64::*;

use super::{Lanes, Task};

/// NEON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neon;

/// An expression of intrinsics.
macro_rules! here {
    ($($code:tt)*) => {{
        // SAFETY: the caller has promised the instructions, and the bytes of a pointer.
        unsafe { $($code)* }
    }};
}

type Floats = [float32x4_t; 4];
type Integers = [int32x4_t; 4];

/// 16-bit floats as 32-bit ones: the exponent of a 16-bit float is 112 less, and the multiplication
/// also makes subnormal numbers normal.
#[inline(always)]
unsafe fn widen(bits: uint16x4_t) -> float32x4_t {
    here! {
        let bits = vmovl_u16(bits);
        let magnitude = vshlq_n_u32::<13>(vandq_u32(bits, vdupq_n_u32(0x7FFF)));
        let step = vreinterpretq_f32_u32(vdupq_n_u32((127 + 112) << 23));
        let finite = vreinterpretq_u32_f32(vmulq_f32(vreinterpretq_f32_u32(magnitude), step));
        let exponent = vdupq_n_u32(0x7C00);
        let is_endless = vceqq_u32(vandq_u32(bits, exponent), exponent);
        let endless = vandq_u32(is_endless, vdupq_n_u32(0x7F80_0000));
        let sign = vshlq_n_u32::<16>(vandq_u32(bits, vdupq_n_u32(0x8000)));
        vreinterpretq_f32_u32(vorrq_u32(vorrq_u32(finite, endless), sign))
    }
}

/// Sixteen unsigned bytes as floats.
#[inline(always)]
unsafe fn floats(bytes: uint8x16_t) -> Floats {
    here! {
        let (low, high) = (vmovl_u8(vget_low_u8(bytes)), vmovl_high_u8(bytes));
        [
            vcvtq_f32_u32(vmovl_u16(vget_low_u16(low))),
            vcvtq_f32_u32(vmovl_high_u16(low)),
            vcvtq_f32_u32(vmovl_u16(vget_low_u16(high))),
            vcvtq_f32_u32(vmovl_high_u16(high)),
        ]
    }
}

/// Adds the products of four signed bytes in each lane. Two products of -128 and 127 still fit 16 bits:
/// 2 * 128 * 127 = 32512.
#[inline(always)]
unsafe fn dot(sums: Integers, bytes: [int8x16_t; 4], quad: *const u8) -> Integers {
    here! {
        let quad = vreinterpretq_s8_s32(vdupq_n_s32(quad.cast::<i32>().read_unaligned()));
        let low = vget_low_s8(quad);
        let mut added = sums;
        for (sum, bytes) in added.iter_mut().zip(bytes) {
            let products = (vmull_s8(vget_low_s8(bytes), low), vmull_high_s8(bytes, quad));
            *sum = vpadalq_s16(*sum, vpaddq_s16(products.0, products.1));
        }
        added
    }
}

impl Lanes for Neon {
    type Floats = Floats;
    type Sums = Integers;
    /// Less 128: as signed bytes.
    type Bytes = [int8x16_t; 4];
    type Nibbles = [int8x16_t; 4];

    const QUAD: usize = 4;
    const TAKEN_OFF: i32 = 128;
    const FLOAT_TOKENS: usize = 6;
    const INTEGER_TOKENS: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Floats {
        here!([vdupq_n_f32(value); 4])
    }
    #[inline(always)]
    unsafe fn multiply(a: Floats, b: Floats) -> Floats {
        here!([
            vmulq_f32(a[0], b[0]),
            vmulq_f32(a[1], b[1]),
            vmulq_f32(a[2], b[2]),
            vmulq_f32(a[3], b[3]),
        ])
    }
    #[inline(always)]
    unsafe fn multiply_add(a: Floats, b: Floats, c: Floats) -> Floats {
        here!([
            vfmaq_f32(c[0], a[0], b[0]),
            vfmaq_f32(c[1], a[1], b[1]),
            vfmaq_f32(c[2], a[2], b[2]),
            vfmaq_f32(c[3], a[3], b[3]),
        ])
    }
    #[inline(always)]
    unsafe fn load_f32(from: *const u8) -> Floats {
        here! {
            let from = from.cast::<f32>();
            [
                vld1q_f32(from),
                vld1q_f32(from.add(4)),
                vld1q_f32(from.add(8)),
                vld1q_f32(from.add(12)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u8) -> Floats {
        here! {
            let halves = [vld1q_u16(from.cast()), vld1q_u16(from.add(16).cast())];
            [
                widen(vget_low_u16(halves[0])),
                widen(vget_high_u16(halves[0])),
                widen(vget_low_u16(halves[1])),
                widen(vget_high_u16(halves[1])),
            ]
        }
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u8) -> Floats {
        here! {
            let halves = [vld1q_u16(from.cast()), vld1q_u16(from.add(16).cast())];
            [
                vreinterpretq_f32_u32(vshll_n_u16::<16>(vget_low_u16(halves[0]))),
                vreinterpretq_f32_u32(vshll_high_n_u16::<16>(halves[0])),
                vreinterpretq_f32_u32(vshll_n_u16::<16>(vget_low_u16(halves[1]))),
                vreinterpretq_f32_u32(vshll_high_n_u16::<16>(halves[1])),
            ]
        }
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const u8) -> Floats {
        here! {
            let bytes = vld1q_s8(from.cast());
            let (low, high) = (vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes));
            [
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))),
                vcvtq_f32_s32(vmovl_high_s16(low)),
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))),
                vcvtq_f32_s32(vmovl_high_s16(high)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn load_u8(from: *const u8) -> Floats {
        here!(floats(vld1q_u8(from)))
    }
    #[inline(always)]
    unsafe fn load_u4(from: *const u8) -> [Floats; 2] {
        here! {
            let bytes = vld1q_u8(from);
            [floats(vandq_u8(bytes, vdupq_n_u8(15))), floats(vshrq_n_u8::<4>(bytes))]
        }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, values: Floats) {
        here! {
            vst1q_f32(to, values[0]);
            vst1q_f32(to.add(4), values[1]);
            vst1q_f32(to.add(8), values[2]);
            vst1q_f32(to.add(12), values[3]);
        }
    }
    #[inline(always)]
    unsafe fn greater(a: Floats, b: Floats) -> Floats {
        let greater = |lanes: usize| {
            here! {
                let (a, b) = (vabsq_f32(a[lanes]), vabsq_f32(b[lanes]));
                vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)))
            }
        };
        [greater(0), greater(1), greater(2), greater(3)]
    }
    #[inline(always)]
    unsafe fn greatest(values: Floats) -> f32 {
        here! {
            let bits = |lanes: usize| vreinterpretq_u32_f32(vabsq_f32(values[lanes]));
            let (low, high) = (vmaxq_u32(bits(0), bits(1)), vmaxq_u32(bits(2), bits(3)));
            f32::from_bits(vmaxvq_u32(vmaxq_u32(low, high)))
        }
    }
    #[inline(always)]
    unsafe fn round(values: Floats, inverse: Floats, to: *mut i8) -> i32 {
        here! {
            let round = |lanes: usize| {
                let steps = vmulq_f32(values[lanes], inverse[lanes]);
                let steps = vmaxq_f32(vdupq_n_f32(-127.0), vminq_f32(vdupq_n_f32(127.0), steps));
                vcvtnq_s32_f32(steps)
            };
            let codes = [round(0), round(1), round(2), round(3)];
            let low = vmovn_high_s32(vmovn_s32(codes[0]), codes[1]);
            let high = vmovn_high_s32(vmovn_s32(codes[2]), codes[3]);
            vst1q_s8(to, vmovn_high_s16(vmovn_s16(low), high));
            let sums = (vaddq_s32(codes[0], codes[1]), vaddq_s32(codes[2], codes[3]));
            vaddvq_s32(vaddq_s32(sums.0, sums.1))
        }
    }
    #[inline(always)]
    unsafe fn load_bytes(from: *const u8) -> [int8x16_t; 4] {
        here! {
            let middle = vdupq_n_u8(128);
            [
                vreinterpretq_s8_u8(veorq_u8(vld1q_u8(from), middle)),
                vreinterpretq_s8_u8(veorq_u8(vld1q_u8(from.add(16)), middle)),
                vreinterpretq_s8_u8(veorq_u8(vld1q_u8(from.add(32)), middle)),
                vreinterpretq_s8_u8(veorq_u8(vld1q_u8(from.add(48)), middle)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn load_nibbles(from: *const u8) -> [[int8x16_t; 4]; 2] {
        here! {
            let mask = vdupq_n_u8(15);
            let bytes = [
                vld1q_u8(from),
                vld1q_u8(from.add(16)),
                vld1q_u8(from.add(32)),
                vld1q_u8(from.add(48)),
            ];
            [
                [
                    vreinterpretq_s8_u8(vandq_u8(bytes[0], mask)),
                    vreinterpretq_s8_u8(vandq_u8(bytes[1], mask)),
                    vreinterpretq_s8_u8(vandq_u8(bytes[2], mask)),
                    vreinterpretq_s8_u8(vandq_u8(bytes[3], mask)),
                ],
                [
                    vreinterpretq_s8_u8(vshrq_n_u8::<4>(bytes[0])),
                    vreinterpretq_s8_u8(vshrq_n_u8::<4>(bytes[1])),
                    vreinterpretq_s8_u8(vshrq_n_u8::<4>(bytes[2])),
                    vreinterpretq_s8_u8(vshrq_n_u8::<4>(bytes[3])),
                ],
            ]
        }
    }
    #[inline(always)]
    unsafe fn start8(value: i32) -> Integers {
        here!([vdupq_n_s32(value); 4])
    }
    #[inline(always)]
    unsafe fn dot8(sums: Integers, bytes: [int8x16_t; 4], quad: *const u8) -> Integers {
        here!(dot(sums, bytes, quad))
    }
    #[inline(always)]
    unsafe fn start4(value: i32) -> Integers {
        here!([vdupq_n_s32(value); 4])
    }
    #[inline(always)]
    unsafe fn dot4(sums: Integers, nibbles: [int8x16_t; 4], quad: *const u8) -> Integers {
        here!(dot(sums, nibbles, quad))
    }
    #[inline(always)]
    unsafe fn finish4(sums: Integers, _value: i32) -> Integers {
        sums
    }
    #[inline(always)]
    unsafe fn to_floats(sums: Integers) -> Floats {
        here!([
            vcvtq_f32_s32(sums[0]),
            vcvtq_f32_s32(sums[1]),
            vcvtq_f32_s32(sums[2]),
            vcvtq_f32_s32(sums[3]),
        ])
    }

    unsafe fn run<T: Task>(task: T) {
        // Every processor of this kind has them: no other door is needed.
        here!(task.run::<Self>())
    }
}
