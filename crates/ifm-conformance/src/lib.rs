//! Tests any client against streams with known answers.
//!
//! For each case of the suite, the client runs against a server that plays the case. Its results
//! are read from its files and its output, as `import` reads them. Not here: the cases and the
//! server (`ifm-truth`), reading files (the caller), flags and printing (`inferometer`).
#![forbid(unsafe_code)]

mod applicable;
mod client;
pub mod details;
mod document;
mod judge;
pub mod score;
#[cfg(test)]
mod testing;
mod tokenizer;

pub use client::{Attempt, Ending};
pub use document::ConformanceDocument;
pub use judge::{Check, Matter, Verdict};

use ifm_core::Sheet;
use ifm_core::order::Order as _;
use ifm_terminal::exit::Failure;
use ifm_truth::scripted::{Scripted, ScriptedOptions};
use ifm_truth::{Api, Case};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Settings for running clients.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The command for a shell, with placeholders such as `{url}`.
    pub command: String,
    /// The command for the completions API, if different.
    pub completions_command: Option<String>,
    /// Whether the user declared the command to be for the API of the cases.
    pub is_for_all_cases: bool,
    /// Maximum runs of the client per case; the majority decides. An odd number.
    pub runs: usize,
    /// Maximum time until the client's first request.
    pub start_limit: Duration,
    /// Maximum time from there to the client's end.
    pub time_limit: Duration,
    /// Tolerance of a time, milliseconds, in addition to the server's own lateness.
    pub tolerance_ms: f64,
    /// Number of clients that run at the same time.
    pub jobs: usize,
    /// Folder for files of the runs.
    pub folder: PathBuf,
    /// Reads the files in a folder as results, skipping those that cannot be read.
    pub read: fn(&Path) -> Result<Vec<Sheet>, Failure>,
}

impl Trial {
    /// The command for the cases of an API.
    pub fn command_for(&self, api: Api) -> &str {
        match (api, &self.completions_command) {
            (Api::Completions, Some(command)) => command,
            _ => &self.command,
        }
    }

    /// Whether there is a command that can request completions.
    fn asks_completions(&self) -> bool {
        self.is_for_all_cases
            || self.completions_command.is_some()
            || ["{api}", "{endpoint}"].iter().any(|place| self.command.contains(place))
    }
}

/// A case and its result.
#[derive(Debug)]
pub struct Tried {
    /// The case.
    pub case: Case,
    /// The verdict in most of its runs.
    pub verdict: Verdict,
    /// Its runs in order; none if the case does not apply.
    pub attempts: Vec<Attempt>,
}

impl Tried {
    /// The last run with that verdict.
    pub fn example(&self) -> Option<&Attempt> {
        self.attempts.iter().rev().find(|attempt| attempt.verdict == self.verdict)
    }

    /// Runs in which the client was right.
    pub fn right_runs(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.verdict == Verdict::Right).count()
    }
}

/// Runs the client on every case, and reports each case when it is done.
///
/// # Errors
/// The server cannot be started, or files cannot be created. A client that fails is a verdict.
pub fn run(
    trial: &Trial,
    cases: Vec<Case>,
    tell: impl FnMut(&Tried) + Send,
) -> Result<Vec<Tried>, Failure> {
    tokenizer::write(&trial.folder).map_err(|error| {
        Failure::files(format!("cannot write to {}: {error}", trial.folder.display()))
    })?;
    let server = Scripted::start(cases.clone(), ScriptedOptions::for_tests())
        .map_err(|error| Failure::files(format!("the test server cannot start: {error}")))?;
    let waiting = Mutex::new(cases.into_iter().enumerate());
    let done = Mutex::new((Vec::new(), tell));
    let failure = OnceLock::new();
    std::thread::scope(|scope| {
        for _ in 0..trial.jobs.max(1) {
            scope.spawn(|| {
                while failure.get().is_none() {
                    let Some((index, case)) = lock(&waiting).next() else { return };
                    match play(trial, case, &server) {
                        Ok(tried) => {
                            let (all, tell) = &mut *lock(&done);
                            tell(&tried);
                            all.push((index, tried));
                        }
                        // The first error is reported; the others follow from it.
                        Err(error) => drop(failure.set(error)),
                    }
                }
            });
        }
    });
    if let Some(failure) = failure.into_inner() {
        return Err(failure);
    }
    let (mut all, _) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.order_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, tried)| tried).collect())
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the client on a case until the majority of its runs is known.
fn play(trial: &Trial, case: Case, server: &Scripted) -> Result<Tried, Failure> {
    if let Some(reason) = applicable::reason(trial, &case) {
        let verdict = Verdict::NotApplicable(reason);
        return Ok(Tried { case, verdict, attempts: Vec::new() });
    }
    let majority = trial.runs / 2 + 1;
    let mut attempts: Vec<Attempt> = Vec::new();
    loop {
        let folder = match attempts.len() {
            0 => trial.folder.join(case.name),
            run => trial.folder.join(format!("{}-{}", case.name, run + 1)),
        };
        let attempt = client::attempt(trial, &case, server, folder)?;
        let verdict = attempt.verdict;
        attempts.push(attempt);
        let of_kind = |is_right: bool| {
            attempts.iter().filter(|a| (a.verdict == Verdict::Right) == is_right).count()
        };
        if of_kind(verdict == Verdict::Right) >= majority {
            return Ok(Tried { case, verdict, attempts });
        }
    }
}
