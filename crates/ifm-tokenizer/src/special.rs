//! Which tokens mean the start and the end of a text.
//!
//! Few formats say it. The `tokenizer_config.json` next to a file does; without one,
//! the names in common use decide, and a tokenizer with none of them has no such id.
//!
//! Not here: whether these tokens are added to a text.

use crate::config::Config;

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

/// Finds the ids as a configuration names them, else by the usual names.
pub(crate) fn find_bounds(config: &Config, id: impl Fn(&str) -> Option<u32>) -> Bounds {
    let find = |named: &Option<String>, names: &[&str]| {
        named.as_deref().and_then(&id).or_else(|| names.iter().find_map(|name| id(name)))
    };
    Bounds { bos_id: find(&config.bos, &BOS_NAMES), eos_id: find(&config.eos, &EOS_NAMES) }
}
