//! Tables of a page.

use crate::format::ABSENT;
use ifm_rules::insight::Tone;
use std::borrow::Borrow;

/// A table.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What it holds, in one sentence.
    pub caption: String,
    /// Heads of the columns.
    pub heads: Vec<Head>,
    /// Rows; each has as many cells as there are heads.
    pub rows: Vec<Vec<Cell>>,
}

/// Head of a column.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// Its name, with the unit where the cells do not say it.
    pub name: String,
    /// The name in full.
    pub explained: Option<String>,
    /// Whether the cells are text, which is left-aligned.
    pub is_text: bool,
}

impl Head {
    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Head {
        Head { name: name.into(), ..Head::default() }
    }

    /// A column of text.
    pub fn text(name: impl Into<String>) -> Head {
        Head { name: name.into(), is_text: true, ..Head::default() }
    }

    /// With the name in full.
    #[must_use]
    pub fn explained(mut self, long: impl Into<String>) -> Head {
        self.explained = Some(long.into());
        self
    }
}

/// One cell.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// As it is written.
    pub text: String,
    /// The number with all digits, in `unit`.
    pub value: Option<f64>,
    /// The unit of the number, where it is not that of the head or of the text.
    pub unit: Option<&'static str>,
    /// Whether it names its row.
    pub is_head: bool,
    /// Its verdict.
    pub tone: Option<Tone>,
    /// Small text after the number: `n=180`.
    pub note: Option<String>,
    /// Share of the largest value of the column, 0 to 1, drawn as a bar.
    pub bar: Option<f64>,
}

impl Cell {
    /// Text.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// With the unit of its number.
    #[must_use]
    pub fn in_unit(self, unit: &'static str) -> Cell {
        Cell { unit: Some(unit), ..self }
    }

    /// The name of the row.
    pub fn head(text: impl Into<String>) -> Cell {
        Cell { is_head: true, ..Cell::text(text) }
    }

    /// A number as it is written and with all digits; the sign of the absent one without a value.
    pub fn number(value: Option<f64>, write: impl Fn(f64) -> String) -> Cell {
        match value {
            Some(number) => Cell { value, ..Cell::text(write(number)) },
            None => Cell::text(ABSENT),
        }
    }

    /// With a verdict.
    #[must_use]
    pub fn toned(mut self, tone: Tone) -> Cell {
        self.tone = Some(tone);
        self
    }

    /// With small text after it.
    #[must_use]
    pub fn noted(mut self, note: impl Into<String>) -> Cell {
        self.note = Some(note.into());
        self
    }
}

/// A column: its head, and how its cell of a row is read.
pub struct Column<'a, R> {
    head: Head,
    read: Box<dyn Fn(&R) -> Cell + 'a>,
    is_shown: bool,
}

impl<'a, R> Column<'a, R> {
    /// A column of these cells.
    pub fn new(head: Head, read: impl Fn(&R) -> Cell + 'a) -> Column<'a, R> {
        Column { head, read: Box::new(read), is_shown: true }
    }
}

/// The columns of a table as data: each is its heading and how it is read from a row.
pub struct Columns<'a, R>(Vec<Column<'a, R>>);

impl<R> Default for Columns<'_, R> {
    fn default() -> Self {
        Columns(Vec::new())
    }
}

impl<'a, R> Columns<'a, R> {
    /// And this one.
    #[must_use]
    pub fn push(mut self, column: Column<'a, R>) -> Self {
        self.0.push(column);
        self
    }

    /// And all of these.
    #[must_use]
    pub fn all(mut self, columns: impl IntoIterator<Item = Column<'a, R>>) -> Self {
        self.0.extend(columns);
        self
    }

    /// Cells of any kind.
    #[must_use]
    pub fn cell(self, head: Head, read: impl Fn(&R) -> Cell + 'a) -> Self {
        self.push(Column::new(head, read))
    }

    /// The names of the rows.
    #[must_use]
    pub fn name(self, head: &str, read: impl Fn(&R) -> String + 'a) -> Self {
        self.cell(Head::text(head), move |row| Cell::head(read(row)))
    }

