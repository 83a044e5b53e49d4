//! Products of floats: weights are widened in registers, activations are taken as they are.
//!
//! A tile holds, for every two columns, the weights of sixteen outputs for the first and
//! then for the second, in the bits in which they are stored.
//!
//! Not here: products of bytes (`integer`).

use std::{
    marker::PhantomData,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use crate::{
    Format, Stored,
    kept::Kept,
    lanes::{LANES, Lanes, Task},
    pool::Pool,
    schedule::{self, Panel, Piece},
    tiles::Tiles,
};

/// Columns that go through a kernel at once where many rows pass, an even number. A panel of twelve rows is
/// then 48 KiB, and eight tiles of 32-bit floats that pass by it are 512 KiB, which a second-level cache holds.
/// With 512 products were up to 5 % slower: results are read and written once more.
const DEPTH: usize = 1024;
/// Tokens from which on a kernel computes more than it reads, and fetches what it reads next.
const FETCHED_TOKENS: usize = 6;
/// Pairs of columns that are fetched ahead: a cache of the second level is some fifteen cycles away, the
/// one behind it a hundred and more, and a pair of columns takes 24. Without it products of 1024 and 2048 were
/// 8 to 12 % slower, with half or twice as many none was faster.
const AHEAD: usize = 16;
/// Bytes of a line of the cache.
const LINE: usize = 64;
/// Rows whose interleaving is not worth waking a thread for.
const FEW_TOKENS: usize = 16;

/// A way in which weights are kept for float products.
pub(crate) trait Weights: 'static {
    /// Bytes of two columns of a tile.
    const PAIR: usize;
    /// Bytes of the scales of a group of columns of a tile; 0 where there are none.
    const SCALES: usize;

    /// Puts a row of a matrix into its lane of a tile.
    fn pack(stored: &Stored, row: usize, lane: usize, values: &mut [u8], scales: &mut [u8]);

    /// Scale and offset of a group: a weight is `code * scale + offset`.
    ///
    /// # Safety
    /// As [`Lanes`]; `SCALES` bytes.
    unsafe fn affine<S: Lanes>(_from: *const u8) -> [S::Floats; 2] {
        // SAFETY: the caller's promise.
        unsafe { [S::splat(1.0), S::splat(0.0)] }
    }

    /// Two columns of weights.
    ///
    /// # Safety
    /// As [`Lanes`]; `PAIR` bytes.
    unsafe fn load<S: Lanes>(from: *const u8, affine: [S::Floats; 2]) -> [S::Floats; 2];
}

/// 32-bit floats, and whatever has no kernel of its own.
pub(crate) struct F32;
/// 16-bit floats of IEEE 754.
pub(crate) struct F16;
/// The upper halves of 32-bit floats.
pub(crate) struct BF16;
/// Signed bytes with a scale for each output.
pub(crate) struct Bytes;
/// Nibbles with a scale and a zero point for each group.
pub(crate) struct Nibbles;

/// Places elements of `N` bytes of a row into a lane.
fn interleave<const N: usize>(row: &[u8], lane: usize, values: &mut [u8]) {
    let places = values.as_chunks_mut::<N>().0.iter_mut().skip(lane).step_by(LANES);
    for (place, value) in places.zip(row.as_chunks::<N>().0) {
        *place = *value;
    }
}

fn row_bytes(stored: &Stored, row: usize) -> &[u8] {
    let width = stored.format().row_bytes(stored.columns());
    &stored.bytes()[row * width..][..width]
}

impl Weights for F32 {
    const PAIR: usize = 8 * LANES;
    const SCALES: usize = 0;

    fn pack(stored: &Stored, row: usize, lane: usize, values: &mut [u8], _scales: &mut [u8]) {
        let mut floats = vec![0.0; stored.columns()];
        stored.decode_row(row, &mut floats);
        let bytes: Vec<u8> = floats.iter().flat_map(|value| value.to_ne_bytes()).collect();
        interleave::<4>(&bytes, lane, values);
    }

    #[inline(always)]
    unsafe fn load<S: Lanes>(from: *const u8, _affine: [S::Floats; 2]) -> [S::Floats; 2] {
        // SAFETY: the caller's promise.
        unsafe { [S::load_f32(from), S::load_f32(from.add(4 * LANES))] }
    }
}

impl Weights for F16 {
    const PAIR: usize = 4 * LANES;
    const SCALES: usize = 0;

    fn pack(stored: &Stored, row: usize, lane: usize, values: &mut [u8], _scales: &mut [u8]) {
        interleave::<2>(row_bytes(stored, row), lane, values);
    }

