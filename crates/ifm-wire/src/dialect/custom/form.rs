//! The form of a file that describes an API: TOML, read strictly.
//!
//! Every name here is a key of the file and is documented in `docs/reference/custom-apis.md`.
//!
//! Not here: what the texts mean (`place`, `pointer`), and whether they fit together (`compile`).

use serde::Deserialize;
use std::collections::BTreeMap;

/// A file that describes an API: `--api custom:FILE.toml`.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What it is, in a line.
    #[serde(default)]
    pub about: String,
    /// The environment variable that holds the key, unless the command line names one.
    pub key_env: Option<String>,
    /// What is sent.
    pub request: Request,
    /// How one message of a conversation is written; absent for an API of texts.
    pub message: Option<Message>,
    /// How answers come, and what their words mean.
    #[serde(default)]
    pub answer: Answer,
    /// Where the server lists its models; absent for an API that does not.
    pub models: Option<Models>,
    /// Where things stand in every event, and in a whole answer.
    #[serde(default)]
    pub read: Reads,
    /// Instead of `read`, key by key, in the events of a stream.
    #[serde(default)]
    pub read_event: Reads,
    /// Instead of `read`, key by key, in a whole answer.
    #[serde(default)]
    pub read_whole: Reads,
}

/// `[request]`: what is sent.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Path below the base URL of the server, a version at its end left out.
    pub path: String,
    /// The path for streams, where it is another.
    pub streamed_path: Option<String>,
    /// Names and values of headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body: an object of JSON with places.
    pub body: String,
    /// Fields that the body has in addition where a stream is asked for.
    pub when_streamed: Option<String>,
    /// Fields that the body has in addition where a whole answer is asked for.
    pub when_whole: Option<String>,
    /// Fields that the body has in addition where the model may call tools: `{tools}` is their list.
    /// Without it they are sent as chat completions have them.
    pub when_tools: Option<String>,
    /// How one tool is written in that list.
    pub tool: Option<String>,
    /// Output length that is sent where the workload leaves it open, for an API that insists.
    pub output_tokens_default: Option<u32>,
}

/// `[message]`: how one message of a conversation is written.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The message, an object with places.
    pub form: String,
    /// The API's words for roles, where they are others.
    #[serde(default)]
    pub roles: BTreeMap<String, String>,
    /// Whether messages of one role in a row become one, with the parts of all.
    #[serde(default)]
    pub joined: bool,
    /// How a call of a tool is written.
    pub call: Option<String>,
    /// How a part of a message is written.
    #[serde(default)]
    pub part: Part,
}

/// `[message.part]`: how a part of a message is written.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// A text.
    pub text: Option<String>,
    /// An image.
    pub image: Option<String>,
    /// Audio.
    pub audio: Option<String>,
    /// A video.
    pub video: Option<String>,
    /// The result of a tool.
    pub result: Option<String>,
}

/// `[answer]`: how answers come, and what their words mean.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// How the events of a stream come.
    #[serde(default)]
    pub events: Events,
    /// The payload that ends a stream, where it is no JSON.
    pub end_mark: Option<String>,
    /// What a stream has to have for being complete.
    pub complete_with: Option<CompleteWith>,
    /// The API's reasons why an answer ended, in the words `length`, `content_filter`,
    /// `stop`, `tool_calls`, `error`.
    #[serde(default)]
    pub finish_words: BTreeMap<String, String>,
    /// Whether an event with an empty text may stand for a token, which the counts then decide.
    #[serde(default)]
    pub empty_text_may_be_token: bool,
    /// The names of the fields of a call of a tool, where they are not those of chat completions.
    #[serde(default)]
    pub call: Call,
}

/// How the events of a stream come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Events {
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CompleteWith {
    /// The end mark, or an event that is the end.
    Mark,
    /// The same; or a finish reason, and the end of the response.
    MarkOrFinish,
    /// The end of a response that says itself where it ends.
    Response,
}

/// `[answer.call]`: the names of the fields of a call of a tool.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its id.
    pub id: Option<String>,
    /// The tool that is called.
    pub name: Option<String>,
    /// Its arguments: an object, or a text that holds one.
    pub arguments: Option<String>,
}

/// `[models]`: where the server lists its models.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Models {
    /// Path below the base URL of the server, a version at its end left out.
    pub path: String,
    /// Where the list stands in the answer: `/data`.
    pub list: String,
    /// Where the name stands in an entry of the list: `/id`.
    pub name: String,
    /// What names begin with there, and not in requests.
    #[serde(default)]
    pub prefix: String,
    /// Where an entry says how many tokens a request may hold.
    pub context_tokens: Option<String>,
}

/// One place or several: the first of them that is there counts.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "expected a place, a table of \"at\", \"when\" and \"unless\", or a list of them"
)]
pub enum Places {
    // First, since a list could be read as the fields of a table in their order.
    /// Several places.
    Several(Vec<At>),
    /// One place.
    One(At),
}

impl Places {
    pub fn list(&self) -> &[At] {
        match self {
            Places::One(at) => std::slice::from_ref(at),
            Places::Several(list) => list,
        }
    }
}

/// A place.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a place, or a table of \"at\", \"when\" and \"unless\"")]
pub enum At {
    /// A place: `/choices/*/text`.
    Place(String),
    /// A place that counts under a condition.
    If(AtIf),
}

/// A place that counts under a condition.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AtIf {
    /// The place.
    pub at: String,
    /// What has to stand beside it, or at a place from the top.
    pub when: Option<String>,
    /// What must not stand there.
    pub unless: Option<String>,
}

macro_rules! reads {
    ($($(#[$about:meta])* $name:ident,)+) => {
        /// `[read]`, `[read_event]`, `[read_whole]`: where things stand.
        #[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct Reads { $($(#[$about])* pub $name: Option<Places>,)+ }

        impl Reads {
            /// These, and where a key is absent that of the others.
            pub fn or(&self, other: &Reads) -> Reads {
                Reads { $($name: self.$name.clone().or_else(|| other.$name.clone()),)+ }
            }

            /// The names of all keys.
            #[cfg(test)]
            pub const KEYS: &[&str] = &[$(stringify!($name)),+];
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

/// What to say of a path that holds a key.
pub(super) const KEY_IN_PATH: &str =
    "a key does not belong into the file, which every run stores: send it in a header, as {key}";

/// Whether a path may hold a key.
pub(super) fn may_hold_key(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    ["key=", "token=", "secret="].iter().any(|word| lower.contains(word))
}
