//! A page for a terminal: answers, sentences and tables; charts in dots where they fit.

use super::{Block, Cell, Page, Remark, Section, Table, sign};
use crate::TerminalStyle;
use crate::format::{ABSENT, THOUSANDS, ascii, spaced};
use ifm_chart::Screen;

/// Characters between two columns.
const GAP: usize = 2;
/// Indent of cells that did not fit on the line of their row.
const BELOW: &str = "    ";

/// The whole page; ends with a line break.
pub fn terminal(page: &Page, style: &TerminalStyle) -> String {
    let page = page.clone().with_unique_ids();
    let mut out = format!("{}\n", page.title);
    for line in [&page.facts, &page.conditions] {
        if !line.is_empty() {
            out.push_str(&wrapped(&line.join(" · "), "", style.width));
        }
    }
    for sentence in page.lead.iter().chain(&page.banners) {
        out.push_str(&wrapped(sentence, "", style.width));
    }
    if !page.tiles.is_empty() {
        out.push('\n');
    }
    for tile in &page.tiles {
        let said = match tile.why_not() {
            Some(why) => format!("{why} ({})", tile.said()),
            None => tile.said(),
        };
        let line = format!("● {}  {said}  {}", tile.question, tile.detail);
        out.push_str(&wrapped(line.trim_end(), "  ", style.width));
    }
    if !page.remarks.is_empty() {
        out.push('\n');
        out.push_str(&remarks(&page.remarks, style.width));
    }
    if let Some(trust) = &page.trust {
        out.push_str(&format!("\n{}\n", trust.line));
        for (tone, text) in &trust.loud {
            out.push_str(&wrapped(&format!("{} {text}", sign(*tone)), "  ", style.width));
        }
    }
    let words = |text: &str, before: &str| wrapped(text, before, style.width);
    out.extend(page.notes.as_ref().map(|notes| super::notes::terminal(notes, &words)));
    for section in &page.sections {
        out.push_str(&chapter(section, style));
    }
    if style.ascii { ascii(&out) } else { spaced(&out) }
}

/// A table by itself, at the width of the terminal.
pub fn table_terminal(table: &Table, style: &TerminalStyle) -> String {
    let out = tabled(table, style.width);
    if style.ascii { ascii(&out) } else { spaced(&out) }
}

fn chapter(section: &Section, style: &TerminalStyle) -> String {
    let line = if section.depth <= 2 { "=" } else { "-" };
    let under = line.repeat(section.heading.chars().count().min(style.width));
    let inside: String = section.blocks.iter().map(|block| piece(block, style)).collect();
    let is_bare = inside.is_empty() && !section.blocks.is_empty();
    if is_bare { String::new() } else { format!("\n{}\n{under}\n{inside}", section.heading) }
}

fn piece(block: &Block, style: &TerminalStyle) -> String {
    match block {
        Block::Prose(text) => wrapped(text, "", style.width),
        Block::Figures(figures) => figures
            .iter()
            .map(|figure| {
                let drawn = ifm_chart::braille(&figure.chart, screen(style));
                format!("\n{drawn}\n{}", remarks(&figure.remarks, style.width))
            })
            .collect(),
        Block::Table(table) => tabled(table, style.width),
        Block::Remarks(all) => remarks(all, style.width),
        Block::Pre(text) => format!("{}\n", text.trim_end()),
        Block::List(points) => {
            points.iter().map(|point| wrapped(&format!("- {point}"), "  ", style.width)).collect()
        }
        // Pictures, and what most readers skip, are in the other formats.
        Block::Sheet(_) | Block::Details(..) => String::new(),
    }
}

/// Room for a chart: as wide as the terminal, up to where a line is hard to follow.
fn screen(style: &TerminalStyle) -> Screen {
    const COLUMNS_MAX: usize = 100;
    const LINES: u16 = 16;
    Screen {
        columns: u16::try_from(style.width.min(COLUMNS_MAX)).unwrap_or(u16::MAX),
        lines: LINES,
        is_ascii: style.ascii,
        has_color: style.color,
    }
}

fn remarks(remarks: &[Remark], width: usize) -> String {
    let line =
        |remark: &Remark| wrapped(&format!("{} {}", sign(remark.tone), remark.text), "  ", width);
    remarks.iter().map(line).collect()
}

/// Columns by the widest cell; text at the left, numbers at the right. Where they do not fit, columns of
/// one value go above the table, columns without values are left out, and the last ones go below their row.
fn tabled(table: &Table, width: usize) -> String {
    let grid = Grid::of(table);
    let all: Vec<usize> = (0..table.heads.len()).collect();
    let mut out = String::from("\n");
    if grid.width(&all) <= width {
        grid.write(&mut out, &all, &[], width);
        return out;
    }
    let (mut columns, mut common) = (Vec::new(), Vec::new());
    for column in all {
        match grid.only_value(column).filter(|_| column > 0) {
            Some(ABSENT) => {}
            Some(value) if table.heads.get(column).is_some_and(|head| head.is_text) => {
                common.push(format!("{}: {value}", grid.name(column)));
            }
            _ => columns.push(column),
        }
    }
    if !common.is_empty() {
        out.push_str(&wrapped(&common.join(" · "), "", width));
    }
    let fits = |count: &usize| columns.get(..*count).is_some_and(|some| grid.width(some) <= width);
    let kept = (1..=columns.len()).rev().find(fits).unwrap_or(1);
    let (shown, below) = columns.split_at(kept.min(columns.len()));
    grid.write(&mut out, shown, below, width);
    out
}

