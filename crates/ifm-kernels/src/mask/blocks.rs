//! The pairs of a mask in square blocks: empty, full, or between with a bit for each pair.
//!
//! Not here: their picture (`picture`).

use std::collections::HashMap;

use super::{
    PlacedMask,
    bounds::{Interval, Rectangle},
    words::{Row, WORD_KEYS},
};

/// What a block has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// No allowed pair.
    Empty,
    /// Some.
    Partial,
    /// All its pairs that exist are allowed: at the ends of queries and keys a block has fewer.
    Full,
}

/// Blocks of a mask for one head, of `side` queries by `side` keys from the first on.
#[derive(Debug, Clone)]
pub struct Blocks {
    queries: usize,
    keys: usize,
    side: usize,
    columns: usize,
    /// Row by row: the pattern of each block.
    patterns: Vec<u32>,
    /// For each pattern `side` rows of whole words. The first are the patterns of empty and full blocks.
    bits: Vec<Box<[u64]>>,
    allowed_pairs: u64,
}

/// Numbers of the first two patterns.
const EMPTY: u32 = 0;
const FULL: u32 = 1;

impl Blocks {
    /// The blocks of a head. Blocks that are alike share their bits, so memory is small unless most
    /// blocks are partial and unlike: then one bit a pair.
    ///
    /// # Panics
    /// When `side` is 0.
    pub fn new(mask: &PlacedMask, side: u64, head: u64) -> Self {
        assert!(side > 0, "a block has a side");
        let (queries, keys) = (mask.queries as usize, mask.keys as usize);
        let side = side as usize;
        let columns = keys.div_ceil(side);
        let words = side * side.div_ceil(WORD_KEYS);
        let mut blocks = Self {
            queries,
            keys,
            side,
            columns,
            patterns: Vec::with_capacity(queries.div_ceil(side) * columns),
            bits: vec![vec![0; words].into(), vec![u64::MAX; words].into()],
            allowed_pairs: 0,
        };
        let mut known: HashMap<Box<[u64]>, u32> = HashMap::new();
        let mut room = vec![0; words];
        for first_query in (0..queries).step_by(side) {
            let rows = side.min(queries - first_query);
            for first_key in (0..keys).step_by(side) {
                let width = side.min(keys - first_key);
                let first = mask.first_position() + first_query as i64;
                let place = Rectangle {
                    queries: Interval { low: first, high: first + rows as i64 - 1 },
                    keys: Interval { low: first_key as i64, high: (first_key + width) as i64 - 1 },
                    head: head as i64,
                };
                let pairs = (rows * width) as u64;
                let (pattern, allowed) = match mask.condition.within(&place) {
                    Some(false) => (EMPTY, 0),
                    Some(true) => (FULL, pairs),
                    None => match blocks.look(mask, &place, &mut room) {
                        0 => (EMPTY, 0),
                        all if all == pairs => (FULL, pairs),
                        some => (blocks.number(&mut known, &room), some),
                    },
                };
                blocks.patterns.push(pattern);
                blocks.allowed_pairs += allowed;
            }
        }
        blocks
    }

    /// Writes the bits of a block; gives the number of allowed pairs.
    fn look(&self, mask: &PlacedMask, place: &Rectangle, room: &mut [u64]) -> u64 {
        room.fill(0);
        let words = self.side.div_ceil(WORD_KEYS);
        let keys = (place.keys.high - place.keys.low + 1) as usize;
        let mut allowed = 0;
        for (query, row) in (place.queries.low..=place.queries.high).zip(room.chunks_mut(words)) {
            for (index, word) in row.iter_mut().take(keys.div_ceil(WORD_KEYS)).enumerate() {
                let first_key = place.keys.low + (index * WORD_KEYS) as i64;
                let left = keys - index * WORD_KEYS;
                let exist = if left < WORD_KEYS { (1 << left) - 1 } else { u64::MAX };
                *word = mask.condition.along(Row { query, first_key, head: place.head }) & exist;
                allowed += u64::from(word.count_ones());
            }
        }
        allowed
    }

