//! From a checked request to an answer: whole or streamed.
//!
//! Not here: reading requests (`chat`, `completions`).

use std::{sync::Arc, time::Instant};

use axum::{
    Json,
    body::Body,
    http::{
        HeaderValue,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{IntoResponse as _, Response},
};
use ifm_engine::{Event, EventReceiver};

use crate::{
    app::App,
    error::ApiError,
    frames::{Api, EventWriter, Identity},
    params::Params,
    stream::{EventBody, Stopwatch},
};

/// A request in the engine's terms.
pub(crate) struct Generation {
    pub(crate) api: Api,
    pub(crate) params: Params,
    pub(crate) prompt: Vec<u32>,
    /// Tokens of the answer when the request does not say; `None` for all that fit.
    pub(crate) max_tokens_default: Option<usize>,
    pub(crate) arrival: Instant,
}

/// Runs a request.
pub(crate) async fn generate(app: Arc<App>, generation: Generation) -> Result<Response, ApiError> {
    let Generation { api, params, prompt, max_tokens_default, arrival } = generation;
    let (prompt_tokens, context) = (prompt.len(), app.context());
    let max_tokens = match params.max_tokens.or(max_tokens_default) {
        Some(tokens) => tokens,
        None if prompt_tokens < context => context - prompt_tokens,
        None => 1,
    };
    if prompt_tokens.saturating_add(max_tokens) > context {
        return Err(ApiError::too_long(prompt_tokens, max_tokens, context));
    }
    let events = app.engine.submit(params.request(prompt, max_tokens))?;
    let identity = app.identify(api);
    let stopwatch = Stopwatch::new(Arc::clone(&app.metrics), arrival);
    match params.stream {
        None => collect(events, &identity, stopwatch).await,
        Some(stream) => {
            let writer = EventWriter::new(&identity, stream, prompt_tokens);
            let mut response = Response::new(Body::new(EventBody::new(events, writer, stopwatch)));
            let headers = response.headers_mut();
            let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
            headers.insert(CONTENT_TYPE, kind);
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            Ok(response)
        }
    }
}

async fn collect(
    mut events: EventReceiver,
    identity: &Identity,
    mut stopwatch: Stopwatch,
) -> Result<Response, ApiError> {
    let mut text = String::new();
    while let Some(event) = events.recv().await {
        match event {
            Event::Token(token) => {
                text.push_str(&token.text);
                stopwatch.token(token.finish.is_some());
                if let Some(finish) = token.finish {
                    return Ok(Json(identity.answer(&text, &finish)).into_response());
                }
            }
            Event::Failed(reason) => return Err(ApiError::internal(reason)),
        }
    }
    Err(ApiError::internal("The engine has stopped."))
}
