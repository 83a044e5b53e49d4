//! A product of two matrices by itself, prepared once and run repeatedly: what the arithmetic of
//! these threads reaches.
//!
//! `c = a b`, `m` x `k` times `k` x `n`. `b` is stored as a model's weights are and arranged before
//! the clock starts, as the engine does it; `a` and `c` are 32-bit floats, row by row, and what is done to
//! `a` on its way (interleaving, rounding to bytes) belongs to a run. A library that is given two plain
//! matrices arranges both in each call.
//!
//! Not here: the kernels (`float`, `integer`).

use std::{fmt, str::FromStr};

use crate::{Activations, Format, Isa, PackError, Packed, Pool, Stored, StoredError};

/// The operands of a product: the elements of `a`, then of `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GemmType {
    /// 32-bit floats with 32-bit floats.
    F32,
    /// 32-bit floats with 16-bit floats of IEEE 754, which are widened: no product of 16 bits.
    F16,
    /// 32-bit floats with the upper halves of 32-bit floats, which are widened.
    Bf16,
    /// Signed bytes with signed bytes, 32-bit sums; a scale for each row of `a`, which is rounded in
    /// each run, and each column of `b`.
    Int8,
    /// Signed bytes with signed bytes, scales for blocks of 32 along `k`; `a` is rounded in each run.
    Q8_0,
    /// The same with `b` in four bits.
    Q4_0,
}

impl GemmType {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::F32, Self::F16, Self::Bf16, Self::Int8, Self::Q8_0, Self::Q4_0];

    /// The spelling that [`GemmType::from_str`] reads, such as `bf16`: that of `b`.
    pub fn name(self) -> &'static str {
        self.pair().0.name()
    }

    /// How `b` is stored and how `a` is taken.
    pub fn pair(self) -> (Format, Activations) {
        match self {
            Self::F32 => (Format::F32, Activations::Float),
            Self::F16 => (Format::F16, Activations::Float),
            Self::Bf16 => (Format::BF16, Activations::Float),
            Self::Int8 => (Format::Int8, Activations::Token8),
            Self::Q8_0 => (Format::Q8_0, Activations::Blocks8),
            Self::Q4_0 => (Format::Q4_0, Activations::Blocks8),
        }
    }
}

impl fmt::Display for GemmType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is not a valid [`GemmType`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownGemmType(pub String);

impl fmt::Display for UnknownGemmType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = GemmType::ALL.map(GemmType::name).join(", ");
        write!(formatter, "unknown type of a product: {}; known are {names}", self.0)
    }
}

impl std::error::Error for UnknownGemmType {}

impl FromStr for GemmType {
    type Err = UnknownGemmType;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|of| of.name() == name);
        found.ok_or_else(|| UnknownGemmType(name.to_owned()))
    }
}

/// Why there is no product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GemmError {
    /// A size is zero, or `k` is not a multiple of the block of the format.
    Stored(StoredError),
    /// The processor lacks the instructions.
    Pack(PackError),
}

impl fmt::Display for GemmError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored(error) => error.fmt(formatter),
            Self::Pack(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for GemmError {}

/// A product with its operands.
#[derive(Debug)]
pub struct Gemm {
    packed: Packed,
    /// `b` as it is stored, for [`Gemm::worst_error`].
    stored: Stored,
    rows: usize,
    a: Vec<f32>,
    c: Vec<f32>,
}

/// Numbers in -1..1 of a seed (xorshift64, Marsaglia 2003).
fn noise(length: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..length).map(|_| next()).collect()
}

impl Gemm {
    /// `m` x `k` times `k` x `n`, both drawn from -1..1 by the seed.
    ///
    /// # Errors
    /// [`GemmError`].
    pub fn new(
        of: GemmType,
        m: usize,
        n: usize,
        k: usize,
        isa: Isa,
        seed: u64,
    ) -> Result<Self, GemmError> {
        let (format, activations) = of.pair();
        let weights = noise(n * k, seed.wrapping_add(1));
        let stored = Stored::encode(format, n, k, &weights).map_err(GemmError::Stored)?;
        Self::with(stored, activations, m, isa, seed)
    }

    /// `m` rows drawn by the seed, times the transpose of a matrix that is there.
    ///
    /// # Errors
    /// [`GemmError`].
    pub fn with(
        stored: Stored,
        activations: Activations,
        m: usize,
        isa: Isa,
        seed: u64,
    ) -> Result<Self, GemmError> {
        let (n, k) = (stored.rows(), stored.columns());
        if m == 0 || n == 0 {
            let error =
                StoredError::Size { format: stored.format(), rows: n, columns: k, length: m };
            return Err(GemmError::Stored(error));
        }
        let packed = Packed::new(stored.clone(), activations, isa).map_err(GemmError::Pack)?;
        Ok(Self { packed, stored, rows: m, a: noise(m * k, seed), c: vec![f32::NAN; m * n] })
    }

