//! Our own documents: what `--json` prints of a run, and of what `engine`, `kernel`, `exec` and `import` keep.
//!
//! Of a run they hold no single requests: its folder in the store has those. Not here: rows of `export`
//! (`rows`, `table`), and our other documents, which are no results (`nature`).

use super::super::error::ImportError;
use super::super::{Head, Input, json};
use super::collect::{self, Gathered};
use super::field::{self, Field, Means};
use super::{Format, Like, sure};
use ifm_core::Metric;
use ifm_core::sheet::{
    Factors, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, SHEET_VERSION, Statistic,
    StdKind, Unit, key,
};
use ifm_core::words::counted;
use ifm_core::{Prediction, Sheet};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What is kept by `engine`, `kernel`, `exec` and `import`.
pub(super) const KEPT: Format = Format {
    id: "inferometer-kept",
    title: "inferometer engine, kernel, exec or import --json",
    tool: None,
    kind: PartKind::Other,
    like: Like::By(|head| sure(head.is_json() && is_kept(head))),
    marks: &["sheet_version", "sheets"],
    read: read_kept,
};

/// A run as one document.
pub(super) const RESULT: Format = Format {
    id: "inferometer-result",
    title: "inferometer run, sweep or report --json",
    tool: Some("inferometer"),
    kind: PartKind::Serving,
    like: Like::By(|head| sure(head.is_json() && head.text().contains("\"inferometer_result\""))),
    marks: &["client_health", "definitions", "levels", "run", "spec"],
    read: read_result,
};

const COUNTS: &[Field] = &[
    ("/requests/sent", Metric::Requests, Unit::Count, Means::Same),
    ("/requests/ok", Metric::RequestsOk, Unit::Count, Means::Same),
    ("/requests/failed", Metric::RequestsFailed, Unit::Count, Means::Same),
    ("/tokens/prompt_total", Metric::InputTokens, Unit::Count, Means::Same),
    ("/tokens/output_total", Metric::OutputTokens, Unit::Count, Means::Same),
];
/// Of the window that a level's rates are of.
const RATES: &[Field] = &[
    ("/window/duration_s", Metric::Duration, Unit::S, Means::Same),
    ("/window/req_per_s", Metric::RequestRate, Unit::PerS, Means::Same),
    ("/window/output_tok_per_s", Metric::OutputRate, Unit::PerS, Means::Same),
    ("/window/total_tok_per_s", Metric::TotalRate, Unit::PerS, Means::Same),
    ("/window/good_req_per_s", Metric::Goodput, Unit::PerS, Means::Same),
    ("/window/concurrency/max", Metric::PeakInFlight, Unit::Count, Means::Same),
];
const IN_FLIGHT: &[Field] =
    &[("/window/concurrency/mean", Metric::InFlight, Unit::Count, Means::Same)];
const TIMES: &[Field] = &[
    ("/latency/ttft_s", Metric::Ttft, Unit::S, Means::Same),
    ("/latency/ttfat_s", Metric::Ttfat, Unit::S, Means::Same),
    ("/latency/itl_s", Metric::Itl, Unit::S, Means::Same),
    ("/latency/tpot_s", Metric::Tpot, Unit::S, Means::Same),
    ("/latency/e2e_s", Metric::E2e, Unit::S, Means::Same),
];
/// What was set for all levels.
const SETTINGS: &[(&str, &str)] =
    &[("/spec/target/model", key::MODEL), ("/server/kind", key::ENGINE)];
/// What was asked for at one.
const ASKED: &[(&str, &str)] = &[
    ("/concurrency_asked", key::CONCURRENCY),
    ("/req_per_s_asked", key::RATE),
    ("/requests/sent", key::REQUESTS),
];
/// Mean requested lengths; lengths drawn from a distribution are not a setting.
const LENGTHS: [(&str, &str); 2] =
    [("prompt_asked_mean", key::INPUT_TOKENS), ("output_asked_mean", key::OUTPUT_TOKENS)];

fn is_kept(head: &Head) -> bool {
    head.has_keys(&["sheet_version", "sheets"])
}

