//! Conditions on a pair of query and key, as a tree: what every mask is made of.
//!
//! One tree is asked in three ways: for one pair (here, the definition), for all pairs of a
//! rectangle at once (`bounds`), and for 64 keys of one query (`words`).
//!
//! Not here: the language (`parser`), which trees the named masks have (`term`), Python (`python`).

use std::sync::Arc;

/// Integers by number, with a name for Python.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) values: Vec<i64>,
}

impl Table {
    /// 0 beyond the ends, where no pair is.
    pub(super) fn get(&self, index: i64) -> i64 {
        usize::try_from(index).ok().and_then(|index| self.values.get(index)).copied().unwrap_or(0)
    }
}

/// One pair: positions of query and key, and the head of the query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) query: i64,
    pub(super) key: i64,
    pub(super) head: i64,
}

/// An integer of a pair. Sums and products wrap at 64 bits.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Number {
    Query,
    Key,
    Head,
    Constant(i64),
    Add(Box<Self>, Box<Self>),
    Subtract(Box<Self>, Box<Self>),
    Multiply(Box<Self>, Box<Self>),
    /// Rounded towards minus infinity; the divisor is not 0.
    Divide(Box<Self>, i64),
    /// `x - d * floor(x / d)`: has the sign of the divisor, which is not 0.
    Remainder(Box<Self>, i64),
    Entry(Arc<Table>, Box<Self>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    Unequal,
}

/// A condition on a pair.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    Always,
    Compare(Comparison, Number, Number),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Not(Box<Self>),
}

/// Rounded towards minus infinity.
pub(super) fn floor_divide(number: i64, divisor: i64) -> i64 {
    let quotient = number.wrapping_div(divisor);
    if number.wrapping_rem(divisor) != 0 && (number < 0) != (divisor < 0) {
        quotient - 1
    } else {
        quotient
    }
}

/// What [`floor_divide`] leaves.
pub(super) fn floor_remainder(number: i64, divisor: i64) -> i64 {
    number.wrapping_sub(floor_divide(number, divisor).wrapping_mul(divisor))
}

impl Comparison {
    pub(super) fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Equal => left == right,
            Self::Unequal => left != right,
        }
    }
}

impl Number {
    pub(super) fn of(&self, pair: Pair) -> i64 {
        match self {
            Self::Query => pair.query,
            Self::Key => pair.key,
            Self::Head => pair.head,
            Self::Constant(number) => *number,
            Self::Add(left, right) => left.of(pair).wrapping_add(right.of(pair)),
            Self::Subtract(left, right) => left.of(pair).wrapping_sub(right.of(pair)),
            Self::Multiply(left, right) => left.of(pair).wrapping_mul(right.of(pair)),
            Self::Divide(number, divisor) => floor_divide(number.of(pair), *divisor),
            Self::Remainder(number, divisor) => floor_remainder(number.of(pair), *divisor),
            Self::Entry(table, index) => table.get(index.of(pair)),
        }
    }

    /// The numbers that this one is made of.
    pub(super) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Query | Self::Key | Self::Head | Self::Constant(_) => Vec::new(),
            Self::Add(left, right) | Self::Subtract(left, right) | Self::Multiply(left, right) => {
                vec![left, right]
            }
            Self::Divide(number, _) | Self::Remainder(number, _) | Self::Entry(_, number) => {
                vec![number]
            }
        }
    }

    /// Calls `visit` for this number and all that it is made of.
    fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        self.parts().into_iter().for_each(|part| part.walk(visit));
    }
}

impl Condition {
    pub(super) fn of(&self, pair: Pair) -> bool {
        match self {
            Self::Always => true,
            Self::Compare(comparison, left, right) => {
                comparison.holds(left.of(pair), right.of(pair))
            }
            Self::And(left, right) => left.of(pair) && right.of(pair),
            Self::Or(left, right) => left.of(pair) || right.of(pair),
            Self::Not(inner) => !inner.of(pair),
        }
    }

    /// Both.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Always, only) | (only, Self::Always) => only,
            (left, right) => Self::And(Box::new(left), Box::new(right)),
        }
    }

    /// Calls `visit` for every number in it.
    pub(super) fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Number)) {
        match self {
            Self::Always => {}
            Self::Compare(_, left, right) => {
                left.walk(visit);
                right.walk(visit);
            }
            Self::And(left, right) | Self::Or(left, right) => {
                left.walk(visit);
                right.walk(visit);
            }
            Self::Not(inner) => inner.walk(visit),
        }
    }

    /// Whether the head of the query makes a difference.
    pub(super) fn needs_head(&self) -> bool {
        let mut needs = false;
        self.walk(&mut |number| needs |= *number == Number::Head);
        needs
    }
}
