//! Reports as files and as text.

use crate::cli::load_args::Format;
use crate::exit::Failure;
use ifm_report::page::{self, Page, Pictures};
use ifm_report::{ReportModel, TerminalStyle};
use std::path::Path;

/// Finds out before the load starts whether a report can be written there.
///
/// # Errors
/// An ending that names no format, or a folder that is not there.
pub fn check_path(path: &Path) -> Result<(), Failure> {
    kind_of(path)?;
    check_folder(path)
}

/// Finds out whether the folder of a file is there.
///
/// # Errors
/// It is not.
pub fn check_folder(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(Failure::usage(format!("the folder {} does not exist", folder.display()))
                .hint("make it first, or write elsewhere"))
        }
        _ => Ok(()),
    }
}

/// Writes a report; the ending of the name says in which format.
///
/// # Errors
/// The file cannot be written.
pub fn write_file(model: &ReportModel, path: &Path) -> Result<(), Failure> {
    let text = match kind_of(path)? {
        Kind::Html => ifm_report::html(model),
        Kind::Markdown => ifm_report::markdown(model),
        Kind::Json => ifm_report::json(model),
    };
    put(path, &text)
}

/// Writes a page; the ending of the name says in which format.
///
/// # Errors
/// The file cannot be written.
pub fn write_page(page: &Page, path: &Path) -> Result<(), Failure> {
    let text = match kind_of(path)? {
        Kind::Html => page::html(page),
        Kind::Markdown => page::markdown(page, Pictures::None),
        Kind::Json => page::json(page),
    };
    put(path, &text)
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::files(format!("cannot write {}: {error}", path.display())))
}

/// The result as text for standard output. For lines per request there is nothing left to say.
pub fn text(model: &ReportModel, format: Format, style: &TerminalStyle) -> String {
    match format {
        Format::Text => ifm_report::terminal(model, style),
        Format::Json => ifm_report::json(model),
        Format::Vllm => ifm_report::vllm(model),
        Format::Md => ifm_report::markdown(model),
        Format::Requests => String::new(),
    }
}

enum Kind {
    Html,
    Markdown,
    Json,
}

fn kind_of(path: &Path) -> Result<Kind, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "htm") => Ok(Kind::Html),
        Some("md" | "markdown") => Ok(Kind::Markdown),
        Some("json") => Ok(Kind::Json),
        _ => Err(Failure::usage(format!("--out {}: the ending names no format", path.display()))
            .hint("end the name with .html, .md or .json")),
    }
}
