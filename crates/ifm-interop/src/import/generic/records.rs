//! JSON whose keys are known words: `median_ttft`, `output_throughput`, `max_concurrency`.
//!
//! An object is a row; an array of objects, or JSON Lines, are rows. A time without a unit in its key
//! is read where the other numbers decide its unit, and left out where they do not.

use super::super::Recognised;
use super::super::bounds::{self, Room};
use super::super::heading;
use super::super::json;
use super::super::measure::{Cell, Dimension, Meaning, Named, meaning, natural_unit, statistic};
use super::{figures, is_performance};
use ifm_core::Metric;
use ifm_core::sheet::{
    Factors, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, Statistic, Unit, key,
};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// ID and title of this kind of file.
pub(crate) const ABOUT: Recognised = Recognised { id: "records", title: "JSON with known keys" };

/// Nesting that is looked through.
const DEPTH_MAX: usize = 4;
/// Rows of one document.
const ROWS_MAX: usize = 200_000;
/// Keys that a remark lists.
const KEYS_MAX: usize = 8;
/// Keys of an object of things that are not results.
const OTHERS: &[&str] = &[
    "slo",
    "slos",
    "target",
    "targets",
    "limit",
    "limits",
    "goodput_config",
    "threshold",
    "thresholds",
    "expected",
];

/// Share by which two ways to compute a rate may differ.
const SAME: f64 = 0.02;
/// Requests in flight of a closed loop, as a share of the number that it allows.
const FULL: std::ops::Range<f64> = 0.125..3.0;

/// The rows of a file while its values come in.
pub(crate) struct Gathering {
    found: Vec<Record>,
    /// Remaining memory for rows, and the number of rows beyond it.
    room: Room,
    beyond: usize,
}

impl Default for Gathering {
    fn default() -> Gathering {
        let room = Room::new(bounds::ROWS_MEMORY_MAX);
        Gathering { found: Vec::new(), room, beyond: 0 }
    }
}

impl Gathering {
    /// Takes a whole document.
    pub fn document(&mut self, value: &Value) {
        gather(value, "", &Factors::default(), 0, self);
    }

    /// Takes an element of the list that is the document, by its pointer.
    pub fn element(&mut self, pointer: &str, value: &Value) {
        gather(value, pointer, &Factors::default(), 1, self);
    }

    /// Takes the value of a line.
    pub fn line(&mut self, line: u32, value: &Value) {
        let first = self.found.len();
        self.document(value);
        for record in self.found.iter_mut().skip(first) {
            record.row.place = Place { line: Some(line), ..record.row.place.clone() };
            if record.row.place.pointer.as_deref() == Some("") {
                record.row.place.pointer = None;
            }
        }
    }

    fn push(&mut self, record: Record) {
        let memory = bounds::row_memory(&record.row) + record.open.len() * size_of::<Open>();
        // After the first that had no room none is kept: what is kept is the beginning.
        let has_room = self.beyond == 0 && self.found.len() < ROWS_MAX && self.room.take(memory);
        match has_room {
            true => self.found.push(record),
            false => self.beyond += 1,
        }
    }

    /// The rows in parts, and the remarks.
    pub fn finish(self) -> (Vec<Part>, Vec<Remark>) {
        let (beyond, kept) = (self.beyond, self.found.len());
        let (parts, mut remarks) = finish(self.found);
        if beyond > 0 && !parts.is_empty() {
            let text = format!("{beyond} rows beyond the first {kept} are not kept");
            remarks.push(Remark { kind: RemarkKind::Lost, place: Place::default(), text });
        }
        (parts, remarks)
    }
}

/// Key of a figure without a unit, what it names, and its number.
type Open = (String, Named, f64);

/// An object as a row, and its figures without a unit.
struct Record {
    row: Row,
    open: Vec<Open>,
}

