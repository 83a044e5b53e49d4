//! inference-benchmarker: one JSON with a result for each executor, the warm-up among them.

use super::super::error::ImportError;
use super::super::statistic::{Measure, different};
use super::super::{Head, Input, Likeness, Recognised, json};
use super::guidellm::words as strategies;
use super::{Format, collect};
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Figure, PartKind, Place, Quantity, Row, RowRole, Statistic, StdKind, Unit, key,
    meaning,
};
use serde_json::{Map, Value};

pub(super) struct InferenceBenchmarker;

const ABOUT: Recognised =
    Recognised { id: "inference-benchmarker", title: "inference-benchmarker, JSON" };
const MARKS: &[&str] = &["results", "config", "executor_type", "token_throughput_secs", "max_vus"];

impl Format for InferenceBenchmarker {
    fn about(&self) -> Recognised {
        ABOUT
    }

    fn likeness(&self, head: &Head) -> Likeness {
        let own = head.has_keys(&["results", "max_vus", "benchmark_kind"])
            || head.text().contains("\"token_throughput_secs\"");
        match head.is_json() && own {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn read(&self, mut input: Input<'_>) -> Result<Sheet, ImportError> {
        let (mut rows, mut remarks) = (Vec::new(), Vec::new());
        let mut rest = Map::new();
        let gone = collect::pieces(&mut input, &["/results/*"], &mut |piece| match (
            piece.value::<Map<String, Value>>(),
            piece.cut,
        ) {
            (Ok(result), Some(_)) => rows.push(row(result, &piece.pointer())),
            (Ok(object), None) => rest = object,
            (Err((line, reason)), _) => collect::skip(&mut remarks, line, &reason),
        })?;
        if rows.is_empty() {
            return Err(gone.broken(ABOUT.title, "no result in it", remarks));
        }
        settings(&rest, &mut rows);
        let mut sheet = collect::sheet(ABOUT, &gone, PartKind::Serving, rows);
        sheet.source.tool = Some("inference-benchmarker".to_owned());
        sheet.remarks.extend(remarks);
        if let Some(part) = sheet.parts.first_mut() {
            part.unknown = rest;
        }
        Ok(sheet)
    }
}

/// What the tool means by a quantity.
pub(crate) fn definition(quantity: &Quantity) -> Definition {
    match quantity {
        Quantity::Itl => different(meaning::ITL_PER_REQUEST),
        Quantity::E2e => different("to the closing event, not to the last token"),
        Quantity::OutputTokens | Quantity::InputTokens => {
            different("counted by the client's tokenizer, piece by piece")
        }
        Quantity::OutputRate | Quantity::RequestRate | Quantity::Duration => different(
            "from the start of the request that ended first to the end of the last; tokens by the \
             client's tokenizer",
        ),
        _ => Definition::Same,
    }
}

fn row(mut result: Map<String, Value>, pointer: &str) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(pointer));
    if let Some(id) = json::word(result.remove("id").as_ref()) {
        strategies::strategy(id.trim_end_matches("req/s"), &mut row.factors);
        row.label = Some(id);
    }
    let config = result.get("config");
    let of = |name: &str| json::word(config.and_then(|config| config.get(name)));
    if let Some(rate) = of("rate") {
        row.factors.set(key::RATE, strategies::whole(&rate));
    } else if let Some(users) = of("max_vus") {
        row.factors.set(key::CONCURRENCY, users);
    }
    for (name, quantity, unit, statistic) in [
        ("total_requests", Quantity::Requests, Unit::Count, Statistic::Value),
        ("successful_requests", Quantity::RequestsOk, Unit::Count, Statistic::Value),
        ("failed_requests", Quantity::RequestsFailed, Unit::Count, Statistic::Value),
        ("total_tokens", Quantity::OutputTokens, Unit::Count, Statistic::Sum),
        ("total_tokens_sent", Quantity::InputTokens, Unit::Count, Statistic::Sum),
        ("token_throughput_secs", Quantity::OutputRate, Unit::PerS, Statistic::Value),
        ("request_rate", Quantity::RequestRate, Unit::PerS, Statistic::Value),
        ("duration_ms", Quantity::Duration, Unit::Ms, Statistic::Value),
    ] {
        let Some(value) = json::number(result.get(name)) else { continue };
        result.remove(name);
        let defined = definition(&quantity);
        let mut figure = Figure::new(quantity, statistic, value, unit).defined(defined);
        figure.place = Some(Place::pointer(format!("{pointer}/{name}")));
        row.figures.push(figure);
    }
    for (name, quantity) in [
        ("time_to_first_token_ms", Quantity::Ttft),
        ("inter_token_latency_ms", Quantity::Itl),
        ("e2e_latency_ms", Quantity::E2e),
    ] {
        let Some(Value::Object(statistics)) = result.get_mut(name) else { continue };
        let defined = definition(&quantity);
        let measure = Measure {
            quantity,
            unit: Unit::Ms,
            definition: &|_| defined.clone(),
            std: StdKind::Unknown,
            pointer: format!("{pointer}/{name}"),
        };
        measure.take(statistics, &mut row.figures);
        if statistics.is_empty() {
            result.remove(name);
        }
    }
    row.unknown = result;
    row
}

fn settings(rest: &Map<String, Value>, rows: &mut [Row]) {
    let Some(config) = rest.get("config") else { return };
    for (factor, pointer) in [
        (key::MODEL, "/model_name"),
        (key::INPUT_TOKENS, "/prompt_options/num_tokens"),
        (key::OUTPUT_TOKENS, "/decode_options/num_tokens"),
    ] {
        let Some(word) = json::word(config.pointer(pointer)) else { continue };
        for row in rows.iter_mut() {
            row.factors.set(factor, &word);
        }
    }
}
