//! The client's verdict on itself.

use super::{Check, Context, Finding, Made, Severity, ms, percent};
use crate::RunSummary;
use crate::health::SEND_LATENESS_NS_P99_MAX;
use crate::level::LevelSummary;
use ifm_core::Metric;
use ifm_core::{HealthVerdict, RunData};

/// Requests that left later than this share of the shortest median wait make another number of it:
/// of the TTFT in an open loop, where the lateness is part of what is reported from due; of the whole
/// answer in a closed one, where a user idles meanwhile.
const LATE_SHARE_MAX: f64 = 0.20;

pub(super) const CHECK: Check =
    Check { id: "client", title: "the client kept up", run: Made::ForRun(make) };

fn make(context: &Context) -> Option<Vec<Finding>> {
    let health = context.run.manifest.health.as_ref()?;
    let mut findings: Vec<Finding> =
        health.reasons.iter().map(|reason| (Severity::Caution, reason.clone())).collect();
    if health.verdict == HealthVerdict::Suspect && findings.is_empty() {
        findings.push((Severity::Caution, "client timing is suspect".to_owned()));
    }
    findings.extend(late_tail(context));
    Some(findings)
}

/// Why the whole run is not a result: half of the requests left so late that the load was not the
/// requested one. Absent if that is not so.
pub fn load_missed(run: &RunData, summary: &RunSummary) -> Option<String> {
    let late = run.manifest.health.as_ref()?.send_lateness?;
    lateness(late.p50_ns, "in the median", &summary.levels)
        .map(|text| format!("{text}: the server did not get the requested load"))
}

/// That requests left so late that the tail of what is measured from due is the client's.
fn late_tail(context: &Context) -> Option<Finding> {
    let late = context.run.manifest.health.as_ref()?.send_lateness?;
    let text = lateness(late.p99_ns, "at P99", context.levels)?;
    Some((
        Severity::Invalid,
        format!(
            "{text}: that part of the tail, counted from the due time, is the client's own delay"
        ),
    ))
}

/// How late requests left, if that is much of the shortest median wait.
fn lateness(late_ns: u64, at: &str, levels: &[LevelSummary]) -> Option<String> {
    let wait = |level: &LevelSummary| {
        let is_open = level.asked.as_ref()?.arrivals.is_some();
        let latencies = &level.latencies;
        let all = if is_open { latencies.get(Metric::Ttft) } else { latencies.get(Metric::E2e) };
        Some((all.as_ref()?.median()?, if is_open { "TTFT" } else { "E2E" }))
    };
    let (shortest_ns, name) = levels.iter().filter_map(wait).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let share = late_ns as f64 / shortest_ns;
    (late_ns > SEND_LATENESS_NS_P99_MAX && share > LATE_SHARE_MAX).then(|| {
        format!(
            "requests left {} ms after they were due {at}, {} of the median {name}",
            ms(late_ns as f64),
            percent(share)
        )
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
        let corrupt = |run: &mut RunData| {
            let health = run.manifest.health.as_mut().expect("a sound run has one");
            health.verdict = HealthVerdict::Suspect;
            health.reasons = vec!["the busiest reading thread was too busy".to_owned()];
        };
        check("client", corrupt, Severity::Caution, "too busy");
        let blame = |run: &mut RunData| {
            run.manifest.health.as_mut().expect("a sound run has one").verdict =
                HealthVerdict::Suspect;
        };
        check("client", blame, Severity::Caution, "timing is suspect");
    }

    #[test]
    fn requests_that_left_late_are_not_a_result() {
        // Answers take 250 ms, their first tokens 100 ms.
        let late = |ms: u64| {
            move |run: &mut RunData| {
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
        // In an open loop they are compared with the first token.
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
        // A late tail does not change the load; half of the requests do.
        let missed = |run: &RunData| load_missed(run, &crate::summarize(run));
        late(51)(&mut run);
        assert_eq!(missed(&run), None);
        let health = run.manifest.health.as_mut().expect("a sound run has one");
        health.send_lateness.as_mut().expect("set").p50_ns = 21_000_000;
        let why = missed(&run).expect("21 of 100 ms");
        assert!(why.contains("21.0 ms after they were due in the median, 21.0 %"), "{why}");
    }

    #[test]
    fn an_unfinished_run_has_no_verdict() {
        let mut run = sound_run();
        run.manifest.health = None;
        assert_eq!(state(&run, "client"), CheckState::NotApplicable);
    }
}
