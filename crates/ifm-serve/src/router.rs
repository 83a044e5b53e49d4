//! Which path leads where, who may ask, and the small answers about the server itself.
//!
//! Not here: answers that are generated (`chat`, `completions`), sockets (`server`).

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Request, State},
    http::{Method, header::AUTHORIZATION},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use serde_json::json;

use crate::{app::App, chat, completions, error::ApiError, tokenize};

/// Which path leads where.
pub(crate) fn router(app: Arc<App>, body_bytes_max: usize) -> Router {
    let guarded = Router::new()
        .route("/v1/models", get(models))
        .route("/v1/models/{*model}", get(model))
        .route("/v1/chat/completions", post(chat::handle))
        .route("/v1/completions", post(completions::handle))
        .route("/tokenize", post(tokenize::tokenize))
        .route("/detokenize", post(tokenize::detokenize))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&app), check_key));
    guarded
        .route("/health", get(health))
        .route("/ping", get(health))
        .route("/version", get(version))
        .route("/metrics", get(metrics))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(body_bytes_max))
        .with_state(app)
}

async fn check_key(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    if let Some(key) = &app.api_key {
        let given = request.headers().get(AUTHORIZATION).map(|value| value.as_bytes());
        let given = given.and_then(|value| {
            let (scheme, token) = value.split_at_checked("Bearer ".len())?;
            scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
        });
        if !given.is_some_and(|given| is_equal(given, key.as_bytes())) {
            return Err(ApiError::unauthorized());
        }
    }
    Ok(next.run(request).await)
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
    let info = app.engine.info();
    json!({
        "id": app.model_name,
        "object": "model",
        "created": app.created_s,
        "owned_by": "inferometer",
        "root": info.model.name,
        "parent": null,
        "max_model_len": app.context(),
        "permission": [],
        "meta": {
            "architecture": info.model.architecture,
            "n_params": info.model.parameters,
            "n_vocab": info.model.shape.vocabulary,
            "tokenizer_sha256": app.engine.tokenizer().sha256(),
            "n_embd": info.model.shape.embedding,
            "variant": info.model.variant,
            "stored_dtype": info.model.stored_dtype,
            "stored_bytes": info.model.stored_bytes,
            "bits_per_weight": info.model.bits_per_weight,
            "compute_dtype": info.model.compute_dtype,
            "kv_dtype": info.model.kv_dtype,
            "instruction_set": info.model.instruction_set,
            "threads": info.model.threads,
            "random_seed": info.model.random_seed,
            "prefix_cache": info.model.prefix_cache,
            "max_batch": info.max_batch,
            "kv_tokens": info.kv_tokens,
        },
    })
}

async fn health() -> &'static str {
    ""
}

async fn version(State(app): State<Arc<App>>) -> Response {
    Json(json!({"version": app.version, "server": "inferometer"})).into_response()
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    let page = app.metrics.page(&app.model_name, app.engine.info(), &app.engine.stats());
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(axum::http::header::CONTENT_TYPE, kind)], page).into_response()
}

async fn unknown_path(request: Request) -> ApiError {
    ApiError::not_found(format!("There is nothing at {}.", request.uri().path()))
}

async fn wrong_method(method: Method) -> ApiError {
    ApiError::method(method.as_str())
}
