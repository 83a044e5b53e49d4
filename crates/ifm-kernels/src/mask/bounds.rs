//! A condition for all pairs of a rectangle at once, by arithmetic of intervals (Moore 1966):
//! most blocks of a mask are found empty or full without examining their pairs.
//!
//! Not here: blocks of which that says nothing (`words`).

use super::expression::{Comparison, Condition, Number, floor_divide, floor_remainder};

/// All integers from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) low: i64,
    pub(super) high: i64,
}

/// Pairs of a block of queries with a block of keys, for one head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rectangle {
    pub(super) queries: Interval,
    pub(super) keys: Interval,
    pub(super) head: i64,
}

impl Interval {
    const ANY: Self = Self { low: i64::MIN, high: i64::MAX };

    fn point(number: i64) -> Self {
        Self { low: number, high: number }
    }

    /// The interval, or any number where an end is beyond 64 bits: sums wrap there.
    fn checked(low: i128, high: i128) -> Self {
        match (i64::try_from(low), i64::try_from(high)) {
            (Ok(low), Ok(high)) => Self { low, high },
            _ => Self::ANY,
        }
    }

    fn wide(self) -> (i128, i128) {
        (i128::from(self.low), i128::from(self.high))
    }
}

impl Number {
    /// An interval that has all values that the number takes in the rectangle.
    pub(super) fn within(&self, place: &Rectangle) -> Interval {
        match self {
            Self::Query => place.queries,
            Self::Key => place.keys,
            Self::Head => Interval::point(place.head),
            Self::Constant(number) => Interval::point(*number),
            Self::Add(left, right) => {
                let (left, right) = (left.within(place).wide(), right.within(place).wide());
                Interval::checked(left.0 + right.0, left.1 + right.1)
            }
            Self::Subtract(left, right) => {
                let (left, right) = (left.within(place).wide(), right.within(place).wide());
                Interval::checked(left.0 - right.1, left.1 - right.0)
            }
            Self::Multiply(left, right) => {
                let (left, right) = (left.within(place).wide(), right.within(place).wide());
                let corners =
                    [left.0 * right.0, left.0 * right.1, left.1 * right.0, left.1 * right.1];
                let low = corners.into_iter().fold(i128::MAX, i128::min);
                Interval::checked(low, corners.into_iter().fold(i128::MIN, i128::max))
            }
            Self::Divide(number, divisor) => {
                let number = number.within(place).wide();
                let divisor = i128::from(*divisor);
                // Rounds down for both signs of the divisor.
                let divide = |number: i128| (number * divisor.signum()).div_euclid(divisor.abs());
                let ends = [divide(number.0), divide(number.1)];
                Interval::checked(ends[0].min(ends[1]), ends[0].max(ends[1]))
            }
            Self::Remainder(number, divisor) => {
                let number = number.within(place);
                if floor_divide(number.low, *divisor) == floor_divide(number.high, *divisor) {
                    let low = floor_remainder(number.low, *divisor);
                    Interval { low, high: floor_remainder(number.high, *divisor) }
                } else {
                    Interval { low: (*divisor + 1).min(0), high: (*divisor - 1).max(0) }
                }
            }
            Self::Entry(table, index) => {
                let index = index.within(place);
                let last = table.values.len() as i64 - 1;
                let inside = (0 <= index.low && index.high <= last)
                    .then(|| &table.values[index.low as usize..=index.high as usize]);
                inside.map_or(Interval::ANY, |values| Interval {
                    low: values.iter().copied().fold(i64::MAX, i64::min),
                    high: values.iter().copied().fold(i64::MIN, i64::max),
                })
            }
        }
    }
}

impl Comparison {
    fn within(self, left: Interval, right: Interval) -> Option<bool> {
        let decide = |always: bool, never: bool| (always || never).then_some(always);
        match self {
            Self::Less => decide(left.high < right.low, left.low >= right.high),
            Self::LessOrEqual => decide(left.high <= right.low, left.low > right.high),
            Self::Equal => decide(
                left == right && left.low == left.high,
                left.high < right.low || right.high < left.low,
            ),
            Self::Unequal => Self::Equal.within(left, right).map(|equal| !equal),
        }
    }
}

impl Condition {
    /// Whether all pairs of the rectangle fulfil it (true) or none (false), as far as intervals show.
    pub(super) fn within(&self, place: &Rectangle) -> Option<bool> {
        match self {
            Self::Always => Some(true),
            Self::Compare(comparison, left, right) => {
                comparison.within(left.within(place), right.within(place))
            }
            Self::And(left, right) => match (left.within(place), right.within(place)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Or(left, right) => match (left.within(place), right.within(place)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Self::Not(inner) => inner.within(place).map(|all| !all),
        }
    }
}
