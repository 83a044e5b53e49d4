//! Labels of repeats: one for each, and the consequences of a label that occurs twice.

use super::{Cell, Matrix};
use ifm_results::{Point, Results};
use std::collections::BTreeSet;

impl<'a> Matrix<'a> {
    /// Unique names of all repeats: their labels, else what they repeat and their number; if a
    /// label occurs twice, the later ones get a number after it. In the order of the cells and
    /// their points.
    pub fn repeat_ids(&self, results: &Results) -> Vec<Vec<String>> {
        let mut taken = BTreeSet::new();
        let mut id = |cell: &Cell, (index, point): (usize, &&Point)| {
            let origin = results.source(point).filter(|origin| origin.is_own);
            let wanted = match (&point.label, origin) {
                (Some(label), _) => label.clone(),
                (None, Some(origin)) => match &point.place.pointer {
                    Some(pointer) => format!("{}{pointer}", origin.name),
                    None => origin.name.clone(),
                },
                (None, None) => {
                    let repeat = point.repeat.map_or(index + 1, |repeat| repeat as usize);
                    format!("{}_run{repeat}", cell.name)
                }
            };
            let mut id = wanted.clone();
            let mut number = 2;
            while !taken.insert(id.clone()) {
                id = format!("{wanted}#{number}");
                number += 1;
            }
            id
        };
        let ids = |cell: &Cell| {
            cell.points.iter().enumerate().map(|point| id(cell, point)).collect::<Vec<_>>()
        };
        self.cells.iter().map(ids).collect()
    }

    /// The cells in which a label occurs twice: one of their runs has a wrong label, or is shown
    /// twice.
    pub fn doubly_labelled(&self) -> usize {
        self.cells.iter().filter(|cell| cell.is_doubly_labelled()).count()
    }

    /// The same without the cells in which a label occurs twice.
    #[must_use]
    pub fn without_doubly_labelled(&self) -> Matrix<'a> {
        let cells = self.cells.iter().filter(|cell| !cell.is_doubly_labelled());
        Matrix { cells: cells.cloned().collect(), ..self.clone() }
    }
}

impl Cell<'_> {
    /// Whether two of its repeats have the same label.
    pub fn is_doubly_labelled(&self) -> bool {
        let mut labels: Vec<&str> =
            self.points.iter().filter_map(|point| point.label.as_deref()).collect();
        let all = labels.len();
        labels.sort_unstable();
        labels.dedup();
        labels.len() < all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_results::testing::{repeats, results};

    #[test]
    fn a_cell_with_a_label_twice_is_left_out() {
        let asked = (1, 128, 64);
        let mut points = repeats("a", asked, &[1.0, 1.1, 1.2]);
        points.extend(repeats("b", asked, &[2.0, 2.1, 2.2]));
        points[4].label = points[3].label.clone();
        let results = results(&points);
        let matrix = Matrix::of(&results, None, None).expect("batches");
        assert_eq!(matrix.doubly_labelled(), 1);
        let sound = matrix.without_doubly_labelled();
        assert_eq!((sound.cells.len(), sound.doubly_labelled()), (1, 0));
        assert_eq!(sound.thing(sound.cells[0].thing), "a");
    }
}
