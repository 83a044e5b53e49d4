//! Which path leads where, with the guard around all of them.
//!
//! Not here: what stands on the pages (`page`), and who may ask, which the guard decides (`guard`).

use crate::app::App;
use crate::assets;
use crate::download;
use crate::failure::Failure;
use crate::guard::{admit, seal};
use crate::importing;
use crate::page::{self, change, compare, document, history, list, removed, run};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use std::sync::Arc;

/// Which path leads where.
pub(crate) fn router(app: Arc<App>) -> Router {
    let import = post(document::import).layer(DefaultBodyLimit::max(importing::BODY_BYTES_MAX));
    Router::new()
        .route("/", get(list::show))
        .route("/runs/{id}", get(run::report))
        .route("/runs/{id}/audit", get(run::audit))
        .route("/runs/{id}/files", get(run::files))
        .route("/runs/{id}/live", get(run::live))
        .route("/runs/{id}/digest", get(list::digest))
        .route("/runs/{id}/page", get(download::page))
        .route("/runs/{id}/download/{format}", get(download::run))
        .route("/runs/{id}/seal", post(change::seal))
        .route("/imports/{id}", get(document::show))
        .route("/imports/{id}/report", get(document::report))
        .route("/imports/{id}/page", get(download::import_page))
        .route("/imports/{id}/download/{format}", get(download::import))
        .route("/compare", get(compare::show))
        .route("/history", get(history::show))
        .route("/history/page", get(history::report))
        .route("/removed", get(removed::show))
        .route("/import", import.get(document::choose))
        .route("/label", post(change::label))
        .route("/tag", post(change::tag))
        .route("/remove", post(change::remove))
        .route("/restore", post(change::restore))
        .route("/erase", post(change::erase))
        .route("/assets/{name}", get(assets::asset))
        .fallback(async || Failure::not_found("nothing is at this address"))
        .method_not_allowed_fallback(async || {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            Failure::new(status, "this address is not asked in this way: nothing was changed")
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guarded))
        .with_state(app)
}

/// Looks at every request before anything else does, and at every answer after everything else.
async fn guarded(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_fragment = request.headers().contains_key("hx-request");
    let answered = match admit(&app.guard, &request) {
        Ok(None) => next.run(request).await,
        Ok(Some(answer)) => answer,
        // Not marked to become a page: whoever has no session is told a line and no more.
        Err(failure) => failure.line(),
    };
    let mut answer = match answered.extensions().get::<Failure>() {
        Some(failure) if is_fragment => failure.clone().line(),
        Some(failure) => page::failed(&app, failure),
        None => answered,
    };
    seal(answer.headers_mut());
    answer
}
