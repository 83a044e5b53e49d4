//! Results on their way out: the report in its frame, and files to keep.
//!
//! The report is shown in a frame without an origin: whatever a script in it did, it could not
//! reach the page around it, nor what the session may do.

use crate::app::{App, aside};
use crate::failure::Failure;
use crate::report::report_page;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use ifm_core::{RequestRecord, Sheet};
use ifm_interop::EXPORTS;
use ifm_metrics::definitions::{self, Definitions};
use ifm_report::ReportModel;
use std::sync::Arc;

/// What a report in its frame may do. Its own policy, inside the document, allows less: only the
/// styles and scripts whose hashes it names.
const REPORT_POLICY: &str = "sandbox allow-scripts allow-popups allow-modals; default-src 'none'; \
                             script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                             img-src data: blob:; font-src data:; frame-ancestors 'self'; \
                             base-uri 'none'; form-action 'none'";

/// Formats of a run that can be kept: the word in the address, the name for people.
pub(crate) const RUN_FORMATS: [(&str, &str); 6] = [
    ("html", "Report, one HTML file"),
    ("md", "Report, Markdown"),
    ("json", "Everything, JSON"),
    ("csv", "Levels, CSV"),
    ("jsonl", "Levels, JSON Lines"),
    ("requests", "Every request, JSON Lines"),
];

/// Formats of an import that can be kept.
pub(crate) const IMPORT_FORMATS: [(&str, &str); 3] = [
    ("json", "Everything that was read, JSON"),
    ("csv", "Rows, CSV"),
    ("jsonl", "Rows, JSON Lines"),
];

/// The report of a run, for the frame on its page.
pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let page = aside(&app, move |app| {
        let run = app.store.open(&app.run(&id)?)?;
        Ok(report_page(&run.data))
    })
    .await?;
    Ok(framed(page))
}

/// The report of an import, for the frame on its page.
pub(crate) async fn import_page(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let page = aside(&app, move |app| {
        let page = crate::report::import_page(&app.import(&id)?.sheets);
        page.ok_or_else(|| Failure::not_found("nothing in this import makes a report"))
    })
    .await?;
    Ok(framed(page))
}

/// A report for a frame, with its policy.
pub(crate) fn framed(page: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, REPORT_POLICY),
        (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
    ];
    (headers, page).into_response()
}

/// A run as a file.
pub(crate) async fn run(
    State(app): State<Arc<App>>,
    Path((id, format)): Path<(String, String)>,
) -> Result<Response, Failure> {
    aside(&app, move |app| {
        let entry = app.run(&id)?;
        let run = app.store.open(&entry)?.data;
        let model = || ReportModel::new(&run, ifm_metrics::summarize(&run));
        let text = match format.as_str() {
            "html" => report_page(&run),
            "md" => ifm_report::markdown(&model()),
            "json" => ifm_report::json(&model()),
            "requests" => {
                let id = |seq| run.manifest.request_id(seq);
                let line = |of: &RequestRecord| ifm_report::request_line(of, id(of.seq).as_deref());
                run.requests.iter().map(|record| line(record) + "\n").collect()
            }
            rows => written(rows, &[definitions::sheet(&run, Definitions::Ours)])?,
        };
        let ending = if format == "requests" { "requests.jsonl" } else { &format };
        Ok(file(&entry.id, ending, text))
    })
    .await
}

/// An import as a file.
pub(crate) async fn import(
    State(app): State<Arc<App>>,
    Path((id, format)): Path<(String, String)>,
) -> Result<Response, Failure> {
    aside(&app, move |app| {
        let import = app.import(&id)?;
        let text = match format.as_str() {
            "json" => serde_json::to_string_pretty(&import)
                .map_err(|error| Failure::bad(error.to_string()))?,
            rows => written(rows, &import.sheets)?,
        };
        Ok(file(&import.id, &format, text))
    })
    .await
}

/// Sheets in one of the formats that hold rows of any kind.
fn written(format: &str, sheets: &[Sheet]) -> Result<String, Failure> {
    let export = EXPORTS
        .iter()
        .find(|export| export.id == format && matches!(export.id, "csv" | "jsonl"))
        .ok_or_else(|| Failure::not_found("no such format"))?;
    // One table of all files: each would have a head of its own.
    let parts = sheets.iter().flat_map(|sheet| sheet.parts.iter().cloned()).collect();
    let source = sheets.first().map(|sheet| sheet.source.clone()).unwrap_or_default();
    let all = Sheet { source, parts, remarks: Vec::new() };
    let files = export.write(&all).map_err(|error| Failure::not_found(error.to_string()))?;
    Ok(files.into_iter().map(|file| file.text).collect())
}

/// An answer that a browser keeps as a file rather than shows.
fn file(id: &str, ending: &str, text: String) -> Response {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let safe = |text: &str| -> String {
        text.chars().map(|c| if is_safe(c) { c } else { '_' }).take(100).collect()
    };
    let kind = match ending {
        "html" => "text/html; charset=utf-8",
        "json" => "application/json",
        "csv" => "text/csv; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    };
    let name = format!("attachment; filename=\"{}.{}\"", safe(id), safe(ending));
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, name),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'".to_owned()),
    ];
    (headers, text).into_response()
}