fn finish(records: Vec<Record>) -> (Vec<Part>, Vec<Remark>) {
    let mut remarks = Vec::new();
    let mut rows = Vec::new();
    let mut left: Vec<(String, Named)> = Vec::new();
    let mut keys = BTreeSet::new();
    for mut record in records {
        let open = std::mem::take(&mut record.open);
        let rest = settle(&mut record.row, open, &mut remarks);
        for (key, named) in rest {
            if keys.insert(key.clone()) {
                left.push((key, named));
            }
        }
        if is_result(&record.row) {
            rows.push(record.row);
        }
    }
    if rows.is_empty() {
        return (Vec::new(), Vec::new());
    }
    if let Some(remark) = left_out(&left) {
        remarks.push(remark);
    }
    let place = rows.first().map(|row| row.place.clone()).unwrap_or_default();
    let mut part = Part::new(PartKind::Other, place);
    part.rows = rows;
    (vec![part], remarks)
}

/// Whether a row has a time or a rate, and not a limit alone: a statistic, a rate or a count says so.
fn is_result(row: &Row) -> bool {
    let says_so = |figure: &Figure| {
        figure.statistic != Statistic::Value
            || natural_unit(figure.quantity) != Unit::Other(String::new())
    };
    row.figures.iter().any(|figure| is_performance(figure.quantity) && figure.value.is_some())
        && row.figures.iter().any(says_so)
}

/// The map that a remark names for keys without a unit.
fn left_out(left: &[(String, Named)]) -> Option<Remark> {
    let (first, named) = left.first()?;
    let keys: Vec<&str> = left.iter().take(KEYS_MAX).map(|(key, _)| key.as_str()).collect();
    let more = left.len().saturating_sub(KEYS_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let target = target(named).unwrap_or_else(|| "ttft_ms".to_owned());
    Some(Remark {
        kind: RemarkKind::Lost,
        place: Place::default(),
        text: format!(
            "{}{more}: the unit is unknown, and the numbers are left out; name it with \
             --map \"{target}={first}\"",
            keys.join(", ")
        ),
    })
}

/// The name of a map's target for a key, with milliseconds as its unit.
fn target(named: &Named) -> Option<String> {
    let quantity = match named.quantity {
        Metric::Ttft => "ttft_ms",
        Metric::Ttfat => "ttfot_ms",
        Metric::Itl => "itl_ms",
        Metric::Tpot => "tpot_ms",
        Metric::E2e => "e2e_ms",
        Metric::Prefill => "prefill_time_ms",
        Metric::Duration => "duration_s",
        Metric::ErrorRate => "error_percent",
        Metric::Power => "power_w",
        Metric::Energy => "energy_j",
        Metric::Memory => "memory_gib",
        _ => return None,
    };
    Some(match named.statistic {
        Some(Statistic::Mean) => format!("mean_{quantity}"),
        Some(Statistic::Median) => format!("median_{quantity}"),
        Some(Statistic::Percentile(p)) => format!("p{p}_{quantity}"),
        Some(Statistic::Min) => format!("min_{quantity}"),
        Some(Statistic::Max) => format!("max_{quantity}"),
        _ => quantity.to_owned(),
    })
}

/// Finds the rows of a value: objects with figures.
fn gather(value: &Value, pointer: &str, outer: &Factors, depth: usize, found: &mut Gathering) {
    if depth > DEPTH_MAX {
        return;
    }
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                gather(item, &format!("{pointer}/{at}"), outer, depth + 1, found);
            }
        }
        Value::Object(object) => of_object(object, pointer, outer, depth, found),
        _ => {}
    }
}

