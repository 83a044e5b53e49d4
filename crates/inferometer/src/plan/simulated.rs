//! A plan on a simulator: every cell is predicted, so that its report can be seen before anything
//! is rented.
//!
//! A cell is the command line that would measure it, with `predict` instead of `run`. Predictions
//! are in their own folder of the plan, and do not count as results of the plan. Not here: the
//! simulation (`ifm-predict`).

use super::measure::{Measured, measure};
use super::simulated_server::Settings;
use super::{Experiment, absolute};
use crate::exit::Failure;
use crate::interrupt;
use crate::terminal;
use ifm_core::PlanCell;
use ifm_launch::guard::Guard;
use ifm_plan::{Cell, CellLoad, Event, Journal, Words, words};
use ifm_store::Store;
use std::time::Instant;

/// Folder of predictions, inside that of a plan.
const FOLDER: &str = "predicted";
/// A simulated plan.
pub struct Simulated {
    /// The plan with predictions as its results.
    pub of: Experiment,
    /// The state of each cell.
    pub journal: Journal,
    /// Settings of servers that the simulation leaves out, one sentence per server.
    pub left_out: Vec<String>,
}

/// Simulates every cell of a plan.
///
/// # Errors
/// No process can be started, or the folder cannot be created.
pub fn predicted(of: &Experiment, flags: &[String]) -> Result<Simulated, Failure> {
    let folder = absolute(&of.folder.path().join(FOLDER));
    let cannot = |error: std::io::Error| {
        Failure::files(format!("cannot create {}: {error}", folder.display()))
    };
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(cannot)?;
    }
    std::fs::create_dir_all(&folder).map_err(cannot)?;
    let (guard, interrupts) = (Guard::start()?, interrupt::watch());
    let mut journal = Journal::default();
    let left_out = left_out(of, flags);
    left_out.iter().for_each(|sentence| terminal::warn(sentence));
    for cell in &of.cells {
        let label = cell.label(&of.plan);
        let begun = Instant::now();
        let mut line = match line(of, cell, flags) {
            Ok(line) => line,
            Err(reason) => {
                journal.add(failed(cell, reason));
                continue;
            }
        };
        line.extend(["--store".to_owned(), folder.display().to_string()]);
        match measure(&line, &folder.join("last.log"), &guard, &interrupts, || {})? {
            Measured::Done { run } => {
                let seconds = begun.elapsed().as_secs_f64();
                terminal::tell(&format!("{label}: predicted in {seconds:.1} s"));
                journal.add(Event::Done { cell: cell.key.clone(), run, seconds });
            }
            Measured::Failed { reason, .. } => journal.add(failed(cell, reason)),
            Measured::Interrupted => break,
        }
    }
    let store = Store::at(folder);
    Ok(Simulated { of: Experiment { store, ..of.clone() }, journal, left_out })
}

/// What the simulation leaves out of each server's settings.
fn left_out(of: &Experiment, flags: &[String]) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for cell in &of.cells {
        let Some(server) = cell.server.and_then(|index| of.plan.servers.get(index)) else {
            continue;
        };
        let settings = Settings::of(server, &cell.parameters, flags);
        if settings.unknown.is_empty() {
            continue;
        }
        let names = settings.unknown.join(", ");
        let sentence = format!("server {}: the simulation leaves out {names}", server.name);
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

fn failed(cell: &Cell, reason: String) -> Event {
    Event::Failed { cell: cell.key.clone(), attempt: 1, reason, is_final: true }
}

/// The command line that predicts a cell, or why it cannot be predicted.
fn line(of: &Experiment, cell: &Cell, flags: &[String]) -> Result<Vec<String>, String> {
    match &cell.what {
        CellLoad::Users(_) | CellLoad::Rate(_) => {}
        CellLoad::Sweep(levels) if levels != "sweep" => {}
        CellLoad::Sweep(_) | CellLoad::Capacity(_) => {
            return Err("a search for loads is not simulated: name users or rates".to_owned());
        }
        CellLoad::StartUp { .. } | CellLoad::Exec => {
            return Err("only load is simulated".to_owned());
        }
    }
    let with = Words { url: "", attempt: 1, is_fresh: true };
    let mut typed = words(&of.plan, cell, with).into_iter().skip(1);
    let mut line = vec!["predict".to_owned()];
    while let Some(word) = typed.next() {
        match word.as_str() {
            "--base-url" | "--api-key-env" => _ = typed.next(),
            _ => line.push(word),
        }
    }
    let place = PlanCell {
        plan: of.plan.head.name.clone(),
        cell: cell.key.clone(),
        repeat: cell.repeat,
        attempt: 1,
    };
    line.extend(["--plan-cell".to_owned(), place.to_string(), "--json".to_owned()]);
    line.push("--quiet".to_owned());
    if let Some(server) = cell.server.and_then(|index| of.plan.servers.get(index)) {
        line.extend(Settings::of(server, &cell.parameters, flags).flags);
    }
    line.extend(flags.iter().cloned());
    Ok(line)
}
