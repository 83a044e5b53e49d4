//! Tables drawn with box characters: `│ TTFT │ 52.28 ms │`. A label that is too long goes on in
//! the next line, whose other cells are empty.

use super::super::text::{Line, Text};

/// Lines of a table at most.
const LINES_MAX: usize = 10_000;

/// A table: its headings, and its rows with the line on which each begins.
#[derive(Debug)]
pub(super) struct Table {
    pub headings: Vec<String>,
    pub rows: Vec<(u32, Vec<String>)>,
    pub last_line: u32,
}

/// The line of headings, where a table begins with it or with its upper edge.
pub(super) fn headings<'a>(first: Line<'a>, text: &'a Text) -> Option<Line<'a>> {
    match is_rule(first.text) {
        true => text.from(first.number + 1).next(),
        false => Some(first),
    }
    .filter(|line| cells(line.text).is_some())
}

/// Reads the table whose headings stand on a line.
pub(super) fn read(first: Line<'_>, text: &Text) -> Option<Table> {
    let headings = cells(first.text)?;
    let mut table = Table { headings, rows: Vec::new(), last_line: first.number };
    for line in text.from(first.number + 1).take(LINES_MAX) {
        if is_rule(line.text) {
            table.last_line = line.number;
            // The lower edge ends it.
            if line.text.trim().starts_with('└') {
                break;
            }
            continue;
        }
        let Some(cells) = cells(line.text).filter(|cells| cells.len() == table.headings.len())
        else {
            break;
        };
        table.last_line = line.number;
        match table.rows.last_mut() {
            Some((_, above)) if cells.iter().skip(1).all(String::is_empty) => {
                if let (Some(label), Some(rest)) = (above.first_mut(), cells.first()) {
                    label.push(' ');
                    label.push_str(rest);
                }
            }
            _ => table.rows.push((line.number, cells)),
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Cells of a line between upright bars.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix(['│', '┃'])?.strip_suffix(['│', '┃'])?;
    let cells: Vec<String> = inner.split(['│', '┃']).map(|cell| cell.trim().to_owned()).collect();
    (cells.len() > 1).then_some(cells)
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| ('\u{2500}'..='\u{257f}').contains(&c) && !is_bar(c))
}

fn is_bar(c: char) -> bool {
    matches!(c, '│' | '┃')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_labels_go_on() {
        let text = "┏━━━┳━━━┓\n┃ Metric ┃ avg ┃\n┡━━━╇━━━┩\n│ Speed Per User │ 97.3 │\n\
                    │ (tokens/sec) │ │\n│ b │ 1 │\n└───┴───┘\nafter\n";
        let text = Text::new(text.as_bytes());
        let table = read(text.from(2).next().unwrap(), &text).unwrap();
        assert_eq!(table.headings, ["Metric", "avg"]);
        assert_eq!(table.rows[0], (4, vec!["Speed Per User (tokens/sec)".into(), "97.3".into()]));
        assert_eq!((table.rows.len(), table.last_line), (2, 7));
    }
}
