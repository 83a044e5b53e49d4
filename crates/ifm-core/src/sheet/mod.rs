//! A sheet: results that another tool measured, as they were found in a file.
//!
//! Everything keeps its place in the file, the printed digits and the written unit, together with
//! the producing tool's definition of the number. A cell that was empty, or said that nothing was
//! measured, has no value. Not here: reading files (`ifm-interop`), judging what was found
//! (`ifm-metrics`).

mod factor;
mod figure;
pub mod kernel;
pub mod meaning;
mod unit;

pub use factor::{Factors, key};
pub use figure::{Definition, Figure, Statistic, StdKind};
pub use unit::Unit;

use crate::metric::Metric;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::{self, Write as _};
use std::hash::{DefaultHasher, Hasher as _};

/// Where something stood in its file.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// JSON pointer, column name or cell, where a line alone does not find it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

impl Place {
    /// A line, from 1.
    pub fn line(line: u32) -> Place {
        Place { line: Some(line), pointer: None }
    }

    /// A JSON pointer such as `/benchmarks/3/metrics`.
    pub fn pointer(pointer: impl Into<String>) -> Place {
        Place { line: None, pointer: Some(pointer.into()) }
    }
}

/// Everything that was read from one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sheet {
    /// The file.
    pub source: Source,
    /// Tables and blocks in the order of the file.
    pub parts: Vec<Part>,
    /// What was repaired, kept as missing, skipped or lost.
    pub remarks: Vec<Remark>,
}

/// The file that a sheet was read from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// Name as the user gave it.
    pub name: String,
    /// Id of the format, as the importers name it.
    pub format: String,
    /// The tool that wrote it, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Version of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
    /// Size, bytes.
    pub bytes: u64,
    /// Id of the run of this program that it was exported from; absent in other documents, and in
    /// imports of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

/// A digest of whatever is written to it.
#[derive(Default)]
struct Digest(DefaultHasher);

impl fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl Sheet {
    /// Identity of the content: the id of the run that it was exported from, else a digest of the rows.
    /// Two documents with one identity are copies, whatever they are called. Only for comparisons within
    /// one process: the digest may be another one in the next version.
    pub fn content_id(&self) -> String {
        if let Some(run) = &self.source.run_id {
            return run.clone();
        }
        let mut digest = Digest::default();
        // Numbers that cannot be read are not equal to themselves, and their texts are.
        match write!(digest, "{:?}", self.parts) {
            Ok(()) => format!("rows {:016x}", digest.0.finish()),
            Err(_) => self.source.name.clone(),
        }
    }

    /// Sets a factor of every row, whatever the rows themselves have.
    pub fn set_factor(&mut self, name: &str, value: &str) {
        for part in &mut self.parts {
            part.factors.set(name, value);
            let own = part.rows.iter_mut().filter(|row| row.factors.get(name).is_some());
            own.for_each(|row| row.factors.set(name, value));
        }
    }

    /// Remarks made during the measurement, not while reading: only inferometer's own measurements
    /// contain them.
    pub fn remarked(&self) -> impl Iterator<Item = &Remark> {
        let is_ours = self.source.format.starts_with("inferometer-");
        self.remarks.iter().filter(move |remark| match remark.kind {
            RemarkKind::Measured => true,
            RemarkKind::Missing => is_ours,
            _ => false,
        })
    }
}

/// What kind of measurement a part holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Requests to a server under a load.
    Serving,
    /// One batch of fixed size that is run to its end.
    StaticBatch,
    /// An engine called without a server, one sequence: prompt and generation speed.
    Engine,
    /// One kernel, such as attention.
    Kernel,
    /// A training run, or another command that was measured from its start to its end.
    Training,
    /// A comparison or conclusion that the document draws.
    Conclusion,
    /// None of these.
    Other,
}

/// A table or block: rows that share headings, a tool and a kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// What it measures.
    pub kind: PartKind,
    /// The tool, where it is another than the sheet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Headings above it, from the outermost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<String>,
    /// Where it begins.
    pub place: Place,
    /// What holds for all its rows.
    #[serde(default, skip_serializing_if = "Factors::is_empty")]
    pub factors: Factors,
    /// The rows.
    pub rows: Vec<Row>,
    /// Fields of the part that no figure holds: they survive as they were.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub unknown: Map<String, Value>,
}

