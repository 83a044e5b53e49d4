//! `inferometer import FILE…`: results of other tools, read, told and kept.

use crate::documents::{Document, input, open};
use crate::exit::{Code, Failure};
use crate::session::store_root;
use crate::terminal;
use clap::{Args, ValueEnum};
use ifm_core::Sheet;
use ifm_core::sheet::{Part, PartKind, Place, Remark, RemarkKind, RowRole, SHEET_VERSION};
use ifm_interop::{ColumnMap, ImportError, read_mapped};
use ifm_store::{Import, Store, new_run_id};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Remarks of one document that are told; `--verbose` tells all.
const REMARKS_MAX: usize = 5;

/// What goes to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// What was read, for people
    Text,
    /// Everything that was read, one JSON document
    Json,
}

/// Flags of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Files, folders, or "-" for standard input; the content says what they are
    #[arg(required_unless_present = "list_formats")]
    files: Vec<PathBuf>,

    /// Name of the import, to find it by
    #[arg(long)]
    name: Option<String>,

    /// Rows of a table that fits no format: which column is what, as ttft_ms=first_tok,users=conc
    #[arg(long, value_name = "NAME=COLUMN,…")]
    map: Option<String>,

    /// What goes to standard output
    #[arg(short, long, value_enum, default_value = "text")]
    format: ImportFormat,

    /// Only read and tell: keep nothing in the store
    #[arg(long)]
    dry_run: bool,

    /// Tell every remark
    #[arg(short, long)]
    verbose: bool,

    /// List the formats that can be read
    #[arg(long)]
    list_formats: bool,

    /// Folder of stored runs and imports [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &ImportArgs) -> Result<Code, Failure> {
    if args.list_formats {
        for format in ifm_interop::formats() {
            terminal::print(&format!("{:<26} {}\n", format.id, format.title));
        }
        return Ok(Code::Done);
    }
    let mut sheets = match &args.map {
        Some(map) => by_map(args, map)?,
        None => Vec::new(),
    };
    let documents = if args.map.is_some() { Vec::new() } else { open(&args.files)? };
    let mut skipped = 0;
    let mut unknown = 0;
    for document in documents {
        match document {
            Document { sheet: Ok(sheet), .. } => {
                if args.format == ImportFormat::Text {
                    terminal::print(&told(&sheet, args.verbose));
                }
                sheets.push(sheet);
            }
            // Folders hold all kinds of files: those of no known format are only counted.
            Document { sheet: Err(ImportError::NotKnown { .. }), is_named: false, .. } => {
                unknown += 1;
            }
            Document { sheet: Err(error), .. } => {
                skipped += 1;
                complain(&error);
            }
        }
    }
    if sheets.is_empty() {
        let among = if unknown > 0 { format!(" in {unknown} files") } else { String::new() };
        return Err(Failure::usage(format!("nothing was imported: no known results{among}")).hint(
            "inferometer import --list-formats names what can be read; rows of any other table \
                 come in by --map NAME=COLUMN",
        ));
    }
    let rows: usize =
        sheets.iter().flat_map(|sheet| &sheet.parts).map(|part| part.rows.len()).sum();
    let files = sheets.len();
    let is_damaged = sheets.iter().any(is_damaged);
    let kept = keep(args, sheets)?;
    if args.format == ImportFormat::Text {
        let others =
            if unknown > 0 { format!(", {unknown} other files left alone") } else { String::new() };
        terminal::say(&format!("{files} files read, {rows} rows, {skipped} files skipped{others}"));
        if let Some(id) = kept {
            terminal::say(&format!("kept as {id}"));
        }
    }
    Ok(if skipped > 0 || is_damaged { Code::Partly } else { Code::Done })
}

/// Reads every named file by the map.
fn by_map(args: &ImportArgs, map: &str) -> Result<Vec<Sheet>, Failure> {
    let map = ColumnMap::parse(map).map_err(|error| Failure::usage(error.to_string()))?;
    let read = |path: &PathBuf| {
        let input = input(path)?;
        let sheet = read_mapped(input, &map).map_err(|error| Failure::usage(error.to_string()))?;
        if args.format == ImportFormat::Text {
            terminal::print(&told(&sheet, args.verbose));
        }
        Ok(sheet)
    };
    args.files.iter().map(read).collect()
}

