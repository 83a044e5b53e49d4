//! The settings of a plan other than its servers: power limits, clocks and hooks, and the states
//! that it waits for.
//!
//! The guard holds every setting first, so that it is undone however this process ends.

use super::Experiment;
use crate::exit::{Code, Failure};
use ifm_launch::guard::{self, Guard, Held, Undo};
use ifm_plan::{Cell, Condition, Setter};
use serde::Serialize;
use std::path::Path;
use std::process::{Command, Stdio};

/// The current conditions.
#[derive(Default)]
pub struct Conditions {
    /// The current value of each, by its position in the plan.
    now: Vec<Option<String>>,
    /// What to undo at the end, the latest first.
    held: Vec<Held>,
}

/// Whether a cell can be measured now.
#[derive(Debug, PartialEq, Eq)]
pub enum Ready {
    /// Everything is set.
    Yes,
    /// The machine is in another state, which cannot be changed from here.
    Not {
        /// The current state, and the one that the cell needs.
        why: String,
    },
}

impl Conditions {
    /// Sets what a cell needs and does not have yet: either only what requires a restart of the
    /// server, or only the rest.
    ///
    /// # Errors
    /// It cannot be set: a sentence for the user, who has to fix the cause before any cell can run.
    pub fn set(
        &mut self,
        of: &Experiment,
        cell: &Cell,
        guard: &Guard,
        is_before_start: bool,
    ) -> Result<Ready, Failure> {
        self.now.resize(of.plan.conditions.len(), None);
        let wanted = of.plan.conditions.iter().zip(&cell.conditions).enumerate();
        for (index, (condition, value)) in wanted {
            let is_observed = condition.setter() == Setter::Observed;
            let is_set = self.now.get(index).is_some_and(|now| now.as_ref() == Some(value));
            if is_set || (condition.restart || is_observed) != is_before_start {
                continue;
            }
            if is_observed {
                let state = observe(condition)?;
                if state != *value {
                    let why = format!("{} is {state} here, not {value}", condition.name);
                    return Ok(Ready::Not { why });
                }
            } else {
                let is_first = self.now.get(index).is_some_and(Option::is_none);
                self.change(condition, value, guard, is_first)?;
            }
            if let Some(now) = self.now.get_mut(index) {
                *now = Some(value.clone());
            }
        }
        Ok(Ready::Yes)
    }

    fn change(
        &mut self,
        condition: &Condition,
        value: &str,
        guard: &Guard,
        is_first: bool,
    ) -> Result<(), Failure> {
        let refused =
            |why: String| Failure::new(Code::Usage, format!("condition {}: {why}", condition.name));
        match condition.setter() {
            Setter::Hook => {
                if is_first && !condition.after.is_empty() {
                    let words = filled(&condition.after, value);
                    self.held.push(guard.hold(Undo::Command { words })?);
                }
                guard::run(&filled(&condition.before, value), guard::COMMAND).map_err(refused)?;
            }
            Setter::PowerLimit | Setter::Clocks => {
                self.held
                    .extend(super::power::set(condition, value, guard, is_first).map_err(refused)?);
            }
            Setter::Observed => {}
        }
        Ok(())
    }

    /// Undoes everything that was set, the latest first.
    pub fn undo(&mut self) {
        while let Some(held) = self.held.pop() {
            drop(held);
        }
        self.now.clear();
    }
}

impl Drop for Conditions {
    fn drop(&mut self) {
        self.undo();
    }
}

/// A condition that cannot be set on this machine.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Obstacle {
    /// Name of the condition.
    pub condition: String,
    /// Why it cannot be set.
    pub why: String,
}

/// Conditions that cannot be set on this machine. Nothing is set, and no command is run.
pub fn obstacles(conditions: &[Condition]) -> Vec<Obstacle> {
    let why = |condition: &Condition| match condition.setter() {
        Setter::PowerLimit | Setter::Clocks => super::power::obstacle(condition),
        Setter::Hook => missing_program(&condition.before),
        Setter::Observed => missing_program(&condition.read),
    };
    let of = |condition: &Condition| {
        Some(Obstacle { condition: condition.name.clone(), why: why(condition)? })
    };
    conditions.iter().filter_map(of).collect()
}

/// Fails with the first obstacle, before a plan starts anything.
///
/// # Errors
/// A condition cannot be set on this machine.
pub fn require(conditions: &[Condition]) -> Result<(), Failure> {
    match obstacles(conditions).into_iter().next() {
        None => Ok(()),
        Some(Obstacle { condition, why }) => Err(Failure::usage(format!(
            "condition {condition} cannot be set here: {why}"
        ))
        .hint(
            "run the plan on a machine where it can be set, or set it by your own command: write \
                 before = [\"COMMAND\", \"{value}\"] in the condition instead of set",
        )),
    }
}

/// Why a command cannot run: its program is missing.
fn missing_program(words: &[String]) -> Option<String> {
    let program = words.first()?;
    let is_file = |path: &Path| path.is_file();
    let is_there = match program.contains('/') {
        true => is_file(Path::new(program)),
        false => std::env::var_os("PATH").is_some_and(|all| {
            std::env::split_paths(&all).any(|folder| is_file(&folder.join(program)))
        }),
    };
    (!is_there && !program.contains('{')).then(|| format!("no program \"{program}\""))
}

/// A command with its value filled in.
fn filled(words: &[String], value: &str) -> Vec<String> {
    words.iter().map(|word| word.replace("{value}", value)).collect()
}

/// The current state of a condition: the first line that its command prints, or the machine's state
/// of confidential computing.
fn observe(condition: &Condition) -> Result<String, Failure> {
    let Some((program, rest)) = condition.read.split_first() else {
        let state = ifm_machine::facts::confidential_state();
        return state.map(str::to_owned).ok_or_else(|| {
            Failure::usage(format!(
                "condition {}: neither the GPU's driver nor the kernel reports whether confidential \
                 computing is on",
                condition.name
            ))
            .hint("set read in the condition to a command whose first line of output is on or off")
        });
    };
    let output = Command::new(program).args(rest).stdin(Stdio::null()).output();
    let cannot = |why: String| {
        Failure::usage(format!(
            "condition {}: `{}` {why}",
            condition.name,
            condition.read.join(" ")
        ))
    };
    let output = output.map_err(|error| cannot(format!("did not start: {error}")))?;
    if !output.status.success() {
        return Err(cannot(format!("failed: {}", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().unwrap_or_default().trim().to_owned();
    if line.is_empty() { Err(cannot("printed nothing".to_owned())) } else { Ok(line) }
}
