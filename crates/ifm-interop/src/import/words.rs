//! What several tools mean by a number, in one wording: where two of them mean the same, their
//! definitions are the same text.
//!
//! Not here: definitions that rules look for ([`ifm_core::sheet::meaning`]), and definitions of one
//! tool.

use ifm_core::sheet::meaning;

/// A time from the client's start.
pub(crate) const CONNECTS: &str =
    "from before a connection is opened: the same where connections are reused";
/// The same, without connections that are reused.
pub(crate) const CONNECTS_ALWAYS: &str =
    "from before a connection is opened, a new one for every request";
/// The real-time factor of a request.
pub(crate) const RTFX_CONNECTS: &str = "length of the audio over the end-to-end time, from before a \
    connection is opened: the same where connections are reused";
/// An end-to-end time.
pub(crate) const TO_THE_END: &str =
    "to the end of the response, usage and end mark in it, not to its last token";
/// The same, from a client's start.
pub(crate) const CONNECTS_TO_THE_END: &str = "from before a connection is opened, a new one for \
    every request, to the end of the response, usage and end mark in it";
/// A time per output token.
pub(crate) const TPOT_TO_THE_END: &str =
    "ends with the end of the response, usage and end mark in it";
/// The same of vLLM's client where the stream ends otherwise.
pub(crate) const TPOT_LAST_CHUNK: &str = "ends with the message that ends the answer";
/// The same of its client in Rust.
pub(crate) const TPOT_ROLE: &str = "begins with the first chunk of any kind, also one without text";
/// The same of InferenceX, which took the client over.
pub(crate) const TPOT_ROLE_TO_USAGE: &str =
    "begins with the first chunk of any kind; ends with the usage message";
/// Gaps of an inter-token latency.
pub(crate) const PIECES: &str =
    "gaps between pieces of an answer, however many tokens a piece brings";
/// The same, with one gap more.
pub(crate) const PIECES_AND_END: &str = "gaps between pieces of an answer, however many tokens a \
    piece brings, the message that ends it among them";
/// The same for an engine that reports how many tokens a piece contains.
pub(crate) const SPREAD: &str = "gaps between pieces of an answer, each divided among its tokens";
/// GuideLLM's inter-token latency.
pub(crate) const ITL_WEIGHTED: &str = "one mean per request, from first to last token, weighted by \
    tokens: no distribution of gaps";
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

/// All that fields of vLLM's client mean by times per token.
pub(crate) const VLLM_PER_TOKEN: &[&str] =
    &[TPOT_LAST_CHUNK, TPOT_ROLE, TPOT_ROLE_TO_USAGE, PIECES, PIECES_AND_END];
/// All that fields of SGLang's clients mean by them.
pub(crate) const SGLANG_PER_TOKEN: &[&str] = &[TPOT_TO_THE_END, PIECES, PIECES_AND_END, SPREAD];
/// All definitions of times per token in fields of GuideLLM.
pub(crate) const GUIDELLM_PER_TOKEN: &[&str] = &[meaning::TPOT_WITH_FIRST, ITL_WEIGHTED];
/// What genai-bench means by its one.
pub(crate) const GENAI_BENCH_PER_TOKEN: &[&str] = &[TPOT_TO_THE_END];
/// What AIPerf means by the one that it has.
pub(crate) const AIPERF_PER_TOKEN: &[&str] = &[meaning::ITL_PER_REQUEST];
