//! The mark of a run that was computed and not measured: from what, and what the computation saw
//! inside of itself.
//!
//! Its requests and times stand where those of a measured run stand. Not here: the simulation that
//! makes them, and what is said of such a run.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// From what a run was predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// Name of the machine: a row of the table of hardware, or what a calibration calls it.
    pub machine: String,
    /// Name of the model.
    pub model: String,
    /// How its weights are stored, such as `bf16` or `fp8`.
    pub quantization: String,
    /// How its keys and values are stored, such as `bf16` or `fp8`.
    pub kv: String,
    /// GPUs that share the work of one replica.
    pub gpus: u32,
    /// Replicas of the server.
    pub replicas: u32,
    /// Kind of server whose defaults were taken, such as `vllm`.
    pub server: String,
    /// Where the constants come from: `defaults`, or the name of a calibration.
    pub constants_from: String,
    /// The constants of the computation, by name; a name ends in its unit.
    pub constants: BTreeMap<String, f64>,
    /// How the server was set, by name: policy, token budget, largest number of sequences, tokens in
    /// the KV pool, prefix cache, speculation, router. A name ends in its unit where it has one.
    pub settings: BTreeMap<String, String>,
    /// What happened inside, level by level.
    pub levels: Vec<PredictedLevel>,
}

/// What the computation saw inside the server during one level, all replicas together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictedLevel {
    /// Index into the levels of the spec.
    pub level: u16,
    /// Steps of the engine.
    pub steps: u64,
    /// How often a sequence lost its place and had to be computed again.
    pub preemptions: u64,
    /// Prompt tokens that were found in the prefix cache.
    pub cached_tokens: u64,
    /// Largest share of the KV blocks that was in use at once, 0 to 1; absent where the pool has no
    /// bound.
    pub kv_peak_share: Option<f64>,
    /// Mean number of sequences in a step; absent where there was no step.
    pub batch_mean: Option<f64>,
    /// The same level by formulas, without a simulation; absent where they do not cover it.
    pub closed_form: Option<ClosedForm>,
    /// What most of the time of the steps waited for: `memory bandwidth`, `compute`, `overhead`,
    /// `interconnect` or `KV capacity`; absent where there was no step.
    pub binds: Option<String>,
}

/// What formulas say of a level: the check of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClosedForm {
    /// Mean time to first token, milliseconds; absent where there is no formula.
    pub ttft_ms: Option<f64>,
    /// Mean inter-token latency, milliseconds; absent where there is no formula.
    pub itl_ms: Option<f64>,
    /// Output tokens per second of all replicas; absent where there is no formula.
    pub output_tok_per_s: Option<f64>,
}
