//! `POST /v1/completions`: a text or its tokens, continued.

use std::{sync::Arc, time::Instant};

use axum::{
    body::Bytes,
    extract::{ConnectInfo, State, rejection::BytesRejection},
    response::Response,
};
use serde_json::Value;

use crate::{
    app::App,
    body::read_fields,
    error::ApiError,
    fields::{Fields, token_ids},
    frames::Api,
    generate::{Generation, generate},
    media::Taken,
    params::Params,
    socket::Connection,
    template::MEDIUM,
};

/// Tokens of an answer when the request does not say: OpenAI's default.
const MAX_TOKENS_DEFAULT: usize = 16;

/// Continues a prompt.
pub(crate) async fn handle(
    State(app): State<Arc<App>>,
    connection: ConnectInfo<Connection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let arrival = connection.0.arrival();
    answer(Api::Completions, app, connection, arrival, read_fields(body)?).await
}

/// Continues a prompt in the words of an API. Media of one that takes them stand before its text.
pub(crate) async fn answer(
    api: Api,
    app: Arc<App>,
    connection: ConnectInfo<Connection>,
    arrival: Instant,
    fields: Fields,
) -> Result<Response, ApiError> {
    app.check_model(&fields)?;
    let params = Params::read(&fields)?;
    let mut media = Taken::default();
    let parts = match api {
        Api::Foreign(_) => fields.list("media")?.unwrap_or_default(),
        Api::Chat | Api::Completions => &[],
    };
    for part in parts {
        app.media.take(part, &mut media)?;
    }
    let prompt = match read_prompt(&fields)? {
        Prompt::Text(text) if !parts.is_empty() => {
            let places = String::from(MEDIUM).repeat(parts.len());
            app.encode_with(places + &text.replace(MEDIUM, ""), &media).await?
        }
        Prompt::Text(text) => app.encode(text, true).await?,
        Prompt::Tokens(tokens) => tokens,
    };
    let max_tokens_default = Some(MAX_TOKENS_DEFAULT);
    let generation =
        Generation { api, params, prompt, media, max_tokens_default, arrival, connection };
    generate(app, generation).await
}

#[derive(Debug, PartialEq, Eq)]
enum Prompt {
    Text(String),
    Tokens(Vec<u32>),
}

/// A text, a list with one text, tokens, or a list with one list of tokens.
fn read_prompt(fields: &Fields) -> Result<Prompt, ApiError> {
    let error = |message: &str| Err(ApiError::field("prompt", message));
    let value = match fields.value("prompt") {
        Some(Value::Array(list)) => match list.as_slice() {
            [] => return error("`prompt` is empty."),
            [only @ (Value::String(_) | Value::Array(_))] => only,
            [Value::String(_) | Value::Array(_), ..] => {
                return error(
                    "`prompt` has several prompts; this server takes one for each request.",
                );
            }
            _ => &Value::Array(list.clone()),
        },
        Some(value) => value,
        None => return error("`prompt` is missing."),
    };
    match value {
        Value::String(text) => Ok(Prompt::Text(text.clone())),
        Value::Array(list) => match token_ids(list) {
            Some(tokens) => Ok(Prompt::Tokens(tokens)),
            None => error("`prompt` has an entry that is not a token id."),
        },
        _ => error("`prompt` must be a string or a list of token ids."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Prompt, ApiError> {
        read_prompt(&Fields::parse(json.as_bytes()).expect("an object"))
    }

    #[test]
    fn prompts_come_in_four_forms() {
        assert_eq!(read(r#"{"prompt": "hi"}"#), Ok(Prompt::Text("hi".to_owned())));
        assert_eq!(read(r#"{"prompt": ["hi"]}"#), Ok(Prompt::Text("hi".to_owned())));
        assert_eq!(read(r#"{"prompt": [1, 2]}"#), Ok(Prompt::Tokens(vec![1, 2])));
        assert_eq!(read(r#"{"prompt": [[1, 2]]}"#), Ok(Prompt::Tokens(vec![1, 2])));
    }

    #[test]
    fn other_prompts_are_refused() {
        for json in [
            "{}",
            r#"{"prompt": 5}"#,
            r#"{"prompt": []}"#,
            r#"{"prompt": ["a", "b"]}"#,
            r#"{"prompt": [[1], [2]]}"#,
            r#"{"prompt": [1, "a"]}"#,
            r#"{"prompt": [1, -2]}"#,
            r#"{"prompt": [1.5]}"#,
        ] {
            let error = read(json).expect_err(json).to_json();
            assert_eq!(error["error"]["param"], "prompt", "{json}");
        }
    }
}
