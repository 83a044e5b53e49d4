//! The pages of a run: its report, its audit, its files; and the live view while it goes on.

use super::{Place, csrf, finding, head, live, page, report_frame, tabs};
use crate::app::{App, aside};
use crate::catalogue::{Item, State as Standing, encoded, run_item, state};
use crate::download::RUN_FORMATS;
use crate::failure::Failure;
use crate::live::View;
use crate::time;
use axum::extract::{Path, State};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use ifm_metrics::definitions::{self, Definitions};
use ifm_report::{audit_text, bytes, command_line, plain};
use ifm_rules::audit::{Audit, PHYSICS, Subject, audit as audited, of_run};
use ifm_store::RunEntry;
use maud::{Markup, html};
use std::sync::Arc;

/// The parts of a run's page: the end of the address, the name for people.
const TABS: [(&str, &str); 3] =
    [("", "Report"), ("/audit", "Audit"), ("/files", "Files and command")];

/// Answers a request with a page about a run.
async fn about(
    app: Arc<App>,
    id: String,
    current: &'static str,
    body: fn(&App, &RunEntry, &Item) -> Result<Markup, Failure>,
) -> Result<Response, Failure> {
    let markup = aside(&app, move |app| {
        let entry = app.run(&id)?;
        let item = run_item(app.run(&id)?);
        let content = body(app, &entry, &item)?;
        let tags = entry.tags().err().map(|error| error.to_string());
        let markup = html! {
            (head(app, &item))
            @if let Some(error) = tags { p class="banner warn" role="alert" { "⚠ Its tags cannot be read: " (error) } }
            @if item.state != Standing::Running && item.state != Standing::Broken {
                (tabs(&item.path(), &TABS, current))
            }
            (content)
        };
        Ok(page(app, item.title(), Place::Elsewhere, markup))
    })
    .await?;
    Ok(markup.into_response())
}

/// The report, or the live view while the run goes on.
pub(crate) async fn report(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    about(app, id, "", |app, entry, item| {
        Ok(match (&entry.manifest, item.state) {
            (Err(error), _) => broken(&error.to_string()),
            (_, Standing::Broken) => broken("it is marked as open and has no journal"),
            (Ok(manifest), Standing::Running) => live::live(item, manifest, &look(app, entry)?),
            (_, Standing::Unsealed) => html! { (cut_off(app, item)) (report_frame(item)) },
            _ => report_frame(item),
        })
    })
    .await
}

fn broken(reason: &str) -> Markup {
    html! { p class="banner bad" role="alert" { "✗ This run cannot be read: " (reason) } }
}

/// What is said of a run whose process ended without sealing it.
fn cut_off(app: &App, item: &Item) -> Markup {
    html! {
        form class="banner warn" method="post" action={ (item.path()) "/seal" } {
            (csrf(app))
            p { strong { "⚠ The process that wrote this run ended without sealing it." } " What was finished is below. Sealing turns its journal into its final files." }
            button type="submit" { "Seal it" }
        }
    }
}

/// What is asked for once a second: the live view, or, where the run has ended, that the page be
/// loaded again.
pub(crate) async fn live(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    aside(&app, move |app| {
        let entry = app.run(&id)?;
        if state(&entry) != Standing::Running {
            app.watches().forget(&entry.id);
            let again = [(HeaderName::from_static("hx-refresh"), "true")];
            return Ok((StatusCode::OK, again).into_response());
        }
        let view = look(app, &entry)?;
        let item = run_item(entry);
        Ok(live::panel(&item, &view).into_response())
    })
    .await
}

/// What deserves doubt.
pub(crate) async fn audit(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    about(app, id, "/audit", |app, entry, _| {
        let run = app.store.open(entry)?.data;
        let mut found = Audit { rules: of_run(&entry.id, &ifm_metrics::summarize(&run)) };
        let sheets = [definitions::sheet(&run, Definitions::Ours)];
        // Arithmetic and statistics of our own runs are the part of their checks.
        let physics = audited(&Subject::new(&sheets)).rules.into_iter();
        found.rules.extend(physics.filter(|rule| PHYSICS.contains(&rule.id)));
        Ok(html! { h2 { "Audit" } (finding::findings(&audit_text(&found))) })
    })
    .await
}

/// Files to keep, the files of the folder, and the command that repeats the run.
pub(crate) async fn files(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    about(app, id, "/files", |_, entry, item| {
        let manifest = entry.manifest.as_ref().ok();
        let short = encoded(&entry.id);
        Ok(html! {
            div class="columns" {
                section {
                    h2 { "Download" }
                    ul class="links" { @for (format, name) in RUN_FORMATS {
                        li { a href={ (item.path()) "/download/" (format) } download { (name) } }
                    } }
                }
                section {
                    h2 { "On the disk" }
                    table class="facts" {
                        caption class="quiet" { "Files of the run" }
                        thead { tr { th scope="col" { "File" } th scope="col" class="number" { "Size" } } }
                        tbody {
                            @for (name, size) in folder(entry) {
                                tr { th scope="row" { code { (name) } } td class="number" { (bytes(size)) } }
                            }
                        }
                    }
                }
            }
            @if let Some(manifest) = manifest {
                section {
                    h2 { "The command that repeats it" }
                    (command(&command_line(&manifest.command)))
                }
            }
            section {
                h2 { "The same on the command line" }
                (command(&format!("inferometer report {short} -o report.html")))
                (command(&format!("inferometer audit {short}")))
                (command(&format!("inferometer export {short} --as vllm")))
            }
        })
    })
    .await
}

/// A command, with a button that copies it.
fn command(text: &str) -> Markup {
    html! { div class="command" { pre { code { (text) } } button type="button" class="plain" data-copy="" hidden { "Copy" } } }
}

/// Names and sizes of the files of a run.
fn folder(entry: &RunEntry) -> Vec<(String, u64)> {
    let files = std::fs::read_dir(&entry.path).into_iter().flatten().flatten();
    let mut found: Vec<(String, u64)> = files
        .filter_map(|file| {
            let facts = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some((plain(&file.file_name().to_string_lossy()), facts.len()))
        })
        .collect();
    found.sort();
    found
}

/// Looks at a run that goes on.
///
/// # Errors
/// Its journal cannot be read.
fn look(app: &App, entry: &RunEntry) -> Result<View, Failure> {
    let manifest = entry.manifest.as_ref().map_err(|error| Failure::bad(error.to_string()))?;
    let watch = app.watches().watch(entry)?;
    let mut watch = watch.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    watch.look()?;
    Ok(watch.view(manifest, time::now_unix_ns()))
}
