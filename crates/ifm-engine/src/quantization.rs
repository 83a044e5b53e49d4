//! How the weights of a model are stored, and how that is spelled.
//!
//! Three formats are offered for models that are made or converted here, because
//! they are the ones with fast kernels (or, for `f32`, the reference). Files may
//! bring others; those are named by [`dtype_name`].
//!
//! Not here: the kernels (candle's), the making of random blocks (`random`).

use std::{fmt, str::FromStr};

use candle_core::quantized::GgmlDType;

/// The storage format of weights that are made or converted by this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantization {
    /// 32-bit floats: 32 bits a weight, the reference.
    F32,
    /// Blocks of 32 signed bytes with one 16-bit scale: 8.5 bits a weight.
    Q8_0,
    /// Blocks of 256 four-bit values in eight groups with their own scales: 4.5
    /// bits a weight. Needs rows that are a multiple of 256 long.
    Q4K,
}

impl Quantization {
    /// All of them, for help texts.
    pub const ALL: [Self; 3] = [Self::Q8_0, Self::Q4K, Self::F32];

    /// The spelling that [`Quantization::from_str`] reads, such as `q8_0`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Q8_0 => "q8_0",
            Self::Q4K => "q4_k",
        }
    }

    pub(crate) fn dtype(self) -> GgmlDType {
        match self {
            Self::F32 => GgmlDType::F32,
            Self::Q8_0 => GgmlDType::Q8_0,
            Self::Q4K => GgmlDType::Q4K,
        }
    }

    /// The format that rows of this length can have: as asked where the length is
    /// a multiple of the block, else the next finer one, as llama.cpp does it.
    pub(crate) fn dtype_for(self, columns: usize) -> GgmlDType {
        let finer = [self.dtype(), GgmlDType::Q8_0, GgmlDType::F32];
        let fits = |dtype: &GgmlDType| columns.is_multiple_of(dtype.block_size());
        finer.into_iter().find(fits).unwrap_or(GgmlDType::F32)
    }
}

impl fmt::Display for Quantization {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is no [`Quantization`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown weight format: {name}; hint: use q8_0, q4_k or f32")]
pub struct UnknownQuantization {
    /// What was given.
    pub name: String,
}

impl FromStr for Quantization {
    type Err = UnknownQuantization;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name.to_ascii_lowercase().as_str() {
            "f32" | "fp32" | "float32" => Ok(Self::F32),
            "q8_0" | "q8" | "int8" => Ok(Self::Q8_0),
            "q4_k" | "q4k" | "q4" | "q4_k_m" => Ok(Self::Q4K),
            _ => Err(UnknownQuantization { name: name.to_owned() }),
        }
    }
}

/// The usual lower-case name of a stored format, such as `q6_k`.
pub(crate) fn dtype_name(dtype: GgmlDType) -> &'static str {
    match dtype {
        GgmlDType::F32 => "f32",
        GgmlDType::F16 => "f16",
        GgmlDType::BF16 => "bf16",
        GgmlDType::Q4_0 => "q4_0",
        GgmlDType::Q4_1 => "q4_1",
        GgmlDType::Q5_0 => "q5_0",
        GgmlDType::Q5_1 => "q5_1",
        GgmlDType::Q8_0 => "q8_0",
        GgmlDType::Q8_1 => "q8_1",
        GgmlDType::Q2K => "q2_k",
        GgmlDType::Q3K => "q3_k",
        GgmlDType::Q4K => "q4_k",
        GgmlDType::Q5K => "q5_k",
        GgmlDType::Q6K => "q6_k",
        GgmlDType::Q8K => "q8_k",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for quantization in Quantization::ALL {
            assert_eq!(quantization.name().parse(), Ok(quantization));
        }
        let error = "int3".parse::<Quantization>().expect_err("no such format");
        assert!(error.to_string().contains("int3"));
    }

    #[test]
    fn rows_that_no_block_fits_get_a_finer_format() {
        assert_eq!(Quantization::Q4K.dtype_for(512), GgmlDType::Q4K);
        assert_eq!(Quantization::Q4K.dtype_for(576), GgmlDType::Q8_0);
        assert_eq!(Quantization::Q8_0.dtype_for(40), GgmlDType::F32);
    }
}
