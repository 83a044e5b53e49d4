//! Commands whose result is a stored document: the flags for its destination, and the document itself.
//! It is stored again after each step, so that no completed step is lost if the program ends early.

use crate::exit::Failure;
use crate::output;
use crate::session::store_root;
use crate::terminal;
use clap::Args;
use ifm_compare::comparison::ResultsEvidence;
use ifm_core::sheet::{Factors, SHEET_VERSION};
use ifm_core::tag::check_name;
use ifm_core::{PlanCell, Sheet, parse_tag};
use ifm_report::TerminalStyle;
use ifm_report::kind::{Kind, Subject};
use ifm_report::page::Page;
use ifm_results::Results;
use ifm_rules::insight::{Question, insights};
use ifm_store::{Import, Store, new_run_id};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;

/// The destination of a document.
#[derive(Debug, Args)]
pub struct DocumentArgs {
    /// One JSON document on standard output
    #[arg(help_heading = "Results", long)]
    pub json: bool,

    /// Name to store the result under
    #[arg(help_heading = "Results", long, value_parser = check_name)]
    pub name: Option<String>,

    /// Label to store with the result, such as condition=cc-on; repeatable
    #[arg(help_heading = "Results", long = "tag", value_parser = parse_tag, value_name = "NAME=VALUE")]
    pub tags: Vec<(String, String)>,

    /// The cell of a plan, written by `plan run`.
    #[arg(long, hide = true, value_name = "PLAN/CELL/REPEAT/ATTEMPT")]
    pub plan_cell: Option<PlanCell>,

    /// Folder of stored runs and imports [default: .inferometer/runs]
    #[arg(help_heading = "Results", long, value_name = "DIR", env = "INFEROMETER_STORE")]
    pub store: Option<PathBuf>,

    /// Print only the results
    #[arg(help_heading = "Results", short = 's', long)]
    pub quiet: bool,

    /// Print without color (also: NO_COLOR)
    #[arg(help_heading = "Results", long)]
    pub no_color: bool,

    /// Print only ASCII characters (default on terminals without UTF-8)
    #[arg(help_heading = "Results", long)]
    pub ascii: bool,
}

impl DocumentArgs {
    /// The labels as factors of the document.
    pub fn factors(&self) -> Factors {
        let mut factors = Factors::default();
        self.tags.iter().for_each(|(name, value)| factors.set(name, value));
        factors
    }

    /// How to write to the terminal.
    pub fn style(&self) -> TerminalStyle {
        terminal::style(self.no_color, self.ascii)
    }

    /// Prints a message, unless only the results are wanted.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            terminal::say(text);
        }
    }

    /// Writes a page into files.
    ///
    /// # Errors
    /// One cannot be written.
    pub fn write(&self, page: &Page, files: &[PathBuf]) -> Result<(), Failure> {
        for path in files {
            let written = output::write_page(page, path)?;
            written.iter().for_each(|path| self.say(&format!("wrote {}", path.display())));
        }
        Ok(())
    }
}

/// A growing document.
#[derive(Debug)]
pub struct GrowingDocument<'a> {
    args: &'a DocumentArgs,
    store: Store,
    id: String,
    is_there: Cell<bool>,
    failure: RefCell<Option<Failure>>,
}

impl<'a> GrowingDocument<'a> {
    /// Checks the store.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn new(args: &'a DocumentArgs) -> Result<GrowingDocument<'a>, Failure> {
        let root = store_root(args.store.as_ref());
        std::fs::create_dir_all(&root).map_err(|error| {
            Failure::files(format!("cannot create the store {}: {error}", root.display()))
        })?;
        let id = new_run_id(ifm_sys::real_ns(), std::process::id() as u16);
        let (is_there, failure) = (Cell::new(false), RefCell::new(None));
        Ok(GrowingDocument { args, store: Store::at(root), id, is_there, failure })
    }

    /// Its name, or a substitute.
    pub fn name(&self) -> &str {
        self.args.name.as_deref().unwrap_or(&self.id)
    }

    /// The document of a sheet.
    pub fn import(&self, sheet: Sheet) -> Import {
        Import {
            sheet_version: SHEET_VERSION,
            id: self.id.clone(),
            name: self.args.name.clone(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            plan: self.args.plan_cell.clone(),
            sheets: vec![sheet],
        }
    }

    /// Replaces the stored document with the current one.
    pub fn keep(&self, import: &Import) {
        let written = match self.is_there.replace(true) {
            true => self.store.replace_import(import),
            false => self.store.keep_import(import),
        };
        let failure = written.err().map(|error| Failure::files(error.to_string()));
        *self.failure.borrow_mut() = failure;
    }

    /// Prints where it is.
    ///
    /// # Errors
    /// The latest state could not be stored.
    pub fn end(self) -> Result<(), Failure> {
        if let Some(failure) = self.failure.into_inner() {
            return Err(failure);
        }
        if self.is_there.get() {
            self.args.say(&format!("kept as {}", self.id));
        }
        Ok(())
    }
}

/// The report of documents that were just created.
pub fn shown(sheets: &[Sheet]) -> Option<Page> {
    let results = Results::of_sheets(sheets);
    let evidence = ResultsEvidence::new([], sheets);
    let question = Question { evidence: &evidence, ..Question::new(&results) };
    let insights = insights(&question);
    let subject =
        Subject { runs: &[], sheets, question, insights: &insights, audit: None, title: None };
    Some(Kind::recognise(&subject)?.page(&subject))
}
