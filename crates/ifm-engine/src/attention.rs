//! Causal attention over the caches, tile by tile, with an online softmax.
//!
//! The work is cut into blocks: some tokens of one sequence and the query heads that
//! share one key head, at most [`BLOCK_LINES`] lines together. A block walks over the
//! tiles of the cache once, keeping for each line the greatest score so far and the
//! weighted sum of values (Milakov and Gimelshein 2018; Dao et al. 2022), so a prompt
//! of any length needs no matrix of scores. A line's result does not depend on the
//! other lines of its block, nor on how a prompt was cut into chunks.
//!
//! Not here: projections, rotation, the layout of a tile (`kv`).

use std::sync::{Mutex, PoisonError};

use ifm_kernels::{
    Pool,
    simd::{Product, exp2_below, greatest, scale},
};
use pulp::{Arch, Simd, WithSimd};

use crate::{
    kv::{HeadPlace, KvCache, TILE_TOKENS},
    linear::{Matrix, Projected},
    shape::ModelShape,
};

/// Lines (a token and a query head) in a block: with heads of 64 their queries,
/// sums and scores take 24 KiB next to the 32 KiB of a tile, in reach of the first
/// two caches.
const BLOCK_LINES: usize = 32;

/// Successive tokens of one sequence that attend to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// Which cache.
    pub(crate) sequence: usize,
    /// Row of the first token in the projected queries.
    pub(crate) query_row: usize,
    /// Row of the first token in the output.
    pub(crate) out_row: usize,
    /// Number of tokens.
    pub(crate) tokens: usize,
    /// Position of the first token in its sequence.
    pub(crate) position: usize,
}

/// A block and where its output goes: one cell for each of its tokens.
struct Block<'a> {
    span: Span,
    kv_head: usize,
    cells: Vec<&'a mut [f32]>,
}

/// Attends with the queries of all spans; gives one row of heads for each token.
///
/// Part 0 of `projected` holds the queries, turned to their positions. Spans are in
/// the order of their output rows, without gaps.
pub(crate) fn attend(
    (arch, pool): (Arch, &Pool),
    shape: &ModelShape,
    layer: usize,
    spans: &[Span],
    caches: &[&mut KvCache],
    projected: &Projected<'_>,
) -> Matrix {
    let rows = spans.iter().map(|span| span.tokens).sum();
    let mut out = Matrix::zeros(rows, shape.heads * shape.head_width);
    let blocks: Vec<Mutex<Block<'_>>> =
        cut_into_blocks(shape, spans, &mut out).into_iter().map(Mutex::new).collect();
    pool.run(blocks.len(), |range| {
        let mut scratch = Scratch::new(shape);
        for block in &blocks[range] {
            let mut block = block.lock().unwrap_or_else(PoisonError::into_inner);
            let cache = &*caches[block.span.sequence];
            scratch.gather(shape, &block, projected);
            let place = HeadPlace::new(shape, layer, block.kv_head);
            let lines = block.cells.len() * shape.group();
            arch.dispatch(Walk {
                scratch: &mut scratch,
                cache,
                place,
                lines,
                group: shape.group(),
                width: shape.head_width,
                position: block.span.position,
            });
            scratch.scatter(shape, &mut block);
        }
    });
    drop(blocks);
    out
}

fn cut_into_blocks<'a>(shape: &ModelShape, spans: &[Span], out: &'a mut Matrix) -> Vec<Block<'a>> {
    let (kv_heads, group) = (shape.kv_heads, shape.group());
    let tokens_most = (BLOCK_LINES / group).max(1);
    let mut cells = out.data.chunks_exact_mut(group * shape.head_width);
    let mut blocks = Vec::new();
    for span in spans {
        for start in (0..span.tokens).step_by(tokens_most) {
            let tokens = tokens_most.min(span.tokens - start);
            let span = Span {
                query_row: span.query_row + start,
                out_row: span.out_row + start,
                position: span.position + start,
                tokens,
                ..*span
            };
            let first = blocks.len();
            let empty = |kv_head| Block { span, kv_head, cells: Vec::with_capacity(tokens) };
            blocks.extend((0..kv_heads).map(empty));
            // A row of the output is one cell for each key head.
            for (index, cell) in cells.by_ref().take(tokens * kv_heads).enumerate() {
                blocks[first + index % kv_heads].cells.push(cell);
            }
        }
    }
    blocks
}

/// Memory of one block in work.
struct Scratch {
    /// Scaled queries, a line each.
    queries: Vec<f32>,
    /// Scores of a tile, then its weights.
    scores: Vec<f32>,
    /// Weighted sums of values.
    sums: Vec<f32>,
    /// For each line: the greatest score so far, and the sum of weights.
    tops: Vec<f32>,
    totals: Vec<f32>,
    /// Keys or values of a tile, widened.
    room: Vec<f32>,
}

