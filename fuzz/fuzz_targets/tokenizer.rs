//! Vocabularies in files, `tokenizer.json` first.
#![no_main]

mod contained;
#[allow(dead_code)] // Half of it is for the target `gguf`.
#[path = "../../crates/ifm-tokenizer/tests/it/fuzzed.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(init: contained::allow(), |bytes: &[u8]| {
    let _ = fuzzed::read(bytes);
});
