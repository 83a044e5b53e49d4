//! Cells of a table: Markdown, HTML, lines of `+---+`, or drawn with box characters.
//!
//! Not here: tables whose headings span several columns, and say by the bars how many
//! (`block/spans`); files of separated values, which are no text (`format/records`).

pub(crate) use super::cell_grid::Grid;
use super::html;
use super::text::{Line, Text};
use ifm_core::sheet::{Place, Remark, RemarkKind};

/// Maximum number of unrelated lines between two rows of a table: other output of a program, or a
/// damaged row.
const STRAYS_MAX: usize = 5;

/// The row with which a table goes on behind lines that are none, the first of which is `first`: a
/// line that `is_row` says is one of as many cells. Nothing where a table ends: what follows a
/// heading, a fence, a rule or the line of a build is of another one, and so is a row with a rule
/// between it and the next.
pub(crate) fn resumed(
    first: u32,
    text: &Text,
    is_row: impl Fn(&str) -> bool,
    is_rule: impl Fn(&str) -> bool,
) -> Option<u32> {
    let ends = |line: &str| {
        let line = line.trim();
        is_rule(line)
            || ["#", "```", "~~~", "**", "build:"].iter().any(|mark| line.starts_with(mark))
    };
    let mut lines = text.from(first).take(STRAYS_MAX + 1).take_while(|line| !ends(line.text));
    let row = lines.find(|line| line.number > first && is_row(line.text))?;
    let below = |lines: u32| text.line(row.number + lines).map_or("", |line| line.text);
    // A rule of dashes between bars occurs only below headers, other rules also below the last row.
    let is_of_head = |line: &str| line.trim().starts_with('|') && !line.contains('=');
    let is_head = is_rule(below(1)) && (is_of_head(below(1)) || is_row(below(2)));
    (!is_head).then_some(row.number)
}

/// The remark about lines between the rows of a table that are not rows.
pub(crate) fn stray(line: u32) -> Remark {
    Remark {
        kind: RemarkKind::Skipped,
        place: Place::line(line),
        text: "between the rows of a table, and none of them".to_owned(),
    }
}

/// Lines that a head has at most.
const HEAD_LINES_MAX: usize = 8;
/// Separators of cells in a box-drawn table.
const BOX_BARS: &[char] = &['│', '┃', '║'];

/// The table that begins on this line.
pub(crate) fn grid(first: Line<'_>, text: &Text) -> Option<Grid> {
    if html::begins_table(first.text) {
        return html::table(first, text);
    }
    let (head, rule) = head(first, text)?;
    if head.len() < 2 {
        return None;
    }
    let head_line = rule - 1;
    let has_outer_bars = text.line(head_line).is_some_and(|line| starts_with_bar(line.text));
    let mut grid = Grid { head, head_line, last_line: rule, ..Grid::default() };
    // The row with which the table goes on behind lines that are none.
    let mut next_row = 0;
    for line in text.from(rule + 1) {
        if line.number < next_row {
            grid.strays.extend((!line.text.trim().is_empty()).then_some(line.number));
            continue;
        }
        if is_rule(line.text.trim()) {
            grid.last_line = line.number;
            if is_lower_edge(line.text) {
                break;
            }
            continue;
        }
        let is_row = !has_outer_bars || starts_with_bar(line.text);
        let Some(cells) = cells(line.text).filter(|_| is_row) else {
            let of_table = |line: &str| {
                starts_with_bar(line) && cells(line).is_some_and(|row| row.len() == grid.head.len())
            };
            let goes_on = resumed(line.number, text, of_table, |line| is_rule(line.trim()));
            let Some(row) = goes_on.filter(|_| has_outer_bars) else { break };
            next_row = row;
            grid.strays.extend((!line.text.trim().is_empty()).then_some(line.number));
            continue;
        };
        grid.last_line = line.number;
        grid.push(line.number, cells);
    }
    Some(grid)
}

