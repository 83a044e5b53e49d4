//! The client's verdict on itself.

use super::{Check, Context, Finding, Made, Severity};
use ifm_core::HealthVerdict;

pub(super) const CHECK: Check =
    Check { id: "client", title: "the client kept up", run: Made::ForRun(make) };

fn make(context: &Context) -> Option<Vec<Finding>> {
    let health = context.run.manifest.health.as_ref()?;
    let mut findings: Vec<Finding> =
        health.reasons.iter().map(|reason| (Severity::Caution, reason.clone())).collect();
    if health.verdict == HealthVerdict::Suspect && findings.is_empty() {
        findings.push((Severity::Caution, "the client doubts its own times".to_owned()));
    }
    Some(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::CheckState;
    use crate::warning::testing::{check, sound_run, state};

    #[test]
    fn repeats_the_reasons() {
        let spoil = |run: &mut ifm_core::RunData| {
            let health = run.manifest.health.as_mut().expect("a sound run has one");
            health.verdict = HealthVerdict::Suspect;
            health.reasons = vec!["the busiest reading thread was too busy".to_owned()];
        };
        check("client", spoil, Severity::Caution, "too busy");
        let blame = |run: &mut ifm_core::RunData| {
            run.manifest.health.as_mut().expect("a sound run has one").verdict =
                HealthVerdict::Suspect;
        };
        check("client", blame, Severity::Caution, "doubts");
    }

    #[test]
    fn an_unfinished_run_has_no_verdict() {
        let mut run = sound_run();
        run.manifest.health = None;
        assert_eq!(state(&run, "client"), CheckState::NotApplicable);
    }
}
