//! The named masks: their words, and the conditions that they mean.
//!
//! Not here: the language of `expr:` (`parser`), scores (`score`).

use std::sync::Arc;

use super::{
    MaskError,
    expression::{Comparison, Condition, Number, Table},
    parser,
};
use crate::random::RandomStream;

/// One part of a mask: which pairs it allows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Term {
    /// `q >= k`.
    Causal,
    /// `q >= k && q - k <= width`: with the query's own place `width + 1` keys.
    Sliding(u64),
    /// `k < length || q >= k`.
    Prefix(u64),
    /// This many documents, of random lengths; causal inside each.
    Documents(u64),
    /// Documents of these lengths; causal inside each.
    Lengths(Vec<u64>),
    /// A condition that was written out.
    Condition(Condition),
    /// A list of blocks.
    Cells(Cells),
}

/// A list of blocks: which of them are allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cells {
    pub(super) side: u64,
    pub(super) columns: u64,
    /// Row by row.
    pub(super) allowed: Vec<bool>,
}

impl Term {
    /// Reads one part; `None` for the part that allows all.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, MaskError> {
        let unknown = || MaskError::Unknown(text.to_owned());
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text, None),
        };
        let term = match (name, value) {
            ("full", None) => return Ok(None),
            ("causal", None) => Self::Causal,
            ("sliding", Some(value)) => Self::Sliding(count(text, value)?),
            ("prefix", Some(value)) => Self::Prefix(count(text, value)?),
            ("document", Some(value)) if value.contains('+') => {
                let lengths = value.split('+').map(|length| count(text, length.trim()));
                let lengths: Vec<u64> = lengths.collect::<Result<_, _>>()?;
                if lengths.contains(&0) {
                    return Err(MaskError::Value(text.to_owned()));
                }
                Self::Lengths(lengths)
            }
            ("document", Some(value)) => match count(text, value)? {
                0 => return Err(MaskError::Value(text.to_owned())),
                documents => Self::Documents(documents),
            },
            ("expr", Some(value)) => Self::Condition(parser::parse(value)?),
            _ => return Err(unknown()),
        };
        Ok(Some(term))
    }

    /// The condition of the term for these numbers of queries and keys. `name` is the name of its table.
    pub(super) fn condition(
        &self,
        (queries, keys): (u64, u64),
        seed: u64,
        name: String,
    ) -> Result<Condition, MaskError> {
        let causal = || Condition::Compare(Comparison::LessOrEqual, Number::Key, Number::Query);
        Ok(match self {
            Self::Causal => causal(),
            Self::Sliding(width) => {
                let back = Number::Subtract(Box::new(Number::Query), Box::new(Number::Key));
                let width = Number::Constant(*width as i64);
                causal().and(Condition::Compare(Comparison::LessOrEqual, back, width))
            }
            Self::Prefix(length) => {
                let length = Number::Constant(*length as i64);
                let early = Condition::Compare(Comparison::Less, Number::Key, length);
                Condition::Or(Box::new(early), Box::new(causal()))
            }
            Self::Documents(count) => {
                let lengths = draw_lengths(*count, keys, seed)?;
                causal().and(same_document(&lengths, queries, keys, name))
            }
            Self::Lengths(lengths) => {
                let sum = lengths.iter().fold(0_u64, |sum, length| sum.saturating_add(*length));
                if sum != keys {
                    return Err(MaskError::Lengths { sum, keys });
                }
                causal().and(same_document(lengths, queries, keys, name))
            }
            Self::Condition(condition) => condition.clone(),
            Self::Cells(cells) => cells.condition(queries, keys, name)?,
        })
    }
}

/// A count, as large as positions may be.
fn count(text: &str, value: &str) -> Result<u64, MaskError> {
    let count = value.parse::<u32>();
    count.map(u64::from).map_err(|_| MaskError::Value(text.to_owned()))
}

/// `count` lengths of at least 1 that sum to `keys`: the documents begin at 0 and at `count - 1`
/// different places among the `keys - 1` others, each set of places as likely as any.
fn draw_lengths(count: u64, keys: u64, seed: u64) -> Result<Vec<u64>, MaskError> {
    if count > keys {
        return Err(MaskError::Documents { documents: count, keys });
    }
    // Floyd's way to draw a set (Bentley and Floyd 1987).
    let mut stream = RandomStream::new(seed, "documents");
    let mut places = std::collections::BTreeSet::new();
    for last in keys - count + 1..keys {
        let place = 1 + stream.below(last);
        if !places.insert(place) {
            places.insert(last);
        }
    }
    let mut starts = vec![0];
    starts.extend(places);
    starts.push(keys);
    Ok(starts.windows(2).map(|pair| pair[1] - pair[0]).collect())
}

/// Query and key are in the same document.
fn same_document(lengths: &[u64], queries: u64, keys: u64, name: String) -> Condition {
    // Queries before the first key have negative positions, and are in no document.
    let before = queries.saturating_sub(keys);
    let mut values = vec![-1; before as usize];
    for (document, length) in lengths.iter().enumerate() {
        values.extend(std::iter::repeat_n(document as i64, *length as usize));
    }
    let table = Arc::new(Table { name, values });
    let entry = |number| Number::Entry(Arc::clone(&table), Box::new(plus(number, before as i64)));
    Condition::Compare(Comparison::Equal, entry(Number::Query), entry(Number::Key))
}

fn plus(number: Number, summand: i64) -> Number {
    match summand {
        0 => number,
        _ => Number::Add(Box::new(number), Box::new(Number::Constant(summand))),
    }
}

impl Cells {
    /// Rows of `1` or `█` for allowed blocks and `0` or blank for others; a row that is shorter
    /// than others goes on with blanks. Empty lines at the end do not count.
    pub(super) fn parse(text: &str, side: u64) -> Result<Self, MaskError> {
        let lines: Vec<&str> = text.trim_end_matches(['\n', '\r']).lines().collect();
        let columns = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        if columns == 0 || side == 0 {
            return Err(MaskError::NoCells);
        }
        let mut allowed = vec![false; lines.len() * columns];
        for (row, line) in lines.iter().enumerate() {
            for (column, cell) in line.chars().enumerate() {
                allowed[row * columns + column] = match cell {
                    '1' | '█' => true,
                    '0' | ' ' => false,
                    _ => {
                        let (line, column) = (row + 1, column + 1);
                        return Err(MaskError::Cell { line, column, cell });
                    }
                };
            }
        }
        Ok(Self { side, columns: columns as u64, allowed })
    }

    fn condition(&self, queries: u64, keys: u64, name: String) -> Result<Condition, MaskError> {
        let rows = self.allowed.len() as u64 / self.columns;
        let needed = (queries.div_ceil(self.side), keys.div_ceil(self.side));
        if (rows, self.columns) != needed {
            return Err(MaskError::Cells { rows, columns: self.columns, needed, side: self.side });
        }
        let values = self.allowed.iter().map(|allowed| i64::from(*allowed)).collect();
        let block = |number| Number::Divide(Box::new(number), self.side as i64);
        let number = plus(Number::Query, queries as i64 - keys as i64);
        let row = Box::new(block(number));
        let first = Number::Multiply(row, Box::new(Number::Constant(self.columns as i64)));
        let index = Number::Add(Box::new(first), Box::new(block(Number::Key)));
        let entry = Number::Entry(Arc::new(Table { name, values }), Box::new(index));
        Ok(Condition::Compare(Comparison::Equal, entry, Number::Constant(1)))
    }
}
