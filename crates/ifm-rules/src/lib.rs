//! What results mean: the findings of reports (`insight`) and the audit of anybody's results
//! (`audit`), one file for each rule.
//!
//! The checks of a run that needs its records are in `ifm-metrics` (`warning`). Not here: how a
//! finding is shown (`ifm-report`).
#![forbid(unsafe_code)]

pub mod audit;
pub mod insight;

/// What a rule is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A run with its records: a check.
    Run,
    /// Documents: the audit.
    Documents,
    /// What a report is asked about results: a finding.
    Results,
}

/// Every rule that inferometer has, with its id and title: checks, the audit, findings.
pub fn registry() -> impl Iterator<Item = (Scope, &'static str, &'static str)> {
    let of = |scope| move |(id, title)| (scope, id, title);
    ifm_metrics::warning::checks()
        .map(of(Scope::Run))
        .chain(audit::rules().map(of(Scope::Documents)))
        .chain(insight::rules().map(of(Scope::Results)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_has_an_id_of_its_own_and_a_row_in_the_documentation() {
        let mut seen = BTreeSet::new();
        for (scope, id, title) in registry() {
            assert!(seen.insert((format!("{scope:?}"), id)), "{id} is used twice");
            assert!(title.contains(' ') && !title.ends_with('.'), "{id}: {title}");
            let (page, row) = match scope {
                Scope::Run => {
                    (include_str!("../../../docs/concepts/metrics.md"), format!("| `{id}` |"))
                }
                Scope::Documents => (
                    include_str!("../../../docs/concepts/audit.md"),
                    format!("| `{id}` | {title} |"),
                ),
                Scope::Results => (
                    include_str!("../../../docs/concepts/insights.md"),
                    format!("| `{id}` | {title} |"),
                ),
            };
            assert!(page.contains(&row), "{row}");
        }
    }
}
