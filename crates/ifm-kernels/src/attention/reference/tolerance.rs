//! How far a result may be from the reference, by norm: see [`super::Errors`].
//!
//! Not here: how it is compared.

use crate::{attention::Element, mask::Score};

/// Of sums in 32 bits: their unit roundoff is 2^-24, 6e-8; sums of some hundred products and of
/// weights that are rounded in the exponent bring it to 1e-6 at most.
const F32: f64 = 1e-5;

/// Roundings to a type of 16 bits that may add up: of the result, of the weights before their
/// product with values, of the gradients of scores, and of the output, whose product with its
/// gradient is subtracted from numbers of its size in every gradient of a score; and as much again,
/// as a difference is smaller than what it is made of. Where it is much smaller, because hardly more
/// than one key counts for each query, gradients in 16 bits are worse than this.
const ROUNDINGS: f64 = 8.0;

/// What a quick tanh may bring on top. NVIDIA's `tanh.approx.f32` has a relative error of up to
/// 2^-11 by its manual, so a score of up to 8 is wrong by up to 0.004, and so is its weight by
/// `e^0.004`. Ours has an error of 1.1e-4 in the tanh where it is near 1, and hardly any near 0.
pub const APPROXIMATE: f64 = 5e-3;

/// The error up to which a tensor is right. Inputs are rounded before both are computed, so only
/// what comes after counts.
pub fn tolerance(element: Element, score: Score) -> f64 {
    // Unit roundoff: half of the last bit, 2^-11 of the 11 bits of f16, 2^-8 of the 8 of bf16.
    let of_type = match element {
        Element::F32 => F32,
        Element::F16 => ROUNDINGS * 2.0_f64.powi(-11),
        Element::BF16 => ROUNDINGS * 2.0_f64.powi(-8),
    };
    match score {
        Score::SoftcapApprox(_) => of_type + APPROXIMATE,
        Score::Plain | Score::Alibi | Score::Softcap(_) => of_type,
    }
}
