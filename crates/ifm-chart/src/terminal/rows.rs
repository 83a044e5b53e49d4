//! Bars and dots in rows: a name, a bar, its number.

use super::{Page, cut, legend, letter, style_of, width};
use crate::description::{Cartesian, Form, Point, Scale, Series};
use crate::drawing::{Placing, clean, head, placing};
use crate::number;
use ratatui::style::{Color, Style};

/// Share of the line that names may take.
const NAMES: f64 = 0.35;
/// Cells for the number after a bar.
const NUMBER: u16 = 14;

pub(super) fn draw(page: &mut Page, plot: &Cartesian) {
    let placing = placing(plot);
    if placing.is_empty {
        page.put(2, "nothing measured", Style::new());
        page.line += 1;
        return;
    }
    page.put(0, &placing.y.title, Style::new().fg(Color::DarkGray));
    page.line += 1;
    let rows = rows(plot);
    let most = (f64::from(page.screen.columns) * NAMES) as usize;
    let names = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(most) as u16;
    let room = page.screen.columns.saturating_sub(names + 2 + NUMBER).max(4);
    let is_single = plot.series.len() == 1;
    // The legend needs a line, and so does the count of rows that are left out.
    let last = page.screen.lines.saturating_sub(if is_single { 1 } else { 3 });
    for (index, (name, x)) in rows.iter().enumerate() {
        if page.line >= last {
            page.put(0, &format!("and {} more rows", rows.len() - index), Style::new());
            page.line += 1;
            break;
        }
        let name = cut(name, usize::from(names), page.screen.is_ascii);
        page.put(names.saturating_sub(width(&name) as u16), &name, Style::new());
        draw_row(page, plot, &placing, *x, (names + 1, room, last));
    }
    if !is_single {
        legend(page, &plot.series);
    }
}

/// Names and places of the rows.
fn rows(plot: &Cartesian) -> Vec<(String, f64)> {
    if let Scale::Category(names) = &plot.x.scale {
        let short = |(i, name): (usize, &String)| {
            (clean(plot.x.short_names.get(i).unwrap_or(name)), i as f64)
        };
        return names.iter().enumerate().map(short).collect();
    }
    let mut places: Vec<f64> =
        plot.series.iter().flat_map(|series| &series.points).map(|point| point.x).collect();
    places.retain(|place| place.is_finite());
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    places.into_iter().map(|x| (head(&plot.x, x), x)).collect()
}

fn draw_row(page: &mut Page, plot: &Cartesian, placing: &Placing, x: f64, span: (u16, u16, u16)) {
    let (left, room, last) = span;
    page.put(left, page.symbol("│", "|"), Style::new().fg(Color::DarkGray));
    let here = |series: &Series| -> Vec<Point> {
        series.points.iter().filter(|point| point.x == x).cloned().collect()
    };
    let column = |value: f64| {
        placing.y.place(value).map(|share| left + 1 + (share * f64::from(room - 1)).round() as u16)
    };
    let mut has_line = false;
    let mut dots: Vec<(u16, char, Style)> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let has_dots = plot.series.iter().any(|series| series.form != Form::Bar);
    for (index, series) in plot.series.iter().enumerate() {
        for point in here(series) {
            let Some((value, at)) = point.y.and_then(|y| Some((y, column(y)?))) else { continue };
            if series.form != Form::Bar {
                dots.push((at, letter(index), style_of(series)));
                words.push(told(&point, value));
                continue;
            }
            if has_line && page.line + 1 < last {
                page.line += 1;
                page.put(left, page.symbol("│", "|"), Style::new().fg(Color::DarkGray));
            }
            has_line = true;
            let full =
                if point.is_trusted { page.symbol("█", "#") } else { page.symbol("░", ":") };
            let start = column(0.0).unwrap_or(left + 1);
            let bar = full.repeat(usize::from(at.abs_diff(start) + 1));
            page.put(start.min(at), &bar, style_of(series));
            if plot.series.len() > 1 {
                page.put(start.min(at), &letter(index).to_string(), Style::new());
            }
            // Dots may lie beyond the end of a bar: then its number goes to the edge.
            let behind = if has_dots { left + room } else { at.max(start) };
            page.put(behind + 2, &told(&point, value), Style::new());
        }
    }
    if plot.is_joined {
        let columns = dots.iter().map(|(at, ..)| *at);
        if let Some((from, to)) = columns.clone().min().zip(columns.max()) {
            let line = page.symbol("─", "-").repeat(usize::from(to - from));
            page.put(from, &line, Style::new().fg(Color::DarkGray));
        }
        page.put(left + room + 2, &words.join(" → "), Style::new());
    }
    for (at, sign, style) in dots {
        page.put(at, &sign.to_string(), style);
    }
    page.line += 1;
}

fn told(point: &Point, value: f64) -> String {
    let figure = point.text.clone().unwrap_or_else(|| number::short(value));
    match &point.label {
        Some(label) => format!("{figure} {label}"),
        None => figure,
    }
}
