//! Matrices arranged for products, and the table of what is computed how.
//!
//! Not here: the kernels (`float`, `integer`).

use std::fmt;

#[cfg(target_arch = "aarch64")]
use crate::lanes::Neon;
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2, Avx512};
use crate::{
    Activations, Format, Isa, Pool, Stored, codes,
    float::{self, Weights},
    integer::{self, Codes},
    lanes::Portable,
    panel::Rounding,
    tiles::Tiles,
};

type FloatProduct = fn(&Tiles, &Pool, &[f32], usize, &mut [f32]);
type IntegerProduct = fn((&Tiles, Rounding), &Pool, &[f32], usize, &mut [f32]);

/// A product with the operands' kinds settled.
#[derive(Debug, Clone, Copy)]
enum Run {
    Float(FloatProduct),
    Integer(IntegerProduct, Rounding),
}

/// A kernel for an instruction set.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    /// What is multiplied: activations, then weights.
    computed: &'static str,
    pack: fn(&Stored) -> Tiles,
    run: Run,
}

fn float<W: Weights>(computed: &'static str, isa: Isa) -> Kernel {
    let run = match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Vnni | Isa::Avx512 => float::multiply::<Avx512<false>, W>,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => float::multiply::<Avx2, W>,
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => float::multiply::<Neon, W>,
        _ => float::multiply::<Portable, W>,
    };
    Kernel { computed, pack: float::pack::<W>, run: Run::Float(run) }
}

fn integer<C: Codes>(computed: &'static str, isa: Isa, rounding: Rounding) -> Kernel {
    let run = match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Vnni => integer::multiply::<Avx512<true>, C>,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => integer::multiply::<Avx512<false>, C>,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => integer::multiply::<Avx2, C>,
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => integer::multiply::<Neon, C>,
        _ => integer::multiply::<Portable, C>,
    };
    Kernel { computed, pack: integer::pack::<C>, run: Run::Integer(run, rounding) }
}

/// The table: what has a kernel of its own. All else is widened to 32-bit floats once
/// and multiplied by the float kernel, activations as they are.
fn kernel(format: Format, activations: Activations, isa: Isa) -> Kernel {
    use Activations::{Blocks8, Float, Static8, Token8};
    let blocks = Rounding::Blocks;
    match (format, activations) {
        (Format::F16, Float) => float::<float::F16>("f32 x f16", isa),
        (Format::BF16, Float) => float::<float::BF16>("f32 x bf16", isa),
        (Format::Int8, Float) => float::<float::Bytes>("f32 x int8", isa),
        (Format::Int4 { group, .. }, Float) if group.is_multiple_of(2) => {
            float::<float::Nibbles>("f32 x int4", isa)
        }
        (Format::Int8, Token8) => integer::<codes::Int8>("int8 x int8", isa, Rounding::Token),
        (Format::Int8, Static8 { scale }) => {
            integer::<codes::Int8>("int8 x int8", isa, Rounding::Fixed(scale))
        }
        (Format::Q8_0, Blocks8) => integer::<codes::Q8_0>("int8 x int8", isa, blocks),
        (Format::Q4_0, Blocks8) => integer::<codes::Q4_0>("int8 x int4", isa, blocks),
        (Format::Q4_1, Blocks8) => integer::<codes::Q4_1>("int8 x int4", isa, blocks),
        (Format::Q5_0, Blocks8) => integer::<codes::Q5_0>("int8 x int5", isa, blocks),
        (Format::Q5_1, Blocks8) => integer::<codes::Q5_1>("int8 x int5", isa, blocks),
        (Format::Q4K, Blocks8) => integer::<codes::Q4K>("int8 x int4", isa, blocks),
        (Format::Q5K, Blocks8) => integer::<codes::Q5K>("int8 x int5", isa, blocks),
        (Format::Q6K, Blocks8) => integer::<codes::Q6K>("int8 x int6", isa, blocks),
        _ => float::<float::F32>("f32 x f32", isa),
    }
}

/// A matrix that is ready for products.
#[derive(Debug)]
pub struct Packed {
    tiles: Tiles,
    kernel: Kernel,
}

/// A matrix that has no product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackError {
    /// Why.
    pub reason: String,
}

impl fmt::Display for PackError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
}

impl std::error::Error for PackError {}

impl Packed {
    /// Arranges a matrix for the machine, once.
    ///
    /// # Errors
    /// [`PackError`] when the processor lacks the instructions.
    pub fn new(stored: Stored, activations: Activations, isa: Isa) -> Result<Self, PackError> {
        if !isa.is_here() {
            return Err(PackError { reason: format!("this processor has no {isa}") });
        }
        let kernel = kernel(stored.format(), activations, isa);
        Ok(Self { tiles: (kernel.pack)(&stored), kernel })
    }

    /// What is multiplied, activations first: `int8 x int8`, `f32 x f16`. The weights are
    /// named by what their codes are, whatever their scales.
    pub fn computed(&self) -> &'static str {
        self.kernel.computed
    }

    /// `out[t][o] = sum over i of input[t][i] * weight[o][i]`, for `rows` rows `t` of
    /// `input` (row-major, as many columns as the matrix).
    ///
    /// No bit of a row of the result depends on other rows.
    ///
    /// # Panics
    /// When a slice has another length.
    pub fn multiply(&self, pool: &Pool, input: &[f32], rows: usize, out: &mut [f32]) {
        let tiles = &self.tiles;
        assert_eq!(input.len(), rows * tiles.columns, "activations of {rows} rows");
        assert_eq!(out.len(), rows * tiles.outputs, "results of {rows} rows");
        match self.kernel.run {
            Run::Float(multiply) => multiply(tiles, pool, input, rows, out),
            Run::Integer(multiply, rounding) => {
                multiply((tiles, rounding), pool, input, rows, out);
            }
        }
    }
}
