//! What each API wants to be asked and what its answers mean.
//!
//! A dialect knows where an API stands on a server, how the body of a request is written, and how
//! the payload of an event or of a whole answer becomes [`ChunkFacts`]: which choices carry
//! generated output and of what kind, how the stream ends, what the server counted. It knows no
//! stamps and no socket.
//!
//! To add an API: an [`Api`], one file here that implements [`Dialect`], and its line in
//! [`DIALECTS`].

pub(crate) mod body;
mod chat;
mod completions;
mod embeddings;
mod endpoint;
mod error;
mod facts;
mod generated;
mod json;
mod llama_cpp;
mod messages;
mod ollama;
mod ollama_embed;
pub mod openai;
mod rerank;
mod responses;
mod sglang;
pub mod template;
mod text;
mod tgi;
mod triton;

pub use endpoint::{Base, Endpoint, api_of_path, path};
pub use error::{bounded_sentence, error_sentence, markup_sentence};
pub use facts::{ChoiceFacts, Choices, ChunkFacts, Memory, Usage};
pub use generated::Generated;

use crate::ask::{Ask, RequestError, TemplateSpec};
use ifm_core::spec::Api;
use serde_json::{Map, Value};
use std::fmt;

/// Every API that is spoken, in the order of [`Api::ALL`].
pub static DIALECTS: [&dyn Dialect; Api::ALL.len()] = [
    &chat::Chat,
    &completions::Completions,
    &responses::Responses,
    &messages::Messages,
    &sglang::Sglang,
    &tgi::Tgi,
    &ollama::Ollama { is_chat: true },
    &ollama::Ollama { is_chat: false },
    &llama_cpp::LlamaCpp,
    &triton::Triton,
    &embeddings::Embeddings,
    &rerank::Rerank,
    &ollama_embed::OllamaEmbed,
];

/// The dialect of an API.
pub fn of(api: Api) -> &'static dyn Dialect {
    DIALECTS
        .into_iter()
        .find(|dialect| dialect.api() == api)
        .expect("invariant: every API stands in the table, which a test checks")
}

/// How the events of a stream are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value to a line.
    Lines,
}

/// What makes a streamed answer complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The API's own end mark, and nothing else.
    Mark,
    /// The end mark; or a finish reason for every choice and the end of the response, since many
    /// servers of such an API leave the mark out.
    MarkOrFinish,
    /// The API has no mark: an event, and the end of a response that says itself where it ends
    /// (by chunks or a length). One that goes on until the connection closes could be cut off
    /// without a trace, so it is never complete.
    Response,
}

/// Where the output length stands in the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthField {
    /// The object of the body that holds it, with other options; absent at the top.
    pub within: Option<&'static str>,
    /// Names that say how many tokens to generate; ours is the first. Where the user has set one
    /// of them, ours is left out.
    pub names: &'static [&'static str],
    /// What is sent where the request leaves it to the server but the API insists.
    pub default: Option<u32>,
}

/// One API.
pub trait Dialect: fmt::Debug + Sync {
    /// Which one.
    fn api(&self) -> Api;

    /// Where it stands on a server.
    fn endpoint(&self) -> Endpoint;

    /// How the events of its streams are told apart.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// What makes one of its streams complete.
    fn end(&self) -> End {
        End::Mark
    }

    /// Whether the API has a word for going on past the end of the text.
    fn can_ignore_eos(&self) -> bool {
        true
    }

    /// Headers that the API wants beside the usual ones; those that the user gives win.
    /// `authorization` is the value of an `Authorization` header, if there is a key.
    fn headers(&self, authorization: Option<&str>) -> Vec<(&'static str, String)> {
        authorization.map(|value| ("Authorization", value.to_owned())).into_iter().collect()
    }

    /// Fields of the body that are the same for every request of a level, without the user's.
    fn fixed_fields(&self, spec: &TemplateSpec<'_>) -> Map<String, Value>;

    /// Where the output length stands; absent for an API that generates nothing.
    fn length_field(&self) -> Option<LengthField>;

    /// Fields of the body that [`Dialect::write_prompt`] may write.
    fn prompt_fields(&self) -> &'static [&'static str];

    /// Whether the fields of one request hold its prompt, so that [`Dialect::write_prompt`] is not
    /// called for it.
    fn has_prompt(&self, fields: &Map<String, Value>) -> bool {
        self.prompt_fields().iter().any(|name| fields.contains_key(*name))
    }

    /// Appends the fields that hold the prompt to a JSON object that is being written. Returns
    /// how many results the answer must hold, for an API that answers with a list of them.
    ///
    /// # Errors
    /// [`RequestError::Prompt`] for a kind of prompt that the API does not take.
    fn write_prompt(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Result<Option<u32>, RequestError>;

    /// The most results that a body lets the answer hold, for an API that answers with a list of
    /// them.
    fn results_max(&self, _body: &Map<String, Value>) -> Option<u32> {
        None
    }

    /// Keys of JSON strings that carry output, for the quick way through a stream of events that
    /// differ in nothing else.
    fn output_keys(&self) -> &'static [&'static [u8]];

    /// Whether the payload is a mark, without any JSON, that ends a stream.
    fn is_end_mark(&self, _data: &[u8]) -> bool {
        false
    }

    /// Reads the payload of one event of a stream; generated text is appended to `text`, if
    /// given. `memory` lives as long as the stream.
    ///
    /// # Errors
    /// Why the payload is not JSON of this API, in one bounded sentence.
    fn read_event<'input>(
        &self,
        data: &'input str,
        memory: &mut Memory,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String>;

    /// Reads a whole answer that was not streamed.
    ///
    /// # Errors
    /// As [`Dialect::read_event`].
    fn read_answer<'input>(
        &self,
        data: &'input str,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_one_line_for_each_api_in_its_order() {
        let listed = DIALECTS.map(|dialect| dialect.api());
        assert_eq!(listed, Api::ALL);
        for api in Api::ALL {
            assert_eq!(of(api).api(), api);
        }
    }

    #[test]
    fn what_the_workload_writes_is_not_fixed() {
        for dialect in DIALECTS {
            let spec = TemplateSpec {
                api: dialect.api(),
                host: "h",
                path: "/",
                model: "m",
                authorization: None,
                headers: &[],
                stream: true,
                ignore_eos: true,
                temperature: Some(0.5),
                extra_body: &Map::new(),
            };
            let fixed = dialect.fixed_fields(&spec);
            for name in dialect.prompt_fields() {
                assert!(!fixed.contains_key(*name), "{dialect:?} {name}");
            }
        }
    }
}
