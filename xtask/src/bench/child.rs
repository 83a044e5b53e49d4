//! A process on one processor, and what it cost.
//!
//! The kernel accounts a process's CPU time and peak memory to its parent, as one sum over all
//! children and one maximum, and a child starts with the peak of the process that made it. So each
//! measured command gets a small parent of its own: this program again, called with [`MEASURE`],
//! which ties itself to the processor, starts the command there, waits, and writes one line of
//! JSON after everything that the command wrote to standard output.

use anyhow::{Context as _, Result, ensure};
use ifm_sys::{mono_ns, thread};
use serde::{Deserialize, Serialize};
use std::{
    io::Write,
    path::Path,
    process::{Command, ExitCode, Stdio},
};

/// First argument of the small parent: then the processor, then the command.
pub const MEASURE: &str = "--measure";
/// Exit code of a run whose requests left late, which is usual where the server answers at once. All of them
/// were sent and stored, so it says what they cost.
const INVALID_RUN: i32 = 6;

/// What a command cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Right before the process was made, nanoseconds on the monotonic clock.
    pub spawn_ns: u64,
    /// When it had ended, likewise.
    pub end_ns: u64,
    /// CPU time in user and kernel mode, nanoseconds.
    pub cpu_ns: u64,
    /// Largest resident memory, bytes.
    pub peak_memory_bytes: u64,
    /// Exit code; absent after a signal.
    pub exit_code: Option<i32>,
}

/// The small parent: arguments are the processor and the command.
pub fn measure(arguments: &[String], out: &mut dyn Write) -> Result<ExitCode> {
    let [cpu, program, rest @ ..] = arguments else {
        anyhow::bail!("{MEASURE} needs a processor and a command");
    };
    let cpu: usize = cpu.parse().with_context(|| format!("'{cpu}' is not a processor"))?;
    thread::pin_to(&[cpu]).with_context(|| format!("processor {cpu} cannot be used"))?;
    let spawn_ns = mono_ns();
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null());
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    let end_ns = mono_ns();
    let usage = thread::children_usage();
    let cost = Cost {
        spawn_ns,
        end_ns,
        cpu_ns: usage.cpu_ns,
        peak_memory_bytes: usage.peak_memory_bytes,
        exit_code: status.code(),
    };
    writeln!(out, "\n{}", serde_json::to_string(&cost)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a command on a processor to its end; what it wrote to standard output, and its cost.
///
/// # Errors
/// When it cannot be started, or does not end with exit code 0: then with what it wrote.
pub fn run_on(cpu: usize, program: &Path, arguments: &[String]) -> Result<(String, Cost)> {
    let parent = std::env::current_exe().context("this program cannot find itself")?;
    let output = Command::new(parent)
        .args(["bench", MEASURE, &cpu.to_string()])
        .arg(program)
        .args(arguments)
        // The benchmark decides what the client does, not the environment.
        .env_remove("OPENAI_API_KEY")
        .env_remove("INFEROMETER_STORE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.trim_end().lines().next_back().unwrap_or_default();
    let cost: Cost = serde_json::from_str(line)
        .with_context(|| format!("{} was not measured: {complaint}", program.display()))?;
    ensure!(
        matches!(cost.exit_code, Some(0 | INVALID_RUN)),
        "{} {} ended with {:?}:\n{text}{complaint}",
        program.display(),
        arguments.join(" "),
        cost.exit_code
    );
    if cost.exit_code == Some(INVALID_RUN) {
        let why = complaint.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
        let _ = writeln!(std::io::stderr(), "an invalid run is counted: {why}");
    }
    Ok((text.trim_end().trim_end_matches(line).to_owned(), cost))
}
