//! The vocabulary inside the binary: 8192 tokens of byte-level BPE.
//!
//! It is kept as `vocabulary/merges.txt`, the list of merges in order of rank,
//! because ids follow from it: special tokens first, the 256 bytes in order of
//! the character that represents them, then one token per merge. Building from
//! the list takes a fraction of what parsing a `tokenizer.json` does.
//!
//! Not here: the training (`cargo xtask train-tokenizer`), reading files.

use crate::{
    byte_level,
    bytes::{self, ByteTable},
    error::TokenizerError,
    split::Splitting,
};

/// Name of the embedded tokenizer, as it goes into records.
pub(crate) const NAME: &str = "inferometer-bpe-8192";
/// The merges, one pair a line, as `cargo xtask train-tokenizer` writes them.
pub(crate) const MERGES: &str = include_str!("../vocabulary/merges.txt");
/// The special tokens, with the ids 0, 1, 2 and so on.
pub(crate) const SPECIAL_TOKENS: [&str; 6] =
    ["<|bos|>", "<|eos|>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>"];
/// Id of `<|bos|>`.
pub(crate) const BOS_ID: u32 = 0;
/// Id of `<|eos|>`.
pub(crate) const EOS_ID: u32 = 1;
/// Tokens in all: a multiple of 16, so that a model's last layer keeps its fast path.
pub(crate) const VOCABULARY_SIZE: usize = 8192;

/// The tokenizer and the bytes of each of its tokens.
pub(crate) struct Embedded {
    pub(crate) inner: tokenizers::Tokenizer,
    pub(crate) bytes: ByteTable,
}

/// Builds the embedded tokenizer.
///
/// # Errors
/// [`TokenizerError::Parse`] when the list of merges is damaged; a test of this
/// crate keeps that from being released.
pub(crate) fn load() -> Result<Embedded, TokenizerError> {
    let (tokens, merges) = read_merges()?;
    let mut bytes = ByteTable::with_capacity(tokens.len());
    for token in &tokens {
        bytes.push(token);
    }
    let definition = byte_level::Definition {
        tokens,
        merges,
        added: SPECIAL_TOKENS.map(|token| (token.to_owned(), true)).into(),
        split: Splitting::Gpt2,
        // As Llama 3 does it: then the text of a token always comes back as that token.
        whole_parts: true,
    };
    let inner = byte_level::build(definition).map_err(|problem| problem.of(NAME))?;
    Ok(Embedded { inner, bytes })
}

/// Tokens in order of id, and the merges as pairs of tokens.
type Vocabulary = (Vec<String>, Vec<(String, String)>);

/// Reads the list of merges into tokens by id and pairs by rank.
fn read_merges() -> Result<Vocabulary, TokenizerError> {
    let mut tokens = Vec::with_capacity(VOCABULARY_SIZE);
    tokens.extend(SPECIAL_TOKENS.map(String::from));
    tokens.extend(bytes::in_order().map(|byte| bytes::write(&[byte])));
    let mut merges = Vec::with_capacity(VOCABULARY_SIZE);
    for line in MERGES.lines().filter(|line| !line.starts_with("#version")) {
        let (left, right) =
            line.split_once(' ').ok_or_else(|| damaged(&format!("'{line}' is not a merge")))?;
        tokens.push([left, right].concat());
        merges.push((left.to_owned(), right.to_owned()));
    }
    if tokens.len() != VOCABULARY_SIZE {
        return Err(damaged(&format!("{} tokens", tokens.len())));
    }
    Ok((tokens, merges))
}

fn damaged(reason: &str) -> TokenizerError {
    TokenizerError::Parse { name: NAME.to_owned(), reason: reason.to_owned() }
}
