//! Products of bytes: weights as small unsigned codes, activations rounded to signed bytes.
//!
//! A code represents `code - ZERO` steps. The sum over a group of columns is
//! `sum(code * a) - ZERO * sum(a)`: the second part is known when the activations have
//! been rounded, and is where the sum starts. Formats with a minimum take it off at the
//! end of a group: `scale * sum(code * a) - minimum * sum(a)`.
//!
//! A tile holds for every four columns four codes of each of sixteen outputs, a byte
//! each; or, of formats with nibbles, the next four columns in the high nibbles.
//!
//! Not here: products of floats (`float`), the formats' bits (`codes`).

use std::{
    marker::PhantomData,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use crate::{
    Stored,
    kept::Kept,
    lanes::{LANES, Lanes, Task},
    panel::{RoundTask, Rounding},
    pool::Pool,
    schedule::{self, Piece},
    tiles::Tiles,
};

/// Tokens whose rounding is not worth waking a thread for.
const FEW_TOKENS: usize = 16;

/// Where the scales of a tile lie.
pub(crate) trait Scales: 'static {
    /// Whether there are minima.
    const MINIMA: bool = false;

    /// Bytes for a tile with that many groups of columns.
    fn bytes(groups: usize) -> usize;

    /// The scales of a group.
    ///
    /// # Safety
    /// As [`Lanes`]; `from` is where the scales of a tile begin.
    unsafe fn scale<S: Lanes>(from: *const u8, group: usize) -> S::Floats;

    /// The minima of a group, which are taken off.
    ///
    /// # Safety
    /// As `scale`.
    unsafe fn minimum<S: Lanes>(_from: *const u8, _group: usize) -> S::Floats {
        // SAFETY: the caller's promise.
        unsafe { S::splat(0.0) }
    }
}

/// A way in which weights are kept for integer products.
pub(crate) trait Codes: 'static {
    /// Where scales lie.
    type Scales: Scales;
    /// Whether codes are below 16 and kept in nibbles.
    const NIBBLES: bool;
    /// Columns that share a scale: 16 or 32; 0 for all.
    const GROUP: usize;
    /// The code that represents zero.
    const ZERO: u8;

    /// The codes of a row, one a byte, and its scales into its lane.
    fn unpack(stored: &Stored, row: usize, lane: usize, codes: &mut [u8], scales: &mut [u8]);
}

/// Arranges a matrix.
pub(crate) fn pack<C: Codes>(stored: &Stored) -> Tiles {
    let (outputs, columns) = (stored.rows(), stored.columns());
    let group = if C::GROUP == 0 { columns } else { C::GROUP };
    let per_line = if C::NIBBLES { 8 } else { 4 };
    let padded = columns.next_multiple_of(per_line);
    let sizes = (padded / per_line * 4 * LANES, C::Scales::bytes(columns.div_ceil(group)));
    let mut codes = vec![C::ZERO; padded];
    Tiles::new((outputs, columns, group), sizes, |row, lane, values, scales| {
        C::unpack(stored, row, lane, &mut codes[..columns], scales);
        let lines = values.chunks_exact_mut(4 * LANES).zip(codes.chunks_exact(per_line));
        for (line, codes) in lines {
            let place = &mut line[4 * lane..][..4];
            for (index, place) in place.iter_mut().enumerate() {
                *place = codes[index];
                if C::NIBBLES {
                    *place |= codes[4 + index] << 4;
                }
            }
        }
    })
}

/// What the kernel works on.
struct IntegerTask {
    values: *const u8,
    scales: *const u8,
    groups: usize,
    /// Quads of columns in a group.
    group_quads: usize,
    /// The panel's activations, and for each group: scales, corrections, totals.
    input: *const u8,
    input_scales: *const f32,
    corrections: *const i32,
    totals: *const f32,
    out: *mut f32,
    stride: usize,
}

/// The kernel as a task.
struct Sums<'a, C, const TOKENS: usize>(&'a IntegerTask, PhantomData<C>);

impl<C: Codes, const TOKENS: usize> Task for Sums<'_, C, TOKENS> {
    #[inline(always)]
    unsafe fn run<S: Lanes>(self) {
        // SAFETY: the caller's promise; the task is made by `multiply`.
        unsafe { kernel::<S, C, TOKENS>(self.0) }
    }
}

