//! From logits to the next token.
//!
//! A request's choices depend on its own seed and on the position of the token, not
//! on the batch it happens to be computed in.
//!
//! Not here: when an answer ends (`answer`).

use ifm_kernels::{
    RandomStream,
    simd::{exp2_below, greatest, scale},
};
use pulp::{Arch, Simd, WithSimd};

/// How the next token is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Divides the logits; 0 always takes the most likely token.
    pub temperature: f32,
    /// Only the most likely tokens that together have this probability are taken; 1
    /// takes all.
    pub top_p: f32,
    /// The same seed makes the same choices.
    pub seed: u64,
}

/// The index of the greatest logit, the first of equals.
pub(crate) fn most_likely(logits: &[f32]) -> u32 {
    let mut best = (0, f32::NEG_INFINITY);
    for (index, &logit) in logits.iter().enumerate() {
        if logit > best.1 {
            best = (index, logit);
        }
    }
    best.0 as u32
}

/// Chooses tokens, with the vectors of the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampler {
    arch: Arch,
}

impl Sampler {
    pub(crate) fn new(arch: Arch) -> Self {
        Self { arch }
    }

    /// Chooses the token number `position` of an answer. Changes the logits.
    pub(crate) fn choose(&self, logits: &mut [f32], sampling: Sampling, position: usize) -> u32 {
        // Below, the division would overflow, and the choice is certain anyway.
        if sampling.temperature < 1e-5 {
            return most_likely(logits);
        }
        let factor = std::f32::consts::LOG2_E / sampling.temperature;
        let total = f64::from(self.arch.dispatch(Weigh { logits, factor }));
        let weights = &*logits;
        let (threshold, total) = if sampling.top_p < 1.0 {
            find_threshold(weights, f64::from(sampling.top_p.max(0.0)) * total)
        } else {
            (0.0, total)
        };
        let seed = sampling.seed ^ (position as u64).rotate_left(40);
        let mut left = f64::from(RandomStream::new(seed, "sample").next_unit()) * total;
        // Rounding may leave a little at the end; the last token that counts gets it.
        let mut chosen = 0;
        for (index, &weight) in weights.iter().enumerate() {
            if weight < threshold || weight == 0.0 {
                continue;
            }
            chosen = index as u32;
            left -= f64::from(weight);
            if left < 0.0 {
                break;
            }
        }
        chosen
    }
}

/// Turns logits into weights of which the greatest is 1; gives their sum.
struct Weigh<'a> {
    logits: &'a mut [f32],
    /// Of the logits, to exponents of two.
    factor: f32,
}

impl WithSimd for Weigh<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        scale(simd, self.logits, self.factor);
        let top = greatest(simd, self.logits);
        exp2_below(simd, self.logits, top)
    }
}

/// The greatest weight such that the weights from it on sum to at least `wanted`,
/// and their sum.
///
/// Weights are positive floats, whose bits are ordered as they are, so their bits
/// are searched: 31 passes over the weights, however they are distributed, where
/// sorting a large vocabulary would take longer than computing it.
fn find_threshold(weights: &[f32], wanted: f64) -> (f32, f64) {
    let sum_from = |threshold: f32| -> f64 {
        weights.iter().filter(|weight| **weight >= threshold).map(|&weight| f64::from(weight)).sum()
    };
    // The most likely token has the weight 1.
    let (mut low, mut high) = (0, 1.0_f32.to_bits());
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if sum_from(f32::from_bits(middle)) >= wanted {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let threshold = f32::from_bits(low);
    (threshold, sum_from(threshold))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGITS: [f32; 4] = [0.0, 2.0, 1.0, -1.0];

    fn shares(temperature: f32, top_p: f32) -> [f32; 4] {
        let sampler = Sampler::new(Arch::new());
        let mut counts = [0_u16; 4];
        for position in 0..20_000 {
            let sampling = Sampling { temperature, top_p, seed: 3 };
            counts[sampler.choose(&mut LOGITS.clone(), sampling, position) as usize] += 1;
        }
        counts.map(|count| f32::from(count) / 20_000.0)
    }

    #[test]
    fn temperature_zero_takes_the_most_likely() {
        assert_eq!(shares(0.0, 1.0)[1], 1.0);
        assert_eq!(most_likely(&[1.0, 3.0, 3.0]), 1);
    }

    #[test]
    fn shares_follow_the_softmax() {
        let total = LOGITS.iter().map(|logit| logit.exp()).sum::<f32>();
        for (share, logit) in shares(1.0, 1.0).iter().zip(LOGITS) {
            assert!((share - logit.exp() / total).abs() < 0.02, "{share} for {logit}");
        }
        assert!(shares(0.2, 1.0)[1] > 0.98);
    }

    #[test]
    fn top_p_cuts_the_tail_and_keeps_proportions() {
        // The two most likely have 0.644 and 0.237.
        let counts = shares(1.0, 0.7);
        assert_eq!((counts[0], counts[3]), (0.0, 0.0));
        assert!((counts[1] - 0.731).abs() < 0.02, "{}", counts[1]);
        assert_eq!(shares(1.0, 0.5)[1], 1.0);
        assert_eq!(shares(1.0, 0.0)[1], 1.0);
    }

    #[test]
    fn thresholds_are_exact() {
        let weights = [1.0, 0.5, 0.25, 0.25, 0.125];
        assert_eq!(find_threshold(&weights, 1.5), (0.5, 1.5));
        assert_eq!(find_threshold(&weights, 1.6), (0.25, 2.0));
        assert_eq!(find_threshold(&weights, 2.125), (0.125, 2.125));
    }
}
