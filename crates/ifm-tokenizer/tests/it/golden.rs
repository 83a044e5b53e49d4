//! Ids of foreign code for 561 odd texts: tiktoken, SentencePiece and llama.cpp.
//!
//! Made by `golden/make.py`, which names the releases and says how to make them again.
//! Beyond what is kept here, the same code was compared with theirs over 3500 texts for
//! the 16 real vocabularies that llama.cpp ships for its tests, for each split that
//! `split.rs` lists, and for SentencePiece models with the full `nmt_nfkc` maps.
use std::path::{Path, PathBuf};

use ifm_tokenizer::Tokenizer;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path(name)).expect("the file is there"))
        .expect("it is JSON")
}

fn texts() -> Vec<String> {
    serde_json::from_value(json("texts.json")).expect("a list of texts")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The tokenizer of a name in `expected.json`.
fn open(name: &str) -> Tokenizer {
    match name.split_once(' ') {
        Some((file, split)) => {
            let bytes = with_split(&std::fs::read(path(file)).expect("the file is there"), split);
            Tokenizer::from_bytes(name, &bytes).expect("it is read")
        }
        None if name == "small.tiktoken" => {
            Tokenizer::open(&format!("cl100k_base={}", path(name).display())).expect("it is read")
        }
        None if name.contains('.') => Tokenizer::from_file(&path(name)).expect("it is read"),
        None => Tokenizer::open(name).expect("it is known"),
    }
}

/// A GGUF file whose split, `gpt-2`, has another name.
fn with_split(file: &[u8], split: &str) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let old = text("gpt-2");
    let at = file.windows(old.len()).position(|bytes| bytes == old).expect("it names its split");
    [&file[..at], &text(split), &file[at + old.len()..]].concat()
}

#[test]
fn ids_are_those_of_foreign_code() {
    let texts = texts();
    let expected = json("expected.json");
    let expected = expected.as_object().unwrap();
    assert_eq!(expected.len(), 30);
    for (name, expected) in expected {
        let tokenizer = open(name);
        let ids = texts.iter().map(|text| tokenizer.encode(text).unwrap()).collect::<Vec<_>>();
        for ((text, ids), expected) in
            texts.iter().zip(&ids).zip(expected["first"].as_array().unwrap())
        {
            assert_eq!(serde_json::to_value(ids).unwrap(), *expected, "{name}: {text:?}");
        }
        let lines = ids.iter().map(|ids| serde_json::to_string(ids).unwrap() + "\n");
        assert_eq!(sha256(lines.collect::<String>().as_bytes()), expected["ids_sha256"], "{name}");
        if let Some(size) = expected.get("vocab_size") {
            assert_eq!(tokenizer.vocab_size(), size.as_u64().unwrap() as u32, "{name}");
        }
        if let Some(digest) = expected.get("decoded_sha256") {
            let decoded = ids.iter().map(|ids| tokenizer.decode(ids).unwrap()).collect::<Vec<_>>();
            assert_eq!(sha256(decoded.join("\0").as_bytes()), *digest, "{name}");
        }
    }
}

/// Vocabularies that lose nothing give back every text, as a whole and piece by piece;
/// the others give the same both ways.
#[test]
fn texts_come_back() {
    let texts = texts();
    let names = json("expected.json").as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let lossless = |name: &str| !name.contains(".model") && name != "pieces.gguf";
    let mut compared = 0;
    for name in names {
        let tokenizer = open(&name);
        for text in &texts {
            let ids = tokenizer.encode(text).unwrap();
            let decoded = tokenizer.decode(&ids).unwrap();
            let mut stream = tokenizer.stream();
            let mut streamed = String::new();
            for &id in &ids {
                streamed.extend(stream.push(id).unwrap());
            }
            streamed.extend(stream.finish().unwrap());
            assert_eq!(streamed, decoded, "{name}: {text:?}");
            // Special tokens have no text, by design.
            if lossless(&name) && !ids.iter().any(|&id| tokenizer.is_special(id)) {
                assert_eq!(decoded, *text, "{name}");
                compared += 1;
            }
        }
    }
    assert!(compared > 25 * (texts.len() - 8), "{compared}");
}

/// The pieces of a text cover it, and their tokens are the tokens of the text.
#[test]
fn pieces_bound_the_tokens() {
    for name in ["cl100k_base", "byte-level.gguf deepseek-v3", "pieces.gguf"] {
        let tokenizer = open(name);
        for text in texts() {
            let pieces = tokenizer.pieces(&text).unwrap();
            let joined = pieces.iter().map(|range| &text[range.clone()]).collect::<String>();
            assert_eq!(joined, text, "{name}");
            let ids = pieces.into_iter().flat_map(|range| tokenizer.encode(&text[range]).unwrap());
            assert_eq!(
                ids.collect::<Vec<_>>(),
                tokenizer.encode(&text).unwrap(),
                "{name} {text:?}"
            );
        }
    }
}

#[test]
fn special_tokens_are_told() {
    let tokenizer = open("pieces.gguf");
    assert_eq!((tokenizer.bos_id(), tokenizer.eos_id()), (Some(1), Some(2)));
    assert_eq!(tokenizer.special_tokens_added(), 1, "llama.cpp adds a <s> to this kind");
    assert_eq!(tokenizer.encode("</s> a").unwrap()[0], 2);

    let tokenizer = open("byte-level.gguf gpt-2");
    assert_eq!(tokenizer.special_tokens_added(), 0);
    assert_eq!(tokenizer.bos_id(), tokenizer.id("<|bos|>"));
    // Its type is that of a plain token, its name is that of an end.
    let end = tokenizer.id("<|im_end|>").unwrap();
    assert!(tokenizer.is_special(end) && tokenizer.token(end).as_deref() == Some("<|im_end|>"));
    let tool = tokenizer.id("<tool>").unwrap();
    assert!(!tokenizer.is_special(tool) && tokenizer.decode(&[tool]).unwrap() == "<tool>");
    assert_eq!(open("byte-level.gguf llama-bpe").special_tokens_added(), 1);

    let tokenizer = open("unigram-bytes.model");
    let special = ["<unk>", "<s>", "</s>", "<ctl>"].map(|token| tokenizer.id(token).unwrap());
    assert_eq!(tokenizer.special_ids(), special);
    assert_eq!(tokenizer.special_tokens_added(), 0, "SentencePiece adds nothing by itself");

    let tokenizer = open("o200k_harmony");
    assert_eq!(tokenizer.special_tokens_added(), 0);
    assert_eq!(tokenizer.eos_id(), Some(199_999));
    assert_eq!(tokenizer.id("<|message|>"), Some(200_008));
}
