//! An audit as text by the cell, before layout.
//!
//! What is not here: layout.

use super::{at_least, spots};
use ifm_rules::audit::{Audit, Level};

/// One finding in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingText {
    /// How sure it is.
    pub level: Level,
    /// Id of the rule.
    pub rule: &'static str,
    /// What was found.
    pub text: String,
    /// Where; empty for a run as a whole.
    pub spots: String,
    /// What would settle or fix it.
    pub remedy: Option<String>,
}

/// Everything that an audit says, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditText {
    /// The findings, strongest first.
    pub findings: Vec<FindingText>,
    /// How many of each level, and how many rules looked.
    pub closing: String,
    /// Statements that hold: titles of the rules that looked and found nothing.
    pub silent: Vec<&'static str>,
}

/// The text of an audit.
pub fn audit_text(audit: &Audit) -> AuditText {
    let finding = |finding: &ifm_rules::audit::Finding| FindingText {
        level: finding.level,
        rule: finding.rule,
        text: crate::format::paragraph(&finding.text),
        spots: spots(finding),
        remedy: finding.remedy.as_deref().map(crate::format::paragraph),
    };
    let is_silent = |looked: &ifm_rules::audit::Looked| matches!(looked, ifm_rules::audit::Looked::Found(found) if found.is_empty());
    AuditText {
        findings: at_least(audit, Level::Hint).into_iter().map(finding).collect(),
        closing: super::closing(audit),
        silent: audit
            .rules
            .iter()
            .filter(|rule| is_silent(&rule.looked))
            .map(|rule| rule.title)
            .collect(),
    }
}
