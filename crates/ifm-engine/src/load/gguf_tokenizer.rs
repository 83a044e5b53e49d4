//! The tokenizer inside a GGUF file, written as a `tokenizer.json`.
//!
//! Two kinds are covered: byte-level BPE (`gpt2`, with the splitting rules of GPT-2,
//! Llama 3, Qwen 2 and SmolLM) and the SentencePiece BPE of Llama 2 and Mistral
//! (`llama`), whose merges are found from the scores. For others the error asks for
//! the published file beside the model.
//!
//! Not here: reading the JSON (`ifm-tokenizer`).

use std::collections::HashMap;

use candle_core::quantized::gguf_file::Value as Entry;
use serde_json::{Value, json};

use super::{LoadError, gguf::Metadata, gguf::to_number};

/// Contractions, words, single digits, the rest: as published with Qwen 2.
const QWEN2_PATTERN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same with up to three digits: as published with Llama 3.
const LLAMA3_PATTERN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Kinds of tokens in `tokenizer.ggml.token_type`.
const CONTROL: u64 = 3;
const USER_DEFINED: u64 = 4;

/// Writes the tokenizer as JSON.
pub(super) fn to_json(metadata: &Metadata<'_>) -> Result<Value, LoadError> {
    let tokens = texts(metadata, "tokenizer.ggml.tokens")?;
    let added = added_tokens(metadata, &tokens);
    let mut json = match metadata.string("tokenizer.ggml.model")? {
        "gpt2" => byte_level(metadata, &tokens)?,
        "llama" => sentence_piece(metadata, &tokens)?,
        other => return Err(unsupported(&format!("the tokenizer {other}"))),
    };
    json["version"] = json!("1.0");
    json["added_tokens"] = Value::Array(added);
    Ok(json)
}

fn unsupported(what: &str) -> LoadError {
    LoadError::Unsupported {
        what: format!("{what} inside a GGUF file; hint: put the model's tokenizer.json beside it"),
    }
}

fn texts(metadata: &Metadata<'_>, key: &str) -> Result<Vec<String>, LoadError> {
    let Some(Entry::Array(values)) = metadata.value(key) else {
        return Err(unsupported(&format!("no list under {key}: a missing tokenizer")));
    };
    values
        .iter()
        .map(|value| match value {
            Entry::String(text) => Ok(text.clone()),
            _ => Err(metadata.damaged(format!("an entry of {key} is no text"))),
        })
        .collect()
}

fn added_tokens(metadata: &Metadata<'_>, tokens: &[String]) -> Vec<Value> {
    let Some(Entry::Array(kinds)) = metadata.value("tokenizer.ggml.token_type") else {
        return Vec::new();
    };
    let listed = kinds.iter().map(to_number).zip(tokens).enumerate();
    listed
        .filter(|(_, (kind, _))| matches!(*kind, Some(CONTROL | USER_DEFINED)))
        .map(|(id, (kind, content))| {
            json!({
                "id": id,
                "content": content,
                "single_word": false,
                "lstrip": false,
                "rstrip": false,
                "normalized": false,
                "special": kind == Some(CONTROL),
            })
        })
        .collect()
}

fn vocabulary(tokens: &[String]) -> HashMap<&str, usize> {
    tokens.iter().enumerate().map(|(id, token)| (token.as_str(), id)).collect()
}

fn byte_level(metadata: &Metadata<'_>, tokens: &[String]) -> Result<Value, LoadError> {
    let kind = metadata.string("tokenizer.ggml.pre").unwrap_or("default");
    let split = |pattern: &str| json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
    let bytes = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": use_regex});
    let steps = match kind {
        "gpt-2" | "gpt2" | "default" => vec![bytes(true)],
        "llama-bpe" | "llama3" | "llama-v3" => vec![split(LLAMA3_PATTERN), bytes(false)],
        "qwen2" => vec![split(QWEN2_PATTERN), bytes(false)],
        "smollm" => vec![json!({"type": "Digits", "individual_digits": true}), bytes(true)],
        other => return Err(unsupported(&format!("the splitting rule {other}"))),
    };
    let merges = texts(metadata, "tokenizer.ggml.merges")?;
    Ok(json!({
        "normalizer": if kind == "qwen2" { json!({"type": "NFC"}) } else { Value::Null },
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
        "post_processor": null,
        "decoder": bytes(true),
        "model": {
            "type": "BPE",
            "vocab": vocabulary(tokens),
            "merges": merges,
            // Llama 3 has whole words that no merge leads to.
            "ignore_merges": kind != "gpt-2" && kind != "default" && kind != "qwen2",
        },
    }))
}

/// SentencePiece joins the pair with the best score first; the merges of an equal
/// BPE are all splits of each token into two others, best score first.
fn sentence_piece(metadata: &Metadata<'_>, tokens: &[String]) -> Result<Value, LoadError> {
    let Some(Entry::Array(scores)) = metadata.value("tokenizer.ggml.scores") else {
        return Err(metadata.damaged("no list under tokenizer.ggml.scores".to_owned()));
    };
    let score = |id: usize| match scores.get(id) {
        Some(Entry::F32(score)) => *score,
        _ => f32::NEG_INFINITY,
    };
    let vocab = vocabulary(tokens);
    let mut merges = Vec::new();
    for (id, token) in tokens.iter().enumerate() {
        for (at, _) in token.char_indices().skip(1) {
            let (left, right) = token.split_at(at);
            if let (Some(&left_id), Some(&right_id)) = (vocab.get(left), vocab.get(right)) {
                merges.push((score(id), left_id, right_id, format!("{left} {right}")));
            }
        }
    }
    merges.sort_by(|first, second| {
        second.0.total_cmp(&first.0).then((first.1, first.2).cmp(&(second.1, second.2)))
    });
    let merges: Vec<String> = merges.into_iter().map(|(_, _, _, merge)| merge).collect();
    let unknown =
        metadata.token_id("tokenizer.ggml.unknown_token_id").and_then(|id| tokens.get(id as usize));
    let mut normalizers =
        vec![json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})];
    if !matches!(metadata.value("tokenizer.ggml.add_space_prefix"), Some(Entry::Bool(false))) {
        normalizers.insert(0, json!({"type": "Prepend", "prepend": "▁"}));
    }
    Ok(json!({
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": null,
        "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ]},
        "model": {
            "type": "BPE",
            "vocab": vocab,
            "merges": merges,
            "unk_token": unknown,
            "fuse_unk": true,
            "byte_fallback": true,
        },
    }))
}
