//! How a product is cut into pieces, and the pieces spread over threads.
//!
//! Tokens go through the kernels in panels of as many as the registers have room for,
//! outputs in tiles of sixteen. A sum has the same order in every panel and every piece,
//! so a token's result does not depend on the tokens beside it, nor on the threads.
//!
//! Not here: the sums (`float`, `integer`), the threads (`pool`).

use std::ops::Range;

use crate::{lanes::LANES, pool::Pool, tiles::Tiles};

/// Tiles of one piece: long enough to be worth a thread's while, short enough to share.
const PIECE_TILES: usize = 8;
/// Activations that stay in the second-level cache while tiles pass by, in bytes.
const RESIDENT_BYTES: usize = 384 << 10;

/// Tokens that go through a kernel together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panel {
    /// The first token.
    pub(crate) first: usize,
    /// How many: the widest, 4 or 1.
    pub(crate) tokens: usize,
}

/// Cuts tokens into panels: as many of the widest as there are, then of 4, then of 1.
pub(crate) fn panels(tokens: usize, widest: usize) -> Vec<Panel> {
    let mut panels = Vec::with_capacity(tokens / widest + 8);
    let mut first = 0;
    for width in [widest, 4, 1] {
        while tokens - first >= width {
            panels.push(Panel { first, tokens: width });
            first += width;
        }
    }
    panels
}

/// Some tiles by one panel, and where the result goes.
pub(crate) struct Piece {
    pub(crate) tile: usize,
    /// Neighbouring tiles; as many as the kernel for the panel takes.
    pub(crate) tiles: usize,
    pub(crate) panel: Panel,
    /// Sixteen floats for the first tile and token.
    pub(crate) out: *mut f32,
    /// From one token to the next, in floats.
    pub(crate) stride: usize,
}

/// The result, which pieces write without overlap.
struct Out(*mut f32);

// SAFETY: no two pieces write the same floats.
unsafe impl Sync for Out {}

/// Calls `run` for pieces that cover a product. `tile_step` says how many tiles a kernel
/// for that many tokens takes at once; `token_bytes` is what a token takes in a panel.
pub(crate) fn spread(
    (pool, tiles, panels): (&Pool, &Tiles, &[Panel]),
    token_bytes: usize,
    tile_step: impl Fn(usize) -> usize + Sync,
    run: impl Fn(&Piece) + Sync,
    out: &mut [f32],
) {
    let widest = panels.first().map_or(1, |panel| panel.tokens);
    let panels_resident = (RESIDENT_BYTES / (token_bytes * widest).max(1)).max(1);
    let blocks: Vec<&[Panel]> = panels.chunks(panels_resident).collect();
    let tiles_all = tiles.outputs.div_ceil(LANES);
    let columns = tiles_all.div_ceil(PIECE_TILES);
    let result = Out(out.as_mut_ptr());
    pool.run(blocks.len() * columns, |range: Range<usize>| {
        let result = &result;
        for item in range {
            let first = item % columns * PIECE_TILES;
            let last = (first + PIECE_TILES).min(tiles_all);
            for class in blocks[item / columns].chunk_by(|a, b| a.tokens == b.tokens) {
                let step = tile_step(class.first().map_or(1, |panel| panel.tokens));
                let mut tile = first;
                while tile < last {
                    let whole = (last.min(tiles.outputs / LANES)).saturating_sub(tile) >= step;
                    let count = if whole { step } else { 1 };
                    for panel in class {
                        one(tiles, (tile, count), *panel, &run, result);
                    }
                    tile += count;
                }
            }
        }
    });
}

/// One piece; outputs beyond the last go to a place that is thrown away.
#[inline(always)]
fn one(
    tiles: &Tiles,
    (tile, count): (usize, usize),
    panel: Panel,
    run: &impl Fn(&Piece),
    result: &Out,
) {
    let stride = tiles.outputs;
    // SAFETY: the result has `outputs` floats for each token, and the panel's tokens are there.
    let out = unsafe { result.0.add(panel.first * stride + tile * LANES) };
    let present = tiles.outputs - tile * LANES;
    if present >= LANES {
        run(&Piece { tile, tiles: count, panel, out, stride });
        return;
    }
    let mut sums = [0.0; 16 * LANES];
    run(&Piece { tile, tiles: 1, panel, out: sums.as_mut_ptr(), stride: LANES });
    for (token, sums) in sums.chunks_exact(LANES).take(panel.tokens).enumerate() {
        // SAFETY: as above; only the outputs that there are.
        unsafe { out.add(token * stride).copy_from_nonoverlapping(sums.as_ptr(), present) };
    }
}
