//! The list of runs and imports: found, filtered, put in order, chosen from.

use super::{Place, csrf, factors, page, state, tags};
use crate::app::{App, aside};
use crate::catalogue::{Filter, Item, KINDS, ORDERS, State, encoded};
use crate::digest::{self, Digest};
use crate::failure::Failure;
use crate::form::Fields;
use crate::guard::CSRF_FIELD;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::response::{IntoResponse as _, Response};
use ifm_report::{ABSENT, bytes};
use maud::{Markup, html};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows of one page.
const ROWS_MAX: usize = 200;

/// The list.
pub(crate) async fn show(
    Shared(app): Shared<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let fields = Fields::of_query(query.as_deref());
    let markup = aside(&app, move |app| {
        let items = app.catalogue().items(&app.store)?;
        let filter = Filter::of(&fields);
        let rows = fields.get("rows").and_then(|rows| rows.parse().ok()).unwrap_or(ROWS_MAX);
        Ok(page(app, "Runs", Place::Runs, body(app, &items, &filter, rows)))
    })
    .await?;
    Ok(markup.into_response())
}

/// The answers of one run, for the row that asks for them.
pub(crate) async fn digest(
    Shared(app): Shared<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let markup = aside(&app, move |app| {
        let entry = app.run(&id)?;
        Ok(match digest::digest(&app.store, &entry) {
            Ok(found) => {
                app.digests().keep(&entry, &found);
                answer_cells(&found)
            }
            Err(_) => {
                html! { td colspan="3" class="bad" { "✗ cannot be read: open it to see why" } }
            }
        })
    })
    .await?;
    Ok(markup.into_response())
}

fn body(app: &App, items: &[Item], filter: &Filter, rows: usize) -> Markup {
    let found = filter.apply(items);
    html! {
        div class="title" {
            h1 { "Runs and imports" }
            a class="button" href="/import" data-choose="" { "Import files…" }
        }
        (toolbar(items, filter))
        form id="pick" method="get" action="/compare" {
            div id="list" data-drop="" {
                p class="count" role="status" {
                    @if found.len() == items.len() { (found.len()) " in all" }
                    @else { (found.len()) " of " (items.len()) }
                }
                @if items.is_empty() { (nothing_yet()) }
                @else if found.is_empty() {
                    p class="empty" { "Nothing fits. " a href="/" { "Show everything" } "." }
                } @else { (table(app, &found, rows)) }
            }
            @if !items.is_empty() { (actions(app)) }
        }
        div id="imported" aria-live="polite" {}
    }
}

fn nothing_yet() -> Markup {
    html! {
        div class="empty" {
            p { strong { "Nothing is stored yet." } }
            p { "Measure something, and it appears here while it runs:" }
            pre { "inferometer demo\ninferometer sweep http://127.0.0.1:8000" }
            p { "Or drop result files of other tools onto this page." }
        }
    }
}

fn toolbar(items: &[Item], filter: &Filter) -> Markup {
    let models: BTreeSet<&str> =
        items.iter().map(|item| item.model.as_str()).filter(|model| !model.is_empty()).collect();
    let all_tags: BTreeSet<&str> =
        items.iter().flat_map(|item| item.tags.iter().map(String::as_str)).collect();
    let choice = |value: &str, text: &str, chosen: &str| {
        html! { option value=(value) selected[value == chosen] { (text) } }
    };
    html! {
        search {
            form class="toolbar" method="get" action="/" hx-get="/" hx-trigger="input changed delay:150ms from:#q, change" hx-target="#list" hx-select="#list" hx-swap="outerHTML" hx-replace-url="true" {
                label { span { "Find" } input id="q" type="search" name="q" value=(filter.text) placeholder="name, model, server, tag" autocomplete="off"; }
                label { span { "Show" } select name="kind" { @for (value, text) in KINDS { (choice(value, text, &filter.kind)) } } }
                label { span { "Model" } select name="model" {
                    (choice("", "all models", &filter.model))
                    @for model in models { (choice(model, model, &filter.model)) }
                } }
                label { span { "Tag" } select name="tag" {
                    (choice("", "all tags", &filter.tag))
                    @for tag in all_tags { (choice(tag, tag, &filter.tag)) }
                } }
                label { span { "Order" } select name="sort" { @for (value, text) in ORDERS { (choice(value, text, &filter.sort)) } } }
                button type="submit" class="plain no-script" { "Apply" }
            }
        }
    }
}

