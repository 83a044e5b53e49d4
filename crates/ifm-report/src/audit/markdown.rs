//! An audit as Markdown.

use super::{at_least, closing, spots};
use ifm_rules::audit::{Audit, Level};

/// Findings of at least `level` as a table; ends with a line break.
pub fn audit_markdown(audit: &Audit, level: Level) -> String {
    let findings = at_least(audit, level);
    let mut out = String::from("## Audit\n\n");
    if !findings.is_empty() {
        out.push_str("| level | rule | finding | where |\n|---|---|---|---|\n");
    }
    for finding in findings {
        let remedy = finding.remedy.as_ref().map(|r| format!(" *{r}*")).unwrap_or_default();
        out.push_str(&format!(
            "| {} | `{}` | {}{} | {} |\n",
            finding.level.word(),
            finding.rule,
            cell(&finding.text),
            cell(&remedy),
            cell(&spots(finding))
        ));
    }
    out.push_str(&format!("\n{}\n", closing(audit)));
    out
}

/// Text that cannot end a cell of a table or begin a tag.
fn cell(text: &str) -> String {
    crate::format::paragraph(text).replace('|', "\\|").replace('<', "&lt;")
}
