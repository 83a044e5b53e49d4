//! How the work of an attention is cut: strips of queries, panels of keys, and what each pair of
//! them needs.
//!
//! Not here: what is computed there (`forward`, `backward`).

use super::shape::Shape;
use crate::mask::{Block, Blocks, PlacedMask, Score};

/// Keys of a panel, at most: a register tile of AVX-512 wide, and a word of a mask.
pub(super) const PANEL: usize = 64;
/// Queries of a strip, at most: with heads of 64 the floats of a strip, of a panel and of their
/// scores are 16 KiB each, so that a product's right side stays in the first cache and all of them
/// in the second.
pub(super) const STRIP: usize = 64;
/// Widths are padded to a multiple of this, the longest vector.
const LANES: usize = 16;

/// Queries that are worked on together; all in one row of blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strip {
    pub(super) first: usize,
    pub(super) count: usize,
    /// Row of blocks, and the first query's place in it.
    row: usize,
    inside: usize,
}

/// Keys that are worked on together; all in one column of blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panel {
    pub(super) first: usize,
    pub(super) count: usize,
    /// Column of blocks, and the word of its rows.
    column: usize,
    word: usize,
}

/// What a strip and a panel need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    /// Every pair counts.
    Whole,
    /// Pairs are tested.
    Tests,
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) shape: Shape,
    /// Floats from a row to the next, padded.
    pub(super) stride: usize,
    pub(super) strips: Vec<Strip>,
    pub(super) panels: Vec<Panel>,
    /// For each head of queries, or for all of them at once.
    pub(super) blocks: Vec<Blocks>,
    pub(super) score: Score,
    /// Empty blocks are left out, full ones not tested.
    sparse: bool,
    all_allowed: bool,
    /// For each of `blocks` and each query the last key that is allowed; 0 where none is.
    last_keys: Vec<u32>,
}

fn cut(total: usize, side: usize, most: usize, mut found: impl FnMut(usize, usize)) {
    for block in (0..total).step_by(side) {
        let end = (block + side).min(total);
        for first in (block..end).step_by(most) {
            found(first, most.min(end - first));
        }
    }
}

impl Plan {
    pub(super) fn new(shape: Shape, mask: &PlacedMask, side: usize, sparse: bool) -> Self {
        let (mut strips, mut panels) = (Vec::new(), Vec::new());
        cut(shape.queries, side, STRIP, |first, count| {
            strips.push(Strip { first, count, row: first / side, inside: first % side });
        });
        cut(shape.keys, side, PANEL, |first, count| {
            let word = first % side / PANEL;
            panels.push(Panel { first, count, column: first / side, word });
        });
        let heads = if mask.needs_heads() { shape.query_heads } else { 1 };
        let blocks: Vec<Blocks> =
            (0..heads).map(|head| Blocks::new(mask, side as u64, head as u64)).collect();
        let score = mask.mask().score();
        let last_keys = if score == Score::Alibi {
            let last = |blocks: &Blocks, query| blocks.last_key(query).unwrap_or(0) as u32;
            let rows = blocks
                .iter()
                .flat_map(|blocks| (0..shape.queries).map(move |query| last(blocks, query)));
            rows.collect()
        } else {
            Vec::new()
        };
        let stride = shape.width.next_multiple_of(LANES);
        let all_allowed = mask.mask().is_full();
        Self { shape, stride, strips, panels, blocks, score, sparse, all_allowed, last_keys }
    }

    fn blocks_of(&self, query_head: usize) -> usize {
        if self.blocks.len() == 1 { 0 } else { query_head }
    }

    /// What a strip and a panel need. The dense method tests every pair, unless the mask's name
    /// says that all are allowed.
    pub(super) fn need(&self, query_head: usize, strip: &Strip, panel: &Panel) -> Need {
        let kind = if self.sparse {
            self.blocks[self.blocks_of(query_head)].kind(strip.row, panel.column)
        } else if self.all_allowed {
            Block::Full
        } else {
            Block::Partial
        };
        match kind {
            Block::Empty => Need::Nothing,
            // Columns are padded to whole vectors.
            Block::Full if panel.count.is_multiple_of(LANES) => Need::Whole,
            _ => Need::Tests,
        }
    }

    /// For each key of the panel a bit: whether a query of the strip may see it.
    pub(super) fn word(&self, query_head: usize, strip: &Strip, line: usize, panel: &Panel) -> u64 {
        let blocks = &self.blocks[self.blocks_of(query_head)];
        let word = blocks.words(strip.row, panel.column, strip.inside + line)[panel.word];
        if panel.count < 64 { word & ((1 << panel.count) - 1) } else { word }
    }

    /// Whether a query may see a key.
    pub(super) fn allows(&self, query_head: usize, query: usize, key: usize) -> bool {
        let blocks = &self.blocks[self.blocks_of(query_head)];
        let side = blocks.side();
        let words = blocks.words(query / side, key / side, query % side);
        words[key % side / 64] >> (key % side % 64) & 1 == 1
    }

    /// Columns of scores that are computed: the panel's, rounded up to whole vectors.
    pub(super) fn columns(panel: &Panel) -> usize {
        panel.count.next_multiple_of(LANES)
    }

    /// The key from which distances of a query are counted. A constant in all scores of a query
    /// changes no weight, and the last key that it sees has the greatest: so the scores that count
    /// are small, and their roundings too.
    pub(super) fn reference_key(&self, query_head: usize, query: usize) -> usize {
        let row = self.blocks_of(query_head) * self.shape.queries + query;
        self.last_keys.get(row).map_or(0, |key| *key as usize)
    }
}
