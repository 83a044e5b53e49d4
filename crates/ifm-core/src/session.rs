//! How sessions of conversations end.
//!
//! Not here: what is computed of a session (`ifm-metrics`).

use serde::{Deserialize, Serialize};

crate::vocabulary! {
    /// How a session ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum SessionEnd {
        /// Every turn of every agent has its answer.
        Complete = "complete",
        /// A request failed.
        Failed = "failed",
        /// The next prompt would have been longer than the context, or the server refused it as too long.
        Overflow = "overflow",
        /// An answer held nothing that a conversation can carry on: it was empty, or refused, or cut
        /// off at a length that was not requested.
        EmptyAnswer = "empty_answer",
        /// The level ended before it.
        CutOff = "cut_off",
    }
}

/// A session that ended before its last turn for a reason that none of its requests shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndedSession {
    /// The session.
    pub session: u32,
    /// Index of the level that began it. It may have sent nothing, where its first prompt was too long.
    pub level: u16,
    /// How it ended.
    pub end: SessionEnd,
}
