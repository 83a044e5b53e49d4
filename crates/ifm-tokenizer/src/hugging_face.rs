//! Hugging Face `tokenizer.json` files.
//!
//! The crate `tokenizers` reads and runs them: the format is what that crate does.
//!
//! The file's template determines the tokens that are added to a text. What a
//! `tokenizer_config.json` next to it says about them is ignored, as in transformers 5
//! where there is a `tokenizer.json`.
//!
//! Not here: the configuration next to a file (`config`).

use serde::Deserialize as _;
use serde_json::Value;
use tokenizers::{DecoderWrapper, PostProcessor as _};

use crate::{bytes::ByteTable, error::Problem};

/// The largest vocabulary that is accepted, in ids: bounds the tables made of it.
pub(crate) const VOCAB_SIZE_MAX: u32 = 1 << 24;

/// Longest text that a normalizer may add, bytes: prefixes and replacements are a few characters, and each can be
/// added for every character of a text.
const ADDED_BYTES_MAX: usize = 64;
/// How many times longer all replacements of a normalizer together may make a text.
const GROWTH_MAX: f64 = 256.0;
/// Nesting of normalizers.
const NESTING_MAX: usize = 16;

/// A tokenizer, ready for use.
pub(crate) struct Loaded {
    pub(crate) inner: tokenizers::Tokenizer,
    /// The bytes of each token, when the vocabulary is byte-level.
    pub(crate) bytes: Option<ByteTable>,
    /// Ids without text, ascending.
    pub(crate) special_ids: Vec<u32>,
    /// Tokens that are added to a text.
    pub(crate) special_tokens_added: u32,
    /// The highest id plus one.
    pub(crate) vocab_size: u32,
}

/// Reads the content of a file.
pub(crate) fn read(bytes: &[u8]) -> Result<Loaded, Problem> {
    let mut inner = parse(bytes)?;
    let damaged = |error: tokenizers::Error| Problem::damaged(error.to_string());
    // A saved file may carry the truncation and padding of someone's training
    // run; here every token of a text counts, and no other.
    inner.with_truncation(None).map_err(damaged)?;
    inner.with_padding(None);

    let vocab_size = inner.get_vocab(true).values().max().map_or(0, |&id| id.saturating_add(1));
    if vocab_size > VOCAB_SIZE_MAX {
        return Err(Problem::damaged(format!(
            "its ids go up to {vocab_size}, beyond {VOCAB_SIZE_MAX}"
        )));
    }
    let added = inner.get_added_tokens_decoder();
    let special = added.into_iter().filter(|(_, token)| token.special).map(|(id, _)| id);
    let mut special_ids = special.collect::<Vec<_>>();
    special_ids.sort_unstable();
    let bytes = matches!(inner.get_decoder(), Some(DecoderWrapper::ByteLevel(_)))
        .then(|| read_byte_table(&inner, vocab_size));
    let template = inner.get_post_processor();
    let special_tokens_added = template.map_or(0, |template| template.added_tokens(false)) as u32;
    Ok(Loaded { inner, bytes, special_ids, special_tokens_added, vocab_size })
}

fn parse(bytes: &[u8]) -> Result<tokenizers::Tokenizer, Problem> {
    let json =
        serde_json::from_slice(bytes).map_err(|error| Problem::damaged(error.to_string()))?;
    if !merges_fit(&json) {
        return Err(Problem::damaged("its merges and its vocabulary are at odds"));
    }
    for (part, inner) in [("normalizer", "normalizers"), ("decoder", "decoders")] {
        if let Some(text) = long_addition(&json[part], inner, 0) {
            let bytes = text.len();
            return Err(Problem::damaged(format!(
                "its {part} adds {bytes} bytes at once; the longest that is accepted is \
                 {ADDED_BYTES_MAX}"
            )));
        }
        let growth = growth(&json[part], inner, 0);
        if growth > GROWTH_MAX {
            return Err(Problem::damaged(format!(
                "its {part} can make a text more than {GROWTH_MAX} times longer"
            )));
        }
    }
    tokenizers::Tokenizer::deserialize(&json).map_err(|error| explain(&json, &error.to_string()))
}

