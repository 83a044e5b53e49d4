//! Loops over floats, compiled for what the processor can do and chosen at run time.
//!
//! `pulp` gives vectors of the widest kind that the machine has (AVX-512, AVX2 with FMA, NEON, or
//! plain floats), so that one binary is fast everywhere without a build for one machine. Every
//! function here that takes a `simd` is inlined into the caller's dispatch: a call in between would
//! lose the instructions.
//!
//! Not here: products with weights as they are stored (`packed`), attention around the tiles
//! (`attention`).

#[cfg(target_arch = "x86_64")]
use pulp::x86::V3;
use pulp::{Arch, Simd, WithSimd};

use crate::Isa;

/// Lines of a register tile: with [`WIDE_TILE`] vectors each they fill 24 of the 32 registers of
/// AVX-512, and with [`NARROW_TILE`] 12 of 16.
const TILE_LINES: usize = 6;
const WIDE_TILE: usize = 4;
const NARROW_TILE: usize = 2;

/// The vectors per line that a register tile should have.
#[inline(always)]
fn tile_vectors<S: Simd>() -> usize {
    if S::F32_LANES >= 16 { WIDE_TILE } else { NARROW_TILE }
}

/// A small matrix product: `out[line] += a[line] * b`, for `lines` lines.
///
/// `a[line][k]` is at `line * a_stride + k * a_step`; `b` has `depth` rows of `stride` floats;
/// `out` has `out_stride` floats a line, of which the first `columns` are written.
#[derive(Debug, Clone, Copy)]
pub struct Product<'a> {
    /// The left operand.
    pub a: &'a [f32],
    /// From one line of `a` to the next.
    pub a_stride: usize,
    /// From one column of `a` to the next.
    pub a_step: usize,
    /// Columns of `a`, rows of `b`.
    pub depth: usize,
    /// The right operand.
    pub b: &'a [f32],
    /// From one row of `b` to the next.
    pub stride: usize,
    /// Lines of `a` and of the result.
    pub lines: usize,
    /// Columns of `b` and of the result. Those that fill no vector are slow.
    pub columns: usize,
    /// From one line of the result to the next.
    pub out_stride: usize,
}

/// A product as a function of its own with the instructions of its caller, compiled once, not in
/// every place that has one.
struct Whole<'a, const ADD: bool>(Product<'a>, &'a mut [f32]);

impl<const ADD: bool> WithSimd for Whole<'_, ADD> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.0.run::<S, ADD>(simd, self.1);
    }
}

/// Pointers of a register tile, at its first line and column.
#[derive(Clone, Copy)]
struct Corner {
    a: *const f32,
    b: *const f32,
    out: *mut f32,
}

