//! Any client against streams whose right answer is known.
//!
//! For each case of the suite the client is run once, against a server that plays the case, and
//! what it reports is read from its files and its output, as `import` reads them. Not here: the
//! cases and the server (`ifm-truth`), how results are printed (`cli::conform`).

mod judge;

pub use judge::{Matter, Mistake, Verdict};

use crate::documents;
use crate::exit::Failure;
use ifm_analysis::definitions::{Definitions, sheet};
use ifm_core::Sheet;
use ifm_core::sheet::{Row, RowRole};
use ifm_interop::Input;
use ifm_store::Store;
use ifm_truth::Case;
use ifm_truth::scripted::{Scripted, ScriptedOptions};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long to rest between two looks at whether a client has ended.
const REST: Duration = Duration::from_millis(5);

/// How clients are run.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The command for a shell, with `{url}` and its like.
    pub command: String,
    /// Longest time of one run.
    pub time_limit: Duration,
    /// What a time may be off, milliseconds, beside the server's own lateness.
    pub tolerance_ms: f64,
    /// Clients at the same time.
    pub jobs: usize,
    /// Where files of the runs are put.
    pub folder: PathBuf,
}

/// A case and what came of it.
#[derive(Debug)]
pub struct Tried {
    /// The case.
    pub case: Case,
    /// What the client made of it.
    pub verdict: Verdict,
}

/// Runs the client on every case, telling each as it is done.
///
/// # Errors
/// The server cannot be started, or files cannot be made. A client that fails is a verdict.
pub fn run(
    trial: &Trial,
    cases: Vec<Case>,
    tell: impl FnMut(&Tried) + Send,
) -> Result<Vec<Tried>, Failure> {
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
                    match play(trial, &case, &server) {
                        Ok(verdict) => {
                            let tried = Tried { case, verdict };
                            let (all, tell) = &mut *lock(&done);
                            tell(&tried);
                            all.push((index, tried));
                        }
                        // The first one is told; the others follow from it.
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
    all.sort_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, tried)| tried).collect())
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn play(trial: &Trial, case: &Case, server: &Scripted) -> Result<Verdict, Failure> {
    let folder = trial.folder.join(case.name);
    std::fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
    let ended = spawn(trial, case, server, &folder)?;
    let exchanges = server.exchanges();
    let of_case = exchanges.iter().filter(|exchange| exchange.case == case.name);
    let lateness_ms =
        of_case.map(|exchange| exchange.lateness_ns_max() as f64 / 1e6).fold(0.0, f64::max);
    if !ended {
        return Ok(Verdict::Unended);
    }
    Ok(match results(&folder)? {
        None => Verdict::Silent,
        Some(row) => judge::judge(case, &row, trial.tolerance_ms + lateness_ms),
    })
}

/// Runs the client; false if it had to be ended.
fn spawn(trial: &Trial, case: &Case, server: &Scripted, folder: &Path) -> Result<bool, Failure> {
    let words = filled(&trial.command, case, server, folder);
    let output = |name: &str| {
        let path = folder.join(name);
        File::create(&path).map_err(|error| cannot(&path, &error))
    };
    let mut client = Command::new("sh")
        .args(["-c", &words])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(output("stdout.txt")?)
        .stderr(output("stderr.txt")?)
        .process_group(0)
        .spawn()
        .map_err(|error| Failure::usage(format!("the client cannot be run: {error}")))?;
    let deadline = Instant::now() + trial.time_limit;
    loop {
        match client.try_wait() {
            Ok(Some(_)) => return Ok(true),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(REST),
            Ok(None) | Err(_) => {
                ifm_sys::process::end_group(client.id());
                let _ = client.wait();
                return Ok(false);
            }
        }
    }
}

/// The command of a case.
fn filled(command: &str, case: &Case, server: &Scripted, folder: &Path) -> String {
    let seconds = |ms: Option<u64>| ms.map_or(30.0, |ms| ms as f64 / 1e3).to_string();
    let url = server.base_url(case.name);
    [
        ("{url}", url.clone()),
        ("{base}", format!("{url}/v1")),
        ("{endpoint}", case.api.path().to_owned()),
        ("{api}", case.api.word().to_owned()),
        ("{requests}", case.requests.to_string()),
        ("{out}", folder.display().to_string()),
        ("{first_token_s}", seconds(case.limits.first_token_ms)),
        ("{idle_s}", seconds(case.limits.idle_ms)),
        ("{total_s}", seconds(case.limits.total_ms)),
    ]
    .into_iter()
    .fold(command.to_owned(), |words, (name, value)| words.replace(name, &value))
}

/// What the client reports: the row that says most, of a stored run of ours or of any file that
/// can be read.
fn results(folder: &Path) -> Result<Option<Row>, Failure> {
    let mut sheets: Vec<Sheet> = Vec::new();
    let own = Store::at(folder.join("runs"));
    for run in own.list().unwrap_or_default() {
        if let Ok(loaded) = own.open(&run) {
            sheets.push(sheet(&loaded.data, Definitions::Ours));
        }
    }
    if sheets.is_empty() {
        let documents = documents::open(&[folder.to_owned()])?;
        sheets.extend(documents.into_iter().filter_map(|document| document.sheet.ok()));
    }
    if let Ok(file) = File::open(folder.join("stderr.txt")) {
        // Some clients print their results there.
        sheets.extend(ifm_interop::read(Input::new("stderr.txt", file)).ok());
    }
    let rows = sheets.into_iter().flat_map(|sheet| sheet.parts).flat_map(|part| part.rows);
    let measured = rows.filter(|row| row.role == RowRole::Measured);
    Ok(measured.max_by_key(|row| (row.requests.len(), row.figures.len())))
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::files(format!("cannot make {}: {error}", path.display()))
}
