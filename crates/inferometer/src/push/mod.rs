//! Results sent to where people already look: an OpenTelemetry collector, Prometheus, MLflow.
//!
//! One file for each format that can be sent, one line in `PUSHES`. What is sent is what `export` writes.
//! Not here: the formats (`ifm-interop`), the client (`client`).

mod mlflow;
mod otlp;
mod prometheus;
mod target;

pub use target::{Target, authorization};

use crate::exit::Failure;
use ifm_core::{RunData, Sheet};

/// One run or document to be sent.
#[derive(Debug)]
pub struct Results {
    /// Its rows.
    pub sheet: Sheet,
    /// The run that they were computed from, where it is one of ours.
    pub run: Option<RunData>,
    /// The report of them as a page, where the server keeps one.
    pub report: Option<String>,
}

/// A format that can be sent.
pub struct Push {
    /// Id of the format on the command line.
    pub format: &'static str,
    /// A URL that it can be sent to, for messages.
    pub example: &'static str,
    /// Whether the report goes along.
    pub has_report: bool,
    send: fn(&Target, &Results) -> Result<String, Failure>,
}

impl Push {
    /// Sends results; what was sent comes back in words.
    ///
    /// # Errors
    /// There is nothing in them for this format, nobody answers, or what was sent is not taken.
    pub fn send(&self, target: &Target, results: &Results) -> Result<String, Failure> {
        (self.send)(target, results)
    }
}

/// Every format that can be sent.
pub const PUSHES: &[Push] = &[otlp::PUSH, prometheus::PUSH, mlflow::PUSH];

/// How a format is sent.
///
/// # Errors
/// It cannot be.
pub fn of_format(format: &str) -> Result<&'static Push, Failure> {
    let known = PUSHES.iter().find(|push| push.format == format);
    known.ok_or_else(|| {
        let names: Vec<&str> = PUSHES.iter().map(|push| push.format).collect();
        Failure::usage(format!("{format} is a file, and no server takes it"))
            .hint(format!("what can be sent with --push: {}", names.join(", ")))
    })
}

/// What has nothing in it for a format.
fn nothing(results: &Results, holds: &str) -> Failure {
    Failure::usage(format!("{} holds no {holds}: nothing was sent", results.sheet.source.name))
}

/// `1 span`, `5 spans`.
fn number(count: usize, of: &str) -> String {
    if count == 1 { format!("1 {of}") } else { format!("{count} {of}s") }
}
