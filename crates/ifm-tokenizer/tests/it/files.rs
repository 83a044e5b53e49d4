//! Tokenizers from files: other kinds than the embedded one, and damaged ones.
use std::fs;

use ifm_tokenizer::{Tokenizer, TokenizerError};

/// A SentencePiece-like vocabulary with byte fallback, and with the cutting and
/// filling left by a training run.
const METASPACE: &str = r#"{
  "version": "1.0",
  "truncation": {"direction":"Right","max_length":2,"strategy":"LongestFirst","stride":0},
  "padding": {"strategy":{"Fixed":16},"direction":"Right","pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"<s>"},
  "added_tokens": [
    {"id":0,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
    {"id":1,"content":"<stop>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}
  ],
  "normalizer": null,
  "pre_tokenizer": {"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
  "post_processor": null,
  "decoder": {"type":"Sequence","decoders":[
    {"type":"Replace","pattern":{"String":"▁"},"content":" "},
    {"type":"ByteFallback"},{"type":"Fuse"},
    {"type":"Strip","content":" ","start":1,"stop":0}]},
  "model": {"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,
    "end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":true,"ignore_merges":true,
    "vocab":{"<s>":0,"<stop>":1,"▁":2,"a":3,"b":4,"▁a":5,"▁ab":6,"<0xE2>":7,"<0x82>":8,"<0xAC>":9},
    "merges":["▁ a","▁a b"]}
}"#;

#[test]
fn a_file_is_read_and_nothing_is_cut_or_filled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my-model").join("tokenizer.json");
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, METASPACE).unwrap();
    let tokenizer = Tokenizer::from_file(&path).unwrap();
    assert_eq!(tokenizer.name(), "my-model");
    assert_eq!(tokenizer.vocab_size(), 10);
    assert_eq!(tokenizer.encode("ab a ab").unwrap(), [6, 5, 6]);
    assert_eq!(tokenizer.encode("a€").unwrap(), [5, 7, 8, 9]);
    assert_eq!(tokenizer.decode(&[0, 6, 5, 7, 8, 9]).unwrap(), "ab a€");
    assert_eq!(tokenizer.special_ids(), [0, 1]);
    assert_eq!((tokenizer.bos_id(), tokenizer.eos_id()), (Some(0), None));
}

#[test]
fn the_config_beside_it_names_the_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.json");
    fs::write(&path, METASPACE).unwrap();
    fs::write(
        folder.path().join("tokenizer_config.json"),
        r#"{"bos_token": null, "eos_token": {"content": "<stop>"}}"#,
    )
    .unwrap();
    let tokenizer = Tokenizer::from_file(&path).unwrap();
    assert_eq!(tokenizer.name(), "other");
    assert_eq!((tokenizer.bos_id(), tokenizer.eos_id()), (Some(0), Some(1)));
}

#[test]
fn a_stream_looks_back_where_text_depends_on_it() {
    let tokenizer = Tokenizer::from_bytes("metaspace", METASPACE.as_bytes()).unwrap();
    let mut stream = tokenizer.stream();
    let mut pieces = Vec::new();
    for id in [6, 5, 7, 8, 9, 1, 6, 7] {
        pieces.push(stream.push(id).unwrap().unwrap_or_default());
    }
    pieces.push(stream.finish().unwrap().unwrap_or_default());
    assert_eq!(pieces, ["ab", " a", "", "", "€", "", " ab", "", "\u{FFFD}"]);
}

#[test]
fn what_is_no_tokenizer_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Tokenizer::from_file(&folder.path().join("none.json"));
    assert!(matches!(missing, Err(TokenizerError::Read { .. })));
    for bytes in [&b""[..], b"{}", b"[1]", b"\xFF\xFE", b"{\"model\":{\"type\":\"BPE\"}}"] {
        let error = Tokenizer::from_bytes("bad", bytes).unwrap_err();
        assert!(matches!(error, TokenizerError::Parse { .. }), "{error}");
    }
    let huge = METASPACE.replace("\"<0xAC>\":9", "\"<0xAC>\":4294967295");
    let error = Tokenizer::from_bytes("huge", huge.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("ids go up to"), "{error}");
}
