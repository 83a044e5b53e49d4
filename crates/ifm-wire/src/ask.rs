//! What a request asks, before an API's dialect writes it.
//!
//! Not here: how it becomes bytes (`request`).

use ifm_core::spec::Api;
use ifm_core::{Medium, Prompt};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What cannot become a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A header name or value holds characters that HTTP does not allow.
    #[error("header \"{0}\" holds characters that HTTP does not allow")]
    BadHeader(String),
    /// The extra body fields hold the prompt's own field.
    #[error("the extra body may not set \"{0}\": the workload writes it")]
    PromptField(&'static str),
    /// The API has no way to ask for such a form.
    #[error("the API {api} cannot carry a {kind}; these can: {takes}")]
    Form {
        /// Word of the API, and in whose words it is spoken.
        api: String,
        /// What it cannot carry.
        kind: &'static str,
        /// The APIs that can.
        takes: String,
    },
    /// The extra body fields contain the field that sets the answer format.
    #[error("the extra body may not set \"{0}\": the form of the answer writes it")]
    FormField(&'static str),
    /// The API takes no media of this kind.
    #[error("the API \"{api}\" takes no {kind} in a prompt: use --api {takers}")]
    Medium {
        /// Word of the API.
        api: &'static str,
        /// What it does not take.
        kind: &'static str,
        /// APIs that take it, as they are chosen.
        takers: String,
    },
    /// The API takes files and no addresses of them.
    #[error(
        "the API \"{api}\" fetches no {kind} from an address: send the file itself, or use --api chat"
    )]
    Address {
        /// Word of the API.
        api: &'static str,
        /// What was to be fetched.
        kind: &'static str,
    },
    /// The API does not know media by their names.
    #[error(
        "the API \"{api}\" knows no {kind} by its name: send the file itself, or use --api chat, where \
         vLLM knows names"
    )]
    Name {
        /// Word of the API.
        api: &'static str,
        /// What was named.
        kind: &'static str,
    },
    /// The API has no word for how closely the model is to look at an image.
    #[error(
        "the API \"{api}\" cannot be told the detail of an image: leave it out, or use --api chat or \
         responses"
    )]
    Detail {
        /// Word of the API.
        api: &'static str,
    },
    /// The answer would come in a form that is not read.
    #[error(
        "the API \"{api}\" is asked for \"response_format\": {value}, and such answers are not read: \
         take json or verbose_json"
    )]
    ResponseFormat {
        /// Word of the API.
        api: &'static str,
        /// What the user asked for.
        value: String,
    },
    /// The prompt is not what a form carries.
    #[error(
        "the API \"{api}\" takes one recording as a prompt, as a file and without a text, and this \
         prompt is {kind}: take a workload of recordings"
    )]
    NoRecording {
        /// Word of the API.
        api: &'static str,
        /// What the prompt is.
        kind: &'static str,
    },
    /// The API does not take this kind of prompt.
    #[error("the API \"{api}\" takes no {kind} as a prompt: it takes {takes}")]
    Prompt {
        /// Word of the API.
        api: &'static str,
        /// What the prompt is.
        kind: &'static str,
        /// What the API takes.
        takes: &'static str,
    },
}

/// What one request asks.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'ask> {
    /// The prompt.
    pub prompt: &'ask Prompt,
    /// Messages that precede the messages of the prompt, as written by
    /// [`RequestTemplate::put_message`](crate::RequestTemplate::put_message) and separated by
    /// commas. Only for a prompt of messages.
    pub said: &'ask [u8],
    /// The media in them, in their order.
    pub said_media: &'ask [Arc<Medium>],
    /// Tokens to generate at most; absent leaves it to the server.
    pub output_tokens: Option<u32>,
    /// Body fields of this request only. They override the template's fields, and null removes a
    /// field.
    pub fields: Option<&'ask Map<String, Value>>,
    /// Position in the run's schedule, of which its id is made; absent sends none.
    pub number: Option<u32>,
    /// The session that this turn belongs to; absent for independent requests.
    pub session: Option<AskSession<'ask>>,
}

/// The session of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskSession<'ask> {
    /// Its number in the run.
    pub session: u32,
    /// The agent that asks, where the session has several.
    pub agent: Option<u16>,
    /// What a router's former answer told it to send back, if it did.
    pub token: Option<&'ask str>,
}

/// Everything that is the same for each request of a level.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateSpec<'spec> {
    /// Which API.
    pub api: Api,
    /// Value of the `Host` header.
    pub host: &'spec str,
    /// Path of the endpoint: `/v1/chat/completions`.
    pub path: &'spec str,
    /// Model name.
    pub model: &'spec str,
    /// Value of the `Authorization` header, if any.
    pub authorization: Option<&'spec str>,
    /// More headers.
    pub headers: &'spec [(String, String)],
    /// Whether to ask for a stream.
    pub stream: bool,
    /// Whether to tell the server to ignore its end-of-text token.
    pub ignore_eos: bool,
    /// Sampling temperature, if it is to be sent.
    pub temperature: Option<f64>,
    /// Fields merged into the body last: they win, and null removes a field.
    pub extra_body: &'spec Map<String, Value>,
}
