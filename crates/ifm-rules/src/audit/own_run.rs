//! A run of our own in an audit: its checks, said as findings.

use super::{Finding, Level, Looked, RuleResult, Spot};
use ifm_core::sheet::Place;
use ifm_metrics::RunSummary;
use ifm_metrics::warning::{CheckResult, Severity, Warning};

/// The checks of a run as rules. `name` names the run.
pub fn of_run(name: &str, summary: &RunSummary) -> Vec<RuleResult> {
    summary.checks.iter().map(|check| of_check(name, check)).collect()
}

fn of_check(name: &str, check: &CheckResult) -> RuleResult {
    let findings = check.warnings.iter().map(|warning| of_warning(name, warning)).collect();
    let looked = match check.is_applicable {
        true => Looked::Found(findings),
        false => Looked::Needs("a run with the data that the check needs"),
    };
    RuleResult { id: check.id, title: check.title, looked }
}

fn of_warning(name: &str, warning: &Warning) -> Finding {
    let level = match warning.severity {
        Severity::Note => Level::Hint,
        Severity::Caution => Level::Strong,
        Severity::Invalid => Level::Proof,
    };
    let place = warning.level.map(|level| Place::pointer(format!("/levels/{level}")));
    Finding::new(warning.check, level, warning.text.clone())
        .at(Spot { document: name.to_owned(), place: place.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::Outcome;
    use ifm_metrics::testing::{closed_loop, run};

    #[test]
    fn checks_become_findings_of_their_weight() {
        let mut run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        let strongest = |run: &ifm_core::RunData| {
            let rules = of_run("r", &ifm_metrics::summarize(run));
            super::super::Audit { rules }.level()
        };
        assert!(strongest(&run) <= Some(Level::Hint), "{:?}", strongest(&run));
        for record in run.requests.iter_mut().skip(20) {
            record.outcome = Outcome::HttpError;
        }
        assert!(strongest(&run) >= Some(Level::Strong));
    }
}
