//! Tables of Markdown.

use super::super::text::{Line, Text};

/// Rows of a table at most.
const ROWS_MAX: usize = 100_000;

/// A table: names of the columns, and the cells of each row with its line.
#[derive(Debug)]
pub(crate) struct Table {
    /// Names of the columns.
    pub head: Vec<String>,
    /// Line and cells. A row may have fewer or more cells than the head.
    pub rows: Vec<(u32, Vec<String>)>,
    /// Its last line.
    pub last_line: u32,
}

impl Table {
    /// The table whose head is this line, if a line of dashes follows it.
    pub fn read(first: Line<'_>, text: &Text) -> Option<Table> {
        let head = cells(first.text)?;
        let mut lines = text.from(first.number + 1);
        if !lines.next().is_some_and(|line| is_rule(line.text)) {
            return None;
        }
        let mut table = Table { head, rows: Vec::new(), last_line: first.number + 1 };
        for line in lines.take(ROWS_MAX) {
            let Some(cells) = cells(line.text) else { break };
            table.last_line = line.number;
            table.rows.push((line.number, cells));
        }
        Some(table)
    }
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('|') && line.contains("--") && line.chars().all(|c| "|-: ".contains(c))
}
