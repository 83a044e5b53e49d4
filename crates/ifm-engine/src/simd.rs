//! Loops over floats, compiled for what the processor can do and chosen at run time.
//!
//! `pulp` gives safe vectors of the widest kind that the machine has (AVX-512, AVX2
//! with FMA, NEON, or plain floats), so that one binary is fast everywhere without
//! a build for one machine. Every function here that takes a `simd` is inlined into
//! the caller's dispatch: a call in between would lose the instructions.
//!
//! Not here: products with weights (`linear`), the attention around the tiles
//! (`attention`).

use ifm_kernels::Isa;
#[cfg(target_arch = "x86_64")]
use pulp::x86::V3;
use pulp::{Arch, Simd, WithSimd};

/// Vectors per row of a register tile: four lines by four vectors fill 16 of the 32
/// registers of AVX-512; machines with 16 registers get two.
const WIDE_TILE: usize = 4;
const NARROW_TILE: usize = 2;

/// The vectors per line that a register tile should have.
#[inline(always)]
fn tile_vectors<S: Simd>() -> usize {
    if S::F32_LANES >= 16 { WIDE_TILE } else { NARROW_TILE }
}

/// `sum over k of a[line][k] * b[k * stride + column]` for four lines and `VECTORS`
/// vectors of columns, added to `sums`. `b` starts at the first column.
#[inline(always)]
fn accumulate4<S: Simd, const VECTORS: usize>(
    simd: S,
    a: [&[f32]; 4],
    b: &[f32],
    stride: usize,
    mut sums: [[S::f32s; VECTORS]; 4],
) -> [[S::f32s; VECTORS]; 4] {
    let factors = a[0].iter().zip(a[1]).zip(a[2]).zip(a[3]);
    for ((((a0, a1), a2), a3), row) in factors.zip(b.chunks(stride)) {
        let columns = &S::as_simd_f32s(row).0[..VECTORS];
        let lines = [a0, a1, a2, a3].map(|value| simd.splat_f32s(*value));
        for line in 0..4 {
            for vector in 0..VECTORS {
                sums[line][vector] =
                    simd.mul_add_e_f32s(lines[line], columns[vector], sums[line][vector]);
            }
        }
    }
    sums
}

/// As [`accumulate4`], for one line.
#[inline(always)]
fn accumulate1<S: Simd, const VECTORS: usize>(
    simd: S,
    a: &[f32],
    b: &[f32],
    stride: usize,
    mut sums: [S::f32s; VECTORS],
) -> [S::f32s; VECTORS] {
    for (value, row) in a.iter().zip(b.chunks(stride)) {
        let columns = &S::as_simd_f32s(row).0[..VECTORS];
        let value = simd.splat_f32s(*value);
        for vector in 0..VECTORS {
            sums[vector] = simd.mul_add_e_f32s(value, columns[vector], sums[vector]);
        }
    }
    sums
}

/// A small matrix product: `out[line] += a[line] * b`, for `lines` lines.
///
/// `a` has `a_stride` floats a line, of which the first `depth` count; `b` has
/// `depth` rows of `stride` floats; `out` has `out_stride` floats a line, of which
/// the first `columns` are written. `columns` is a multiple of the vector width.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a> {
    pub(crate) a: &'a [f32],
    pub(crate) a_stride: usize,
    pub(crate) depth: usize,
    pub(crate) b: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) lines: usize,
    pub(crate) columns: usize,
    pub(crate) out_stride: usize,
}

