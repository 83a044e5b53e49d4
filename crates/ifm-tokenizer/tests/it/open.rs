//! What a user may write for a tokenizer: names, files of all kinds, folders; and the errors for
//! anything else.
use std::{
    fs,
    path::{Path, PathBuf},
};

use ifm_tokenizer::{Tokenizer, TokenizerError};
use tempfile::TempDir;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn refusal(text: &str) -> String {
    match Tokenizer::open(text) {
        Ok(tokenizer) => panic!("{text} is {tokenizer:?}"),
        Err(error) => error.to_string(),
    }
}

fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, source) in files {
        fs::copy(golden(source), folder.path().join(name)).expect("copied");
    }
    folder
}

#[test]
fn every_name_is_known_and_the_default_needs_no_file() {
    let names = Tokenizer::names().collect::<Vec<_>>();
    assert_eq!(
        names,
        ["embedded", "cl100k_base", "o200k_base", "o200k_harmony", "p50k_base", "r50k_base"]
    );
    for name in &names[1..] {
        assert_eq!(Tokenizer::open(name).unwrap().name(), *name);
    }
    let embedded = Tokenizer::embedded().unwrap();
    for name in ["embedded", embedded.name()] {
        assert_eq!(Tokenizer::open(name).unwrap().sha256(), embedded.sha256());
    }
    assert_eq!(Tokenizer::open("openai/gpt-oss-20b").unwrap().name(), "o200k_harmony");
}

/// Digests tell what the ids follow from: that of the published rank file where the
/// file alone says all, another one where special tokens or the split come on top.
#[test]
fn digests_tell_definitions_apart() {
    let sha256 = |text: &str| Tokenizer::open(text).unwrap().sha256().to_owned();
    let base = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";
    assert_eq!(sha256("o200k_base"), base);
    assert_eq!(sha256("gpt-4o"), base);
    assert_ne!(sha256("o200k_harmony"), base);
    let ranks = golden("small.tiktoken").display().to_string();
    assert_ne!(sha256(&format!("cl100k_base={ranks}")), sha256(&format!("qwen2={ranks}")));

    // The same vocabulary in another file: what is not of it does not count.
    let bytes = fs::read(golden("byte-level.gguf")).unwrap();
    let at = bytes.windows(10).position(|bytes| bytes == b"byte level").unwrap();
    let renamed = [&bytes[..at], b"level byte", &bytes[at + 10..]].concat();
    let digest = |bytes: &[u8]| Tokenizer::from_bytes("x", bytes).unwrap().sha256().to_owned();
    assert_eq!(digest(&renamed), digest(&bytes));
    let at = bytes.windows(6).position(|bytes| bytes == b"<tool>").unwrap();
    let changed = [&bytes[..at], b"<tooo>", &bytes[at + 6..]].concat();
    assert_ne!(digest(&changed), digest(&bytes));
}

#[test]
fn files_are_known_by_their_content() {
    let embedded = Tokenizer::embedded().unwrap();
    let folder = folder_with(&[
        ("a.json", "unigram.model"),
        ("b.model", "byte-level.gguf"),
        ("c", "pieces.gguf"),
    ]);
    fs::write(folder.path().join("d.gguf"), format!("\n {}", embedded.to_json().unwrap())).unwrap();
    for (name, tokens) in [("a.json", 420), ("b.model", 773), ("c", 783), ("d.gguf", 8192)] {
        let path = folder.path().join(name);
        let tokenizer = Tokenizer::open(&path.display().to_string()).unwrap();
        assert_eq!(tokenizer.vocab_size(), tokens, "{name}");
        assert_eq!(tokenizer.name(), name.split('.').next().unwrap());
    }
}