impl Product<'_> {
    /// Adds the product to `out`. The order of the additions for one element does not depend on
    /// the number of lines, so neither does a bit of the result.
    ///
    /// # Panics
    /// When an operand is too short.
    #[inline(always)]
    pub fn add_to<S: Simd>(self, simd: S, out: &mut [f32]) {
        simd.vectorize(Whole::<true>(self, out));
    }

    /// Writes the product to `out`; otherwise as [`Product::add_to`].
    ///
    /// # Panics
    /// When an operand is too short.
    #[inline(always)]
    pub fn set<S: Simd>(self, simd: S, out: &mut [f32]) {
        simd.vectorize(Whole::<false>(self, out));
    }

    #[inline(always)]
    fn run<S: Simd, const ADD: bool>(self, simd: S, out: &mut [f32]) {
        if self.lines == 0 || self.columns == 0 {
            return;
        }
        let end = |lines: usize, stride: usize, width: usize| (lines - 1) * stride + width;
        assert!(self.depth > 0, "a product has a depth");
        assert!(self.a.len() > end(self.lines, self.a_stride, (self.depth - 1) * self.a_step));
        assert!(self.b.len() >= end(self.depth, self.stride, self.columns));
        assert!(out.len() >= end(self.lines, self.out_stride, self.columns));
        let corner = Corner { a: self.a.as_ptr(), b: self.b.as_ptr(), out: out.as_mut_ptr() };
        let lanes = S::F32_LANES;
        let wide = tile_vectors::<S>() * lanes;
        let mut column = 0;
        // SAFETY: the columns of each strip end at `columns`, up to which all lines of `out` and
        // rows of `b` reach, as asserted; so do lines and columns of `a`.
        unsafe {
            while column + wide <= self.columns {
                if tile_vectors::<S>() == WIDE_TILE {
                    self.strip::<S, WIDE_TILE, ADD>(simd, corner.column(column));
                } else {
                    self.strip::<S, NARROW_TILE, ADD>(simd, corner.column(column));
                }
                column += wide;
            }
            while column + lanes <= self.columns {
                self.strip::<S, 1, ADD>(simd, corner.column(column));
                column += lanes;
            }
        }
        if column < self.columns {
            self.rest::<ADD>(out, column);
        }
    }

    /// All lines of `VECTORS` vectors of columns.
    ///
    /// # Safety
    /// The corner is valid for all lines, the whole depth, and `VECTORS` vectors of columns.
    #[inline(always)]
    unsafe fn strip<S: Simd, const VECTORS: usize, const ADD: bool>(self, simd: S, corner: Corner) {
        let mut line = 0;
        // SAFETY: the lines of each tile end at `lines`; the rest is the caller's promise.
        unsafe {
            while line + TILE_LINES <= self.lines {
                let corner = corner.line(&self, line);
                self.tile::<S, TILE_LINES, VECTORS, ADD>(simd, corner);
                line += TILE_LINES;
            }
            while line + 4 <= self.lines {
                self.tile::<S, 4, VECTORS, ADD>(simd, corner.line(&self, line));
                line += 4;
            }
            while line < self.lines {
                self.tile::<S, 1, VECTORS, ADD>(simd, corner.line(&self, line));
                line += 1;
            }
        }
    }

    /// `LINES` lines of `VECTORS` vectors, summed in registers.
    ///
    /// # Safety
    /// The corner is valid for `LINES` lines, `VECTORS` vectors of columns, and the whole depth.
    #[inline(always)]
    unsafe fn tile<S: Simd, const LINES: usize, const VECTORS: usize, const ADD: bool>(
        self,
        simd: S,
        corner: Corner,
    ) {
        let lanes = S::F32_LANES;
        let mut sums = [[simd.splat_f32s(0.0); VECTORS]; LINES];
        // SAFETY: the caller's promise; vectors are read and written unaligned.
        unsafe {
            let place = |line: usize, vector: usize| {
                corner.out.add(line * self.out_stride + vector * lanes).cast::<S::f32s>()
            };
            if ADD {
                for (line, sums) in sums.iter_mut().enumerate() {
                    for (vector, sum) in sums.iter_mut().enumerate() {
                        *sum = place(line, vector).read_unaligned();
                    }
                }
            }
            let (mut a, mut b) = (corner.a, corner.b);
            for _ in 0..self.depth {
                let mut columns = [simd.splat_f32s(0.0); VECTORS];
                for (vector, column) in columns.iter_mut().enumerate() {
                    *column = b.add(vector * lanes).cast::<S::f32s>().read_unaligned();
                }
                for (line, sums) in sums.iter_mut().enumerate() {
                    let factor = simd.splat_f32s(*a.add(line * self.a_stride));
                    for vector in 0..VECTORS {
                        sums[vector] = simd.mul_add_e_f32s(factor, columns[vector], sums[vector]);
                    }
                }
                a = a.wrapping_add(self.a_step);
                b = b.wrapping_add(self.stride);
            }
            for (line, sums) in sums.iter().enumerate() {
                for (vector, sum) in sums.iter().enumerate() {
                    place(line, vector).write_unaligned(*sum);
                }
            }
        }
    }

    /// Columns that fill no vector.
    #[inline(always)]
    fn rest<const ADD: bool>(self, out: &mut [f32], column: usize) {
        for line in 0..self.lines {
            let a = self.a[line * self.a_stride..].iter().step_by(self.a_step).take(self.depth);
            let out = &mut out[line * self.out_stride..][column..self.columns];
            if !ADD {
                out.fill(0.0);
            }
            for (value, row) in a.zip(self.b.chunks(self.stride)) {
                for (out, factor) in out.iter_mut().zip(&row[column..]) {
                    *out += value * factor;
                }
            }
        }
    }
}

