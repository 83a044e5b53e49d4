//! How models made for longer contexts slow their rotation down.
//!
//! Each scheme becomes one divisor for each pair of a head, which is all that the
//! rotation needs to know.
//!
//! Not here: YaRN and LongRoPE, which also change the scores.

use std::f64::consts::TAU;

/// Every pair slower by the same factor.
pub(super) fn linear(half: usize, factor: f32) -> Vec<f32> {
    vec![factor; half]
}

/// The scheme of Llama 3.1: fast pairs as they are, slow ones by `factor`, those in
/// between blended (Llama 3.1 reference code, `apply_scaling`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Llama3 {
    pub(super) factor: f64,
    pub(super) low_frequency_factor: f64,
    pub(super) high_frequency_factor: f64,
    /// The context before the extension, tokens.
    pub(super) original_context: f64,
}

impl Llama3 {
    pub(super) fn divisors(self, width: usize, base: f32) -> Vec<f32> {
        (0..width / 2)
            .map(|pair| {
                let frequency = f64::from(base).powf(-2.0 * pair as f64 / width as f64);
                let turns = self.original_context * frequency / TAU;
                let span = self.high_frequency_factor - self.low_frequency_factor;
                let blend = ((turns - self.low_frequency_factor) / span).clamp(0.0, 1.0);
                (1.0 / ((1.0 - blend) / self.factor + blend)) as f32
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llama_3_slows_only_what_turns_slowly() {
        let scheme = Llama3 {
            factor: 8.0,
            low_frequency_factor: 1.0,
            high_frequency_factor: 4.0,
            original_context: 8192.0,
        };
        let divisors = scheme.divisors(128, 500_000.0);
        assert_eq!(divisors.len(), 64);
        assert_eq!((divisors[0], divisors[63]), (1.0, 8.0));
        assert!(divisors.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(divisors.iter().any(|divisor| *divisor > 1.0 && *divisor < 8.0));
    }
}