/// Sums of one tile for `TOKENS` tokens.
///
/// # Safety
/// As [`Lanes`]; the pointers of the task are good for its sizes.
#[inline(always)]
unsafe fn kernel<S: Lanes, C: Codes, const TOKENS: usize>(task: &IntegerTask) {
    // SAFETY: the caller's promise: every offset below stays within the tile or the panel.
    unsafe {
        let mut floats = [S::splat(0.0); TOKENS];
        let (mut values, mut input) = (task.values, task.input);
        let quads = if C::GROUP == 0 { task.group_quads } else { C::GROUP / 4 };
        for group in 0..task.groups {
            let place = group * TOKENS;
            let mut sums = [S::start8(0); TOKENS];
            for (token, sums) in sums.iter_mut().enumerate() {
                let correction = *task.corrections.add(place + token);
                *sums = if C::NIBBLES { S::start4(correction) } else { S::start8(correction) };
            }
            if C::NIBBLES {
                for _ in 0..quads / 2 {
                    for nibbles in S::load_nibbles(values) {
                        for (token, sums) in sums.iter_mut().enumerate() {
                            *sums = S::dot4(*sums, nibbles, input.add(4 * token));
                        }
                        input = input.add(4 * TOKENS);
                    }
                    values = values.add(4 * LANES);
                }
            } else {
                for _ in 0..quads {
                    let bytes = S::load_bytes(values);
                    for (token, sums) in sums.iter_mut().enumerate() {
                        *sums = S::dot8(*sums, bytes, input.add(S::QUAD * token));
                    }
                    input = input.add(S::QUAD * TOKENS);
                    values = values.add(4 * LANES);
                }
            }
            let scale = C::Scales::scale::<S>(task.scales, group);
            for token in 0..TOKENS {
                let mut sum = sums[token];
                if C::NIBBLES {
                    sum = S::finish4(sum, *task.corrections.add(place + token));
                }
                let scale = S::multiply(scale, S::splat(*task.input_scales.add(place + token)));
                floats[token] = S::multiply_add(S::to_floats(sum), scale, floats[token]);
            }
            if C::Scales::MINIMA {
                let minimum = C::Scales::minimum::<S>(task.scales, group);
                for (token, floats) in floats.iter_mut().enumerate() {
                    let total = S::splat(-*task.totals.add(place + token));
                    *floats = S::multiply_add(minimum, total, *floats);
                }
            }
        }
        for (token, floats) in floats.iter().enumerate() {
            S::store(task.out.add(token * task.stride), *floats);
        }
    }
}

/// The first `count` of what is left of a slice.
fn take<'a, T>(left: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (first, rest) = std::mem::take(left).split_at_mut(count);
    *left = rest;
    first
}

/// Activations of a product, rounded.
struct Rounded {
    bytes: Kept<u8>,
    scales: Kept<f32>,
    corrections: Kept<i32>,
    totals: Kept<f32>,
}

/// Multiplies each of `tokens` rows of `input` with the matrix.
pub(crate) fn multiply<S: Lanes, C: Codes>(
    (tiles, rounding): (&Tiles, Rounding),
    pool: &Pool,
    input: &[f32],
    tokens: usize,
    out: &mut [f32],
) {
    let quad = if C::NIBBLES { 4 } else { S::QUAD };
    let quads = tiles.columns.div_ceil(4);
    let groups = tiles.columns.div_ceil(tiles.group);
    let panels = schedule::panels(tokens, S::INTEGER_TOKENS);
    let mut rounded = Rounded {
        bytes: Kept::zeros(tokens * quads * quad),
        scales: Kept::zeros(tokens * groups),
        corrections: Kept::zeros(tokens * groups),
        totals: Kept::zeros(tokens * groups),
    };
    let mut left = (
        &mut rounded.bytes[..],
        &mut rounded.scales[..],
        &mut rounded.corrections[..],
        &mut rounded.totals[..],
    );
    let mut tasks = Vec::with_capacity(panels.len());
    for panel in &panels {
        let (bytes, notes) = (panel.tokens * quads * quad, panel.tokens * groups);
        tasks.push(Mutex::new(Some(RoundTask {
            input: &input[panel.first * tiles.columns..][..panel.tokens * tiles.columns],
            columns: tiles.columns,
            rounding,
            group: tiles.group,
            quad,
            zero: i32::from(C::ZERO) - if C::NIBBLES { 0 } else { S::TAKEN_OFF },
            bytes: take(&mut left.0, bytes),
            scales: take(&mut left.1, notes),
            corrections: take(&mut left.2, notes),
            totals: take(&mut left.3, notes),
        })));
    }
    let round = |range: Range<usize>| {
        for task in &tasks[range] {
            let task = task.lock().unwrap_or_else(PoisonError::into_inner).take();
            // SAFETY: `Packed::new` takes only an `Isa` that the processor has.
            task.into_iter().for_each(|task| unsafe { S::run(task) });
        }
    };
    match tokens > FEW_TOKENS {
        true => pool.run(tasks.len(), round),
        false => round(0..tasks.len()),
    }
    drop(tasks);
    let rounded = &rounded;
    let run = |piece: &Piece| {
        let notes = piece.panel.first * groups;
        let task = IntegerTask {
            values: tiles.values(piece.tile),
            scales: tiles.scales(piece.tile),
            groups,
            group_quads: tiles.group.div_ceil(4),
            input: rounded.bytes[piece.panel.first * quads * quad..].as_ptr(),
            input_scales: rounded.scales[notes..].as_ptr(),
            corrections: rounded.corrections[notes..].as_ptr(),
            totals: rounded.totals[notes..].as_ptr(),
            out: piece.out,
            stride: piece.stride,
        };
        // SAFETY: `Packed::new` takes only an `Isa` that the processor has; the pointers point to
        // a whole tile, a whole panel and the piece's own outputs.
        unsafe {
            match piece.panel.tokens {
                1 => S::run(Sums::<C, 1>(&task, PhantomData)),
                4 => S::run(Sums::<C, 4>(&task, PhantomData)),
                _ => S::run(Sums::<C, 12>(&task, PhantomData)),
            }
        }
    };
    let sizes = (quads * quad, tiles.columns);
    schedule::spread((pool, tiles, &panels), sizes, |_| 1, run, out);
}