#[test]
fn a_folder_stands_for_the_tokenizer_in_it() {
    let folder = folder_with(&[("spiece.model", "unigram.model")]);
    let from_folder = || Tokenizer::from_file(folder.path());
    assert_eq!(from_folder().unwrap().name(), "spiece");
    fs::copy(golden("bpe.model"), folder.path().join("other.model")).unwrap();
    let error = from_folder().unwrap_err().to_string();
    assert!(error.contains("other.model, spiece.model"), "{error}");
    // A file named `tokenizer` comes first, and has the folder's name.
    fs::copy(golden("bpe.model"), folder.path().join("tokenizer.model")).unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(from_folder().unwrap().name(), name);
    assert_eq!(from_folder().unwrap().vocab_size(), 560);
    let json = Tokenizer::embedded().unwrap().to_json().unwrap();
    fs::write(folder.path().join("tokenizer.json"), json).unwrap();
    assert_eq!(from_folder().unwrap().vocab_size(), 8192);

    let empty = tempfile::tempdir().unwrap();
    let error = Tokenizer::from_file(empty.path()).unwrap_err();
    assert!(matches!(error, TokenizerError::Folder { .. }));
    assert!(error.to_string().contains("put the tokenizer.json"), "{error}");
}

#[test]
fn ranks_that_nobody_published_need_an_encoding() {
    let path = golden("small.tiktoken").display().to_string();
    let error = refusal(&path);
    for word in [&path, "ENCODING=PATH", "o200k_base", "qwen2", "tokenizer.json"] {
        assert!(error.contains(word), "{word}: {error}");
    }
    let tokenizer = Tokenizer::open(&format!("qwen2={path}")).unwrap();
    assert_eq!((tokenizer.name(), tokenizer.vocab_size()), ("qwen2=small", 760));
    assert_eq!(tokenizer.decode(&tokenizer.encode("12 a").unwrap()).unwrap(), "12 a");
    let error = refusal(&format!("nonsense={path}"));
    assert!(error.contains("unknown encoding 'nonsense'"), "{error}");
    let error = refusal(&format!("qwen2={}", golden("bpe.model").display()));
    assert!(error.contains("rank files only"), "{error}");
}

/// A configuration next to the file names the tokens around a text, and tokens that the
/// vocabulary lacks.
#[test]
fn the_config_beside_a_file_adds_tokens() {
    let folder = folder_with(&[
        ("tokenizer.model", "bpe-bytes.model"),
        ("ranks.tiktoken", "small.tiktoken"),
    ]);
    let config = r#"{"add_bos_token": true, "add_eos_token": false, "bos_token": "<s>",
        "eos_token": {"content": "<|stop|>"}, "added_tokens_decoder": {
        "1": {"content": "<s>", "special": true},
        "780": {"content": "<|stop|>", "special": true},
        "783": {"content": "<call>", "special": false}}}"#;
    fs::write(folder.path().join("tokenizer_config.json"), config).unwrap();
    let tokenizer = Tokenizer::from_file(folder.path()).unwrap();
    assert_eq!(tokenizer.vocab_size(), 784);
    assert_eq!((tokenizer.bos_id(), tokenizer.eos_id()), (Some(1), Some(780)));
    assert_eq!(tokenizer.special_tokens_added(), 1);
    let ids = tokenizer.encode("a<|stop|><call>b").unwrap();
    assert!(ids.contains(&780) && ids.contains(&783), "{ids:?}");
    assert_eq!(tokenizer.decode(&ids).unwrap(), "a<call> b");
    assert_eq!(tokenizer.token(781), None);

    let ranks = folder.path().join("ranks.tiktoken").display().to_string();
    let tokenizer = Tokenizer::open(&format!("qwen2={ranks}")).unwrap();
    assert_eq!(tokenizer.encode("<|stop|>").unwrap(), [780]);
    assert_eq!((tokenizer.eos_id(), tokenizer.vocab_size()), (Some(780), 781));
    assert_eq!(tokenizer.special_ids(), [780], "1 is a token of the file");
}

