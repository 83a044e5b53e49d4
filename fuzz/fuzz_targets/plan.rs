//! Plans: what `plan check`, `plan slurm` and `plan kubernetes` make of a text. Nothing is started.
#![no_main]

#[path = "../../crates/ifm-plan/src/fuzzed.rs"]
mod fuzzed;

use ifm_plan::{Journal, Plan, Submission, Words, cells, effects, estimate, groups, manifests, script};
use ifm_plan::{start_words, words};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = fuzzed::read(text);
});
