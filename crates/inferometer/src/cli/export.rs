//! `inferometer export RUN --as FORMAT`: writes results in the formats of other tools, or sends them to
//! their servers.

use super::export_sessions::{self, SESSIONS_PARQUET};
use super::report::ReportArgs;
use crate::cli::args::push::PushArgs;
use crate::exit::{Code, Failure};
use crate::inputs::documents::{self, PARQUET};
use crate::inputs::{Subject, Subjects, find};
use crate::output::tool_files::{self, file_name};
use crate::push::{self, Results};
use crate::session::store_root;
use crate::terminal;
use clap::Args;
use clap::builder::PossibleValuesParser;
use ifm_core::Sheet;
use ifm_interop::export::{Column, columns};
use ifm_interop::{EXPORTS, Export, ExportOptions, Exported};
use ifm_metrics::definitions::{Definitions, sheet};
use ifm_report::ReportModel;
use ifm_store::{
    REQUESTS_FILE, RunEntry, Store, TableCells, TableColumn, write_sheet_file, write_single_file,
};
use std::path::{Path, PathBuf};

/// Flags of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Result to write
    ///
    /// A run or import by ID or name, "last", a file or folder of another tool, or "-" for standard
    /// input
    #[arg(default_value = "last")]
    subject: PathBuf,

    /// Format to write
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats())]
    format: String,

    /// Tool whose definitions compute a run's numbers from its events [default: the format's]
    #[arg(long, value_name = "TOOL", value_parser = tools())]
    definitions: Option<String>,

    /// File to write, or folder for several [default: standard output]
    #[arg(short, long, value_name = "FILE|DIR")]
    out: Option<PathBuf>,

    /// Folder of stored runs and imports [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    #[command(flatten)]
    sending: PushArgs,
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(
        EXPORTS.iter().map(|export| export.id).chain([PARQUET.id, SESSIONS_PARQUET]),
    )
}

fn tools() -> PossibleValuesParser {
    PossibleValuesParser::new(Definitions::ALL.map(Definitions::word))
}

/// Runs the command.
pub fn run(args: &ExportArgs) -> Result<Code, Failure> {
    let store = Store::at(store_root(args.store.as_ref()));
    if args.sending.push.is_some() {
        return send(args, &store);
    }
    if args.format == PARQUET.id {
        return as_parquet(args, &store);
    }
    if args.format == SESSIONS_PARQUET {
        return as_sessions(args, &store);
    }
    let export = args.export()?;
    let results = results(args, export, &store)?;
    put(args, &files(args, export, &results)?)
}

/// Sends results to a server, and also writes them if a file is named.
fn send(args: &ExportArgs, store: &Store) -> Result<Code, Failure> {
    let push = push::of_format(&args.format)?;
    let Some(target) = args.sending.target(push.example)? else { return Ok(Code::Done) };
    let export = args.export()?;
    let mut results = results(args, export, store)?;
    if args.out.is_some() {
        put(args, &files(args, export, &results)?)?;
    }
    for one in &mut results {
        if push.has_report {
            one.report = report(one)?;
        }
        let sent = push.send(&target, one)?;
        terminal::say(&format!(
            "sent {sent} to {}",
            target.at(target.path()).split('?').next().unwrap_or_default()
        ));
    }
    Ok(Code::Done)
}

/// The report of a run or a document; absent if it contains nothing to show.
fn report(results: &Results) -> Result<Option<String>, Failure> {
    if let Some(run) = &results.run {
        let model = ReportModel::new(run, ifm_metrics::summarize(run));
        return Ok(Some(ifm_report::html(&model)));
    }
    let plain = ReportArgs::of_words(&["report".to_owned()])?;
    let subjects = Subjects { sheets: vec![results.sheet.clone()], ..Subjects::default() };
    Ok(plain.page(&subjects).ok().map(|page| ifm_report::page::html(&page)))
}

/// The files of results. Results without anything for the format are reported.
fn files(
    args: &ExportArgs,
    export: &Export,
    results: &[Results],
) -> Result<Vec<Exported>, Failure> {
    let mut files = Vec::new();
    for one in results {
        let options = ExportOptions::default();
        let options = match &one.run {
            Some(run) => tool_files::of_run(options, run),
            None => options,
        };
        match export.write_results(&one.sheet, one.run.as_ref(), &options) {
            Ok(written) => files.extend(written),
            Err(error) => terminal::warn(&format!("{}: {error}", one.sheet.source.name)),
        }
    }
    match files.is_empty() {
        false => Ok(files),
        true => {
            let subject = args.subject.display();
            Err(Failure::usage(format!("{subject} contains nothing to write as {}", export.title)))
        }
    }
}

impl ExportArgs {
    fn export(&self) -> Result<&'static Export, Failure> {
        let export = EXPORTS.iter().find(|export| export.id == self.format);
        export.copied().ok_or_else(|| Failure::usage(format!("no format {}", self.format)))
    }
}

/// The text to write. A run is recomputed from its events.
fn results(args: &ExportArgs, export: &Export, store: &Store) -> Result<Vec<Results>, Failure> {
    let key = args.subject.to_string_lossy();
    let word = args.definitions.as_deref().or(export.definitions).unwrap_or_default();
    let by = Definitions::ALL.into_iter().find(|by| by.word() == word).unwrap_or(Definitions::Ours);
    let of_run = |sheet, run| vec![Results { sheet, run: Some(run), report: None }];
    let sheets = match find(store, &args.subject)? {
        Subject::RunFile(run) => {
            return Ok(of_run(documents::as_sheet(&args.subject, &run, by), *run));
        }
        Subject::Run(entry) => {
            let loaded = store.open(&entry).map_err(|error| Failure::files(error.to_string()))?;
            return Ok(of_run(sheet(&loaded.data, by), loaded.data));
        }
        Subject::Documents(_, sheets) => sheets,
    };
    if args.definitions.is_some() {
        return Err(Failure::usage(format!("{key} contains no events to compute from"))
            .hint("--definitions is for runs that inferometer measured"));
    }
    Ok(sheets.into_iter().map(|sheet| Results { sheet, run: None, report: None }).collect())
}

