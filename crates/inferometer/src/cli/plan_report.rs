//! The report of a plan: that of its runs, with the reason for every cell without a result.

use super::report::ReportArgs;
use crate::exit::Failure;
use crate::output;
use crate::plan::Experiment;
use crate::subjects;
use ifm_core::words::counted;
use ifm_plan::{Cell, Fate, Journal};
use ifm_report::page::{Block, Columns, Page, Section};
use std::path::PathBuf;

/// Writes the report of a plan to files.
///
/// # Errors
/// No cell is done, a run cannot be read, or a file cannot be written.
pub fn write(of: &Experiment, journal: &Journal, files: &[PathBuf]) -> Result<(), Failure> {
    let page = page(of, journal)?;
    for path in files {
        for written in output::write_page(&page, path)? {
            crate::terminal::say(&format!("wrote {}", written.display()));
        }
    }
    Ok(())
}

/// Prints the report of a plan.
///
/// # Errors
/// No cell is done, or a run cannot be read.
pub fn print(of: &Experiment, journal: &Journal) -> Result<(), Failure> {
    let style = crate::terminal::style(false, false);
    crate::terminal::print(&ifm_report::page::terminal(&page(of, journal)?, &style));
    Ok(())
}

fn page(of: &Experiment, journal: &Journal) -> Result<Page, Failure> {
    let run_of = |cell: &Cell| match journal.fate(&cell.key) {
        Fate::Done { run, .. } => Some(PathBuf::from(run)),
        _ => None,
    };
    let runs: Vec<PathBuf> = of.cells.iter().filter_map(run_of).collect();
    if runs.is_empty() {
        return Err(Failure::usage(format!("no cell of plan {} is done", of.plan.head.name))
            .hint("inferometer plan run measures them"));
    }
    let head = &of.plan.head;
    let mut words = vec!["report".to_owned()];
    for (flag, value) in [
        ("--kind", head.report.clone()),
        ("--title", head.title.clone()),
        ("--price", head.price.map(|price| price.to_string())),
        ("--slo", head.slo.clone()),
    ] {
        words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    }
    let args = ReportArgs::of_words(&words)?;
    let mut page = args.page(&subjects::open(&of.store, &runs)?)?;
    let holes: Vec<&Cell> = of.cells.iter().filter(|cell| run_of(cell).is_none()).collect();
    if !holes.is_empty() {
        let of_all = counted(of.cells.len() as u64, "cell");
        page.banners.insert(
            0,
            format!(
                "⚠ {} of {of_all} of plan {} have no result: see the end",
                holes.len(),
                head.name
            ),
        );
        page.sections.push(section(of, journal, &holes));
    }
    Ok(page)
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