/// The cells of a table as they are written.
struct Grid<'t> {
    table: &'t Table,
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
}

impl Grid<'_> {
    fn of(table: &Table) -> Grid<'_> {
        let text = |cell: &Cell| match &cell.note {
            Some(note) => format!("{} {note}", cell.text),
            None => cell.text.clone(),
        };
        let rows: Vec<Vec<String>> =
            table.rows.iter().map(|row| row.iter().map(text).collect()).collect();
        let width = |column: usize| {
            let head = table.heads.get(column).map_or(0, |head| head.name.chars().count());
            let cell = |row: &Vec<String>| row.get(column).map_or(0, |cell| cell.chars().count());
            rows.iter().map(cell).fold(head, usize::max)
        };
        let widths = (0..table.heads.len()).map(width).collect();
        Grid { table, rows, widths }
    }

    /// Characters of a line of these columns.
    fn width(&self, columns: &[usize]) -> usize {
        let cells = columns.iter().filter_map(|column| self.widths.get(*column));
        cells.sum::<usize>() + GAP * columns.len().saturating_sub(1)
    }

    fn name(&self, column: usize) -> &str {
        self.table.heads.get(column).map_or("", |head| head.name.as_str())
    }

    /// The value that all rows have; absent with a single row, of which each value says something.
    fn only_value(&self, column: usize) -> Option<&str> {
        let (first, others) = self.rows.split_first()?;
        let value = first.get(column)?;
        let is_one = others.iter().all(|row| row.get(column) == Some(value));
        let is_telling = !others.is_empty() || value == ABSENT;
        (is_one && is_telling).then_some(value)
    }

    /// Writes heads and rows. Columns `below` follow on lines of their own, each with its name.
    fn write(&self, out: &mut String, shown: &[usize], below: &[usize], width: usize) {
        let line = |cell: &dyn Fn(usize) -> String| {
            let mut line = String::new();
            for (index, column) in shown.iter().enumerate() {
                let (cell, width) = (cell(*column), self.widths.get(*column).copied());
                let is_text = self.table.heads.get(*column).is_some_and(|head| head.is_text);
                let room = " ".repeat(width.unwrap_or(0).saturating_sub(cell.chars().count()));
                let gap = " ".repeat(if index == 0 { 0 } else { GAP });
                line.push_str(&match is_text {
                    true => format!("{gap}{cell}{room}"),
                    false => format!("{gap}{room}{cell}"),
                });
            }
            format!("{}\n", line.trim_end())
        };
        out.push_str(&line(&|column| self.name(column).to_owned()));
        for row in &self.rows {
            let cell = |column: usize| row.get(column).cloned().unwrap_or_default();
            out.push_str(&line(&cell));
            let more: Vec<String> = below
                .iter()
                .map(|column| (self.name(*column), cell(*column)))
                .filter(|(_, cell)| !cell.is_empty() && cell != ABSENT)
                .map(|(name, cell)| format!("{name} {cell}").trim_start().to_owned())
                .collect();
            if !more.is_empty() {
                out.push_str(&wrapped(&format!("{BELOW}{}", more.join(" · ")), BELOW, width));
            }
        }
    }
}

/// Lines of up to `width` characters, broken between words; later lines begin with `indent`.
fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    let lead: String = text.chars().take_while(|c| *c == ' ').collect();
    // A number is not taken apart at the space between its thousands.
    let ends_word = |c: char| c.is_whitespace() && c != THOUSANDS;
    for word in text.split(ends_word).filter(|word| !word.is_empty()) {
        let is_full = line.chars().count() + 1 + word.chars().count() > width;
        if is_full && !line.trim().is_empty() {
            out.push_str(&format!("{line}\n"));
            line = format!("{indent}{word}");
        } else if line.is_empty() {
            line = format!("{lead}{word}");
        } else {
            line.push_str(&format!(" {word}"));
        }
    }
    format!("{out}{line}\n")
}

#[cfg(test)]
mod tests {
    use super::super::Head;
    use super::super::testing::page;
    use super::*;

    #[test]
    fn a_page() {
        let style = TerminalStyle { width: 80, color: false, ascii: false, verbose: false };
        insta::assert_snapshot!(terminal(&page(), &style));
    }

    #[test]
    fn a_table_that_does_not_fit_is_stacked_and_breaks_no_word() {
        let cell = |text: &str| Cell::text(text);
        let table = Table {
            caption: String::new(),
            heads: vec![
                Head::text("measure"),
                Head::text("model"),
                Head::number("last"),
                Head::number("band"),
                Head::text("state"),
            ],
            rows: vec![
                vec![cell("TTFT"), cell("one model"), cell("31 ms"), cell("–"), cell("undecided")],
                vec![cell("ITL"), cell("one model"), cell("21 ms"), cell("–"), cell("as before")],
            ],
        };
        assert!(tabled(&table, 100).contains("TTFT     one model  31 ms     –  undecided"));
        let expect = "\nmodel: one model\nmeasure   last  state\nTTFT     31 ms  undecided\n\
                      ITL      21 ms  as before\n";
        assert_eq!(tabled(&table, 30), expect);
        let expect = "\nmodel: one model\nmeasure   last\nTTFT     31 ms\n    state undecided\n\
                      ITL      21 ms\n    state as before\n";
        assert_eq!(tabled(&table, 20), expect);
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", "  ", 8), "one two\n  three\n");
        assert_eq!(wrapped("enormouslylong x", "", 4), "enormouslylong\nx\n");
    }
}
