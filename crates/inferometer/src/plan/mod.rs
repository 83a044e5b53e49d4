//! Plans: an experiment of many cells, each an ordinary run. It resumes where it was interrupted.
//!
//! `ifm-plan` defines what a plan contains and which cells it has. This module adds the store, the
//! servers that a plan starts, the conditions that it sets, and the processes that measure. Each
//! cell is measured by a separate process, so that a failure affects only that cell.

mod adopt;
pub mod cluster;
mod conditions;
pub mod document;
pub mod measure;
mod power;
mod run;
mod simulated;
mod simulated_server;
pub mod text;

pub use run::{Limits, run};
pub use simulated::{Simulated, predicted};

use crate::exit::Failure;
use ifm_core::regular::read_named_text;
use ifm_launch::server::Kind;
use ifm_plan::{Cell, Group, Journal, Plan, cells, groups};
use ifm_report::kind::{KINDS, Kind as ReportKind};
use ifm_store::{PlanFolder, Store};
use std::path::{Path, PathBuf};

/// A plan, its cells, and its location.
#[derive(Clone)]
pub struct Experiment {
    /// The plan.
    pub plan: Plan,
    /// Its text.
    pub text: String,
    /// Its cells, in the order in which they run.
    pub cells: Vec<Cell>,
    /// Groups of neighboring cells that share one start of a server.
    pub groups: Vec<Group>,
    /// Its folder in the store.
    pub folder: PlanFolder,
    /// Where runs are stored.
    pub store: Store,
}

impl Experiment {
    /// Opens a plan: a file, or the name of one that was run before.
    ///
    /// # Errors
    /// It does not exist, or is invalid.
    pub fn open(name: &Path, store: Store) -> Result<Experiment, Failure> {
        let text = text_of(name, &store)?;
        let wrong =
            |error: ifm_plan::PlanError| Failure::usage(format!("{}: {error}", name.display()));
        let plan = Plan::parse(&text).map_err(wrong)?;
        for kind in plan.servers.iter().filter_map(|server| server.kind.as_deref()) {
            Kind::named(kind)?;
        }
        let kind = plan.head.report.as_deref();
        if let Some(kind) = kind.filter(|kind| ReportKind::from_word(kind).is_none()) {
            let known: Vec<&str> = KINDS.iter().map(|kind| kind.word).collect();
            return Err(Failure::usage(format!("{}: a plan has no report {kind}", name.display()))
                .hint(format!("its kinds are {}", known.join(", "))));
        }
        let cells = cells(&plan).map_err(wrong)?;
        let groups = groups(&plan, &cells);
        let folder = store.plan(&plan.head.name);
        Ok(Experiment { plan, text, cells, groups, folder, store })
    }

    /// The state of its cells so far.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn journal(&self) -> Result<Journal, Failure> {
        Ok(Journal::read(&self.folder.lines().map_err(files)?))
    }
}

/// Largest file of a plan, bytes.
const PLAN_BYTES_MAX: u64 = 16 << 20;

/// The text of a plan's file, or of the last plan of that name.
fn text_of(name: &Path, store: &Store) -> Result<String, Failure> {
    let cannot = |why: String| Failure::usage(format!("{}: {why}", name.display()));
    if name.is_file() {
        return read_named_text(name, PLAN_BYTES_MAX).map_err(|error| cannot(error.to_string()));
    }
    let is_name = name.components().count() == 1;
    let kept = is_name.then(|| store.plan(&name.to_string_lossy()).text()).transpose();
    match kept.map_err(files)?.flatten() {
        Some(text) => Ok(text),
        None => {
            let known = store.plans().map_err(files)?;
            let hint = match known.is_empty() {
                true => "inferometer plan init writes a starter plan".to_owned(),
                false => format!("plans that were run: {}", known.join(", ")),
            };
            Err(cannot("no such file, and no plan of this name was run".to_owned()).hint(hint))
        }
    }
}

/// A failure of the store.
fn files(error: ifm_store::StoreError) -> Failure {
    Failure::files(error.to_string())
}

/// An absolute path, for processes that run in other folders.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
