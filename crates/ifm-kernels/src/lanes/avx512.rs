//! Lanes of AVX-512, with or without dot products of bytes.

use std::arch::x86_64::*;

use super::{Lanes, Task};

/// AVX-512; `VNNI` where `vpdpbusd` is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512<const VNNI: bool>;

/// An expression of intrinsics.
macro_rules! here {
    ($($code:tt)*) => {{
        // SAFETY: the caller has promised the instructions, and the bytes of a pointer.
        unsafe { $($code)* }
    }};
}

impl<const VNNI: bool> Lanes for Avx512<VNNI> {
    type Floats = __m512;
    type Sums = __m512i;
    /// Without `vpdpbusd`: bytes 0 and 2, then 1 and 3, of each lane as 16-bit integers.
    type Bytes = [__m512i; 2];
    type Nibbles = __m512i;

    const QUAD: usize = if VNNI { 4 } else { 8 };
    const FLOAT_TOKENS: usize = 12;
    const INTEGER_TOKENS: usize = 12;

    #[inline(always)]
    unsafe fn splat(value: f32) -> __m512 {
        here!(_mm512_set1_ps(value))
    }
    #[inline(always)]
    unsafe fn multiply(a: __m512, b: __m512) -> __m512 {
        here!(_mm512_mul_ps(a, b))
    }
    #[inline(always)]
    unsafe fn multiply_add(a: __m512, b: __m512, c: __m512) -> __m512 {
        here!(_mm512_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    unsafe fn load_f32(from: *const u8) -> __m512 {
        here!(_mm512_loadu_ps(from.cast()))
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u8) -> __m512 {
        here!(_mm512_cvtph_ps(_mm256_loadu_si256(from.cast())))
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u8) -> __m512 {
        here! {
            let halves = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(halves))
        }
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const u8) -> __m512 {
        here!(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.cast()))))
    }
    #[inline(always)]
    unsafe fn load_u8(from: *const u8) -> __m512 {
        here!(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast()))))
    }
    #[inline(always)]
    unsafe fn load_u4(from: *const u8) -> [__m512; 2] {
        here! {
            let bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast()));
            let low = _mm512_and_si512(bytes, _mm512_set1_epi32(15));
            let high = _mm512_srli_epi32::<4>(bytes);
            [_mm512_cvtepi32_ps(low), _mm512_cvtepi32_ps(high)]
        }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, values: __m512) {
        here!(_mm512_storeu_ps(to, values))
    }
    #[inline(always)]
    unsafe fn fetch(at: *const u8) {
        here!(_mm_prefetch::<_MM_HINT_T0>(at.cast()))
    }
    #[inline(always)]
    unsafe fn greater(a: __m512, b: __m512) -> __m512 {
        here! {
            let (a, b) = (_mm512_abs_ps(a), _mm512_abs_ps(b));
            _mm512_castsi512_ps(_mm512_max_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)))
        }
    }
    #[inline(always)]
    unsafe fn greatest(values: __m512) -> f32 {
        here! {
            let magnitudes = _mm512_castps_si512(_mm512_abs_ps(values));
            f32::from_bits(_mm512_reduce_max_epi32(magnitudes).cast_unsigned())
        }
    }
    #[inline(always)]
    unsafe fn round(values: __m512, inverse: __m512, to: *mut i8) -> i32 {
        here! {
            let steps = _mm512_max_ps(_mm512_set1_ps(-127.0), _mm512_mul_ps(values, inverse));
            let codes = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(127.0), steps));
            _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(codes));
            _mm512_reduce_add_epi32(codes)
        }
    }
    #[inline(always)]
    unsafe fn load_bytes(from: *const u8) -> [__m512i; 2] {
        here! {
            let bytes = _mm512_loadu_si512(from.cast());
            if VNNI {
                [bytes, bytes]
            } else {
                let even = _mm512_and_si512(bytes, _mm512_set1_epi16(255));
                [even, _mm512_srli_epi16::<8>(bytes)]
            }
        }
    }
    #[inline(always)]
    unsafe fn load_nibbles(from: *const u8) -> [__m512i; 2] {
        here! {
            let (bytes, mask) = (_mm512_loadu_si512(from.cast()), _mm512_set1_epi8(15));
            let high = _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), mask);
            [_mm512_and_si512(bytes, mask), high]
        }
    }
    #[inline(always)]
    unsafe fn start8(value: i32) -> __m512i {
        here!(_mm512_set1_epi32(value))
    }
    #[inline(always)]
    unsafe fn dot8(sums: __m512i, bytes: [__m512i; 2], quad: *const u8) -> __m512i {
        here! {
            let quad = quad.cast::<i32>();
            let first = _mm512_set1_epi32(quad.read_unaligned());
            if VNNI {
                _mm512_dpbusd_epi32(sums, bytes[0], first)
            } else {
                let second = _mm512_set1_epi32(quad.add(1).read_unaligned());
                let sums = _mm512_add_epi32(sums, _mm512_madd_epi16(bytes[0], first));
                _mm512_add_epi32(sums, _mm512_madd_epi16(bytes[1], second))
            }
        }
    }
    #[inline(always)]
    unsafe fn start4(value: i32) -> __m512i {
        here!(if VNNI { _mm512_set1_epi32(value) } else { _mm512_setzero_si512() })
    }
    #[inline(always)]
    unsafe fn dot4(sums: __m512i, nibbles: __m512i, quad: *const u8) -> __m512i {
        here! {
            let quad = _mm512_set1_epi32(quad.cast::<i32>().read_unaligned());
            if VNNI {
                _mm512_dpbusd_epi32(sums, nibbles, quad)
            } else {
                // 16 bits hold eight of these: 8 * 2 * 15 * 127 = 30480.
                _mm512_add_epi16(sums, _mm512_maddubs_epi16(nibbles, quad))
            }
        }
    }
    #[inline(always)]
    unsafe fn finish4(sums: __m512i, value: i32) -> __m512i {
        here! {
            if VNNI {
                sums
            } else {
                let pairs = _mm512_madd_epi16(sums, _mm512_set1_epi16(1));
                _mm512_add_epi32(pairs, _mm512_set1_epi32(value))
            }
        }
    }
    #[inline(always)]
    unsafe fn to_floats(sums: __m512i) -> __m512 {
        here!(_mm512_cvtepi32_ps(sums))
    }

    unsafe fn run<T: Task>(task: T) {
        here!(if VNNI { enter_vnni(task) } else { enter(task) })
    }
}

#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq")]
unsafe fn enter<T: Task>(task: T) {
    here!(task.run::<Avx512<false>>())
}

#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
unsafe fn enter_vnni<T: Task>(task: T) {
    here!(task.run::<Avx512<true>>())
}
