//! The report of a plan: that of its runs, with the reason for every cell without a result.

use crate::exit::Failure;
use crate::output;
use crate::plan::Experiment;
use ifm_core::words::counted;
use ifm_plan::{Cell, Fate, Journal};
use ifm_report::page::{Block, Columns, Page, Section};
use std::path::PathBuf;

/// Maximum number of sentences at the end of `plan run`.
const ANSWERS_MAX: usize = 3;

/// The runs of a plan.
///
/// # Errors
/// No cell is measured.
pub fn runs(of: &Experiment, journal: &Journal) -> Result<Vec<PathBuf>, Failure> {
    let runs: Vec<PathBuf> =
        of.cells.iter().filter_map(|cell| run_of(journal, cell)).map(PathBuf::from).collect();
    match runs.is_empty() {
        false => Ok(runs),
        true => Err(Failure::usage(format!("no cell of plan {} is measured", of.plan.head.name))
            .hint(format!("inferometer plan run {} measures them", of.plan.head.name))),
    }
}

fn run_of<'a>(journal: &'a Journal, cell: &Cell) -> Option<&'a str> {
    match journal.fate(&cell.key) {
        Fate::Done { run, .. } => Some(run),
        _ => None,
    }
}

/// Adds to a page of a plan's runs which cells have no result, and what a simulation leaves out.
pub fn complete(page: &mut Page, of: &Experiment, journal: &Journal, left_out: &[String]) {
    page.banners.extend(left_out.iter().map(|sentence| format!("⚠ {sentence}.")));
    let holes: Vec<&Cell> =
        of.cells.iter().filter(|cell| run_of(journal, cell).is_none()).collect();
    if holes.is_empty() {
        return;
    }
    let of_all = counted(of.cells.len() as u64, "cell");
    page.banners.insert(
        0,
        format!(
            "⚠ {} of {of_all} of plan {} have no result: see the end",
            holes.len(),
            of.plan.head.name
        ),
    );
    page.sections.push(section(of, journal, &holes));
}

/// Writes the report of a plan to files.
///
/// # Errors
/// A file cannot be written.
pub fn write(page: &Page, files: &[PathBuf]) -> Result<(), Failure> {
    for path in files {
        for written in output::write_page(page, path)? {
            crate::terminal::say(&format!("wrote {}", written.display()));
        }
    }
    Ok(())
}

/// Prints the report of a plan.
pub fn print(page: &Page) {
    let style = crate::terminal::style(false, false);
    crate::terminal::print(&ifm_report::page::terminal(page, &style));
}

/// Prints only the answers of the report of a plan.
pub fn print_answers(page: &Page) {
    print(&Page {
        kind: page.kind,
        title: page.title.clone(),
        tiles: page.tiles.clone(),
        remarks: page.remarks.iter().take(ANSWERS_MAX).cloned().collect(),
        ..Page::default()
    });
}

/// The cells without a result.
fn section(of: &Experiment, journal: &Journal, holes: &[&Cell]) -> Section {
    let reason = |cell: &Cell| match journal.fate(&cell.key) {
        Fate::Failed { reason, .. } => reason.clone(),
        Fate::Begun { .. } => "cut off".to_owned(),
        _ => "not measured yet".to_owned(),
    };
    let tries = |cell: &Cell| match journal.fate(&cell.key) {
        Fate::Failed { attempts, .. } => Some(f64::from(*attempts)),
        _ => None,
    };
    let columns = Columns::<Cell>::default()
        .name("cell", |cell| cell.label(&of.plan))
        .number("tries", tries, |tries| tries.to_string())
        .text("why", reason);
    let caption = "Cells of the plan that no chart and no table above can show.";
    let table = columns.table(caption, holes.iter().copied());
    Section::new("Cells without a result", vec![Block::Table(table)])
}
