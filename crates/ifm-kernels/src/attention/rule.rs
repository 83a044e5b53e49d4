//! How a score is transformed, in vectors: one type for each rule, so that the kernels are compiled
//! for each and their loops contain no call.
//!
//! A kernel multiplies queries by [`Factors::query`] first. What the products give, `x`, becomes a
//! score in powers of two: `log2(e)` times the score.
//!
//! Not here: which rule a mask names (`mask::Score`).

use std::f32::consts::LOG2_E;

use pulp::Simd;

use crate::{
    mask::Score,
    simd::{exp2, power_less_one},
};

/// Greatest error of the quick tanh of `softcap-approx`, absolute: where the tanh comes near 1.
pub const QUICK_TANH_ERROR: f32 = 1.1e-4;

/// Factors around the products of a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factors {
    /// Of the queries before the product with keys.
    pub(super) query: f32,
    /// Of the gradient of keys, whose product had these queries.
    pub(super) key_gradient: f32,
    /// Of the gradient of queries.
    pub(super) query_gradient: f32,
}

/// A rule for scores.
pub(super) trait Rule: Copy + Sync {
    /// Whether the derivative of the score is another than 1.
    const SLOPE: bool;

    /// Factors for heads of a width.
    fn factors(self, width: usize) -> Factors;

    /// From a product to the score, and the derivative of the score by the plain one. `distance` is
    /// the key's position less that of the line's reference.
    fn score<S: Simd>(self, simd: S, x: S::f32s, distance: S::f32s) -> (S::f32s, S::f32s);
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Plain;

/// With the head's slope, times `log2(e)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alibi(pub(super) f32);

impl Alibi {
    pub(super) fn of_head(head: usize, heads: usize) -> Self {
        let slope = Score::alibi_slope(head as u64, heads as u64);
        Self((slope * std::f64::consts::LOG2_E) as f32)
    }
}

/// With the cap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Softcap(pub(super) f32);

/// With the cap.
#[derive(Debug, Clone, Copy)]
pub(super) struct SoftcapApprox(pub(super) f32);

fn plain_factors(width: usize) -> Factors {
    let root = (width as f32).sqrt().recip();
    Factors { query: LOG2_E * root, key_gradient: LOG2_E.recip(), query_gradient: root }
}

fn cap_factors(width: usize, cap: f32) -> Factors {
    let root = (width as f32).sqrt().recip();
    Factors { query: root / cap, key_gradient: cap, query_gradient: root }
}

/// The capped score and its derivative `1 - tanh^2`.
#[inline(always)]
fn capped<S: Simd>(simd: S, tanh: S::f32s, cap: f32) -> (S::f32s, S::f32s) {
    let score = simd.mul_f32s(tanh, simd.splat_f32s(cap * LOG2_E));
    let minus = simd.neg_f32s(tanh);
    (score, simd.mul_add_e_f32s(minus, tanh, simd.splat_f32s(1.0)))
}

impl Rule for Plain {
    const SLOPE: bool = false;

    fn factors(self, width: usize) -> Factors {
        plain_factors(width)
    }

    #[inline(always)]
    fn score<S: Simd>(self, simd: S, x: S::f32s, _: S::f32s) -> (S::f32s, S::f32s) {
        (x, simd.splat_f32s(1.0))
    }
}

impl Rule for Alibi {
    const SLOPE: bool = false;

    fn factors(self, width: usize) -> Factors {
        plain_factors(width)
    }

    #[inline(always)]
    fn score<S: Simd>(self, simd: S, x: S::f32s, distance: S::f32s) -> (S::f32s, S::f32s) {
        let score = simd.mul_add_e_f32s(distance, simd.splat_f32s(self.0), x);
        (score, simd.splat_f32s(1.0))
    }
}

impl Rule for Softcap {
    const SLOPE: bool = true;

    fn factors(self, width: usize) -> Factors {
        cap_factors(width, self.0)
    }

    #[inline(always)]
    fn score<S: Simd>(self, simd: S, x: S::f32s, _: S::f32s) -> (S::f32s, S::f32s) {
        capped(simd, tanh(simd, x), self.0)
    }
}

impl Rule for SoftcapApprox {
    const SLOPE: bool = true;

    fn factors(self, width: usize) -> Factors {
        cap_factors(width, self.0)
    }

