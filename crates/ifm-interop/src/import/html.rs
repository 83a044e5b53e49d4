//! Tables of HTML as cells: in a page, or between the lines of Markdown.
//!
//! Cells that span columns or rows are repeated, so that each has its head. Of nested tables the inner
//! ones are read. Not here: what the cells mean (`generic`).

use super::bounds::{CELLS_MEMORY_MAX, Room, cells_memory};
use super::cell_grid::{Grid, ROWS_MAX};
use super::measure::{decode_entities, tag};
use super::text::{Line, Text};

/// Columns of a table at most, and rows that a cell spans.
const SPAN_MAX: usize = 1000;
/// Lines of one table at most.
const LINES_MAX: usize = 500_000;
/// Memory of a row and of a cell while they are read, bytes.
const ROW_MEMORY: usize = 2 * size_of::<WrittenRow>();
const CELL_MEMORY: usize = 3 * size_of::<WrittenCell>();
/// Tables of a page.
const TABLES_MAX: usize = 10_000;
/// Tags that stay in the text of a cell: they say what is a note and what is crossed out.
const KEPT: &[&str] = &["sup", "sub", "del", "s", "strike"];

/// One row as it is written.
#[derive(Default)]
struct WrittenRow {
    line: u32,
    cells: Vec<WrittenCell>,
    /// Whether it is in the head of the table.
    is_in_head: bool,
}

#[derive(Default)]
struct WrittenCell {
    text: String,
    is_head: bool,
    columns: usize,
    rows: usize,
}

/// A table while its tags go by.
#[derive(Default)]
struct Writing {
    rows: Vec<WrittenRow>,
    caption: Option<String>,
    is_in_head: bool,
    is_in_row: bool,
    is_in_cell: bool,
    is_in_caption: bool,
    more: u32,
}

/// Whether a table of HTML begins on a line.
pub(crate) fn begins_table(line: &str) -> bool {
    line.trim_start().starts_with('<') && find_tag(line, "table").is_some()
}

