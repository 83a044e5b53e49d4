//! Tokenizers from outside: the embedded one, those of files, damaged ones, and the ids of foreign
//! code.

mod embedded;
mod files;
mod golden;
mod hostile;
mod open;
mod stream;