fn of_object(
    object: &Map<String, Value>,
    pointer: &str,
    outer: &Factors,
    depth: usize,
    found: &mut Gathering,
) {
    let mut record =
        Record { row: Row::new(RowRole::Measured, Place::pointer(pointer)), open: Vec::new() };
    record.row.factors = outer.clone();
    // What is set goes before what is measured with it.
    let mut groups = Vec::new();
    for (name, value) in object {
        match value {
            other if is_other(name) => _ = record.row.unknown.insert(name.clone(), other.clone()),
            Value::Array(items) if items.iter().any(Value::is_object) => groups.push((name, value)),
            Value::Object(inner) if is_group(name, inner) => groups.push((name, value)),
            value => record.take(&[], name, value, 0),
        }
    }
    let factors = record.row.factors.clone();
    let has_figures = !record.row.figures.is_empty() || !record.open.is_empty();
    if has_figures {
        found.push(record);
    }
    for (name, value) in groups {
        let is_list = value.is_array();
        let mut inner = factors.clone();
        if !is_list {
            let of_name = heading::factors(name);
            inner = match of_name.is_empty() {
                true => inner.with(key::CONDITION, name),
                false => of_name.within(&inner),
            };
        }
        let first = found.found.len();
        gather(value, &format!("{pointer}/{name}"), &inner, depth + 1, found);
        if !is_list && let Some(record) = found.found.get_mut(first) {
            record.row.label.get_or_insert_with(|| name.clone());
        }
    }
}

/// Whether a member is not of results by its name.
fn is_other(name: &str) -> bool {
    OTHERS.contains(&name.to_lowercase().as_str())
}

/// Whether a member is a row of its own, or of rows, by its name: `c8`, `run_1`, a model. Members such as
/// `ttft` and `metrics` belong to their object.
fn is_group(name: &str, inner: &Map<String, Value>) -> bool {
    let is_part = [
        "metrics",
        "results",
        "result",
        "summary",
        "stats",
        "statistics",
        "config",
        "args",
        "parameters",
        "params",
        "settings",
        "metadata",
        "latency",
        "throughput",
        "tokens",
        "requests",
        "benchmark",
        "data",
    ]
    .contains(&name.to_lowercase().as_str());
    let is_quantity = matches!(words(name), Some(Meaning::Figure(_)));
    let has_figures = inner.iter().filter(|(name, value)| {
        matches!(words(name), Some(Meaning::Figure(_))) && (value.is_number() || value.is_object())
    });
    let is_nested = inner.values().all(Value::is_object) && inner.len() > 1;
    !is_part && !is_quantity && (has_figures.count() >= 2 || is_nested)
}

impl Record {
    /// Takes a member into the row.
    fn take(&mut self, path: &[&str], name: &str, value: &Value, depth: usize) {
        if is_other(name) {
            self.row.unknown.insert(name.to_owned(), value.clone());
            return;
        }
        match value {
            Value::Object(inner) if depth < DEPTH_MAX => {
                let path: Vec<&str> = path.iter().copied().chain([name]).collect();
                for (inner_name, value) in inner {
                    self.take(&path, inner_name, value, depth + 1);
                }
            }
            Value::Number(_) | Value::String(_) => self.take_scalar(path, name, value),
            Value::Null => {}
            other => {
                self.row.unknown.insert(joined(path, name), other.clone());
            }
        }
    }

    fn take_scalar(&mut self, path: &[&str], name: &str, value: &Value) {
        let text = json::word(Some(value)).unwrap_or_default();
        match named(path, name) {
            Some(Meaning::Setting(factor)) => self.row.factors.set(factor, text),
            Some(Meaning::Figure(named)) => {
                let has_unit = named.unit.is_some()
                    || natural_unit(named.quantity) != Unit::Other(String::new());
                let of_cell = match Cell::read(&text) {
                    Cell::Number { unit: Some(_), .. } => true,
                    Cell::Number { .. } => false,
                    _ => return self.keep(path, name, value),
                };
                match (has_unit || of_cell, json::number(Some(value))) {
                    (false, Some(number)) => {
                        self.open.push((joined(path, name), named, number));
                        self.keep(path, name, value);
                    }
                    _ => match figures(&named, &text, 0) {
                        Some(all) => self.row.figures.extend(all.into_iter().map(|mut figure| {
                            figure.place = None;
                            if value.is_number() {
                                figure.printed = None;
                            }
                            figure
                        })),
                        None => self.keep(path, name, value),
                    },
                }
            }
            None => self.keep(path, name, value),
        }
    }

