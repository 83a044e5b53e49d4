//! `inferometer import FILE…`: reads, prints and stores results of other tools.

use crate::cli::id_list::{Entry, List};
use crate::exit::{Code, Failure};
use crate::inputs;
use crate::inputs::documents::{Document, PARQUET, input, open};
use crate::session::store_root;
use crate::terminal;
use clap::{Args, ValueEnum};
use ifm_core::Sheet;
use ifm_core::sheet::{Remark, RemarkKind, SHEET_VERSION};
use ifm_core::tag::check_name;
use ifm_core::words::counted;
use ifm_interop::{ColumnMap, ImportError, read_mapped};
use ifm_report::RemarkText;
use ifm_store::{Import, Store, new_run_id};
use serde::Serialize;
use std::path::PathBuf;

/// Maximum remarks to print per document; `--verbose` prints all.
const REMARKS_MAX: usize = 5;

/// Format of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// What was read, as text
    Text,
    /// Everything that was read, as one JSON document
    Json,
}

/// Flags of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Files, folders, or "-" for standard input; formats are detected by content
    #[arg(required_unless_present = "list_formats")]
    files: Vec<PathBuf>,

    /// Name to store the import under
    #[arg(long, value_parser = check_name)]
    name: Option<String>,

    /// Map columns of an unknown table, e.g. ttft_ms=first_tok,users=conc
    #[arg(long, value_name = "NAME=COLUMN,…")]
    map: Option<String>,

    /// Format of standard output
    #[arg(short, long, value_enum, default_value = "text")]
    format: ImportFormat,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Dry run: parse and print, store nothing
    #[arg(long)]
    dry_run: bool,

    /// Print every remark
    #[arg(short, long)]
    verbose: bool,

    /// List the readable formats and exit
    #[arg(long)]
    list_formats: bool,

    /// Folder of stored runs and imports [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,
}

/// What `import --json` writes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Imported<'a> {
    /// What kind of document this is.
    #[cfg_attr(test, schemars(extend("const" = "inferometer_import")))]
    kind: &'static str,
    /// The import.
    import: &'a Import,
}

impl ImportArgs {
    /// Whether the output is text for people.
    fn is_text(&self) -> bool {
        !self.json && self.format == ImportFormat::Text
    }
}

/// Runs the command.
pub fn run(args: &ImportArgs) -> Result<Code, Failure> {
    if args.list_formats {
        let formats = ifm_interop::formats().chain([PARQUET]);
        List::new("formats", formats.map(|format| Entry::new(format.id, format.title)))
            .tell(!args.is_text());
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
                if args.is_text() {
                    terminal::print(&told(&sheet, args.verbose));
                }
                sheets.push(sheet);
            }
            // Folders contain all kinds of files: unknown formats are only counted.
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
        let among = if unknown > 0 {
            format!(" in {}", counted(unknown as u64, "file"))
        } else {
            String::new()
        };
        return Err(Failure::usage(format!("nothing was imported: no known results{among}"))
            .hint(inputs::READABLE));
    }
    let rows: usize =
        sheets.iter().flat_map(|sheet| &sheet.parts).map(|part| part.rows.len()).sum();
    let files = sheets.len();
    let is_damaged = sheets.iter().any(is_damaged);
    let kept = keep(args, sheets)?;
    if args.is_text() {
        let others = match unknown {
            0 => String::new(),
            unknown => format!(", {} left alone", counted(unknown as u64, "other file")),
        };
        terminal::say(&format!(
            "{} read, {}, {} skipped{others}",
            counted(files as u64, "file"),
            counted(rows as u64, "row"),
            counted(skipped as u64, "file")
        ));
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
        if args.is_text() {
            terminal::print(&told(&sheet, args.verbose));
        }
        Ok(sheet)
    };
    args.files.iter().map(read).collect()
}

/// Stores the sheets, and prints them if JSON was requested. Returns the ID.
fn keep(args: &ImportArgs, sheets: Vec<Sheet>) -> Result<Option<String>, Failure> {
    let import = Import {
        sheet_version: SHEET_VERSION,
        id: new_run_id(ifm_sys::real_ns(), std::process::id() as u16),
        name: args.name.clone(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        plan: None,
        sheets,
    };
    if !args.dry_run {
        let store = Store::at(store_root(args.store.as_ref()));
        store.keep_import(&import).map_err(|error| Failure::files(error.to_string()))?;
    }
    if !args.is_text() {
        terminal::print_document(&Imported { kind: "inferometer_import", import: &import });
    }
    Ok((!args.dry_run).then_some(import.id))
}

/// What was read from one document.
fn told(sheet: &Sheet, verbose: bool) -> String {
    let found = ifm_report::imported(sheet);
    let tool = found.tool.map(|tool| format!("  {tool}")).unwrap_or_default();
    let mut lines = vec![format!("{}  {}{tool}", found.name, found.format)];
    lines.extend(found.kinds.iter().map(|(word, counts)| format!("  {word:<16} {counts}")));
    let shown = if verbose { found.remarks.len() } else { REMARKS_MAX };
    let line = |remark: &RemarkText| {
        let said = format!("{}: {}", remark.place, remark.text);
        terminal::wrapped(&format!("  {:<9} ", remark.word), &said).trim_end().to_owned()
    };
    lines.extend(found.remarks.iter().take(shown).map(line));
    if found.remarks.len() > shown {
        lines.push(format!("  and {} more remarks: --verbose", found.remarks.len() - shown));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Whether a part of a file could not be read: a record, or a line inside a table. Lines of a text
/// that belong to no result are not damage.
fn is_damaged(sheet: &Sheet) -> bool {
    let is_skipped = |remark: &Remark| remark.kind == RemarkKind::Skipped;
    sheet.remarks.iter().any(is_skipped)
}

/// Removes control characters: foreign files must not control the terminal.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Reports why a file was not imported, and which format matched best.
fn complain(error: &ImportError) {
    terminal::warn(&clean(&error.to_string()));
    for hint in error.hints() {
        terminal::say(&format!("  {hint}"));
    }
}
