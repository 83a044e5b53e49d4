//! Workloads from outside: by name, from files and from the hub, at random, and as other tools draw
//! and choose them.

mod compat;
mod damage;
mod files;
mod foreign;
mod fuzzed;
mod hub;
mod media;
mod open;
mod preview;
mod random;
mod seeds;
mod selections;
mod sessions;

use ifm_tokenizer::Tokenizer;
use std::sync::OnceLock;

/// The embedded vocabulary.
fn tokenizer() -> Tokenizer {
    static SHARED: OnceLock<Tokenizer> = OnceLock::new();
    let embedded = || Tokenizer::embedded().expect("the embedded vocabulary loads");
    SHARED.get_or_init(embedded).clone()
}
