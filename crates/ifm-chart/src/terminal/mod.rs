//! Charts in characters, for a terminal.
//!
//! Lines are drawn in braille over axes with the same ticks as on a page, bars and rows as blocks,
//! heatmaps as their numbers. Every series has a letter, so that no reading depends on colour.
//! Everything is drawn into a buffer of ratatui; no terminal is asked for anything. What is not
//! here: windows, keys, events.

mod grid;
mod plane;
mod rows;

use crate::description::{Chart, Form, GREY, Plot, Series};
use crate::drawing::clean;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// The characters at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Characters in a line; 20 to 400.
    pub columns: u16,
    /// Lines; 8 to 200. A chart of rows takes fewer if it needs no more.
    pub lines: u16,
    /// Whether only ASCII is drawn. Names keep their letters.
    pub is_ascii: bool,
    /// Whether colours are written as ANSI sequences.
    pub has_color: bool,
}

/// Colours of things, in the order of the palette.
const COLORS: [Color; 8] = [
    Color::Blue,
    Color::Red,
    Color::Green,
    Color::Magenta,
    Color::Yellow,
    Color::Cyan,
    Color::Gray,
    Color::LightYellow,
];

/// Draws a chart in characters: lines without spaces at their ends, each with a line feed.
pub fn braille(chart: &Chart, screen: Screen) -> String {
    let columns = screen.columns.clamp(20, 400);
    let lines = screen.lines.clamp(8, 200);
    let screen = Screen { columns, lines, ..screen };
    let area = Rect::new(0, 0, columns, lines);
    let mut page = Page { buffer: Buffer::empty(area), screen, line: 0 };
    page.put(0, &chart.title, Style::new().add_modifier(Modifier::BOLD));
    page.line += 1;
    match &chart.plot {
        Plot::Cartesian(plot) if plot.is_horizontal || has_bars(&plot.series) => {
            rows::draw(&mut page, plot);
        }
        Plot::Cartesian(plot) => plane::draw(&mut page, plot),
        Plot::Heatmap(plot) => grid::heatmap(&mut page, plot),
        Plot::Mask(plot) => grid::mask(&mut page, plot),
    }
    page.text()
}

fn has_bars(series: &[Series]) -> bool {
    series.iter().any(|series| series.form == Form::Bar)
}

/// A buffer that is filled from the top.
struct Page {
    buffer: Buffer,
    screen: Screen,
    /// The next free line.
    line: u16,
}

impl Page {
    /// Lines that are left.
    fn left(&self) -> u16 {
        self.screen.lines.saturating_sub(self.line)
    }

    /// Writes words into the current line, cut at the right edge.
    fn put(&mut self, x: u16, text: &str, style: Style) {
        self.put_at(x, self.line, text, style);
    }

    fn put_at(&mut self, x: u16, y: u16, text: &str, style: Style) {
        if y >= self.screen.lines || x >= self.screen.columns {
            return;
        }
        let room = usize::from(self.screen.columns - x);
        let text = if self.screen.is_ascii { plain(text) } else { text.to_owned() };
        let cut = cut(&clean(&text), room, self.screen.is_ascii);
        self.buffer.set_stringn(x, y, cut, room, style);
    }

    fn symbol(&self, fine: &'static str, plain: &'static str) -> &'static str {
        if self.screen.is_ascii { plain } else { fine }
    }

    /// The lines as text.
    fn text(&self) -> String {
        let mut out = String::new();
        for y in 0..self.line.min(self.screen.lines) {
            let start = out.len();
            let mut style = None;
            // Wide letters take the next cell too.
            let mut skip = 0;
            for x in 0..self.screen.columns {
                let Some(cell) = self.buffer.cell((x, y)) else { continue };
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                skip = width(cell.symbol()).saturating_sub(1);
                if self.screen.has_color && style != Some((cell.fg, cell.modifier)) {
                    out.push_str(&sequence(cell.fg, cell.modifier));
                    style = Some((cell.fg, cell.modifier));
                }
                out.push_str(cell.symbol());
            }
            if self.screen.has_color {
                out.push_str("\u{1b}[0m");
            } else {
                let kept = out[start..].trim_end().len();
                out.truncate(start + kept);
            }
            out.push('\n');
        }
        out
    }
}

/// The ANSI sequence that sets colour and weight.
fn sequence(color: Color, modifier: Modifier) -> String {
    let code = match color {
        Color::Red => "31",
        Color::Green => "32",
        Color::Yellow => "33",
        Color::Blue => "34",
        Color::Magenta => "35",
        Color::Cyan => "36",
        Color::Gray => "37",
        Color::DarkGray => "90",
        Color::LightYellow => "93",
        _ => "39",
    };
    let weight = if modifier.contains(Modifier::BOLD) { "1" } else { "22" };
    format!("\u{1b}[{weight};{code}m")
}

/// Cells that words take.
fn width(text: &str) -> usize {
    ratatui::text::Span::raw(text).width()
}

/// Words cut to a number of cells.
fn cut(text: &str, room: usize, is_ascii: bool) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mark = if is_ascii { "~" } else { "…" };
    let mut kept = String::new();
    for letter in text.chars() {
        let longer = format!("{kept}{letter}");
        if width(&longer) + 1 > room {
            break;
        }
        kept = longer;
    }
    if room == 0 { String::new() } else { kept + mark }
}

/// Signs that are replaced in ASCII.
fn plain(text: &str) -> String {
    let replace = |letter: char| match letter {
        '−' | '–' => "-".to_owned(),
        '…' => "...".to_owned(),
        '·' => "-".to_owned(),
        '×' => "x".to_owned(),
        '⇒' | '→' => "->".to_owned(),
        '±' => "+-".to_owned(),
        '≤' => "<=".to_owned(),
        '≥' => ">=".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(replace).collect()
}

fn style_of(series: &Series) -> Style {
    if series.color == GREY {
        return Style::new().fg(Color::DarkGray);
    }
    let color = COLORS.get(usize::from(series.color) % COLORS.len());
    Style::new().fg(color.copied().unwrap_or(Color::Reset))
}

/// The letter of a series: its figures and its name carry it.
fn letter(index: usize) -> char {
    let letters = ('a'..='z').chain('A'..='Z');
    letters.into_iter().nth(index % 52).unwrap_or('*')
}

/// The name of a series as it is drawn.
fn drawn_name(series: &Series) -> &str {
    series.short.as_deref().unwrap_or(&series.name)
}

/// Which letter means which series, in as many lines as are left.
fn legend(page: &mut Page, series: &[Series]) {
    let mut x = 0;
    for (index, each) in series.iter().enumerate().filter(|(_, each)| !each.name.is_empty()) {
        let text = cut(
            &format!("{} {}", letter(index), clean(drawn_name(each))),
            40,
            page.screen.is_ascii,
        );
        let needed = width(&text) as u16;
        if x > 0 && x + needed > page.screen.columns {
            if page.left() < 2 {
                page.put(x, "…", Style::new());
                break;
            }
            page.line += 1;
            x = 0;
        }
        page.put(x, &text, style_of(each));
        x += needed + 3;
    }
    if x > 0 {
        page.line += 1;
    }
}
