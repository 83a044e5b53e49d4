//! Documents of other tools: choosing files, what was read, and what the audit says of it.

use super::{Place, csrf, finding, head, page, report_frame, tabs};
use crate::app::{App, aside};
use crate::catalogue::import_item;
use crate::download::IMPORT_FORMATS;
use crate::failure::Failure;
use crate::guard::CSRF_HEADER;
use crate::importing::{BODY_BYTES_MAX, Imported, Refused, gather};
use axum::extract::{Multipart, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use ifm_core::Sheet;
use ifm_core::sheet::{Part, Row, RowRole};
use ifm_report::{RemarkText, audit_text, imported as words, number, plain};
use ifm_rules::audit::{Subject, audit};
use maud::{Markup, html};
use std::sync::Arc;

/// Remarks of one document that are shown at once.
const REMARKS_MAX: usize = 8;
/// Rows of one document that are shown; the file to keep has all.
const ROWS_MAX: usize = 200;
/// Columns of one table.
const COLUMNS_MAX: usize = 14;

/// The page on which files are chosen.
pub(crate) async fn choose(State(app): State<Arc<App>>) -> Response {
    let formats: Vec<&str> = ifm_interop::formats().map(|format| format.title).collect();
    let body = html! {
        h1 { "Import" }
        p class="lead" { "Results of other tools: files, or text that was printed. Their content says what they are. They are read on this machine and kept in the store." }
        (form(&app))
        div id="imported" aria-live="polite" {}
        details { summary { "What can be read (" (formats.len()) " formats)" } ul class="calm" { @for title in &formats { li { (title) } } } }
    };
    page(&app, "Import", Place::Import, body).into_response()
}

/// Reads the files of a form and keeps what was read, as `inferometer import` does.
pub(crate) async fn import(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    form: Multipart,
) -> Result<Response, Failure> {
    let header = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
    let is_ours = header.is_some();
    if is_ours {
        app.guard.check_csrf(header)?;
    }
    let Ok(_turn) = app.importers.try_acquire() else {
        let sentence = "other files are being read: try again when they are done";
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, sentence));
    };
    let done = gather(&app, form, is_ours).await?;
    let is_fragment = headers.contains_key("hx-request");
    aside(&app, move |app| Ok(imported(app, &done, is_fragment))).await
}

/// The form by which files come in.
fn form(app: &App) -> Markup {
    html! {
        form class="drop" method="post" action="/import" enctype="multipart/form-data" data-drop="" data-most=(BODY_BYTES_MAX) {
            (csrf(app))
            p { label for="files" { "Drop files anywhere on this page, or choose them" } }
            input id="files" type="file" name="file" multiple required;
            label for="import-name" { "Name, to find it by (optional)" }
            input id="import-name" name="name" maxlength=(ifm_store::NAME_LENGTH_MAX) autocomplete="off";
            button type="submit" { "Import" }
            p class="soft" { "Up to " (BODY_BYTES_MAX >> 20) " MiB together; larger files: " code { "inferometer import FILE…" } }
        }
    }
}

/// What came of files that were sent: a page, or the part of one for the script.
pub(crate) fn imported(app: &App, imported: &Imported, is_fragment: bool) -> Response {
    let item = imported.kept.as_ref().map(|kept| import_item(&app.store, &kept.id));
    let body = html! {
        section class="panel" aria-labelledby="came" {
            @match (&item, imported.refused.len()) {
                (Some(item), 0) => h2 id="came" class="good" { "✓ Imported as " a href=(item.path()) { (item.title()) } },
                (Some(item), _) => h2 id="came" class="warn" { "⚠ Imported in part as " a href=(item.path()) { (item.title()) } },
                (None, _) => h2 id="came" class="bad" { "✗ Nothing was imported: no known results" },
            }
            @for refused in &imported.refused { (refused_file(refused)) }
            @if imported.kept.is_none() { p class="soft" { "Rows of any other table come in by " code { "inferometer import --map NAME=COLUMN" } "." } }
            @if let Some(kept) = &imported.kept {
                @for sheet in &kept.sheets { (summary(sheet)) }
                h3 { "Audit" }
                (finding::findings(&audit_text(&audit(&Subject::new(&kept.sheets)))))
            }
        }
    };
    let status =
        if imported.kept.is_some() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    match is_fragment {
        true => (status, body).into_response(),
        false => {
            let body = html! { h1 { "Import" } (body) h2 { "More files" } (form(app)) };
            (status, page(app, "Import", Place::Import, body)).into_response()
        }
    }
}

fn refused_file(refused: &Refused) -> Markup {
    html! {
        div class="banner bad" { p { "✗ " (refused.sentence) } @for hint in &refused.hints { p class="soft" { (hint) } } }
    }
}

