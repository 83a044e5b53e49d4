//! Heatmaps as numbers with a shade, block masks as blocks.

use super::{Page, cut, width};
use crate::description::{Block, Cell, CellState, Heading, Heatmap, Mask};
use crate::drawing::{clean, step};
use crate::theme::HEAT_STEPS;
use ratatui::style::{Color, Style};

/// Narrowest and widest column of numbers, cells.
const COLUMN: (usize, usize) = (7, 16);

pub(super) fn heatmap(page: &mut Page, plot: &Heatmap) {
    if plot.rows.is_empty() || plot.columns.is_empty() {
        page.put(2, "nothing measured", Style::new());
        page.line += 1;
        return;
    }
    let names: Vec<String> = plot.rows.iter().map(full_name).collect();
    let most = usize::from(page.screen.columns) / 3;
    let left = names.iter().map(|name| width(name)).max().unwrap_or(0).min(most);
    let longest = plot.columns.iter().map(|column| width(short(column))).max().unwrap_or(0);
    let text = plot.cells.iter().map(|cell| width(&cell.text)).max().unwrap_or(0);
    let column = (longest.max(text + 2) + 2).clamp(COLUMN.0, COLUMN.1);
    let fitting = ((usize::from(page.screen.columns) - left - 1) / column).max(1);
    let indexes: Vec<usize> = (0..plot.columns.len()).collect();
    // Columns that do not fit next to each other follow below.
    for block in indexes.chunks(fitting) {
        draw_head(page, plot, block, left, column);
        for (row, name) in names.iter().enumerate() {
            if page.left() < 2 {
                page.put(0, "and more, in the table", Style::new());
                page.line += 1;
                return;
            }
            let name = cut(name, left, page.screen.is_ascii);
            page.put(0, &name, Style::new());
            for (place, index) in block.iter().enumerate() {
                let cell = plot.cells.iter().find(|cell| (cell.row, cell.column) == (row, *index));
                draw_cell(page, plot, cell, (left + place * column) as u16, column);
            }
            page.line += 1;
        }
    }
    let (better, worse) = verdicts(page);
    let missing = page.symbol("·", ".");
    let legend =
        format!("{better} better  {worse} worse  = difference not shown  {missing} not measured");
    page.put(0, &legend, Style::new().fg(Color::DarkGray));
    page.line += 1;
}

/// Signs next to numbers that are better and worse.
fn verdicts(page: &Page) -> (&'static str, &'static str) {
    (page.symbol("▲", "^"), page.symbol("▼", "v"))
}

fn full_name(heading: &Heading) -> String {
    match &heading.group {
        Some(group) => clean(&format!("{group} {}", short(heading))),
        None => clean(short(heading)),
    }
}

fn short(heading: &Heading) -> &str {
    heading.short.as_deref().unwrap_or(&heading.name)
}

fn draw_head(page: &mut Page, plot: &Heatmap, block: &[usize], left: usize, column: usize) {
    let headings: Vec<&Heading> =
        block.iter().filter_map(|index| plot.columns.get(*index)).collect();
    if headings.iter().any(|heading| heading.group.is_some()) {
        let mut last: Option<&str> = None;
        for (place, heading) in headings.iter().enumerate() {
            let group = heading.group.as_deref();
            if group != last {
                let same =
                    headings[place..].iter().take_while(|h| h.group == heading.group).count();
                let text = cut(group.unwrap_or_default(), same * column - 2, page.screen.is_ascii);
                page.put((left + place * column + 2) as u16, &text, Style::new());
            }
            last = group;
        }
        page.line += 1;
    }
    for (place, heading) in headings.iter().enumerate() {
        let text = cut(short(heading), column - 2, page.screen.is_ascii);
        let end = left + (place + 1) * column - 1;
        page.put((end - width(&text)) as u16, &text, Style::new().fg(Color::DarkGray));
    }
    page.line += 1;
}

/// The number and a sign for its verdict.
fn draw_cell(page: &mut Page, plot: &Heatmap, cell: Option<&Cell>, x: u16, column: usize) {
    let known = cell.filter(|cell| cell.state != CellState::Missing);
    let Some((cell, value)) = known.and_then(|cell| Some((cell, cell.value?))) else {
        page.put(x + column as u16 - 2, page.symbol("·", "."), Style::new().fg(Color::DarkGray));
        return;
    };
    let middle = HEAT_STEPS / 2;
    let (better, worse) = verdicts(page);
    let (sign, color) = match step(plot.scale, value) {
        _ if cell.state == CellState::Tie => ("=", Color::DarkGray),
        step if step > middle => (better, Color::Green),
        step if step < middle => (worse, Color::Red),
        _ => (" ", Color::Reset),
    };
    let text = cut(&cell.text, column - 3, page.screen.is_ascii);
    let start = x + (column - 3 - width(&text)) as u16;
    page.put(start, &text, Style::new().fg(color));
    page.put(x + column as u16 - 2, sign, Style::new().fg(color));
}

pub(super) fn mask(page: &mut Page, plot: &Mask) {
    let columns = plot.rows.iter().map(Vec::len).max().unwrap_or(0);
    if columns == 0 {
        page.put(2, "nothing measured", Style::new());
        page.line += 1;
        return;
    }
    // Two cells make a square, where they fit.
    let wide = if 2 * columns <= usize::from(page.screen.columns) { 2 } else { 1 };
    let (full, partial, empty) =
        (page.symbol("█", "#"), page.symbol("▒", "+"), page.symbol("·", "."));
    for (index, row) in plot.rows.iter().enumerate() {
        if page.left() < 3 {
            page.put(0, &format!("and {} more rows", plot.rows.len() - index), Style::new());
            page.line += 1;
            break;
        }
        let line: String = row
            .iter()
            .map(|block| match block {
                Block::Full => full.repeat(wide),
                Block::Partial => partial.repeat(wide),
                Block::Empty => empty.repeat(wide),
            })
            .collect();
        page.put(0, &line, Style::new());
        page.line += 1;
    }
    let legend = format!("{full} full  {partial} partial  {empty} empty");
    page.put(0, &legend, Style::new().fg(Color::DarkGray));
    page.line += 1;
}