    /// Text.
    #[must_use]
    pub fn text(self, head: impl Into<String>, read: impl Fn(&R) -> String + 'a) -> Self {
        self.cell(Head::text(head), move |row| Cell::text(read(row)))
    }

    /// Numbers, and how they are written.
    #[must_use]
    pub fn number(
        self,
        head: impl Into<String>,
        read: impl Fn(&R) -> Option<f64> + 'a,
        write: impl Fn(f64) -> String + 'a,
    ) -> Self {
        self.cell(Head::number(head), move |row| Cell::number(read(row), &write))
    }

    /// The last one is left out where that is not so.
    #[must_use]
    pub fn when(mut self, is_shown: bool) -> Self {
        self.0.iter_mut().last().into_iter().for_each(|last| last.is_shown = is_shown);
        self
    }

    /// The last one with its name in full.
    #[must_use]
    pub fn explained(mut self, long: &str) -> Self {
        let last = self.0.iter_mut().last().into_iter();
        last.for_each(|last| last.head.explained = Some(long.to_owned()));
        self
    }

    /// The table of these rows.
    pub fn table(
        self,
        caption: impl Into<String>,
        rows: impl IntoIterator<Item = impl Borrow<R>>,
    ) -> Table {
        let columns = self.0.into_iter().filter(|column| column.is_shown);
        let (heads, reads): (Vec<Head>, Vec<_>) =
            columns.map(|column| (column.head, column.read)).unzip();
        let row = |row: &R| reads.iter().map(|read| read(row)).collect();
        let rows = rows.into_iter().map(|of| row(of.borrow())).collect();
        Table { caption: caption.into(), heads, rows }
    }
}

impl Table {
    /// A table of these columns, a row for each.
    pub fn of<'a, R>(
        caption: impl Into<String>,
        columns: impl IntoIterator<Item = Column<'a, R>>,
        rows: impl IntoIterator<Item = impl Borrow<R>>,
    ) -> Table {
        let columns = columns.into_iter();
        let (heads, reads): (Vec<Head>, Vec<_>) = columns
            .filter(|column| column.is_shown)
            .map(|column| (column.head, column.read))
            .unzip();
        let rows = rows.into_iter();
        let rows = rows.map(|row| reads.iter().map(|read| read(row.borrow())).collect()).collect();
        Table { caption: caption.into(), heads, rows }
    }

    /// Leaves out columns in which nothing is known.
    pub fn drop_empty_columns(&mut self) {
        let is_known = |column: usize| {
            self.rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.text != ABSENT))
        };
        let known: Vec<bool> = (0..self.heads.len()).map(is_known).collect();
        let is_kept = |column: &mut usize| {
            *column += 1;
            known.get(*column - 1).copied().unwrap_or(false)
        };
        let mut column = 0;
        self.heads.retain(|_| is_kept(&mut column));
        for row in &mut self.rows {
            let mut column = 0;
            row.retain(|_| is_kept(&mut column));
        }
    }

    /// Draws bars in a column by the share of its largest value.
    pub fn bar_column(&mut self, column: usize) {
        let value = |row: &Vec<Cell>| row.get(column).and_then(|cell| cell.value);
        let largest = self.rows.iter().filter_map(value).fold(0.0, f64::max);
        if largest <= 0.0 {
            return;
        }
        for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            cell.bar = cell.value.map(|value| (value / largest).max(0.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_which_nothing_is_known_is_left_out() {
        let row = |name: &str, speed: Option<f64>| {
            vec![
                Cell::head(name),
                Cell::text(ABSENT),
                Cell::number(speed, |speed| speed.to_string()),
            ]
        };
        let heads = ["model", "loss", "speed"].map(Head::text).to_vec();
        let rows = vec![row("a", None), row("b", Some(2.0))];
        let mut table = Table { heads, rows, ..Table::default() };
        table.drop_empty_columns();
        let names: Vec<&str> = table.heads.iter().map(|head| head.name.as_str()).collect();
        assert_eq!((names, table.rows[1].len()), (vec!["model", "speed"], 2));
        assert_eq!(table.rows[0][1].text, ABSENT);
    }
}
