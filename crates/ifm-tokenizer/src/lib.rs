#![forbid(unsafe_code)]
//! Text to token ids and back.
//!
//! Token counts are the unit of every figure of inference speed, so they come
//! from a tokenizer and not from a guess. [`Tokenizer::embedded`] needs no file:
//! its vocabulary is in the binary, for the embedded engine and for synthetic
//! prompts. [`Tokenizer::open`] takes what a person writes: a name such as
//! `o200k_base` or `gpt-4o`, whose vocabularies are in the binary too, or the path
//! of a `tokenizer.json`, a SentencePiece model, a tiktoken rank file or a GGUF
//! file, or of a folder with one of them.
//!
//! # Special tokens
//! [`Tokenizer::encode`] adds no token to a text; [`Tokenizer::special_tokens_added`]
//! returns how many the tokenizer's own template would add. The text of a
//! special token becomes that token; decoded, it has no text.
//!
//! # The embedded vocabulary
//! 8192 tokens of byte-level BPE: six special tokens, the 256 bytes, and 7930
//! merges trained by `cargo xtask train-tokenizer DIR` on 8.7 megabytes
//! of documentation and code of crates under MIT or Apache-2.0. The crates are
//! listed with their versions in `vocabulary/corpus.txt`, together with the
//! digest of the text, and training is deterministic: the same list makes the
//! same vocabulary.
//!
//! # Not here
//! Chat templates, prompts (`ifm-workload`), and training (`xtask`).

mod byte_level;
mod bytes;
mod config;
mod embedded;
mod error;
pub mod gguf;
mod hugging_face;
mod open;
mod sentencepiece;
mod special;
mod split;
mod stream;
mod tiktoken;
mod tokenizer;
mod trie;

pub use error::{Problem, TokenizerError};
pub use stream::StreamDecoder;
pub use tokenizer::Tokenizer;

use sha2::{Digest as _, Sha256};

/// SHA-256 of bytes, in hexadecimal.
fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
