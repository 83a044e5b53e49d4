//! Recordings to words and texts to tones, made up at a stated pace: paths to try clients on, without
//! a model that hears or speaks.
//!
//! Not here: answers of the backend (`generate`).

mod form;
mod paced;
pub(crate) mod speech;
pub(crate) mod transcription;
mod under_way;
mod wave;

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderValue, header::CONTENT_TYPE},
    response::Response,
};
use tokio::time::sleep;

use crate::{
    app::App,
    error::ApiError,
    fault::Fate,
    frames::{Api, Identity},
};
use paced::PacedBody;
use under_way::UnderWay;

/// What the server calls an answer, what its faults do to it, and what counts it.
async fn begin(app: &Arc<App>) -> Result<(Identity, Fate, UnderWay), ApiError> {
    let identity = app.identify(Api::Completions);
    let fate = app.faults.fate(identity.number);
    if let Some(status) = fate.refusal {
        return Err(ApiError::on_demand(status, identity.number));
    }
    let under_way = UnderWay::new(app);
    sleep(fate.delay).await;
    Ok((identity, fate, under_way))
}

/// An answer that comes piece by piece.
fn streamed(kind: &'static str, body: PacedBody) -> Response {
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
