//! What was set where a row was measured: names and values as text.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Names of factors that several formats share. Others are named as their file names them.
pub mod key {
    /// Served model.
    pub const MODEL: &str = "model";
    /// Processor or accelerator.
    pub const GPU: &str = "gpu";
    /// The machine in the words of the document, where they say more than the accelerator.
    pub const HARDWARE: &str = "hardware";
    /// Format of the weights.
    pub const QUANTIZATION: &str = "quantization";
    /// Requests in flight that were asked for.
    pub const CONCURRENCY: &str = "concurrency";
    /// Requests per second that were asked for; `inf` for all at once.
    pub const RATE: &str = "rate_req_per_s";
    /// Shape of the load, in the tool's word: `constant`, `synchronous`, `throughput`.
    pub const STRATEGY: &str = "strategy";
    /// Requests that were asked for.
    pub const REQUESTS: &str = "requests";
    /// Prompt tokens per request that were asked for.
    pub const INPUT_TOKENS: &str = "input_tokens";
    /// Output tokens per request that were asked for.
    pub const OUTPUT_TOKENS: &str = "output_tokens";
    /// Sequences of a static batch.
    pub const BATCH_SIZE: &str = "batch_size";
    /// Tokens of context before the measured ones.
    pub const DEPTH_TOKENS: &str = "depth_tokens";
    /// Data set or kind of workload.
    pub const WORKLOAD: &str = "workload";
    /// Power limit, watts.
    pub const POWER_LIMIT_W: &str = "power_limit_w";
    /// A state that a comparison is about, such as a security mode.
    pub const CONDITION: &str = "condition";
    /// Tensor-parallel devices.
    pub const TENSOR_PARALLEL: &str = "tensor_parallel";
    /// Serving engine.
    pub const ENGINE: &str = "engine";
    /// Test of an engine benchmark: `pp512`, `tg128`.
    pub const TEST: &str = "test";
    /// Command line of a command that was measured as a whole.
    pub const COMMAND: &str = "command";
    /// How a command ended, where it did not end well.
    pub const ENDED: &str = "ended";
    /// Number of the repeat, from 1.
    pub const REPEAT: &str = "repeat";
    /// Side of a report: set where nothing else distinguishes points of two runs or documents.
    pub const RUN: &str = "run";
    /// Where the numbers come from: [`PREDICTED`] where they were computed, and not set where they
    /// were measured.
    pub const NUMBERS: &str = "numbers";
    /// The value of [`NUMBERS`] of a prediction.
    pub const PREDICTED: &str = "predicted";
    /// The value of [`NUMBERS`] where it is not set.
    pub const MEASURED: &str = "measured";
    /// What the names of factors of a prediction begin with: a measurement has none of them.
    pub const PREDICTED_PREFIX: &str = "predicted_";
}

/// Names and values.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Factors(BTreeMap<String, String>);

impl Factors {
    /// Sets a factor.
    pub fn set(&mut self, name: impl Into<String>, value: impl ToString) {
        self.0.insert(name.into(), value.to_string());
    }

    /// With a factor set.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Factors {
        self.set(name, value);
        self
    }

    /// The value of a factor.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of a factor as a number; absent if it is not a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// All of them by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// All factors except these names.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Factors {
        let kept = self.0.iter().filter(|(name, _)| !names.contains(&name.as_str()));
        Factors(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Whether there are no factors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These, completed by factors of `outer` that they lack.
    #[must_use]
    pub fn within(&self, outer: &Factors) -> Factors {
        let mut all = outer.0.clone();
        all.extend(self.0.iter().map(|(name, value)| (name.clone(), value.clone())));
        Factors(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inner_one_wins() {
        let outer = Factors::default().with("model", "a").with("gpu", "b");
        let all = Factors::default().with("model", "c").within(&outer);
        assert_eq!(all.iter().collect::<Vec<_>>(), [("gpu", "b"), ("model", "c")]);
        assert_eq!(all.number("gpu"), None);
        assert_eq!(all.without(&["gpu"]), Factors::default().with("model", "c"));
        assert_eq!(Factors::default().with("rate", " 2.5 ").number("rate"), Some(2.5));
        assert_eq!(Factors::default().with("rate", "inf").number("rate"), None);
    }
}
