//! A Hugging Face folder: the first line of an input is `config.json`, the rest is `model.safetensors`.
#![no_main]

mod contained;
mod engine;
mod scratch;

use ifm_engine::{ModelSource, Quantization};
use std::sync::Once;

/// A vocabulary of few tokens, so that a model of a few kilobytes fits it.
const TOKENIZER: &[u8] = include_bytes!("../seeds/tokenizer/bpe.json");

libfuzzer_sys::fuzz_target!(init: contained::allow(), |bytes: &[u8]| {
    static WRITE_TOKENIZER: Once = Once::new();
    WRITE_TOKENIZER.call_once(|| {
        scratch::write("tokenizer.json", TOKENIZER);
    });
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else { return };
    scratch::write("config.json", &bytes[..end]);
    scratch::write("model.safetensors", &bytes[end + 1..]);
    for quantization in [None, Some(Quantization::Q8_0)] {
        engine::load(&ModelSource::HuggingFace { path: scratch::folder().to_owned(), quantization });
    }
});
