//! Sends results to existing systems: an OpenTelemetry collector, Prometheus, MLflow.
//!
//! One file per supported format, one line in `PUSHES`. The content is what `export` writes. Not here:
//! the formats (`ifm-interop`), the client (`ifm_probe::http_client`).

mod mlflow;
mod otlp;
mod prometheus;
mod target;

pub use target::{Target, authorization};

use crate::exit::Failure;
use ifm_core::{RunData, Sheet};

/// One run or document to send.
#[derive(Debug)]
pub struct Results {
    /// Its rows.
    pub sheet: Sheet,
    /// The run that they were computed from, for inferometer's own runs.
    pub run: Option<RunData>,
    /// The report of them as a page, if the server stores one.
    pub report: Option<String>,
}

/// A format that can be sent.
pub struct Push {
    /// Id of the format on the command line.
    pub format: &'static str,
    /// An example URL, for messages.
    pub example: &'static str,
    /// Whether the report is sent too.
    pub has_report: bool,
    send: fn(&Target, &Results) -> Result<String, Failure>,
}

impl Push {
    /// Sends results; returns a description of what was sent.
    ///
    /// # Errors
    /// There is nothing in them for this format, the server does not respond, or it does not accept
    /// them.
    pub fn send(&self, target: &Target, results: &Results) -> Result<String, Failure> {
        (self.send)(target, results)
    }
}

/// Every format that can be sent.
pub const PUSHES: &[Push] = &[otlp::PUSH, prometheus::PUSH, mlflow::PUSH];

/// How a format is sent.
///
/// # Errors
/// It cannot be sent.
pub fn of_format(format: &str) -> Result<&'static Push, Failure> {
    let known = PUSHES.iter().find(|push| push.format == format);
    known.ok_or_else(|| {
        let names: Vec<&str> = PUSHES.iter().map(|push| push.format).collect();
        Failure::usage(format!("{format} is a file, and no server accepts it"))
            .hint(format!("formats for --push: {}", names.join(", ")))
    })
}

/// The error for results without anything for a format.
fn nothing(results: &Results, holds: &str) -> Failure {
    Failure::usage(format!("{} contains no {holds}: nothing was sent", results.sheet.source.name))
}

/// `1 span`, `5 spans`.
fn number(count: usize, of: &str) -> String {
    if count == 1 { format!("1 {of}") } else { format!("{count} {of}s") }
}
