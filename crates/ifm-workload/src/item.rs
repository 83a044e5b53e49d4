//! What a workload is made of: items, their turns, and the sources that make them.
//!
//! Not here: the sources themselves (`dataset`).

use std::sync::Arc;

use ifm_core::{Message, Prompt};

use crate::error::WorkloadError;

/// One unit of work: a conversation of one turn or of several.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkItem {
    /// Its number in the workload, from 0.
    pub id: u32,
    /// What is sent, in this order; each turn waits for the answer to the one before. Never empty.
    pub turns: Vec<Turn>,
    /// When a trace sent it, nanoseconds since the trace's first request.
    pub at_ns: Option<u64>,
    /// Agents that the conversation starts beside itself: number 1 and on, the conversation itself is
    /// agent 0. Empty where it has none.
    pub agents: Vec<SubAgent>,
    /// Its class in mixed traffic, an index; absent where all items are of one kind.
    pub class: Option<u16>,
}

/// A conversation that an agent of a session starts, with a context of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct SubAgent {
    /// The agent that starts it: 0 for the conversation itself. Always below its own number.
    pub parent: u16,
    /// The turn of the parent after whose answer it starts.
    pub after_turn: u16,
    /// The turn of the parent that waits for its end; absent where nobody waits.
    pub before_turn: Option<u16>,
    /// Pause between the parent's answer and its first turn, nanoseconds.
    pub delay_ns: u64,
    /// What it sends, likewise. Never empty.
    pub turns: Vec<Turn>,
}

/// One request of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// What this turn adds to the conversation: the whole prompt in the first turn, the messages
    /// after the former answer in later ones (then `Prompt::Messages`).
    pub prompt: Prompt,
    /// Tokens that this turn adds, without any that a server's template adds; absent where nobody
    /// counted.
    pub prompt_tokens: Option<u32>,
    /// Tokens to ask for; absent leaves the length to the server.
    pub output_tokens: Option<u32>,
    /// Pause between the former answer and this turn, nanoseconds.
    pub think_ns: u64,
    /// The answer that later turns carry as the model's, where it was recorded. Absent: what the
    /// server answers.
    pub recorded_answer: Option<Message>,
    /// Tokens of the whole prompt that a cache that forgets nothing would know when this turn is
    /// sent, by the trace's own arithmetic; absent where the trace does not tell.
    pub known_tokens: Option<u32>,
    /// Fields of the request's body that this turn alone has, such as `tools`.
    pub fields: Option<Arc<serde_json::Map<String, serde_json::Value>>>,
}

impl WorkItem {
    /// One request and no more.
    pub fn single(
        id: u32,
        prompt: Prompt,
        prompt_tokens: Option<u32>,
        output_tokens: Option<u32>,
    ) -> WorkItem {
        let turn = Turn {
            prompt,
            prompt_tokens,
            output_tokens,
            think_ns: 0,
            recorded_answer: None,
            known_tokens: None,
            fields: None,
        };
        WorkItem { id, turns: vec![turn], at_ns: None, agents: Vec::new(), class: None }
    }
}

/// A source of items, any of which can be made at any time, by any thread.
pub trait Dataset: Send + Sync {
    /// Makes the item with a number; the same each time.
    ///
    /// # Errors
    /// [`WorkloadError`] when there is no such item.
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError>;

    /// How many items there are before one begins like an earlier one, so that a
    /// prefix cache could help. A shared prefix that was asked for is left out of
    /// the comparison; of a data set from files it is the first prompt that is the same
    /// as an earlier one.
    fn distinct_items(&self) -> u64;

    /// How many items there are; nothing where they do not end.
    fn items(&self) -> Option<u32> {
        None
    }

    /// Whether items have several turns.
    fn has_conversations(&self) -> bool {
        false
    }
}
