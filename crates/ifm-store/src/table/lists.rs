//! Lists in Parquet's terms: a flat run of values, with two levels for each.
//!
//! Repetition is 0 where a row begins and 1 within it. Definition is, for a required list, 1 for
//! an element and 0 for an empty list; for an optional one 2, 1, and 0 for no list at all.

/// Values and levels of one list column over some rows; reused from column to column.
#[derive(Default)]
pub(super) struct ListLevels {
    pub(super) definition: Vec<i16>,
    pub(super) repetition: Vec<i16>,
}

impl ListLevels {
    pub(super) fn clear(&mut self) {
        self.definition.clear();
        self.repetition.clear();
    }

    /// Adds a row with `count` elements. An optional list of none is not a list.
    pub(super) fn add_row(&mut self, count: usize, required: bool) {
        let element = element_level(required);
        if count == 0 {
            self.definition.push(0);
            self.repetition.push(0);
            return;
        }
        self.definition.resize(self.definition.len() + count, element);
        self.repetition.push(0);
        self.repetition.resize(self.repetition.len() + count - 1, 1);
    }

    /// Lengths of the rows that were read, in order. `element` is the definition of an element.
    pub(super) fn row_lengths(&self, element: i16) -> impl Iterator<Item = usize> + '_ {
        let starts_row = |index: usize| self.repetition.get(index).is_none_or(|level| *level == 0);
        let mut next = 0;
        std::iter::from_fn(move || {
            let first = next;
            let mut elements = usize::from(*self.definition.get(first)? == element);
            next += 1;
            while !starts_row(next) {
                elements += usize::from(self.definition.get(next) == Some(&element));
                next += 1;
            }
            Some(elements)
        })
    }
}

/// Definition level of an element.
pub(super) fn element_level(required: bool) -> i16 {
    if required { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn row_lengths_read_back(
            lengths in proptest::collection::vec(0_usize..5, 0..20),
            required: bool,
        ) {
            let mut levels = ListLevels::default();
            for length in &lengths {
                levels.add_row(*length, required);
            }
            prop_assert_eq!(levels.definition.len(), levels.repetition.len());
            let read: Vec<usize> = levels.row_lengths(element_level(required)).collect();
            prop_assert_eq!(read, lengths);
        }
    }
}
