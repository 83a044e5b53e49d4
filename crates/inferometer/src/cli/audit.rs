//! `inferometer audit FILE|RUN…`: finds what cannot be right, is noise, or does not follow in
//! results.

use crate::cli::args::page::PageArgs;
use crate::cli::id_list::{Entry, List};
use crate::exit::{Code, Failure};
use crate::inputs::stored::open;
use crate::inputs::{Subject, find, is_document};
use crate::output::OwnFormats;
use crate::secrets::mask_command;
use crate::session::store_root;
use crate::terminal;
use clap::{Args, ValueEnum};
use ifm_core::Sheet;
use ifm_metrics::definitions::{self, Definitions};
use ifm_rules::audit::{Audit, Level, PHYSICS, Subject as Audited, audit, of_run, rules};
use ifm_store::Store;
use std::path::PathBuf;

/// Minimum strength of findings to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AtLeast {
    /// All findings
    Hint,
    /// Findings that are hard to explain innocently
    Strong,
    /// Findings that cannot be right
    Proof,
}

/// Format of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AuditFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// A table
    Markdown,
}

/// Flags of `audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Files, folders, "-" for standard input, runs and imports (ID, name)
    #[arg(required_unless_present = "list_rules")]
    subjects: Vec<PathBuf>,

    /// Hardware, where documents do not name it, e.g. 8xh100-sxm
    #[arg(long, value_name = "NAME", value_parser = machine)]
    gpu: Option<String>,

    /// Model, where documents do not name it
    #[arg(long, value_name = "NAME", value_parser = model)]
    model: Option<String>,

    /// Weakest findings to show
    #[arg(long, value_enum, default_value = "hint")]
    level: AtLeast,

    #[command(flatten)]
    files: PageArgs,

    /// Format of standard output
    #[arg(short, long, value_enum, default_value = "text")]
    format: AuditFormat,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// List the rules for documents
    #[arg(long)]
    list_rules: bool,

    /// Folder of stored runs and imports [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    /// Print without color (also: NO_COLOR)
    #[arg(long)]
    no_color: bool,

    /// Print only ASCII characters (default on terminals without UTF-8)
    #[arg(long)]
    ascii: bool,

    /// List the rules that had no data too
    #[arg(short, long)]
    verbose: bool,
}

/// Runs the command.
pub fn run(args: &AuditArgs, words: &[String]) -> Result<Code, Failure> {
    if args.list_rules {
        let is_json = args.format() == AuditFormat::Json;
        List::new("rules", rules().map(|(id, title)| Entry::new(id, title))).tell(is_json);
        return Ok(Code::Done);
    }
    args.files.check()?;
    let store = Store::at(store_root(args.store.as_ref()));
    let (mut sheets, mut imported) = (Vec::<Sheet>::new(), Vec::new());
    let mut own = Vec::new();
    let mut own_sheets = Vec::new();
    for subject in &args.subjects {
        let run = match find(&store, subject)? {
            Subject::Documents(_, found) if is_document(subject) => {
                sheets.extend(found);
                continue;
            }
            Subject::Documents(_, found) => {
                imported.extend(found);
                continue;
            }
            Subject::Run(entry) => open(&store, &entry)?,
            Subject::RunFile(run) => *run,
        };
        own.extend(of_run(&run.manifest.run_id, &ifm_metrics::summarize(&run)));
        own_sheets.push(definitions::sheet(&run, Definitions::Ours));
    }
    // Imports were settled when they were stored; imports of other days belong to other runs.
    ifm_interop::settle_together(&mut sheets);
    sheets.extend(imported);
    let mut found = Audit { rules: own };
    let told =
        |sheets| audit(&Audited::new(sheets).measured_with(args.gpu.clone(), args.model.clone()));
    if !sheets.is_empty() {
        found.rules.extend(told(&sheets).rules);
    }
    if !own_sheets.is_empty() {
        // Arithmetic and statistics of inferometer's own runs are covered by their checks.
        let rules = told(&own_sheets).rules.into_iter();
        found.rules.extend(rules.filter(|rule| PHYSICS.contains(&rule.id)));
    }
    let level = match args.level {
        AtLeast::Hint => Level::Hint,
        AtLeast::Strong => Level::Strong,
        AtLeast::Proof => Level::Proof,
    };
    let page = || {
        let names: Vec<String> =
            args.subjects.iter().map(|subject| subject.display().to_string()).collect();
        Ok(ifm_report::audit_page(&found, level, &names, &mask_command(words)))
    };
    args.files.write(page, &OwnFormats::json(&|| ifm_report::audit_json(&found)))?;
    if args.files.out.is_empty() || args.json {
        terminal::print(&match args.format() {
            AuditFormat::Text => {
                let style = terminal::style(args.no_color, args.ascii).verbose(args.verbose);
                ifm_report::audit_terminal(&found, level, &style)
            }
            AuditFormat::Json => ifm_report::audit_json(&found),
            AuditFormat::Markdown => ifm_report::audit_markdown(&found, level),
        });
    }
    Ok(match found.level() {
        Some(Level::Proof) => Code::Proof,
        Some(Level::Strong) => Code::Doubtful,
        Some(Level::Hint) | None => Code::Done,
    })
}

impl AuditArgs {
    /// The output format, `--json` folded in.
    fn format(&self) -> AuditFormat {
        if self.json { AuditFormat::Json } else { self.format }
    }
}

/// The name of a known machine.
fn machine(name: &str) -> Result<String, String> {
    ifm_roofline::Machine::parse(name).map(|_| name.to_owned()).map_err(|error| error.to_string())
}

/// The name of a known model.
fn model(name: &str) -> Result<String, String> {
    ifm_roofline::Model::find(name).map(|_| name.to_owned()).map_err(|error| error.to_string())
}
