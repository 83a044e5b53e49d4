//! Engines without a server's queue: prompt processing, generation and static batches, repeated, with
//! what disturbed each repeat.
//!
//! All engines implement one trait: a child process that speaks the protocol of
//! `docs/reference/engine-protocol.md` (the embedded engine, vLLM, SGLang, your own), `llama-bench`
//! itself, and a server, which the caller brings. Not here: flags and what is printed
//! (`inferometer`).

mod case;
mod ceiling;
mod course;
mod embedded;
mod llama_tool;
mod protocol;
mod row;
#[cfg(test)]
mod tests;
mod worker;

pub use crate::program::Limits;
pub use case::{Case, Shape, Test, preset, presets, values};
pub use course::{Ask, Done, measure};
pub use embedded::{find_model, serve as serve_worker};
pub use protocol::About;
pub use row::{line, sheet, warnings};
pub use worker::{ADAPTERS, own_worker};

use crate::disturbance::Disturbance;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

/// Which engine, and what it needs to start.
#[derive(Debug, Clone)]
pub enum Which {
    /// The embedded engine, in a process of its own.
    Embedded,
    /// A command that speaks the protocol.
    Command(Vec<String>),
    /// A shipped adapter, run by a Python.
    Adapter {
        /// Its name: `vllm` or `sglang`.
        name: String,
        /// The interpreter.
        python: PathBuf,
    },
    /// A server.
    Url(Arc<dyn ServerEngine>),
    /// `llama-bench` where it is installed.
    LlamaBench {
        /// The program.
        program: PathBuf,
        /// Whether it warms up: yes, unless turned off.
        warms_up: bool,
        /// More flags for it, with their values.
        flags: Vec<String>,
    },
}

/// What an engine is started with. One process for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// A preset, a file, a folder, or a name that the engine knows.
    pub model: String,
    /// Format of the weights; absent for the model's own.
    pub weights: Option<String>,
    /// Threads that compute; absent for the engine's choice.
    pub threads: Option<u32>,
    /// Instructions that it may use, by their name; absent for all that the processor has.
    pub instructions: Option<String>,
    /// Most tokens of prompts that wait together, and most in one pass.
    pub batch_tokens: u32,
    /// See `batch_tokens`.
    pub pass_tokens: u32,
    /// Formats of keys and of values.
    pub kv: (String, String),
    /// Most sequences at once, and most tokens of one, over all tests.
    pub sequences: u32,
    /// See `sequences`.
    pub context: u32,
    /// Whether the engine measures the machine's peak rates.
    pub ceilings: bool,
}

/// One repeat of a case.
#[derive(Debug, Clone, Default)]
pub struct Repeat {
    /// All prompts of the batch, to the logits of the last, nanoseconds.
    pub prompt_ns: Option<u64>,
    /// All steps after them, nanoseconds.
    pub steps_ns: Option<u64>,
    /// Prompts and steps together, nanoseconds, where they are not separate.
    pub whole_ns: Option<u64>,
    /// Each step, where the engine reports them.
    pub step_ns: Vec<u64>,
    /// Prompt tokens of all sequences together that `prompt_ns` computed; absent where they are those
    /// that were asked for.
    pub prompt_tokens: Option<u64>,
    /// Generated tokens of all sequences together that `steps_ns` took; absent likewise.
    pub step_tokens: Option<u64>,
    /// Prompt tokens that came from a cache, of all sequences together; absent if not reported.
    pub cached: Option<u64>,
    /// How long it took from here, nanoseconds: no engine's time may be longer.
    pub wall_ns: Option<u64>,
    /// What took processors away from it.
    pub disturbance: Option<Disturbance>,
    /// Other values that a server reported or the client measured, for the record.
    pub told: serde_json::Map<String, serde_json::Value>,
    /// What deserves caution, in sentences without end mark.
    pub remarks: Vec<String>,
}

/// Why there is no repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// This case cannot be run; others can.
    Cannot(String),
    /// The engine is gone, or can no longer be trusted.
    Lost(String),
}

impl Trouble {
    /// The reason.
    pub fn why(&self) -> &str {
        match self {
            Trouble::Cannot(why) | Trouble::Lost(why) => why,
        }
    }
}

/// An engine that has loaded its model.
pub trait Engine {
    /// What it reports about itself.
    fn about(&self) -> &About;

    /// Runs a case this many times. Engines that warm up by themselves say so in
    /// [`About::warms_up`].
    ///
    /// # Errors
    /// [`Trouble`]; repeats that were made before it are lost.
    fn run(&mut self, case: &Case, times: u32) -> Result<Vec<Repeat>, Trouble>;
}

/// A server that can be measured as an engine.
pub trait ServerEngine: Debug + Send + Sync {
    /// Asks the server what it is, and how prompts reach it.
    ///
    /// # Errors
    /// Why it cannot be measured, in one sentence.
    fn start(&self, setup: &Setup, limits: &Limits) -> Result<Box<dyn Engine>, String>;
}

/// Starts an engine.
///
/// # Errors
/// Why it does not start, in one sentence.
fn start(which: &Which, setup: &Setup, limits: &Limits) -> Result<Box<dyn Engine>, String> {
    let of_words = |words: &[String]| {
        worker::Worker::start(words, setup, limits).map(|one| Box::new(one) as Box<dyn Engine>)
    };
    match which {
        Which::Embedded => of_words(&own_worker()?),
        Which::Command(words) => of_words(words),
        Which::Adapter { name, python } => {
            let source = worker::adapter(name).ok_or_else(|| {
                let known = ADAPTERS.map(|(known, _)| known).join(" and ");
                format!("there is no adapter {name}; there are {known}")
            })?;
            of_words(&[python.display().to_string(), "-c".to_owned(), source.to_owned()])
        }
        Which::Url(server) => server.start(setup, limits),
        Which::LlamaBench { program, warms_up, flags } => {
            llama_tool::start(program, (*warms_up, flags), setup, limits)
                .map(|one| Box::new(one) as Box<dyn Engine>)
        }
    }
}