    #[inline(always)]
    fn score<S: Simd>(self, simd: S, x: S::f32s, _: S::f32s) -> (S::f32s, S::f32s) {
        capped(simd, quick_tanh(simd, x), self.0)
    }
}

/// The hyperbolic tangent, relative error below 5e-7: with `m = e^(-2|x|) - 1`, which is computed
/// without cancellation, `tanh |x| = -m / (2 + m)`.
#[inline(always)]
pub(super) fn tanh<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let exponent = simd.mul_f32s(simd.abs_f32s(x), simd.splat_f32s(-2.0 * LOG2_E));
    let less_one = power_less_one(simd, exponent);
    let below = simd.add_f32s(less_one, simd.splat_f32s(2.0));
    let size = simd.div_f32s(simd.neg_f32s(less_one), below);
    let sign = simd.and_f32s(x, simd.splat_f32s(-0.0));
    simd.or_f32s(size, sign)
}

/// A quick tanh: the quotient to which its continued fraction (Lambert 1768) is cut after the
/// seventh term, held between -1 and 1. Error below [`QUICK_TANH_ERROR`].
#[inline(always)]
pub(super) fn quick_tanh<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let splat = |value| simd.splat_f32s(value);
    // Beyond 5 the quotient has reached 1; far beyond it would overflow.
    let x = simd.max_f32s(simd.min_f32s(x, splat(5.0)), splat(-5.0));
    let square = simd.mul_f32s(x, x);
    let above = simd.add_f32s(square, splat(378.0));
    let above = simd.mul_add_e_f32s(above, square, splat(17_325.0));
    let above = simd.mul_add_e_f32s(above, square, splat(135_135.0));
    let below = simd.mul_add_e_f32s(square, splat(28.0), splat(3_150.0));
    let below = simd.mul_add_e_f32s(below, square, splat(62_370.0));
    let below = simd.mul_add_e_f32s(below, square, splat(135_135.0));
    let quotient = simd.div_f32s(simd.mul_f32s(x, above), below);
    simd.max_f32s(simd.min_f32s(quotient, splat(1.0)), splat(-1.0))
}

/// 2^(score - top).
#[inline(always)]
pub(super) fn weight<S: Simd>(simd: S, score: S::f32s, top: S::f32s) -> S::f32s {
    exp2(simd, simd.sub_f32s(score, top))
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, WithSimd};

    use super::*;

    struct Both<'a>(&'a [f32], &'a mut [f32], &'a mut [f32]);

    impl WithSimd for Both<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let x = S::as_simd_f32s(self.0).0;
            let exact = S::as_mut_simd_f32s(self.1).0;
            let quick = S::as_mut_simd_f32s(self.2).0;
            for ((x, exact), quick) in x.iter().zip(exact).zip(quick) {
                *exact = tanh(simd, *x);
                *quick = quick_tanh(simd, *x);
            }
        }
    }

    #[test]
    fn tanh_is_accurate_and_the_quick_one_as_good_as_it_says() {
        // Every 4099th float of both signs up to infinity.
        let mut x: Vec<f32> = (0..=0x7F80_0000_u32)
            .step_by(4099)
            .flat_map(|bits| [f32::from_bits(bits), -f32::from_bits(bits)])
            .collect();
        x.extend((0..100_000).map(|index| index as f32 * 1e-4));
        x.resize(x.len().next_multiple_of(64), 0.0);
        let (mut exact, mut quick) = (vec![9.0; x.len()], vec![9.0; x.len()]);
        Arch::new().dispatch(Both(&x, &mut exact, &mut quick));
        let (mut most, mut worst) = (0.0_f64, 0.0_f64);
        for ((x, exact), quick) in x.iter().zip(&exact).zip(&quick) {
            let expected = f64::from(*x).tanh();
            assert!(exact.is_finite() && quick.is_finite(), "{x}");
            // Below 2^-100 the smallest floats would be compared.
            if expected.abs() > 1e-30 {
                most = most.max(((f64::from(*exact) - expected) / expected).abs());
            }
            worst = worst.max((f64::from(*quick) - expected).abs());
        }
        assert!(most < 5e-7, "{most}");
        assert!(worst < f64::from(QUICK_TANH_ERROR) && worst > 5e-5, "{worst}");
    }
}