    #[inline(always)]
    unsafe fn load<S: Lanes>(from: *const u8, _affine: [S::Floats; 2]) -> [S::Floats; 2] {
        // SAFETY: the caller's promise.
        unsafe { [S::load_f16(from), S::load_f16(from.add(2 * LANES))] }
    }
}

impl Weights for BF16 {
    const PAIR: usize = 4 * LANES;
    const SCALES: usize = 0;

    fn pack(stored: &Stored, row: usize, lane: usize, values: &mut [u8], _scales: &mut [u8]) {
        interleave::<2>(row_bytes(stored, row), lane, values);
    }

    #[inline(always)]
    unsafe fn load<S: Lanes>(from: *const u8, _affine: [S::Floats; 2]) -> [S::Floats; 2] {
        // SAFETY: the caller's promise.
        unsafe { [S::load_bf16(from), S::load_bf16(from.add(2 * LANES))] }
    }
}

impl Weights for Bytes {
    const PAIR: usize = 2 * LANES;
    const SCALES: usize = 4 * LANES;

    fn pack(stored: &Stored, row: usize, lane: usize, values: &mut [u8], scales: &mut [u8]) {
        interleave::<1>(row_bytes(stored, row), lane, values);
        let all = &stored.bytes()[stored.rows() * stored.columns()..];
        scales[4 * lane..][..4].copy_from_slice(&all[4 * row..][..4]);
    }

    #[inline(always)]
    unsafe fn affine<S: Lanes>(from: *const u8) -> [S::Floats; 2] {
        // SAFETY: the caller's promise.
        unsafe { [S::load_f32(from), S::splat(0.0)] }
    }

    #[inline(always)]
    unsafe fn load<S: Lanes>(from: *const u8, [scale, _]: [S::Floats; 2]) -> [S::Floats; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let codes = [S::load_i8(from), S::load_i8(from.add(LANES))];
            [S::multiply(codes[0], scale), S::multiply(codes[1], scale)]
        }
    }
}

impl Weights for Nibbles {
    const PAIR: usize = LANES;
    const SCALES: usize = 3 * LANES;

    fn pack(stored: &Stored, row: usize, lane: usize, values: &mut [u8], scales: &mut [u8]) {
        interleave::<1>(row_bytes(stored, row), lane, values);
        let Format::Int4 { group, zeros } = stored.format() else { return };
        let groups = stored.columns() / group;
        let [width, per_row, _] = stored.format().sections(stored.columns());
        let (rows, bytes) = (stored.rows(), stored.bytes());
        for (index, place) in scales.chunks_exact_mut(Self::SCALES).enumerate() {
            let scale = rows * width + row * per_row + 2 * index;
            place[2 * lane..][..2].copy_from_slice(&bytes[scale..][..2]);
            let zero = rows * (width + per_row) + row * groups + index;
            place[2 * LANES + lane] = if zeros { bytes[zero] } else { 8 };
        }
    }

    #[inline(always)]
    unsafe fn affine<S: Lanes>(from: *const u8) -> [S::Floats; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let scale = S::load_f16(from);
            let zero = S::load_u8(from.add(2 * LANES));
            [scale, S::multiply(S::multiply(zero, scale), S::splat(-1.0))]
        }
    }

    #[inline(always)]
    unsafe fn load<S: Lanes>(from: *const u8, [scale, offset]: [S::Floats; 2]) -> [S::Floats; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let [low, high] = S::load_u4(from);
            [S::multiply_add(low, scale, offset), S::multiply_add(high, scale, offset)]
        }
    }
}

/// Arranges a matrix.
pub(crate) fn pack<W: Weights>(stored: &Stored) -> Tiles {
    let (outputs, columns) = (stored.rows(), stored.columns());
    let group = match stored.format() {
        Format::Int4 { group, .. } => group,
        _ => columns.next_multiple_of(2),
    };
    let scale_bytes = W::SCALES * columns.div_ceil(group);
    let sizes = (columns.div_ceil(2) * W::PAIR, scale_bytes);
    Tiles::new((outputs, columns, group), sizes, |row, lane, values, scales| {
        W::pack(stored, row, lane, values, scales);
    })
}

/// What the kernel works on.
struct FloatTask {
    values: *const u8,
    tile_bytes: usize,
    scales: *const u8,
    scale_bytes: usize,
    groups: usize,
    group_pairs: usize,
    /// For each column the activations of all tokens of the panel.
    input: *const f32,
    out: *mut f32,
    stride: usize,
    /// Whether sums begin at what the result holds, and not at zero.
    goes_on: bool,
}

