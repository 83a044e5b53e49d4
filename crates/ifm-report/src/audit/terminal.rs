//! An audit for people at a terminal.

use super::{at_least, closing, spots};
use crate::TerminalStyle;
use crate::terminal::{Color, wrap};
use ifm_core::words::counted;
use ifm_rules::audit::{Audit, Level, Looked};

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
    let blind = blind(audit);
    if !style.verbose && !blind.is_empty() {
        let rules: usize = blind.iter().map(|(_, rules)| rules.len()).sum();
        let line = format!(
            "not applicable, data missing: {}; -v lists them",
            counted(rules as u64, "rule")
        );
        out.push_str(&style.paint(Color::Dim, &line));
        out.push('\n');
    } else if !blind.is_empty() {
        let lines = blind.into_iter().flat_map(|(needs, rules)| {
            let text = format!("  {needs}: {}", rules.join(", "));
            wrap(&style.text(&text), style.width, "    ")
        });
        for line in ["not applicable: missing".to_owned()].into_iter().chain(lines) {
            out.push_str(&style.paint(Color::Dim, &line));
            out.push('\n');
        }
    }
    out.push_str(&closing(audit));
    out.push('\n');
    out
}

/// What is not there, and the rules that could not look without it.
pub(crate) fn blind(audit: &Audit) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut blind: Vec<(&str, Vec<&str>)> = Vec::new();
    for rule in &audit.rules {
        let Looked::Needs(needs) = rule.looked else { continue };
        match blind.iter_mut().find(|(known, _)| *known == needs) {
            Some((_, rules)) => rules.push(rule.id),
            None => blind.push((needs, vec![rule.id])),
        }
    }
    blind
}

/// A paragraph below the head of a finding.
fn push(out: &mut String, text: &str, style: &TerminalStyle) {
    let text = style.text(&crate::format::paragraph(text));
    for line in wrap(&format!("  {text}"), style.width, "  ") {
        out.push_str(&line);
        out.push('\n');
    }
}
