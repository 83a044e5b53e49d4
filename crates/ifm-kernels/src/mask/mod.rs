//! Masks of attention: which pairs of query and key count, and how scores are transformed.
//!
//! A [`Mask`] is what was asked for, such as `sliding:1024`; a [`PlacedMask`] is that mask for a
//! number of queries and keys, and can be asked for a pair; [`Blocks`] are its pairs in blocks:
//! which are empty, full or between.
//!
//! # Positions
//! A query's position is its number plus `keys - queries`: the last query is at the last key, as
//! in decoding and in FlashAttention since 2.1. Where there are more queries than keys, the first
//! ones have negative positions.
//!
//! # The language
//! | text | allowed |
//! |---|---|
//! | `full` | all |
//! | `causal` | `q >= k` |
//! | `sliding:1024` | `q >= k && q - k <= 1024`, 1025 keys |
//! | `prefix:1024` | `k < 1024 \|\| q >= k` |
//! | `document:12` | `q >= k` in the same of twelve documents, whose lengths are drawn |
//! | `document:100+28` | the same, with these lengths, which sum to the keys |
//! | `expr:q >= k && (q - k) % 4 == 0` | a condition on `q`, `k` and the query's head `h` |
//! | `alibi`, `softcap:30`, `softcap-approx:30` | all; the score is changed: [`Score`] |
//!
//! Parts are joined by `&`: `alibi & causal`. The documents of `document:12` begin at 0 and at
//! eleven different places of the other keys; every set of places is equally likely.
//!
//! # Not here
//! Kernels (`attention`).

mod blocks;
mod bounds;
mod expression;
mod parser;
mod picture;
mod python;
mod score;
mod term;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use self::{
    expression::{Condition, Number, Pair},
    term::{Cells, Term},
};

pub use self::{
    blocks::{Block, Blocks},
    score::Score,
};

/// Why a mask cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MaskError {
    /// A part has no known name.
    #[error(
        "unknown mask `{0}`: known are full, causal, sliding:N, prefix:N, document:N, \
         document:N+N, expr:CONDITION, alibi, softcap:X and softcap-approx:X"
    )]
    Unknown(String),
    /// The value after a name is invalid.
    #[error("the value of mask `{0}` is not a number that it can have")]
    Value(String),
    /// More than one part changes the score.
    #[error("the mask `{0}` changes the score twice: give one of alibi and softcap")]
    TwoScores(String),
    /// The condition of `expr:` cannot be read.
    #[error("expression, column {column}: {what}")]
    Expression {
        /// Character at which it fails, from 1.
        column: usize,
        /// Why.
        what: String,
    },
    /// The lengths of documents do not sum to the keys.
    #[error("the documents have {sum} tokens together, and there are {keys} keys")]
    Lengths {
        /// Their sum.
        sum: u64,
        /// Keys.
        keys: u64,
    },
    /// More documents than keys.
    #[error("{documents} documents need as many keys, and there are {keys}")]
    Documents {
        /// Documents asked for.
        documents: u64,
        /// Keys.
        keys: u64,
    },
    /// A list of blocks has no blocks.
    #[error("the list of blocks is empty")]
    NoCells,
    /// A list of blocks has another character than `1`, `0`, `█` and blank.
    #[error("list of blocks, line {line}, column {column}: `{cell}` is not 1, 0, █ or blank")]
    Cell {
        /// Line from 1.
        line: usize,
        /// Column from 1.
        column: usize,
        /// The character found.
        cell: char,
    },
    /// A list of blocks does not fit queries and keys.
    #[error(
        "the list of blocks has {rows} rows of {columns}, and {} rows of {} blocks of side {side} \
         are needed", needed.0, needed.1
    )]
    Cells {
        /// Its rows.
        rows: u64,
        /// Its columns.
        columns: u64,
        /// Rows and columns that queries and keys need.
        needed: (u64, u64),
        /// Side of a block.
        side: u64,
    },
    /// More queries or keys than positions are made for.
    #[error("{0} tokens exceed the largest position, 4294967295")]
    TooLong(u64),
}

/// A mask as it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Mask {
    name: String,
    terms: Vec<Term>,
    score: Score,
}

