//! Meanings that rules tell apart, in the words in which readers write them into a
//! [`Definition`](super::Definition).
//!
//! Not here: the meanings of single tools, which stand beside their readers.

/// Of a time per output token: the time to the first token is in it.
pub const TPOT_WITH_FIRST: &str =
    "end-to-end time by output tokens: the time to the first token is in it";

/// Of an inter-token latency: one number per request, which others call time per output token.
pub const ITL_PER_REQUEST: &str = "one mean per request, from its first content to its last, by \
    the tokens behind the first: what is called TPOT here";

/// At the end of the definition of a time: it is of all requests, whatever became of them.
pub const WITH_FAILED: &str = "requests that failed are in it";