/// A text of a normalizer that would make texts much longer. `inner` is the field with its steps.
fn long_addition<'j>(normalizer: &'j Value, inner: &str, nesting: usize) -> Option<&'j str> {
    if nesting > NESTING_MAX {
        return None;
    }
    let own = ["prepend", "content"].iter().filter_map(|field| normalizer.get(*field)?.as_str());
    let steps = normalizer.get(inner).and_then(Value::as_array);
    own.into_iter().find(|text| text.len() > ADDED_BYTES_MAX).or_else(|| {
        steps.into_iter().flatten().find_map(|step| long_addition(step, inner, nesting + 1))
    })
}

/// How many times longer the replacements of a normalizer can make a text: each step works on what the steps
/// before it wrote. Steps that are nested too deep have no bound.
fn growth(normalizer: &Value, inner: &str, nesting: usize) -> f64 {
    if nesting > NESTING_MAX {
        return f64::INFINITY;
    }
    let content = normalizer.get("content").and_then(Value::as_str);
    let own = content.map_or(1.0, |content| {
        // What matches nothing at all is written between all characters.
        let pattern = normalizer["pattern"]["String"].as_str().map_or(0, str::len);
        match pattern {
            0 => content.len() as f64 + 1.0,
            pattern => (content.len() as f64 / pattern as f64).max(1.0),
        }
    });
    let steps = normalizer.get(inner).and_then(Value::as_array);
    steps.into_iter().flatten().fold(own, |all, step| all * growth(step, inner, nesting + 1))
}

/// Whether no merge makes the crate panic: it copies each pair, without the prefix of the second part, into a
/// buffer as long as the longest token. Whether the tokens exist it finds out itself.
fn merges_fit(json: &Value) -> bool {
    let Value::Object(vocabulary) = &json["model"]["vocab"] else { return true };
    let Value::Array(merges) = &json["model"]["merges"] else { return true };
    let longest = vocabulary.keys().map(String::len).max().unwrap_or(0);
    let prefix = json["model"]["continuing_subword_prefix"].as_str().map_or(0, str::len);
    merges.iter().all(|merge| {
        let pair = match merge {
            // The head of a merges.txt, which the crate leaves out.
            Value::String(line) if line.starts_with("#version") => None,
            Value::String(line) => line.split_once(' '),
            other => other[0].as_str().zip(other[1].as_str()),
        };
        pair.is_none_or(|(first, second)| {
            let second = second.len().checked_sub(prefix);
            second.is_some_and(|second| first.len() + second <= longest)
        })
    })
}

/// Names the file if it is another one of those that are published together.
fn explain(json: &Value, reason: &str) -> Problem {
    let Value::Object(json) = json else {
        return Problem::damaged(reason);
    };
    if json.get("model").is_some_and(Value::is_object) {
        return Problem::damaged(reason);
    }
    let known = [
        ("a tokenizer_config.json", json.contains_key("tokenizer_class")),
        ("a tokenizer_config.json", json.contains_key("added_tokens_decoder")),
        ("a model's config.json", json.contains_key("architectures")),
        ("a tekken.json", json.get("vocab").is_some_and(Value::is_array)),
        ("a vocab.json", !json.is_empty() && json.values().all(Value::is_u64)),
    ];
    match known.iter().find(|(_, is_it)| *is_it) {
        Some((kind, _)) => Problem::damaged(format!(
            "it looks like {kind}; the tokenizer.json of the same model is wanted"
        )),
        None => Problem::damaged(format!("it is JSON, but no tokenizer.json ({reason})")),
    }
}

fn read_byte_table(inner: &tokenizers::Tokenizer, vocab_size: u32) -> ByteTable {
    let mut table = ByteTable::with_capacity(vocab_size as usize);
    for id in 0..vocab_size {
        table.push(&inner.id_to_token(id).unwrap_or_default());
    }
    table
}
