//! What is made up from a seed: numbers, texts of drawn words, pictures and speech, and their files. The same on
//! every machine, for ever.
//!
//! Here stands what takes the longer, the larger a request is: it is compiled for speed, as the rest of the
//! workload need not be.
//!
//! Not here: which words there are and what is made of them, which request carries what (`ifm-workload`).
#![forbid(unsafe_code)]

mod bits;
pub mod checksum;
pub mod code;
mod draws;
mod flac;
mod jpeg;
pub mod mutants;
pub mod picture;
pub mod sound;
pub mod speech;
mod words;

pub use draws::{Draws, Rng, Stream};
pub use words::{WORDS_MAX, WordList};
