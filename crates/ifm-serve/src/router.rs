//! Which path leads where, who may ask, and the small answers about the server itself.
//!
//! Not here: answers that are generated (`chat`, `completions`), sockets (`server`).

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Request, State},
    http::{HeaderName, HeaderValue, Method, header::AUTHORIZATION},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use serde_json::json;

use crate::{
    app::App,
    audio::{speech, transcription},
    browser::share,
    chat, completions,
    error::ApiError,
    foreign, tokenize,
};

/// Paths that require no key and that no check of a browser closes: monitoring reads them by any name.
const OPEN_PATHS: [&str; 4] = ["/health", "/ping", "/version", "/metrics"];

/// Which path leads where.
pub(crate) fn router(app: Arc<App>, body_bytes_max: usize) -> Router {
    let guarded = Router::new()
        .route("/v1/models", get(models))
        .route("/v1/models/{*model}", get(model))
        .route("/v1/chat/completions", post(chat::handle))
        .route("/v1/completions", post(completions::handle))
        .merge(foreign::routes())
        .route("/v1/audio/transcriptions", post(transcription::handle))
        .route("/v1/audio/translations", post(transcription::handle))
        .route("/v1/audio/speech", post(speech::handle))
        .route("/tokenize", post(tokenize::tokenize))
        .route("/detokenize", post(tokenize::detokenize))
        .route("/reset_prefix_cache", post(reset_prefix_cache))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&app), check_key));
    guarded
        .route("/health", get(health))
        .route("/ping", get(health))
        .route("/version", get(version))
        .route("/metrics", get(metrics))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(body_bytes_max))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), check_browser))
        .with_state(app)
}

async fn check_key(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    if let Some(key) = &app.api_key {
        let header = |name| request.headers().get(name).map(HeaderValue::as_bytes);
        let given = header(AUTHORIZATION).and_then(|value| {
            let (scheme, token) = value.split_at_checked("Bearer ".len())?;
            scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
        });
        // Anthropic's clients bring it so.
        let given = given.or_else(|| header(HeaderName::from_static("x-api-key")));
        if !given.is_some_and(|given| is_equal(given, key.as_bytes())) {
            return Err(ApiError::unauthorized());
        }
    }
    Ok(next.run(request).await)
}

/// Checks every request first: a refused page learns nothing and costs nothing.
async fn check_browser(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_open = OPEN_PATHS.contains(&request.uri().path());
    match app.guard.admit(request.method(), request.headers()) {
        Err(_) if is_open && *request.method() == Method::GET => next.run(request).await,
        Err(answer) => *answer,
        Ok(None) => next.run(request).await,
        Ok(Some(origin)) => {
            let mut answer = next.run(request).await;
            share(&mut answer, origin);
            answer
        }
    }
}

/// Compares in a time that does not tell how much of a guess is right.
fn is_equal(first: &[u8], second: &[u8]) -> bool {
    let differences = first.iter().zip(second).fold(0, |all, (a, b)| all | (a ^ b));
    first.len() == second.len() && differences == 0
}

async fn models(State(app): State<Arc<App>>) -> Response {
    Json(json!({"object": "list", "data": [describe_model(&app)]})).into_response()
}

async fn model(
    State(app): State<Arc<App>>,
    axum::extract::Path(name): axum::extract::Path<String>,
) -> Result<Response, ApiError> {
    if name != app.model_name {
        return Err(ApiError::unknown_model(&name));
    }
    Ok(Json(describe_model(&app)).into_response())
}

fn describe_model(app: &App) -> serde_json::Value {
    let facts = app.backend.facts();
    let mut meta = facts.meta.clone();
    if let Some(faults) = app.faults.text() {
        meta["faults"] = faults.into();
    }
    json!({
        "id": app.model_name,
        "object": "model",
        "created": app.created_s,
        "owned_by": "inferometer",
        "root": facts.name,
        "parent": null,
        "max_model_len": app.context(),
        "permission": [],
        "meta": meta,
    })
}

async fn health() -> &'static str {
    ""
}

async fn version(State(app): State<Arc<App>>) -> Response {
    let mut version = json!({"version": app.version, "server": "inferometer"});
    if app.backend.facts().is_simulated {
        version["simulated"] = true.into();
    }
    Json(version).into_response()
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    let (facts, counters) = (app.backend.facts(), app.backend.counters());
    let page = app.metrics.page(&app.model_name, facts, &counters, &app.media);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(axum::http::header::CONTENT_TYPE, kind)], page).into_response()
}

/// Forgets all prompts, as vLLM does; a backend that remembers none has no such path.
async fn reset_prefix_cache(State(app): State<Arc<App>>, request: Request) -> Response {
    if app.backend.reset_prefix_cache() {
        Json(json!({"success": true})).into_response()
    } else {
        unknown_path(request).await.into_response()
    }
}

async fn unknown_path(request: Request) -> ApiError {
    ApiError::not_found(format!("There is nothing at {}.", request.uri().path()))
}

async fn wrong_method(method: Method) -> ApiError {
    ApiError::method(method.as_str())
}
