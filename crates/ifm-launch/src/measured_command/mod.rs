//! Any command, such as a training run, under the telemetry of runs: how long it takes, what it
//! uses, and how it goes on by what it prints.
//!
//! The result is a document as any other tool's, so that whatever reads documents takes it. Not
//! here: the flags and what is said at the end (`inferometer`).

mod memory;
mod output;
pub mod pattern;
mod process;
mod progress;
mod row;

pub use output::Stream;
pub use process::NotStarted;

use ifm_core::Sheet;
use ifm_core::sheet::Factors;
use ifm_machine::telemetry::Telemetry;
use ifm_machine::telemetry::TelemetryAsk;
use ifm_terminal::secrets::Secrets;
use pattern::Patterns;
use process::{Order, ProcessStats, Runner};
use std::sync::Arc;
use std::time::Duration;

/// What is asked for.
#[derive(Debug)]
pub struct Ask {
    /// The words of the command.
    pub words: Vec<String>,
    /// The name of the result.
    pub name: Option<String>,
    /// What the user says was set.
    pub factors: Factors,
    /// Runs that count, and runs before them that do not.
    pub repeats: u32,
    /// See `repeats`.
    pub warmups: u32,
    /// How long each may take.
    pub timeout: Option<Duration>,
    /// What is looked for in its lines.
    pub patterns: Patterns,
    /// Rates begin with this step.
    pub skip_steps: u64,
    /// Tokens of each step, where the user knows them.
    pub tokens_per_step: Option<f64>,
    /// What else is recorded.
    pub telemetry: TelemetryAsk,
    /// Whether it gets our standard input.
    pub has_input: bool,
    /// Where its standard output goes.
    pub output: Stream,
    /// Whether to print what is recorded.
    pub tells: bool,
    /// What is blotted out in what is kept.
    pub secrets: Secrets,
}

/// What came of it.
#[derive(Debug)]
pub struct Measured {
    /// The document.
    pub sheet: Sheet,
    /// The exit code: that of the first run that did not end well, else 0.
    pub code: u8,
}

/// Runs the command as often as asked.
///
/// # Errors
/// It cannot be started.
pub fn measure(ask: &Ask, id: &str) -> Result<Measured, NotStarted> {
    let runner = Runner::start();
    let origin_ns = ifm_sys::mono_ns();
    let telemetry = Telemetry::start(&ask.telemetry, None, ask.tells, origin_ns);
    let order = Order {
        words: &ask.words,
        timeout: ask.timeout,
        has_input: ask.has_input,
        output: ask.output,
        patterns: Arc::new(ask.patterns.clone()),
    };
    let mut lives: Vec<ProcessStats> = Vec::new();
    let mut code = 0;
    for run in 0..ask.warmups + ask.repeats {
        telemetry.sample();
        let lived = runner.run(&order)?;
        telemetry.sample();
        let (end, is_warmup) = (lived.end, run < ask.warmups);
        code = if code == 0 { end.code() } else { code };
        if !is_warmup || end.code() != 0 {
            lives.push(lived);
        }
        // What does not even warm up is not measured.
        if end.is_stop() || (is_warmup && end.code() != 0) {
            break;
        }
    }
    let series = telemetry.finish();
    Ok(Measured { sheet: row::sheet(ask, id, &lives, (&series, origin_ns)), code })
}