impl Scratch {
    fn new(shape: &ModelShape) -> Self {
        let lines = BLOCK_LINES.max(shape.group());
        Self {
            queries: vec![0.0; lines * shape.head_width],
            scores: vec![0.0; lines * TILE_TOKENS],
            sums: vec![0.0; lines * shape.head_width],
            tops: vec![0.0; lines],
            totals: vec![0.0; lines],
            room: vec![0.0; HeadPlace::numbers(shape)],
        }
    }

    /// Fetches the queries of a block and clears the sums.
    fn gather(&mut self, shape: &ModelShape, block: &Block<'_>, projected: &Projected<'_>) {
        let (width, group) = (shape.head_width, shape.group());
        // Scores are exponents of two, so the factor of the change of base goes here.
        let factor = std::f32::consts::LOG2_E / (width as f32).sqrt();
        let line_floats = group * width;
        let targets = self.queries.chunks_exact_mut(line_floats).take(block.cells.len());
        for (token, target) in targets.enumerate() {
            let row = projected.row(0, block.span.query_row + token);
            let heads = &row[block.kv_head * line_floats..][..line_floats];
            for (target, value) in target.iter_mut().zip(heads) {
                *target = value * factor;
            }
        }
        self.sums[..block.cells.len() * line_floats].fill(0.0);
        self.tops.fill(f32::NEG_INFINITY);
        self.totals.fill(0.0);
    }

    /// Divides the sums by the totals, into the output.
    fn scatter(&self, shape: &ModelShape, block: &mut Block<'_>) {
        let (width, group) = (shape.head_width, shape.group());
        for (token, cell) in block.cells.iter_mut().enumerate() {
            for (head, target) in cell.chunks_exact_mut(width).enumerate() {
                let line = token * group + head;
                let factor = self.totals[line].recip();
                let sums = &self.sums[line * width..][..width];
                target.iter_mut().zip(sums).for_each(|(target, sum)| *target = sum * factor);
            }
        }
    }
}

/// One block's walk over the tiles.
struct Walk<'a> {
    scratch: &'a mut Scratch,
    cache: &'a KvCache,
    place: HeadPlace,
    lines: usize,
    group: usize,
    width: usize,
    position: usize,
}

impl WithSimd for Walk<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let last = self.position + self.lines / self.group - 1;
        for (index, tile) in self.cache.tiles().iter().enumerate() {
            let first_key = index * TILE_TOKENS;
            if first_key > last {
                break;
            }
            let keys = (last + 1 - first_key).min(TILE_TOKENS);
            // Whole vectors of scores; the keys beyond are masked below.
            let columns = keys.next_multiple_of(S::F32_LANES).min(TILE_TOKENS);
            let scratch = &mut *self.scratch;
            for scores in scratch.scores.chunks_exact_mut(TILE_TOKENS).take(self.lines) {
                scores[..columns].fill(0.0);
            }
            Product {
                a: &scratch.queries,
                a_stride: self.width,
                a_step: 1,
                depth: self.width,
                b: self.place.keys(tile, &mut scratch.room),
                stride: TILE_TOKENS,
                lines: self.lines,
                columns,
                out_stride: TILE_TOKENS,
            }
            .add_to(simd, &mut scratch.scores);
            for line in 0..self.lines {
                let seen = self.position + line / self.group + 1;
                let visible = seen.saturating_sub(first_key).min(columns);
                scratch.weigh(simd, line, visible, columns, self.width);
            }
            Product {
                a: &scratch.scores,
                a_stride: TILE_TOKENS,
                a_step: 1,
                depth: keys,
                b: self.place.values(tile, keys, &mut scratch.room),
                stride: self.width,
                lines: self.lines,
                columns: self.width,
                out_stride: self.width,
            }
            .add_to(simd, &mut scratch.sums);
        }
    }
}

impl Scratch {
    /// Turns a line's scores into weights, of which those from `visible` on are 0,
    /// and moves its sums to the new greatest score.
    #[inline(always)]
    fn weigh<S: Simd>(
        &mut self,
        simd: S,
        line: usize,
        visible: usize,
        columns: usize,
        width: usize,
    ) {
        let scores = &mut self.scores[line * TILE_TOKENS..][..columns];
        if visible == 0 {
            scores.fill(0.0);
            return;
        }
        scores[visible..].fill(f32::NEG_INFINITY);
        let top = greatest(simd, scores);
        if top > self.tops[line] {
            let factor = (self.tops[line] - top).exp2();
            scale(simd, &mut self.sums[line * width..][..width], factor);
            self.totals[line] *= factor;
            self.tops[line] = top;
        }
        self.totals[line] += exp2_below(simd, scores, self.tops[line]);
    }
}
