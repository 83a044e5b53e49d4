//! Tables of a page.

use crate::format::ABSENT;
use ifm_analysis::insight::Tone;

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
    /// Whether the cells are text, which stands at the left.
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
    /// Small words behind the number: `n=180`.
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

    /// With small words behind it.
    #[must_use]
    pub fn noted(mut self, note: impl Into<String>) -> Cell {
        self.note = Some(note.into());
        self
    }
}

impl Table {
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
