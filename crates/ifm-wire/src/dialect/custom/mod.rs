//! APIs described by a file: TOML that defines how to write a request and where to find values in
//! the answers. The result is a [`Dialect`] like the built-in ones.
//!
//! A process reads one such file, or a few, and speaks what it says until it ends: so what is read
//! stays, by the id of its text, and [`of`](super::of) finds it.
//!
//! Not here: the files that come with the program (`shipped`), and what a probe shows (`shown`).

mod compile;
mod form;
mod message;
mod models;
mod place;
mod pointer;
mod reading;
mod request;
mod shipped;
mod shown;
mod tools;

#[cfg(feature = "schema")]
pub use form::File as ApiFileForm;
pub use models::ModelList;
pub use shipped::{SHIPPED, Shipped};
pub use shown::{Shown, plainly, text_like};

use super::{ChunkFacts, Dialect, Fields, Generated, Memory};
use crate::ask::{Ask, RequestError, TemplateSpec};
use ifm_core::Message;
use ifm_core::spec::{Api, ApiFile, FileId};
use message::Messages;
use reading::Reading;
use request::Body;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};
use tools::Tools;

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ApiFileError(pub(super) String);

/// Everything that was read.
static KNOWN: RwLock<Vec<&'static Dialect>> = RwLock::new(Vec::new());

/// An API as a file describes it.
#[derive(Debug)]
pub struct Description {
    file: ApiFile,
    /// What it is, in a line.
    pub about: String,
    /// The environment variable that holds the key, unless the command line names one.
    pub key_env: Option<String>,
    /// Where its server lists the models, if it does.
    pub models: Option<ModelList>,
    headers: Vec<(String, String)>,
    body: Body,
    messages: Option<Messages>,
    tools: Option<Tools>,
    /// Where to find values in the events of a stream.
    event: Reading,
    /// Where to find values in a whole answer.
    whole: Reading,
}

/// Reads a file. The same text again is the same API.
///
/// # Errors
/// What is wrong with it, with its line.
pub fn read(name: &str, text: &str) -> Result<Api, ApiFileError> {
    let sum = Sha256::digest(text.as_bytes());
    let mut id = [0; 8];
    id.iter_mut().zip(sum).for_each(|(own, byte)| *own = byte);
    let id = FileId(id);
    if find(id).is_none() {
        let sha256 = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        let file = ApiFile { name: name.to_owned(), sha256, text: text.to_owned() };
        let dialect: &'static Dialect = Box::leak(Box::new(compile::dialect(id, file)?));
        KNOWN.write().unwrap_or_else(PoisonError::into_inner).push(dialect);
    }
    Ok(Api::Custom(id))
}

/// What a file says that its API is, in a line; empty where it cannot be read.
pub fn about(text: &str) -> String {
    toml::from_str::<form::File>(text).map(|file| file.about).unwrap_or_default()
}

/// The dialect of a file that was read.
pub(super) fn find(id: FileId) -> Option<&'static Dialect> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.iter().copied().find(|dialect| dialect.api == Api::Custom(id))
}

impl Description {
    /// The file, as a run stores it.
    pub fn stored(&self) -> ApiFile {
        self.file.clone()
    }

    /// Whether the server gets messages, and puts them into the model's chat template.
    pub fn takes_messages(&self) -> bool {
        self.body.takes_messages
    }

    /// Headers of a request; those with a key only where there is one.
    pub(super) fn headers(
        &'static self,
        authorization: Option<&str>,
    ) -> Vec<(&'static str, String)> {
        const KEY: &str = "{key}";
        let key = authorization.map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
        let sent = self.headers.iter().filter(|(_, value)| key.is_some() || !value.contains(KEY));
        sent.map(|(name, value)| (name.as_str(), value.replace(KEY, key.unwrap_or_default())))
            .collect()
    }

    pub(super) fn fixed_fields(&self, spec: &TemplateSpec<'_>) -> Fields {
        self.body.fixed_fields(spec)
    }

    /// Fields of one request with its tools as the API has them.
    pub(super) fn told<'fields>(
        &self,
        own: &'fields Map<String, Value>,
    ) -> Cow<'fields, Map<String, Value>> {
        self.tools.as_ref().map_or(Cow::Borrowed(own), |tools| tools.told(own))
    }

    /// The field of the body with the text or the messages.
    pub(super) fn main_field(&self) -> &str {
        self.body.main_field()
    }

    pub(super) fn put_prompt(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Result<(), RequestError> {
        self.body.put_prompt(self.messages.as_ref(), ask, out)
    }

    /// Appends one message if it is written the same way regardless of the others. Returns whether
    /// it was appended.
    pub(super) fn put_message(&self, message: &Message, out: &mut Vec<u8>) -> bool {
        let messages = self.messages.as_ref().filter(|messages| messages.is_alone(message));
        messages.into_iter().for_each(|messages| messages.put_one(message, out));
        messages.is_some()
    }

    pub(super) fn read_event<'input>(
        &self,
        data: &'input str,
        memory: &mut Memory,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        self.event.read(data, memory, text)
    }

    /// A whole answer without a text is complete, too, if it says why it ended.
    pub(super) fn read_answer<'input>(
        &self,
        data: &'input str,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        self.whole.read(data, &mut Memory::default(), text)
    }
}

#[cfg(test)]
mod tests;
