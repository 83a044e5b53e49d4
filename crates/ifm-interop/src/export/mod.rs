//! From a sheet to the files of other tools.
//!
//! One file per format, one line in `EXPORTS`. A number goes into a field only if it is what the
//! field means; fields that nothing fills are left out, or null where readers expect them. Numbers
//! are written as they are in the sheet: by whose definitions it was computed is the caller's
//! choice. To be honest about it, every file says that inferometer wrote it, where its format has
//! room for that. Not here: sending anything anywhere (`inferometer`).

mod aiperf;
mod csv;
mod fields;
mod genai_bench;
mod guidellm;
mod inferencex;
mod jsonl;
mod llama_bench;
mod llama_fields;
mod llm_d;
pub mod mlflow;
pub mod openmetrics;
mod options;
pub mod otlp;
mod sglang;
mod vllm;

pub use crate::heads::column;
pub use csv::{Column, columns};
pub use options::ExportOptions;

use ifm_core::sheet::{Factors, Part, Row, RowRole};
use ifm_core::spec::{ArrivalLaw, LoadSpec};
use ifm_core::{RunData, Sheet};
use thiserror::Error;

/// One file of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The full file name, where the tool's readers depend on it; such files are written to a
    /// folder.
    pub name: Option<String>,
    /// Distinguishes the file name from the others of the export; empty if it is the only file.
    pub stem: String,
    /// Ending of its name, without a dot.
    pub ending: &'static str,
    /// Content.
    pub text: String,
}

/// Why a sheet cannot be written in a format.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ExportError {
    /// It holds other measurements than the format is for.
    #[error("{title} holds {holds}, and the results have none")]
    Unfit {
        /// Name of the format.
        title: &'static str,
        /// What the format is for.
        holds: &'static str,
    },
}

/// From what a format is written. No file comes of what does not belong into it.
enum Writer {
    /// From the rows alone.
    Sheet(fn(&Sheet) -> Vec<Exported>),
    /// From the rows, and the run that they were computed from where it is one of ours.
    Results(fn(&Sheet, Option<&RunData>) -> Vec<Exported>),
    /// The same, with what the tool's own flags say of its file.
    Asked(fn(&Sheet, Option<&RunData>, &ExportOptions) -> Vec<Exported>),
}

/// A format that can be written.
pub struct Export {
    /// Id on the command line.
    pub id: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Whose definitions a reader of the format expects, by the word of the tool; absent where
    /// the format has none of its own.
    pub definitions: Option<&'static str>,
    write: Writer,
    /// What a sheet must hold.
    holds: &'static str,
    /// What does not come back by `import`, in the words of `docs/reference/interchange.md`.
    pub lacks: &'static str,
}

impl Export {
    /// Whether the format has options.
    pub fn has_options(&self) -> bool {
        matches!(self.write, Writer::Asked(_))
    }

    /// Writes a sheet.
    ///
    /// # Errors
    /// [`ExportError::Unfit`] if nothing in the sheet belongs into the format.
    pub fn write(&self, sheet: &Sheet) -> Result<Vec<Exported>, ExportError> {
        self.write_results(sheet, None, &ExportOptions::default())
    }

    /// Writes a sheet, with the run that it was computed from where there is one.
    ///
    /// # Errors
    /// [`ExportError::Unfit`] if nothing in them belongs into the format.
    pub fn write_results(
        &self,
        sheet: &Sheet,
        run: Option<&RunData>,
        options: &ExportOptions,
    ) -> Result<Vec<Exported>, ExportError> {
        let files = match self.write {
            Writer::Sheet(write) => write(sheet),
            Writer::Results(write) => write(sheet, run),
            Writer::Asked(write) => write(sheet, run, options),
        };
        match files.is_empty() {
            true => Err(ExportError::Unfit { title: self.title, holds: self.holds }),
            false => Ok(files),
        }
    }
}

/// Every format that can be written.
pub const EXPORTS: &[&Export] = &[
    &vllm::EXPORT,
    &sglang::EXPORT,
    &guidellm::EXPORT,
    &aiperf::EXPORT,
    &genai_bench::EXPORT,
    &llama_bench::EXPORT,
    &llama_fields::CSV,
    &llama_fields::JSON,
    &llama_fields::JSONL,
    &llama_fields::SQL,
    &inferencex::EXPORT,
    &llm_d::EXPORT,
    &csv::EXPORT,
    &jsonl::EXPORT,
    &otlp::EXPORT,
    &openmetrics::EXPORT,
    &openmetrics::TIMED,
    &mlflow::EXPORT,
];

/// Measured rows of a kind of part, with all that was set for them.
fn rows(sheet: &Sheet, fits: impl Fn(&Part) -> bool) -> impl Iterator<Item = (&Row, Factors)> {
    let parts = sheet.parts.iter().filter(move |part| fits(part));
    parts.flat_map(|part| {
        let measured = part.rows.iter().filter(|row| row.role == RowRole::Measured);
        measured.map(|row| (row, row.factors.within(&part.factors)))
    })
}

/// Measured rows of requests to a server.
fn serving(sheet: &Sheet) -> impl Iterator<Item = (&Row, Factors)> {
    rows(sheet, |part| part.kind == ifm_core::sheet::PartKind::Serving)
}

/// Distinguishes a row from the others by its load.
fn stem(factors: &Factors) -> String {
    use ifm_core::sheet::key;
    let part = |name: &str, short: &str| factors.get(name).map(|value| format!("{short}{value}"));
    let concurrency = part(key::CONCURRENCY, "concurrency");
    let rate = part(key::RATE, "rate").filter(|rate| rate != "rateinf" || concurrency.is_none());
    let words: Vec<String> = [concurrency, rate].into_iter().flatten().collect();
    words.join("-")
}

/// What was asked of the level that a row is of.
fn asked<'r>(run: &'r RunData, row: &Row, number: usize) -> Option<&'r LoadSpec> {
    run.manifest.spec.levels.get(usize::from(level(row, number)?))
}

/// A rate that does not change, and how requests are spaced at it.
fn steady(load: &LoadSpec) -> Option<(f64, ArrivalLaw, u64)> {
    let arrivals = load.arrivals.as_ref()?;
    match arrivals.stretches.as_slice() {
        [one] if one.from_req_per_s == one.to_req_per_s => {
            Some((one.from_req_per_s, arrivals.law, arrivals.seed))
        }
        _ => None,
    }
}

/// The level of a run that a row is of; of a row that does not say it, its place.
fn level(row: &Row, number: usize) -> Option<u16> {
    let pointed = row.place.pointer.as_deref().and_then(|at| at.rsplit('/').next()?.parse().ok());
    pointed.or_else(|| u16::try_from(number).ok())
}
