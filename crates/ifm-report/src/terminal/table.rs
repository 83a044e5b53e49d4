//! The table of levels, row by row.
//!
//! Columns have fixed widths, so that a row can be printed before the next level has run.

use super::{Color, TerminalStyle, wrap};
use crate::format::{ABSENT, marked_span, number, percent};
use crate::model::load;
use crate::parts;
use crate::words::{due, first_wave, note};
use ifm_metrics::level::GapLabel;
use ifm_metrics::stat::Distribution;
use ifm_metrics::stat::quantile::needed_for;
use ifm_metrics::{LevelSummary, slo::VerdictState};

/// Room that is kept for the note at the end of a row.
const NOTE_WIDTH: usize = 16;

/// One cell before it is padded.
struct Cell {
    text: String,
    /// Whether it is based on too few values, or on estimated counts.
    is_rough: bool,
}

impl Cell {
    fn plain(text: String) -> Cell {
        Cell { text, is_rough: false }
    }

    fn absent() -> Cell {
        Cell::plain(ABSENT.to_owned())
    }
}

/// What a table has in all of its rows.
#[derive(Debug, Clone, Copy)]
pub struct LevelTable {
    /// What the gaps are called; while it is not known, take [`GapLabel::InterToken`].
    pub gap: GapLabel,
    /// What loads are counted in: see [`load_unit`](crate::load_unit).
    pub unit: &'static str,
    /// Whether a probe is sent during the levels.
    pub has_probe: bool,
}

/// One column.
struct Column {
    head: fn(&LevelTable) -> String,
    width: usize,
    /// Columns with the highest value go first when the terminal is narrow; 0 stays.
    drop_order: u8,
    cell: fn(&LevelSummary) -> Cell,
}

const COLUMNS: [Column; 9] = [
    Column {
        head: |heads| heads.unit.to_owned(),
        width: 6,
        drop_order: 0,
        cell: |level| Cell::plain(load(level.load())),
    },
    Column {
        head: |_| "req/s".to_owned(),
        width: 7,
        drop_order: 6,
        cell: |level| rate(level.window().map(|window| window.req_per_s)),
    },
    Column {
        head: |_| "out tok/s".to_owned(),
        width: 11,
        drop_order: 0,
        cell: |level| rate(level.output_tok_per_s()),
    },
    Column { head: |_| "tok/s/user".to_owned(), width: 11, drop_order: 2, cell: speed },
    Column {
        head: |_| "TTFT p50".to_owned(),
        width: 10,
        drop_order: 5,
        cell: |level| percentile(level.latencies.ttft(), 50.0),
    },
    Column {
        head: |_| "TTFT p99".to_owned(),
        width: 9,
        drop_order: 1,
        cell: |level| percentile(level.latencies.ttft(), 99.0),
    },
    Column {
        head: |heads| format!("{} p50", heads.gap.short()),
        width: 10,
        drop_order: 4,
        cell: |level| percentile(level.latencies.gaps(), 50.0),
    },
    Column {
        head: |heads| format!("{} p99", heads.gap.short()),
        width: 9,
        drop_order: 0,
        cell: |level| percentile(level.latencies.gaps(), 99.0),
    },
    Column {
        head: |_| "ok".to_owned(),
        width: 7,
        drop_order: 3,
        cell: |level| match level.counts.ok_share() {
            Some(share) => Cell::plain(percent(share)),
            None => Cell::absent(),
        },
    },
];

/// How many times as long a bystander waits for the first token as without the load.
const PROBE: Column = Column {
    head: |_| "probe".to_owned(),
    width: 8,
    drop_order: 1,
    cell: |level| {
        let times = level.probe.as_ref().and_then(|probe| probe.ttft_times);
        times.map_or_else(Cell::absent, |times| Cell::plain(parts::times(times.value)))
    },
};

fn rate(value: Option<f64>) -> Cell {
    value.map_or_else(Cell::absent, |value| Cell::plain(number(value)))
}

fn speed(level: &LevelSummary) -> Cell {
    match level.user_tok_per_s() {
        None => Cell::absent(),
        Some((speed, false)) => Cell::plain(number(speed)),
        Some((speed, true)) => Cell { text: format!("~{}", number(speed)), is_rough: true },
    }
}