impl Product<'_> {
    /// Adds the product to `out`. The order of the additions for one element does
    /// not depend on the number of lines, so neither does a bit of the result.
    #[inline(always)]
    pub(crate) fn add_to<S: Simd>(self, simd: S, out: &mut [f32]) {
        let lanes = S::F32_LANES;
        let wide = tile_vectors::<S>() * lanes;
        let mut column = 0;
        while column + wide <= self.columns {
            if tile_vectors::<S>() == WIDE_TILE {
                self.add_columns::<S, WIDE_TILE>(simd, out, column);
            } else {
                self.add_columns::<S, NARROW_TILE>(simd, out, column);
            }
            column += wide;
        }
        while column + lanes <= self.columns {
            self.add_columns::<S, 1>(simd, out, column);
            column += lanes;
        }
        if column < self.columns {
            self.add_rest(out, column);
        }
    }

    #[inline(always)]
    fn add_columns<S: Simd, const VECTORS: usize>(self, simd: S, out: &mut [f32], column: usize) {
        let b = &self.b[column..];
        let mut line = 0;
        while line + 4 <= self.lines {
            let a = [0, 1, 2, 3].map(|next| &self.a[(line + next) * self.a_stride..][..self.depth]);
            let mut sums = [[simd.splat_f32s(0.0); VECTORS]; 4];
            for (next, sums) in sums.iter_mut().enumerate() {
                let start = (line + next) * self.out_stride + column;
                sums.copy_from_slice(&S::as_simd_f32s(&out[start..]).0[..VECTORS]);
            }
            let sums = accumulate4(simd, a, b, self.stride, sums);
            for (next, sums) in sums.iter().enumerate() {
                let start = (line + next) * self.out_stride + column;
                S::as_mut_simd_f32s(&mut out[start..]).0[..VECTORS].copy_from_slice(sums);
            }
            line += 4;
        }
        for line in line..self.lines {
            let a = &self.a[line * self.a_stride..][..self.depth];
            let start = line * self.out_stride + column;
            let mut sums = [simd.splat_f32s(0.0); VECTORS];
            sums.copy_from_slice(&S::as_simd_f32s(&out[start..]).0[..VECTORS]);
            let sums = accumulate1(simd, a, b, self.stride, sums);
            S::as_mut_simd_f32s(&mut out[start..]).0[..VECTORS].copy_from_slice(&sums);
        }
    }

    /// Columns that fill no vector.
    #[inline(always)]
    fn add_rest(self, out: &mut [f32], column: usize) {
        for line in 0..self.lines {
            let a = &self.a[line * self.a_stride..][..self.depth];
            let out = &mut out[line * self.out_stride..][column..self.columns];
            for (value, row) in a.iter().zip(self.b.chunks(self.stride)) {
                for (out, factor) in out.iter_mut().zip(&row[column..]) {
                    *out += value * factor;
                }
            }
        }
    }
}

/// Two to the power of `x`, for `x` at most 0; exactly 0 below -125.
///
/// `x = n + f` with `n` an integer and `|f| <= 1/2`; 2^f by its Taylor series of
/// degree 6 (error below 2e-7), 2^n by the exponent bits. Nothing is subnormal:
/// that would be slow, and such a weight counts for nothing.
#[inline(always)]
pub(crate) fn exp2<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    /// Adding it leaves the nearest integer in the low bits: 1.5 * 2^23.
    const ROUND: f32 = 12_582_912.0;
    /// ln(2)^k / k! for k = 6 down to 0.
    const SERIES: [f32; 7] = [
        1.540_353e-4,
        1.333_355_8e-3,
        9.618_129e-3,
        5.550_411e-2,
        0.240_226_5,
        std::f32::consts::LN_2,
        1.0,
    ];
    let round = simd.splat_f32s(ROUND);
    let lowest = simd.splat_f32s(-126.0);
    let clamped = simd.max_f32s(x, lowest);
    let shifted = simd.add_f32s(clamped, round);
    let fraction = simd.sub_f32s(clamped, simd.sub_f32s(shifted, round));
    let mut power = simd.splat_f32s(SERIES[0]);
    for factor in &SERIES[1..] {
        power = simd.mul_add_e_f32s(power, fraction, simd.splat_f32s(*factor));
    }
    let exponent =
        simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    let bits = simd.add_u32s(simd.transmute_u32s_f32s(power), exponent);
    let counts = simd.greater_than_f32s(x, simd.splat_f32s(-125.0));
    simd.select_f32s(counts, simd.transmute_f32s_u32s(bits), simd.splat_f32s(0.0))
}

/// The greatest of the floats.
#[inline(always)]
pub(crate) fn greatest<S: Simd>(simd: S, values: &[f32]) -> f32 {
    let (vectors, rest) = S::as_simd_f32s(values);
    let most = vectors
        .iter()
        .fold(simd.splat_f32s(f32::NEG_INFINITY), |most, vector| simd.max_f32s(most, *vector));
    rest.iter().fold(simd.reduce_max_f32s(most), |most, value| most.max(*value))
}

