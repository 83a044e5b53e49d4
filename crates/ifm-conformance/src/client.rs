//! One run of a client for one case: its command, its process, and its output.

use super::judge::{self, Check, Verdict};
use super::{Trial, tokenizer};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Figure, Row, RowRole};
use ifm_metrics::definitions::{Definitions, sheet};
use ifm_store::Store;
use ifm_terminal::exit::Failure;
use ifm_truth::Case;
use ifm_truth::scripted::{Exchange, Scripted};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Pause between two checks whether a client has exited.
const REST: Duration = Duration::from_millis(5);
/// Maximum time for the server to notice that a client has disconnected.
const NOTING: Duration = Duration::from_millis(500);
/// A client's last output: the bytes of a stream to look at, and the lines to keep.
const LAST_BYTES: u64 = 4_096;
const LAST_LINES: usize = 6;

/// How a client's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this exit code.
    Code(i32),
    /// By an external signal.
    Signal,
    /// By inferometer: it had sent no request within its limit.
    NeverAsked,
    /// By inferometer: it did not end after its first request.
    Hung,
}

/// One run of the client.
#[derive(Debug)]
pub struct Attempt {
    /// Its verdict on the case.
    pub verdict: Verdict,
    /// Its numbers compared with the truth.
    pub checks: Vec<Check>,
    /// The source of the numbers: the tool's name and the file.
    pub source: Option<String>,
    /// How it ended.
    pub ending: Ending,
    /// How long it ran.
    pub lasted: Duration,
    /// What the server received from it and did.
    pub exchanges: Vec<Exchange>,
    /// Its last output.
    pub last_words: Vec<String>,
    /// Its files.
    pub folder: PathBuf,
}

/// Runs the client once, in its own folder.
///
/// # Errors
/// The folder cannot be created, or the shell cannot be started. A client that fails is a verdict.
pub(super) fn attempt(
    trial: &Trial,
    case: &Case,
    server: &Scripted,
    folder: PathBuf,
) -> Result<Attempt, Failure> {
    std::fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
    let before = server.exchanges().iter().filter(|exchange| exchange.case == case.name).count();
    let asked_before = server.asked(case.name);
    let words = filled(trial, case, server, &folder);
    let start = Instant::now();
    let client = spawn(&words, &folder)?;
    let ending = wait(client, trial, start, || server.asked(case.name) > asked_before);
    let lasted = start.elapsed();
    let asked = usize::try_from(server.asked(case.name)).unwrap_or(usize::MAX);
    let exchanges: Vec<_> =
        server.wait_for(case.name, asked, NOTING).into_iter().skip(before).collect();
    let lateness_ns = exchanges.iter().map(Exchange::lateness_ns_max).max().unwrap_or(0);
    let tolerance_ms = trial.tolerance_ms + lateness_ns as f64 / 1e6;
    let mut attempt = Attempt {
        verdict: Verdict::Unended,
        checks: Vec::new(),
        source: None,
        ending,
        lasted,
        exchanges,
        last_words: last_words(&folder),
        folder,
    };
    if matches!(ending, Ending::NeverAsked | Ending::Hung) {
        return Ok(attempt);
    }
    attempt.verdict = Verdict::Silent;
    if let Some((source, row)) = results(&attempt.folder, trial.read)? {
        let seen = attempt.exchanges.len();
        attempt.checks = judge::judge(case, &row, seen, tolerance_ms);
        attempt.source = Some(source);
        let is_right = attempt.checks.iter().all(|check| check.is_right);
        attempt.verdict = if is_right { Verdict::Right } else { Verdict::Wrong };
    }
    Ok(attempt)
}

fn spawn(words: &str, folder: &Path) -> Result<Child, Failure> {
    let output = |name: &str| {
        let path = folder.join(name);
        File::create(&path).map_err(|error| cannot(&path, &error))
    };
    Command::new("sh")
        .args(["-c", words])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(output("stdout.txt")?)
        .stderr(output("stderr.txt")?)
        .process_group(0)
        .spawn()
        .map_err(|error| Failure::usage(format!("the client cannot be run: {error}")))
}

/// Waits for a client to end, or ends it. The time until its first request is independent of how it
/// handles the answer, and has its own limit.
fn wait(mut client: Child, trial: &Trial, start: Instant, has_asked: impl Fn() -> bool) -> Ending {
    let mut deadline = start + trial.start_limit;
    let mut asked = false;
    loop {
        if !asked && has_asked() {
            asked = true;
            deadline = Instant::now() + trial.time_limit;
        }
        match client.try_wait() {
            Ok(Some(status)) => return status.code().map_or(Ending::Signal, Ending::Code),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(REST),
            Ok(None) | Err(_) => {
                ifm_sys::process::end_group(client.id());
                let _ = client.wait();
                return if asked { Ending::Hung } else { Ending::NeverAsked };
            }
        }
    }
}