impl Corner {
    #[inline(always)]
    fn column(self, column: usize) -> Self {
        Self { b: self.b.wrapping_add(column), out: self.out.wrapping_add(column), ..self }
    }

    #[inline(always)]
    fn line(self, product: &Product<'_>, line: usize) -> Self {
        let a = self.a.wrapping_add(line * product.a_stride);
        Self { a, out: self.out.wrapping_add(line * product.out_stride), ..self }
    }
}

/// ln(2)^k / k! for k = 8 down to 1.
const SERIES: [f32; 8] = [
    1.321_548_7e-6,
    1.525_273_4e-5,
    1.540_353e-4,
    1.333_355_8e-3,
    9.618_129e-3,
    5.550_411e-2,
    0.240_226_5,
    std::f32::consts::LN_2,
];

/// `x`, held at -126 or more, as `n + f` with `n` an integer and `|f| <= 1/2`: gives `f`, and 2^n by
/// its exponent bits.
#[inline(always)]
fn split_exponent<S: Simd>(simd: S, x: S::f32s) -> (S::f32s, S::u32s) {
    /// Adding it leaves the nearest integer in the low bits: 1.5 * 2^23.
    const ROUND: f32 = 12_582_912.0;
    let round = simd.splat_f32s(ROUND);
    let clamped = simd.max_f32s(x, simd.splat_f32s(-126.0));
    let shifted = simd.add_f32s(clamped, round);
    let fraction = simd.sub_f32s(clamped, simd.sub_f32s(shifted, round));
    let exponent =
        simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    (fraction, exponent)
}

/// Two to the power of `x`, for `x` at most 0; exactly 0 below -125.
///
/// `x = n + f` with `n` an integer and `|f| <= 1/2`; 2^f by its Taylor series of
/// degree 6 (error below 2e-7), 2^n by the exponent bits. Nothing is subnormal:
/// that would be slow, and such a weight counts for nothing.
#[inline(always)]
pub fn exp2<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let (fraction, exponent) = split_exponent(simd, x);
    let mut power = simd.splat_f32s(SERIES[2]);
    for factor in &SERIES[3..] {
        power = simd.mul_add_e_f32s(power, fraction, simd.splat_f32s(*factor));
    }
    power = simd.mul_add_e_f32s(power, fraction, simd.splat_f32s(1.0));
    let bits = simd.add_u32s(simd.transmute_u32s_f32s(power), exponent);
    let counts = simd.greater_than_f32s(x, simd.splat_f32s(-125.0));
    simd.select_f32s(counts, simd.transmute_f32s_u32s(bits), simd.splat_f32s(0.0))
}

/// `2^x - 1` for `x` at most 0, relative error below 4e-7 near 0 too: with `x = n + f` as in
/// [`exp2`], `2^n (2^f - 1) + (2^n - 1)`, of which the last is exact and the first a series
/// without its 1.
#[inline(always)]
pub fn power_less_one<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let (fraction, exponent) = split_exponent(simd, x);
    let mut power = simd.splat_f32s(SERIES[0]);
    for factor in &SERIES[1..] {
        power = simd.mul_add_e_f32s(power, fraction, simd.splat_f32s(*factor));
    }
    let one = simd.splat_f32s(1.0);
    let scale = simd.add_u32s(simd.transmute_u32s_f32s(one), exponent);
    let scale = simd.transmute_f32s_u32s(scale);
    let less_one = simd.mul_f32s(power, fraction);
    simd.mul_add_e_f32s(less_one, scale, simd.sub_f32s(scale, one))
}

/// The greatest of the floats.
#[inline(always)]
pub fn greatest<S: Simd>(simd: S, values: &[f32]) -> f32 {
    let (vectors, rest) = S::as_simd_f32s(values);
    let most = vectors
        .iter()
        .fold(simd.splat_f32s(f32::NEG_INFINITY), |most, vector| simd.max_f32s(most, *vector));
    rest.iter().fold(simd.reduce_max_f32s(most), |most, value| most.max(*value))
}

