//! An audit for people at a terminal.

use super::{at_least, closing, spots};
use crate::TerminalStyle;
use crate::terminal::{Color, wrap};
use ifm_analysis::audit::{Audit, Level, Looked};

/// Findings of at least `level`, strongest first, and what could not be looked at; ends with a line
/// break.
pub fn audit_terminal(audit: &Audit, level: Level, style: &TerminalStyle) -> String {
    let mut out = String::new();
    for finding in at_least(audit, level) {
        let color = match finding.level {
            Level::Proof => Color::Red,
            Level::Strong => Color::Yellow,
            Level::Hint => Color::Dim,
        };
        let head = format!("{:<7} {}", finding.level.word(), finding.rule);
        out.push_str(&style.paint(color, &head));
        out.push('\n');
        push(&mut out, &finding.text, style);
        if let Some(remedy) = &finding.remedy {
            push(&mut out, &format!("to settle it: {remedy}"), style);
        }
        push(&mut out, &format!("at {}", spots(finding)), style);
        out.push('\n');
    }
    let blind: Vec<String> = audit
        .rules
        .iter()
        .filter_map(|rule| match rule.looked {
            Looked::Needs(needs) => Some(format!("{} needs {needs}", rule.id)),
            Looked::Found(_) => None,
        })
        .collect();
    if !blind.is_empty() {
        let text = format!("could not look: {}", blind.join("; "));
        for line in wrap(&style.text(&text), style.width, "  ") {
            out.push_str(&style.paint(Color::Dim, &line));
            out.push('\n');
        }
    }
    out.push_str(&closing(audit));
    out.push('\n');
    out
}

/// A paragraph below the head of a finding.
fn push(out: &mut String, text: &str, style: &TerminalStyle) {
    let text = style.text(&crate::format::paragraph(text));
    for line in wrap(&format!("  {text}"), style.width, "  ") {
        out.push_str(&line);
        out.push('\n');
    }
}
