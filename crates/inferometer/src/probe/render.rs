//! A probe's report for people and for programs.

use super::{Finding, Report, Section};
use ifm_core::words::counted;
use ifm_report::TerminalStyle;
use serde_json::{Value, json};

/// Version of the JSON document. Major versions are not compatible.
const SCHEMA_VERSION: &str = "1.0";
/// Columns of sign and name.
const NAME_COLUMNS: usize = 21;

/// One JSON document.
pub fn json(report: &Report) -> Value {
    json!({
        "schema_version": SCHEMA_VERSION,
        "url": report.url,
        "requests": report.requests,
        "seconds": report.took.as_secs_f64(),
        "findings": report.findings.iter().map(Finding::to_json).collect::<Vec<_>>(),
    })
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
