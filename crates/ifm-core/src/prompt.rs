//! What a request asks a model: a text, token ids, or a conversation.
//!
//! Not here: where prompts come from (`ifm-workload`), how an API writes them (`ifm-wire`).

use crate::media::{Medium, Placed};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// What a request asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// One text. An API of messages sends it as the user's one message.
    Text(String),
    /// Token ids of the model's own vocabulary, for APIs that take them.
    Tokens(Vec<u32>),
    /// A conversation, oldest message first. An API without messages cannot send it.
    Messages(Vec<Message>),
}

impl Prompt {
    /// The text, where the prompt is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Prompt::Text(text) => Some(text),
            Prompt::Tokens(_) | Prompt::Messages(_) => None,
        }
    }

    /// Its images, recordings and videos, in their order.
    pub fn media(&self) -> impl Iterator<Item = &Arc<Medium>> + Clone {
        let messages = match self {
            Prompt::Messages(messages) => messages.as_slice(),
            Prompt::Text(_) | Prompt::Tokens(_) => &[],
        };
        messages.iter().flat_map(|message| &message.media).map(|placed| &placed.medium)
    }

    /// Memory that its text and its media hold, bytes; media that others hold too are left out.
    pub fn held_bytes(&self) -> u64 {
        match self {
            Prompt::Text(text) => text.len() as u64,
            Prompt::Tokens(ids) => size_of_val(ids.as_slice()) as u64,
            Prompt::Messages(messages) => messages.iter().map(Message::held_bytes).sum(),
        }
    }

    /// The bytes hashed for the prompt: a text's own, token ids as 32 bits little-endian each,
    /// messages as JSON in which a digest replaces each medium.
    pub fn canonical_bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Prompt::Text(text) => Cow::Borrowed(text.as_bytes()),
            Prompt::Tokens(ids) => ids.iter().flat_map(|id| id.to_le_bytes()).collect(),
            // Strings and lists always become JSON.
            Prompt::Messages(messages) => serde_json::to_vec(messages).unwrap_or_default().into(),
        }
    }
}

crate::vocabulary! {
    /// Who speaks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// Whoever set the conversation up.
        System = "system",
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool that the model called.
        Tool = "tool",
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The text; may be empty if there are tool calls.
    pub content: String,
    /// Calls that the model asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool's message answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Reasoning before the answer, where that goes back in a separate field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Images, recordings and videos in the message, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Placed>,
}

impl Message {
    /// A message of plain text.
    pub fn text(role: Role, content: impl Into<String>) -> Message {
        Message {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            reasoning: None,
            media: Vec::new(),
        }
    }

    /// Memory that its text and its media hold, bytes; media that others hold too are left out.
    pub fn held_bytes(&self) -> u64 {
        let calls = self.tool_calls.iter().map(|call| call.arguments.len()).sum::<usize>();
        let reasoning = self.reasoning.as_ref().map_or(0, String::len);
        let alone = self.media.iter().filter(|placed| Arc::strong_count(&placed.medium) == 1);
        let media = alone.filter_map(|placed| placed.medium.carried.bytes());
        let media = media.map(|bytes| bytes.len()).sum::<usize>();
        (self.content.len() + calls + reasoning + media) as u64
    }
}

/// What a complete answer said, in the parts that a conversation can carry on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The answer proper; empty where the model only thought or called tools.
    pub content: String,
    /// Its reasoning, where the server returned it; empty otherwise.
    pub reasoning: String,
    /// Calls of tools, in their order, with the ids that the server gave.
    pub tool_calls: Vec<ToolCall>,
    /// Prompt tokens, where the server counted.
    pub prompt_tokens: Option<u32>,
    /// Output tokens, reasoning included, where the server counted.
    pub output_tokens: Option<u32>,
    /// Reasoning tokens among them, where the server counted.
    pub reasoning_tokens: Option<u32>,
    /// Whether a limit of its length, or a filter, ended it.
    pub is_cut: bool,
}

impl Reply {
    /// Whether there is nothing that the conversation could carry on.
    pub fn is_empty(&self) -> bool {
        self.content.is_empty() && self.tool_calls.is_empty()
    }

    /// The message that represents it in later turns; reasoning is included if requested.
    pub fn into_message(self, with_reasoning: bool) -> Message {
        let reasoning = Some(self.reasoning).filter(|text| with_reasoning && !text.is_empty());
        Message {
            tool_calls: self.tool_calls,
            reasoning,
            ..Message::text(Role::Assistant, self.content)
        }
    }
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id, which the tool's answer repeats.
    pub id: String,
    /// Name of the function.
    pub name: String,
    /// Arguments as JSON text.
    pub arguments: String,
}
