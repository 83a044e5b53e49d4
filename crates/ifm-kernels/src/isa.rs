//! What the processor can do.

use std::{fmt, str::FromStr};

/// A set of instructions that kernels are made for; within a kind of processor each includes all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// What every processor has.
    Baseline,
    /// AVX2 with FMA and F16C.
    Avx2,
    /// AVX-512 with byte and word instructions.
    Avx512,
    /// AVX-512 with dot products of bytes.
    Avx512Vnni,
    /// NEON, which every 64-bit Arm has.
    Neon,
}

impl Isa {
    /// All of them, the least first.
    pub const ALL: [Self; 5] =
        [Self::Baseline, Self::Avx2, Self::Avx512, Self::Avx512Vnni, Self::Neon];

    /// The best that this processor has.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq");
            if avx512 && is_x86_feature_detected!("avx512vnni") {
                return Self::Avx512Vnni;
            }
            if avx512 {
                return Self::Avx512;
            }
            if avx2 {
                return Self::Avx2;
            }
        }
        if cfg!(target_arch = "aarch64") { Self::Neon } else { Self::Baseline }
    }

    /// Whether this processor has it.
    pub fn is_here(self) -> bool {
        match (self, Self::best()) {
            (Self::Baseline, _) => true,
            // Sets of another kind of processor.
            (Self::Neon, best) | (best, Self::Neon) => self == best,
            (_, best) => self <= best,
        }
    }

    /// The spelling that [`Isa::from_str`] reads, such as `avx512-vnni`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Vnni => "avx512-vnni",
            Self::Neon => "neon",
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is not a valid [`Isa`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownIsa(pub String);

impl fmt::Display for UnknownIsa {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "unknown instruction set: {}", self.0)
    }
}

impl std::error::Error for UnknownIsa {}

impl FromStr for Isa {
    type Err = UnknownIsa;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|isa| isa.name() == name);
        found.ok_or_else(|| UnknownIsa(name.to_owned()))
    }
}
