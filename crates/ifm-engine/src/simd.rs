//! What a decoder computes between products and attention, in vectors.
//!
//! Every function here that takes a `simd` is inlined into the caller's dispatch: a call in between
//! would lose the instructions.
//!
//! Not here: vectors themselves and small products (`ifm_kernels::simd`), attention (`attention`).

use ifm_kernels::simd::exp2;
use pulp::{Simd, WithSimd};

/// RMS normalisation of rows: `out = x / sqrt(mean(x^2) + epsilon) * gain`
/// (Zhang and Sennrich 2019).
pub(crate) struct Normalize<'a> {
    pub(crate) input: &'a [f32],
    pub(crate) gain: &'a [f32],
    pub(crate) epsilon: f32,
    pub(crate) out: &'a mut [f32],
}

impl WithSimd for Normalize<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.gain.len();
        let rows = self.input.chunks_exact(width).zip(self.out.chunks_exact_mut(width));
        for (input, out) in rows {
            let (vectors, rest) = S::as_simd_f32s(input);
            let sums = vectors.iter().fold(simd.splat_f32s(0.0), |sums, vector| {
                simd.mul_add_e_f32s(*vector, *vector, sums)
            });
            let square = simd.reduce_sum_f32s(sums) + rest.iter().map(|x| x * x).sum::<f32>();
            let factor = (square / width as f32 + self.epsilon).sqrt().recip();
            for ((out, input), gain) in out.iter_mut().zip(input).zip(self.gain) {
                *out = input * factor * gain;
            }
        }
    }
}

/// The gate of a SwiGLU layer (Shazeer 2020): `out = g / (1 + e^-g) * u`.
pub(crate) struct Gate<'a> {
    pub(crate) gate: &'a [f32],
    pub(crate) up: &'a [f32],
    pub(crate) out: &'a mut [f32],
}

impl WithSimd for Gate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (gates, gates_rest) = S::as_simd_f32s(self.gate);
        let (ups, ups_rest) = S::as_simd_f32s(self.up);
        let (outs, outs_rest) = S::as_mut_simd_f32s(self.out);
        let one = simd.splat_f32s(1.0);
        let zero = simd.splat_f32s(0.0);
        for ((gate, up), out) in gates.iter().zip(ups).zip(outs) {
            // With e = e^-|g|, the sigmoid is 1/(1+e) above zero and e/(1+e) below.
            let down = simd.neg_f32s(simd.abs_f32s(*gate));
            let decay = exp2(simd, simd.mul_f32s(down, simd.splat_f32s(std::f32::consts::LOG2_E)));
            let positive = simd.greater_than_f32s(*gate, zero);
            let top = simd.select_f32s(positive, one, decay);
            let sigmoid = simd.div_f32s(top, simd.add_f32s(one, decay));
            *out = simd.mul_f32s(simd.mul_f32s(*gate, sigmoid), *up);
        }
        for ((gate, up), out) in gates_rest.iter().zip(ups_rest).zip(outs_rest) {
            *out = gate / (1.0 + (-gate).exp()) * up;
        }
    }
}

/// Adds one run of floats to another.
pub(crate) fn add(target: &mut [f32], values: &[f32]) {
    target.iter_mut().zip(values).for_each(|(target, value)| *target += value);
}

#[cfg(test)]
mod tests {
    use pulp::Arch;

    use super::*;

    fn ramp(length: usize, scale: f32) -> Vec<f32> {
        (0..length).map(|index| ((index * 37 % 101) as f32 - 50.0) * scale).collect()
    }

    #[test]
    fn gates_and_norms_follow_their_formulas() {
        let (gate, up) = (ramp(77, 0.3), ramp(77, 0.1));
        let mut out = vec![0.0; 77];
        Arch::new().dispatch(Gate { gate: &gate, up: &up, out: &mut out });
        for ((gate, up), out) in gate.iter().zip(&up).zip(&out) {
            let expected = gate / (1.0 + (-gate).exp()) * up;
            assert!((out - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{gate}: {out}");
        }
        let gain = vec![2.0; 77];
        Arch::new().dispatch(Normalize { input: &gate, gain: &gain, epsilon: 0.0, out: &mut out });
        let mean_square = out.iter().map(|x| x * x).sum::<f32>() / 77.0;
        assert!((mean_square - 4.0).abs() < 1e-4, "{mean_square}");
    }
}