/// Keeps the sheets, and prints them where JSON was asked for. Gives the id.
fn keep(args: &ImportArgs, sheets: Vec<Sheet>) -> Result<Option<String>, Failure> {
    let import = Import {
        sheet_version: SHEET_VERSION,
        id: new_run_id(ifm_sys::real_ns(), std::process::id() as u16),
        name: args.name.clone(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        sheets,
    };
    if !args.dry_run {
        let store = Store::at(store_root(args.store.as_ref()));
        store.keep_import(&import).map_err(|error| Failure::files(error.to_string()))?;
    }
    if args.format == ImportFormat::Json {
        let document = json!({"kind": "inferometer_import", "import": import});
        terminal::print(&format!("{document:#}\n"));
    }
    Ok((!args.dry_run).then_some(import.id))
}

/// What was read from one document.
fn told(sheet: &Sheet, verbose: bool) -> String {
    let source = &sheet.source;
    let version = source.tool_version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
    let tool = source.tool.as_deref().map(|tool| format!("  {tool}{version}")).unwrap_or_default();
    let mut lines = vec![format!("{}  {}{tool}", clean(&source.name), source.format)];
    let mut kinds: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
    for part in &sheet.parts {
        kinds.entry(kind_word(part.kind)).or_default().push(part);
    }
    for (word, parts) in kinds {
        let rows = || parts.iter().flat_map(|part| &part.rows);
        let of = |role: RowRole| rows().filter(|row| row.role == role).count();
        let requests: usize = rows().map(|row| row.requests.len()).sum();
        let mut counts = vec![format!("{} measured", of(RowRole::Measured))];
        for (role, name) in [
            (RowRole::Summary, "summaries"),
            (RowRole::Stated, "stated"),
            (RowRole::Planned, "planned and empty"),
        ] {
            counts.extend((of(role) > 0).then(|| format!("{} {name}", of(role))));
        }
        counts.extend((requests > 0).then(|| format!("{requests} requests")));
        let blocks = parts.len();
        lines.push(format!(
            "  {word:<16} {blocks} {}: {}",
            if blocks == 1 { "table" } else { "tables" },
            counts.join(", ")
        ));
    }
    let shown = if verbose { sheet.remarks.len() } else { REMARKS_MAX };
    lines.extend(sheet.remarks.iter().take(shown).map(remark_line));
    if sheet.remarks.len() > shown {
        lines.push(format!("  and {} more remarks: --verbose", sheet.remarks.len() - shown));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Whether a part of a file with fields could not be read. Text is full of lines that are nobody's
/// results: not to understand them is no damage.
fn is_damaged(sheet: &Sheet) -> bool {
    let is_skipped = |remark: &Remark| remark.kind == RemarkKind::Skipped;
    sheet.source.format != ifm_interop::TEXT && sheet.remarks.iter().any(is_skipped)
}

fn remark_line(remark: &Remark) -> String {
    let word = match remark.kind {
        RemarkKind::Repaired => "repaired",
        RemarkKind::Missing => "missing",
        RemarkKind::Skipped => "skipped",
        RemarkKind::Lost => "not kept",
        RemarkKind::Assumed => "assumed",
    };
    format!("  {word:<9} {}: {}", place(&remark.place), clean(&remark.text))
}

/// `line 412`, with the field or column where it is told; `the file` where no place is.
fn place(place: &Place) -> String {
    let line = place.line.map(|line| format!("line {line}"));
    let pointer = place.pointer.as_deref().map(clean).filter(|pointer| !pointer.is_empty());
    let words: Vec<String> = line.into_iter().chain(pointer).collect();
    if words.is_empty() { "the file".to_owned() } else { words.join(" ") }
}

fn kind_word(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Serving => "serving",
        PartKind::StaticBatch => "static batches",
        PartKind::Engine => "engine",
        PartKind::Kernel => "kernels",
        PartKind::Training => "training",
        PartKind::Conclusion => "conclusions",
        PartKind::Other => "other",
    }
}

/// What the content of foreign files may put on a terminal: no control characters.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Tells why a file was not imported, and what came closest.
fn complain(error: &ImportError) {
    terminal::warn(&clean(&error.to_string()));
    if let ImportError::NotKnown { guesses, .. } = error {
        for guess in guesses {
            terminal::say(&format!(
                "  nearest: {}: it has {}, and lacks {}",
                guess.title,
                guess.found.join(", "),
                guess.lacking.join(", ")
            ));
        }
    }
}
