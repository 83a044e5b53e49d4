//! Single requests to a server outside a load, and what they find out about it: who it is, which
//! fields it rejects, how long prompts are by its count, and the questions of `probe`.
//!
//! Not here: requests of a load (`ifm-drive`), flags and commands (`inferometer`).
#![forbid(unsafe_code)]

pub mod http_client;
pub mod key;
pub mod preflight;
pub mod prompt_calibration;
pub mod question;
pub mod server;
pub mod server_tokenizer;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod traced_client;
pub mod url;
