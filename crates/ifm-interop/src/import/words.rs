//! What several tools mean by a number, in one wording: where two of them mean the same, their
//! definitions are the same text.
//!
//! Not here: meanings that rules look for ([`ifm_core::sheet::meaning`]), and those of one tool.

/// A time from the client's start.
pub(crate) const CONNECTS: &str =
    "from before a connection is opened: the same where connections are reused";
/// The same, without connections that are reused.
pub(crate) const CONNECTS_ALWAYS: &str =
    "from before a connection is opened, a new one for every request";
/// An end-to-end time.
pub(crate) const TO_THE_END: &str =
    "to the end of the response, usage and end mark in it, not to its last token";
/// The same, from a client's start.
pub(crate) const CONNECTS_TO_THE_END: &str = "from before a connection is opened, a new one for \
    every request, to the end of the response, usage and end mark in it";
/// A time per output token.
pub(crate) const TPOT_TO_THE_END: &str =
    "ends with the end of the response, usage and end mark in it";
/// Gaps of an inter-token latency.
pub(crate) const PIECES: &str =
    "gaps between pieces of an answer, however many tokens a piece brings";
/// A rate.
pub(crate) const WHOLE_RUN: &str =
    "over the whole run, ramp and drain in it; only requests that succeeded";
/// A number of tokens.
pub(crate) const CLIENT_COUNTS: &str =
    "counted by the client's tokenizer, unless told to take the server's count";
/// The same where the server's count comes first.
pub(crate) const SERVER_COUNTS_ELSE_CLIENT: &str =
    "counted by the server, by the client's tokenizer where the server told nothing";
/// A rate of such tokens.
pub(crate) const WHOLE_RUN_CLIENT_COUNTS: &str = "over the whole run, ramp and drain in it; only \
    requests that succeeded; tokens by the client's tokenizer, unless told to take the server's \
    count";
