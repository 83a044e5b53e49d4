//! Files with fields (JSON, JSON Lines, CSV, SQL, YAML), one file here for each tool.

pub(super) mod aiperf;
mod genai_bench;
pub(super) mod guidellm;
pub(super) mod inference_benchmarker;
mod inference_perf;
mod inference_x;
mod k6;
mod llama_batched;
mod llama_bench;
mod llm_d;
mod llmperf;
mod oha;
mod perf_analyzer;
mod rows;
mod sglang_batch;
mod sglang_serve;
mod table;
mod vllm_offline;
mod vllm_serve;
mod vllm_sweep;

use super::error::Guess;
use super::{Head, ImportError, Input, Likeness, Recognised};
use super::{collect, records};
use ifm_core::Sheet;

/// A format of files.
pub(crate) trait Format: Sync {
    /// Its id and name.
    fn about(&self) -> Recognised;

    /// Whether a file is of it.
    fn likeness(&self, head: &Head) -> Likeness;

    /// Fields that mark it, for telling what came closest.
    fn marks(&self) -> &'static [&'static str] {
        &[]
    }

    /// Reads the whole file.
    ///
    /// # Errors
    /// [`ImportError::Broken`] with line or field; a damaged part of a file is a remark.
    fn read(&self, input: Input<'_>) -> Result<Sheet, ImportError>;
}

/// Every format. Where several are equally like a file, the first one has it.
pub(crate) const FORMATS: &[&dyn Format] = &[
    &vllm_serve::VllmServe,
    &guidellm::Guidellm,
    &guidellm::GuidellmYaml,
    &guidellm::csv::GuidellmCsv,
    &sglang_serve::SglangServe,
    &llama_bench::LlamaBench,
    &llama_batched::LlamaBatched,
    &sglang_batch::SglangBatch,
    &vllm_offline::VllmLatency,
    &vllm_offline::VllmThroughput,
    &vllm_sweep::VllmSweepTable,
    &vllm_sweep::VllmSweepFailure,
    &inference_x::InferenceX,
    &llm_d::LlmD,
    &aiperf::Aiperf,
    &aiperf::records::AiperfRecords,
    &aiperf::csv::AiperfCsv,
    &genai_bench::GenaiBench,
    &inference_perf::InferencePerf,
    &inference_perf::InferencePerfRequests,
    &inference_benchmarker::InferenceBenchmarker,
    &llmperf::Llmperf,
    &llmperf::LlmperfRequests,
    &oha::Oha,
    &k6::K6,
    &perf_analyzer::PerfAnalyzer,
    &rows::Rows,
    &table::Table,
];

/// The format of a file, if one is known.
pub(crate) fn of(head: &Head) -> Option<&'static dyn Format> {
    let mut best: Option<(Likeness, &'static dyn Format)> = None;
    for format in FORMATS {
        let likeness = format.likeness(head);
        if likeness > best.map_or(Likeness::No, |(likeness, _)| likeness) {
            best = Some((likeness, *format));
        }
    }
    best.map(|(_, format)| format)
}

/// The formats that share fields with a file, nearest first, three at most.
pub(crate) fn guesses(head: &Head) -> Vec<Guess> {
    let mut guesses: Vec<Guess> = FORMATS
        .iter()
        .map(|format| {
            let (found, lacking) =
                format.marks().iter().copied().partition(|mark| head.keys().contains(*mark));
            Guess { title: format.about().title, found, lacking }
        })
        .filter(|guess| !guess.found.is_empty())
        .collect();
    guesses.sort_by_key(|guess| std::cmp::Reverse(guess.found.len()));
    guesses.truncate(3);
    guesses
}
