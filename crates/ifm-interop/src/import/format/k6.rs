//! k6: the end-of-test summary, as `--summary-export` writes it (statistics next to each other) and
//! as `handleSummary` receives it (statistics in `values`). It does not count tokens.
//!
//! `http_req_failed` counts true values: its `passes` are the requests that failed. Times of all
//! requests include failed requests; k6 also reports the times of successful requests separately.

use super::super::json;
use super::super::statistic::{Measure, different};
use super::field::{self, Field, Means};
use super::{Format, Like, collect};
use ifm_core::Metric;
use ifm_core::sheet::{
    Definition, Figure, PartKind, Place, Row, RowRole, Statistic, StdKind, Unit, key, meaning,
};
use serde_json::{Map, Value};

pub(super) const FORMAT: Format = Format {
    id: "k6",
    title: "k6, summary",
    tool: Some("k6"),
    kind: PartKind::Serving,
    like: Like::Json(&[&["metrics", "http_req_duration"], &["metrics", "http_reqs"]]),
    marks: &["metrics", "root_group", "http_req_duration", "http_reqs"],
    read: |format, input| collect::summaries(format, input, "no metrics in it", row),
};

const REQUESTS: &[Field] = &[
    ("/count", Metric::Requests, Unit::Count, Means::Same),
    ("/rate", Metric::RequestRate, Unit::PerS, Means::Same),
];
const FAILED: &[Field] = &[
    ("/passes", Metric::RequestsFailed, Unit::Count, Means::Same),
    ("/fails", Metric::RequestsOk, Unit::Count, Means::Same),
    ("/value", Metric::ErrorRate, Unit::One, Means::Same),
    ("/rate", Metric::ErrorRate, Unit::One, Means::Same),
];
/// The time of requests, and that of those which succeeded.
const DURATION: &str = "http_req_duration";
const DURATION_OK: &str = "http_req_duration{expected_response:true}";

fn row(mut object: Map<String, Value>) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(""));
    if let Some(duration) =
        json::number(object.get("state").and_then(|state| state.get("testRunDurationMs")))
    {
        row.figures.push(
            Figure::new(Metric::Duration, Statistic::Value, duration, Unit::Ms)
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

/// Definition of the time of a request; the requests that it covers are appended.
const WHOLE: &str = "sending, waiting and receiving of the whole response, without connection \
    set-up";
const ONLY_OK: &str = "only requests that succeeded";

fn e2e(of: &str, values: &mut Map<String, Value>, pointer: &str, row: &mut Row) {
    let definition = &|_| different(&format!("{WHOLE}; {of}"));
    let (quantity, unit, std) = (Metric::E2e, Unit::Ms, StdKind::Unknown);
    let pointer = pointer.to_owned();
    Measure { quantity, unit, definition, std, pointer }.take(values, &mut row.figures);
}

fn take(name: &str, is_time: bool, values: &mut Map<String, Value>, pointer: &str, row: &mut Row) {
    match name {
        "http_reqs" => field::numbers(values, Some(pointer), Statistic::Value, REQUESTS, row),
        "http_req_failed" => field::numbers(values, Some(pointer), Statistic::Value, FAILED, row),
        "vus" => {
            if let Some(users) = json::word(values.get("max")) {
                row.factors.set(key::CONCURRENCY, users);
            }
        }
        // Trends have percentiles and a mean; counters and gauges stay as they are.
        _ if values.contains_key("avg") => {
            let quantity = Metric::other(name);
            let time = is_time || name.starts_with("http_req_") || name == "iteration_duration";
            let unit = if time { Unit::Ms } else { Unit::Other(String::new()) };
            let definition = &|_| Definition::Unstated;
            let (std, pointer) = (StdKind::Unknown, pointer.to_owned());
            Measure { quantity, unit, definition, std, pointer }.take(values, &mut row.figures);
        }
        _ => {}
    }
}
