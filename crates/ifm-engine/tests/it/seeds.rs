//! The seeds and findings of the fuzz targets that load models.

use crate::fuzzed;
use ifm_made::seeds::replay;

#[test]
fn seeds_of_gguf_are_models_or_refused_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = replay("gguf", |bytes| fuzzed::gguf(folder.path(), bytes));
    assert!(outcome.read > 0 && outcome.refused > 0, "{outcome:?}");
}

#[test]
fn seeds_of_safetensors_are_models_or_refused_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = replay("safetensors", |bytes| fuzzed::hugging_face(folder.path(), bytes));
    assert!(outcome.read > 0 && outcome.refused > 0, "{outcome:?}");
}
