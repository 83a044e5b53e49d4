//! The test server against plain sockets, and the suite against a second reading of it.

// The helpers of this test binary sit outside of `#[test]` functions; a wrong case shall panic.
#![allow(clippy::unwrap_used)]

mod client;
mod oracle;
mod paced;
mod scripted;
mod suite;
