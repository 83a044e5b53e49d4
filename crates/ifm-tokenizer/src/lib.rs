#![forbid(unsafe_code)]
//! Text to token ids and back.
//!
//! Token counts are the unit of every figure of inference speed, so they come
//! from a tokenizer and not from a guess. [`Tokenizer::embedded`] needs no file:
//! its vocabulary is in the binary, for the embedded engine and for synthetic
//! prompts. [`Tokenizer::from_file`] reads the `tokenizer.json` of a real model.
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

mod bytes;
mod embedded;
mod error;
mod special;
mod stream;
mod tokenizer;

pub use error::TokenizerError;
pub use stream::StreamDecoder;
pub use tokenizer::Tokenizer;
