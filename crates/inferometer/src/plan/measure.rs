//! Measures one cell in a separate process of this program.

use crate::exit::{Code, Failure};
use crate::interrupt::{Interrupts, Urge};
use ifm_bench::process_tree::{TOKEN, Tree};
use ifm_launch::guard::{Guard, Undo};
use ifm_launch::own_program::own_command;
use ifm_sys::process::{Ending, signal_group};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Interval between two checks of the process.
const STEP: Duration = Duration::from_millis(50);
/// Maximum size of a document from it, bytes.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;
/// Paths of the ID of the stored result in documents.
const ID_POINTERS: [&str; 4] = ["/id", "/run/id", "/run", "/import/id"];

/// The result of a cell.
#[derive(Debug)]
pub enum Measured {
    /// A result, stored under this id.
    Done {
        /// The id.
        run: String,
    },
    /// No result, for this reason.
    Failed {
        /// In one sentence.
        reason: String,
        /// Whether another try could end differently.
        is_worth_a_retry: bool,
    },
    /// Unknown: it was stopped from outside.
    Interrupted,
}

/// Runs the command of a cell to its end. The process's messages go to the file `log`; `tick` runs
/// periodically meanwhile.
///
/// # Errors
/// The process or its log cannot be created.
pub fn measure(
    words: &[String],
    log: &Path,
    guard: &Guard,
    interrupts: &Interrupts,
    mut tick: impl FnMut(),
) -> Result<Measured, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::new(Code::Internal, format!("the process of a cell did not start: {error}"))
    };
    // What a command prints of itself is for its user alone.
    let mut log_file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(log)
        .map_err(|error| Failure::files(format!("cannot create {}: {error}", log.display())))?;
    let mut command = own_command().map_err(cannot)?;
    // A separate process group: Ctrl-C reaches it through this process, once.
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    let tree = Tree::planned();
    command.env(TOKEN, &tree.token);
    // A cell is defined by its words, whatever folder the plan is run in.
    command.env(ifm_launch::own_program::PROJECT_VARIABLE, "");
    let planned = guard.hold(Undo::EndServer(tree.clone()))?;
    let mut child = command.spawn().map_err(cannot)?;
    let held = guard.hold(Undo::EndServer(tree.with_head(child.id())))?;
    planned.forget();
    let output = child.stdout.take();
    let document = std::thread::spawn(move || {
        let mut text = String::new();
        let read = output.map(|output| output.take(DOCUMENT_BYTES_MAX).read_to_string(&mut text));
        read.is_some_and(|read| read.is_ok()).then_some(text)
    });
    let errors = child.stderr.take();
    let complaint = std::thread::spawn(move || {
        let mut last = Complaint::default();
        let lines = errors.map(|errors| BufReader::new(errors).lines());
        for line in lines.into_iter().flatten().map_while(Result::ok) {
            // Without its log, a cell is measured anyway.
            let _ = writeln!(log_file, "{line}");
            last.hear(line);
        }
        last
    });
    let status = wait(&mut child, interrupts, &mut tick);
    held.forget();
    let status = status.map_err(cannot)?;
    let (document, complaint) = (document.join().ok().flatten(), complaint.join());
    let complaint = complaint.unwrap_or_default();
    let code = status.code().and_then(Code::of_number);
    if interrupts.urge() > Urge::None && code != Some(Code::Done) {
        return Ok(Measured::Interrupted);
    }
    let failed = |reason: String, is_worth_a_retry| Measured::Failed { reason, is_worth_a_retry };
    Ok(match code {
        Some(Code::Done) => match document.as_deref().and_then(id_of) {
            Some(run) => Measured::Done { run },
            None => failed("the process named no stored result".to_owned(), true),
        },
        Some(code) => failed(
            complaint.sentence().unwrap_or_else(|| format!("ended with exit code {}", code as i32)),
            code != Code::Usage,
        ),
        None => failed(complaint.sentence().unwrap_or_else(|| status.to_string()), true),
    })
}

/// Waits for the process, and passes on to it how soon to end.
fn wait(
    child: &mut Child,
    interrupts: &Interrupts,
    tick: &mut impl FnMut(),
) -> std::io::Result<std::process::ExitStatus> {
    let mut passed_on = Urge::None;
    let mut ticked = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let urge = interrupts.urge();
        if urge > passed_on {
            passed_on = urge;
            signal_group(
                child.id(),
                if urge == Urge::Now { Ending::AtOnce } else { Ending::Asked },
            );
        }
        if ticked.elapsed() >= Duration::from_secs(1) {
            tick();
            ticked = Instant::now();
        }
        std::thread::sleep(STEP);
    }
}

/// The ID of the stored result in a document.
fn id_of(document: &str) -> Option<String> {
    let document: Value = serde_json::from_str(document).ok()?;
    ID_POINTERS.iter().find_map(|pointer| document.pointer(pointer)?.as_str().map(str::to_owned))
}

/// The last error that a process reported.
#[derive(Debug, Default)]
struct Complaint {
    sentence: Option<String>,
}

impl Complaint {
    fn hear(&mut self, line: String) {
        if let Some(sentence) = line.strip_prefix("error: ") {
            self.sentence = Some(sentence.to_owned());
        }
    }

    fn sentence(&self) -> Option<String> {
        self.sentence.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_name_what_they_stored() {
        assert_eq!(id_of(r#"{"id": "a"}"#).as_deref(), Some("a"));
        assert_eq!(id_of(r#"{"run": "b"}"#).as_deref(), Some("b"));
        assert_eq!(id_of(r#"{"id": 1}"#), None);
        assert_eq!(id_of("no"), None);
    }
}
