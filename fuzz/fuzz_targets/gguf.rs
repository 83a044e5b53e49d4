//! GGUF files: the vocabulary, and the model.
#![no_main]

mod contained;
#[allow(dead_code)] // Half of it is for the target `safetensors`.
#[path = "../../crates/ifm-engine/tests/it/fuzzed.rs"]
mod fuzzed;
mod scratch;
#[allow(dead_code)] // Half of it is for the target `tokenizer`.
#[path = "../../crates/ifm-tokenizer/tests/it/fuzzed.rs"]
mod vocabulary;

libfuzzer_sys::fuzz_target!(init: contained::allow(), |bytes: &[u8]| {
    let _ = fuzzed::gguf(scratch::folder(), bytes);
    let _ = vocabulary::read_file(&scratch::folder().join("model.gguf"));
});
