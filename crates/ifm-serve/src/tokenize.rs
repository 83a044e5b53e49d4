//! `POST /tokenize` and `POST /detokenize`, as vLLM has them.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use crate::{
    app::App, body::read_fields, error::ApiError, fields::token_ids, template::read_messages,
};

/// Tokens of a text or of a chat.
pub(crate) async fn tokenize(
    State(app): State<Arc<App>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let fields = read_fields(body)?;
    app.check_model(&fields)?;
    let is_bare =
        fields.value("add_special_tokens").is_some() && !fields.flag("add_special_tokens")?;
    let text = match fields.text("prompt")? {
        Some(text) => text.to_owned(),
        None => {
            let answer = fields.value("add_generation_prompt").is_none()
                || fields.flag("add_generation_prompt")?;
            // A chat with media has more tokens than its text: they are told by its answer.
            let messages = read_messages(&fields, &mut |_| Ok(false))?;
            app.template.render(&messages, answer)
        }
    };
    let tokens = app.encode(text, !is_bare).await?;
    let tokenizer = app.backend.tokenizer();
    let texts = fields
        .flag("return_token_strs")?
        .then(|| tokens.iter().map(|id| tokenizer.token(*id)).collect::<Vec<_>>());
    Ok(Json(json!({
        "count": tokens.len(),
        "max_model_len": app.context(),
        "tokens": tokens,
        "token_strs": texts,
    }))
    .into_response())
}

/// The text of tokens.
pub(crate) async fn detokenize(
    State(app): State<Arc<App>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let fields = read_fields(body)?;
    app.check_model(&fields)?;
    let tokens = fields
        .list("tokens")?
        .and_then(token_ids)
        .ok_or_else(|| ApiError::field("tokens", "`tokens` must be a list of token ids."))?;
    let text = app
        .backend
        .tokenizer()
        .decode(&tokens)
        .map_err(|error| ApiError::invalid(error.to_string()))?;
    Ok(Json(json!({"prompt": text})).into_response())
}