/// What was read from one document, and the remarks.
fn summary(sheet: &Sheet) -> Markup {
    let found = words(sheet);
    let (first, rest) = found.remarks.split_at(found.remarks.len().min(REMARKS_MAX));
    let list = |remarks: &[RemarkText]| {
        html! { ul class="calm" { @for remark in remarks { li { strong { (remark.word) } " " (remark.place) ": " (plain(&remark.text)) } } } }
    };
    html! {
        h3 { (plain(&found.name)) }
        p { "Recognised as " strong { (found.tool.as_deref().unwrap_or(&found.format)) } " " span class="soft" { "(" (found.format) ")" } }
        ul class="calm" { @for (kind, counts) in &found.kinds { li { (kind) ": " (counts) } } }
        @if !first.is_empty() { (list(first)) }
        @if !rest.is_empty() { details { summary { "and " (rest.len()) " more remarks" } (list(rest)) } }
    }
}

/// The parts of an import's page.
const TABS: [(&str, &str); 2] = [("", "Audit and what was read"), ("/report", "Report")];

/// The report of an import.
pub(crate) async fn report(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let markup = aside(&app, move |app| {
        let item = import_item(&app.store, &app.import(&id)?.id);
        let body = html! { (head(app, &item)) (tabs(&item.path(), &TABS, "/report")) (report_frame(&item)) };
        Ok(page(app, item.title(), Place::Elsewhere, body))
    })
    .await?;
    Ok(markup.into_response())
}

/// An import that is kept.
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let markup = aside(&app, move |app| {
        let import = app.import(&id)?;
        let item = import_item(&app.store, &import.id);
        let text = audit_text(&audit(&Subject::new(&import.sheets)));
        let body = html! {
            (head(app, &item))
            (tabs(&item.path(), &TABS, ""))
            section { h2 { "Audit" } (finding::findings(&text)) }
            section {
                h2 { "What was read" }
                @for sheet in &import.sheets { (summary(sheet)) (tables(sheet)) }
            }
            section {
                h2 { "Download" }
                ul class="links" { @for (format, name) in IMPORT_FORMATS {
                    li { a href={ (item.path()) "/download/" (format) } download { (name) } }
                } }
            }
        };
        Ok(page(app, item.title(), Place::Elsewhere, body))
    })
    .await?;
    Ok(markup.into_response())
}

/// The rows of a document with their figures.
fn tables(sheet: &Sheet) -> Markup {
    let mut left = ROWS_MAX;
    html! {
        @for part in &sheet.parts {
            @let rows: Vec<&Row> = part.rows.iter().filter(|row| row.role != RowRole::Planned && !row.figures.is_empty()).take(left).collect();
            @let () = left -= rows.len();
            @if !rows.is_empty() { (table(part, &rows)) }
        }
        @if left == 0 { p class="soft" { "The first " (ROWS_MAX) " rows; the files to keep have all." } }
    }
}

fn table(part: &Part, rows: &[&Row]) -> Markup {
    let mut columns: Vec<String> = Vec::new();
    for name in rows.iter().flat_map(|row| row.figures.iter().map(column)) {
        if !columns.contains(&name) && columns.len() < COLUMNS_MAX {
            columns.push(name);
        }
    }
    let caption = match part.headings.is_empty() {
        true => part.tool.clone().unwrap_or_else(|| "Rows".to_owned()),
        false => part.headings.join(" › "),
    };
    let factors = |row: &Row| {
        let set = row.factors.iter().map(|(name, value)| format!("{name} {value}"));
        plain(&set.collect::<Vec<_>>().join(", "))
    };
    html! {
        div class="scroll" tabindex="0" role="region" aria-label=(plain(&caption)) {
            table class="side-by-side" {
                caption { (plain(&caption)) }
                thead { tr {
                    th scope="col" { "Row" }
                    @for name in &columns { th scope="col" class="number" { (plain(name)) } }
                } }
                tbody { @for row in rows { tr {
                    th scope="row" {
                        (row.label.as_deref().map(plain).unwrap_or_default()) " "
                        span class="soft" { (factors(row)) }
                    }
                    @for name in &columns { td class="number" { (value(row, name)) } }
                } } }
            }
        }
    }
}

/// What a figure is: quantity, statistic and unit, as the document wrote them.
fn column(figure: &ifm_core::sheet::Figure) -> String {
    ifm_interop::export::column(figure).replace('_', " ")
}

fn value(row: &Row, name: &str) -> String {
    let figure = row.figures.iter().find(|figure| column(figure) == name);
    let shown = figure.and_then(|figure| figure.value).map(number);
    shown.unwrap_or_default()
}
