//! The body of a request, or why there is none.

use axum::{body::Bytes, extract::rejection::BytesRejection, http::StatusCode};

use crate::{error::ApiError, fields::Fields};

/// The JSON object of a body.
pub(crate) fn read_fields(body: Result<Bytes, BytesRejection>) -> Result<Fields, ApiError> {
    match body {
        Ok(bytes) => Fields::parse(&bytes),
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            Err(ApiError::body(rejection.status(), "The body is too large.".to_owned()))
        }
        Err(rejection) => Err(ApiError::body(rejection.status(), rejection.body_text())),
    }
}
