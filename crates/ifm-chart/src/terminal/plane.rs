//! Lines, steps and dots over two axes in braille.

use super::{Page, cut, drawn_name, legend, letter, style_of, width};
use crate::description::{Cartesian, Form, Guide, Mark, Series};
use crate::drawing::placing;
use crate::scale::{Placed, Tick};
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Line};

/// Cells that the ticks of the y axis may take.
const WIDEST_TICK: usize = 12;

pub(super) fn draw(page: &mut Page, plot: &Cartesian) {
    let placing = placing(plot);
    if placing.is_empty {
        page.put(2, "nothing measured", Style::new());
        page.line += 1;
        return;
    }
    page.put(0, &placing.y.title, faint());
    page.line += 1;
    let names: usize = plot.series.iter().map(|series| width(drawn_name(series)).min(40) + 5).sum();
    let legends = names.div_ceil(usize::from(page.screen.columns)).clamp(1, 4) as u16;
    // Below come the axis, its ticks and its name.
    let high = page.left().saturating_sub(3 + legends).max(3);
    let margin = placing.y.ticks.iter().map(|tick| width(&tick.text)).max().unwrap_or(0);
    let left = margin.min(WIDEST_TICK) as u16 + 2;
    let plane = Rect::new(left, page.line, page.screen.columns.saturating_sub(left + 1), high);
    draw_guides(page, plot, plane, &placing.x, &placing.y);
    draw_lines(page, plot, plane, &placing.x, &placing.y);
    draw_y_axis(page, plane, &placing.y);
    page.line += high;
    draw_x_axis(page, plane, &placing.x);
    legend(page, &plot.series);
}

fn faint() -> Style {
    Style::new().fg(Color::DarkGray)
}

/// Column and line of a place.
fn cell(plane: Rect, x: f64, y: f64) -> (u16, u16) {
    let across = (x * f64::from(plane.width.saturating_sub(1))).round() as u16;
    let down = ((1.0 - y) * f64::from(plane.height.saturating_sub(1))).round() as u16;
    (plane.x + across, plane.y + down)
}

fn draw_y_axis(page: &mut Page, plane: Rect, axis: &Placed) {
    let bar = page.symbol("│", "|");
    for y in plane.top()..plane.bottom() {
        page.put_at(plane.x - 1, y, bar, faint());
    }
    let mut last = None;
    for tick in axis.ticks.iter().rev() {
        let (_, y) = cell(plane, 0.0, tick.at);
        if last == Some(y) {
            continue;
        }
        last = Some(y);
        let text = cut(&tick.text, usize::from(plane.x) - 1, page.screen.is_ascii);
        page.put_at(plane.x - 1 - width(&text) as u16, y, &text, Style::new());
        page.put_at(plane.x - 1, y, page.symbol("┤", "+"), faint());
    }
}

fn draw_x_axis(page: &mut Page, plane: Rect, axis: &Placed) {
    let line = page.symbol("─", "-");
    page.put(plane.x - 1, page.symbol("└", "+"), faint());
    for x in plane.left()..plane.right() {
        page.put(x, line, faint());
    }
    for tick in &axis.ticks {
        page.put(cell(plane, tick.at, 0.0).0, page.symbol("┴", "+"), faint());
    }
    page.line += 1;
    let mut free = 0;
    for tick in &axis.ticks {
        if let Some(start) = label_start(page, plane, tick, free) {
            page.put(start, &tick.text, Style::new());
            free = start + width(&tick.text) as u16 + 1;
        }
    }
    page.line += 1;
    let middle = plane.x + plane.width / 2;
    let title = cut(&axis.title, usize::from(plane.width), page.screen.is_ascii);
    page.put(middle.saturating_sub(width(&title) as u16 / 2), &title, faint());
    page.line += 1;
}

/// Where the words of a tick begin, if they touch neither neighbour nor edge.
fn label_start(page: &Page, plane: Rect, tick: &Tick, free: u16) -> Option<u16> {
    let wide = width(&tick.text) as u16;
    let middle = cell(plane, tick.at, 0.0).0;
    let last = page.screen.columns.checked_sub(wide)?;
    let start = middle.saturating_sub(wide / 2).min(last);
    (start >= free && middle <= start + wide).then_some(start)
}

