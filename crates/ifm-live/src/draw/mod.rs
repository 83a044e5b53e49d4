//! The picture of a run: a pure function of a view and the size of the screen.
//!
//! Below 80 columns or 24 rows parts are left out, the least important first; below 40 columns or
//! 8 rows it only says so. Meaning is never in colour alone.

use super::line::{self, speed_words};
use super::view::{LevelView, Percentiles, Row, Speed, Stage, View};
use super::words;
use crate::view::LevelCount;
use ifm_metrics::slo::VerdictState;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Axis, Block, Borders, Cell, Chart, Clear, Dataset, GraphType, Paragraph, Row as TableRow,
    Table, Wrap,
};

/// Smallest screen that shows anything but a message, columns and rows.
const SMALLEST: (u16, u16) = (40, 8);
/// Rows of the three lines at the top, and the one at the bottom.
const HEAD_ROWS: u16 = 4;
const FOOT_ROWS: u16 = 1;
/// Rows of the latencies and counts side by side, with their border.
const NUMBER_ROWS: u16 = 5;
/// The same when they are stacked.
const STACKED_ROWS: u16 = 7;
/// From this many rows on there is a blank one.
const ROOMY: u16 = 16;
/// Minimum and maximum rows of the charts with axis and border.
const CHART_ROWS: (u16, u16) = (7, 14);
/// Minimum rows of the table of levels.
const TABLE_ROWS: u16 = 4;
/// Columns between two charts, which keep the labels of the right one apart from the left one.
const BETWEEN_CHARTS: u16 = 2;
/// Narrowest screen that fits two things side by side.
const WIDE: u16 = 76;
/// Shown for an unknown number.
const ABSENT: &str = "–";

/// How it is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// Colours.
    pub color: bool,
    /// Only ASCII.
    pub ascii: bool,
    /// Whether the help is shown in front.
    pub help: bool,
}

impl Look {
    fn tint(&self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    fn faint(&self) -> Style {
        self.tint(Color::DarkGray)
    }
}

/// Draws the whole screen.
pub fn draw(frame: &mut Frame, view: &View, look: &Look) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!("{}x{} is too small: 40x8", area.width, area.height);
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
    } else {
        draw_parts(frame, view, look, area);
    }
    if look.help {
        help(frame, area);
    }
    if look.ascii {
        make_ascii(frame.buffer_mut());
    }
}

fn draw_parts(frame: &mut Frame, view: &View, look: &Look, area: Rect) {
    // The blank row under the head gives way first.
    let head_rows = if area.height < ROOMY { HEAD_ROWS - 1 } else { HEAD_ROWS };
    let room = area.height.saturating_sub(head_rows + FOOT_ROWS);
    let probe_rows = view.level.as_ref().map_or(0, |level| beside_lines(level).len() as u16);
    let numbers = if area.width >= WIDE { NUMBER_ROWS } else { STACKED_ROWS } + probe_rows;
    let numbers = room.min(numbers);
    let room = room - numbers;
    // The charts come before the table, and both get what is left over in turn.
    let charts =
        if room >= CHART_ROWS.0 { (room * 3 / 5).clamp(CHART_ROWS.0, CHART_ROWS.1) } else { 0 };
    let table = room - charts;
    let table = if table >= TABLE_ROWS { table } else { 0 };
    let charts = if table == 0 && charts > 0 { room } else { charts };
    let [head, chart_area, number_area, table_area, foot] = Layout::vertical([
        Constraint::Length(head_rows),
        Constraint::Length(charts),
        Constraint::Length(numbers),
        Constraint::Length(table),
        Constraint::Length(FOOT_ROWS),
    ])
    .areas(area);
    draw_head(frame, view, look, head);
    if charts > 0 {
        draw_charts(frame, view, look, chart_area);
    }
    draw_numbers(frame, view.level.as_ref(), look, number_area);
    if table > 0 {
        draw_table(frame, view, look, table_area);
    }
    draw_foot(frame, view, look, foot);
}

