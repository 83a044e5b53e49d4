//! GGUF files: the vocabulary, and the model.
#![no_main]

mod contained;
mod engine;
mod scratch;

use ifm_engine::ModelSource;
use ifm_tokenizer::Tokenizer;

libfuzzer_sys::fuzz_target!(init: contained::allow(), |bytes: &[u8]| {
    let path = scratch::write("model.gguf", bytes);
    if let Ok(tokenizer) = Tokenizer::from_file(&path)
        && let Ok(ids) = tokenizer.encode("Hello, world!  12 \n\n")
    {
        assert!(ids.iter().all(|&id| id < tokenizer.vocab_size()), "{ids:?}");
        let _ = tokenizer.decode(&ids);
    }
    engine::load(&ModelSource::Gguf { path });
});
