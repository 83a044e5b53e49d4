//! A page for a terminal: answers, sentences and tables; charts in dots where they fit.

use super::{Block, Cell, Page, Remark, Section, Table, sign};
use crate::TerminalStyle;
use crate::format::{THOUSANDS, ascii, spaced};
use ifm_chart::Screen;

/// The whole page; ends with a line break.
pub fn terminal(page: &Page, style: &TerminalStyle) -> String {
    let page = page.clone().with_unique_ids();
    let mut out = format!("{}\n", page.title);
    for line in [&page.facts, &page.conditions] {
        if !line.is_empty() {
            out.push_str(&wrapped(&line.join(" · "), "", style.width));
        }
    }
    for banner in &page.banners {
        out.push_str(&wrapped(banner, "", style.width));
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
        Block::Table(table) => tabled(table),
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

/// Columns by the widest cell; text at the left, numbers at the right.
fn tabled(table: &Table) -> String {
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
    let widths: Vec<usize> = (0..table.heads.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let mut line = String::new();
        for (index, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let is_text = table.heads.get(index).is_some_and(|head| head.is_text);
            let room = " ".repeat(width.saturating_sub(cell.chars().count()));
            let gap = if index == 0 { "" } else { "  " };
            line.push_str(&match is_text {
                true => format!("{gap}{cell}{room}"),
                false => format!("{gap}{room}{cell}"),
            });
        }
        format!("{}\n", line.trim_end())
    };
    let mut out = String::from("\n");
    out.push_str(&line(table.heads.iter().map(|head| head.name.as_str()).collect()));
    for row in &rows {
        out.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    out
}

/// Lines of up to `width` characters, broken between words; later lines begin with `indent`.
fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    // A number is not taken apart at the space between its thousands.
    let ends_word = |c: char| c.is_whitespace() && c != THOUSANDS;
    for word in text.split(ends_word).filter(|word| !word.is_empty()) {
        let is_full = line.chars().count() + 1 + word.chars().count() > width;
        if is_full && !line.trim().is_empty() {
            out.push_str(&format!("{line}\n"));
            line = format!("{indent}{word}");
        } else if line.is_empty() {
            line = word.to_owned();
        } else {
            line.push_str(&format!(" {word}"));
        }
    }
    format!("{out}{line}\n")
}

#[cfg(test)]
mod tests {
    use super::super::testing::page;
    use super::*;

    #[test]
    fn a_page() {
        let style = TerminalStyle { width: 80, color: false, ascii: false };
        insta::assert_snapshot!(terminal(&page(), &style));
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", "  ", 8), "one two\n  three\n");
        assert_eq!(wrapped("enormouslylong x", "", 4), "enormouslylong\nx\n");
    }
}
