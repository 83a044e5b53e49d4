//! Transformations of a score before the softmax.
//!
//! Not here: kernels.

use super::MaskError;

/// The transformation of a score `s = q k / sqrt(width)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Score {
    /// `s`.
    Plain,
    /// `s + (k - q) 2^(-8 (h + 1) / query_heads)`, with positions `k` and `q` and the query's head
    /// `h` (Press, Smith, Lewis 2022).
    Alibi,
    /// `cap tanh(s / cap)`.
    Softcap(f32),
    /// The same with a quick tanh.
    SoftcapApprox(f32),
}

impl Score {
    /// The score that a part of a mask names; `None` for a part that names none.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, MaskError> {
        let cap = |value: &str| {
            let cap = value.trim().parse::<f32>().ok();
            let cap = cap.filter(|cap| cap.is_finite() && *cap > 0.0);
            cap.ok_or_else(|| MaskError::Value(text.to_owned()))
        };
        Ok(match text.split_once(':') {
            None if text == "alibi" => Some(Self::Alibi),
            Some(("softcap", value)) => Some(Self::Softcap(cap(value)?)),
            Some(("softcap-approx", value)) => Some(Self::SoftcapApprox(cap(value)?)),
            _ => None,
        })
    }

    /// The factor of a head's distance in [`Score::Alibi`], heads from 0.
    pub fn alibi_slope(head: u64, heads: u64) -> f64 {
        (-8.0 * (head + 1) as f64 / heads as f64).exp2()
    }
}
