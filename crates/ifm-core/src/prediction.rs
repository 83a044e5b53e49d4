//! The mark of a run that was computed and not measured: from what, and what the computation saw
//! inside of itself.
//!
//! Its requests and times are stored as for a measured run. Not here: the simulation that
//! makes them, and how such a run is described.

use crate::sheet::key;
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

impl Prediction {
    /// What it is and from what, in one line.
    pub fn words(&self) -> String {
        let mut words = format!("predicted, not measured: {}", self.machine);
        if self.gpus > 1 {
            words.push_str(&format!(" x{}", self.gpus));
        }
        if self.replicas > 1 {
            words.push_str(&format!(", {} replicas", self.replicas));
        }
        words.push_str(&format!(", {} in {}", self.model, self.quantization));
        if self.kv != self.quantization {
            words.push_str(&format!(", keys and values in {}", self.kv));
        }
        words
            .push_str(&format!(", {}'s defaults, constants: {}", self.server, self.constants_from));
        words
    }

    /// The same as what was set where a row was measured: names and values. Whatever holds rows of
    /// a prediction carries them, so that no two predictions are taken for repeats of one.
    pub fn factors(&self) -> Vec<(String, String)> {
        let own = [
            ("machine", self.machine.clone()),
            ("quantization", self.quantization.clone()),
            ("kv", self.kv.clone()),
            ("gpus", self.gpus.to_string()),
            ("replicas", self.replicas.to_string()),
            ("server", self.server.clone()),
            ("constants_from", self.constants_from.clone()),
        ];
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        let settings = self.settings.iter().map(|(name, value)| (name.clone(), value.clone()));
        let constants =
            self.constants.iter().map(|(name, value)| (name.clone(), value.to_string()));
        let named = own.chain(settings).chain(constants).map(|(name, value)| {
            (format!("{}{}", key::PREDICTED_PREFIX, name.replace(' ', "_")), value)
        });
        let mark = (key::NUMBERS.to_owned(), key::PREDICTED.to_owned());
        std::iter::once(mark).chain(named).collect()
    }
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
    /// What most of the time of the steps waited for: `memory bandwidth`, `arithmetic`, `host time`,
    /// `exchange between GPUs` or `KV capacity`; absent where there was no step.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction() -> Prediction {
        Prediction {
            machine: "H100 SXM".to_owned(),
            model: "llama-3.1-8b".to_owned(),
            quantization: "bf16".to_owned(),
            kv: "bf16".to_owned(),
            gpus: 1,
            replicas: 1,
            server: "vllm".to_owned(),
            constants_from: "defaults".to_owned(),
            constants: BTreeMap::from([("bandwidth_share".to_owned(), 0.8)]),
            settings: BTreeMap::from([("token budget".to_owned(), "8192".to_owned())]),
            levels: Vec::new(),
        }
    }

    #[test]
    fn its_words_tell_from_what() {
        let one = prediction();
        assert_eq!(
            one.words(),
            "predicted, not measured: H100 SXM, llama-3.1-8b in bf16, vllm's defaults, \
             constants: defaults"
        );
        let many = Prediction { gpus: 4, replicas: 2, kv: "fp8".to_owned(), ..one };
        assert!(many.words().contains("H100 SXM x4, 2 replicas, "), "{}", many.words());
        assert!(many.words().contains("bf16, keys and values in fp8"), "{}", many.words());
    }

    #[test]
    fn its_factors_hold_everything_that_tells_two_apart() {
        let of = |prediction: &Prediction| prediction.factors();
        let one = prediction();
        assert!(of(&one).contains(&("numbers".to_owned(), "predicted".to_owned())));
        let budget = ("predicted_token_budget".to_owned(), "8192".to_owned());
        assert!(of(&one).contains(&budget), "{:?}", of(&one));
        let mut other = one.clone();
        other.constants.insert("bandwidth_share".to_owned(), 0.7);
        assert_ne!(of(&one), of(&other));
    }
}