/// The kernel as a task.
struct Sums<'a, W, const TILES: usize, const TOKENS: usize>(&'a FloatTask, PhantomData<W>);

impl<W: Weights, const TILES: usize, const TOKENS: usize> Task for Sums<'_, W, TILES, TOKENS> {
    #[inline(always)]
    unsafe fn run<S: Lanes>(self) {
        // SAFETY: the caller's promise; the task is made by `multiply`.
        unsafe { kernel::<S, W, TILES, TOKENS>(self.0) }
    }
}

/// Sums of `TILES` tiles for `TOKENS` tokens.
///
/// # Safety
/// As [`Lanes`]; the pointers of the task are good for its sizes.
#[inline(always)]
unsafe fn kernel<S: Lanes, W: Weights, const TILES: usize, const TOKENS: usize>(task: &FloatTask) {
    // SAFETY: the caller's promise: every offset below stays within a tile or the panel.
    unsafe {
        // Iterators and no places that are computed: with overflow checks loops over such places stay loops,
        // and sums in memory.
        let mut sums = [[S::splat(0.0); TILES]; TOKENS];
        if task.goes_on {
            for (token, sums) in sums.iter_mut().enumerate() {
                for (tile, sum) in sums.iter_mut().enumerate() {
                    *sum = S::load_f32(task.out.add(token * task.stride + tile * LANES).cast());
                }
            }
        }
        if TOKENS >= FETCHED_TOKENS {
            let next = task.out.wrapping_add(TILES * LANES);
            for (token, sums) in sums.iter().enumerate() {
                for (tile, _) in sums.iter().enumerate() {
                    S::fetch(next.wrapping_add(token * task.stride + tile * LANES).cast());
                }
            }
        }
        let (mut values, mut scales, mut input) = (task.values, task.scales, task.input);
        for _ in 0..task.groups {
            let mut affine = [W::affine::<S>(scales); TILES];
            for (tile, affine) in affine.iter_mut().enumerate().skip(1) {
                *affine = W::affine::<S>(scales.add(tile * task.scale_bytes));
            }
            for _ in 0..task.group_pairs {
                let (mut first, mut second) = ([S::splat(0.0); TILES], [S::splat(0.0); TILES]);
                let mut tile = values;
                for ((first, second), affine) in first.iter_mut().zip(&mut second).zip(&affine) {
                    [*first, *second] = W::load::<S>(tile, *affine);
                    if TOKENS >= FETCHED_TOKENS {
                        fetch::<S>(tile.wrapping_add(AHEAD * W::PAIR), W::PAIR);
                    }
                    tile = tile.wrapping_add(task.tile_bytes);
                }
                if TOKENS >= FETCHED_TOKENS {
                    fetch::<S>(input.wrapping_add(AHEAD * 2 * TOKENS).cast(), 8 * TOKENS);
                }
                for (token, sums) in sums.iter_mut().enumerate() {
                    let value = S::splat(*input.add(token));
                    for (sum, weight) in sums.iter_mut().zip(&first) {
                        *sum = S::multiply_add(*weight, value, *sum);
                    }
                }
                for (token, sums) in sums.iter_mut().enumerate() {
                    let value = S::splat(*input.add(TOKENS + token));
                    for (sum, weight) in sums.iter_mut().zip(&second) {
                        *sum = S::multiply_add(*weight, value, *sum);
                    }
                }
                values = values.add(W::PAIR);
                input = input.add(2 * TOKENS);
            }
            scales = scales.add(W::SCALES);
        }
        for (token, sums) in sums.iter().enumerate() {
            for (tile, sum) in sums.iter().enumerate() {
                S::store(task.out.add(token * task.stride + tile * LANES), *sum);
            }
        }
    }
}

/// Fetches the lines of `bytes` bytes, three at most.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
unsafe fn fetch<S: Lanes>(from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise; what is fetched need not be there.
    unsafe {
        S::fetch(from);
        if bytes > LINE {
            S::fetch(from.wrapping_add(LINE));
        }
        if bytes > 2 * LINE {
            S::fetch(from.wrapping_add(2 * LINE));
        }
    }
}

