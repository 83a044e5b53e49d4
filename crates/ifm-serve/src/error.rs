//! Errors as OpenAI clients expect them: a status and an object under `error`.
//!
//! Not here: when they happen.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use ifm_engine::SubmitError;
use serde_json::{Value, json};

/// Seconds after which a refused client may try again: a place in the queue becomes
/// free with the next request that ends.
const RETRY_AFTER_S: &str = "1";

/// An error answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    message: String,
    kind: &'static str,
    code: Option<&'static str>,
    param: Option<String>,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into(), code: None, param: None }
    }

    /// The request makes no sense.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// A field of the request makes no sense.
    pub(crate) fn field(name: &str, message: impl Into<String>) -> Self {
        Self { param: Some(name.to_owned()), ..Self::invalid(message) }
    }

    /// Something is not there.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", message)
    }

    pub(crate) fn unknown_model(name: &str) -> Self {
        Self {
            code: Some("model_not_found"),
            param: Some("model".to_owned()),
            ..Self::not_found(format!("The model `{name}` does not exist."))
        }
    }

    pub(crate) fn method(method: &str) -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "invalid_request_error",
            format!("Method {method} is not allowed here."),
        )
    }

    pub(crate) fn unauthorized() -> Self {
        Self {
            code: Some("invalid_api_key"),
            ..Self::new(
                StatusCode::UNAUTHORIZED,
                "invalid_request_error",
                "Incorrect API key provided; send it as `Authorization: Bearer KEY`.",
            )
        }
    }

    /// A page of another site, or a host that is not of this machine.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "invalid_request_error", message)
    }

    /// The body could not be read, with the status that says why.
    pub(crate) fn body(status: StatusCode, message: String) -> Self {
        Self::new(status, "invalid_request_error", message)
    }

    pub(crate) fn too_long(prompt_tokens: usize, max_tokens: usize, context: usize) -> Self {
        let total = prompt_tokens.saturating_add(max_tokens);
        Self {
            code: Some("context_length_exceeded"),
            ..Self::invalid(format!(
                "This model's maximum context length is {context} tokens. However, you requested \
                 {total} tokens ({prompt_tokens} in the messages, {max_tokens} in the \
                 completion). Please reduce the length of the messages or completion."
            ))
        }
    }

    /// A text that the context cannot hold, by its length alone.
    pub(crate) fn text_too_long(bytes: usize, context: usize, bytes_max: usize) -> Self {
        Self {
            code: Some("context_length_exceeded"),
            ..Self::invalid(format!(
                "This model's maximum context length is {context} tokens, at most {bytes_max} bytes \
                 of text. However, your text has {bytes} bytes."
            ))
        }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", message)
    }

    /// The server refuses on purpose, with a status that real servers refuse with.
    pub(crate) fn on_demand(status: StatusCode, number: u64) -> Self {
        let text = |what: &str| format!("{what} (a fault on demand, request {number}).");
        match status {
            StatusCode::TOO_MANY_REQUESTS => Self {
                code: Some("rate_limit_exceeded"),
                ..Self::new(status, "rate_limit_error", text("Too many requests"))
            },
            StatusCode::SERVICE_UNAVAILABLE => {
                Self::unavailable(text("The server is overloaded"), "overloaded")
            }
            _ => Self { status, ..Self::internal(text("Something went wrong")) },
        }
    }

    fn unavailable(message: impl Into<String>, code: &'static str) -> Self {
        Self {
            code: Some(code),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", message)
        }
    }

    /// The object under `error` and its wrapping, as it also appears inside streams.
    pub(crate) fn to_json(&self) -> Value {
        json!({"error": {
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.code,
        }})
    }
}

impl From<SubmitError> for ApiError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Overloaded { .. } => {
                Self::unavailable(format!("The server is overloaded: {error}."), "overloaded")
            }
            SubmitError::TooLong { prompt_tokens, max_tokens, context } => {
                Self::too_long(prompt_tokens, max_tokens, context)
            }
            SubmitError::Stopped => {
                Self::unavailable("The engine is not running.", "engine_stopped")
            }
            SubmitError::EmptyPrompt => Self::field("prompt", "The prompt has no token."),
            other => Self::invalid(other.to_string()),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.to_json())).into_response();
        let comes_back = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS];
        if comes_back.contains(&self.status) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
        }
        response
    }
}
