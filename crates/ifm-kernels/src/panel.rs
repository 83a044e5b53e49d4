//! Activations rounded to bytes, in the order in which the integer kernels read them.
//!
//! Not here: how many tokens go together (`schedule`).

use crate::lanes::{Lanes, Task};

/// What shares a scale among activations, and how large it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rounding {
    /// 32 columns: the greatest magnitude is 127 steps.
    Blocks,
    /// All columns: the greatest magnitude is 127 steps.
    Token,
    /// All columns of all tokens: a step is this large.
    Fixed(f32),
}

/// Columns of a block of [`Rounding::Blocks`].
const BLOCK: usize = 32;
/// Adding it leaves the nearest integer in the low bits: 1.5 * 2^23.
const ROUND: f32 = 12_582_912.0;

/// One panel to be rounded.
pub(crate) struct RoundTask<'a> {
    /// Rows of `columns` activations, one for each token.
    pub(crate) input: &'a [f32],
    pub(crate) columns: usize,
    pub(crate) rounding: Rounding,
    /// Columns for which sums are wanted: those that share a scale of the weights.
    pub(crate) group: usize,
    /// Bytes of four activations: 4, or 8 for 16-bit integers in the order 0, 2, 1, 3.
    pub(crate) quad: usize,
    /// The sum of a group times this is its correction.
    pub(crate) zero: i32,
    /// For every four columns the activations of each token.
    pub(crate) bytes: &'a mut [u8],
    /// For each group the scale of each token, the correction, and scale times sum.
    pub(crate) scales: &'a mut [f32],
    pub(crate) corrections: &'a mut [i32],
    pub(crate) totals: &'a mut [f32],
}

impl Task for RoundTask<'_> {
    #[inline(always)]
    unsafe fn run<S: Lanes>(mut self) {
        round(&mut self);
    }
}

/// Rounds a panel: `q = round(x / scale)`, half to even.
#[inline(always)]
fn round(task: &mut RoundTask<'_>) {
    let tokens = task.input.len() / task.columns;
    let span = if task.rounding == Rounding::Blocks { BLOCK } else { task.columns };
    for token in 0..tokens {
        let row = &task.input[token * task.columns..][..task.columns];
        let mut total = 0;
        for (index, values) in row.chunks(span).enumerate() {
            let scale = match task.rounding {
                Rounding::Fixed(scale) => scale,
                _ => greatest(values) / 127.0,
            };
            let inverse = if scale > 0.0 { scale.recip() } else { 0.0 };
            for (part, values) in values.chunks(BLOCK).enumerate() {
                let column = index * span + part * BLOCK;
                let codes = codes(values, inverse);
                write_quads(task, token, tokens, column, &codes, values.len());
                if task.group >= task.columns {
                    total += sum(&codes);
                    continue;
                }
                for (half, codes) in codes[..values.len()].chunks(task.group).enumerate() {
                    let place = (column / task.group + half) * tokens + token;
                    note(task, place, scale, sum(codes));
                }
            }
            if task.group >= task.columns {
                note(task, token, scale, total);
            }
        }
    }
}

#[inline(always)]
fn note(task: &mut RoundTask<'_>, place: usize, scale: f32, sum: i32) {
    task.scales[place] = scale;
    task.corrections[place] = -task.zero * sum;
    task.totals[place] = scale * sum as f32;
}

/// The greatest magnitude. The order of magnitudes is that of their bits.
#[inline(always)]
fn greatest(values: &[f32]) -> f32 {
    let magnitudes = values.iter().map(|value| (value.to_bits() & 0x7FFF_FFFF) as i32);
    f32::from_bits(magnitudes.fold(0, i32::max) as u32)
}

#[inline(always)]
fn codes(values: &[f32], inverse: f32) -> [i8; BLOCK] {
    let mut codes = [0; BLOCK];
    let code = |value: f32| {
        let steps = (value * inverse).clamp(-127.0, 127.0);
        (steps + ROUND).to_bits() as u8 as i8
    };
    if let Ok(values) = <&[f32; BLOCK]>::try_from(values) {
        codes = values.map(code);
    } else {
        codes.iter_mut().zip(values).for_each(|(out, value)| *out = code(*value));
    }
    codes
}

#[inline(always)]
fn sum(codes: &[i8]) -> i32 {
    codes.iter().map(|code| i32::from(*code)).sum()
}

#[inline(always)]
fn write_quads(
    task: &mut RoundTask<'_>,
    token: usize,
    tokens: usize,
    column: usize,
    codes: &[i8; BLOCK],
    length: usize,
) {
    let first = column / 4;
    for (index, quad) in codes.as_chunks::<4>().0.iter().take(length.div_ceil(4)).enumerate() {
        let place = ((first + index) * tokens + token) * task.quad;
        if task.quad == 4 {
            task.bytes[place..][..4].copy_from_slice(&quad.map(|code| code as u8));
        } else {
            let [a, b, c, d] = quad.map(i16::from);
            let words = [a, c, b, d].map(i16::to_ne_bytes);
            task.bytes[place..][..8].copy_from_slice(words.as_flattened());
        }
    }
}
