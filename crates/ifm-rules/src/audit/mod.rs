//! The audit: which results of other tools are impossible, are noise, or do not follow from the
//! data.
//!
//! One file per rule, one line in `RULES`. A rule is a pure function of documents. It selects
//! figures by what they measure, never by name; if the data that it needs are missing, it reports
//! that it could not be applied. Not here: reading documents (`ifm-interop`), and the checks of our
//! own runs, which are in [`ifm_metrics::warning`].

use ifm_core::order::Order as _;

mod burst;
mod change;
mod finding;
mod images;
mod light;
mod order;
mod own_run;
mod requests;
mod rule;
mod sentence;
mod streams;
mod subject;
#[cfg(test)]
mod testing;
mod window;

pub use finding::{Evidence, Finding, Level, Spot};
pub use own_run::of_run;
pub use subject::{Cell, Subject};

/// Ids of the rules that hold results against the machine, which hold for our own runs too.
pub const PHYSICS: [&str; 2] = ["faster_than_light", "near_light"];

/// What a rule found.
#[derive(Debug, Clone, PartialEq)]
pub enum Looked {
    /// It was applied; an empty list means that it found nothing.
    Found(Vec<Finding>),
    /// The documents do not contain the data that it needs, named here.
    Needs(&'static str),
}

/// A rule: what holds where it is silent, and how it looks.
pub struct Rule {
    /// Id, stable over versions.
    pub id: &'static str,
    /// What the rule checks, as a short statement that holds if the rule finds nothing.
    pub title: &'static str,
    look: fn(&Subject) -> Looked,
}

/// A rule and what it found.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleResult {
    /// Id of the rule.
    pub id: &'static str,
    /// What holds if the rule finds nothing.
    pub title: &'static str,
    /// What it found.
    pub looked: Looked,
}

/// Everything that an audit says.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// Every rule, in the order of the registry.
    pub rules: Vec<RuleResult>,
}

impl Audit {
    /// All findings, strongest first, then in the order of the rules.
    pub fn findings(&self) -> Vec<&Finding> {
        let mut findings: Vec<&Finding> = self
            .rules
            .iter()
            .filter_map(|rule| match &rule.looked {
                Looked::Found(findings) => Some(findings),
                Looked::Needs(_) => None,
            })
            .flatten()
            .collect();
        findings.order_by_key(|finding| std::cmp::Reverse(finding.level));
        findings
    }

    /// The strongest level found.
    pub fn level(&self) -> Option<Level> {
        self.findings().first().map(|finding| finding.level)
    }
}

/// Looks at documents by every rule.
pub fn audit(subject: &Subject) -> Audit {
    let looked =
        |rule: &&Rule| RuleResult { id: rule.id, title: rule.title, looked: (rule.look)(subject) };
    Audit { rules: rule::RULES.iter().map(looked).collect() }
}

/// Ids and titles of all rules, in their order.
pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    rule::RULES.iter().map(|rule| (rule.id, rule.title))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_has_an_id_of_its_own_and_a_row_in_the_documentation() {
        let page = include_str!("../../../../docs/concepts/audit.md");
        let mut ids = BTreeSet::new();
        for (id, title) in super::rules() {
            assert!(ids.insert(id), "{id} is used twice");
            assert!(page.contains(&format!("| `{id}` | {title} |")), "{id}: {title}");
        }
        assert!(super::PHYSICS.iter().all(|id| ids.contains(id)));
    }
}