/// Replaces each `x` by 2^(x - top) and returns the sum.
#[inline(always)]
pub fn exp2_below<S: Simd>(simd: S, values: &mut [f32], top: f32) -> f32 {
    let (vectors, rest) = S::as_mut_simd_f32s(values);
    let top_vector = simd.splat_f32s(top);
    let mut sum = simd.splat_f32s(0.0);
    for vector in vectors {
        *vector = exp2(simd, simd.sub_f32s(*vector, top_vector));
        sum = simd.add_f32s(sum, *vector);
    }
    let mut total = simd.reduce_sum_f32s(sum);
    for value in rest {
        *value = (*value - top).exp2();
        total += *value;
    }
    total
}

/// Multiplies each float.
#[inline(always)]
pub fn scale<S: Simd>(simd: S, values: &mut [f32], factor: f32) {
    let (vectors, rest) = S::as_mut_simd_f32s(values);
    for vector in vectors {
        *vector = simd.mul_f32s(*vector, simd.splat_f32s(factor));
    }
    for value in rest {
        *value *= factor;
    }
}

/// The vectors for an instruction set that the processor has.
pub fn arch_of(isa: Isa) -> Arch {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => V3::try_new().map_or(Arch::Scalar, Arch::V3),
        // Beyond x86-64 the least that `Isa` knows is not the least there is.
        Isa::Baseline if cfg!(target_arch = "x86_64") => Arch::Scalar,
        _ => Arch::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(length: usize, scale: f32) -> Vec<f32> {
        (0..length).map(|index| ((index * 37 % 101) as f32 - 50.0) * scale).collect()
    }

    struct AddProduct<'a>(Product<'a>, &'a mut [f32]);

    impl WithSimd for AddProduct<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            self.0.add_to(simd, self.1);
        }
    }

    #[test]
    fn products_agree_with_the_definition_for_odd_sizes() {
        for (lines, depth, columns) in [(1, 7, 64), (4, 64, 96), (7, 33, 83), (9, 5, 16)] {
            let (a, b) = (ramp(lines * depth, 0.01), ramp(depth * columns, 0.02));
            let mut out = vec![1.0; lines * columns];
            let product = Product {
                a: &a,
                a_stride: depth,
                a_step: 1,
                depth,
                b: &b,
                stride: columns,
                lines,
                columns,
                out_stride: columns,
            };
            Arch::new().dispatch(AddProduct(product, &mut out));
            for line in 0..lines {
                for column in 0..columns {
                    let expected = 1.0
                        + (0..depth)
                            .map(|k| a[line * depth + k] * b[k * columns + column])
                            .sum::<f32>();
                    let got = out[line * columns + column];
                    assert!((got - expected).abs() < 1e-3, "{lines} {depth} {columns}: {got}");
                }
            }
        }
    }

    struct Softmax<'a>(&'a mut [f32], f32);

    impl WithSimd for Softmax<'_> {
        type Output = (f32, f32);

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> (f32, f32) {
            let top = greatest(simd, self.0);
            (top, exp2_below(simd, self.0, self.1))
        }
    }

    #[test]
    fn powers_of_two_are_accurate_and_vanish_far_below() {
        let mut values: Vec<f32> = (0..500).map(|index| -(index as f32) * 0.21 + 3.0).collect();
        values.push(f32::NEG_INFINITY);
        values.push(-1000.0);
        let before = values.clone();
        let (top, sum) = Arch::new().dispatch(Softmax(&mut values, 3.0));
        assert_eq!(top, 3.0);
        for (before, after) in before.iter().zip(&values).take(500) {
            let expected = (f64::from(*before) - 3.0).exp2() as f32;
            assert!((after - expected).abs() <= 4e-7 * expected, "2^{before}: {after}");
        }
        assert_eq!(values[500..], [0.0, 0.0]);
        assert!((sum - values.iter().sum::<f32>()).abs() < 1e-4);
    }
}
