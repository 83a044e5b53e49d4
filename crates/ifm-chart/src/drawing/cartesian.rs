//! Places of series, guides and notes over two axes.

use super::clean;
use crate::description::{Along, Axis, Cartesian, Form, Guide, Note, Point, Scale, Series};
use crate::number;
use crate::scale::{Needs, Placed, Tick, fit, titled};
use serde_json::{Value, json};

/// What axes without a unit may count, each.
const COUNTED: [&str; 3] = ["user", "request", "token"];

/// Both axes of a chart with known ends, and the breadth of a bar's slot.
pub(crate) struct Placing {
    pub x: Placed,
    pub y: Placed,
    /// Breadth of the slot of one place on the x axis, as a share of the axis.
    pub slot: f64,
    /// Place on the y axis where bars begin.
    pub base: f64,
    /// Whether no figure has a place.
    pub is_empty: bool,
}

/// All figures of a point.
fn figures(point: &Point) -> impl Iterator<Item = f64> {
    [point.y, point.low, point.high].into_iter().flatten().filter(|value| value.is_finite())
}

fn has_figure(point: &Point) -> bool {
    figures(point).next().is_some()
}

/// Finds the ends of both axes.
pub(crate) fn placing(plot: &Cartesian) -> Placing {
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let y_values: Vec<f64> = points().flat_map(figures).collect();
    let x_values: Vec<f64> = points().map(|point| point.x).filter(|x| x.is_finite()).collect();
    let has_bars = plot.series.iter().any(|series| series.form == Form::Bar);
    let (mut x_near, mut y_near) = (Vec::new(), Vec::new());
    for guide in &plot.guides {
        match guide {
            Guide::Horizontal { at, .. } => y_near.push(*at),
            Guide::Vertical { at, .. } => x_near.push(*at),
            Guide::Zone { .. } | Guide::Diagonal { .. } => {}
        }
    }
    let needs = Needs { values: &x_values, near: &x_near, is_from_zero: false, margin: 0.0 };
    let mut x = fit(&plot.x, needs);
    let mut slot = slot_of(plot, &x, &x_values);
    if has_bars && !matches!(plot.x.scale, Scale::Category(_)) {
        // The outermost bars need half a slot each.
        let margin = (slot / 2.0 / (1.0 + slot)).min(0.45);
        x = fit(&plot.x, Needs { margin, ..needs });
        slot = slot_of(plot, &x, &x_values);
    }
    let y_needs = Needs { values: &y_values, near: &y_near, is_from_zero: has_bars, margin: 0.0 };
    let y = fit(&plot.y, y_needs);
    let base = y.clamped(0.0).unwrap_or(0.0);
    let has_place = |point: &Point| {
        x.place(point.x).is_some() && figures(point).any(|value| y.place(value).is_some())
    };
    let is_empty = !points().any(has_place);
    Placing { x, y, slot, base, is_empty }
}

fn slot_of(plot: &Cartesian, x: &Placed, values: &[f64]) -> f64 {
    if let Scale::Category(names) = &plot.x.scale {
        return 1.0 / names.len().max(1) as f64;
    }
    let mut places: Vec<f64> = values.iter().filter_map(|value| x.place(*value)).collect();
    places.sort_unstable_by(f64::total_cmp);
    let gaps = places.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 1e-4);
    gaps.fold(1.0, f64::min)
}

pub(super) fn drawing(plot: &Cartesian) -> Value {
    let placing = placing(plot);
    let lanes = lanes(plot);
    let breadth = lanes.iter().flatten().max().map_or(0, |most| most + 1);
    let series: Vec<Value> = plot
        .series
        .iter()
        .zip(&lanes)
        .map(|(series, lane)| draw_series(plot, &placing, series, *lane))
        .collect();
    json!({
        "kind": "cartesian",
        "x": draw_axis(&plot.x, &placing.x),
        "y": draw_axis(&plot.y, &placing.y),
        "series": series,
        "guides": plot.guides.iter().filter_map(|g| draw_guide(&placing, g)).collect::<Vec<_>>(),
        "notes": plot.notes.iter().filter_map(|n| draw_note(plot, &placing, n)).collect::<Vec<_>>(),
        "slot": placing.slot,
        "lanes": breadth,
        "base": placing.base,
        "isHorizontal": plot.is_horizontal,
        "isJoined": plot.is_joined,
        "isShared": is_shared(plot),
        "isEmpty": placing.is_empty,
    })
}

