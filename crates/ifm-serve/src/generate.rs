//! From a checked request to an answer: whole or streamed.
//!
//! Not here: reading requests (`chat`, `completions`).

use std::{future::poll_fn, sync::Arc, time::Instant};

use axum::{
    Json,
    body::Body,
    extract::ConnectInfo,
    http::{
        HeaderValue, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{IntoResponse as _, Response},
};
use tokio::time::sleep;

use crate::{
    app::App,
    backend::Events,
    error::ApiError,
    event::Event,
    fault::{Cut, Fate, FaultBody, HowCut},
    form::{self, Script},
    frames::{Api, Identity, frames},
    media::Taken,
    params::Params,
    socket::Connection,
    stopwatch::Stopwatch,
    stream::EventBody,
};

/// A request in the backend's terms.
pub(crate) struct Generation {
    pub(crate) api: Api,
    pub(crate) params: Params,
    pub(crate) prompt: Vec<u32>,
    pub(crate) media: Taken,
    /// Tokens of the answer when the request does not say; `None` for all that fit.
    pub(crate) max_tokens_default: Option<usize>,
    pub(crate) arrival: Instant,
    pub(crate) connection: ConnectInfo<Connection>,
}

/// Runs a request.
pub(crate) async fn generate(app: Arc<App>, generation: Generation) -> Result<Response, ApiError> {
    let Generation { api, params, prompt, media, max_tokens_default, arrival, connection } =
        generation;
    let identity = Identity { media: media.told(), ..app.identify(api) };
    let fate = app.faults.fate(identity.number);
    if let Some(status) = fate.refusal {
        return Err(ApiError::on_demand(status, identity.number));
    }
    let (prompt_tokens, context) = (prompt.len(), app.context());
    let max_tokens = match params.max_tokens.or(max_tokens_default) {
        Some(tokens) => tokens,
        None if prompt_tokens < context => context - prompt_tokens,
        None => 1,
    };
    if prompt_tokens.saturating_add(max_tokens) > context {
        return Err(ApiError::too_long(prompt_tokens, max_tokens, context));
    }
    let delay = fate.delay + media.delay;
    if !delay.is_zero() {
        sleep(delay).await;
    }
    let mut late = delay;
    let (request, script) = match &params.form {
        None => (params.request(prompt, max_tokens), None),
        Some(form) => {
            let wait = app.grammars.wait(form, Instant::now());
            if !wait.is_zero() {
                sleep(wait).await;
                late += wait;
            }
            let text = form.text(params.seed() ^ identity.number)?;
            let text = if fate.breaks_form { form::broken(&text) } else { text };
            let tokens = app.encode(text.clone(), false).await?.len().max(1);
            let asked = if params.goes_on() { max_tokens } else { max_tokens.min(tokens) };
            (params.request_of(prompt, asked), Some(Script::new(&text, tokens)))
        }
    };
    let events = app.backend.submit(request, arrival + late)?;
    let events = match script {
        None => events,
        Some(script) => Events::Scripted(Box::new(events), script),
    };
    let stopwatch = Stopwatch::new(Arc::clone(&app.metrics), arrival, app.tells_times);
    let ConnectInfo(connection) = connection;
    match params.stream {
        None => {
            let response = collect(events, &identity, stopwatch, &fate).await?;
            Ok(meet(response, &fate, connection, 1, api))
        }
        Some(stream) => {
            let writer = frames(&identity, stream, prompt_tokens, fate.tells_usage);
            let body = EventBody::new(events, writer, stopwatch, fate.tokens_per_event);
            let mut response = Response::new(Body::new(body));
            let headers = response.headers_mut();
            let kind = match api.has_lines() {
                true => "application/x-ndjson",
                false => "text/event-stream; charset=utf-8",
            };
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            let events = max_tokens.div_ceil(fate.tokens_per_event);
            Ok(meet(response, &fate, connection, events, api))
        }
    }
}

/// Has an answer of about so many events meet with its fate.
fn meet(
    response: Response,
    fate: &Fate,
    connection: Connection,
    events: usize,
    api: Api,
) -> Response {
    if !fate.strikes_body() {
        return response;
    }
    response.map(|body| Body::new(FaultBody::new(body, fate, connection, events, api)))
}

async fn collect(
    mut events: Events,
    identity: &Identity,
    mut stopwatch: Stopwatch,
    fate: &Fate,
) -> Result<Response, ApiError> {
    let mut text = String::new();
    while let Some(event) = poll_fn(|context| events.poll_next(context)).await {
        match event {
            Event::Piece(piece) => {
                text.push_str(&piece.text);
                stopwatch.note(&piece);
                let Some(finish) = piece.finish else { continue };
                // A whole answer has no stream for the error to be in.
                if matches!(fate.cut, Some(Cut { how: HowCut::Error, .. })) {
                    let status = StatusCode::INTERNAL_SERVER_ERROR;
                    return Err(ApiError::on_demand(status, identity.number));
                }
                let timing = stopwatch.told(&finish);
                let answer = identity.answer(&text, &finish, fate.tells_usage, timing);
                return Ok(Json(answer).into_response());
            }
            Event::Failed(reason) => return Err(ApiError::internal(reason)),
        }
    }
    Err(ApiError::internal("The engine has stopped."))
}