    /// What is multiplied, `a` first: `int8 x int8`, `f32 x f16`.
    pub fn computed(&self) -> &'static str {
        self.packed.computed()
    }

    /// Operations of a run: `2 m n k`.
    pub fn operations(&self) -> f64 {
        2.0 * (self.rows as f64) * (self.stored.rows() as f64) * (self.stored.columns() as f64)
    }

    /// Multiplies once, on all threads of the pool.
    pub fn run(&mut self, pool: &Pool) {
        self.packed.multiply(pool, &self.a, self.rows, &mut self.c);
    }

    /// The first rows of `a`, columns of `b` and what the last run made of them, at most `side` of each,
    /// row by row: `b` as it is stored.
    pub fn corner(&self, side: usize) -> [Vec<f32>; 3] {
        let (n, k) = (self.stored.rows(), self.stored.columns());
        let (rows, columns) = (self.rows.min(side), n.min(side));
        let mut b = vec![0.0; columns * k];
        b.chunks_exact_mut(k).enumerate().for_each(|(row, out)| self.stored.decode_row(row, out));
        let c = self.c.chunks_exact(n).take(rows).flat_map(|row| row[..columns].iter().copied());
        [self.a[..rows * k].to_vec(), b, c.collect()]
    }

    /// The greatest error of about `count` elements of the last run, spread over all of `c`, first and
    /// last among them: `|c - sum(a b)| / sum(|a b|)` with sums in 64 bits and `b` as it is stored. NaN
    /// where an element is NaN.
    ///
    /// With floats what is left is the rounding of 32-bit sums; where `a` is rounded to bytes, that
    /// rounding is in it.
    pub fn worst_error(&self, count: usize) -> f64 {
        let (n, k) = (self.stored.rows(), self.stored.columns());
        let last = self.c.len() - 1;
        let count = count.clamp(2, self.c.len().max(2));
        let mut weights = vec![0.0; k];
        let mut worst = 0.0_f64;
        for sample in 0..count {
            let place = (last as u128 * sample as u128 / (count - 1) as u128) as usize;
            self.stored.decode_row(place % n, &mut weights);
            let products = || {
                let row = &self.a[place / n * k..][..k];
                row.iter().zip(&weights).map(|(a, b)| f64::from(*a) * f64::from(*b))
            };
            let size: f64 = products().map(f64::abs).sum();
            let error = (f64::from(self.c[place]) - products().sum::<f64>()).abs();
            let relative = if error == 0.0 { 0.0 } else { error / size };
            worst =
                if relative.is_nan() || worst.is_nan() { f64::NAN } else { worst.max(relative) };
        }
        worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounding of 32-bit sums.
    const OF_SUMS: f64 = 2e-6;
    /// Half a step of 127 for each element, of which most cancel.
    const OF_BYTES: f64 = 5e-3;

    #[test]
    fn products_are_right_and_a_wrong_one_is_found() {
        let pool = Pool::new(2);
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_here()) {
            for of in GemmType::ALL {
                let mut gemm = Gemm::new(of, 53, 70, 2080, isa, 7).expect("a product");
                assert!(gemm.worst_error(64).is_nan(), "{of} before it ran");
                gemm.run(&pool);
                let bound = if gemm.computed().starts_with("f32") { OF_SUMS } else { OF_BYTES };
                let error = gemm.worst_error(1000);
                let [a, b, c] = gemm.corner(3);
                assert_eq!([a.len(), b.len(), c.len()], [3 * 2080, 3 * 2080, 9]);
                let first: f32 = a[..2080].iter().zip(&b).map(|(a, b)| a * b).sum();
                assert!((first - c[0]).abs() < 0.5, "{first} {}", c[0]);
                assert!(error > 0.0 && error <= bound, "{of} with {isa}: {error}");
                gemm.c[53 * 70 - 1] += 30.0;
                assert!(gemm.worst_error(2) > bound, "{of} with a wrong element");
            }
        }
    }

    #[test]
    fn sizes_and_names() {
        let gemm = Gemm::new(GemmType::F32, 2, 3, 5, Isa::Baseline, 1).expect("a product");
        assert_eq!((gemm.operations(), gemm.computed()), (60.0, "f32 x f32"));
        for (m, n, k) in [(0, 3, 32), (2, 0, 32), (2, 3, 0), (2, 3, 33)] {
            let made = Gemm::new(GemmType::Q8_0, m, n, k, Isa::Baseline, 1);
            assert!(matches!(made, Err(GemmError::Stored(_))), "{m} {n} {k}");
        }
        assert!(GemmType::ALL.into_iter().all(|of| of.name().parse() == Ok(of)));
        assert!("f64".parse::<GemmType>().is_err());
    }
}
