//! A plan on a simulator: every cell is predicted, so that its report can be seen before anything
//! is rented.
//!
//! A cell is the command line that would measure it, with `predict` instead of `run`. Predictions
//! are in their own folder of the plan, and do not count as results of the plan. Not here: the
//! simulation (`predict`).

use super::measure::{Measured, measure};
use super::{Experiment, absolute};
use crate::exit::Failure;
use crate::guard::Guard;
use crate::interrupt::Interrupts;
use crate::terminal;
use ifm_core::PlanCell;
use ifm_plan::{Cell, CellLoad, Event, Journal, Words, words};
use ifm_store::Store;
use std::collections::BTreeMap;
use std::time::Instant;

/// Folder of predictions, inside that of a plan.
const FOLDER: &str = "predicted";
/// Server flags that predictions support.
const UNDERSTOOD: [&str; 12] = [
    "max-num-seqs",
    "max-running-requests",
    "max-num-batched-tokens",
    "chunked-prefill-size",
    "tensor-parallel-size",
    "data-parallel-size",
    "quantization",
    "kv-cache-dtype",
    "gpu-memory-utilization",
    "mem-fraction-static",
    "max-total-tokens",
    "long-prefill-token-threshold",
];

/// The plan with predictions as its results, and the state of each cell.
///
/// # Errors
/// No process can be started, or the folder cannot be created.
pub fn predicted(of: &Experiment, flags: &[String]) -> Result<(Experiment, Journal), Failure> {
    let folder = absolute(&of.folder.path().join(FOLDER));
    let cannot = |error: std::io::Error| {
        Failure::files(format!("cannot create {}: {error}", folder.display()))
    };
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(cannot)?;
    }
    std::fs::create_dir_all(&folder).map_err(cannot)?;
    let (guard, interrupts) = (Guard::start()?, Interrupts::watch());
    let mut journal = Journal::default();
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
    Ok((Experiment { store, ..of.clone() }, journal))
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
    line.extend(server_flags(of, cell, flags));
    line.extend(flags.iter().cloned());
    Ok(line)
}

/// The plan's settings of the cell's server, as flags of `predict`; given flags come before.
fn server_flags(of: &Experiment, cell: &Cell, given: &[String]) -> Vec<String> {
    let is_given =
        |name: &str| given.iter().any(|word| word == name || word.starts_with(&format!("{name}=")));
    let Some(server) = cell.server.and_then(|index| of.plan.servers.get(index)) else {
        return Vec::new();
    };
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    let mut say = |name: &str, value: &str| {
        let flag = format!("--{name}");
        if !is_given(&flag) {
            said.insert(flag, value.to_owned());
        }
    };
    let names_a_model = ["--model", "-m", "--config", "--calibration"].iter().any(|n| is_given(n));
    if let Some(model) = server.model.as_deref().filter(|_| !names_a_model) {
        say("model", model);
    }
    let mut args = server.args.iter().peekable();
    while let Some(word) = args.next() {
        let Some(name) = word.strip_prefix("--") else { continue };
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => {
                (name, args.peek().map(|next| next.as_str()).filter(|next| !next.starts_with("--")))
            }
        };
        if let (true, Some(value)) = (UNDERSTOOD.contains(&name), value) {
            say(name, value);
        }
    }
    // A parameter of the cell sets the argument with its name.
    for (name, value) in &cell.parameters {
        if UNDERSTOOD.contains(&name.as_str()) {
            say(name, value);
        }
    }
    said.into_iter().flat_map(|(flag, value)| [flag, value]).collect()
}
