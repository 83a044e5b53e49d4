//! Plans on clusters: an array of tasks for Slurm, a Job for Kubernetes, and the results stored by
//! the nodes.
//!
//! The cluster schedules; `ifm-plan` creates the texts.

use super::{Experiment, absolute, files};
use crate::exit::{Code, Failure};
use crate::terminal;
use ifm_core::words::counted;
use ifm_plan::{Event, Journal, Line, Submission, manifests, script};
use ifm_store::Store;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the script, in the plan's folder.
const SCRIPT_FILE: &str = "slurm.sh";
/// The program that submits it.
const SBATCH: &str = "sbatch";

/// Writes the script for the remaining cells of a plan, and submits it if requested.
///
/// # Errors
/// Nothing is left, the script cannot be written, or Slurm refuses it.
pub fn slurm(of: &Experiment, journal: &Journal, is_submitted: bool) -> Result<Code, Failure> {
    let retries = of.plan.head.retries;
    let is_left = |group: &ifm_plan::Group| {
        let cells = of.cells.get(group.cells.clone()).unwrap_or_default();
        cells.iter().any(|cell| journal.next_attempt(&cell.key, retries).is_some())
    };
    let numbered = of.groups.iter().enumerate().filter(|(_, group)| is_left(group));
    let groups: Vec<usize> = numbered.map(|(number, _)| number).collect();
    if groups.is_empty() {
        terminal::say("nothing is left of this plan");
        return Ok(Code::Done);
    }
    of.folder.keep_text(&of.text).map_err(files)?;
    let folder = absolute(of.folder.path());
    let logs = folder.join("logs");
    let cannot = |path: &Path, error: std::io::Error| {
        Failure::files(format!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(&logs).map_err(|error| cannot(&logs, error))?;
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(Code::Internal, format!("cannot find this program: {error}"))
    })?;
    let text = |path: &Path| path.display().to_string();
    let script = script(
        &of.plan,
        Submission {
            program: &text(&program),
            plan_file: &text(&folder.join("plan.toml")),
            store: &text(&absolute(of.store.root())),
            logs: &text(&logs),
            groups: &groups,
        },
    );
    let path = folder.join(SCRIPT_FILE);
    std::fs::write(&path, script).map_err(|error| cannot(&path, error))?;
    let tasks = counted(groups.len() as u64, "task");
    terminal::say(&format!("wrote {}: an array of {tasks}", path.display()));
    if !is_submitted {
        return Ok(Code::Done);
    }
    let output = Command::new(SBATCH).arg(&path).output().map_err(|error| {
        Failure::usage(format!("{SBATCH} did not start: {error}")).hint(
            "on a machine of the cluster: sbatch and the script; --slurm=write only writes it",
        )
    })?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(Code::Server, format!("{SBATCH}: {}", why.trim())));
    }
    terminal::say(said.trim());
    terminal::say(&format!("then: inferometer plan show {}", of.plan.head.name));
    Ok(Code::Done)
}

/// Writes the manifests of a plan to a file, or to standard output for `-`.
///
/// # Errors
/// The plan does not say what a cluster needs, or the file cannot be written.
pub fn kubernetes(of: &Experiment, path: &Path) -> Result<Code, Failure> {
    let text = manifests(&of.plan, &of.text, of.groups.len())
        .map_err(|error| Failure::usage(error.to_string()))?;
    if path.as_os_str() == "-" {
        terminal::print(&text);
        return Ok(Code::Done);
    }
    std::fs::write(path, text)
        .map_err(|error| Failure::files(format!("cannot write {}: {error}", path.display())))?;
    terminal::say(&format!("wrote {}; then: kubectl apply -f {0}", path.display()));
    Ok(Code::Done)
}

/// Copies the runs and journals of a plan from other stores into this one. Existing ones are not
/// copied again.
///
/// # Errors
/// A folder without this plan, or the disk's.
pub fn collect(of: &Experiment, folders: &[PathBuf]) -> Result<(), Failure> {
    let name = &of.plan.head.name;
    let known: BTreeSet<String> =
        of.folder.lines().map_err(files)?.lines().map(str::to_owned).collect();
    of.folder.keep_text(&of.text).map_err(files)?;
    let mut journal = of.folder.journal(None).map_err(files)?;
    for folder in folders {
        let other = Store::at(folder);
        let lines = other.plan(name).lines().map_err(files)?;
        if lines.is_empty() {
            return Err(Failure::usage(format!(
                "{}: no plan {name} was run here",
                folder.display()
            ))
            .hint("name the folder of stored runs (--store) of the other machine"));
        }
        let mut brought = 0;
        for line in lines.lines().filter(|line| !known.contains(*line)) {
            let event = serde_json::from_str::<Line>(line).map(|line| line.event);
            if let Ok(Event::Done { run, .. }) = &event {
                brought += u64::from(of.store.copy_from(&other, run).map_err(files)?);
            }
            if event.is_ok() {
                journal.add(line).map_err(files)?;
            }
        }
        terminal::say(&format!("{}: {} brought", folder.display(), counted(brought, "result")));
    }
    Ok(())
}
