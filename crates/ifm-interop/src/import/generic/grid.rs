//! Cells of a table: Markdown, lines of `+---+`, or drawn with box characters.

use super::super::text::{Line, Text};

/// A table as cells.
#[derive(Debug)]
pub(crate) struct Grid {
    /// Heads of the columns; those of several lines are joined.
    pub head: Vec<String>,
    /// Line and cells of each row.
    pub rows: Vec<(u32, Vec<String>)>,
    /// Last line.
    pub last_line: u32,
    /// Rows that are not kept: there were too many.
    pub more: u32,
}

/// Rows that are kept of one table.
const ROWS_MAX: usize = 200_000;

/// Lines that a head has at most.
const HEAD_LINES_MAX: usize = 8;

/// The table that begins on this line.
pub(crate) fn grid(first: Line<'_>, text: &Text) -> Option<Grid> {
    let trimmed = first.text.trim();
    let begin = match trimmed.chars().next()? {
        '+' if is_rule(trimmed) && trimmed.len() > 3 => first.number + 1,
        '┏' | '┌' | '╔' | '╒' | '╭' if trimmed.contains(['┳', '┬', '╤', '╦']) => {
            first.number + 1
        }
        '|' => first.number,
        _ if trimmed.contains('|') => first.number,
        _ => return None,
    };
    // A head is what stands before the first rule.
    let mut head: Vec<String> = Vec::new();
    let mut at = begin;
    loop {
        let line = text.line(at)?;
        if is_rule(line.text.trim()) {
            break;
        }
        if usize::try_from(at - begin).unwrap_or(usize::MAX) >= HEAD_LINES_MAX {
            return None;
        }
        // A Markdown head is one line.
        if begin == first.number && at > begin {
            return None;
        }
        let cells = cells(line.text)?;
        head.resize(head.len().max(cells.len()), String::new());
        for (name, cell) in head.iter_mut().zip(cells) {
            if !name.is_empty() && !cell.is_empty() {
                name.push(' ');
            }
            name.push_str(&cell);
        }
        at += 1;
    }
    if head.len() < 2 {
        return None;
    }
    let mut grid = Grid { head, rows: Vec::new(), last_line: at, more: 0 };
    for line in text.from(at + 1) {
        if is_rule(line.text.trim()) {
            grid.last_line = line.number;
            continue;
        }
        let Some(cells) = cells(line.text) else { break };
        grid.last_line = line.number;
        match grid.rows.len() < ROWS_MAX {
            true => grid.rows.push((line.number, cells)),
            false => grid.more += 1,
        }
    }
    Some(grid)
}

/// A line between rows.
fn is_rule(line: &str) -> bool {
    let marks = |c: char| {
        matches!(c, '|' | '+' | '-' | ':' | '=' | ' ') || ('\u{2500}'..='\u{257f}').contains(&c)
    };
    let strokes = |c: char| matches!(c, '-' | '=' | '─' | '━' | '═' | '╌');
    let joints = |c: char| matches!(c, '|' | '+') || "┼╋╪╬├┡╞╠┣┴┻╧╩┬┳╤╦╇┿╂└┗╘╚╰╒╟╫".contains(c);
    line.chars().all(marks) && line.chars().any(strokes) && line.chars().any(joints)
}

/// The cells of a row; absent where a line is none.
fn cells(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    let bar = match line.chars().next()? {
        '│' | '┃' | '║' => |c: char| matches!(c, '│' | '┃' | '║'),
        _ if line.contains('|') => |c: char| c == '|',
        _ => return None,
    };
    let inner = line.strip_prefix(bar).unwrap_or(line);
    let inner = inner.strip_suffix(bar).filter(|rest| !rest.ends_with('\\')).unwrap_or(inner);
    let mut cells: Vec<String> = Vec::new();
    let mut joined = false;
    for piece in inner.split(bar) {
        let escaped = piece.ends_with('\\');
        let piece_text = piece.strip_suffix('\\').unwrap_or(piece).trim();
        match cells.last_mut().filter(|_| joined) {
            Some(last) => {
                last.push('|');
                last.push_str(piece_text);
            }
            None => cells.push(piece_text.to_owned()),
        }
        joined = escaped;
    }
    Some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
        let text = Text::new(text.as_bytes());
        let grid = grid(text.line(1).unwrap(), &text).unwrap();
        (grid.head, grid.rows.into_iter().map(|(_, cells)| cells).collect())
    }

    #[test]
    fn tables_of_every_kind_are_cells() {
        let expected = (
            vec!["a b".to_owned(), "c".to_owned()],
            vec![vec!["1".to_owned(), "2".to_owned()], vec!["3".to_owned(), "4".to_owned()]],
        );
        for text in [
            "| a b | c |\n|---|--:|\n| 1 | 2 |\n| 3 | 4 |\n\nafter | it",
            "a b | c\n--- | ---\n1 | 2\n3 | 4\n",
            "+---+---+\n| a | c |\n| b |   |\n+===+===+\n| 1 | 2 |\n+---+---+\n| 3 | 4 |\n+---+---+\n",
            "┏━━━┳━━━┓\n┃ a b ┃ c ┃\n┡━━━╇━━━┩\n│ 1 │ 2 │\n│ 3 │ 4 │\n└───┴───┘\n",
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn other_lines_are_none() {
        for text in
            ["a | b\nc | d\n", "╔═══╗\n║ x ║\n╚═══╝\n", "| alone |", "+", "|--|--|\n| a | b |"]
        {
            let text = Text::new(text.as_bytes());
            assert!(grid(text.line(1).unwrap(), &text).is_none_or(|grid| grid.head.is_empty()));
        }
    }
}