impl Mask {
    /// Reads a mask: see the module's table.
    ///
    /// # Errors
    /// When a part is unknown, has no proper value, or two change the score; for `expr:` with the
    /// column.
    pub fn parse(text: &str) -> Result<Self, MaskError> {
        let mut mask =
            Self { name: text.trim().to_owned(), terms: Vec::new(), score: Score::Plain };
        for part in parts(text) {
            if let Some(score) = Score::parse(part)? {
                if mask.score != Score::Plain {
                    return Err(MaskError::TwoScores(mask.name));
                }
                mask.score = score;
            } else if let Some(term) = Term::parse(part)?
                && !mask.terms.contains(&term)
            {
                mask.terms.push(term);
            }
        }
        Ok(mask)
    }

    /// A mask from a list of blocks: a line for each row of blocks of queries, in it a character for
    /// each block of keys, `1` or `█` where its pairs are allowed and `0` or blank where not. Rows
    /// count queries by number, not by position. `side` is that of a block, in tokens.
    ///
    /// # Errors
    /// When the list is empty, or has another character.
    pub fn from_blocks(name: &str, text: &str, side: u64) -> Result<Self, MaskError> {
        let cells = Cells::parse(text, side)?;
        Ok(Self { name: name.to_owned(), terms: vec![Term::Cells(cells)], score: Score::Plain })
    }

    /// How it was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The transformation of the score.
    pub fn score(&self) -> Score {
        self.score
    }

    /// Whether the allowed pairs are by name exactly the plain causal mask, whatever happens to the
    /// score.
    pub fn is_causal(&self) -> bool {
        self.terms == [Term::Causal]
    }

    /// Whether every pair is by name allowed, whatever happens to the score.
    pub fn is_full(&self) -> bool {
        self.terms.is_empty()
    }

    /// The mask for `queries` queries and `keys` keys. The seed draws the lengths of `document:N`.
    ///
    /// # Errors
    /// When documents or a list of blocks do not fit.
    pub fn place(&self, queries: u64, keys: u64, seed: u64) -> Result<PlacedMask, MaskError> {
        if let Some(tokens) = [queries, keys].into_iter().find(|tokens| *tokens > u32::MAX.into()) {
            return Err(MaskError::TooLong(tokens));
        }
        let mut condition = Condition::Always;
        for (index, term) in self.terms.iter().enumerate() {
            let kind = if matches!(term, Term::Cells(_)) { "blocks" } else { "document" };
            let name = if index == 0 { kind.to_owned() } else { format!("{kind}_{index}") };
            condition = condition.and(term.condition((queries, keys), seed, name)?);
        }
        let needs_heads = condition.needs_head();
        Ok(PlacedMask { mask: self.clone(), condition, needs_heads, queries, keys })
    }
}

/// The parts between single `&`.
fn parts(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut parts, mut start, mut place) = (Vec::new(), 0, 0);
    while place < bytes.len() {
        if bytes[place] == b'&' {
            if bytes.get(place + 1) == Some(&b'&') {
                place += 1;
            } else {
                parts.push(text[start..place].trim());
                start = place + 1;
            }
        }
        place += 1;
    }
    parts.push(text[start..].trim());
    parts
}

/// A mask for a number of queries and keys.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedMask {
    mask: Mask,
    condition: Condition,
    needs_heads: bool,
    queries: u64,
    keys: u64,
}

impl PlacedMask {
    /// What was asked for.
    pub fn mask(&self) -> &Mask {
        &self.mask
    }

    /// Number of queries.
    pub fn queries(&self) -> u64 {
        self.queries
    }

    /// Number of keys.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Position of the first query.
    pub fn first_position(&self) -> i64 {
        self.keys as i64 - self.queries as i64
    }

    /// Whether a query at a position may see a key: the definition, one pair at a time.
    pub fn allows(&self, query: i64, key: i64, head: u64) -> bool {
        self.condition.of(Pair { query, key, head: head as i64 })
    }

    /// Whether the allowed pairs differ from head to head.
    pub fn needs_heads(&self) -> bool {
        self.needs_heads
    }

    /// The allowed pairs as an expression of Python and its tensors over `q`, `k` and `h`, with the
    /// tables that it indexes; no expression where all are allowed. `//` and `%` round down there as
    /// they do here.
    pub fn to_python(&self) -> (Option<String>, BTreeMap<String, Vec<i64>>) {
        let mut tables = BTreeMap::new();
        self.condition.walk(&mut |number| {
            if let Number::Entry(table, _) = number {
                tables.entry(table.name.clone()).or_insert_with(|| table.values.clone());
            }
        });
        let text = (self.condition != Condition::Always).then(|| self.condition.python(false));
        (text, tables)
    }
}
