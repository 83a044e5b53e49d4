//! The line that a server logs every few seconds: vLLM's `Avg prompt throughput: …`, SGLang's
//! `Decode batch, … gen throughput (token/s): …`.
//!
//! Each line is a row: rates of the interval since the line before. A line of an idle server
//! measures nothing and is no row.

use super::super::Recognised;
use super::super::text::{Line, Text};
use super::answer::{different, number, own};
use super::{Block, Found};
use ifm_core::Metric;
use ifm_core::sheet::{
    Definition, Figure, Part, PartKind, Place, Remark, Row, RowRole, Statistic, Unit, key,
};
use serde_json::Value;

pub(super) struct ServerLog;

const VLLM: &str = "vLLM server log";
const SGLANG: &str = "SGLang server log";
/// Factor that keeps rows apart: each is of another interval, so none repeats another one, and they
/// are not levels of one load.
const LOG_LINE: &str = "log_line";
const INTERVAL: &str = "of the interval since the line before, of all requests on the server";
const SINCE_LAST: &str =
    "tokens since the line before over the time since then: idle time is in it";

impl Block for ServerLog {
    fn about(&self) -> Recognised {
        Recognised { id: "server-log", title: "vLLM or SGLang, throughput lines of the server log" }
    }

    fn read(&self, first: Line<'_>, _: &Text) -> Option<Found> {
        let (tool, row) = match vllm(first) {
            Some(row) => (VLLM, row),
            None => (SGLANG, sglang(first)?),
        };
        let is_idle = row.figures.iter().all(|figure| {
            let is_rate = matches!(figure.quantity, Metric::InputRate | Metric::OutputRate);
            let counts = is_rate || figure.quantity == Metric::InFlight;
            !counts || figure.value.is_none_or(|value| value == 0.0)
        });
        let mut part = Part::new(PartKind::Serving, row.place.clone());
        part.tool = Some(tool.to_owned());
        part.rows.push(row);
        let parts = if is_idle { Vec::new() } else { vec![part] };
        Some(Found { parts, last_line: first.number, remarks: Vec::new() })
    }

    fn join(&self, parts: &mut Vec<Part>, _: &mut Vec<Remark>) {
        let mut joined: Vec<Part> = Vec::with_capacity(parts.len());
        for part in std::mem::take(parts) {
            let is_log = part.tool.as_deref().is_some_and(|tool| [VLLM, SGLANG].contains(&tool));
            match joined.last_mut().filter(|last| is_log && is_of_one_log(last, &part)) {
                Some(last) => last.rows.extend(part.rows),
                None => joined.push(part),
            }
        }
        *parts = joined;
    }
}

fn is_of_one_log(one: &Part, other: &Part) -> bool {
    one.tool == other.tool && one.headings == other.headings && one.factors == other.factors
}

fn figure(line: u32, quantity: Metric, printed: &str, unit: Unit, meaning: Definition) -> Figure {
    let value = number(printed).unwrap_or(f64::NAN);
    let mut figure = Figure::new(quantity, Statistic::Value, value, unit);
    figure.place = Some(Place::line(line));
    figure.as_printed(printed).defined(meaning)
}

/// `Engine 000: Avg prompt throughput: 900.0 tokens/s, …, Prefix cache hit rate: 80.1%`.
fn vllm(line: Line<'_>) -> Option<Row> {
    let start = line.text.find("Avg prompt throughput:")?;
    let (before, fields) = line.text.split_at_checked(start)?;
    let mut row = Row::new(RowRole::Measured, Place::line(line.number));
    row.factors.set(key::ENGINE, "vllm");
    row.factors.set(LOG_LINE, line.number);
    if let Some((_, engine)) = before.trim().trim_end_matches(':').rsplit_once("Engine ") {
        row.unknown.insert("engine".to_owned(), Value::String(engine.to_owned()));
    }
    for field in fields.split(", ") {
        let Some((name, value)) = field.split_once(':') else { continue };
        let value = value.trim().trim_end_matches(['`', '.']);
        let (digits, unit) = digits(value);
        let (quantity, unit, meaning) = match (name.trim(), unit) {
            ("Avg prompt throughput", "tokens/s") => {
                (Metric::InputRate, Unit::PerS, different(INTERVAL))
            }
            ("Avg generation throughput", "tokens/s") => {
                (Metric::OutputRate, Unit::PerS, different(INTERVAL))
            }
            ("Running", "reqs") => {
                let meaning = different("at the moment of the line, not a mean");
                (Metric::InFlight, Unit::Count, meaning)
            }
            ("Waiting" | "Pending", "reqs") => (own("waiting"), Unit::Count, Definition::Same),
            (name, "%") => (own(&name.to_lowercase()), Unit::Percent, Definition::Same),
            (name, _) => {
                row.unknown.insert(name.to_owned(), Value::String(value.to_owned()));
                continue;
            }
        };
        row.figures.push(figure(line.number, quantity, digits, unit, meaning));
    }
    Some(row)
}

/// `Decode batch, #running-req: 233, … gen throughput (token/s): 4594.01, #queue-req: 317`.
fn sglang(line: Line<'_>) -> Option<Row> {
    let is_decode = line.text.contains("Decode batch") && line.text.contains("gen throughput");
    let is_prefill = line.text.contains("Prefill batch") && line.text.contains("#new-token");
    if !is_decode && !is_prefill {
        return None;
    }
    let start = line.text.find(if is_decode { "Decode batch" } else { "Prefill batch" })?;
    let fields = line.text.get(start..)?;
    let mut row = Row::new(RowRole::Measured, Place::line(line.number));
    row.factors.set(key::ENGINE, "sglang");
    row.factors.set(LOG_LINE, line.number);
    row.factors.set("batch", if is_decode { "decode" } else { "prefill" });
    let fields = fields.trim_start_matches("Decode batch").trim_start_matches("Prefill batch");
    for field in fields.trim_start_matches(['.', ',', ' ']).split(", ") {
        let Some((name, value)) = field.split_once(':') else { continue };
        let value = value.trim().trim_end_matches('`');
        let (digits, _) = digits(value);
        let (quantity, unit, meaning) = match name.trim() {
            "gen throughput (token/s)" => (Metric::OutputRate, Unit::PerS, different(SINCE_LAST)),
            "input throughput (token/s)" => (Metric::InputRate, Unit::PerS, different(SINCE_LAST)),
            "#running-req" => {
                let meaning = different("at the moment of the line, not a mean");
                (Metric::InFlight, Unit::Count, meaning)
            }
            "#queue-req" => (own("waiting"), Unit::Count, Definition::Same),
            "#cached-token" => (Metric::CachedTokens, Unit::Count, different("of this batch")),
            "#new-token" => (own("new_tokens"), Unit::Count, Definition::Same),
            "accept len" => (Metric::AcceptanceLength, Unit::Count, Definition::Same),
            name => {
                row.unknown.insert(name.to_owned(), Value::String(value.to_owned()));
                continue;
            }
        };
        row.figures.push(figure(line.number, quantity, digits, unit, meaning));
    }
    (!row.figures.is_empty()).then_some(row)
}

/// A number and the unit after it.
fn digits(value: &str) -> (&str, &str) {
    let end = value.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (digits, unit) = value.split_at(end.unwrap_or(value.len()));
    (digits, unit.trim())
}