/// As `num_special_tokens_to_add` of transformers 5.23 with the same two files: by the
/// template, whatever the configuration says.
#[test]
fn a_template_tells_how_many_tokens_it_adds() {
    let mut json: serde_json::Value =
        serde_json::from_str(&Tokenizer::embedded().unwrap().to_json().unwrap()).unwrap();
    let token = |name: &str| serde_json::json!({"SpecialToken": {"id": name, "type_id": 0}});
    let text = |name: &str| serde_json::json!({"Sequence": {"id": name, "type_id": 0}});
    json["post_processor"] = serde_json::json!({
        "type": "TemplateProcessing",
        "single": [token("<|bos|>"), text("A"), token("<|eos|>")],
        "pair": [text("A"), text("B")],
        "special_tokens": {
            "<|bos|>": {"id": "<|bos|>", "ids": [0], "tokens": ["<|bos|>"]},
            "<|eos|>": {"id": "<|eos|>", "ids": [1], "tokens": ["<|eos|>"]},
        },
    });
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tokenizer.json"), json.to_string()).unwrap();
    let tokenizer = Tokenizer::from_file(folder.path()).unwrap();
    assert_eq!(tokenizer.special_tokens_added(), 2);
    assert_eq!(tokenizer.encode("a").unwrap().len(), 1, "none is added here");
    let config = r#"{"add_bos_token": true, "bos_token": "<|bos|>", "eos_token": "<|eos|>"}"#;
    fs::write(folder.path().join("tokenizer_config.json"), config).unwrap();
    assert_eq!(Tokenizer::from_file(folder.path()).unwrap().special_tokens_added(), 2);
}

#[test]
fn what_is_no_tokenizer_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.json");
    for (content, words) in [
        (&b""[..], "it is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "pointer of Git LFS"),
        (b"\n<!DOCTYPE html><html>", "web page"),
        (b"PK\x03\x04", "no known format (it begins with \"PK\\x03\\x04\")"),
        (br#"{"tokenizer_class": "X"}"#, "looks like a tokenizer_config.json"),
        (br#"{"architectures": ["X"]}"#, "looks like a model's config.json"),
        (br#"{"config": {}, "vocab": []}"#, "looks like a tekken.json"),
        (br#"{"a": 0, "b": 1}"#, "looks like a vocab.json"),
        (br#"{"x": "y"}"#, "JSON, but no tokenizer.json"),
        (
            br#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}}"#,
            "merges and its vocabulary are at odds",
        ),
        (b"GGUF\0\0\0\x03", "big-endian"),
        (b"GGUF\x01\0\0\0", "version 1 of GGUF"),
        (b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "no tokenizer.ggml.model"),
        (b"GGUF\x03\0\0\0\0", "ends early"),
        (b"\x0A\x02\x0A\x00", "piece 0 has no text"),
        (b"\x0A\x03\x0A\x01a", "lacks a piece for what is unknown"),
        (b"\x0A\x03\x0A\x01a\x12\x02\x18\x03", "type word"),
    ] {
        fs::write(&path, content).unwrap();
        let error = refusal(path.to_str().unwrap());
        assert!(error.contains(words) && error.contains("file.json"), "{words}: {error}");
    }
    let error = refusal("meta-llama/Llama-3.1-8B");
    for word in ["no file or folder 'meta-llama/Llama-3.1-8B'", "o200k_harmony", "gpt-4o"] {
        assert!(error.contains(word), "{word}: {error}");
    }
}

#[test]
fn unknown_kinds_in_a_gguf_file_are_refused_by_name() {
    let bytes = fs::read(golden("byte-level.gguf")).unwrap();
    let with = |old: &str, new: &str| {
        let length = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
        let old = length(old);
        let at = bytes.windows(old.len()).position(|bytes| bytes == old).unwrap();
        let changed = [&bytes[..at], &length(new), &bytes[at + old.len()..]].concat();
        Tokenizer::from_bytes("file.gguf", &changed).unwrap_err().to_string()
    };
    for (error, words) in [
        (with("gpt-2", "kimi-k2"), ["'kimi-k2'", "tokenizer.json"]),
        (with("gpt2", "rwkv"), ["'rwkv'", "'gpt2' and 'llama'"]),
        (
            with("tokenizer.ggml.merges", "tokenizer.ggml.merged"),
            ["tokenizer.ggml.merges", "no list"],
        ),
        (with("l C", "l ~"), ["merge 0", "no token 'l~'"]),
    ] {
        for word in words {
            assert!(error.contains(word) && error.contains("file.gguf"), "{word}: {error}");
        }
    }
}
