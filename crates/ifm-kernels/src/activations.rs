//! How the operand that is not stored is taken into a product.

use crate::Format;

/// How activations are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activations {
    /// As 32-bit floats.
    Float,
    /// As signed bytes in blocks of 32 with a scale each, rounded on the fly.
    Blocks8,
    /// As signed bytes with one scale for each token, rounded on the fly (W8A8, dynamic).
    Token8,
    /// As signed bytes with one scale for all (W8A8, static).
    Static8 {
        /// What a step of one is worth; larger values are cut off at 127 steps.
        scale: f32,
    },
}

impl Activations {
    /// What is usual for a format: floats for floats and for `Int8` and `Int4` (weights
    /// alone are quantised there), blocks of bytes for the formats of GGUF.
    pub fn usual(format: Format) -> Self {
        match format {
            Format::F32 | Format::F16 | Format::BF16 | Format::Int8 | Format::Int4 { .. } => {
                Self::Float
            }
            _ => Self::Blocks8,
        }
    }
}
