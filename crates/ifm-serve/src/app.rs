//! What all requests share, and which path leads where.
//!
//! Not here: sockets (`server`).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Request, State},
    http::{Method, header::AUTHORIZATION},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use ifm_engine::EngineHandle;
use serde_json::json;

use crate::{
    chat, completions,
    error::ApiError,
    fields::Fields,
    frames::{Api, Identity},
    metrics::Metrics,
    template::ChatTemplate,
    tokenize,
};

/// Texts from this length on are turned into tokens beside the server's thread, which
/// would otherwise stall every stream for the time it takes.
const LONG_TEXT_BYTES: usize = 16 << 10;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) engine: EngineHandle,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) template: ChatTemplate,
    model_name: String,
    api_key: Option<String>,
    created_s: u64,
    version: String,
    requests: AtomicU64,
}

impl App {
    pub(crate) fn new(
        engine: EngineHandle,
        model_name: String,
        api_key: Option<String>,
        version: String,
    ) -> Self {
        Self {
            template: ChatTemplate::find(engine.tokenizer()),
            metrics: Arc::new(Metrics::new()),
            engine,
            model_name,
            api_key,
            version,
            created_s: unix_seconds(),
            requests: AtomicU64::new(0),
        }
    }

    /// Most tokens of a prompt and its answer.
    pub(crate) fn context(&self) -> usize {
        let info = self.engine.info();
        info.context.min(info.kv_tokens)
    }

    /// A name for the next answer.
    pub(crate) fn identify(&self, api: Api) -> Identity {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        Identity {
            api,
            id: format!("{}{:x}-{number}", api.id_prefix(), self.created_s),
            created_s: unix_seconds(),
            model: self.model_name.clone(),
        }
    }

    /// Refuses requests for another model. A request that names none gets this one.
    pub(crate) fn check_model(&self, fields: &Fields) -> Result<(), ApiError> {
        match fields.text("model")? {
            Some(name) if name != self.model_name => Err(ApiError::unknown_model(name)),
            _ => Ok(()),
        }
    }

    /// Tokens of a text; with `is_start`, behind the token that starts a text, if the
    /// model wants one and the text does not have it already.
    pub(crate) async fn encode(
        self: &Arc<Self>,
        text: String,
        is_start: bool,
    ) -> Result<Vec<u32>, ApiError> {
        let app = Arc::clone(self);
        let is_long = text.len() >= LONG_TEXT_BYTES;
        let encode = move || -> Result<Vec<u32>, ApiError> {
            let tokenizer = app.engine.tokenizer();
            let mut ids =
                tokenizer.encode(&text).map_err(|error| ApiError::invalid(error.to_string()))?;
            let bos_id = app.engine.info().model.bos_id.filter(|_| is_start);
            if let Some(bos_id) = bos_id.filter(|id| ids.first() != Some(id)) {
                ids.insert(0, bos_id);
            }
            Ok(ids)
        };
        if !is_long {
            return encode();
        }
        let encoded = tokio::task::spawn_blocking(encode).await;
        encoded.unwrap_or_else(|error| Err(ApiError::internal(error.to_string())))
    }
}

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
            "stored_dtype": info.model.stored_dtype,
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

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |duration| duration.as_secs())
}