/// Writes one file, or several into a folder.
fn put(args: &ExportArgs, files: &[Exported]) -> Result<Code, Failure> {
    let write = |path: &Path, text: &str| tool_files::put(path, text, false);
    match (&args.out, files) {
        (None, [one]) => {
            terminal::print(&one.text);
        }
        (None, several) => {
            return Err(Failure::usage(format!("{} is {} files", args.format, several.len()))
                .hint("name a folder for them: -o DIR"));
        }
        (Some(path), [one]) if !path.is_dir() => {
            write(path, &one.text)?;
            terminal::say(&format!("wrote {}", path.display()));
        }
        (Some(folder), files) => {
            std::fs::create_dir_all(folder).map_err(|error| {
                Failure::files(format!("cannot create {}: {error}", folder.display()))
            })?;
            for (index, file) in files.iter().enumerate() {
                let path = folder.join(file_name(&args.format, index, files.len(), file));
                write(&path, &file.text)?;
                terminal::say(&format!("wrote {}", path.display()));
            }
        }
    }
    Ok(Code::Done)
}

/// A sealed run as one file, or the rows of each document.
fn as_parquet(args: &ExportArgs, store: &Store) -> Result<Code, Failure> {
    let Some(out) = &args.out else {
        return Err(Failure::usage("parquet is not text").hint("name a file for it: -o FILE"));
    };
    match find(store, &args.subject)? {
        Subject::Run(entry) => copy_run(&entry, out),
        Subject::RunFile(_) => {
            let name = args.subject.display();
            Err(Failure::usage(format!("{name} is a run in Parquet already")))
        }
        Subject::Documents(_, sheets) => put_tables(args, out, &sheets),
    }
}

/// The sessions of a run as one file.
fn as_sessions(args: &ExportArgs, store: &Store) -> Result<Code, Failure> {
    let Some(out) = &args.out else {
        return Err(Failure::usage("parquet is not text").hint("name a file for it: -o FILE"));
    };
    match find(store, &args.subject)? {
        Subject::Run(entry) => {
            let loaded = store.open(&entry).map_err(|error| Failure::files(error.to_string()))?;
            export_sessions::write(&loaded.data, out)
        }
        Subject::RunFile(run) => export_sessions::write(&run, out),
        Subject::Documents(..) => {
            Err(Failure::usage("documents of other tools contain no sessions")
                .hint("only runs that inferometer measured have sessions"))
        }
    }
}

fn copy_run(entry: &RunEntry, out: &Path) -> Result<Code, Failure> {
    if !entry.sealed {
        return Err(Failure::usage(format!("{} is not sealed", entry.id))
            .hint(format!("inferometer runs seal {}", entry.id)));
    }
    let path = if out.is_dir() { out.join(REQUESTS_FILE) } else { out.to_owned() };
    write_single_file(entry, &path).map_err(|error| Failure::files(error.to_string()))?;
    terminal::say(&format!("wrote {}", path.display()));
    Ok(Code::Done)
}

/// Writes the rows of each document as a table: one file, or several into a folder.
fn put_tables(args: &ExportArgs, out: &Path, sheets: &[Sheet]) -> Result<Code, Failure> {
    if args.definitions.is_some() {
        return Err(Failure::usage("documents of other tools contain no events to compute from")
            .hint("--definitions is for runs that inferometer measured"));
    }
    let tables: Vec<(&Sheet, Vec<TableColumn>)> = sheets
        .iter()
        .map(|sheet| (sheet, columns(sheet).into_iter().map(table_column).collect()))
        .filter(|(_, columns): &(_, Vec<_>)| !columns.is_empty())
        .collect();
    if tables.is_empty() {
        return Err(Failure::usage("nothing to write as parquet: no measured rows"));
    }
    let is_one = tables.len() == 1 && !out.is_dir();
    if !is_one {
        std::fs::create_dir_all(out).map_err(|error| {
            Failure::files(format!("cannot create {}: {error}", out.display()))
                .hint("each document becomes one file: name a folder for them, -o DIR")
        })?;
    }
    for (index, (sheet, columns)) in tables.iter().enumerate() {
        let stem = Path::new(&sheet.source.name).file_stem().unwrap_or_default();
        let file = Exported {
            name: None,
            stem: stem.to_string_lossy().into_owned(),
            ending: PARQUET.id,
            text: String::new(),
        };
        let path = match is_one {
            true => out.to_owned(),
            false => out.join(file_name(&args.format, index, tables.len(), &file)),
        };
        write_sheet_file(&path, columns, sheet)
            .map_err(|error| Failure::files(error.to_string()))?;
        terminal::say(&format!("wrote {}", path.display()));
    }
    Ok(Code::Done)
}

fn table_column((name, column): (String, Column)) -> TableColumn {
    let cells = match column {
        Column::Texts(cells) => TableCells::Texts(cells),
        Column::Numbers(cells) => TableCells::Numbers(cells),
    };
    TableColumn { name, cells }
}