fn read_kept(format: &Format, mut input: Input<'_>) -> Result<Sheet, ImportError> {
    let name = input.name().to_owned();
    let broken =
        |reason: String| ImportError::Broken { name: name.clone(), title: format.title, reason };
    let mut document: Value = serde_json::from_reader(input.reader())
        .map_err(|error| broken(format!("it cannot be read: {error}")))?;
    let inside = document.get_mut("import").map(Value::take);
    let mut kept = inside.unwrap_or(document);
    let version = kept.get("sheet_version").and_then(Value::as_u64);
    if version != Some(SHEET_VERSION.into()) {
        let version = version.map_or("no version".to_owned(), |it| format!("version {it}"));
        return Err(broken(format!(
            "its sheets are of {version}, and this program reads {SHEET_VERSION}"
        )));
    }
    let sheets = kept.get_mut("sheets").map(Value::take).unwrap_or_default();
    let sheets = Vec::<Sheet>::deserialize(sheets)
        .map_err(|error| broken(format!("its sheets cannot be read: {error}")))?;
    let others = sheets.len().saturating_sub(1);
    let mut sheets = sheets.into_iter();
    let mut sheet = sheets.next().ok_or_else(|| broken("there is no sheet in it".to_owned()))?;
    // One file is one sheet: of several each part keeps its tool.
    for other in sheets {
        if other.source.format != sheet.source.format {
            sheet.source.format = format.id.to_owned();
        }
        let tool = other.source.tool;
        sheet.parts.extend(
            other.parts.into_iter().map(|part| Part { tool: part.tool.or(tool.clone()), ..part }),
        );
        sheet.remarks.extend(other.remarks);
    }
    if others > 0 {
        let text =
            format!("names and versions of the other {}", counted(others as u64, "document"));
        sheet.remarks.push(Remark { kind: RemarkKind::Lost, place: Place::default(), text });
    }
    sheet.source.name = name;
    Ok(sheet)
}

fn read_result(format: &Format, mut input: Input<'_>) -> Result<Sheet, ImportError> {
    let mut all = Gathered::default();
    let gone = collect::pieces(&mut input, &["/levels/*"], &mut |piece| {
        let Some(object) = all.value(&piece) else { return };
        match piece.cut {
            Some(_) => all.push(row(object, &piece.pointer())),
            None => all.rest = object,
        }
    })?;
    let mut factors = Factors::default();
    field::settings(&all.rest, SETTINGS, &mut factors);
    for (name, value) in predicted(&all.rest) {
        factors.set(name, value);
    }
    let version = all.rest.get("run").and_then(|run| json::word(run.pointer("/tool/version")));
    let id = all.rest.get("run").and_then(|run| json::word(run.get("id")));
    let remarks = warnings(&all.rest);
    let mut sheet = all.finish(format, gone, "no level in it")?;
    sheet.source.tool_version = version;
    sheet.source.run_id = id;
    sheet.remarks.extend(remarks);
    for part in &mut sheet.parts {
        part.factors = std::mem::take(&mut factors);
    }
    Ok(sheet)
}

fn row(mut level: Map<String, Value>, pointer: &str) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(pointer));
    field::settings(&level, ASKED, &mut row.factors);
    for (name, factor) in LENGTHS {
        let mean = level.get("tokens").and_then(|tokens| tokens.get(name)).and_then(Value::as_f64);
        if let Some(mean) = mean.filter(|mean| mean.fract() == 0.0) {
            row.factors.set(factor, mean);
        }
    }
    let base = Some(pointer);
    field::numbers(&mut level, base, Statistic::Value, COUNTS, &mut row);
    field::spreads(&mut level, pointer, StdKind::Sample, TIMES, &mut row);
    // The place of a figure is that in the file.
    for name in ["steady", "whole"] {
        if let Some(window) = level.remove(name).filter(Value::is_object) {
            let from = row.figures.len();
            let mut object = Map::from_iter([("window".to_owned(), window)]);
            field::numbers(&mut object, base, Statistic::Value, RATES, &mut row);
            field::numbers(&mut object, base, Statistic::Mean, IN_FLIGHT, &mut row);
            for figure in row.figures.iter_mut().skip(from) {
                let pointer = figure.place.as_mut().and_then(|place| place.pointer.as_mut());
                pointer
                    .into_iter()
                    .for_each(|it| *it = it.replace("/window/", &format!("/{name}/")));
            }
            break;
        }
    }
    row.unknown = level;
    row
}

/// That the run was computed, and from what.
fn predicted(document: &Map<String, Value>) -> Vec<(String, String)> {
    let Some(predicted) = document.get("predicted") else { return Vec::new() };
    match Prediction::deserialize(predicted) {
        Ok(prediction) => prediction.factors(),
        Err(_) => vec![(key::NUMBERS.to_owned(), key::PREDICTED.to_owned())],
    }
}

/// What its checks found, notes left out.
fn warnings(document: &Map<String, Value>) -> Vec<Remark> {
    let all = document.get("warnings").and_then(Value::as_array).into_iter().flatten();
    let is = |warning: &Value, name: &str, word: &str| {
        warning.get(name).and_then(Value::as_str) == Some(word)
    };
    // That it was predicted is a setting of its rows.
    all.filter(|warning| !is(warning, "severity", "note") && !is(warning, "check", "predicted"))
        .filter_map(|warning| {
            let text = json::word(warning.get("text"))?;
            let level = warning.get("level").and_then(Value::as_u64);
            let place =
                level.map_or_else(Place::default, |it| Place::pointer(format!("/levels/{it}")));
            Some(Remark { kind: RemarkKind::Measured, place, text })
        })
        .collect()
}