    /// The number of a pattern, old or new.
    fn number(&mut self, known: &mut HashMap<Box<[u64]>, u32>, room: &[u64]) -> u32 {
        if let Some(number) = known.get(room) {
            return *number;
        }
        let number = self.bits.len() as u32;
        self.bits.push(room.into());
        known.insert(room.into(), number);
        number
    }

    /// Queries of a block's row, and keys of its columns.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Rows of blocks.
    pub fn rows(&self) -> usize {
        self.queries.div_ceil(self.side)
    }

    /// Columns of blocks.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// What the block has in a row and a column of blocks.
    ///
    /// # Panics
    /// When there is no such block.
    pub fn kind(&self, row: usize, column: usize) -> Block {
        match self.pattern(row, column) {
            EMPTY => Block::Empty,
            FULL => Block::Full,
            _ => Block::Partial,
        }
    }

    pub(crate) fn pattern(&self, row: usize, column: usize) -> u32 {
        self.patterns[row * self.columns + column]
    }

    /// Words of a query of a block, 64 keys each, the first in the lowest bit. They are 0 for empty
    /// blocks; for full blocks they also have bits for pairs that do not exist.
    pub(crate) fn words(&self, row: usize, column: usize, query: usize) -> &[u64] {
        let words = self.side.div_ceil(WORD_KEYS);
        &self.bits[self.pattern(row, column) as usize][query * words..][..words]
    }

    /// Keys that a query may see.
    pub(crate) fn row_pairs(&self, query: usize) -> u64 {
        let (row, line) = (query / self.side, query % self.side);
        let of_block = |column: usize| match self.pattern(row, column) {
            EMPTY => 0,
            FULL => self.side.min(self.keys - column * self.side) as u64,
            _ => {
                self.words(row, column, line).iter().map(|word| u64::from(word.count_ones())).sum()
            }
        };
        (0..self.columns).map(of_block).sum()
    }

    /// The last key that a query may see, if there is one.
    pub(crate) fn last_key(&self, query: usize) -> Option<usize> {
        let (row, line) = (query / self.side, query % self.side);
        let column = (0..self.columns)
            .rev()
            .find(|column| self.words(row, *column, line).iter().any(|word| *word != 0))?;
        let words = self.words(row, column, line).iter().enumerate().rev();
        let (index, word) = words.into_iter().find(|(_, word)| **word != 0)?;
        let inside = index * WORD_KEYS + word.ilog2() as usize;
        // Beyond the end a full block has bits for keys that do not exist.
        let end = self.side.min(self.keys - column * self.side);
        Some(column * self.side + inside.min(end - 1))
    }

    /// Number of blocks of a kind.
    pub fn count(&self, kind: Block) -> usize {
        let (empty, full) = self.patterns.iter().fold((0, 0), |(empty, full), pattern| {
            (empty + usize::from(*pattern == EMPTY), full + usize::from(*pattern == FULL))
        });
        match kind {
            Block::Empty => empty,
            Block::Full => full,
            Block::Partial => self.patterns.len() - empty - full,
        }
    }

    /// Share of the blocks that are empty, 0 to 1. torch's `BlockMask` reports `1 - (partial + full) side^2 /
    /// (queries keys)`: the same where lengths are multiples of the side, and less, even below 0, where
    /// blocks reach beyond the ends.
    pub fn sparsity(&self) -> f64 {
        self.count(Block::Empty) as f64 / self.patterns.len().max(1) as f64
    }

    /// Allowed pairs of query and key.
    pub fn allowed_pairs(&self) -> u64 {
        self.allowed_pairs
    }

    /// Pairs of the blocks that are not empty, without what lies beyond the ends: those that a
    /// kernel computes that leaves out empty blocks.
    pub fn computed_pairs(&self) -> u64 {
        let length = |index: usize, total: usize| self.side.min(total - index * self.side) as u64;
        let mut pairs = 0;
        for row in 0..self.rows() {
            for column in 0..self.columns {
                if self.pattern(row, column) != EMPTY {
                    pairs += length(row, self.queries) * length(column, self.keys);
                }
            }
        }
        pairs
    }
}