impl Part {
    /// A part without a row.
    pub fn new(kind: PartKind, place: Place) -> Part {
        Part {
            kind,
            tool: None,
            headings: Vec::new(),
            place,
            factors: Factors::default(),
            rows: Vec::new(),
            unknown: Map::new(),
        }
    }
}

/// What a row claims to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowRole {
    /// One measurement.
    Measured,
    /// Computed from measured rows of the same document: means over repeats, totals, ranks.
    Summary,
    /// A figure in prose.
    Stated,
    /// A cell that the document announces and does not fill.
    Planned,
}

/// Field of a planned row: why it holds no figure.
pub const WHY: &str = "why";

/// One row: a measurement at one point, or what a document says of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// What it claims to be.
    pub role: RowRole,
    /// Its place in the file.
    pub place: Place,
    /// Its own name, such as the label of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What was set: model, concurrency, lengths. The settings of the part apply too.
    #[serde(default, skip_serializing_if = "Factors::is_empty")]
    pub factors: Factors,
    /// What was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// Single requests, where the file has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<SheetRequest>,
    /// The sentence of a stated row; the lines of a drawn block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Fields that no figure holds: they survive as they were.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub unknown: Map<String, Value>,
    /// What a tool's file has besides figures, where the row was computed from events for it: a sheet
    /// that was read or stored has none.
    #[serde(skip)]
    pub spreads: Vec<Spread>,
}

/// All statistics that a tool's file has of one of its metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The metric by the name that the tool gives it; numbers are in the tool's unit.
    pub name: &'static str,
    /// Arithmetic mean, weighted.
    pub mean: f64,
    /// The value with the most weight, of several the smallest.
    pub mode: f64,
    /// Mean square of the distance from the mean.
    pub variance: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Observations.
    pub count: u64,
    /// Percentiles, 0 to 100, with their values, in rising order.
    pub percentiles: Vec<(f64, f64)>,
}

impl Row {
    /// An empty row.
    pub fn new(role: RowRole, place: Place) -> Row {
        Row {
            role,
            place,
            label: None,
            factors: Factors::default(),
            figures: Vec::new(),
            requests: Vec::new(),
            text: None,
            unknown: Map::new(),
            spreads: Vec::new(),
        }
    }

    /// The figure of a quantity and statistic, if the row has one with a value.
    pub fn figure(&self, quantity: Metric, statistic: Statistic) -> Option<&Figure> {
        self.figures.iter().find(|figure| {
            figure.quantity == quantity && figure.statistic == statistic && figure.value.is_some()
        })
    }

    /// The value of a figure in the canonical unit of its quantity.
    pub fn value(&self, quantity: Metric, statistic: Statistic) -> Option<f64> {
        self.figure(quantity, statistic)?.canonical()
    }
}

/// One request as another tool recorded it. Times are as that tool defines them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SheetRequest {
    /// Start, seconds from the first start of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// Time in the client's own queue before the start, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_queue_ms: Option<f64>,
    /// Time to first token, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<f64>,
    /// End to end, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e2e_ms: Option<f64>,
    /// Number of recorded gaps between pieces of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<u32>,
    /// Sum of those gaps, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps_sum_ms: Option<f64>,
    /// Largest of those gaps, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_max_ms: Option<f64>,
    /// Prompt tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Generated tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Why it failed; absent where it did not, or where the file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// HTTP status of an answer that failed, where one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// What happened to the content on its way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RemarkKind {
    /// Damaged text that was put right.
    Repaired,
    /// A cell that was kept as missing although something was printed there.
    Missing,
    /// A row or block that could not be read.
    Skipped,
    /// Content that a sheet does not hold.
    Lost,
    /// Something that the file does not say and that was taken to be so.
    Assumed,
    /// Something that was seen while it was measured.
    Measured,
}

/// One thing that happened to the content on its way in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remark {
    /// What.
    pub kind: RemarkKind,
    /// Where.
    pub place: Place,
    /// In words.
    pub text: String,
}

/// Format version of a stored sheet.
pub const SHEET_VERSION: u32 = 1;
