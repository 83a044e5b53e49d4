//! Why a request is not answered with what it asked for, in a sentence for the user.
//!
//! A failure becomes a whole page (`page::failed`), a line for the script, or, for whoever has no session, a bare
//! line that tells nothing of the store.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ifm_store::StoreError;

/// A sentence and a status.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    status: StatusCode,
    sentence: String,
}

impl Failure {
    /// A failure with this status.
    pub(crate) fn new(status: StatusCode, sentence: impl Into<String>) -> Failure {
        Failure { status, sentence: sentence.into() }
    }

    /// Nothing is there.
    pub(crate) fn not_found(sentence: impl Into<String>) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, sentence)
    }

    /// The request cannot be understood.
    pub(crate) fn bad(sentence: impl Into<String>) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, sentence)
    }

    /// As a line of text, for the script of our pages.
    pub(crate) fn line(self) -> Response {
        let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        (self.status, kind, self.sentence).into_response()
    }

    /// Why the request is not answered, as HTTP says it.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Why the request is not answered, without a period.
    pub(crate) fn sentence(&self) -> &str {
        &self.sentence
    }
}

/// Marked, so that the outermost layer makes a page or a line of it.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let status = match &error {
            StoreError::NotThere { .. } => StatusCode::NOT_FOUND,
            StoreError::BadName { .. } | StoreError::BadTag { .. } => StatusCode::BAD_REQUEST,
            StoreError::Live { .. }
            | StoreError::NotSealed { .. }
            | StoreError::AlreadySealed { .. }
            | StoreError::RunExists { .. } => StatusCode::CONFLICT,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Failure::new(status, error.to_string())
    }
}