/// Where a tag of a name begins.
fn find_tag(text: &str, name: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text.get(from..)?.find('<').map(|at| from + at) {
        let found = tag(text.get(at..)?);
        if found.is_some_and(|(own, closes, _)| own == name && !closes) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// The table that begins on this line of a text.
pub(crate) fn table(first: Line<'_>, text: &Text) -> Option<Grid> {
    let mut reader = Reader::default();
    for line in text.from(first.number).take(LINES_MAX) {
        reader.read(line.text, line.number);
        if let Some(found) = reader.take_first() {
            return Some(Grid { last_line: line.number, ..found.grid });
        }
        reader.is_inside().then_some(())?;
    }
    None
}

/// Tables inside tables at most.
const DEPTH_MAX: usize = 8;
/// Longest paragraph between tables that is kept, bytes.
const PARAGRAPH_BYTES_MAX: usize = 400;
/// Paragraphs between tables that are kept.
const PARAGRAPHS_MAX: usize = 2;

/// A table of a page, and the text around it.
pub(crate) struct Found {
    pub grid: Grid,
    /// Headings above, from the outermost.
    pub headings: Vec<String>,
    /// Paragraphs above, the nearest first.
    pub above: Vec<String>,
}

/// Reads lines of HTML and gives the tables in them.
pub(crate) struct Reader {
    /// Memory for more cells.
    room: Room,
    open: Vec<Writing>,
    /// A tag that goes on in the next line.
    rest: String,
    /// The element whose text is skipped.
    skipped: Option<&'static str>,
    found: Vec<Found>,
    /// Headings that are open, with their levels.
    headings: Vec<(u8, String)>,
    above: Vec<String>,
    /// Text outside of tables since the last element began or ended.
    outside: String,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader {
            room: Room::new(CELLS_MEMORY_MAX),
            open: Vec::new(),
            rest: String::new(),
            skipped: None,
            found: Vec::new(),
            headings: Vec::new(),
            above: Vec::new(),
            outside: String::new(),
        }
    }
}

impl Reader {
    /// Whether a table is open, not too deep inside others.
    fn is_inside(&self) -> bool {
        (1..=DEPTH_MAX).contains(&self.open.len()) || !self.rest.is_empty()
    }

    fn take_first(&mut self) -> Option<Found> {
        (!self.found.is_empty()).then(|| self.found.swap_remove(0))
    }

    /// The tables that were read.
    pub fn finish(self) -> Vec<Found> {
        self.found
    }

    /// Goes on with a line.
    pub fn read(&mut self, line: &str, number: u32) {
        let mut whole = std::mem::take(&mut self.rest);
        if !whole.is_empty() {
            whole.push(' ');
        }
        whole.push_str(line);
        let mut rest = whole.as_str();
        while let Some(at) = rest.find('<') {
            self.text(rest.get(..at).unwrap_or_default());
            rest = rest.get(at..).unwrap_or_default();
            let Some((name, closes, length)) = tag(rest) else {
                if rest.starts_with("<!--") {
                    let end = rest.find("-->").map_or(rest.len(), |end| end + 3);
                    rest = rest.get(end..).unwrap_or_default();
                    continue;
                }
                let is_cut = !rest.contains('>')
                    && rest.len() < 400
                    && rest.chars().nth(1).is_some_and(|c| c.is_ascii_alphabetic() || c == '/');
                if is_cut && !self.open.is_empty() {
                    self.rest = rest.to_owned();
                    return;
                }
                self.text("<");
                rest = rest.get(1..).unwrap_or_default();
                continue;
            };
            let written = rest.get(..length).unwrap_or_default();
            rest = rest.get(length..).unwrap_or_default();
            self.element(&name, closes, written, number);
        }
        self.text(rest);
        self.text(" ");
    }

    /// Text outside of tables: a heading, or a paragraph.
    fn outer_element(&mut self, name: &str, closes: bool) {
        let level = name.strip_prefix('h').and_then(|level| level.parse::<u8>().ok());
        let is_block = level.is_some()
            || matches!(
                name,
                "p" | "div" | "li" | "figcaption" | "section" | "td" | "title" | "body"
            );
        if !is_block {
            return;
        }
        let text = tidy(&std::mem::take(&mut self.outside));
        match level.filter(|level| closes && (1..=6).contains(level)) {
            Some(level) => {
                self.headings.retain(|(own, _)| *own < level);
                self.headings.push((level, text));
                self.above.clear();
            }
            None if text.is_empty() || name == "title" => {}
            None => {
                self.above.insert(0, text);
                self.above.truncate(PARAGRAPHS_MAX);
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        let Some(table) = self.open.last_mut() else {
            if self.outside.len() + text.len() <= PARAGRAPH_BYTES_MAX {
                self.outside.push_str(text);
            }
            return;
        };
        if table.is_in_caption {
            table.caption.get_or_insert_default().push_str(text);
        } else if table.is_in_cell
            && let Some(cell) = table.rows.last_mut().and_then(|row| row.cells.last_mut())
        {
            cell.text.push_str(text);
        }
    }

    fn element(&mut self, name: &str, closes: bool, written: &str, line: u32) {
        for skipped in ["script", "style"] {
            if name == skipped {
                self.skipped = (!closes).then_some(skipped);
            }
        }
        if name == "table" && !closes {
            self.outer_element("div", false);
            // What is open deeper than that is read as part of the innermost one.
            if self.open.len() <= DEPTH_MAX {
                self.open.push(Writing::default());
            }
            return;
        }
        if name == "table" {
            let Some(table) = self.open.pop() else { return };
            let Some(grid) = table.grid(&mut self.room) else { return };
            if self.found.len() == TABLES_MAX {
                return;
            }
            let headings = self.headings.iter().map(|(_, title)| title.clone()).collect();
            let above = std::mem::take(&mut self.above);
            self.found.push(Found { grid, headings, above });
            return;
        }
        let Some(table) = self.open.last_mut() else { return self.outer_element(name, closes) };
        match (name, closes) {
            ("thead", _) => table.is_in_head = !closes,
            ("tbody" | "tfoot", false) => table.is_in_head = false,
            ("caption", _) => table.is_in_caption = !closes,
            ("tr", false) => {
                let is_in_head = table.is_in_head;
                table.is_in_row = true;
                table.is_in_cell = false;
                let has_room = table.rows.len() < ROWS_MAX && self.room.take(ROW_MEMORY);
                match has_room {
                    true => {
                        table.rows.push(WrittenRow { line, is_in_head, ..WrittenRow::default() })
                    }
                    false => table.more = table.more.saturating_add(1),
                }
            }
            ("tr", true) => (table.is_in_row, table.is_in_cell) = (false, false),
            ("td" | "th", false) => {
                let has_room = table.is_in_row && table.more == 0 && self.room.take(CELL_MEMORY);
                // A table whose row has no room for a cell ends with the row before.
                if table.is_in_row && table.more == 0 && !has_room {
                    table.rows.pop();
                    table.more = 1;
                }
                table.is_in_cell = has_room;
                if table.is_in_cell
                    && let Some(row) = table.rows.last_mut()
                {
                    row.cells.push(WrittenCell {
                        text: String::new(),
                        is_head: name == "th",
                        columns: span(written, "colspan"),
                        rows: span(written, "rowspan"),
                    });
                }
            }
            ("td" | "th", true) => table.is_in_cell = false,
            ("br" | "p" | "div" | "li", _) => self.text(" "),
            (name, _) if KEPT.contains(&name) => {
                let sign = if closes { "</" } else { "<" };
                self.text(&format!("{sign}{name}>"));
            }
            _ => {}
        }
    }
}

/// A span of a cell: `colspan="2"`.
fn span(written: &str, name: &str) -> usize {
    let lower = written.to_ascii_lowercase();
    let number = lower.split_once(name).and_then(|(_, behind)| {
        let behind = behind.trim_start().strip_prefix('=')?.trim_start();
        let digits = behind.trim_start_matches(['"', '\'']);
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits.get(..length)?.parse::<usize>().ok()
    });
    number.unwrap_or(1).clamp(1, SPAN_MAX)
}

impl Writing {
    /// The cells in rows and columns, where the table has a head and two columns.
    fn grid(self, room: &mut Room) -> Option<Grid> {
        let heads = self.heads();
        let caption = self.caption.map(|text| tidy(&text)).filter(|text| !text.is_empty());
        // Cells that go on below: their text, and rows that are left.
        let mut spans: Vec<Option<(String, usize)>> = Vec::new();
        let mut lines: Vec<(u32, Vec<String>)> = Vec::new();
        let mut more = self.more;
        for row in self.rows {
            let mut cells: Vec<String> = Vec::new();
            let mut written = row.cells.into_iter();
            let mut next = written.next();
            while next.is_some() || spans.get(cells.len()).is_some_and(Option::is_some) {
                if let Some(above) = spans.get_mut(cells.len())
                    && let Some((text, left)) = above.as_mut()
                {
                    cells.push(text.clone());
                    *left -= 1;
                    if *left == 0 {
                        *above = None;
                    }
                    continue;
                }
                let Some(cell) = next.take() else { break };
                next = written.next();
                let text = tidy(&cell.text);
                for _ in 0..cell.columns {
                    if cells.len() >= SPAN_MAX {
                        break;
                    }
                    if cell.rows > 1 {
                        spans.resize(spans.len().max(cells.len() + 1), None);
                        if let Some(place) = spans.get_mut(cells.len()) {
                            *place = Some((text.clone(), cell.rows - 1));
                        }
                    }
                    cells.push(text.clone());
                }
            }
            // Cells that span others are repeated, so that a short row can become a long one.
            if more > 0 || !room.take(cells_memory(&cells)) {
                more = more.saturating_add(1);
                spans.clear();
                continue;
            }
            lines.push((row.line, cells));
        }
        let mut head: Vec<String> = Vec::new();
        let mut head_line = 0;
        for (line, cells) in lines.drain(..heads.min(lines.len())) {
            head_line = line;
            head.resize(head.len().max(cells.len()), String::new());
            for (name, cell) in head.iter_mut().zip(cells) {
                // A head that spans rows is one head.
                if !name.is_empty() && !cell.is_empty() && !name.ends_with(&cell) {
                    name.push(' ');
                }
                if !name.ends_with(&cell) {
                    name.push_str(&cell);
                }
            }
        }
        lines.retain(|(_, cells)| cells.iter().any(|cell| !cell.is_empty()));
        let last_line = lines.last().map_or(head_line, |(line, _)| *line);
        let grid =
            Grid { head, head_line, rows: lines, last_line, more, caption, ..Grid::default() };
        (grid.head.len() >= 2 && !grid.rows.is_empty()).then_some(grid)
    }

    /// Number of leading header rows: the rows in `thead`, else the rows of only `th`, else one.
    fn heads(&self) -> usize {
        let leading = |is_head: &dyn Fn(&WrittenRow) -> bool| {
            self.rows.iter().take_while(|row| is_head(row)).count()
        };
        let in_head = leading(&|row| row.is_in_head);
        if in_head > 0 {
            return in_head;
        }
        let of_heads = leading(&|row| {
            !row.cells.is_empty()
                && row.cells.iter().all(|cell| cell.is_head || cell.text.trim().is_empty())
        });
        if of_heads > 0 {
            return of_heads;
        }
        // A first row whose cells span others names groups of the columns below.
        let is_of_groups =
            self.rows.first().is_some_and(|row| row.cells.iter().any(|cell| cell.columns > 1));
        1 + usize::from(is_of_groups)
    }
}

/// Text of a cell on one line, entities decoded.
fn tidy(text: &str) -> String {
    decode_entities(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(text: &str) -> Grid {
        let text = Text::new(text.as_bytes());
        table(text.line(1).unwrap(), &text).unwrap()
    }

    fn rows(grid: &Grid) -> Vec<Vec<&str>> {
        grid.rows.iter().map(|(_, cells)| cells.iter().map(String::as_str).collect()).collect()
    }

    #[test]
    fn cells_keep_their_lines_and_entities_are_decoded() {
        let table = grid(
            "<table class=x>\n<tr><th>Users</th><th>TTFT&nbsp;(ms)</th></tr>\n\
             <tr><td><b>1</b></td><td>41 &plusmn; 2</td></tr>\n<tr><td>8</td>\n<td><span\nstyle='a'>88</span><sup>1</sup></td></tr>\n</table>\nafter",
        );
        assert_eq!(table.head, ["Users", "TTFT (ms)"]);
        assert_eq!(rows(&table), [["1", "41 ± 2"], ["8", "88<sup>1</sup>"]]);
        assert_eq!((table.rows[1].0, table.last_line), (4, 7));
    }

    #[test]
    fn spans_repeat_their_cells() {
        let table = grid(
            "<table><thead><tr><th rowspan=\"2\">Model</th><th colspan=2>TTFT (ms)</th></tr>\
             <tr><th>p50</th><th>p99</th></tr></thead><tbody>\
             <tr><td rowspan=2>a</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></tbody></table>",
        );
        assert_eq!(table.head, ["Model", "TTFT (ms) p50", "TTFT (ms) p99"]);
        assert_eq!(rows(&table), [["a", "1", "2"], ["a", "3", "4"]]);
    }

    #[test]
    fn without_heads_the_first_row_is_one() {
        let table = grid(
            "<table><caption>TTFT (ms)</caption><tr><td>a</td><td>b</td></tr>\n<tr><td>1<td>2</tr></table>",
        );
        assert_eq!(
            (table.head.join(","), table.caption.as_deref()),
            ("a,b".to_owned(), Some("TTFT (ms)"))
        );
        assert_eq!(rows(&table), [["1", "2"]]);
    }

    #[test]
    fn of_nested_tables_the_inner_one_is_read() {
        let table = grid(
            "<table><tr><td>\n<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>\n</td></tr></table>",
        );
        assert_eq!(table.head, ["a", "b"]);
    }

    #[test]
    fn other_lines_begin_no_table() {
        assert!(begins_table("<div><TABLE border=1>") && !begins_table("a <table>"));
        assert!(!begins_table("<tablet>"));
        let text = Text::new(b"<table><tr><td>never closed</td></tr>\n");
        assert!(table(text.line(1).unwrap(), &text).is_none());
    }
}
