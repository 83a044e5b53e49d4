//! The form of a file that describes an API: TOML, read strictly.
//!
//! Every name here is a key of the file, and stands in `docs/reference/custom-apis.md`.
//!
//! Not here: what the texts mean (`place`, `pointer`), and whether they fit together (`compile`).

use serde::Deserialize;
use std::collections::BTreeMap;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// What it is, in a line.
    #[serde(default)]
    pub(super) about: String,
    /// The environment variable that holds the key, unless the command line names one.
    pub(super) key_env: Option<String>,
    pub(super) request: Request,
    pub(super) message: Option<Message>,
    #[serde(default)]
    pub(super) answer: Answer,
    /// Where things stand in every event, and in a whole answer.
    #[serde(default)]
    pub(super) read: Reads,
    /// Instead of `read`, key by key, in the events of a stream.
    #[serde(default)]
    pub(super) read_event: Reads,
    /// Instead of `read`, key by key, in a whole answer.
    #[serde(default)]
    pub(super) read_whole: Reads,
}

/// `[request]`: what is sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// Path below the base URL of the server, a version at its end left out.
    pub(super) path: String,
    /// The path for streams, where it is another.
    pub(super) streamed_path: Option<String>,
    /// Names and values of headers.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    /// The body: an object of JSON with places.
    pub(super) body: String,
    /// Fields that the body has in addition where a stream is asked for.
    pub(super) when_streamed: Option<String>,
    /// Fields that the body has in addition where a whole answer is asked for.
    pub(super) when_whole: Option<String>,
    /// Output length that is sent where the workload leaves it open, for an API that insists.
    pub(super) output_tokens_default: Option<u32>,
}

/// `[message]`: how one message of a conversation is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Message {
    /// The message, an object with places.
    pub(super) form: String,
    /// The API's words for roles, where they are others.
    #[serde(default)]
    pub(super) roles: BTreeMap<String, String>,
    /// Whether messages of one role in a row become one, with the parts of all.
    #[serde(default)]
    pub(super) joined: bool,
    /// How a call of a tool is written.
    pub(super) call: Option<String>,
    #[serde(default)]
    pub(super) part: Part,
}

/// `[message.part]`: how a part of a message is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    pub(super) text: Option<String>,
    pub(super) image: Option<String>,
    pub(super) audio: Option<String>,
    pub(super) video: Option<String>,
    /// The result of a tool.
    pub(super) result: Option<String>,
}

/// `[answer]`: how answers come, and what their words mean.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    #[serde(default)]
    pub(super) events: Events,
    /// The payload that ends a stream, where it is no JSON.
    pub(super) end_mark: Option<String>,
    pub(super) complete_with: Option<CompleteWith>,
    /// The API's reasons why an answer ended, in the words `length`, `content_filter`, `stop`.
    #[serde(default)]
    pub(super) finish_words: BTreeMap<String, String>,
    /// Whether an event with an empty text may stand for a token, which the counts then decide.
    #[serde(default)]
    pub(super) empty_text_may_be_token: bool,
    #[serde(default)]
    pub(super) call: Call,
}

/// How the events of a stream come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Events {
    /// Server-sent events.
    #[default]
    Sse,
    /// One JSON value to a line.
    Lines,
    /// There are no streams.
    Whole,
}

/// What a stream has to have for being complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CompleteWith {
    /// The end mark, or an event that is the end.
    Mark,
    /// The same; or a finish reason, and the end of the response.
    MarkOrFinish,
    /// The end of a response that says itself where it ends.
    Response,
}

/// `[answer.call]`: the names of the fields of a call of a tool.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: Option<String>,
}

/// One place or several: the first of them that is there counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a place, a table of \"at\", \"when\" and \"unless\", or a list of them"
)]
pub(super) enum Places {
    // First, since a list could be read as the fields of a table in their order.
    Several(Vec<At>),
    One(At),
}

impl Places {
    pub(super) fn list(&self) -> &[At] {
        match self {
            Places::One(at) => std::slice::from_ref(at),
            Places::Several(list) => list,
        }
    }
}

/// A place.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a place, or a table of \"at\", \"when\" and \"unless\"")]
pub(super) enum At {
    Place(String),
    If(AtIf),
}

/// A place that counts under a condition.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AtIf {
    pub(super) at: String,
    pub(super) when: Option<String>,
    pub(super) unless: Option<String>,
}

macro_rules! reads {
    ($($(#[$about:meta])* $name:ident,)+) => {
        /// `[read]`, `[read_event]`, `[read_whole]`: where things stand.
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct Reads { $($(#[$about])* pub(super) $name: Option<Places>,)+ }

        impl Reads {
            /// These, and where a key is absent that of the others.
            pub(super) fn or(&self, other: &Reads) -> Reads {
                Reads { $($name: self.$name.clone().or_else(|| other.$name.clone()),)+ }
            }

            /// The names of all keys.
            #[cfg(test)]
            pub(super) const KEYS: &[&str] = &[$(stringify!($name)),+];
        }
    };
}

reads! {
    /// The list of choices, with a star: `/choices/*`.
    choices,
    /// The number of a choice; absent where it is its position.
    choice_index,
    /// Generated text.
    text,
    /// What the model thought.
    reasoning,
    /// What it said instead of an answer.
    refusal,
    /// Calls of tools: objects, or lists of them.
    tool_calls,
    /// Why the answer ended.
    finish_reason,
    /// What only the first event of a choice has: an empty text beside it is no token.
    opening,
    /// What every event of one token has, where an event is a token.
    token,
    /// Tokens of the prompt; places joined by ` + ` are added up.
    prompt_tokens,
    /// Tokens generated so far.
    output_tokens,
    /// Prompt tokens from a cache.
    cached_tokens,
    /// Tokens of what the model thought, among the generated ones.
    reasoning_tokens,
    /// Server's time until it began, nanoseconds.
    queue_ns,
    /// From then to the first token, nanoseconds.
    first_token_ns,
    /// From the first token to the last, nanoseconds.
    decode_ns,
    /// What makes an event the last: a place, or `/type = done`.
    end,
    /// What the server says that went wrong.
    error,
}
