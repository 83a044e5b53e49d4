//! Vectors of keys: their numbers, and the bits of a mask.
//!
//! Not here: arithmetic (`simd`).

use pulp::Simd;

use super::plan::PANEL;

#[repr(align(64))]
struct Aligned<T>(T);

const fn ramp() -> [f32; PANEL] {
    let mut numbers = [0.0; PANEL];
    let mut key = 0;
    while key < PANEL {
        numbers[key] = key as f32;
        key += 1;
    }
    numbers
}

const fn bits() -> [u32; PANEL] {
    let mut numbers = [0; PANEL];
    let mut key = 0;
    while key < PANEL {
        numbers[key] = 1 << (key % 32);
        key += 1;
    }
    numbers
}

static RAMP: Aligned<[f32; PANEL]> = Aligned(ramp());
static BITS: Aligned<[u32; PANEL]> = Aligned(bits());

/// 0 to 63.
#[inline(always)]
pub(super) fn iota<S: Simd>() -> &'static [S::f32s] {
    S::as_simd_f32s(&RAMP.0).0
}

/// Which keys of a panel a query may see.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tests(u64);

impl Tests {
    pub(super) fn new(word: u64) -> Self {
        Self(word)
    }

    /// The tests of one vector of the panel.
    #[inline(always)]
    pub(super) fn mask<S: Simd>(self, simd: S, vector: usize) -> S::m32s {
        let first = vector * S::F32_LANES;
        let word = simd.splat_u32s((self.0 >> (first / 32 * 32)) as u32);
        let bits = S::as_simd_u32s(&BITS.0).0[vector];
        simd.equal_u32s(simd.and_u32s(word, bits), bits)
    }
}
