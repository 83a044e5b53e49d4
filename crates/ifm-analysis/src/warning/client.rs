//! The client's verdict on itself.

use super::{Check, Context, Finding, Made, Severity, percent};
use crate::RunSummary;
use crate::health::SEND_LATENESS_NS_P99_MAX;
use crate::level::LevelSummary;
use ifm_core::HealthVerdict;

/// Requests that left later than this share of the shortest median wait, at P99, make another load
/// of it than the one that was asked for: of the TTFT in an open loop, where the lateness is part
/// of what is reported from due; of the whole answer in a closed one, where a user idles meanwhile.
const LATE_SHARE_MAX: f64 = 0.20;

pub(super) const CHECK: Check =
    Check { id: "client", title: "the client kept up", run: Made::ForRun(make) };

fn make(context: &Context) -> Option<Vec<Finding>> {
    let health = context.run.manifest.health.as_ref()?;
    let mut findings: Vec<Finding> =
        health.reasons.iter().map(|reason| (Severity::Caution, reason.clone())).collect();
    if health.verdict == HealthVerdict::Suspect && findings.is_empty() {
        findings.push((Severity::Caution, "the client doubts its own times".to_owned()));
    }
    findings.extend(late_load(context));
    Some(findings)
}

/// Why the whole run is no result: the load was not the one that was asked for. Absent where it was.
pub fn load_missed(summary: &RunSummary) -> Option<&str> {
    let mut of_client = summary.warnings.iter().filter(|warning| warning.check == CHECK.id);
    let invalid = of_client.find(|warning| warning.severity == Severity::Invalid)?;
    Some(&invalid.text)
}

/// That requests left so late that the load was not the one that was asked for.
fn late_load(context: &Context) -> Option<Finding> {
    let late_ns = context.run.manifest.health.as_ref()?.send_lateness?.p99_ns;
    let wait = |level: &LevelSummary| {
        let is_open = level.asked.as_ref()?.arrivals.is_some();
        let latencies = &level.latencies;
        let all = if is_open { &latencies.ttft_ns } else { &latencies.e2e_ns };
        Some((all.as_ref()?.median()?, if is_open { "TTFT" } else { "E2E" }))
    };
    let waits = context.levels.iter().filter_map(wait);
    let (shortest_ns, name) = waits.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let share = late_ns as f64 / shortest_ns;
    (late_ns > SEND_LATENESS_NS_P99_MAX && share > LATE_SHARE_MAX).then(|| {
        let text = format!(
            "requests left {:.1} ms after they were due at P99, {} of the median {name}: the \
             server did not get the load that was asked for",
            late_ns as f64 / 1e6,
            percent(share)
        );
        (Severity::Invalid, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::CheckState;
    use crate::warning::testing::{check, sound_run, state};
    use ifm_core::spec::{ArrivalLaw, ArrivalSpec, RateCurve, RateStretch};

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
    fn a_load_that_was_not_sent_is_no_result() {
        // Answers take 250 ms, their first tokens 100 ms.
        let late = |ms: u64| {
            move |run: &mut ifm_core::RunData| {
                let health = run.manifest.health.as_mut().expect("a sound run has one");
                let lateness = ifm_core::health::SpanQuantiles {
                    n: 120,
                    p50_ns: 0,
                    p99_ns: ms * 1_000_000,
                    max_ns: ms * 1_000_000,
                };
                health.send_lateness = Some(lateness);
            }
        };
        check("client", late(51), Severity::Invalid, "51.0 ms after they were due");
        let mut run = sound_run();
        late(49)(&mut run);
        assert_eq!(state(&run, "client"), CheckState::Passed);
        // In an open loop they are held against the first token.
        let spec = &mut run.manifest.spec.levels[0];
        let stretch = RateStretch {
            from_req_per_s: 4.0,
            to_req_per_s: 4.0,
            curve: RateCurve::Linear,
            seconds: None,
        };
        let (law, stretches) = (ArrivalLaw::Poisson, vec![stretch]);
        spec.arrivals = Some(ArrivalSpec { law, stretches, seed: 0 });
        assert_eq!(state(&run, "client"), CheckState::Invalid);
        late(19)(&mut run);
        assert_eq!(state(&run, "client"), CheckState::Passed);
    }

    #[test]
    fn an_unfinished_run_has_no_verdict() {
        let mut run = sound_run();
        run.manifest.health = None;
        assert_eq!(state(&run, "client"), CheckState::NotApplicable);
    }
}
