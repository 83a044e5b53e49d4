//! The dimensions of a decoder, and the presets that need no file.
//!
//! A preset is a real architecture with random weights: its speed is that of any
//! model of these dimensions, its text is noise. Widths are multiples of 256
//! because formats with blocks of 256 need that, and kernels work on 16 rows at once.
//!
//! Not here: weights.

use std::{fmt, str::FromStr};

use crate::kv_format::KvFormat;

/// The dimensions of a Llama-style decoder.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelShape {
    /// Number of decoder layers.
    pub layers: usize,
    /// Width of the residual stream.
    pub embedding: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; a divisor of `heads`.
    pub kv_heads: usize,
    /// Width of a head; even.
    pub head_width: usize,
    /// Width of the gated feed-forward layer.
    pub feed_forward: usize,
    /// Rows of the embedding and of the last layer.
    pub vocabulary: usize,
    /// The longest context, in tokens, that the model is made for.
    pub context_max: usize,
    /// Base of the rotary frequencies.
    pub rope_base: f32,
    /// Added to the mean square in RMS normalisation.
    pub norm_epsilon: f32,
    /// Whether the last layer is the embedding.
    pub tied_head: bool,
    /// How keys and values are kept: none of the model's, but asked for.
    pub kv: KvFormat,
}

impl ModelShape {
    /// Number of parameters: matrices and norms, a tied head counted once.
    pub fn parameters(&self) -> u64 {
        let (embedding, head) = (self.embedding as u64, self.head_width as u64);
        let query = self.heads as u64 * head;
        let key = self.kv_heads as u64 * head;
        let attention = embedding * (2 * query + 2 * key);
        let feed_forward = 3 * embedding * self.feed_forward as u64;
        let layer = attention + feed_forward + 2 * embedding;
        let table = self.vocabulary as u64 * embedding;
        let tables = if self.tied_head { table } else { 2 * table };
        self.layers as u64 * layer + tables + embedding
    }

    /// Bytes of keys and values of one token, all layers.
    pub fn kv_bytes_per_token(&self) -> usize {
        self.layers * self.kv_heads * self.head_width * 2 * self.kv.bytes()
    }

    /// Query heads that share one key head.
    pub(crate) fn group(&self) -> usize {
        self.heads / self.kv_heads.max(1)
    }

    /// Returns what is wrong with the dimensions, if anything.
    pub(crate) fn check(&self) -> Result<(), String> {
        let bounded = [
            ("layers", self.layers, 1024),
            ("embedding width", self.embedding, 1 << 16),
            ("heads", self.heads, 1024),
            ("key heads", self.kv_heads, 1024),
            ("head width", self.head_width, 1024),
            ("feed-forward width", self.feed_forward, 1 << 18),
            ("vocabulary", self.vocabulary, 1 << 20),
            ("context", self.context_max, 1 << 24),
        ];
        for (name, value, most) in bounded {
            if value == 0 || value > most {
                return Err(format!("{name} is {value}, outside 1..={most}"));
            }
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            return Err(format!("{} heads over {} key heads", self.heads, self.kv_heads));
        }
        if !self.head_width.is_multiple_of(2) {
            return Err(format!("head width {} is odd", self.head_width));
        }
        Ok(())
    }
}

/// A model that is made in memory, with random weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// 2.9 M parameters, of which 0.8 M outside the embedding: for tests.
    Nano,
    /// 26 M parameters: the default of the demonstration.
    Tiny,
    /// 138 M parameters.
    Small,
    /// 1.1 B parameters, the dimensions of TinyLlama.
    Llama1b,
}

/// The vocabulary of the embedded tokenizer.
const EMBEDDED_VOCABULARY: usize = 8192;

impl Preset {
    /// All of them, small to large.
    pub const ALL: [Self; 4] = [Self::Nano, Self::Tiny, Self::Small, Self::Llama1b];

    /// The spelling that [`Preset::from_str`] reads, such as `tiny`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nano => "nano",
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Llama1b => "llama-1b",
        }
    }

    /// The dimensions.
    pub fn shape(self) -> ModelShape {
        let shape = |layers, embedding, heads, kv_heads, feed_forward| ModelShape {
            layers,
            embedding,
            heads,
            kv_heads,
            head_width: embedding / heads,
            feed_forward,
            vocabulary: EMBEDDED_VOCABULARY,
            context_max: 32_768,
            rope_base: 10_000.0,
            norm_epsilon: 1e-5,
            tied_head: false,
            kv: KvFormat::F32,
        };
        match self {
            Self::Nano => {
                ModelShape { tied_head: true, context_max: 4096, ..shape(2, 256, 4, 2, 256) }
            }
            Self::Tiny => shape(6, 512, 8, 2, 1536),
            Self::Small => shape(20, 768, 12, 4, 2048),
            // Wider than the tokenizer, as real ones are: the ids beyond are never sampled.
            Self::Llama1b => ModelShape { vocabulary: 32_000, ..shape(22, 2048, 32, 4, 5632) },
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is not a valid [`Preset`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset: {name}; hint: use nano, tiny, small or llama-1b")]
pub struct UnknownPreset {
    /// What was given.
    pub name: String,
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|preset| preset.name() == name)
            .ok_or_else(|| UnknownPreset { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_sound_and_as_large_as_they_say() {
        let millions = Preset::ALL.map(|preset| {
            let shape = preset.shape();
            assert_eq!(shape.check(), Ok(()), "{preset}");
            assert_eq!(preset.name().parse(), Ok(preset));
            for width in [shape.embedding, shape.feed_forward, shape.heads * shape.head_width] {
                assert!(width.is_multiple_of(256), "{preset}: {width} has no fast kernel");
            }
            shape.parameters() / 100_000
        });
        assert_eq!(millions, [28, 264, 1384, 11_000], "in 0.1 M");
    }

    #[test]
    fn impossible_dimensions_are_named() {
        let shape = ModelShape { kv_heads: 3, ..Preset::Tiny.shape() };
        assert!(shape.check().expect_err("8 over 3").contains("8 heads over 3"));
        let shape = ModelShape { layers: 0, ..Preset::Tiny.shape() };
        assert!(shape.check().expect_err("no layers").contains("layers is 0"));
    }
}
