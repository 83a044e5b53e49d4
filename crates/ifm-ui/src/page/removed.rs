//! What was taken out of sight: brought back from here, or removed for good.

use super::{Place, csrf, page};
use crate::app::{App, aside};
use crate::failure::Failure;
use crate::time;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};
use std::sync::Arc;

/// The list of what is out of sight.
pub(crate) async fn show(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let markup = aside(&app, |app| {
        let ids = app.store.set_aside_ids()?;
        Ok(page(app, "Removed", Place::Removed, body(app, &ids)))
    })
    .await?;
    Ok(markup.into_response())
}

fn body(app: &App, ids: &[String]) -> Markup {
    html! {
        h1 { "Removed" }
        @if ids.is_empty() { p class="empty" { "Nothing is out of sight." } }
        @else {
            p class="lead" { "Out of sight, and still on the disk. What is removed for good cannot be brought back." }
            table class="rows" {
                caption class="quiet" { "Removed runs and imports" }
                thead { tr { th scope="col" { "Id" } th scope="col" { "When, UTC" } th scope="col" { "What to do" } } }
                tbody { @for id in ids { tr {
                    th scope="row" { (id) }
                    td class="nowrap soft" data-label="When" { (time::minute(id)) }
                    td class="buttons" {
                        form method="post" action="/restore" {
                            (csrf(app)) input type="hidden" name="id" value=(id);
                            button type="submit" aria-label={ "Bring back " (id) } { "Bring back" }
                        }
                        details class="edit" {
                            summary { "Remove for good…" }
                            form class="panel" method="post" action="/erase" {
                                (csrf(app)) input type="hidden" name="id" value=(id);
                                p { "This frees its space on the disk." }
                                button type="submit" class="danger" aria-label={ "Remove for good " (id) } { "Remove for good" }
                            }
                        }
                    }
                } } }
            }
        }
    }
}
