//! What changes something: names, tags, sealing, and what goes out of sight. All of it is a POST of
//! a form of ours, and ends in a page that can be loaded again.

use super::{Place, list, page};
use crate::app::{App, aside};
use crate::catalogue::{Item, encoded};
use crate::failure::Failure;
use crate::form::Fields;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use ifm_store::check_tags;
use std::sync::Arc;

/// Leads on to another page, which is asked for by GET.
fn go(to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, to.to_owned())]).into_response()
}

/// What a form names, as rows of the list: at least one.
fn chosen(app: &App, fields: &Fields) -> Result<Vec<Item>, Failure> {
    let items = app.catalogue().items(&app.store)?;
    let ids: Vec<&str> = fields.all("run").chain(fields.all("id")).collect();
    let mut found = Vec::new();
    for id in &ids {
        let item = items.iter().find(|item| item.id == *id);
        let unknown = || Failure::not_found("the store has no such run or import");
        found.push(item.cloned().ok_or_else(unknown)?);
    }
    match found.is_empty() {
        true => Err(Failure::bad("nothing is chosen: mark the boxes of some rows first")),
        false => Ok(found),
    }
}

fn set_tags(app: &App, item: &Item, tags: &[String]) -> Result<(), Failure> {
    match item.is_import() {
        true => app.store.tag_import(&item.id, tags)?,
        false => app.store.tag(&app.run(&item.id)?, tags)?,
    };
    Ok(())
}

/// Name and tags of one run or import.
pub(crate) async fn label(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let fields = Fields::of_change(&app.guard, &headers, body).await?;
    aside(&app, move |app| {
        let items = chosen(app, &fields)?;
        let [item] = items.as_slice() else {
            return Err(Failure::bad("one run has a name, not several"));
        };
        let tags = fields.get("tags").unwrap_or_default().split(',').map(str::trim);
        let tags: Vec<String> = tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
        // All is checked before anything is changed.
        let tags = check_tags(&tags)?;
        // A run that is still written has no field for a name.
        let name = fields.has("name").then(|| fields.get("name"));
        match name.filter(|name| *name != item.name.as_deref()) {
            None => {}
            Some(name) if item.is_import() => app.store.rename_import(&item.id, name)?,
            Some(name) => app.store.rename(&app.run(&item.id)?, name)?,
        }
        if tags != item.tags {
            set_tags(app, item, &tags)?;
        }
        Ok(go(&item.path()))
    })
    .await
}

/// Puts a tag on every chosen row.
pub(crate) async fn tag(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let fields = Fields::of_change(&app.guard, &headers, body).await?;
    aside(&app, move |app| {
        let tag = fields.get("tag").ok_or_else(|| Failure::bad("no tag was written"))?.to_owned();
        let mut changes = Vec::new();
        for item in chosen(app, &fields)? {
            let mut tags = item.tags.clone();
            tags.push(tag.clone());
            changes.push((item, check_tags(&tags)?));
        }
        for (item, tags) in changes {
            set_tags(app, &item, &tags)?;
        }
        Ok(go("/"))
    })
    .await
}

/// Takes the chosen out of sight, once that is confirmed.
pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let fields = Fields::of_change(&app.guard, &headers, body).await?;
    aside(&app, move |app| {
        let items = chosen(app, &fields)?;
        if fields.get("sure") != Some("yes") {
            let body = list::confirm(app, &items);
            return Ok(page(app, "Remove", Place::Runs, body).into_response());
        }
        for item in items {
            app.store.set_aside(&item.id)?;
        }
        Ok(go("/removed"))
    })
    .await
}

/// Brings back what was taken out of sight.
pub(crate) async fn restore(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let fields = Fields::of_change(&app.guard, &headers, body).await?;
    aside(&app, move |app| {
        app.store.restore(fields.get("id").unwrap_or_default())?;
        Ok(go("/removed"))
    })
    .await
}

/// Removes for good what was taken out of sight.
pub(crate) async fn erase(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let fields = Fields::of_change(&app.guard, &headers, body).await?;
    aside(&app, move |app| {
        app.store.erase(fields.get("id").unwrap_or_default())?;
        Ok(go("/removed"))
    })
    .await
}

/// Seals a run whose process ended without doing so.
pub(crate) async fn seal(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    Fields::of_change(&app.guard, &headers, body).await?;
    aside(&app, move |app| {
        let entry = app.run(&id)?;
        app.store.seal_abandoned(&entry)?;
        Ok(go(&format!("/runs/{}", encoded(&entry.id))))
    })
    .await
}
