//! A gate as a page: pass or fail with what failed, how far each value is from its limit, and the
//! table of all thresholds.

use super::{footer, remark, sides};
use crate::comparison::{unit_json, words};
use crate::format::{percent, plain};
use crate::gate::{
    Undecided, found, limit, name, repeat, single_run, state, stretches, tally, verdict,
};
use crate::page::{Block, Cell, Columns, Figure, Head, Page, Section, Table, Tile};
use ifm_chart::{
    Along, Axis, Cartesian, Chart, Form, GREY, Guide, Mark, Point, Series, Tone as Color,
};
use ifm_compare::comparison::{self, SideHead};
use ifm_compare::gate::{Bound, GateResult, GateRow, GateState, Limit};
use ifm_core::words::counted;
use ifm_metrics::Severity;
use ifm_metrics::stat::Estimate;
use ifm_rules::insight::Tone;

/// Thresholds that the answer names.
const NAMED_MAX: usize = 3;

/// A gate as a page. `command` is the line that made it.
pub fn gate_page(result: &GateResult, undecided: Undecided, command: &[String]) -> Page {
    let base = result.baseline.as_ref();
    let run = words::side(&result.run.label, &result.run.runs);
    let against = base.map(|side| words::side(&side.label, &side.runs));
    let all: Vec<&SideHead> = base.into_iter().chain([&result.run]).collect();
    let compared = [(&result.run, result.differences.as_slice())];
    let sides_title = match base {
        Some(base) => format!("{} vs {}", plain(&result.run.label), plain(&base.label)),
        None => plain(&result.run.label),
    };
    let mut trust = sides::trust(&compared);
    for (severity, text) in words::cautions(&result.cautions) {
        let tone = if severity == Severity::Invalid { Tone::Bad } else { Tone::Warn };
        trust.get_or_insert_default().loud.push((tone, text));
    }
    if let Some(trust) = trust.as_mut().filter(|trust| trust.line.is_empty()) {
        trust.line = counted(trust.loud.len() as u64, "caution");
    }
    let remarks = stretches(result).into_iter().map(|line| remark("gate", Tone::Warn, line));
    Page {
        kind: "gate",
        title: format!("Gate: {}", sides::titled(&sides_title, &sides::subject(base, &compared))),
        facts: std::iter::once(run).chain(against.map(|side| format!("against {side}"))).collect(),
        conditions: vec![
            counted(result.rows.len() as u64, "threshold"),
            format!("{} intervals", percent(result.confidence)),
        ],
        lead: Some(answer(result, undecided)),
        banners: single_run(result).into_iter().map(|line| format!("⚠ {line}")).collect(),
        tiles: tiles(result, undecided),
        trust,
        remarks: remarks.collect(),
        sections: sections(result, &all, command),
        footer: footer(),
        ..Page::default()
    }
}

/// `FAIL: 1 failed, 0 inconclusive, 3 passed. ITL p50 at 4 users is 14.0 ms, the limit is ≤ 9 ms`.
fn answer(result: &GateResult, undecided: Undecided) -> String {
    let wanted = match result.count(GateState::Fail) {
        0 => GateState::Inconclusive,
        _ => GateState::Fail,
    };
    let is_inter_event = result.run.is_inter_event;
    let rows: Vec<&GateRow> = result.rows.iter().filter(|row| row.state == wanted).collect();
    let named = rows.iter().take(NAMED_MAX);
    let named: Vec<String> = named
        .map(|row| {
            format!(
                "{}: {}, limit {}",
                name(row, is_inter_event),
                found(row),
                limit(&row.threshold)
            )
        })
        .collect();
    let more = rows.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let head = format!("{}: {}", state(result.state), tally(result, undecided));
    if named.is_empty() { head } else { format!("{head}. {}{more}", named.join("; ")) }
}

