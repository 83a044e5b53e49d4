//! Where prompts come from: one file per data set, one line in [`DATASETS`].
//!
//! Not here: handing items out and keeping count (`generator`).

pub mod agent_trace;
pub mod burstgpt;
pub mod custom;
pub mod edit;
pub mod mooncake;
pub mod numina;
pub mod openai_batch;
pub mod prefix_repetition;
pub mod random;
pub mod random_ids;
pub mod sharegpt;
pub mod sharegpt_chat;
pub mod sonnet;

use std::{fmt, sync::Arc};

use ifm_core::{Message, Prompt};

use crate::{error::WorkloadError, hub::HubSet, open::Opening};

/// One unit of work: a conversation of one turn or of several.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkItem {
    /// Its number in the workload, from 0.
    pub id: u32,
    /// What is sent, in this order; each turn waits for the answer to the one before. Never empty.
    pub turns: Vec<Turn>,
    /// When a trace sent it, nanoseconds since the trace's first request.
    pub at_ns: Option<u64>,
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
            fields: None,
        };
        WorkItem { id, turns: vec![turn], at_ns: None }
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

/// Opens a data set.
type Open = fn(&mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError>;

/// A kind of data set, as it is named in a workload.
#[derive(Clone, Copy)]
pub struct DatasetKind {
    /// The name before the colon.
    pub name: &'static str,
    /// Other names for it, such as those of other tools.
    pub aliases: &'static [&'static str],
    /// How to write it.
    pub usage: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Whether the server should be asked to go on until the length is reached.
    pub ignore_eos: bool,
    /// Its homes on the hub, the first one the default.
    pub hub: &'static [HubSet],
    pub(crate) open: Open,
}

impl DatasetKind {
    /// Whether this is its name, or one of its other names.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

impl fmt::Debug for DatasetKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DatasetKind").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All kinds of data sets. To add one, add its file and a line.
pub const DATASETS: &[DatasetKind] = &[
    random::KIND,
    random_ids::KIND,
    prefix_repetition::KIND,
    sharegpt::KIND,
    sharegpt_chat::KIND,
    edit::KIND_10K,
    edit::KIND_5K,
    numina::KIND,
    numina::KIND_AIMO,
    sonnet::KIND,
    custom::KIND,
    openai_batch::KIND,
    agent_trace::KIND,
    mooncake::KIND,
    burstgpt::KIND,
];
