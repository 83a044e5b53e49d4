//! The request and response formats of each API.
//!
//! A dialect knows the endpoint paths of an API, how the body of a request is written, and how the
//! payload of an event or of a whole answer becomes [`ChunkFacts`]: which choices carry generated
//! output and of what kind, how the stream ends, what the server counted. It handles no timestamps
//! and no sockets.
//!
//! To add an API: an [`Api`], one file here with its [`Dialect`], and its line in
//! [`DIALECTS`]. Or none of it: a file of the user's own says the same ([`custom`]).

pub(crate) mod body;
mod calls;
mod chat;
mod completions;
pub mod custom;
mod details;
mod embeddings;
mod endpoint;
mod envelope;
mod error;
mod facts;
pub(crate) mod forms;
mod generated;
pub(crate) mod json;
mod list;
mod llama_cpp;
mod messages;
pub(crate) mod multipart;
mod ollama;
mod ollama_embed;
pub mod openai;
mod overflow;
mod parts;
mod rejection;
mod rerank;
mod responses;
mod sglang;
mod speech;
pub mod template;
mod text;
mod tgi;
mod tools;
mod transcriptions;
mod triton;

pub use endpoint::{Base, Endpoint, api_of_path, path, without_version};
pub use envelope::{Envelope, read as read_envelope, words as words_of_envelope};
pub use error::{bounded_sentence, error_sentence, markup_sentence};
pub use facts::{ChoiceFacts, Choices, ChunkFacts, Memory, PromptKinds, ServerTimes, Usage};
pub use forms::FormSpeech;
pub use generated::Generated;
pub use overflow::is_overflow;
pub use rejection::{Rejection, RequestField, rejected_fields};

use custom::Description;
use ifm_core::order::Order as _;

use crate::ask::{Ask, RequestError, TemplateSpec};
use ifm_core::spec::Api;
use ifm_core::{Carried, Medium, MediumKind, Message};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Every API that is spoken, in the order of [`Api::ALL`].
pub static DIALECTS: [&Dialect; Api::ALL.len()] = [
    &chat::DIALECT,
    &completions::DIALECT,
    &responses::DIALECT,
    &messages::DIALECT,
    &sglang::DIALECT,
    &tgi::DIALECT,
    &ollama::CHAT,
    &ollama::GENERATE,
    &llama_cpp::DIALECT,
    &triton::DIALECT,
    &embeddings::DIALECT,
    &rerank::DIALECT,
    &ollama_embed::DIALECT,
    &transcriptions::TRANSCRIPTIONS,
    &transcriptions::TRANSLATIONS,
    &speech::DIALECT,
];

/// The dialect of an API.
pub fn of(api: Api) -> &'static Dialect {
    let of_file = match api {
        Api::Custom(id) => custom::find(id),
        _ => None,
    };
    DIALECTS.into_iter().chain(of_file).find(|dialect| dialect.api == api).expect(
        "invariant: every API stands in the table, which a test checks, or was read from a file",
    )
}

/// The dialect of an API for a model: with some APIs the client has to write model-specific image
/// placeholders in the text.
pub fn of_model(api: Api, model: &str) -> &'static Dialect {
    match api {
        Api::Sglang => sglang::of_model(model),
        _ => of(api),
    }
}

/// The APIs that take media of a kind, in words.
fn takers(kind: MediumKind) -> String {
    let takers = DIALECTS.iter().filter(|dialect| dialect.media.kinds.contains(&kind));
    let takers: Vec<String> = takers.map(|dialect| dialect.api.word().replace('_', "-")).collect();
    takers.join(", ")
}

/// How the events of a stream are delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value to a line.
    Lines,
    /// None: the body is sound, and each read of it is an event. Where the head says that it is
    /// server-sent events, it is those.
    Bytes,
}

impl Framing {
    /// The media type for the `Accept` header, in addition to JSON.
    pub(crate) fn accepts(self) -> &'static str {
        match self {
            Framing::Events => "text/event-stream",
            Framing::Lines => "application/x-ndjson",
            Framing::Bytes => "audio/*, text/event-stream",
        }
    }
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

