//! A Hugging Face folder: the first line of an input is `config.json`, the rest is `model.safetensors`.
#![no_main]

mod contained;
#[allow(dead_code)] // Half of it is for the target `gguf`.
#[path = "../../crates/ifm-engine/tests/it/fuzzed.rs"]
mod fuzzed;
mod scratch;

libfuzzer_sys::fuzz_target!(init: contained::allow(), |bytes: &[u8]| {
    let _ = fuzzed::hugging_face(scratch::folder(), bytes);
});
