//! Which tokens mean the start and the end of a text.
//!
//! A `tokenizer.json` marks tokens as special but does not say what for. The
//! `tokenizer_config.json` that is published beside it does; without one, the
//! names in common use decide, and a tokenizer with none of them has no such id.
//!
//! Not here: chat templates.

use serde_json::Value;

/// Names of the token before a text, most specific first.
const BOS_NAMES: [&str; 7] =
    ["<|bos|>", "<|begin_of_text|>", "<|startoftext|>", "<bos>", "<s>", "[BOS]", "[CLS]"];
/// Names of the token after a text, most specific first.
const EOS_NAMES: [&str; 9] = [
    "<|eos|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<eos>",
    "</s>",
    "[EOS]",
    "[SEP]",
];

/// The ids around a text, where the tokenizer has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) bos_id: Option<u32>,
    pub(crate) eos_id: Option<u32>,
}

/// Finds the ids from a `tokenizer_config.json`, else by name.
pub(crate) fn find_bounds(inner: &tokenizers::Tokenizer, config: Option<&[u8]>) -> Bounds {
    let config = config.and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
    let find = |key: &str, names: &[&str]| {
        config
            .as_ref()
            .and_then(|config| token_name(config.get(key)?))
            .and_then(|name| inner.token_to_id(name))
            .or_else(|| names.iter().find_map(|name| inner.token_to_id(name)))
    };
    Bounds { bos_id: find("bos_token", &BOS_NAMES), eos_id: find("eos_token", &EOS_NAMES) }
}

/// The name of a token given as a string or as an object with `content`.
fn token_name(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("content").and_then(Value::as_str))
}
