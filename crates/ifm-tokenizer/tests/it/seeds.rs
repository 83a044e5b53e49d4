//! The seeds and findings of the fuzz targets that read vocabularies.

use crate::fuzzed;
use ifm_made::seeds::replay;

#[test]
fn seeds_of_vocabularies_are_read_or_refused_in_a_sentence() {
    let outcome = replay("tokenizer", fuzzed::read);
    assert!(outcome.read > 0 && outcome.refused > 0, "{outcome:?}");
}

#[test]
fn seeds_of_gguf_are_vocabularies_or_refused_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.gguf");
    let outcome = replay("gguf", |bytes| {
        std::fs::write(&path, bytes).expect("written");
        fuzzed::read_file(&path)
    });
    assert!(outcome.read > 0 && outcome.refused > 0, "{outcome:?}");
}