/// The position of the output length in the body.
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

/// Reads the payload of an event, or a whole answer; generated text is appended, if that is wanted.
/// The memory lives as long as the stream. An error says in one bounded sentence why the payload is
/// not JSON of this API.
type Read = for<'input> fn(
    &'input str,
    &mut Memory,
    Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String>;
/// Who reads answers.
#[derive(Debug)]
enum Reads {
    /// Code for this API: an event, and a whole answer.
    Code(Read, Read),
    /// What a file says.
    File(&'static Description),
}

/// Appends the fields that hold the prompt; says how many results the answer must hold.
type WritePrompt = fn(&Dialect, &Ask<'_>, &mut Vec<u8>) -> Result<Option<u32>, RequestError>;
/// Appends the fields that hold messages.
type PutMessages = fn(&[Message], &Ask<'_>, &mut Vec<u8>);
/// Fields of a JSON object.
type Fields = Map<String, Value>;

/// The fields for each kind of prompt in the body.
#[derive(Debug, Clone, Copy)]
struct Prompts {
    /// The field of a text; below `messages` it is what a user says.
    text: &'static str,
    /// The field of token ids, if they are taken.
    tokens: Option<&'static str>,
    /// Writes messages, if they are taken.
    messages: Option<PutMessages>,
    /// Writes one message, if messages are written independently of each other.
    message: Option<fn(&Message, &mut Vec<u8>)>,
    /// Writes one user message, for an API of texts that accepts media in separate fields.
    single: Option<fn(&Message, &mut Vec<u8>)>,
}

impl Prompts {
    /// Texts alone.
    const fn texts(field: &'static str) -> Prompts {
        Prompts { text: field, tokens: None, messages: None, message: None, single: None }
    }
}

/// The media that a prompt may carry in addition to text, and how.
#[derive(Debug, Clone, Copy)]
struct Media {
    kinds: &'static [MediumKind],
    /// Whether a URL may replace a file.
    addresses: bool,
    /// Whether a name may, which the server knows.
    names: bool,
    /// Whether it can be said how closely the model is to look at an image.
    details: bool,
    /// Whether the body groups media by kind, in the order of kinds here. Otherwise all media
    /// follow the order of the messages.
    by_kind: bool,
}

impl Media {
    /// Files in base64 alone.
    const fn of(kinds: &'static [MediumKind]) -> Media {
        Media { kinds, addresses: false, names: false, details: false, by_kind: false }
    }
}

/// One API.
#[derive(Debug)]
pub struct Dialect {
    /// Which one.
    pub api: Api,
    /// The endpoint paths.
    pub endpoint: Endpoint,
    /// How the events of its streams are delimited.
    pub framing: Framing,
    /// What makes one of its streams complete.
    pub end: End,
    /// The mark, without any JSON, that ends a stream.
    end_mark: Option<&'static str>,
    /// Whether the API has a word for going on past the end of the text.
    pub can_ignore_eos: bool,
    /// Whether all models behind the API take a temperature, so that one may be sent unasked.
    pub takes_temperature: bool,
    /// Whether the body names the model.
    names_model: bool,
    /// The position of the output length; absent for an API that generates nothing.
    pub length: Option<LengthField>,
    /// Puts further fields that all requests of a level share into the body and its options.
    more_fields: fn(&TemplateSpec<'_>, &mut Fields, &mut Fields),
    headers: fn(Option<&str>) -> Vec<(&'static str, String)>,
    prompts: Prompts,
    /// Whether the body is a form with one file, and not JSON.
    pub(crate) is_multipart: bool,
    media: Media,
    /// In whose words tools are declared, if the API has tools.
    tools: Option<tools::Words>,
    /// Body fields that contain the prompt, if they are not the text field in `prompts`.
    prompt_fields: &'static [&'static str],
    write_prompt: WritePrompt,
    /// Writes the field for the answer format, if the API supports one.
    form: Option<forms::WriteForm>,
    /// The field that bounds how many results the answer may hold, for an API that answers with a
    /// list of them.
    results_max: Option<&'static str>,
    /// Keys of JSON strings that carry output, for the quick way through a stream of events that
    /// differ in nothing else.
    pub output_keys: &'static [&'static [u8]],
    reads: Reads,
}

impl Dialect {
    /// The usual: events, an end of its own, the model and options in the body.
    const fn new(api: Api, endpoint: Endpoint, read_event: Read, read_answer: Read) -> Dialect {
        Dialect {
            api,
            endpoint,
            framing: Framing::Events,
            end: End::Mark,
            end_mark: None,
            can_ignore_eos: true,
            takes_temperature: true,
            names_model: true,
            length: None,
            more_fields: |_, _, _| {},
            headers: |authorization| {
                authorization.map(|value| ("Authorization", value.to_owned())).into_iter().collect()
            },
            prompts: Prompts::texts(""),
            is_multipart: false,
            media: Media::of(&[]),
            tools: None,
            prompt_fields: &[],
            write_prompt: body::write_prompt,
            form: None,
            results_max: None,
            output_keys: &[],
            reads: Reads::Code(read_event, read_answer),
        }
    }

    /// What the file says that describes the API; absent for one that the program knows.
    pub fn file(&self) -> Option<&'static Description> {
        match self.reads {
            Reads::Code(..) => None,
            Reads::File(file) => Some(file),
        }
    }

    /// Whether the server puts a prompt into the model's chat template.
    pub fn has_template(&self) -> bool {
        self.file().map_or_else(|| self.api.has_template(), Description::takes_messages)
    }

    /// Headers that the API requires in addition to the usual ones; the user's headers override
    /// them. `authorization` is the value of an `Authorization` header, if there is a key.
    pub fn headers(&self, authorization: Option<&str>) -> Vec<(&'static str, String)> {
        match self.file() {
            Some(file) => file.headers(authorization),
            None => (self.headers)(authorization),
        }
    }

    /// Fields of the body that are the same for every request of a level, without the user's.
    pub fn fixed_fields(&self, spec: &TemplateSpec<'_>) -> Map<String, Value> {
        if let Some(file) = self.file() {
            return file.fixed_fields(spec);
        }
        let (mut fields, mut options) = (Map::new(), Map::new());
        if self.names_model {
            fields.insert("model".to_owned(), spec.model.into());
        }
        let Some(length) = self.length else {
            (self.more_fields)(spec, &mut fields, &mut options);
            return fields;
        };
        fields.insert("stream".to_owned(), spec.stream.into());
        if spec.ignore_eos && self.can_ignore_eos {
            options.insert("ignore_eos".to_owned(), true.into());
        }
        if let Some(temperature) = spec.temperature {
            options.insert("temperature".to_owned(), temperature.into());
        }
        (self.more_fields)(spec, &mut fields, &mut options);
        match length.within {
            Some(name) => fields.extend([(name.to_owned(), options.into())]),
            None => fields.extend(options),
        }
        fields
    }

    /// Fields of the body that [`Dialect::write_prompt`] may write.
    pub fn prompt_fields(&self) -> impl Iterator<Item = &'static str> {
        let own = (self.prompt_fields.is_empty()).then_some(self.prompts.text);
        own.into_iter().chain(self.prompts.tokens).chain(self.prompt_fields.iter().copied())
    }

    /// Fields of one request in this API's format: a workload may define tools in the format of any
    /// API.
    pub(crate) fn told<'fields>(&self, own: &'fields Fields) -> Cow<'fields, Fields> {
        match (self.file(), self.tools) {
            (Some(file), _) => file.told(own),
            (None, Some(words)) => tools::told(words, own),
            (None, None) => Cow::Borrowed(own),
        }
    }

    /// Whether the fields of one request hold its prompt, so that [`Dialect::write_prompt`] is not
    /// called for it.
    pub fn has_prompt(&self, fields: &Map<String, Value>) -> bool {
        if let Some(file) = self.file() {
            return fields.contains_key(file.main_field());
        }
        self.length.is_some()
            && !self.is_multipart
            && self.prompt_fields().any(|name| fields.contains_key(name))
    }

    /// Appends the fields that hold the prompt to a JSON object that is being written. Returns
    /// how many results the answer must hold, for an API that answers with a list of them.
    ///
    /// # Errors
    /// [`RequestError::Prompt`] for a kind of prompt that the API does not take.
    pub fn write_prompt(
        &self,
        ask: &Ask<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<u32>, RequestError> {
        ask.prompt.media().chain(ask.said_media).try_for_each(|medium| self.check(medium))?;
        (self.write_prompt)(self, ask, out)
    }

    /// Whether a prompt may carry the medium, in the way in which it is carried.
    fn check(&self, medium: &Medium) -> Result<(), RequestError> {
        let (api, kind) = (self.api.word(), medium.kind.word());
        let is_file = matches!(medium.carried, Carried::File(_));
        if !self.media.kinds.contains(&medium.kind) || is_file != self.is_multipart {
            return Err(RequestError::Medium { api, kind, takers: takers(medium.kind) });
        }
        match medium.carried {
            Carried::Url(_) if !self.media.addresses => Err(RequestError::Address { api, kind }),
            Carried::Name if !self.media.names => Err(RequestError::Name { api, kind }),
            _ if medium.detail.is_some() && !self.media.details => {
                Err(RequestError::Detail { api })
            }
            _ => Ok(()),
        }
    }

    /// The media of a request in the order in which [`Dialect::write_prompt`] writes them.
    pub(crate) fn in_order<'ask>(&self, ask: &Ask<'ask>) -> Vec<&'ask Medium> {
        let media = ask.said_media.iter().chain(ask.prompt.media());
        let mut media: Vec<&Medium> = media.map(|medium| &**medium).collect();
        if self.media.by_kind {
            let place =
                |medium: &&Medium| self.media.kinds.iter().position(|kind| *kind == medium.kind);
            media.order_by_key(place);
        }
        media
    }

    /// Appends one message, if messages are written independently of each other. Returns whether it
    /// was appended.
    pub(crate) fn put_message(&self, message: &Message, out: &mut Vec<u8>) -> bool {
        if let Some(file) = self.file() {
            return file.put_message(message, out);
        }
        let put = self.prompts.message;
        if let Some(put) = put {
            put(message, out);
        }
        put.is_some()
    }

    /// The most results that a body lets the answer hold, for an API that answers with a list of
    /// them.
    pub fn results_max(&self, body: &Map<String, Value>) -> Option<u32> {
        body.get(self.results_max?)?.as_u64()?.try_into().ok()
    }

    /// Whether the payload is a mark, without any JSON, that ends a stream.
    pub fn is_end_mark(&self, data: &[u8]) -> bool {
        self.end_mark.is_some_and(|mark| data.trim_ascii() == mark.as_bytes())
    }

    /// Reads the payload of one event of a stream; generated text is appended to `text`, if
    /// given. `memory` lives as long as the stream.
    ///
    /// # Errors
    /// Why the payload is not JSON of this API, in one bounded sentence.
    pub fn read_event<'input>(
        &self,
        data: &'input str,
        memory: &mut Memory,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        match &self.reads {
            Reads::Code(read_event, _) => read_event(data, memory, text),
            Reads::File(file) => file.read_event(data, memory, text),
        }
    }

    /// Reads a whole answer that was not streamed.
    ///
    /// # Errors
    /// As [`Dialect::read_event`].
    pub fn read_answer<'input>(
        &self,
        data: &'input str,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        match &self.reads {
            Reads::Code(_, read_answer) => read_answer(data, &mut Memory::default(), text),
            Reads::File(file) => file.read_answer(data, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_one_line_for_each_api_in_its_order() {
        let listed = DIALECTS.map(|dialect| dialect.api);
        assert_eq!(listed, Api::ALL);
        for api in Api::ALL {
            assert_eq!(of(api).api, api);
        }
    }

    #[test]
    fn what_the_workload_writes_is_not_fixed() {
        for dialect in DIALECTS {
            let spec = TemplateSpec {
                api: dialect.api,
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
                assert!(!fixed.contains_key(name), "{dialect:?} {name}");
            }
        }
    }
}
