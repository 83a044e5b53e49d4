//! Synthetic data from a seed: numbers, texts of drawn words, pictures and speech, and their files. The same on
//! every machine, for ever.
//!
//! Contains the code whose run time grows with the size of a request: it is compiled for speed, which the
//! rest of the workload does not need.
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
pub mod seeds;
pub mod sound;
pub mod speech;
mod words;

pub use draws::{Draws, Rng, Stream};
pub use words::{WORDS_MAX, WordList};