fn percentile(distribution: Option<&Distribution>, p: f64) -> Cell {
    let found = distribution.and_then(|distribution| distribution.percentile(p));
    found.map_or_else(Cell::absent, |percentile| Cell {
        text: marked_span(percentile),
        is_rough: !percentile.enough,
    })
}

/// The columns that fit, in order.
fn columns(table: &LevelTable, style: &TerminalStyle) -> Vec<&'static Column> {
    const ALL: &[Column] = &COLUMNS;
    let mut columns: Vec<&Column> = ALL.iter().collect();
    if table.has_probe {
        columns.insert(ALL.len() - 1, &PROBE);
    }
    let width =
        |columns: &[&Column]| columns.iter().map(|column| column.width).sum::<usize>() + NOTE_WIDTH;
    while width(&columns) > style.width {
        let widest_order = columns.iter().map(|column| column.drop_order).max().unwrap_or(0);
        if widest_order == 0 {
            break;
        }
        columns.retain(|column| column.drop_order != widest_order);
    }
    columns
}

/// The head of the table, without a line break.
pub fn level_header(table: &LevelTable, style: &TerminalStyle) -> String {
    let mut line = String::new();
    for column in columns(table, style) {
        line.push_str(&format!("{:>width$}", (column.head)(table), width = column.width));
    }
    line.push_str("  note");
    style.paint(Color::Bold, &line)
}

/// One row, without a line break. `is_fitting` marks the largest level inside the latency target,
/// which is known only when the next level has run.
pub fn level_line(
    level: &LevelSummary,
    table: &LevelTable,
    style: &TerminalStyle,
    is_fitting: bool,
) -> String {
    let mut line = String::new();
    let mut width = 0;
    for column in columns(table, style) {
        let cell = (column.cell)(level);
        let text = format!("{:>width$}", style.text(&cell.text), width = column.width);
        width += text.chars().count();
        let text = if cell.is_rough { style.paint(Color::Dim, &text) } else { text };
        line.push_str(&text);
    }
    let room = style.width.saturating_sub(width + 2);
    let note = shorten(&style.text(&note(level, is_fitting)), room);
    if note.is_empty() {
        return line;
    }
    let color = match level.verdict.state {
        VerdictState::Pass => Color::Green,
        VerdictState::Fail => Color::Red,
        VerdictState::Unknown => Color::Yellow,
    };
    format!("{line}  {}", style.paint(color, &note))
}

/// Cuts a note that does not fit.
fn shorten(note: &str, room: usize) -> String {
    if note.chars().count() <= room {
        return note.to_owned();
    }
    let kept: String = note.chars().take(room.saturating_sub(1)).collect();
    format!("{kept}{}", if note.is_ascii() { "." } else { "…" })
}

/// What the rows do not show: which requests latencies leave out, and what `~` means if any row has
/// one. Without a line break at the end.
pub fn level_footnote(
    levels: &[LevelSummary],
    table: &LevelTable,
    style: &TerminalStyle,
) -> Option<String> {
    let probe = table.has_probe.then(|| {
        "probe: its median TTFT during the level, as a multiple of that without load".to_owned()
    });
    let notes = [rough(levels, table, style), first_wave(levels), due(levels), probe];
    let lines: Vec<String> = notes
        .into_iter()
        .flatten()
        .flat_map(|note| wrap(&style.text(&format!("     {note}")), style.width, "     "))
        .map(|line| style.paint(Color::Dim, &line))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn rough(levels: &[LevelSummary], table: &LevelTable, style: &TerminalStyle) -> Option<String> {
    let is_rough = |level: &LevelSummary| {
        columns(table, style).iter().any(|column| (column.cell)(level).is_rough)
    };
    let rough: Vec<&LevelSummary> = levels.iter().filter(|level| is_rough(level)).collect();
    if rough.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    let smallest = rough
        .iter()
        .filter_map(|level| level.latencies.ttft())
        .filter(|ttft| ttft.percentile(99.0).is_some_and(|percentile| !percentile.enough))
        .map(|ttft| ttft.n)
        .min();
    let needed = needed_for(99.0);
    parts.extend(smallest.map(|n| format!("P99 needs {needed} values, here n={n} and more")));
    let estimated = rough.iter().any(|level| level.user_tok_per_s().is_some_and(|speed| speed.1));
    if estimated {
        parts.push("speed from an estimated token count".to_owned());
    }
    if parts.is_empty() {
        parts.push("from few values".to_owned());
    }
    Some(format!("~ rough: {}", parts.join("; ")))
}
