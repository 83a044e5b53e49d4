//! An audit for programs: one JSON document.

use crate::json::{SCHEMA_VERSION, objects, text};
use ifm_rules::audit::{Audit, Evidence, Finding, Level, Looked, RuleResult, Spot};
use serde::Serialize;

/// The audit as one JSON document; ends with a line break.
pub fn audit_json(audit: &Audit) -> String {
    text(&AuditDocument::from(audit))
}

/// A number behind a finding.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AuditEvidence {
    /// What it is.
    name: String,
    /// In the unit of `unit`; null for a number that JSON cannot write.
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["number", "null"])))]
    value: f64,
    /// Unit; empty for a ratio or a count.
    unit: String,
}

impl From<&Evidence> for AuditEvidence {
    fn from(Evidence { name, value, unit }: &Evidence) -> AuditEvidence {
        AuditEvidence { name: name.clone(), value: *value, unit: unit.clone() }
    }
}

objects! {
    /// What `audit --json` writes.
    AuditDocument of audit: &Audit {
        /// Version of the document. Major versions are not compatible.
        #[cfg_attr(feature = "schema", schemars(extend("pattern" = "^1[.]")))]
        schema_version: &'static str = SCHEMA_VERSION,
        /// What the document is.
        #[cfg_attr(feature = "schema", schemars(extend("const" = "audit")))]
        kind: &'static str = "audit",
        /// Level of the gravest finding; absent without one.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["proof", "strong", "hint"])))]
        level: Option<&'static str> = audit.level().map(Level::word),
        /// What was found, the gravest first.
        findings: Vec<AuditFinding> =
            audit.findings().into_iter().map(AuditFinding::from).collect(),
        /// Every rule.
        rules: Vec<AuditRule> = audit.rules.iter().map(AuditRule::from).collect(),
    }

    /// Something that cannot be right, is noise, or does not follow.
    AuditFinding of finding: &Finding {
        /// Id of the rule.
        rule: &'static str = finding.rule,
        /// How sure: arithmetic or physics, statistics, or a hint.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["proof", "strong", "hint"])))]
        level: &'static str = finding.level.word(),
        /// In words.
        text: String = finding.text.clone(),
        /// The numbers behind it.
        evidence: Vec<AuditEvidence> = finding.evidence.iter().map(AuditEvidence::from).collect(),
        /// Places in the file or run.
        spots: Vec<AuditSpot> = finding.spots.iter().map(AuditSpot::from).collect(),
        /// Further places, not listed.
        spots_more: usize = finding.spots_more,
        /// What to do.
        #[serde(skip_serializing_if = "Option::is_none")]
        remedy: Option<String> = finding.remedy.clone(),
    }

    /// A place in a file or run.
    AuditSpot of spot: &Spot {
        /// File or run.
        document: String = spot.document.clone(),
        /// Line, from 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u32> = spot.place.line,
        /// JSON pointer, column or cell.
        #[serde(skip_serializing_if = "Option::is_none")]
        pointer: Option<String> = spot.place.pointer.clone(),
    }

    /// A rule.
    AuditRule of rule: &RuleResult {
        /// Id.
        id: &'static str = rule.id,
        /// What it examines.
        title: &'static str = rule.title,
        /// Findings; absent where the rule has no data to examine.
        #[serde(skip_serializing_if = "Option::is_none")]
        findings: Option<usize> = match &rule.looked {
            Looked::Found(findings) => Some(findings.len()),
            Looked::Needs(_) => None,
        },
        /// What it lacks.
        #[serde(skip_serializing_if = "Option::is_none")]
        needs: Option<&'static str> = match &rule.looked {
            Looked::Found(_) => None,
            Looked::Needs(needs) => Some(*needs),
        },
    }
}
