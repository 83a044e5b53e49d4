//! Reports as files and as text.

pub mod tool_files;

use crate::exit::Failure;
use clap::ValueEnum;
use ifm_report::page::{self, Page, Pictures};
use ifm_report::{ReportModel, TerminalStyle};
use std::path::{Path, PathBuf};

/// Format of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table and the answers
    Text,
    /// One JSON document
    Json,
    /// One line of JSON per finished request
    Requests,
    /// One line of JSON per session of a conversation
    Sessions,
    /// The block that `vllm bench serve` prints, with inferometer's numbers
    Vllm,
    /// The block that SGLang's bench_serving prints, with inferometer's numbers
    Sglang,
    /// Markdown
    Md,
}

/// The written files; pictures of a Markdown file are not listed.
pub type Written = Vec<PathBuf>;

/// Checks, before the load starts, whether a report can be written there.
///
/// # Errors
/// An extension of no known format, or a missing folder.
pub fn check_path(path: &Path) -> Result<(), Failure> {
    kind_of(path)?;
    check_folder(path)
}

/// Checks whether the folder of a file exists.
///
/// # Errors
/// It does not exist.
pub fn check_folder(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(Failure::usage(format!("the folder {} does not exist", folder.display()))
                .hint("create it first, or write elsewhere"))
        }
        _ => Ok(()),
    }
}

/// Writes the report of a run; the file extension selects the format.
///
/// # Errors
/// A file cannot be written.
pub fn write_file(model: &ReportModel, path: &Path) -> Result<Written, Failure> {
    match kind_of(path)? {
        Kind::Json => put(path, ifm_report::json(model).as_bytes()),
        _ => write_page(&ifm_report::run_page(model), path),
    }
}

/// Writes a page; the file extension selects the format. A Markdown file gets its charts as
/// pictures in a folder next to it. If there are several charts and no page, each is one file.
///
/// # Errors
/// A file cannot be written, or there is no chart to draw.
pub fn write_page(page: &Page, path: &Path) -> Result<Written, Failure> {
    let page = page.clone().with_unique_ids();
    match kind_of(path)? {
        Kind::Html => put(path, page::html(&page).as_bytes()),
        Kind::Json => put(path, page::json(&page).as_bytes()),
        Kind::Csv => put(path, page::csv(&page).as_bytes()),
        Kind::Markdown => write_markdown(&page, path),
        Kind::Svg => write_charts(&page, path, |chart| Ok(page::svg(chart)?.into_bytes())),
        Kind::Png => write_charts(&page, path, page::png),
    }
}

/// Formats of a result that its page does not write, such as the document of `--json`.
#[derive(Default)]
pub struct OwnFormats<'a> {
    pub json: Option<&'a dyn Fn() -> String>,
    pub csv: Option<&'a dyn Fn() -> String>,
}

impl<'a> OwnFormats<'a> {
    /// Only a JSON document; everything else is the page.
    pub fn json(write: &'a dyn Fn() -> String) -> OwnFormats<'a> {
        OwnFormats { json: Some(write), csv: None }
    }
}

/// Writes a page, or the result's own document where it has one of that format.
///
/// # Errors
/// As [`write_page`].
pub fn write_result(page: &Page, own: &OwnFormats, path: &Path) -> Result<Written, Failure> {
    let document = match kind_of(path)? {
        Kind::Json => own.json,
        Kind::Csv => own.csv,
        _ => None,
    };
    match document {
        Some(text) => put(path, text().as_bytes()),
        None => write_page(page, path),
    }
}

/// A document as indented JSON; ends with a line break.
///
/// # Errors
/// It cannot be written as JSON.
pub fn document_text(document: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document);
    text.map(|text| format!("{text}\n")).map_err(|error| Failure::files(error.to_string()))
}

/// Writes text to a file.
///
/// # Errors
/// The file cannot be written.
pub fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    write(path, text.as_bytes())
}

fn write_markdown(page: &Page, path: &Path) -> Result<Written, Failure> {
    let charts = page.charts();
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let Some(stem) = stem.filter(|_| !charts.is_empty()) else {
        return put(path, page::markdown(page, Pictures::None).as_bytes());
    };
    let name = format!("{stem}-charts");
    let folder = path.with_file_name(&name);
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::files(format!("cannot create {}: {error}", folder.display())))?;
    for chart in charts {
        let drawn = page::svg(chart).map_err(|error| Failure::files(error.to_string()))?;
        write(&folder.join(format!("{}.svg", chart.id)), drawn.as_bytes())?;
    }
    // A link in Markdown must not contain spaces or brackets.
    put(path, page::markdown(page, Pictures::In(&page::link(&name))).as_bytes())
}