/// The header before the first rule, with a heading for each column, and the line of that rule.
fn head(first: Line<'_>, text: &Text) -> Option<(Vec<String>, u32)> {
    let trimmed = first.text.trim();
    let has_edge = match trimmed.chars().next()? {
        '+' if is_rule(trimmed) && trimmed.len() > 3 => true,
        '┏' | '┌' | '╔' | '╒' | '╭' if trimmed.contains(['┳', '┬', '╤', '╦']) => {
            true
        }
        '│' | '┃' | '║' => false,
        _ if trimmed.contains('|') => false,
        _ => return None,
    };
    // A Markdown head is one line.
    let lines_max = if has_edge || starts_with(first.text, BOX_BARS) { HEAD_LINES_MAX } else { 1 };
    let begin = first.number + u32::from(has_edge);
    let mut head: Vec<String> = Vec::new();
    for line in text.from(begin).take(lines_max + 1) {
        if is_rule(line.text.trim()) {
            return Some((head, line.number)).filter(|_| !is_lower_edge(line.text));
        }
        let cells = cells(line.text)?;
        head.resize(head.len().max(cells.len()), String::new());
        for (name, cell) in head.iter_mut().zip(cells) {
            if !name.is_empty() && !cell.is_empty() {
                name.push(' ');
            }
            name.push_str(&cell);
        }
    }
    None
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

/// The edge below a table that is drawn: what follows is another one.
fn is_lower_edge(line: &str) -> bool {
    starts_with(line, &['└', '┗', '╚', '╘', '╰'])
}

fn starts_with_bar(line: &str) -> bool {
    starts_with(line, &['|']) || starts_with(line, BOX_BARS)
}

fn starts_with(line: &str, characters: &[char]) -> bool {
    line.trim_start().starts_with(characters)
}

/// The cells of a row; absent for any other line.
fn cells(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    let bar = match line.chars().next()? {
        c if BOX_BARS.contains(&c) => |c: char| BOX_BARS.contains(&c),
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
    fn a_table_that_is_drawn_ends_with_its_lower_edge() {
        let table = "┏━━━┳━━━┓\n┃ a ┃ b ┃\n┡━━━╇━━━┩\n│ 1 │ 2 │\n└───┴───┘\n";
        let text = Text::new(table.repeat(2).as_bytes());
        for (line, last) in [(1, 5), (2, 5), (6, 10)] {
            let grid = grid(text.line(line).unwrap(), &text).unwrap();
            assert_eq!((grid.rows.len(), grid.last_line), (1, last), "from line {line}");
        }
    }

    #[test]
    fn long_labels_go_on_in_the_next_line() {
        let text = "┏━━━┳━━━┓\n┃ Metric ┃ avg ┃\n┡━━━╇━━━┩\n│ Speed Per User │ 97.3 │\n\
                    │ (tokens/sec) │ │\n│ b │ 1 │\n└───┴───┘\nafter\n";
        let text = Text::new(text.as_bytes());
        let table = grid(text.line(1).unwrap(), &text).unwrap().with_whole_labels();
        assert_eq!(table.head, ["Metric", "avg"]);
        assert_eq!(table.rows[0], (4, vec!["Speed Per User (tokens/sec)".into(), "97.3".into()]));
        assert_eq!((table.rows.len(), table.last_line), (2, 7));
    }

    #[test]
    fn what_follows_without_its_bars_is_no_row() {
        let table = "| a | b |\n|---|---|\n| 1 | 2 |\nneither a | nor b\n";
        assert_eq!(read(table).1.len(), 1);
    }

    #[test]
    fn lines_between_the_rows_cost_no_row() {
        let head = "| a | b |\n|---|---|\n| 1 | 2 |\n";
        let read = |rest: &str| {
            let text = Text::new(format!("{head}{rest}").as_bytes());
            let grid = grid(text.line(1).unwrap(), &text).unwrap();
            let rows: Vec<u32> = grid.rows.iter().map(|(line, _)| *line).collect();
            (rows, grid.strays)
        };
        assert_eq!(read("a word\n| 3 | 4 |\n| 5 | 6 |\n"), (vec![3, 5, 6], vec![4]));
        assert_eq!(read("\nx\n\n| 3 | 4 |\n"), (vec![3, 7], vec![5]));
        assert_eq!(read("3 | 4 |\n| 5 | 6 |\n"), (vec![3, 5], vec![4]));
        for other in [
            "# heading\n| 3 | 4 |\n",
            "x\n| c | d |\n|---|---|\n| 3 | 4 |\n",
            "\n| c | d |\n| :-- | --: |\n\nnothing\n",
            "build: 1\n| 3 | 4 |\n",
            "x\n| 3 |\n",
            "1\n2\n3\n4\n5\n6\n| 3 | 4 |\n",
        ] {
            assert_eq!(read(other), (vec![3], Vec::new()), "{other}");
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
