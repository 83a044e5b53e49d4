//! What is recorded of every answer of a probe, for the questions about all of them together.
//!
//! Not here: what follows from it (`lengths`, `clock`).

use crate::traced_client::Reply;
use jiff::fmt::rfc2822::DateTimeParser;

/// Nanoseconds of a second.
pub const SECOND_NS: i64 = 1_000_000_000;
/// Servers write a cached date: it may be up to this much too old.
const STALE_NS: i64 = SECOND_NS / 2;

/// Data of one answer.
#[derive(Debug, Clone)]
pub struct Length {
    /// Requested tokens.
    pub asked: u32,
    /// Tokens as counted by the server.
    pub counted: u32,
    /// Its finish reason.
    pub finish_reason: Option<String>,
}

/// Bounds of the server's clock minus the client's from one answer: minimum and maximum,
/// nanoseconds.
pub fn bounds(reply: &Reply) -> Option<(i64, i64)> {
    let date = DateTimeParser::new().parse_timestamp(&reply.header("date")?).ok()?;
    let date_ns = i64::try_from(date.as_nanosecond()).ok()?;
    let offset_ns = ifm_sys::ClockPair::sample().offset_ns;
    let wall = |mono_ns: u64| i64::try_from(mono_ns).ok().map(|ns| ns + offset_ns);
    Some((date_ns - wall(reply.end_ns)?, date_ns + SECOND_NS + STALE_NS - wall(reply.start_ns)?))
}
