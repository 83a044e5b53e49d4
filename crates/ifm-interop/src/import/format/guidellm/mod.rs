//! GuideLLM: one file with all benchmarks of a run, JSON or YAML, of any of its generations.
//!
//! Up to 0.3.1 a benchmark carries its own `args`; 0.4 to 0.7 put them beside the benchmarks, 0.8
//! has `config` in both places. Each benchmark is a row. Not here: what its metrics mean
//! (`words`), its CSV (`csv`), its tables on the console (`block/guidellm`).

mod benchmark;
pub(super) mod csv;
mod request;
pub(crate) mod words;

use super::super::error::ImportError;
use super::super::{Head, Input, Likeness, Recognised, json, yaml};
use super::{Format, collect};
use ifm_core::Sheet;
use ifm_core::sheet::{PartKind, Row};
use json::pieces::Piece;
use request::Requests;
use serde_json::{Map, Value};

pub(super) struct Guidellm;
pub(super) struct GuidellmYaml;

const JSON: Recognised = Recognised { id: "guidellm", title: "GuideLLM, JSON" };
const YAML: Recognised = Recognised { id: "guidellm-yaml", title: "GuideLLM, YAML" };
const MARKS: &[&str] = &["benchmarks", "metadata", "guidellm_version", "config", "args"];
/// What is cut out of the file: a benchmark, and each of its requests.
const PATHS: &[&str] = &["/benchmarks/*", "/benchmarks/*/requests/*/*"];

impl Format for Guidellm {
    fn about(&self) -> Recognised {
        JSON
    }

    fn likeness(&self, head: &Head) -> Likeness {
        let named = head.has_keys(&["guidellm_version"])
            || head.text().contains("\"generative_benchmark\"")
            || head.text().contains("\"generative_benchmarks_report\"");
        match head.is_json() && (named || head.has_keys(&["benchmarks"])) {
            true if named => Likeness::Sure,
            true => Likeness::Some,
            false => Likeness::No,
        }
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn read(&self, mut input: Input<'_>) -> Result<Sheet, ImportError> {
        read(JSON, &mut input)
    }
}

impl Format for GuidellmYaml {
    fn about(&self) -> Recognised {
        YAML
    }

    fn likeness(&self, head: &Head) -> Likeness {
        let text = head.text();
        let begins = |mark: &str| text.lines().any(|line| line.starts_with(mark));
        match !head.is_json() && begins("benchmarks:") && text.contains("strategy:") {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn read(&self, input: Input<'_>) -> Result<Sheet, ImportError> {
        let name = input.name().to_owned();
        let bytes = input.all()?;
        let (text, broken) = yaml::to_json(&String::from_utf8_lossy(&bytes));
        let mut sheet = read(YAML, &mut Input::new(name, text.as_bytes()))?;
        sheet.source.bytes = bytes.len() as u64;
        sheet.remarks.extend(broken.map(|(line, reason)| collect::skipped(line, &reason)));
        Ok(sheet)
    }
}

fn read(about: Recognised, input: &mut Input<'_>) -> Result<Sheet, ImportError> {
    let mut rows: Vec<Row> = Vec::new();
    let mut requests = Requests::default();
    let mut remarks = Vec::new();
    let mut rest = Map::new();
    let mut take = |piece: Piece<'_>| match piece.cut {
        Some(1) => requests.take(&piece, &mut remarks),
        Some(_) => match piece.value::<Map<String, Value>>() {
            Ok(benchmark) => {
                let row = benchmark::row(benchmark, &piece.pointer(), &mut remarks);
                rows.push(requests.finish(row));
                if piece.broken_off {
                    let reason = "the rest of this benchmark: the file breaks off";
                    remarks.push(collect::skipped(piece.line, reason));
                }
            }
            Err((line, reason)) => collect::skip(&mut remarks, line, &reason),
        },
        None => match piece.value::<Map<String, Value>>() {
            Ok(object) => rest = object,
            Err((line, reason)) => collect::skip(&mut remarks, line, &reason),
        },
    };
    let read = collect::pieces(input, PATHS, &mut take)?;
    if rows.is_empty() {
        return Err(read.broken(about.title, "no benchmark in it", remarks));
    }
    let version = rest.get("metadata").and_then(|metadata| metadata.get("guidellm_version"));
    let version = json::word(version);
    benchmark::spread_settings(&rest, &mut rows);
    remarks.extend(requests.remarks());
    let mut sheet = collect::sheet(about, &read, PartKind::Serving, rows);
    sheet.source.tool = Some("guidellm".to_owned());
    sheet.source.tool_version = version;
    sheet.remarks.splice(0..0, remarks);
    if let Some(part) = sheet.parts.first_mut() {
        part.unknown = rest;
    }
    Ok(sheet)
}