fn draw_guides(page: &mut Page, plot: &Cartesian, plane: Rect, x: &Placed, y: &Placed) {
    for guide in &plot.guides {
        match guide {
            Guide::Horizontal { at, name, .. } => {
                let Some(place) = y.place(*at) else { continue };
                let (_, line) = cell(plane, 0.0, place);
                for column in plane.left()..plane.right() {
                    page.put_at(column, line, page.symbol("╌", "-"), faint());
                }
                let name = cut(name, usize::from(plane.width) / 2, page.screen.is_ascii);
                page.put_at(plane.left() + 1, line, &format!(" {name} "), faint());
            }
            Guide::Vertical { at, name, .. } => {
                let Some(place) = x.place(*at) else { continue };
                let (column, _) = cell(plane, place, 0.0);
                for line in plane.top()..plane.bottom() {
                    page.put_at(column, line, page.symbol("┊", ":"), faint());
                }
                let room = usize::from(plane.right().saturating_sub(column + 1));
                let name = cut(name, room, page.screen.is_ascii);
                page.put_at(column + 1, plane.top(), &name, faint());
            }
            Guide::Zone { .. } | Guide::Diagonal { .. } => {}
        }
    }
}

fn draw_lines(page: &mut Page, plot: &Cartesian, plane: Rect, x: &Placed, y: &Placed) {
    let marker = if page.screen.is_ascii { Marker::Dot } else { Marker::Braille };
    // Drawn apart and laid over, so that guides stay where no line runs.
    let mut layer = ratatui::buffer::Buffer::empty(page.buffer.area);
    Canvas::default()
        .marker(marker)
        .x_bounds([0.0, 1.0])
        .y_bounds([0.0, 1.0])
        .paint(|context| {
            for series in &plot.series {
                let color = style_of(series).fg.unwrap_or(Color::Reset);
                for (from, to) in strokes(series, x, y) {
                    context.draw(&Line { x1: from.0, y1: from.1, x2: to.0, y2: to.1, color });
                }
            }
        })
        .render(plane, &mut layer);
    for position in plane.positions() {
        let drawn = layer.cell(position).filter(|cell| !matches!(cell.symbol(), " " | "⠀"));
        if let (Some(drawn), Some(cell)) = (drawn, page.buffer.cell_mut(position)) {
            let symbol = if page.screen.is_ascii { "." } else { drawn.symbol() };
            cell.set_symbol(symbol).set_fg(drawn.fg);
        }
    }
    for (index, series) in plot.series.iter().enumerate() {
        let has_marks = series.mark != Mark::None && series.form != Form::Step;
        for point in series.points.iter().filter(|_| has_marks) {
            let place = x.place(point.x).zip(point.y.and_then(|value| y.place(value)));
            if let Some((across, up)) = place {
                let (column, line) = cell(plane, across, up);
                page.put_at(column, line, &letter(index).to_string(), style_of(series));
            }
        }
    }
    name_ends(page, plot, plane, x, y);
}

/// Lines without marks are named by a letter at their last point.
fn name_ends(page: &mut Page, plot: &Cartesian, plane: Rect, x: &Placed, y: &Placed) {
    for (index, series) in plot.series.iter().enumerate() {
        let is_bare = series.mark == Mark::None || series.form == Form::Step;
        let ends = strokes(series, x, y);
        if let Some((_, (across, up))) = ends.last().filter(|_| is_bare) {
            let (column, line) = cell(plane, *across, *up);
            page.put_at(column, line, &letter(index).to_string(), style_of(series));
        }
    }
}

type Place = (f64, f64);

/// The straight strokes of a series.
fn strokes(series: &Series, x: &Placed, y: &Placed) -> Vec<(Place, Place)> {
    let along = |pick: fn(&crate::Point) -> Option<f64>| -> Vec<Option<Place>> {
        let place = |point| {
            let (point, value): (&crate::Point, f64) = (point, pick(point)?);
            Some((x.place(point.x)?, y.place(value)?))
        };
        series.points.iter().map(place).collect()
    };
    let join = |places: Vec<Option<Place>>| -> Vec<(Place, Place)> {
        places.windows(2).filter_map(|pair| pair[0].zip(pair[1])).collect()
    };
    match series.form {
        Form::Line => join(along(|point| point.y)),
        Form::Band => {
            let mut both = join(along(|point| point.low));
            both.extend(join(along(|point| point.high)));
            both
        }
        Form::Step => {
            let level = |(from, to): (Place, Place)| [(from, (to.0, from.1)), ((to.0, from.1), to)];
            join(along(|point| point.y)).into_iter().flat_map(level).collect()
        }
        Form::Bar | Form::Dots | Form::Tick => Vec::new(),
    }
}
