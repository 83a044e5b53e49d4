//! A probe's report as text and as JSON.

use super::{Finding, Report, Section};
use ifm_core::words::counted;
use ifm_report::TerminalStyle;
use serde::Serialize;

/// Version of the JSON document. Major versions are not compatible.
const SCHEMA_VERSION: &str = "1.0";
/// Columns of sign and name.
const NAME_COLUMNS: usize = 21;

/// What `probe --json` writes.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeDocument<'a> {
    /// Version of the document. Major versions are not compatible.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = "^1[.]")))]
    schema_version: &'static str,
    /// The kind of the document.
    #[cfg_attr(feature = "schema", schemars(extend("const" = "inferometer_probe")))]
    kind: &'static str,
    /// Address.
    url: &'a str,
    /// Number of requests.
    requests: u32,
    /// Elapsed time, seconds.
    seconds: f64,
    /// The answers.
    findings: &'a [Finding],
}

impl<'a> From<&'a Report> for ProbeDocument<'a> {
    fn from(report: &'a Report) -> ProbeDocument<'a> {
        ProbeDocument {
            schema_version: SCHEMA_VERSION,
            kind: "inferometer_probe",
            url: &report.url,
            requests: report.requests,
            seconds: report.took.as_secs_f64(),
            findings: &report.findings,
        }
    }
}

/// A table for the terminal.
pub fn text(report: &Report, style: &TerminalStyle) -> String {
    let mut out = String::new();
    let seconds = report.took.as_secs_f64();
    let head = format!(
        "{} · {} in {seconds:.1} s",
        report.url,
        counted(report.requests.into(), "request")
    );
    push(&mut out, &head, style);
    let mut section: Option<Section> = None;
    for finding in &report.findings {
        if section != Some(finding.section) {
            out.push_str(&format!("\n{}\n", finding.section.title()));
            section = Some(finding.section);
        }
        let name = finding.id.replace('_', " ");
        let first = format!(" {} {name:<18}{}", finding.grade.sign(style.ascii), finding.text);
        push(&mut out, &first, style);
        for (sign, part) in [("", &finding.how), ("→ ", &finding.means)] {
            if !part.is_empty() {
                push(&mut out, &format!("{:NAME_COLUMNS$}{sign}{part}", ""), style);
            }
        }
    }
    out
}

/// Appends a line, wrapped below the text of the first.
fn push(out: &mut String, line: &str, style: &TerminalStyle) {
    let indent = " ".repeat(NAME_COLUMNS);
    for line in style.paragraph(line, &indent) {
        out.push_str(&line);
        out.push('\n');
    }
}