fn table(app: &App, found: &[Item], rows: usize) -> Markup {
    html! {
        table class="rows" {
            caption class="quiet" { "Choose two or more runs to compare them." }
            thead { tr {
                th scope="col" class="pick" { span class="quiet" { "Chosen" } }
                th scope="col" { "Name" }
                th scope="col" { "State" }
                th scope="col" { "Model and server" }
                th scope="col" { "Load" }
                th scope="col" class="number" title="The largest measured load inside the latency target of the run" { "Fits" }
                th scope="col" class="number" title="Median speed that one user sees there" { "One user" }
                th scope="col" { "Checks" }
                th scope="col" class="number" { "Size" }
                th scope="col" { "When, UTC" }
            } }
            tbody { @for item in found.iter().take(rows) { (row(app, item)) } }
        }
        @if found.len() > rows {
            p class="more" { (found.len() - rows) " more: narrow the filter, or " a href={ "/?rows=" (found.len()) } { "show all" } "." }
        }
    }
}

fn row(app: &App, item: &Item) -> Markup {
    html! {
        tr {
            td class="pick" { input type="checkbox" name="run" value=(item.id) aria-label={ "Choose " (item.title()) }; }
            th scope="row" {
                a class="name" href=(item.path()) { (item.title()) }
                @if item.name.is_some() { " " span class="id" { (item.id) } }
                @if !item.tags.is_empty() || !item.factors.is_empty() { div { (factors(&item.factors)) (tags(&item.tags)) } }
            }
            td { (state(item.state)) }
            td class="what" { span { (item.model) } span class="soft" { (item.server) } }
            td class="load" data-label="Load" {
                span { (item.loads) }
                @if !item.beside_text.is_empty() { span class="soft" { (item.beside_text.join(", ")) } }
            }
            (answers(app, item))
            td class="number soft" data-label="Size" { (item.bytes.map_or_else(|| ABSENT.to_owned(), bytes)) }
            td class="nowrap soft" data-label="When" { (item.when) }
        }
    }
}

/// What the row says of the answers: what is known, a cell that asks for them, or nothing.
fn answers(app: &App, item: &Item) -> Markup {
    match item.state {
        State::Complete | State::Partial => match app.digests().get(app.store.root(), &item.id) {
            Some(found) => answer_cells(&found),
            None => html! {
                td colspan="3" class="wait" hx-get={ "/runs/" (encoded(&item.id)) "/digest" } hx-trigger="revealed" hx-swap="outerHTML" { "…" }
            },
        },
        State::Running => {
            html! { td colspan="3" class="soft" { a href=(item.path()) { "watch it" } } }
        }
        State::Unsealed => html! { td colspan="3" class="soft" { "not sealed yet" } },
        State::Imported => {
            html! { td colspan="3" class="soft" { a href=(item.path()) { "what was read" } } }
        }
        State::Broken => html! { td colspan="3" class="bad" { "✗ its head cannot be read" } },
    }
}

fn answer_cells(found: &Digest) -> Markup {
    let cell = |text: &str, detail: &str, tone: digest::Tone| {
        html! {
            span class=(tone.class()) title=(detail) {
                @if !tone.sign().is_empty() { span aria-hidden="true" { (tone.sign()) } " " }
                (text)
                span class="quiet" { " (" (detail) ")" }
            }
        }
    };
    html! {
        td class="number" data-label="Fits" { (cell(&found.fits, &found.fits_detail, found.fits_tone)) }
        td class="number" data-label="One user" { (found.speed) }
        td class="nowrap" data-label="Checks" {
            @if !found.checks.is_empty() { (cell(&found.checks, &found.checks_detail, found.checks_tone)) }
        }
    }
}

/// What can be done with the chosen rows.
fn actions(app: &App) -> Markup {
    html! {
        div class="actions" role="group" aria-label="With the chosen" {
            span class="chosen" data-chosen="" { "With the chosen:" }
            button type="submit" data-least="2" { "Compare" }
            button type="submit" class="plain" formaction="/history" data-least="2" { "History" }
            span class="group" {
                label class="quiet" for="tag" { "Tag to put on" }
                input id="tag" name="tag" placeholder="tag" maxlength=(ifm_store::TAG_LENGTH_MAX) autocomplete="off";
                button type="submit" class="plain" formmethod="post" formaction="/tag" name=(CSRF_FIELD) value=(app.guard.csrf()) data-least="1" { "Tag" }
            }
            button type="submit" class="plain danger" formmethod="post" formaction="/remove" name=(CSRF_FIELD) value=(app.guard.csrf()) data-least="1" { "Remove…" }
        }
    }
}

/// A form that asks before something goes.
pub(crate) fn confirm(app: &App, items: &[Item]) -> Markup {
    html! {
        h1 { "Remove " @if items.len() == 1 { (items.first().map_or("", Item::title)) } @else { (items.len()) " runs and imports" } "?" }
        p class="lead" { "They go out of sight, and wait below Removed until they are brought back or removed for good." }
        ul { @for item in items { li { (item.title()) " " span class="id" { (item.id) } " · " (item.model) } } }
        form method="post" action="/remove" {
            (csrf(app))
            input type="hidden" name="sure" value="yes";
            @for item in items { input type="hidden" name="run" value=(item.id); }
            button type="submit" class="danger" { "Remove" }
            " " a class="button plain" href="/" { "Keep" }
        }
    }
}
