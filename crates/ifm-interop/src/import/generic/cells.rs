//! The cells of one table: their figures, and remarks on cells that hold something else.
//!
//! A cell that is not a number gets a remark. Many of them in one column, or with one mark, share one remark,
//! as what they are: a table that lost a part of its rows.

use super::super::measure::{Cell, Named, plain};
use super::figures;
use ifm_core::sheet::{Figure, Place, Remark, RemarkKind};
use std::collections::{BTreeMap, BTreeSet};

/// Cells with a remark of their own.
const SINGLE_MAX: usize = 3;
/// Marks that one remark lists.
const MARKS_MAX: usize = 12;

/// What happened to the cells of a table.
#[derive(Default)]
pub(super) struct Cells {
    pub remarks: Vec<Remark>,
    /// Cells that are no numbers, by their column.
    unread: BTreeMap<usize, Vec<Unread>>,
    /// Cells with figures, by their column.
    counts: BTreeMap<usize, usize>,
    marks: BTreeSet<String>,
    marked: usize,
    first_marked: u32,
}

struct Unread {
    name: String,
    cell: String,
    line: u32,
    is_bound: bool,
    /// Whether it is a number of something else.
    is_number: bool,
}

impl Cells {
    /// The figures of a cell below a head. What it holds besides is noted.
    pub fn read(
        &mut self,
        named: &Named,
        column: usize,
        head: &str,
        cell: &str,
        line: u32,
    ) -> Vec<Figure> {
        match figures(named, cell, line) {
            Some(all) => {
                self.note(column, head, cell, line);
                all
            }
            None => {
                self.refuse(column, head, cell, line);
                Vec::new()
            }
        }
    }

    /// Notes what a cell with a number holds besides.
    pub fn note(&mut self, column: usize, head: &str, cell: &str, line: u32) {
        match Cell::read(cell) {
            Cell::Number { mark, .. } => {
                *self.counts.entry(column).or_default() += 1;
                if let Some(mark) = mark {
                    self.marked += 1;
                    if self.marked == 1 {
                        self.first_marked = line;
                    }
                    if self.marks.len() < MARKS_MAX {
                        self.marks.insert(mark);
                    }
                }
            }
            Cell::Range { .. } => {
                *self.counts.entry(column).or_default() += 1;
                let text = format!(
                    "{}: `{}` is a range: its ends are kept as minimum and maximum",
                    plain(head),
                    plain(cell)
                );
                self.remarks.push(remark(RemarkKind::Assumed, line, text));
            }
            Cell::Missing | Cell::Bound | Cell::Text => {}
        }
    }

    /// Notes a cell that is no number of its column.
    pub fn refuse(&mut self, column: usize, name: &str, cell: &str, line: u32) {
        if plain(cell).is_empty() {
            return;
        }
        let held = Cell::read(cell);
        let is_bound = matches!(held, Cell::Bound);
        let is_number = matches!(held, Cell::Number { .. } | Cell::Range { .. });
        let (name, cell) = (plain(name), plain(cell));
        let unread = Unread { name, cell, line, is_bound, is_number };
        self.unread.entry(column).or_default().push(unread);
    }

    /// All remarks. Words in a column without numbers are not damage.
    pub fn finish(mut self) -> Vec<Remark> {
        let mut remarks = std::mem::take(&mut self.remarks);
        let with_numbers: Vec<(usize, &Vec<Unread>)> = self
            .unread
            .iter()
            .filter(|(column, unread)| {
                self.counts.contains_key(column)
                    || unread.iter().any(|cell| cell.is_bound || cell.is_number)
            })
            .map(|(column, unread)| (*column, unread))
            .collect();
        for (column, unread) in &with_numbers {
            let read = self.counts.get(column).copied().unwrap_or(0);
            if unread.len() <= SINGLE_MAX {
                remarks.extend(unread.iter().map(told));
            } else if let Some(first) = unread.first() {
                let text = format!(
                    "{}: {} of {} cells are not numbers, such as `{}`: what remains may not \
                     represent the table",
                    first.name,
                    unread.len(),
                    unread.len() + read,
                    first.cell
                );
                remarks.push(remark(RemarkKind::Missing, first.line, text));
            }
        }
        remarks.extend(shared_mark(&with_numbers));
        if self.marked > 0 {
            let marks: Vec<String> = self.marks.iter().map(|mark| format!("`{mark}`")).collect();
            let text = format!(
                "marks next to numbers are no part of them: {} in {} cells",
                marks.join(", "),
                self.marked
            );
            remarks.push(remark(RemarkKind::Lost, self.first_marked, text));
        }
        remarks
    }
}

/// Unread cells of several columns that one sign has in common, such as that of the better ones.
fn shared_mark(columns: &[(usize, &Vec<Unread>)]) -> Option<Remark> {
    if columns.len() < 2 {
        return None;
    }
    let all = || columns.iter().flat_map(|(_, unread)| unread.iter());
    let mut signs: BTreeMap<char, usize> = BTreeMap::new();
    for cell in all() {
        let own: BTreeSet<char> =
            cell.cell.chars().filter(|c| !c.is_ascii() && !c.is_alphanumeric()).collect();
        own.into_iter().for_each(|sign| *signs.entry(sign).or_default() += 1);
    }
    let (sign, count) = signs.into_iter().max_by_key(|(_, count)| *count)?;
    let total = all().count();
    (count > SINGLE_MAX && 2 * count > total).then(|| {
        let first = all().map(|cell| cell.line).min().unwrap_or(1);
        let text = format!(
            "{count} of {total} cells that are not read contain `{sign}`: what remains may be one \
             side of a comparison"
        );
        remark(RemarkKind::Missing, first, text)
    })
}

fn told(unread: &Unread) -> Remark {
    let Unread { name, cell, line, is_bound, .. } = unread;
    let text = match is_bound {
        true => format!("{name}: `{cell}` is a bound, not a value"),
        false => format!("{name}: `{cell}` is not a number of it"),
    };
    remark(RemarkKind::Missing, *line, text)
}

fn remark(kind: RemarkKind, line: u32, text: String) -> Remark {
    Remark { kind, place: Place::line(line), text }
}
