//! The pages: what every page has around it, and the small pieces that several share.
//!
//! Everything that comes from a store, a server or a user is escaped by the template engine. Not
//! here: what the answers say, which is the part of the reports.

pub(crate) mod change;
pub(crate) mod compare;
pub(crate) mod document;
pub(crate) mod finding;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod live;
pub(crate) mod removed;
pub(crate) mod run;

use crate::app::App;
use crate::catalogue::{Item, State};
use crate::failure::Failure;
use crate::guard::CSRF_FIELD;
use axum::response::{IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, html};

/// Settings of htmx that our policy needs: no code from strings, no styles of its own, nothing kept
/// in the browser, no request to others.
const HTMX: &str = r#"{"allowEval":false,"includeIndicatorStyles":false,"selfRequestsOnly":true,"historyCacheSize":0,"allowScriptTags":false}"#;

/// Which entry of the main navigation is the page itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Runs,
    History,
    Import,
    Removed,
    Elsewhere,
}

/// A whole page around its content.
pub(crate) fn page(app: &App, title: &str, place: Place, body: Markup) -> Markup {
    let entries = [
        ("/", "Runs", Place::Runs),
        ("/history", "History", Place::History),
        ("/import", "Import", Place::Import),
        ("/removed", "Removed", Place::Removed),
    ];
    let root = app.store.root();
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="htmx-config" content=(HTMX);
                meta name="csrf" content=(app.guard.csrf());
                title { (title) " – inferometer" }
                link rel="icon" type="image/svg+xml" href="/assets/sign.svg";
                link rel="stylesheet" href="/assets/ui.css";
                script src="/assets/htmx.min.js" defer {}
                script src="/assets/ui.js" defer {}
            }
            body {
                a class="skip" href="#main" { "Skip to the content" }
                header class="top" {
                    a class="brand" href="/" {
                        img src="/assets/sign.svg" alt="" width="20" height="20";
                        "inferometer"
                    }
                    nav aria-label="Main" {
                        @for (path, name, of) in entries {
                            a href=(path) aria-current=[(of == place).then_some("page")] { (name) }
                        }
                    }
                }
                main id="main" tabindex="-1" { (body) }
                footer class="foot" { "Store " code { (ifm_report::plain(&root.display().to_string())) } " · inferometer " (app.version) }
                div id="notice" class="notice" role="status" aria-live="polite" {}
            }
        }
    }
}

/// The page that says why a request is not answered.
pub(crate) fn failed(app: &App, failure: &Failure) -> Response {
    let title = failure.status().canonical_reason().unwrap_or("Not possible");
    let body = html! {
        h1 { (title) }
        p class="lead" role="alert" { (failure.sentence()) "." }
        p { a href="/" { "Back to the runs" } }
    };
    (failure.status(), page(app, title, Place::Elsewhere, body)).into_response()
}

/// The secret that allows a form of ours to change something.
pub(crate) fn csrf(app: &App) -> Markup {
    html! { input type="hidden" name=(CSRF_FIELD) value=(app.guard.csrf()); }
}

/// Where a run stands: sign, word and colour.
pub(crate) fn state(state: State) -> Markup {
    let class = match state {
        State::Running => "state live",
        State::Complete => "state good",
        State::Unsealed | State::Partial => "state warn",
        State::Broken => "state bad",
        State::Imported => "state plain",
    };
    html! { span class=(class) { span aria-hidden="true" { (state.sign()) } " " (state.word()) } }
}

/// Tags, each a link to what else has it.
pub(crate) fn tags(tags: &[String]) -> Markup {
    html! {
        @for tag in tags {
            @let query: String = form_urlencoded::byte_serialize(tag.as_bytes()).collect();
            a class="tag" href={ "/?tag=" (query) } { (tag) }
            " "
        }
    }
}

/// What was set when the run was measured, by which reports group it.
pub(crate) fn factors(factors: &[String]) -> Markup {
    html! { @for factor in factors { span class="factor" { (factor) } " " } }
}

/// The head of the page of a run or import: what it is called, where it stands, and what can be
/// changed.
pub(crate) fn head(app: &App, item: &Item) -> Markup {
    let beside_text = item.beside_text.join(", ");
    let facts = [&item.model, &item.server, &beside_text, &item.loads, &item.when];
    html! {
        nav class="trail" aria-label="Trail" { a href="/" { "Runs" } " / " span { (item.title()) } }
        div class="title" {
            h1 { (item.title()) }
            (state(item.state))
        }
        p class="lead" {
            @for (index, fact) in facts.iter().filter(|fact| !fact.is_empty()).enumerate() {
                @if index > 0 { " · " }
                (fact)
            }
        }
        div class="labels" {
            (factors(&item.factors))
            (tags(&item.tags))
            details class="edit" {
                summary { "Name and tags" }
                div class="panel" {
                    form method="post" action="/label" {
                        (csrf(app))
                        input type="hidden" name="id" value=(item.id);
                        label for="name" { "Name" }
                        input id="name" name="name" value=(item.name.as_deref().unwrap_or("")) maxlength=(ifm_store::NAME_LENGTH_MAX) autocomplete="off" disabled[item.state == State::Running || item.state == State::Unsealed];
                        label for="tags" { "Tags, with commas between them" }
                        input id="tags" name="tags" value=(item.tags.join(", ")) autocomplete="off";
                        button type="submit" { "Save" }
                    }
                    form method="post" action="/remove" {
                        (csrf(app))
                        input type="hidden" name="id" value=(item.id);
                        p { "Out of sight until it is brought back, or removed for good." }
                        button type="submit" class="danger" disabled[item.state == State::Running] { "Remove…" }
                    }
                }
            }
        }
    }
}

/// A report in a frame without an origin, so that nothing in it reaches the page around it.
pub(crate) fn report_frame(item: &Item) -> Markup {
    html! {
        iframe class="report" title={ "Report of " (item.title()) } src={ (item.path()) "/page" } sandbox="allow-scripts allow-popups allow-modals" referrerpolicy="no-referrer" {}
    }
}

/// The sub-pages of a run or import.
pub(crate) fn tabs(base: &str, tabs: &[(&str, &str)], current: &str) -> Markup {
    html! {
        nav class="tabs" aria-label="Parts" {
            @for (path, name) in tabs {
                a href={ (base) (path) } aria-current=[(*path == current).then_some("page")] { (name) }
            }
        }
    }
}
