//! A condition as an expression of Python and of its tensors.
//!
//! `and`, `or` and `not` mean nothing to tensors, and `~True` is -2 in Python: conditions are joined
//! by `&` and `|`, and a negation is moved into the comparison.
//!
//! Not here: who evaluates it.

use super::expression::{Comparison, Condition, Number};

impl Number {
    fn python(&self) -> String {
        match self {
            Self::Query => "q".to_owned(),
            Self::Key => "k".to_owned(),
            Self::Head => "h".to_owned(),
            Self::Constant(number) if *number < 0 => format!("({number})"),
            Self::Constant(number) => number.to_string(),
            Self::Add(left, right) => format!("({} + {})", left.python(), right.python()),
            Self::Subtract(left, right) => format!("({} - {})", left.python(), right.python()),
            Self::Multiply(left, right) => format!("({} * {})", left.python(), right.python()),
            Self::Divide(number, divisor) => format!("({} // ({divisor}))", number.python()),
            Self::Remainder(number, divisor) => format!("({} % ({divisor}))", number.python()),
            Self::Entry(table, index) => format!("{}[{}]", table.name, index.python()),
        }
    }
}

impl Condition {
    /// The expression, negated where asked.
    pub(super) fn python(&self, negated: bool) -> String {
        match self {
            Self::Always if negated => "(k != k)".to_owned(),
            Self::Always => "(k == k)".to_owned(),
            Self::Compare(comparison, left, right) => {
                let sign = match (comparison, negated) {
                    (Comparison::Less, false) => "<",
                    (Comparison::Less, true) => ">=",
                    (Comparison::LessOrEqual, false) => "<=",
                    (Comparison::LessOrEqual, true) => ">",
                    (Comparison::Equal, false) | (Comparison::Unequal, true) => "==",
                    (Comparison::Equal, true) | (Comparison::Unequal, false) => "!=",
                };
                format!("({} {sign} {})", left.python(), right.python())
            }
            Self::And(left, right) | Self::Or(left, right) => {
                let sign = if matches!(self, Self::And(..)) == negated { '|' } else { '&' };
                format!("({} {sign} {})", left.python(negated), right.python(negated))
            }
            Self::Not(inner) => inner.python(!negated),
        }
    }
}
