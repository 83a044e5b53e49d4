//! Real files of other tools, read and compared with what is known of them.

mod clients;
mod damage;
mod engines;
mod exported;
mod guidellm;
mod llama;
mod mapped;
mod meanings;
mod notes;
mod seeds;
mod serving;
mod stored;
mod tables;

use ifm_core::Sheet;
use ifm_core::sheet::{Figure, Row};
use ifm_interop::{ImportError, Input};
use serde_json::Value;
use std::path::PathBuf;

/// A file of the test data.
fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Reads a file of the test data.
fn import(name: &str) -> Result<Sheet, ImportError> {
    ifm_interop::read(Input::new(name, std::fs::File::open(data(name)).expect("test data")))
}

/// The only row of a sheet.
fn one_row(sheet: &Sheet) -> &Row {
    let rows: Vec<&Row> = sheet.parts.iter().flat_map(|part| &part.rows).collect();
    assert_eq!(rows.len(), 1, "rows");
    rows[0]
}

/// Equal but for rounding in the last places.
#[track_caller]
fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} {b}");
}

/// Holds every printed figure against the exact one; how many there were.
#[track_caller]
fn compare(printed: &Row, exact: &Row) -> usize {
    let mut compared = 0;
    for figure in &printed.figures {
        let same = |other: &&Figure| {
            (&other.quantity, other.statistic) == (&figure.quantity, figure.statistic)
        };
        let Some(other) = exact.figures.iter().find(same) else { continue };
        let (Some(value), Some(exact)) = (figure.canonical(), other.canonical()) else { continue };
        let unit = figure.unit.factor().expect("a known unit");
        let slack = figure.rounding().expect("digits") * unit * 1.000_001;
        assert!((value - exact).abs() <= slack, "{figure:?} {exact}");
        compared += 1;
    }
    compared
}

/// A request as the server logged it.
struct Seen {
    ttft_ms: f64,
    input_tokens: u64,
    output_tokens: u64,
}

/// The server's own log of a run, in the order of arrival.
fn truth(name: &str) -> Vec<Seen> {
    let text = std::fs::read_to_string(data(name)).expect("test data");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let mut seen: Vec<Value> = lines.filter(|line: &Value| line.get("n").is_some()).collect();
    seen.sort_by_key(|line| line["arrival_ns"].as_u64());
    seen.iter()
        .map(|line| {
            let tokens: Vec<f64> =
                serde_json::from_value(line["tok_rel_ns"].clone()).expect("times");
            Seen {
                ttft_ms: tokens[0] / 1e6,
                input_tokens: line["prompt_tokens"].as_u64().expect("count"),
                output_tokens: line["n_tok"].as_u64().expect("count"),
            }
        })
        .collect()
}

/// Reads a text as a file of this name.
fn import_text(name: &str, text: &str) -> Result<Sheet, ImportError> {
    ifm_interop::read(Input::new(name, text.as_bytes()))
}
