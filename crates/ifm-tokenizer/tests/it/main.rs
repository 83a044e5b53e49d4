//! Tokenizers from outside: the embedded one, tokenizers from files, damaged files, and the ids of
//! foreign code.

mod embedded;
mod files;
mod fuzzed;
mod golden;
mod hostile;
mod open;
mod seeds;
mod stream;