fn draw_head(frame: &mut Frame, view: &View, look: &Look, area: Rect) {
    let facts = &view.facts;
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut run = vec![Span::styled(format!(" {}", facts.name), bold)];
    run.push(Span::raw(format!("  {}", words::seconds(view.elapsed_s))));
    if let Some(left) = view.left {
        run.push(Span::raw(format!(", {}", left.words())));
    }
    let what = format!(" {}  {}  {}", facts.workload, facts.model, facts.server);
    let lines = vec![
        Line::from(run),
        Line::styled(what, look.faint()),
        match &view.level {
            Some(level) => level_line(view, level, look, area.width),
            None => Line::raw(" starting"),
        },
    ];
    frame.render_widget(Paragraph::new(lines), area);
}

/// The state of the level, in one line.
fn level_line(view: &View, level: &LevelView, look: &Look, width: u16) -> Line<'static> {
    if width < WIDE {
        let text = line::on_terminal(view, usize::from(width), look.ascii);
        return Line::raw(format!(" {text}"));
    }
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut spans = vec![Span::raw(" ")];
    if level.of != LevelCount::Exactly(1) {
        spans.push(Span::raw(format!("{}  ", level.place(look.ascii))));
    }
    spans.push(Span::styled(level.load.clone(), bold));
    let stage = match (level.stage, level.warmup) {
        (Stage::WarmingUp, (_, 0)) => "starting".to_owned(),
        (Stage::WarmingUp, (done, all)) => format!("warming up {done}/{all}"),
        (Stage::Measuring, _) => "measuring".to_owned(),
        (Stage::Finishing, _) => "finishing".to_owned(),
        (Stage::Ended, _) => "ended".to_owned(),
    };
    spans.push(Span::raw(format!("  {stage}")));
    match level.done_share.filter(|_| level.stage != Stage::WarmingUp) {
        Some(share) => {
            let cells = usize::from(width.saturating_sub(58)).clamp(8, 40);
            spans.push(Span::raw("  "));
            spans.push(Span::styled(words::bar(share, cells, look.ascii), look.tint(Color::Cyan)));
            spans.push(Span::raw(format!(" {}", words::percent(share))));
        }
        None => spans.push(Span::raw(format!("  {}", words::seconds(level.elapsed_s)))),
    }
    spans.extend(level.left_words().map(|left| Span::raw(format!("  {left}"))));
    Line::from(spans)
}

fn draw_charts(frame: &mut Frame, view: &View, look: &Look, area: Rect) {
    let (rate, flight) = if area.width >= WIDE {
        let [left, right] = Layout::horizontal([Constraint::Percentage(62), Constraint::Fill(1)])
            .spacing(BETWEEN_CHARTS)
            .areas(area);
        (left, Some(right))
    } else {
        (area, None)
    };
    let ratio = view.tokens_per_event;
    let tokens: Vec<(f64, f64)> = view
        .past
        .iter()
        .map(|point| {
            (point.at_s, point.events_per_s * ratio.unwrap_or(1.0) + point.whole_tok_per_s)
        })
        .collect();
    let unit = if ratio.is_some() { "output tok/s" } else { "token events/s" };
    let now = view.level.as_ref().and_then(|level| level.speed);
    let now = match now {
        Some(Speed::Tokens(rate) | Speed::Events(rate)) => format!(" {}", words::number(rate)),
        None => String::new(),
    };
    draw_chart(frame, look, rate, &format!(" {unit}{now} "), Color::Cyan, &tokens);
    if let Some(area) = flight {
        let in_flight: Vec<(f64, f64)> =
            view.past.iter().map(|point| (point.at_s, point.in_flight)).collect();
        let now = view.level.as_ref().map_or(0, |level| level.in_flight);
        let title = format!(" requests in flight {} ", words::count(now));
        draw_chart(frame, look, area, &title, Color::Yellow, &in_flight);
    }
}

fn draw_chart(
    frame: &mut Frame,
    look: &Look,
    area: Rect,
    title: &str,
    color: Color,
    points: &[(f64, f64)],
) {
    let top = round_up(points.iter().map(|point| point.1).fold(0.0, f64::max));
    let until_s = points.last().map_or(1.0, |point| point.0).max(1.0);
    let from_s = points.first().map_or(0.0, |point| point.0).min(until_s - 0.5);
    let marker = if look.ascii { Marker::Custom('*') } else { Marker::Braille };
    let data = Dataset::default()
        .marker(marker)
        .graph_type(GraphType::Line)
        .style(look.tint(color))
        .data(points);
    let x = Axis::default()
        .bounds([from_s, until_s])
        .labels([words::seconds(from_s), words::seconds(until_s)])
        .style(look.faint());
    let y =
        Axis::default().bounds([0.0, top]).labels(["0".to_owned(), tick(top)]).style(look.faint());
    let chart = Chart::new(vec![data])
        .block(
            Block::new().borders(Borders::TOP).title(title.to_owned()).border_style(look.faint()),
        )
        .x_axis(x)
        .y_axis(y);
    frame.render_widget(chart, area);
}

