//! k6: the end-of-test summary, as `--summary-export` writes it (statistics beside each other) and
//! as `handleSummary` gets it (statistics in `values`). It knows no tokens.
//!
//! `http_req_failed` counts what is true: its `passes` are the requests that failed. Times of all
//! requests have those of the failed ones in them; k6 keeps them apart for those that succeeded.

use super::super::error::ImportError;
use super::super::statistic::{Measure, different};
use super::super::{Head, Input, Likeness, Recognised, json};
use super::{Format, collect};
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Figure, Place, Quantity, Row, RowRole, Statistic, StdKind, Unit, key, meaning,
};
use serde_json::{Map, Value};

pub(super) struct K6;

const ABOUT: Recognised = Recognised { id: "k6", title: "k6, summary" };
const MARKS: &[&str] = &["metrics", "root_group", "http_req_duration", "http_reqs"];
/// The time of requests, and that of those which succeeded.
const DURATION: &str = "http_req_duration";
const DURATION_OK: &str = "http_req_duration{expected_response:true}";

impl Format for K6 {
    fn about(&self) -> Recognised {
        ABOUT
    }

    fn likeness(&self, head: &Head) -> Likeness {
        let own = head.has_keys(&["http_req_duration"]) || head.has_keys(&["http_reqs"]);
        match head.is_json() && head.has_keys(&["metrics"]) && own {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn read(&self, input: Input<'_>) -> Result<Sheet, ImportError> {
        collect::summaries(input, ABOUT, "k6", "no metrics in it", row)
    }
}

fn row(mut object: Map<String, Value>) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(""));
    if let Some(duration) =
        json::number(object.get("state").and_then(|state| state.get("testRunDurationMs")))
    {
        row.figures.push(
            Figure::new(Quantity::Duration, Statistic::Value, duration, Unit::Ms)
                .defined(different("the whole test, with ramps and set-up")),
        );
    }
    if let Some(Value::Object(metrics)) = object.get_mut("metrics") {
        let names: Vec<String> = metrics.keys().cloned().collect();
        let has_ok = metrics.contains_key(DURATION_OK);
        for name in names {
            let Some(Value::Object(metric)) = metrics.get_mut(&name) else { continue };
            let nested = metric.contains_key("values");
            let is_time = metric.get("contains").and_then(Value::as_str) == Some("time");
            let values = match nested {
                true => metric.get_mut("values").and_then(Value::as_object_mut),
                false => Some(metric),
            };
            let pointer = format!("/metrics/{name}{}", if nested { "/values" } else { "" });
            let Some(values) = values else { continue };
            match name.as_str() {
                DURATION_OK => e2e(ONLY_OK, values, &pointer, &mut row),
                DURATION if !has_ok => e2e(meaning::WITH_FAILED, values, &pointer, &mut row),
                name => take(name, is_time, values, &pointer, &mut row),
            }
        }
    }
    row.unknown = object;
    row
}

/// What the time of a request is; of which requests stands behind it.
const WHOLE: &str = "sending, waiting and receiving of the whole response, without connection \
    set-up";
const ONLY_OK: &str = "only requests that succeeded";

fn e2e(of: &str, values: &mut Map<String, Value>, pointer: &str, row: &mut Row) {
    let definition = &|_| different(&format!("{WHOLE}; {of}"));
    let (quantity, unit, std) = (Quantity::E2e, Unit::Ms, StdKind::Unknown);
    let pointer = pointer.to_owned();
    Measure { quantity, unit, definition, std, pointer }.take(values, &mut row.figures);
}

fn take(name: &str, is_time: bool, values: &mut Map<String, Value>, pointer: &str, row: &mut Row) {
    let mut whole = |field: &str, quantity: Quantity, unit: Unit, row: &mut Row| {
        let Some(value) = json::number(values.get(field)) else { return };
        values.remove(field);
        let mut figure = Figure::new(quantity, Statistic::Value, value, unit);
        figure.definition = Definition::Same;
        figure.place = Some(Place::pointer(format!("{pointer}/{field}")));
        row.figures.push(figure);
    };
    match name {
        "http_reqs" => {
            whole("count", Quantity::Requests, Unit::Count, row);
            whole("rate", Quantity::RequestRate, Unit::PerS, row);
        }
        "http_req_failed" => {
            whole("passes", Quantity::RequestsFailed, Unit::Count, row);
            whole("fails", Quantity::RequestsOk, Unit::Count, row);
            whole("value", Quantity::ErrorRate, Unit::One, row);
            whole("rate", Quantity::ErrorRate, Unit::One, row);
        }
        "vus" => {
            if let Some(users) = json::word(values.get("max")) {
                row.factors.set(key::CONCURRENCY, users);
            }
        }
        _ => {
            let quantity = Quantity::Other(name.to_owned());
            // Trends have percentiles and a mean; counters and gauges stay as they are.
            if !values.contains_key("avg") {
                return;
            }
            let time = is_time || name.starts_with("http_req_") || name == "iteration_duration";
            let unit = if time { Unit::Ms } else { Unit::Other(String::new()) };
            let definition = &|_| Definition::Unstated;
            let (std, pointer) = (StdKind::Unknown, pointer.to_owned());
            Measure { quantity, unit, definition, std, pointer }.take(values, &mut row.figures);
        }
    }
}
