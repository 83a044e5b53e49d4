//! The audit: which results of other tools are impossible, are noise, or do not follow from the
//! data.
//!
//! One file per rule, one line in `RULES`. A rule is a pure function of documents. It selects
//! figures by what they measure, never by name; if the data that it needs are missing, it reports
//! that it could not be applied. Not here: reading documents (`ifm-interop`), and the checks of our
//! own runs, which are in [`ifm_metrics::warning`].

use ifm_core::order::Order as _;
use ifm_metrics::rule as rule_of;

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

/// What a rule of the audit found.
pub type Looked = rule_of::Looked<Finding>;

/// A rule of the audit: it is given documents.
pub type Rule = rule_of::Rule<fn(&Subject) -> Looked>;

/// A rule and what it found.
pub type RuleResult = rule_of::RuleResult<Finding>;

/// Everything that an audit says.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// Every rule, in the order of the registry.
    pub rules: Vec<RuleResult>,
}

impl Audit {
    /// All findings, strongest first, then in the order of the rules.
    pub fn findings(&self) -> Vec<&Finding> {
        let mut findings: Vec<&Finding> = self.rules.iter().flat_map(RuleResult::found).collect();
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
    let looked = |rule: &&Rule| rule.result((rule.look)(subject));
    Audit { rules: rule::RULES.iter().map(looked).collect() }
}

/// Ids and titles of all rules, in their order.
pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    rule::RULES.iter().map(|rule| (rule.id, rule.title))
}

#[cfg(test)]
mod tests {
    #[test]
    fn rules_of_physics_are_rules() {
        assert!(super::PHYSICS.iter().all(|id| super::rules().any(|(known, _)| known == *id)));
    }
}