/// Which lane of its slot each bar or dot takes; lines have none.
fn lanes(plot: &Cartesian) -> Vec<Option<usize>> {
    let count = |form: Form| plot.series.iter().filter(|series| series.form == form).count();
    let (bars, dots) = (count(Form::Bar), count(Form::Dots));
    let is_named = matches!(plot.x.scale, Scale::Category(_));
    // Dots are drawn over the bars of their own series, or next to each other.
    let has_dot_lanes = !plot.is_joined && is_named && (bars == 0 || bars == dots);
    let (mut bar, mut dot) = (0..bars, 0..dots);
    let lane = |series: &Series| match series.form {
        Form::Bar => bar.next(),
        Form::Dots if has_dot_lanes => dot.next(),
        _ => None,
    };
    plot.series.iter().map(lane).collect()
}

/// Whether figures of several series lie above each other, so that one tooltip may show all.
fn is_shared(plot: &Cartesian) -> bool {
    let has_places = matches!(plot.x.scale, Scale::Category(_) | Scale::Log2);
    let has_dots = plot.series.iter().any(|series| series.form == Form::Dots);
    let has_labels =
        plot.series.iter().flat_map(|series| &series.points).any(|point| point.label.is_some());
    let is_crowded = has_labels && plot.series.len() > 8;
    has_places && !(has_dots || plot.is_joined || is_crowded)
}

/// The ticks with the words that are drawn: the short names of categories, where there are some.
fn drawn_ticks(axis: &Axis, placed: &Placed) -> Vec<Value> {
    let short = |(index, tick): (usize, &Tick)| {
        let text = axis.short_names.get(index).filter(|_| is_category(axis));
        json!({ "at": tick.at, "text": clean(text.unwrap_or(&tick.text)) })
    };
    placed.ticks.iter().enumerate().map(short).collect()
}

fn is_category(axis: &Axis) -> bool {
    matches!(axis.scale, Scale::Category(_))
}

fn draw_axis(axis: &Axis, placed: &Placed) -> Value {
    let second = axis.second.as_ref().map(|second| {
        let read = |tick: &Tick| {
            let value = if second.is_inverse {
                second.factor / tick.value
            } else {
                second.factor * tick.value
            };
            value.is_finite().then(|| json!({ "at": tick.at, "text": number::short(value) }))
        };
        json!({
            "name": clean(&titled(&second.name, &second.unit)),
            "ticks": placed.ticks.iter().filter_map(read).collect::<Vec<_>>(),
        })
    });
    json!({
        "name": clean(&placed.title),
        "ticks": drawn_ticks(axis, placed),
        "isCategory": is_category(axis),
        "second": second,
    })
}

fn draw_series(plot: &Cartesian, placing: &Placing, series: &Series, lane: Option<usize>) -> Value {
    let draw = |point: &Point| {
        let x = placing.x.place(point.x)?;
        let y = point.y.and_then(|value| placing.y.place(value));
        // An interval that leaves an axis of given ends is cut at its edge.
        let end = |value: Option<f64>| value.and_then(|value| placing.y.clamped(value));
        let is_out = |value: Option<f64>| value.and_then(|v| placing.y.place(v)) != end(value);
        let mut drawn = json!({
            "x": x,
            "y": y,
            "low": end(point.low),
            "high": end(point.high),
            "label": point.label.as_deref().map(clean),
            "text": point.text.as_deref().map(clean),
            "trusted": point.is_trusted,
            "head": head(&plot.x, point.x),
            "told": told(&plot.y, point),
        });
        for (name, value) in [("isLowOut", point.low), ("isHighOut", point.high)] {
            if let (true, Some(fields)) = (is_out(value), drawn.as_object_mut()) {
                fields.insert(name.to_owned(), Value::Bool(true));
            }
        }
        Some(drawn)
    };
    json!({
        "name": clean(&series.name),
        "short": clean(series.short.as_ref().unwrap_or(&series.name)),
        "color": series.color,
        "dash": series.dash,
        "mark": series.mark,
        "form": series.form,
        "weight": series.weight,
        "lane": lane,
        "points": series.points.iter().filter_map(draw).collect::<Vec<_>>(),
    })
}