/// Multiplies each of `tokens` rows of `input` with the matrix.
pub(crate) fn multiply<S: Lanes, W: Weights>(
    tiles: &Tiles,
    pool: &Pool,
    input: &[f32],
    tokens: usize,
    out: &mut [f32],
) {
    let columns = tiles.columns.next_multiple_of(2);
    let panels = schedule::panels(tokens, S::FLOAT_TOKENS);
    let mut interleaved = Kept::used(tokens * columns);
    fill_panels((pool, &panels), tiles.columns, input, &mut interleaved);
    let interleaved = &interleaved;
    let run = |piece: &Piece| {
        let (first, length) = (piece.columns.start, piece.columns.len());
        let group = tiles.group.min(length.next_multiple_of(2));
        let groups_before = first / tiles.group;
        let values = tiles.values(piece.tile).wrapping_add(first / 2 * W::PAIR);
        let task = FloatTask {
            values,
            tile_bytes: tiles.tile_bytes,
            scales: match W::SCALES {
                0 => values,
                bytes => tiles.scales(piece.tile).wrapping_add(groups_before * bytes),
            },
            scale_bytes: tiles.scale_bytes,
            groups: length.div_ceil(group),
            group_pairs: group / 2,
            input: interleaved[piece.panel.first * columns + first * piece.panel.tokens..].as_ptr(),
            out: piece.out,
            stride: piece.stride,
            goes_on: first > 0,
        };
        // SAFETY: `Packed::new` takes only an `Isa` that the processor has; the pointers point to
        // whole tiles, a whole panel and the piece's own outputs.
        unsafe {
            match (piece.panel.tokens, piece.tiles) {
                (1, 8) => S::run(Sums::<W, 8, 1>(&task, PhantomData)),
                (1, 4) => S::run(Sums::<W, 4, 1>(&task, PhantomData)),
                (1, _) => S::run(Sums::<W, 1, 1>(&task, PhantomData)),
                (4, 2) => S::run(Sums::<W, 2, 4>(&task, PhantomData)),
                (4, _) => S::run(Sums::<W, 1, 4>(&task, PhantomData)),
                (12, 2) => S::run(Sums::<W, 2, 12>(&task, PhantomData)),
                _ if S::FLOAT_TOKENS == 12 => S::run(Sums::<W, 1, 12>(&task, PhantomData)),
                _ => S::run(Sums::<W, 1, 6>(&task, PhantomData)),
            }
        }
    };
    // One token alone: the memory is the limit, and more streams get more of it.
    let tile_step = |tokens| match tokens {
        1 if S::FLOAT_TOKENS >= 12 => 8,
        1 => 4,
        4 | 12 if S::FLOAT_TOKENS >= 12 => 2,
        _ => 1,
    };
    let depth = if tiles.group < columns { DEPTH.next_multiple_of(tiles.group) } else { DEPTH };
    let sizes = (columns * size_of::<f32>(), depth);
    schedule::spread((pool, tiles, &panels), sizes, tile_step, run, out);
}

/// Activations of all panels, column by column in each.
fn fill_panels((pool, panels): (&Pool, &[Panel]), columns: usize, input: &[f32], out: &mut [f32]) {
    let mut left = out;
    let mut tasks = Vec::with_capacity(panels.len());
    for panel in panels {
        let place;
        (place, left) = left.split_at_mut(panel.tokens * columns.next_multiple_of(2));
        tasks.push(Mutex::new((&input[panel.first * columns..][..panel.tokens * columns], place)));
    }
    let fill = |range: Range<usize>| {
        for task in &tasks[range] {
            let (rows, place) = &mut *task.lock().unwrap_or_else(PoisonError::into_inner);
            fill_panel(rows, columns, place);
        }
    };
    match panels.iter().map(|panel| panel.tokens).sum::<usize>() > FEW_TOKENS {
        true => pool.run(tasks.len(), fill),
        false => fill(0..tasks.len()),
    }
}

/// Activations of a panel, column by column, with zeros for the missing second column if their
/// number is odd.
fn fill_panel(rows: &[f32], columns: usize, out: &mut [f32]) {
    out[rows.len()..].fill(0.0);
    match rows.len() / columns {
        1 => out[..columns].copy_from_slice(rows),
        4 => fill::<4>(rows, columns, out),
        6 => fill::<6>(rows, columns, out),
        _ => fill::<12>(rows, columns, out),
    }
}

/// The same for `TOKENS` tokens, a line of the cache from each in turn: rows that lie a power of two
/// apart push each other out of the first-level cache.
fn fill<const TOKENS: usize>(rows: &[f32], columns: usize, out: &mut [f32]) {
    let places = out.as_chunks_mut::<TOKENS>().0;
    for (index, places) in places.chunks_mut(LANES).enumerate() {
        for (token, row) in rows.chunks_exact(columns).enumerate().take(TOKENS) {
            for (place, value) in places.iter_mut().zip(row.iter().skip(index * LANES)) {
                place[token] = *value;
            }
        }
    }
}