    fn keep(&mut self, path: &[&str], name: &str, value: &Value) {
        self.row.unknown.insert(joined(path, name), value.clone());
    }
}

fn joined(path: &[&str], name: &str) -> String {
    path.iter().copied().chain([name]).collect::<Vec<_>>().join(".")
}

/// What a key means below others: `{"ttft_ms": {"p99": …}}` is a P99 of the TTFT.
fn named(path: &[&str], name: &str) -> Option<Meaning> {
    if let Some(of) = statistic_of(name) {
        let parent = path.iter().rev().find_map(|parent| match words(parent) {
            Some(Meaning::Figure(named)) => Some(named),
            _ => None,
        })?;
        return Some(Meaning::Figure(Named { statistic: Some(of), ..parent }));
    }
    words(name)
}

fn statistic_of(name: &str) -> Option<Statistic> {
    let lower = name.to_lowercase();
    statistic(lower.trim_end_matches('%')).or_else(|| {
        let percent: f64 = lower.strip_suffix('%').unwrap_or(&lower).parse().ok()?;
        (1.0..100.0).contains(&percent).then(|| Statistic::percentile(percent))
    })
}

/// What a key means: its words, also in `camelCase`.
fn words(name: &str) -> Option<Meaning> {
    if matches!(name, "model_id" | "model_name" | "served_model_name") {
        return Some(Meaning::Setting(key::MODEL));
    }
    meaning(name).or_else(|| {
        let mut spaced = String::new();
        let mut before = ' ';
        for c in name.chars() {
            if c.is_uppercase() && before.is_lowercase() {
                spaced.push('_');
            }
            spaced.extend(c.to_lowercase());
            before = c;
        }
        (spaced != name).then(|| meaning(&spaced))?
    })
}

/// Units of times.
const UNITS: [(Unit, f64); 4] =
    [(Unit::S, 1.0), (Unit::Ms, 1e-3), (Unit::Us, 1e-6), (Unit::Ns, 1e-9)];

/// Gives figures the unit that the other numbers of the row decide; what is left.
fn settle(
    row: &mut Row,
    open: Vec<(String, Named, f64)>,
    remarks: &mut Vec<Remark>,
) -> Vec<(String, Named)> {
    let (durations, open): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|(_, named, _)| named.quantity == Metric::Duration);
    let mut left = Vec::new();
    for (key, named, value) in durations {
        match duration_unit(row, value) {
            Some(unit) => push(row, &key, named, value, unit),
            None => left.push((key, named)),
        }
    }
    let (times, others): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|(_, named, _)| Dimension::Time.fits(named.quantity));
    left.extend(others.into_iter().map(|(key, named, _)| (key, named)));
    match time_unit(row, &times) {
        Some((unit, text)) => {
            remarks.push(Remark { kind: RemarkKind::Assumed, place: row.place.clone(), text });
            for (key, named, value) in times {
                push(row, &key, named, value, unit.clone());
            }
        }
        None => left.extend(times.into_iter().map(|(key, named, _)| (key, named))),
    }
    left
}

fn push(row: &mut Row, key: &str, named: Named, value: f64, unit: Unit) {
    row.unknown.remove(key);
    let statistic = named.statistic.unwrap_or(Statistic::Value);
    row.figures.push(
        Figure::new(named.quantity, statistic, value, unit)
            .defined(ifm_core::sheet::Definition::Unstated),
    );
}

