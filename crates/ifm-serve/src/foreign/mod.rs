//! APIs beside OpenAI's chat and completions: a request of each becomes the fields of one of those two,
//! and what comes out is written in the API's own words.
//!
//! Not here: how requests are read (`request`), how answers are written (`answer`), what answers them
//! (`generate`).

mod answer;
mod request;

use std::{fmt, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::{ConnectInfo, State, rejection::BytesRejection},
    response::Response,
    routing::post,
};
use serde_json::Value;

use crate::{
    app::App,
    body::read_fields,
    chat, completions,
    error::ApiError,
    event::Finish,
    fields::Fields,
    frames::{Api, Foreign, Frames, Identity},
    socket::Connection,
};

/// One API.
struct Dialect {
    path: &'static str,
    id_prefix: &'static str,
    /// Whether a stream is one JSON object to a line; events otherwise.
    has_lines: bool,
    /// A request as one of OpenAI's: of a chat where it has `messages`, else of a completion.
    read: fn(Fields) -> Result<Fields, ApiError>,
    begin: fn(&mut Stream, &mut Vec<u8>),
    token: fn(&mut Stream, &mut Vec<u8>, &str, usize),
    end: fn(&mut Stream, &mut Vec<u8>, &Finish),
    /// A whole answer.
    whole: fn(&Said<'_>, &Finish) -> Value,
    error: fn(&mut Vec<u8>, &Value),
}

/// All of them.
static DIALECTS: [&Dialect; 6] = [
    &answer::RESPONSES,
    &answer::MESSAGES,
    &answer::OLLAMA_CHAT,
    &answer::OLLAMA_GENERATE,
    &answer::SGLANG,
    &answer::LLAMA_CPP,
];

impl fmt::Debug for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.path)
    }
}

/// An answer as far as it goes.
struct Said<'said> {
    identity: &'said Identity,
    text: &'said str,
    has_usage: bool,
}

/// Writes the events of one answer.
#[derive(Debug)]
struct Stream {
    dialect: &'static Dialect,
    identity: Identity,
    prompt_tokens: usize,
    has_usage: bool,
    /// The text so far.
    text: String,
    /// Events so far.
    events: u64,
}

impl Foreign for Dialect {
    fn id_prefix(&self) -> &'static str {
        self.id_prefix
    }

    fn has_lines(&self) -> bool {
        self.has_lines
    }

    fn stream(
        &'static self,
        identity: &Identity,
        prompt_tokens: usize,
        has_usage: bool,
    ) -> Box<dyn Frames> {
        let (identity, text) = (identity.clone(), String::new());
        Box::new(Stream { dialect: self, identity, prompt_tokens, has_usage, text, events: 0 })
    }

    fn whole(&self, identity: &Identity, text: &str, finish: &Finish, has_usage: bool) -> Value {
        (self.whole)(&Said { identity, text, has_usage }, finish)
    }

    fn write_error(&self, out: &mut Vec<u8>, error: &Value) {
        (self.error)(out, error);
    }
}

impl Stream {
    fn said(&self) -> Said<'_> {
        Said { identity: &self.identity, text: &self.text, has_usage: self.has_usage }
    }
}

impl Frames for Stream {
    fn begin(&mut self, out: &mut Vec<u8>) {
        (self.dialect.begin)(self, out);
    }

    fn token(&mut self, out: &mut Vec<u8>, text: &str, tokens: usize, _: Option<&Finish>) {
        self.text.push_str(text);
        (self.dialect.token)(self, out, text, tokens);
    }

    fn end(&mut self, out: &mut Vec<u8>, finish: &Finish, _: Option<Value>) {
        (self.dialect.end)(self, out, finish);
    }

    fn error(&self, out: &mut Vec<u8>, error: &Value) {
        self.dialect.write_error(out, error);
    }
}

/// Their paths.
pub(crate) fn routes() -> Router<Arc<App>> {
    DIALECTS.iter().fold(Router::new(), |router, dialect| {
        let handle = |State(app): State<Arc<App>>,
                      connection: ConnectInfo<Connection>,
                      body: Result<Bytes, BytesRejection>| {
            answer(dialect, app, connection, body)
        };
        router.route(dialect.path, post(handle))
    })
}

async fn answer(
    dialect: &'static Dialect,
    app: Arc<App>,
    connection: ConnectInfo<Connection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let arrival = connection.0.arrival();
    let fields = (dialect.read)(read_fields(body)?)?;
    let api = Api::Foreign(dialect);
    match fields.value("messages").is_some() {
        true => chat::answer(api, app, connection, arrival, fields).await,
        false => completions::answer(api, app, connection, arrival, fields).await,
    }
}