/// A place on the x axis in words.
pub(crate) fn head(axis: &Axis, x: f64) -> String {
    if let Scale::Category(names) = &axis.scale {
        return names.get(x.round().max(0.0) as usize).map(|name| clean(name)).unwrap_or_default();
    }
    let value = number::short(x);
    if axis.unit.is_empty() {
        clean(&counted(&value, &axis.name).unwrap_or_else(|| format!("{} {value}", axis.name)))
    } else {
        clean(&format!("{value} {}", axis.unit))
    }
}

/// A number of what an axis counts: `8 users`, `1 request in flight`; absent for other names.
fn counted(value: &str, name: &str) -> Option<String> {
    let (noun, rest) = name
        .split_once(' ')
        .map_or((name, String::new()), |(noun, rest)| (noun, format!(" {rest}")));
    let singular = COUNTED.iter().find(|singular| noun.strip_suffix('s') == Some(singular))?;
    let noun = if value == "1" { singular } else { noun };
    Some(format!("{value} {noun}{rest}"))
}

/// A figure in words, with its interval.
fn told(axis: &Axis, point: &Point) -> String {
    let short = |value: f64| number::short(value);
    let figure = point.text.clone().or_else(|| {
        let unit = if axis.unit.is_empty() { String::new() } else { format!(" {}", axis.unit) };
        point.y.map(|y| format!("{}{unit}", short(y)))
    });
    let interval =
        point.low.zip(point.high).map(|(low, high)| format!("[{}, {}]", short(low), short(high)));
    let caution = (!point.is_trusted).then(|| "(outside the limit, or not certain)".to_owned());
    let parts: Vec<String> = [figure, interval, caution].into_iter().flatten().collect();
    clean(&parts.join(" "))
}

fn draw_guide(placing: &Placing, guide: &Guide) -> Option<Value> {
    let line = |ends: [[f64; 2]; 2], name: &str, tone: Value| {
        Some(json!({ "kind": "Line", "ends": ends, "name": clean(name), "tone": tone }))
    };
    match guide {
        Guide::Horizontal { at, name, tone } => {
            let y = placing.y.place(*at)?;
            line([[0.0, y], [1.0, y]], name, json!(tone))
        }
        Guide::Vertical { at, name, tone } => {
            let x = placing.x.place(*at)?;
            line([[x, 0.0], [x, 1.0]], name, json!(tone))
        }
        Guide::Diagonal { name } => line(diagonal(placing)?, name, json!("Neutral")),
        Guide::Zone { along, from, to, name, tone } => {
            let axis = if *along == Along::X { &placing.x } else { &placing.y };
            let low = from.map_or(Some(0.0), |from| axis.clamped(from))?;
            let high = to.map_or(Some(1.0), |to| axis.clamped(to))?;
            let name = clean(name);
            let zone = json!({
                "kind": "Zone", "along": along, "from": low, "to": high, "name": name,
                "tone": tone,
            });
            (low < high).then_some(zone)
        }
    }
}

/// Ends of the line where y equals x, as far as both axes reach.
fn diagonal(placing: &Placing) -> Option<[[f64; 2]; 2]> {
    let (x, y) = (&placing.x, &placing.y);
    let ((x_low, x_high), (y_low, y_high)) = (x.ends()?, y.ends()?);
    let (low, high) = (x_low.max(y_low), x_high.min(y_high));
    let end = |value: f64| Some([x.clamped(value)?, y.clamped(value)?]);
    if x.is_like(y) && low < high { Some([end(low)?, end(high)?]) } else { None }
}

fn draw_note(plot: &Cartesian, placing: &Placing, note: &Note) -> Option<Value> {
    let x = placing.x.place(note.x)?;
    let is_here = |point: &&Point| placing.x.place(point.x) == Some(x) && has_figure(point);
    let here = plot.series.iter().flat_map(|series| &series.points).filter(is_here);
    let above = here
        .flat_map(figures)
        .filter_map(|value| placing.y.place(value))
        .fold(placing.base, f64::max);
    let y = match note.y {
        Some(y) => Some(placing.y.place(y)?),
        None => None,
    };
    Some(json!({ "x": x, "y": y, "above": above, "text": clean(&note.text), "tone": note.tone }))
}