/// The upper end of an axis: requests in flight and most rates end at a whole number.
fn tick(value: f64) -> String {
    if value.fract() == 0.0 { words::count(value as u64) } else { words::number(value) }
}

/// The next of 1, 2, 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    if !(value.is_finite() && value > 0.0) {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|top| *top >= value).unwrap_or(value)
}

fn draw_numbers(frame: &mut Frame, level: Option<&LevelView>, look: &Look, area: Rect) {
    let titled =
        |title: String| Block::new().borders(Borders::TOP).title(title).border_style(look.faint());
    let is_wide = area.width >= WIDE;
    let [left, right] = match is_wide {
        true => Layout::horizontal([Constraint::Percentage(52), Constraint::Fill(1)]).areas(area),
        false => Layout::vertical([Constraint::Length(4), Constraint::Fill(1)]).areas(area),
    };
    let heads = ["", "p50", "p90", "p99", "values"];
    let columns = if is_wide { 5 } else { 4 };
    let gap_name = level.map_or("ITL", LevelView::gap_name);
    let rows = [
        ("TTFT", level.and_then(|level| level.ttft)),
        (gap_name, level.and_then(|level| level.gap)),
    ]
    .map(|(name, found)| TableRow::new(percentile_cells(name, found).into_iter().take(columns)));
    let widths: &[u16] = if is_wide { &[5, 8, 8, 8, 7] } else { &[4, 7, 7, 7] };
    let table = Table::new(rows, widths.iter().map(|width| Constraint::Length(*width)))
        .column_spacing(1)
        .header(TableRow::new(heads.into_iter().take(columns).map(right_cell)).style(look.faint()))
        .block(titled(" latency so far ".to_owned()));
    frame.render_widget(table, left);
    let mut lines = Vec::new();
    if let Some(level) = level {
        let ended = words::count(level.finished);
        let mut first = vec![Span::raw(format!("{ended} done"))];
        first.extend(
            level.req_per_s.map(|rate| Span::raw(format!("  {} req/s", words::number(rate)))),
        );
        first.push(Span::raw(format!("  {} in flight", words::count(level.in_flight))));
        lines.push(Line::from(first));
        lines.push(Line::raw(level.speed.map(speed_words).unwrap_or_default()));
        lines.extend(beside_lines(level).into_iter().map(Line::raw));
        lines.extend(failure_lines(level, look));
    }
    let mut requests = Paragraph::new(lines).wrap(Wrap { trim: true });
    if is_wide {
        requests = requests.block(titled(" requests ".to_owned()));
    }
    frame.render_widget(requests, right);
}

/// Media and structured answers so far; empty for text alone.
fn beside_lines(level: &LevelView) -> Vec<String> {
    let mut media = level.media_words();
    media.extend(level.media_bytes.map(|bytes| format!("{} sent", words::megabytes(bytes))));
    let (valid, invalid) = level.judged;
    let judged = level.valid_words().map(|words| {
        let of = words::count(valid + invalid);
        format!("{words}: {} of {of} structured answers", words::count(valid))
    });
    let media = (!media.is_empty()).then(|| media.join("  "));
    media.into_iter().chain(judged).collect()
}

fn percentile_cells(name: &str, found: Option<Percentiles>) -> Vec<Cell<'static>> {
    let span = |ns: Option<u64>| ns.map_or_else(|| ABSENT.to_owned(), |ns| words::span(ns as f64));
    vec![
        Cell::new(name.to_owned()),
        right_cell(span(found.map(|f| f.p50))),
        right_cell(span(found.map(|f| f.p90))),
        right_cell(span(found.map(|f| f.p99))),
        right_cell(found.map_or_else(String::new, |f| words::count(f.n))),
    ]
}

fn right_cell(text: impl Into<String>) -> Cell<'static> {
    Cell::new(Line::raw(text.into()).alignment(Alignment::Right))
}