/// Replaces each `x` by 2^(x - top) and returns the sum.
#[inline(always)]
pub(crate) fn exp2_below<S: Simd>(simd: S, values: &mut [f32], top: f32) -> f32 {
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
pub(crate) fn scale<S: Simd>(simd: S, values: &mut [f32], factor: f32) {
    let (vectors, rest) = S::as_mut_simd_f32s(values);
    for vector in vectors {
        *vector = simd.mul_f32s(*vector, simd.splat_f32s(factor));
    }
    for value in rest {
        *value *= factor;
    }
}

/// RMS normalisation of rows: `out = x / sqrt(mean(x^2) + epsilon) * gain`
/// (Zhang and Sennrich 2019).
pub(crate) struct Normalize<'a> {
    pub(crate) input: &'a [f32],
    pub(crate) gain: &'a [f32],
    pub(crate) epsilon: f32,
    pub(crate) out: &'a mut [f32],
}

impl WithSimd for Normalize<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.gain.len();
        let rows = self.input.chunks_exact(width).zip(self.out.chunks_exact_mut(width));
        for (input, out) in rows {
            let (vectors, rest) = S::as_simd_f32s(input);
            let sums = vectors.iter().fold(simd.splat_f32s(0.0), |sums, vector| {
                simd.mul_add_e_f32s(*vector, *vector, sums)
            });
            let square = simd.reduce_sum_f32s(sums) + rest.iter().map(|x| x * x).sum::<f32>();
            let factor = (square / width as f32 + self.epsilon).sqrt().recip();
            for ((out, input), gain) in out.iter_mut().zip(input).zip(self.gain) {
                *out = input * factor * gain;
            }
        }
    }
}

/// The gate of a SwiGLU layer (Shazeer 2020): `out = g / (1 + e^-g) * u`.
pub(crate) struct Gate<'a> {
    pub(crate) gate: &'a [f32],
    pub(crate) up: &'a [f32],
    pub(crate) out: &'a mut [f32],
}

impl WithSimd for Gate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (gates, gates_rest) = S::as_simd_f32s(self.gate);
        let (ups, ups_rest) = S::as_simd_f32s(self.up);
        let (outs, outs_rest) = S::as_mut_simd_f32s(self.out);
        let one = simd.splat_f32s(1.0);
        let zero = simd.splat_f32s(0.0);
        for ((gate, up), out) in gates.iter().zip(ups).zip(outs) {
            // With e = e^-|g|, the sigmoid is 1/(1+e) above zero and e/(1+e) below.
            let down = simd.neg_f32s(simd.abs_f32s(*gate));
            let decay = exp2(simd, simd.mul_f32s(down, simd.splat_f32s(std::f32::consts::LOG2_E)));
            let positive = simd.greater_than_f32s(*gate, zero);
            let top = simd.select_f32s(positive, one, decay);
            let sigmoid = simd.div_f32s(top, simd.add_f32s(one, decay));
            *out = simd.mul_f32s(simd.mul_f32s(*gate, sigmoid), *up);
        }
        for ((gate, up), out) in gates_rest.iter().zip(ups_rest).zip(outs_rest) {
            *out = gate / (1.0 + (-gate).exp()) * up;
        }
    }
}

/// Adds one run of floats to another.
pub(crate) fn add(target: &mut [f32], values: &[f32]) {
    target.iter_mut().zip(values).for_each(|(target, value)| *target += value);
}

/// The vectors for an instruction set that the processor has.
pub(crate) fn arch_of(isa: Isa) -> Arch {
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

    #[test]
    fn gates_and_norms_follow_their_formulas() {
        let (gate, up) = (ramp(77, 0.3), ramp(77, 0.1));
        let mut out = vec![0.0; 77];
        Arch::new().dispatch(Gate { gate: &gate, up: &up, out: &mut out });
        for ((gate, up), out) in gate.iter().zip(&up).zip(&out) {
            let expected = gate / (1.0 + (-gate).exp()) * up;
            assert!((out - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{gate}: {out}");
        }
        let gain = vec![2.0; 77];
        Arch::new().dispatch(Normalize { input: &gate, gain: &gain, epsilon: 0.0, out: &mut out });
        let mean_square = out.iter().map(|x| x * x).sum::<f32>() / 77.0;
        assert!((mean_square - 4.0).abs() < 1e-4, "{mean_square}");
    }
}