fn tiles(result: &GateResult, undecided: Undecided) -> Vec<Tile> {
    let all = format!("of {}", counted(result.rows.len() as u64, "threshold"));
    let tile = |question: &str, state: GateState, tone: Tone, detail: &str| {
        let count = result.count(state);
        let tone = (count > 0).then_some(tone);
        Tile::new(question, count.to_string(), all.clone(), detail).toned(tone)
    };
    let counts_as = match undecided {
        Undecided::Report => "the interval crosses the limit, or there is no value",
        Undecided::Pass => "they count as passed",
        Undecided::Fail => "they count as failed",
    };
    vec![
        tile("Failed", GateState::Fail, Tone::Bad, "outside with the whole interval"),
        tile("Inconclusive", GateState::Inconclusive, Tone::Warn, counts_as),
        tile("Passed", GateState::Pass, Tone::Good, "inside with the whole interval"),
    ]
}

fn sections(result: &GateResult, all: &[&SideHead], command: &[String]) -> Vec<Section> {
    let figures: Vec<Figure> = [
        figure(
            result,
            "limits",
            "How far are values from their limits?",
            ("distance to the limit", "%"),
            of_value,
        ),
        figure(
            result,
            "changes",
            "How far are changes from their limits?",
            ("change beyond the limit", "points"),
            of_change,
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut sections = Vec::new();
    if !figures.is_empty() {
        let note = "Each line is an interval. To the left of zero is inside the limit, to the right is outside.";
        sections.push(Section::new(
            "Distance to the limits",
            vec![Block::Prose(note.to_owned()), Block::Figures(figures)],
        ));
    }
    sections.push(Section::new("Every threshold", vec![Block::Table(table(result))]));
    if let Some(command) = repeat(result) {
        let text = "This command measures the same again.".to_owned();
        sections.push(Section::new("Repeat", vec![Block::Prose(text), Block::Pre(command)]));
    }
    let caption = match all.len() {
        1 => "The result that was checked.",
        _ => "The sides, the baseline first.",
    };
    sections.push(sides::sources(all, caption, &[], command));
    sections
}

/// A distance, and the ends of its interval.
type Distance = (f64, Option<f64>, Option<f64>);

/// A value as a distance from its limit in percent of it; positive is outside.
fn of_value(row: &GateRow) -> Option<Distance> {
    let Limit::Value(limit) = row.threshold.limit else { return None };
    let cell = row.value.filter(|_| limit > 0.0)?;
    let distance = |value: f64| outside(row.threshold.bound, (value / limit - 1.0) * 100.0);
    let (low, high) = (cell.low.map(distance), cell.high.map(distance));
    Some((distance(cell.value), low, high))
}

/// A change as a distance from the allowed change, in points; positive is outside.
fn of_change(row: &GateRow) -> Option<Distance> {
    let Limit::Change(limit) = row.threshold.limit else { return None };
    let distance = |change: f64| outside(row.threshold.bound, (change - limit) * 100.0);
    match (row.change, row.difference) {
        (Some(Estimate { value, low, high }), _) => {
            Some((distance(value), Some(distance(low)), Some(distance(high))))
        }
        (None, Some(value)) => Some((distance(value), None, None)),
        (None, None) => None,
    }
}

fn outside(bound: Bound, above: f64) -> f64 {
    match bound {
        Bound::Max => above,
        Bound::Min => -above,
    }
}

/// Thresholds with their distance, one chart; absent without any.
fn figure(
    result: &GateResult,
    id: &str,
    question: &str,
    (axis, unit): (&str, &str),
    distance: fn(&GateRow) -> Option<Distance>,
) -> Option<Figure> {
    let is_inter_event = result.run.is_inter_event;
    let rows: Vec<(&GateRow, _)> =
        result.rows.iter().filter_map(|row| Some((row, distance(row)?))).collect();
    if rows.is_empty() {
        return None;
    }
    let looks = [
        (GateState::Pass, super::GREEN, Mark::Circle),
        (GateState::Fail, super::ORANGE, Mark::Square),
        (GateState::Inconclusive, GREY, Mark::Circle),
    ];
    let series = looks.into_iter().filter_map(|(known, color, mark)| {
        let point = |(place, (row, (value, one, other))): (usize, &(&GateRow, Distance))| {
            // The ends change places where less is outside.
            let (low, high) = match (one, other) {
                (Some(one), Some(other)) => (Some(one.min(*other)), Some(one.max(*other))),
                (one, other) => (*one, *other),
            };
            (row.state == known).then(|| {
                Point::at(place as f64, *value)
                    .between(low, high)
                    .trusted(known != GateState::Inconclusive)
                    .told(format!(
                        "{}, limit {}, {}",
                        found(row),
                        limit(&row.threshold),
                        verdict(row)
                    ))
            })
        };
        let points: Vec<Point> = rows.iter().enumerate().filter_map(point).collect();
        let series = Series::new(state(known).to_lowercase(), points).form(Form::Dots);
        (!series.points.is_empty()).then_some(Series { color, mark, ..series })
    });
    let beyond = Guide::Zone {
        along: Along::Y,
        from: Some(0.0),
        to: None,
        name: "outside".to_owned(),
        tone: Color::Bad,
    };
    let names = rows.iter().map(|(row, _)| name(row, is_inter_event));
    let words: Vec<String> = rows
        .iter()
        .map(|(row, _)| {
            format!(
                "{}: {}, limit {}",
                name(row, is_inter_event),
                found(row),
                limit(&row.threshold)
            )
        })
        .collect();
    let plot = Cartesian::new(Axis::of_names(names), Axis::new(axis, unit), series.collect())
        .guided([beyond])
        .horizontal();
    // One row has one mark, whatever its series.
    let plot = Cartesian { is_joined: true, ..plot };
    Some(Figure::alone(Chart::new(id, question, format!("{}.", words.join("; ")), plot)))
}

/// Every threshold; values are in the units of the JSON document.
fn table(result: &GateResult) -> Table {
    let is_inter_event = result.run.is_inter_event;
    let change = |row: &GateRow| {
        let value = row.change.map(|found| found.value).or(row.difference);
        let is_share = row.threshold.measure.is_share();
        let text = words::gate_change(is_share, row.change, row.difference);
        Cell { value, ..Cell::text(text) }.in_unit("share")
    };
    let bound = |row: &GateRow| {
        let (unit, per) = unit_json(row.threshold.measure.unit());
        let text = Cell::text(limit(&row.threshold));
        match row.threshold.limit {
            Limit::Value(value) => Cell { value: Some(value / per), ..text }.in_unit(unit),
            Limit::Change(change) => Cell { value: Some(change), ..text }.in_unit("share"),
            Limit::Band => text,
        }
    };
    let state = |row: &GateRow| {
        let (sign, tone) = match row.state {
            GateState::Pass => ('✓', Tone::Good),
            GateState::Fail => ('✗', Tone::Bad),
            GateState::Inconclusive => ('⚠', Tone::Warn),
        };
        Cell::text(format!("{sign} {}", verdict(row))).toned(tone)
    };
    let confidence = percent(result.confidence);
    let side = |row: &GateRow, cell: Option<comparison::Cell>| {
        let (unit, per) = unit_json(row.threshold.measure.unit());
        let Some(cell) = cell else { return Cell::text(crate::ABSENT) };
        let text = words::bounds(row.threshold.measure.unit(), &cell);
        Cell { value: Some(cell.value / per), ..Cell::text(text) }.in_unit(unit)
    };
    let has_change = result.rows.iter().any(|row| row.change.is_some() || row.difference.is_some());
    let caption = format!("A threshold passes or fails with its whole {confidence} interval.");
    Columns::<GateRow>::default()
        .name("threshold", |row| name(row, is_inter_event))
        .cell(Head::number("baseline"), |row| side(row, row.baseline))
        .when(result.rows.iter().any(|row| row.baseline.is_some()))
        .cell(Head::number(format!("measured [{confidence}]")), |row| side(row, row.value))
        .cell(Head::number(format!("change [{confidence}]")), change)
        .when(has_change)
        .cell(Head::number("limit"), bound)
        .cell(Head::text("verdict"), state)
        .table(caption, result.rows.iter())
}
