//! How a product is cut into pieces, and the pieces spread over threads.
//!
//! Tokens go through the kernels in panels of as many as the registers have room for,
//! outputs in tiles of sixteen. A sum has the same order in every panel and every piece,
//! so a token's result does not depend on the other tokens, nor on the threads.
//!
//! Not here: the sums (`float`, `integer`), the threads (`pool`).

use std::ops::Range;

use crate::{lanes::LANES, pool::Pool, tiles::Tiles};

/// Tiles of one piece: long enough to be worth a thread's while, short enough to share.
const PIECE_TILES: usize = 8;
/// Activations that go by the same tiles, in bytes: the more, the less often tiles come from behind the
/// second-level cache, and the fewer pieces there are to share.
const RESIDENT_BYTES: usize = 768 << 10;
/// Panels from which on sums are interrupted, so that caches of the first level hold what is read
/// again and again.
const PANELS_MANY: usize = 4;

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
    /// Columns that are summed up here. Where they are not the first, the result holds the sums of
    /// those before, and the kernel goes on from there.
    pub(crate) columns: Range<usize>,
}

/// The result, which pieces write without overlap.
struct Out(*mut f32);

// SAFETY: no two pieces write the same floats.
unsafe impl Sync for Out {}

/// Calls `run` for pieces that cover a product. `tile_step` says how many tiles a kernel
/// for that many tokens takes at once; `token_bytes` is what a token takes in a panel; `depth` is how
/// many columns of a tile and a panel fit into a first-level cache together.
pub(crate) fn spread(
    (pool, tiles, panels): (&Pool, &Tiles, &[Panel]),
    (token_bytes, depth): (usize, usize),
    tile_step: impl Fn(usize) -> usize + Sync,
    run: impl Fn(&Piece) + Sync,
    out: &mut [f32],
) {
    let widest = panels.first().map_or(1, |panel| panel.tokens);
    let columns = tiles.columns;
    // Memory is the limit where few rows pass, and runs through tiles from end to end.
    let depth = if panels.len() < PANELS_MANY { columns } else { depth.min(columns) };
    let panel_bytes = (token_bytes * widest * depth).div_ceil(columns.max(1));
    let panels_resident = (RESIDENT_BYTES / panel_bytes.max(1)).max(1);
    let blocks: Vec<&[Panel]> = panels.chunks(panels_resident).collect();
    let tiles_all = tiles.outputs.div_ceil(LANES);
    let pieces = tiles_all.div_ceil(PIECE_TILES);
    let result = Out(out.as_mut_ptr());
    pool.run(blocks.len() * pieces, |range: Range<usize>| {
        let result = &result;
        for item in range {
            let first = item % pieces * PIECE_TILES;
            let last = (first + PIECE_TILES).min(tiles_all);
            for from in (0..columns).step_by(depth.max(1)) {
                let columns = from..(from + depth).min(columns);
                for class in blocks[item / pieces].chunk_by(|a, b| a.tokens == b.tokens) {
                    let step = tile_step(class.first().map_or(1, |panel| panel.tokens));
                    let tile_pieces = || {
                        let mut tile = first;
                        std::iter::from_fn(move || {
                            let at = (tile < last).then_some(tile)?;
                            let whole = last.min(tiles.outputs / LANES).saturating_sub(at) >= step;
                            let count = if whole { step } else { 1 };
                            tile += count;
                            Some((at, count))
                        })
                    };
                    if panels.len() < PANELS_MANY {
                        // Weights come from memory, and each once.
                        for piece in tile_pieces() {
                            for panel in class {
                                one(tiles, piece, (*panel, &columns), &run, result);
                            }
                        }
                    } else {
                        // The first-level cache holds a panel, the second the weights that pass by it.
                        for panel in class {
                            for piece in tile_pieces() {
                                one(tiles, piece, (*panel, &columns), &run, result);
                            }
                        }
                    }
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
    (panel, columns): (Panel, &Range<usize>),
    run: &impl Fn(&Piece),
    result: &Out,
) {
    let stride = tiles.outputs;
    // SAFETY: the result has `outputs` floats for each token, and the panel's tokens are there.
    let out = unsafe { result.0.add(panel.first * stride + tile * LANES) };
    let present = tiles.outputs - tile * LANES;
    if present >= LANES {
        run(&Piece { tile, tiles: count, panel, out, stride, columns: columns.clone() });
        return;
    }
    let mut sums = [0.0; 16 * LANES];
    for (token, sums) in sums.chunks_exact_mut(LANES).take(panel.tokens).enumerate() {
        if columns.start > 0 {
            // SAFETY: as above; only the outputs that there are.
            unsafe { out.add(token * stride).copy_to_nonoverlapping(sums.as_mut_ptr(), present) };
        }
    }
    let to = sums.as_mut_ptr();
    run(&Piece { tile, tiles: 1, panel, out: to, stride: LANES, columns: columns.clone() });
    for (token, sums) in sums.chunks_exact(LANES).take(panel.tokens).enumerate() {
        // SAFETY: as above; only the outputs that there are.
        unsafe { out.add(token * stride).copy_from_nonoverlapping(sums.as_ptr(), present) };
    }
}