/// The command of a case.
fn filled(trial: &Trial, case: &Case, server: &Scripted, folder: &Path) -> String {
    let seconds = |ms: Option<u64>| ms.map_or(30.0, |ms| ms as f64 / 1e3).to_string();
    let url = server.base_url(case.name);
    [
        ("{url}", url.clone()),
        ("{base}", format!("{url}/v1")),
        ("{endpoint}", case.api.path().to_owned()),
        ("{api}", case.api.word().to_owned()),
        ("{requests}", case.requests.to_string()),
        ("{out}", folder.display().to_string()),
        ("{tokenizer}", tokenizer::folder(&trial.folder).display().to_string()),
        ("{first_token_s}", seconds(case.limits.first_token_ms)),
        ("{idle_s}", seconds(case.limits.idle_ms)),
        ("{total_s}", seconds(case.limits.total_ms)),
    ]
    .into_iter()
    .fold(trial.command_for(case.api).to_owned(), |words, (name, value)| {
        words.replace(name, &value)
    })
}

/// What the client reports, and where it was read: from a stored run of inferometer, or from all
/// readable files.
fn results(
    folder: &Path,
    read: fn(&Path) -> Result<Vec<Sheet>, Failure>,
) -> Result<Option<(String, Row)>, Failure> {
    let mut sheets: Vec<Sheet> = Vec::new();
    let own = Store::at(folder.join("runs"));
    for run in own.list().unwrap_or_default() {
        if let Ok(loaded) = own.open(&run) {
            sheets.push(sheet(&loaded.data, Definitions::Ours));
        }
    }
    if sheets.is_empty() {
        sheets = read(folder)?;
    }
    let measured: Vec<(String, Row)> = sheets
        .into_iter()
        .flat_map(|sheet| {
            let source = named(&sheet, folder);
            let rows = sheet.parts.into_iter().flat_map(|part| part.rows);
            let measured = rows.filter(|row| row.role == RowRole::Measured);
            measured.map(move |row| (source.clone(), row)).collect::<Vec<_>>()
        })
        .collect();
    Ok(joined(measured))
}

/// One row of what a client reports about its run: the one with most values of single requests,
/// plus the quantities that only the row with most figures has.
fn joined(rows: Vec<(String, Row)>) -> Option<(String, Row)> {
    let most_figures = rows.iter().max_by_key(|(_, row)| row.figures.len()).cloned();
    let (source, mut row) =
        rows.into_iter().max_by_key(|(_, row)| (row.requests.len(), row.figures.len()))?;
    let (other, more) = most_figures?;
    let own: Vec<Metric> = row.figures.iter().map(|figure| figure.quantity).collect();
    let is_new = |figure: &Figure| !own.contains(&figure.quantity);
    let before = row.figures.len();
    row.figures.extend(more.figures.into_iter().filter(is_new));
    let source = match row.figures.len() > before {
        true => format!("{source} and {other}"),
        false => source,
    };
    Some((source, row))
}

/// `vllm-serve in result.json`.
fn named(sheet: &Sheet, folder: &Path) -> String {
    let name = Path::new(&sheet.source.name);
    let name = name.strip_prefix(folder).unwrap_or(name).display();
    match sheet.source.format.as_str() {
        "" => name.to_string(),
        format => format!("{format} in {name}"),
    }
}

/// The last lines that a client printed, from standard error if there are any.
fn last_words(folder: &Path) -> Vec<String> {
    ["stderr.txt", "stdout.txt"]
        .iter()
        .map(|name| last_lines(&folder.join(name)).unwrap_or_default())
        .find(|lines| !lines.is_empty())
        .unwrap_or_default()
}

fn last_lines(path: &Path) -> std::io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(LAST_BYTES)))?;
    let mut tail = Vec::new();
    file.take(LAST_BYTES).read_to_end(&mut tail)?;
    let text = String::from_utf8_lossy(&tail);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let kept = lines.iter().skip(lines.len().saturating_sub(LAST_LINES));
    Ok(kept.map(|line| line.trim_end().to_owned()).collect())
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::files(format!("cannot create {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::{Place, SheetRequest, Statistic, Unit};

    #[test]
    fn what_one_file_does_not_tell_another_may() {
        let figure = |quantity, value| Figure::new(quantity, Statistic::Mean, value, Unit::Ms);
        let row = |figures: &[Figure], requests: usize| {
            let mut row = Row::new(RowRole::Measured, Place::default());
            row.figures = figures.to_vec();
            row.requests = vec![SheetRequest::default(); requests];
            row
        };
        let records = row(&[figure(Metric::E2e, 5.0)], 3);
        let summary = row(&[figure(Metric::E2e, 6.0), figure(Metric::Ttft, 1.0)], 0);
        let rows = vec![("records".to_owned(), records), ("summary".to_owned(), summary)];
        let (source, row) = joined(rows).expect("a row");
        assert_eq!(source, "records and summary");
        assert_eq!(row.requests.len(), 3);
        assert_eq!(row.value(Metric::Ttft, Statistic::Mean), Some(1.0));
        assert_eq!(row.value(Metric::E2e, Statistic::Mean), Some(5.0), "its own goes first");
        assert!(joined(Vec::new()).is_none());
    }
}
