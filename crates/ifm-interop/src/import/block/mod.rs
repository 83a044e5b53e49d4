//! Blocks of text that tools print, each found and read by its own file.
//!
//! A block can be a whole file, or be surrounded by headings and prose.

mod aiperf;
mod answer;
mod attention;
mod guidellm;
mod inference_benchmarker;
mod joining;
mod llama;
mod llama_benchy;
mod llama_timings;
mod local;
mod oha;
mod ollama;
mod server_log;
mod serving;
mod sglang_batch;
mod spans;

use super::Recognised;
use super::text::{Line, Text};
use ifm_core::sheet::{Part, Remark};

/// A block that was read.
#[derive(Debug)]
pub(crate) struct Found {
    /// What it holds. Headings and what follows from them are filled in by the caller. Several
    /// where one block mixes kinds.
    pub parts: Vec<Part>,
    /// Its last line.
    pub last_line: u32,
    /// What could not be read.
    pub remarks: Vec<Remark>,
}

/// A kind of block.
pub(crate) trait Block: Sync {
    /// Its id and name.
    fn about(&self) -> Recognised;

    /// Reads the block that begins on this line, if one does. Lines before it have been read.
    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found>;

    /// Puts together what a tool prints in several blocks. Parts are in the order of the text.
    fn join(&self, _parts: &mut Vec<Part>, _remarks: &mut Vec<Remark>) {}
}

/// Every kind of block; the first that finds itself on a line has it.
pub(crate) const BLOCKS: &[&dyn Block] = &[
    &serving::Serving,
    &guidellm::Guidellm,
    &llama_benchy::LlamaBenchy,
    &llama::LlamaBench,
    &llama::LlamaBatched,
    &llama_timings::LlamaTimings,
    &ollama::Ollama,
    &local::LocalEngines,
    &server_log::ServerLog,
    &attention::Attention,
    &sglang_batch::SglangBatch,
    &aiperf::Aiperf,
    &inference_benchmarker::InferenceBenchmarker,
    &oha::Oha,
];
