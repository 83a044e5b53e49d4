//! Lanes of AVX2 with FMA and F16C: two vectors of eight.

use std::arch::x86_64::*;

use super::{Lanes, Task};

/// AVX2 with FMA and F16C.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2;

/// An expression of intrinsics.
macro_rules! here {
    ($($code:tt)*) => {{
        // SAFETY: the caller has promised the instructions, and the bytes of a pointer.
        unsafe { $($code)* }
    }};
}

type Floats = [__m256; 2];
type Integers = [__m256i; 2];

impl Lanes for Avx2 {
    type Floats = Floats;
    type Sums = Integers;
    /// Bytes 0 and 2, then 1 and 3, of each lane as 16-bit integers.
    type Bytes = [Integers; 2];
    type Nibbles = Integers;

    const QUAD: usize = 8;
    const FLOAT_TOKENS: usize = 6;
    const INTEGER_TOKENS: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Floats {
        here!([_mm256_set1_ps(value); 2])
    }
    #[inline(always)]
    unsafe fn multiply(a: Floats, b: Floats) -> Floats {
        here!([_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])])
    }
    #[inline(always)]
    unsafe fn multiply_add(a: Floats, b: Floats, c: Floats) -> Floats {
        here!([_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])])
    }
    #[inline(always)]
    unsafe fn load_f32(from: *const u8) -> Floats {
        here!([_mm256_loadu_ps(from.cast()), _mm256_loadu_ps(from.add(32).cast())])
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u8) -> Floats {
        here! {
            let halves = [_mm_loadu_si128(from.cast()), _mm_loadu_si128(from.add(16).cast())];
            [_mm256_cvtph_ps(halves[0]), _mm256_cvtph_ps(halves[1])]
        }
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u8) -> Floats {
        here! {
            let halves = [_mm_loadu_si128(from.cast()), _mm_loadu_si128(from.add(16).cast())];
            let low = _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves[0]));
            let high = _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves[1]));
            [_mm256_castsi256_ps(low), _mm256_castsi256_ps(high)]
        }
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const u8) -> Floats {
        here! {
            let low = _mm256_cvtepi8_epi32(_mm_loadl_epi64(from.cast()));
            let high = _mm256_cvtepi8_epi32(_mm_loadl_epi64(from.add(8).cast()));
            [_mm256_cvtepi32_ps(low), _mm256_cvtepi32_ps(high)]
        }
    }
    #[inline(always)]
    unsafe fn load_u8(from: *const u8) -> Floats {
        here! {
            let low = _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast()));
            let high = _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.add(8).cast()));
            [_mm256_cvtepi32_ps(low), _mm256_cvtepi32_ps(high)]
        }
    }
    #[inline(always)]
    unsafe fn load_u4(from: *const u8) -> [Floats; 2] {
        here! {
            let first = _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast()));
            let second = _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.add(8).cast()));
            let mask = _mm256_set1_epi32(15);
            let low = [_mm256_and_si256(first, mask), _mm256_and_si256(second, mask)];
            let high = [_mm256_srli_epi32::<4>(first), _mm256_srli_epi32::<4>(second)];
            [
                [_mm256_cvtepi32_ps(low[0]), _mm256_cvtepi32_ps(low[1])],
                [_mm256_cvtepi32_ps(high[0]), _mm256_cvtepi32_ps(high[1])],
            ]
        }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, values: Floats) {
        here! {
            _mm256_storeu_ps(to, values[0]);
            _mm256_storeu_ps(to.add(8), values[1]);
        }
    }
    #[inline(always)]
    unsafe fn greater(a: Floats, b: Floats) -> Floats {
        here! {
            let mask = _mm256_set1_epi32(i32::MAX);
            let bits = |values: __m256| _mm256_and_si256(_mm256_castps_si256(values), mask);
            [
                _mm256_castsi256_ps(_mm256_max_epi32(bits(a[0]), bits(b[0]))),
                _mm256_castsi256_ps(_mm256_max_epi32(bits(a[1]), bits(b[1]))),
            ]
        }
    }
    #[inline(always)]
    unsafe fn greatest(values: Floats) -> f32 {
        here! {
            let mask = _mm256_set1_epi32(i32::MAX);
            let bits = |values: __m256| _mm256_and_si256(_mm256_castps_si256(values), mask);
            let eight = _mm256_max_epi32(bits(values[0]), bits(values[1]));
            let (low, high) = (_mm256_castsi256_si128(eight), _mm256_extracti128_si256::<1>(eight));
            let four = _mm_max_epi32(low, high);
            let two = _mm_max_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
            let one = _mm_max_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two));
            f32::from_bits(_mm_cvtsi128_si32(one).cast_unsigned())
        }
    }
    #[inline(always)]
    unsafe fn round(values: Floats, inverse: Floats, to: *mut i8) -> i32 {
        here! {
            let (least, most) = (_mm256_set1_ps(-127.0), _mm256_set1_ps(127.0));
            let first = _mm256_max_ps(least, _mm256_mul_ps(values[0], inverse[0]));
            let second = _mm256_max_ps(least, _mm256_mul_ps(values[1], inverse[1]));
            let first = _mm256_cvtps_epi32(_mm256_min_ps(most, first));
            let second = _mm256_cvtps_epi32(_mm256_min_ps(most, second));
            // Halves of the vectors change places in the first step: the second puts them back.
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(first, second));
            let high = _mm256_extracti128_si256::<1>(words);
            _mm_storeu_si128(to.cast(), _mm_packs_epi16(_mm256_castsi256_si128(words), high));
            let eight = _mm256_add_epi32(first, second);
            let high = _mm256_extracti128_si256::<1>(eight);
            let four = _mm_add_epi32(_mm256_castsi256_si128(eight), high);
            let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
            _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two)))
        }
    }
    #[inline(always)]
    unsafe fn fetch(at: *const u8) {
        here!(_mm_prefetch::<_MM_HINT_T0>(at.cast()))
    }
    #[inline(always)]
    unsafe fn load_bytes(from: *const u8) -> [Integers; 2] {
        here! {
            let first = _mm256_loadu_si256(from.cast());
            let second = _mm256_loadu_si256(from.add(32).cast());
            let mask = _mm256_set1_epi16(255);
            [
                [_mm256_and_si256(first, mask), _mm256_and_si256(second, mask)],
                [_mm256_srli_epi16::<8>(first), _mm256_srli_epi16::<8>(second)],
            ]
        }
    }
    #[inline(always)]
    unsafe fn load_nibbles(from: *const u8) -> [Integers; 2] {
        here! {
            let first = _mm256_loadu_si256(from.cast());
            let second = _mm256_loadu_si256(from.add(32).cast());
            let mask = _mm256_set1_epi8(15);
            let first_high = _mm256_and_si256(_mm256_srli_epi16::<4>(first), mask);
            let second_high = _mm256_and_si256(_mm256_srli_epi16::<4>(second), mask);
            [
                [_mm256_and_si256(first, mask), _mm256_and_si256(second, mask)],
                [first_high, second_high],
            ]
        }
    }
    #[inline(always)]
    unsafe fn start8(value: i32) -> Integers {
        here!([_mm256_set1_epi32(value); 2])
    }
    #[inline(always)]
    unsafe fn dot8(sums: Integers, bytes: [Integers; 2], quad: *const u8) -> Integers {
        here! {
            let quad = quad.cast::<i32>();
            let even = _mm256_set1_epi32(quad.read_unaligned());
            let odd = _mm256_set1_epi32(quad.add(1).read_unaligned());
            let first = _mm256_add_epi32(sums[0], _mm256_madd_epi16(bytes[0][0], even));
            let second = _mm256_add_epi32(sums[1], _mm256_madd_epi16(bytes[0][1], even));
            [
                _mm256_add_epi32(first, _mm256_madd_epi16(bytes[1][0], odd)),
                _mm256_add_epi32(second, _mm256_madd_epi16(bytes[1][1], odd)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn start4(_value: i32) -> Integers {
        here!([_mm256_setzero_si256(); 2])
    }
    #[inline(always)]
    unsafe fn dot4(sums: Integers, nibbles: Integers, quad: *const u8) -> Integers {
        here! {
            let quad = _mm256_set1_epi32(quad.cast::<i32>().read_unaligned());
            // 16 bits hold eight of these: 8 * 2 * 15 * 127 = 30480.
            [
                _mm256_add_epi16(sums[0], _mm256_maddubs_epi16(nibbles[0], quad)),
                _mm256_add_epi16(sums[1], _mm256_maddubs_epi16(nibbles[1], quad)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn finish4(sums: Integers, value: i32) -> Integers {
        here! {
            let (ones, value) = (_mm256_set1_epi16(1), _mm256_set1_epi32(value));
            [
                _mm256_add_epi32(_mm256_madd_epi16(sums[0], ones), value),
                _mm256_add_epi32(_mm256_madd_epi16(sums[1], ones), value),
            ]
        }
    }
    #[inline(always)]
    unsafe fn to_floats(sums: Integers) -> Floats {
        here!([_mm256_cvtepi32_ps(sums[0]), _mm256_cvtepi32_ps(sums[1])])
    }

    unsafe fn run<T: Task>(task: T) {
        here!(enter(task))
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn enter<T: Task>(task: T) {
    here!(task.run::<Avx2>())
}
