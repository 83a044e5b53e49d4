//! Files with fields (JSON, JSON Lines, CSV, SQL, YAML), one file here for each tool.
//!
//! A format is data: how it is recognised, what it measures, and a function that reads it. Most of
//! these are a table of fields (`field`) that a common reader goes through (`collect` for pieces of
//! JSON, `records` for rows), and a few lines for what really differs.

pub(super) mod aiperf;
mod genai_bench;
pub(super) mod guidellm;
pub(super) mod inference_benchmarker;
mod inference_perf;
pub(super) mod inference_x;
mod inferometer;
mod k6;
mod llama_batched;
mod llama_bench;
mod llm_d;
mod llmperf;
mod locust;
pub(super) mod oha;
mod perf_analyzer;
mod rows;
mod sglang_batch;
mod sglang_serve;
mod table;
mod vllm_offline;
mod vllm_serve;
mod vllm_sweep;

use super::error::Guess;
use super::form::{Format, Like, sure};
use super::{Head, Likeness};
use super::{collect, field, records};
use ifm_core::order::Order as _;

/// Every format. Where several are equally like a file, the first one has it.
pub(crate) const FORMATS: &[&Format] = &[
    &vllm_serve::FORMAT,
    &guidellm::JSON,
    &guidellm::YAML,
    &guidellm::csv::FORMAT,
    &sglang_serve::FORMAT,
    &llama_bench::FORMAT,
    &llama_batched::FORMAT,
    &sglang_batch::FORMAT,
    &vllm_offline::LATENCY,
    &vllm_offline::THROUGHPUT,
    &vllm_sweep::TABLE,
    &vllm_sweep::FAILURE,
    &inference_x::FORMAT,
    &llm_d::FORMAT,
    &aiperf::FORMAT,
    &aiperf::records::FORMAT,
    &aiperf::csv::FORMAT,
    &genai_bench::FORMAT,
    &inference_perf::SUMMARY,
    &inference_perf::REQUESTS,
    &inference_benchmarker::FORMAT,
    &llmperf::SUMMARY,
    &llmperf::REQUESTS,
    &oha::FORMAT,
    &k6::FORMAT,
    &locust::FORMAT,
    &perf_analyzer::FORMAT,
    &rows::FORMAT,
    &inferometer::KEPT,
    &inferometer::RESULT,
    &table::FORMAT,
];

/// The format of a file, if one is known.
pub(crate) fn of(head: &Head) -> Option<&'static Format> {
    let mut best: Option<(Likeness, &'static Format)> = None;
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
                format.marks.iter().copied().partition(|mark| head.keys().contains(*mark));
            Guess { title: format.title, found, lacking }
        })
        .filter(|guess| !guess.found.is_empty())
        .collect();
    guesses.order_by_key(|guess| std::cmp::Reverse(guess.found.len()));
    guesses.truncate(3);
    guesses
}
