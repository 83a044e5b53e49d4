//! A condition for 64 keys of one query at once, a bit each.
//!
//! Not here: which rows are asked (`blocks`).

use super::expression::{Comparison, Condition, Number, floor_divide, floor_remainder};

/// Keys of a word.
pub(super) const WORD_KEYS: usize = 64;

type Numbers = [i64; WORD_KEYS];

/// A query and the first of its keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) query: i64,
    pub(super) first_key: i64,
    pub(super) head: i64,
}

fn each(left: &Numbers, right: &Numbers, of: impl Fn(i64, i64) -> i64) -> Numbers {
    std::array::from_fn(|lane| of(left[lane], right[lane]))
}

fn pack(left: &Numbers, right: &Numbers, holds: impl Fn(i64, i64) -> bool) -> u64 {
    let mut word = 0;
    for (lane, (left, right)) in left.iter().zip(right).enumerate() {
        word |= u64::from(holds(*left, *right)) << lane;
    }
    word
}

impl Number {
    fn along(&self, row: Row) -> Numbers {
        match self {
            Self::Query => [row.query; WORD_KEYS],
            Self::Key => std::array::from_fn(|lane| row.first_key + lane as i64),
            Self::Head => [row.head; WORD_KEYS],
            Self::Constant(number) => [*number; WORD_KEYS],
            Self::Add(left, right) => each(&left.along(row), &right.along(row), i64::wrapping_add),
            Self::Subtract(left, right) => {
                each(&left.along(row), &right.along(row), i64::wrapping_sub)
            }
            Self::Multiply(left, right) => {
                each(&left.along(row), &right.along(row), i64::wrapping_mul)
            }
            // A shift and a mask round down too, and vectors have them.
            Self::Divide(number, divisor) if is_power_of_two(*divisor) => {
                number.along(row).map(|number| number >> divisor.trailing_zeros())
            }
            Self::Remainder(number, divisor) if is_power_of_two(*divisor) => {
                number.along(row).map(|number| number & (divisor - 1))
            }
            Self::Divide(number, divisor) => {
                number.along(row).map(|number| floor_divide(number, *divisor))
            }
            Self::Remainder(number, divisor) => {
                number.along(row).map(|number| floor_remainder(number, *divisor))
            }
            Self::Entry(table, index) => index.along(row).map(|index| table.get(index)),
        }
    }
}

fn is_power_of_two(number: i64) -> bool {
    number > 0 && number & (number - 1) == 0
}

impl Condition {
    /// Bit `i` is set where the key `i` after the first is allowed.
    pub(super) fn along(&self, row: Row) -> u64 {
        match self {
            Self::Always => u64::MAX,
            Self::Compare(comparison, left, right) => {
                let (left, right) = (&left.along(row), &right.along(row));
                match comparison {
                    Comparison::Less => pack(left, right, |left, right| left < right),
                    Comparison::LessOrEqual => pack(left, right, |left, right| left <= right),
                    Comparison::Equal => pack(left, right, |left, right| left == right),
                    Comparison::Unequal => pack(left, right, |left, right| left != right),
                }
            }
            Self::And(left, right) => match left.along(row) {
                0 => 0,
                word => word & right.along(row),
            },
            Self::Or(left, right) => match left.along(row) {
                u64::MAX => u64::MAX,
                word => word | right.along(row),
            },
            Self::Not(inner) => !inner.along(row),
        }
    }
}
