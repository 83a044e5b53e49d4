//! A table of results that reads well on a terminal and is Markdown.

/// Rows under a title, with a note on what was done.
#[derive(Debug, Clone)]
pub struct Table {
    title: String,
    note: String,
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: &str, note: &str, columns: &[&'static str]) -> Table {
        let (title, note) = (title.to_owned(), note.to_owned());
        Table { title, note, columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; cells that are missing stay empty.
    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Title, note and an aligned table; the first column to the left, the others to the right.
    pub fn to_markdown(&self) -> String {
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| cell(row, column).chars().count());
            let name = self.columns.get(column).map_or(0, |name| name.chars().count());
            cells.fold(name.max(3), usize::max)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: Vec<String>| {
            let padded = cells.iter().zip(&widths).enumerate();
            let padded: Vec<String> = padded
                .map(|(column, (text, width))| match column {
                    0 => format!("{text:<width$}"),
                    _ => format!("{text:>width$}"),
                })
                .collect();
            format!("| {} |\n", padded.join(" | "))
        };
        let mut text = format!("## {}\n\n{}\n\n", self.title, self.note);
        text.push_str(&line(self.columns.iter().map(|name| (*name).to_owned()).collect()));
        let rules = widths.iter().enumerate().map(|(column, width)| match column {
            0 => "-".repeat(*width),
            _ => format!("{}:", "-".repeat(width - 1)),
        });
        text.push_str(&line(rules.collect()));
        for row in &self.rows {
            text.push_str(&line((0..self.columns.len()).map(|column| cell(row, column)).collect()));
        }
        text
    }
}

/// A number with `digits` digits after the point, and thousands separated; a dash for unknown.
pub fn number(value: Option<f64>, digits: usize) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return "–".to_owned() };
    let text = format!("{value:.digits$}");
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) if rest.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) => ("-", rest),
        Some(rest) => ("", rest),
        None => ("", text.as_str()),
    };
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(a, b)| (a, Some(b)));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

/// Whether a measured value is below its target; the target is said.
pub fn verdict(value: Option<f64>, target: f64, target_text: &str) -> String {
    match value {
        Some(value) if value.abs() <= target => format!("{target_text}: met"),
        Some(_) => format!("{target_text}: missed"),
        None => format!("{target_text}: –"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (value, digits, text) in [
            (1234567.0, 0, "1,234,567"),
            (-1234.5, 1, "-1,234.5"),
            (123.0, 2, "123.00"),
            (-0.0001, 2, "0.00"),
            (f64::NAN, 2, "–"),
        ] {
            assert_eq!(number(Some(value), digits), text);
        }
        assert_eq!(number(None, 1), "–");
    }

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new("Title", "A note.", &["what", "n"]);
        table.push(vec!["longer".to_owned(), "1,000".to_owned()]);
        table.push(vec!["x".to_owned()]);
        let expect = "## Title\n\nA note.\n\n\
                      | what   |     n |\n\
                      | ------ | ----: |\n\
                      | longer | 1,000 |\n\
                      | x      |       |\n";
        assert_eq!(table.to_markdown(), expect);
    }

    #[test]
    fn a_target_is_met_in_both_directions() {
        assert_eq!(verdict(Some(-0.1), 0.2, "0.2"), "0.2: met");
        assert_eq!(verdict(Some(-0.3), 0.2, "0.2"), "0.2: missed");
        assert_eq!(verdict(None, 0.2, "0.2"), "0.2: –");
    }
}