/// Failures by kind.
fn failure_lines(level: &LevelView, look: &Look) -> Vec<Line<'static>> {
    if level.failures.is_empty() {
        return vec![Line::styled("no failures", look.faint())];
    }
    let kinds: Vec<String> = level
        .failures
        .iter()
        .map(|(word, count)| format!("{} {}", words::count(*count), word.replace('_', " ")))
        .collect();
    let text = format!("{} failed: {}", words::count(level.failed()), kinds.join(", "));
    let style = look.tint(Color::Red).add_modifier(Modifier::BOLD);
    vec![Line::styled(text, style)]
}

fn draw_table(frame: &mut Frame, view: &View, look: &Look, area: Rect) {
    let gap = view.level.as_ref().map_or("ITL", LevelView::gap_name);
    let heads = [
        "load".to_owned(),
        "out tok/s".to_owned(),
        "TTFT p50".to_owned(),
        "p99".to_owned(),
        format!("{gap} p50"),
        "p99".to_owned(),
        "ok".to_owned(),
        "target".to_owned(),
    ];
    let widths = [14, 10, 9, 8, 9, 8, 5, 8];
    let room = usize::from(area.height.saturating_sub(2));
    let hidden = view.rows.len().saturating_sub(room);
    let title = match hidden {
        0 => " levels that have ended ".to_owned(),
        _ => format!(" levels that have ended: the last {room} of {} ", view.rows.len()),
    };
    let rows = view.rows.iter().skip(hidden).map(|row| table_row(row, look));
    let block = Block::new().borders(Borders::TOP).title(title).border_style(look.faint());
    let table = Table::new(rows, widths.map(Constraint::Length))
        .header(TableRow::new(heads.map(right_cell)).style(look.faint()))
        .block(block);
    frame.render_widget(table, area);
}

fn table_row(row: &Row, look: &Look) -> TableRow<'static> {
    let span = |ns: Option<f64>| right_cell(ns.map_or_else(|| ABSENT.to_owned(), words::span));
    let (verdict, color) = match row.verdict {
        VerdictState::Pass => ("inside", Color::Green),
        VerdictState::Fail => ("outside", Color::Red),
        VerdictState::Unknown => (ABSENT, Color::Reset),
    };
    TableRow::new([
        right_cell(row.load.clone()),
        right_cell(row.output_tok_per_s.map_or_else(|| ABSENT.to_owned(), words::number)),
        span(row.ttft_ns.0),
        span(row.ttft_ns.1),
        span(row.gap_ns.0),
        span(row.gap_ns.1),
        right_cell(row.ok_share.map_or_else(|| ABSENT.to_owned(), words::percent)),
        right_cell(verdict).style(look.tint(color)),
    ])
}

fn draw_foot(frame: &mut Frame, view: &View, look: &Look, area: Rect) {
    let keys = " q stop  ? help";
    let line = match &view.message {
        Some(message) => Line::styled(format!(" {message}"), look.tint(Color::Yellow)),
        None => Line::styled(keys, look.faint()),
    };
    frame.render_widget(Paragraph::new(line), area);
}

fn help(frame: &mut Frame, area: Rect) {
    let text = [
        "q, Ctrl-C   stop: what is in flight may end,",
        "            for up to 5 s; again: stop now",
        "?, h        this help",
        "",
        "Speeds are over the last 5 s, percentiles",
        "over the complete requests of this level.",
        "The result has the exact numbers.",
    ];
    let width = (text.iter().map(|line| line.len()).max().unwrap_or(0) as u16 + 4).min(area.width);
    let height = (text.len() as u16 + 2).min(area.height);
    let window = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, window);
    let block = Block::bordered().title(" help ");
    frame.render_widget(Paragraph::new(text.map(Line::raw).to_vec()).block(block), window);
}

/// Replaces everything that is not ASCII by something that is, of the same width.
fn make_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let Some(first) = cell.symbol().chars().next().filter(|_| !cell.symbol().is_ascii()) else {
            continue;
        };
        let like = match first {
            '─' | '━' | '–' | '—' => "-",
            '│' | '┃' => "|",
            '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' => "+",
            '·' | '•' => ".",
            '≤' => "<",
            '\u{2800}'..='\u{28ff}' => "*",
            _ => "?",
        };
        cell.set_symbol(like);
    }
}

#[cfg(test)]
mod tests;
