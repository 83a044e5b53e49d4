//! `range_ratio`, which means three things.
//!
//! | ratio | vLLM | SGLang | vllm-bench 0.1 |
//! |---|---|---|---|
//! | 0 | always L | 1 to L | refused |
//! | 0.2 | 0.8 L to 1.2 L | 0.2 L to L | 0.2 L to L |
//! | 1 | refused | always L | always L |
//!
//! Not here: the tools' exact draws (`crate::compat::lengths`).

use super::{LengthRange, Lengths};
use crate::error::WorkloadError;

ifm_core::vocabulary! {
    /// Whose `range_ratio` is meant.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum RangeRatio {
        /// vLLM since 0.9, in Python and in Rust: `[floor(L(1-r)), ceil(L(1+r))]`, from 0
        /// to below 1.
        Vllm = "vllm",
        /// SGLang, InferenceX and vLLM's scripts before 0.9: `[max(1, int(L r)), L]`,
        /// from 0 to 1.
        Sglang = "sglang",
        /// The first release of the Rust client `vllm-bench`: `[int(L r), L]`, above 0 to
        /// 1.
        VllmBench01 = "vllm-bench-0.1",
    }
}

impl RangeRatio {
    /// The range that it makes of a length, in words.
    pub fn formula(self) -> &'static str {
        match self {
            Self::Vllm => "L(1-r) to L(1+r)",
            Self::Sglang => "max(1, L r) to L",
            Self::VllmBench01 => "L r to L",
        }
    }

    /// The meaning of a word.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`] with the words that there are.
    pub fn find(word: &str) -> Result<Self, WorkloadError> {
        Self::ALL.into_iter().find(|ratio| ratio.word() == word).ok_or_else(|| {
            let words = Self::ALL.map(|ratio| format!("{} ({})", ratio.word(), ratio.formula()));
            WorkloadError::Shape {
                text: format!("ratio={word}"),
                reason: format!(
                    "range_ratio means different things; say whose: {}",
                    words.join(", ")
                ),
            }
        })
    }

    /// The lengths around `tokens`, at least 1.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`] for a ratio that the tool refuses,
    /// [`WorkloadError::Length`] for a length that is not possible.
    pub fn lengths(self, tokens: u32, ratio: f64) -> Result<Lengths, WorkloadError> {
        let (possible, bounds) = match self {
            Self::Vllm => ((0.0..1.0).contains(&ratio), "from 0 to below 1"),
            Self::Sglang => ((0.0..=1.0).contains(&ratio), "from 0 to 1"),
            Self::VllmBench01 => (ratio > 0.0 && ratio <= 1.0, "above 0 and at most 1"),
        };
        if !possible {
            return Err(WorkloadError::Shape {
                text: format!("range_ratio={ratio}"),
                reason: format!("as {} means it, it lies {bounds}", self.word()),
            });
        }
        let length = f64::from(tokens);
        let (min, max) = match self {
            Self::Vllm => ((length * (1.0 - ratio)).floor(), (length * (1.0 + ratio)).ceil()),
            Self::Sglang | Self::VllmBench01 => ((length * ratio).floor(), length),
        };
        LengthRange::new((min as u32).max(1), max as u32).map(Lengths::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_meanings_differ() {
        let text = |ratio: RangeRatio, r: f64| {
            ratio.lengths(1000, r).map_or_else(|_| "refused".to_owned(), |found| found.to_string())
        };
        for (r, vllm, sglang, bench) in [
            (0.0, "1000", "1-1000", "refused"),
            (0.2, "800-1200", "200-1000", "200-1000"),
            (0.8, "199-1800", "800-1000", "800-1000"),
            (1.0, "refused", "1000", "1000"),
            (-0.1, "refused", "refused", "refused"),
            (f64::NAN, "refused", "refused", "refused"),
        ] {
            let texts = RangeRatio::ALL.map(|ratio| text(ratio, r));
            assert_eq!(texts, [vllm, sglang, bench], "{r}");
        }
        assert_eq!(RangeRatio::find("sglang").unwrap(), RangeRatio::Sglang);
        assert!(RangeRatio::find("mine").unwrap_err().to_string().contains("vllm-bench-0.1"));
    }
}