/// The unit in which a duration makes of counts the rates of the same row.
fn duration_unit(row: &Row, value: f64) -> Option<Unit> {
    let of = |quantity: Metric| row.value(quantity, Statistic::Value);
    let pairs = [
        (Metric::RequestsOk, Metric::RequestRate),
        (Metric::OutputTokens, Metric::OutputRate),
        (Metric::InputTokens, Metric::InputRate),
        (Metric::TotalTokens, Metric::TotalRate),
    ];
    let seconds = pairs.iter().find_map(|(count, rate)| {
        let (count, rate) = of(*count).zip(of(*rate))?;
        (count > 0.0 && rate > 0.0).then_some(count / rate)
    })?;
    let fits = |factor: f64| (value * factor / seconds - 1.0).abs() <= SAME;
    UNITS.iter().find(|(_, factor)| fits(*factor)).map(|(unit, _)| unit.clone())
}

/// The unit in which times without one make of the rate the requests in flight of a closed loop, and
/// how that was found.
fn time_unit(row: &Row, times: &[(String, Named, f64)]) -> Option<(Unit, String)> {
    let of = |quantity: Metric| row.value(quantity, Statistic::Value);
    let is_closed = row
        .factors
        .get(key::RATE)
        .is_none_or(|rate| rate.parse::<f64>().is_ok_and(|rate| rate.is_infinite() || rate <= 0.0));
    let users = row.factors.number(key::CONCURRENCY).filter(|users| is_closed && *users >= 1.0)?;
    let completed = of(Metric::RequestsOk);
    let rate = of(Metric::RequestRate)
        .or_else(|| Some(completed? / (of(Metric::Duration)? / 1e3)))
        .filter(|rate| *rate > 0.0)?;
    let tokens = row
        .factors
        .number(key::OUTPUT_TOKENS)
        .or_else(|| Some(of(Metric::OutputTokens)? / completed?))
        .or_else(|| Some(of(Metric::OutputRate)? / rate));
    let center = |quantity: Metric| {
        [Some(Statistic::Mean), Some(Statistic::Median), None].iter().find_map(|statistic| {
            let found = times
                .iter()
                .find(|(_, named, _)| named.quantity == quantity && named.statistic == *statistic);
            found.map(|(.., value)| *value)
        })
    };
    let of_tokens = || {
        let gap = center(Metric::Tpot).or_else(|| center(Metric::Itl))?;
        Some(center(Metric::Ttft).unwrap_or(0.0) + gap * (tokens? - 1.0))
    };
    let whole = center(Metric::E2e).or_else(of_tokens).filter(|whole| *whole > 0.0)?;
    let in_flight = |factor: f64| rate * whole * factor;
    let mut fitting =
        UNITS.iter().filter(|(_, factor)| FULL.contains(&(in_flight(*factor) / users)));
    let (unit, factor) = fitting.next()?;
    if fitting.next().is_some() {
        return None;
    }
    let word = match unit {
        Unit::S => "seconds",
        Unit::Ms => "milliseconds",
        Unit::Us => "microseconds",
        _ => "nanoseconds",
    };
    let keys: Vec<&str> = times.iter().take(KEYS_MAX).map(|(key, ..)| key.as_str()).collect();
    let text = format!(
        "{}: read as {word}, since {rate:.2} requests/s of {:.3} s are {:.1} in flight of {users}",
        keys.join(", "),
        whole * factor,
        in_flight(*factor)
    );
    Some((unit.clone(), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows(value: &Value) -> (Vec<Row>, Vec<String>) {
        let mut found = Gathering::default();
        found.document(value);
        let (parts, remarks) = found.finish();
        let rows = parts.into_iter().flat_map(|part| part.rows).collect();
        (rows, remarks.into_iter().map(|remark| remark.text).collect())
    }

    fn flat(scale: f64) -> Value {
        json!({"model_id": "org/m", "max_concurrency": 16, "request_rate": "inf", "duration": 48.2,
            "completed": 160, "total_output_tokens": 20480, "request_throughput": 3.32,
            "output_throughput": 424.9, "median_ttft": 0.35 * scale, "p99_ttft": 1.9 * scale,
            "median_tpot": 0.031 * scale, "good": null})
    }

    #[test]
    fn other_numbers_decide_the_unit_of_times() {
        for (scale, unit) in [(1.0, Unit::S), (1e3, Unit::Ms), (1e6, Unit::Us)] {
            let (rows, remarks) = rows(&flat(scale));
            let row = &rows[0];
            let ttft = row.figure(Metric::Ttft, Statistic::Median).unwrap();
            assert_eq!((ttft.canonical().map(f64::round), &ttft.unit), (Some(350.0), &unit));
            assert_eq!(row.value(Metric::Ttft, Statistic::Percentile(99.0)), Some(1900.0));
            assert_eq!(row.value(Metric::Duration, Statistic::Value), Some(48200.0));
            assert_eq!(row.value(Metric::OutputRate, Statistic::Value), Some(424.9));
            assert_eq!(row.factors.get(key::CONCURRENCY), Some("16"));
            assert_eq!(row.factors.get(key::MODEL), Some("org/m"));
            assert!(remarks[0].contains("in flight of 16"), "{remarks:?}");
        }
    }

    #[test]
    fn times_stay_out_where_nothing_decides_their_unit() {
        let mut value = flat(1.0);
        for (name, other) in [("max_concurrency", Value::Null), ("request_rate", json!(3.3))] {
            let before = std::mem::replace(&mut value[name], other);
            let (rows, remarks) = rows(&value);
            assert!(rows[0].figure(Metric::Ttft, Statistic::Median).is_none());
            assert_eq!(rows[0].value(Metric::OutputRate, Statistic::Value), Some(424.9));
            assert_eq!(rows[0].unknown["median_ttft"], 0.35);
            assert!(remarks[0].contains("--map \"median_tpot_ms=median_tpot\""), "{remarks:?}");
            value[name] = before;
        }
        // A duration that fits no rate has no unit.
        value["duration"] = json!(7.0);
        let (rows, remarks) = rows(&value);
        assert!(rows[0].figure(Metric::Duration, Statistic::Value).is_none());
        assert!(remarks.last().unwrap().contains("duration_s=duration"), "{remarks:?}");
    }

    #[test]
    fn rows_stand_in_lists_and_below_names() {
        let row = |users: u32| json!({"concurrency": users, "ttft_ms": {"p50": 41, "p99": 80.5}, "meanTpotMs": 9});
        let list = json!({"model": "m", "results": [row(1), row(8)]});
        let names = json!({"model": "m", "c=1": row(1), "c=8": row(8)});
        for value in [list, names] {
            let (rows, _) = rows(&value);
            assert_eq!(rows.len(), 2);
            assert_eq!(rows[1].factors.get(key::CONCURRENCY), Some("8"));
            assert_eq!(rows[1].factors.get(key::MODEL), Some("m"));
            assert_eq!(rows[1].value(Metric::Ttft, Statistic::Percentile(99.0)), Some(80.5));
            assert_eq!(rows[1].value(Metric::Tpot, Statistic::Mean), Some(9.0));
        }
    }

    #[test]
    fn settings_prices_and_limits_are_no_results() {
        for value in [
            json!({"max_tokens": 512, "temperature": 0.7, "duration": 60, "concurrency": 8}),
            json!({"slo": {"ttft_ms": 500, "p99_tpot_ms": 50}, "model": "m"}),
            json!({"ttft_ms": 500, "tpot_ms": 50}),
            json!({"gpu": "H100", "memory_gb": 80, "bandwidth": "3.35 TB/s", "power": 700}),
            json!({"name": "x", "version": "1.0", "dependencies": {"a": "1"}}),
            json!([1, 2, 3]),
        ] {
            assert!(rows(&value).0.is_empty(), "{value}");
        }
    }
}
