//! Activations rounded to bytes, in the order in which the integer kernels read them.
//!
//! Not here: how many tokens go together (`schedule`).

use crate::lanes::{LANES, Lanes, Task};

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
        // SAFETY: the caller's promise.
        unsafe { round::<S>(&mut self) };
    }
}

/// Rounds a panel: `q = round(x / scale)`, half to even.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn round<S: Lanes>(task: &mut RoundTask<'_>) {
    let tokens = task.input.len() / task.columns;
    let span = if task.rounding == Rounding::Blocks { BLOCK } else { task.columns };
    for token in 0..tokens {
        let row = &task.input[token * task.columns..][..task.columns];
        let mut total = 0;
        for (index, values) in row.chunks(span).enumerate() {
            let scale = match task.rounding {
                Rounding::Fixed(scale) => scale,
                // SAFETY: the caller's promise.
                _ => (unsafe { greatest::<S>(values) }) / 127.0,
            };
            let inverse = if scale > 0.0 { scale.recip() } else { 0.0 };
            for (part, values) in values.chunks(BLOCK).enumerate() {
                let column = index * span + part * BLOCK;
                // SAFETY: the caller's promise.
                let (codes, sums) = unsafe { codes::<S>(values, inverse) };
                write_quads(task, token, tokens, column, &codes, values.len());
                if task.group >= task.columns {
                    total = i32::wrapping_add(total, sums[0].wrapping_add(sums[1]));
                } else if task.group == LANES {
                    for (half, sum) in
                        sums.into_iter().enumerate().take(values.len().div_ceil(LANES))
                    {
                        note(task, (column / LANES + half) * tokens + token, scale, sum);
                    }
                } else {
                    note(
                        task,
                        column / task.group * tokens + token,
                        scale,
                        sums[0].wrapping_add(sums[1]),
                    );
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
    // Activations that are not finite, as damaged weights give, have sums of any size and no right result.
    task.corrections[place] = task.zero.wrapping_neg().wrapping_mul(sum);
    task.totals[place] = scale * sum as f32;
}

/// The greatest magnitude.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn greatest<S: Lanes>(values: &[f32]) -> f32 {
    let (vectors, rest) = values.as_chunks::<LANES>();
    let mut last = [0.0; LANES];
    last[..rest.len()].copy_from_slice(rest);
    // SAFETY: the caller's promise; each pointer is one to sixteen floats.
    unsafe {
        let mut greatest = S::load_f32(last.as_ptr().cast());
        for vector in vectors {
            greatest = S::greater(greatest, S::load_f32(vector.as_ptr().cast()));
        }
        S::greatest(greatest)
    }
}

/// The codes of up to a block of values, nothing for what is missing; the sum of each half.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn codes<S: Lanes>(values: &[f32], inverse: f32) -> ([i8; BLOCK], [i32; 2]) {
    let mut padded = [0.0; BLOCK];
    let whole = <&[f32; BLOCK]>::try_from(values).unwrap_or_else(|_| {
        padded[..values.len()].copy_from_slice(values);
        &padded
    });
    let (mut codes, mut sums) = ([0_i8; BLOCK], [0; 2]);
    let halves = whole.as_chunks::<LANES>().0.iter().zip(codes.as_chunks_mut::<LANES>().0);
    for ((values, codes), sum) in halves.zip(&mut sums) {
        // SAFETY: the caller's promise; sixteen floats are read, sixteen bytes written.
        *sum = unsafe {
            let values = S::load_f32(values.as_ptr().cast());
            S::round(values, S::splat(inverse), codes.as_mut_ptr())
        };
    }
    (codes, sums)
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
