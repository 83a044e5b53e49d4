//! An audit for programs: one JSON document.

use crate::json::{Object, SCHEMA_VERSION};
use ifm_analysis::audit::{Audit, Finding, Level, Looked, RuleResult, Spot};
use serde_json::{Value, json};

/// The audit as one JSON document; ends with a line break.
pub fn audit_json(audit: &Audit) -> String {
    let mut document = Object::default();
    document
        .set("schema_version", SCHEMA_VERSION)
        .set("kind", "audit")
        .set_known("level", audit.level().map(Level::word))
        .set("findings", audit.findings().into_iter().map(finding).collect::<Vec<_>>())
        .set("rules", audit.rules.iter().map(rule).collect::<Vec<_>>());
    format!("{:#}\n", document.take())
}

fn finding(finding: &Finding) -> Value {
    let evidence = finding.evidence.iter().map(
        |evidence| json!({"name": evidence.name, "value": evidence.value, "unit": evidence.unit}),
    );
    Object::default()
        .set("rule", finding.rule)
        .set("level", finding.level.word())
        .set("text", finding.text.as_str())
        .set("evidence", evidence.collect::<Vec<_>>())
        .set("spots", finding.spots.iter().map(spot).collect::<Vec<_>>())
        .set("spots_more", finding.spots_more)
        .set_known("remedy", finding.remedy.as_deref())
        .take()
}

fn spot(spot: &Spot) -> Value {
    Object::default()
        .set("document", spot.document.as_str())
        .set_known("line", spot.place.line)
        .set_known("pointer", spot.place.pointer.as_deref())
        .take()
}

fn rule(rule: &RuleResult) -> Value {
    let (findings, needs) = match &rule.looked {
        Looked::Found(findings) => (Some(findings.len()), None),
        Looked::Needs(needs) => (None, Some(*needs)),
    };
    Object::default()
        .set("id", rule.id)
        .set("title", rule.title)
        .set_known("findings", findings)
        .set_known("needs", needs)
        .take()
}
