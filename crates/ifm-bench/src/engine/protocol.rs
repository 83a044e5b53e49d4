//! What is said to an engine in a child process, and what it answers: one JSON object to a line, on
//! its standard input and output. `docs/reference/engine-protocol.md` describes it for others.

use super::Setup;
use super::case::Case;
use serde::{Deserialize, Serialize};

/// Version of the protocol.
pub const VERSION: u32 = 1;

/// What is said to an engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Order {
    /// Load a model. Answered by [`Answer::Ready`] or [`Answer::Cannot`].
    Load(Load),
    /// Run a case once. Answered by [`Answer::Ran`] or [`Answer::Cannot`].
    Run {
        /// The case.
        #[serde(flatten)]
        case: Case,
        /// Another for each run: its prompts are drawn by it, so that no cache knows them, and the
        /// answer says it again.
        seed: u64,
    },
}

/// What to load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// [`VERSION`].
    pub protocol: u32,
    /// A preset, a file, a folder, or a name that the engine knows.
    pub model: String,
    /// Format of the weights; absent for the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// Threads that compute; absent for the engine's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Instructions that may be used, by the engine's name for them; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Format of the keys.
    pub kv_keys: String,
    /// Format of the values.
    pub kv_values: String,
    /// Most prompt tokens that wait together.
    pub batch_tokens: u32,
    /// Most prompt tokens in one pass.
    pub pass_tokens: u32,
    /// Most sequences at once.
    pub sequences: u32,
    /// Most tokens of a sequence.
    pub context_tokens: u32,
    /// Whether to measure the machine's peak rates; an engine may leave it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ceilings: bool,
}

impl Load {
    /// What a setup asks for.
    pub fn of(setup: &Setup) -> Load {
        Load {
            protocol: VERSION,
            model: setup.model.clone(),
            weights: setup.weights.clone(),
            threads: setup.threads,
            instructions: setup.instructions.clone(),
            kv_keys: setup.kv.0.clone(),
            kv_values: setup.kv.1.clone(),
            batch_tokens: setup.batch_tokens,
            pass_tokens: setup.pass_tokens,
            sequences: setup.sequences,
            context_tokens: setup.context,
            ceilings: setup.ceilings,
        }
    }
}

/// What an engine answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Answer {
    /// The model is loaded.
    Ready(Box<About>),
    /// A case was run.
    Ran {
        /// That of the order.
        seed: u64,
        /// All prompts of the batch, nanoseconds; absent where there were none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_ns: Option<u64>,
        /// Each step, nanoseconds.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        step_ns: Vec<u64>,
        /// Prompt tokens that came from a cache, of all sequences.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached_tokens: Option<u64>,
    },
    /// It cannot.
    Cannot {
        /// Why, in one sentence.
        why: String,
        /// That of the order, where it was one to run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
    },
}

/// What an engine reports about itself and the model. What it does not know is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Its name, such as `vllm`.
    pub engine: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
    /// What it computes on: `CPU`, `CUDA`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The accelerator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// Name of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
    /// Bytes of its weights as they are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_bytes: Option<u64>,
    /// Format of the weights as they are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<String>,
    /// What is computed with, such as `int8 x int8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computed: Option<String>,
    /// Format in which keys and values are kept, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv: Option<String>,
    /// Threads that compute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Instructions that products use, such as `avx2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Whether every answer to `run` has had a run before it that did not count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub warms_up: bool,
    /// The peak rates of this machine, and what the model needs, as the engine reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceilings: Option<Ceilings>,
    /// Other values that a tool reported about a test, by its own names, not part of the protocol.
    #[serde(skip)]
    pub told: serde_json::Map<String, serde_json::Value>,
}

/// What a machine can do with the threads of an engine, as measured there, and what the model needs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Reading weights that no cache holds, bytes per second.
    pub read_bytes_per_s: f64,
    /// Products of the kind that the model is computed with, their operands in caches, operations
    /// per second, two for each weight and token.
    pub ops_per_s: f64,
    /// Weights that a step reads whole, bytes.
    pub step_bytes: u64,
    /// Keys and values of a token, bytes.
    pub kv_bytes_per_token: u64,
    /// Operations of a token in the layers, attention left out.
    pub ops_per_token: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_the_document_says() {
        let case = Case { batch: 1, depth: 0, prompt: 512, steps: 0 };
        let order = serde_json::to_string(&Order::Run { case, seed: 3 }).expect("JSON");
        assert_eq!(
            order,
            r#"{"do":"run","batch_size":1,"depth_tokens":0,"prompt_tokens":512,"steps":0,"seed":3}"#
        );
        let answer = serde_json::from_str(r#"{"is":"ran","seed":3,"prompt_ns":5,"step_ns":[1,2]}"#);
        let ran =
            Answer::Ran { seed: 3, prompt_ns: Some(5), step_ns: vec![1, 2], cached_tokens: None };
        assert_eq!(answer.ok(), Some(ran));
        let ready = serde_json::from_str(r#"{"is":"ready","engine":"mine"}"#);
        let about = About { engine: "mine".to_owned(), ..About::default() };
        assert_eq!(ready.ok(), Some(Answer::Ready(Box::new(about))));
    }
}