/// Writes one chart of a page.
///
/// # Errors
/// The page has no such chart, the file extension is not that of a picture, or the file cannot be
/// written.
pub fn write_chart(page: &Page, name: &str, path: &Path) -> Result<Written, Failure> {
    let page = page.clone().with_unique_ids();
    let charts = charts_with_subject(&page);
    let wanted = name.to_lowercase();
    let Some(chart) = charts.iter().find(|chart| chart.id.to_lowercase() == wanted) else {
        let names: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
        let failure = Failure::usage(format!("--chart {name}: this report has no such chart"));
        return Err(match names.is_empty() {
            true => failure.hint("it has no chart at all"),
            false => failure.hint(format!("its charts are {}", names.join(", "))),
        });
    };
    let failed = |error: page::ChartError| Failure::files(error.to_string());
    match kind_of(path)? {
        Kind::Svg => put(path, page::svg(chart).map_err(failed)?.as_bytes()),
        Kind::Png => put(path, &page::png(chart).map_err(failed)?),
        _ => Err(Failure::usage(format!("--out {}: --chart writes a picture", path.display()))
            .hint("end the name with .svg or .png")),
    }
}

/// The charts of a page, each with what was measured: a picture is shown without its page.
fn charts_with_subject(page: &Page) -> Vec<page::Chart> {
    let facts = page.facts.iter().take(2);
    let parts = std::iter::once(&page.title).chain(facts).chain(page.conditions.first());
    let parts: Vec<&str> = parts.map(String::as_str).filter(|part| !part.is_empty()).collect();
    let subject = parts.join(" · ");
    let charts = page.charts().into_iter().cloned();
    charts.map(|chart| page::Chart { subject: subject.clone(), ..chart }).collect()
}

fn write_charts(
    page: &Page,
    path: &Path,
    draw: impl Fn(&page::Chart) -> Result<Vec<u8>, page::ChartError>,
) -> Result<Written, Failure> {
    let charts = charts_with_subject(page);
    let drawn =
        |chart: &page::Chart| draw(chart).map_err(|error| Failure::files(error.to_string()));
    match charts.as_slice() {
        [] => Err(Failure::usage("this report has no chart to draw")
            .hint("a chart needs at least two different loads; that of an audit, a finding")),
        [only] => put(path, &drawn(only)?),
        several => {
            let one = |chart: &page::Chart| put(&numbered(path, &chart.id), &drawn(chart)?);
            Ok(several.iter().map(one).collect::<Result<Vec<Written>, _>>()?.concat())
        }
    }
}

/// `x.svg` as `x-ttft.svg`.
fn numbered(path: &Path, id: &str) -> PathBuf {
    let part = |part: Option<&std::ffi::OsStr>| {
        part.and_then(|part| part.to_str()).unwrap_or_default().to_owned()
    };
    path.with_file_name(format!("{}-{id}.{}", part(path.file_stem()), part(path.extension())))
}

fn put(path: &Path, bytes: &[u8]) -> Result<Written, Failure> {
    write(path, bytes)?;
    Ok(vec![path.to_owned()])
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes)
        .map_err(|error| Failure::files(format!("cannot write {}: {error}", path.display())))
}

/// The result as text for standard output. For lines per request there is nothing to add.
pub fn text(model: &ReportModel, format: Format, style: &TerminalStyle) -> String {
    match format {
        Format::Text => ifm_report::terminal(model, style),
        Format::Json => ifm_report::json(model),
        Format::Vllm => ifm_report::vllm(model),
        Format::Md => ifm_report::markdown(model),
        // It needs the events of the run: `session`.
        Format::Requests | Format::Sglang => String::new(),
        Format::Sessions => sessions(model),
    }
}

/// Every session of a run as one line of JSON.
fn sessions(model: &ReportModel) -> String {
    let all = model.summary.levels.iter().filter_map(|level| level.sessions.as_ref());
    let lines = all.flat_map(|sessions| &sessions.each);
    lines.map(|session| format!("{}\n", ifm_report::session_line(session))).collect()
}

enum Kind {
    Html,
    Markdown,
    Json,
    Csv,
    Svg,
    Png,
}

fn kind_of(path: &Path) -> Result<Kind, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "htm") => Ok(Kind::Html),
        Some("md" | "markdown") => Ok(Kind::Markdown),
        Some("json") => Ok(Kind::Json),
        Some("csv") => Ok(Kind::Csv),
        Some("svg") => Ok(Kind::Svg),
        Some("png") => Ok(Kind::Png),
        _ => Err(Failure::usage(format!("--out {}: the ending names no format", path.display()))
            .hint("end the name with .html, .md, .json, .csv, .svg or .png")),
    }
}
