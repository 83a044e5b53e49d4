//! Requests that failed.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;
use crate::slo::ERROR_RATE_MAX;

pub(super) const CHECK: Check =
    Check { id: "failures", title: "requests came back complete", run: Made::ByLevel(make) };

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    let counts = &level.counts;
    let Some(rate) = counts.error_rate() else { return AtLevel::NotApplicable };
    if counts.failed == 0 {
        return AtLevel::Silent;
    }
    let mut kinds: Vec<String> = counts
        .outcomes
        .iter()
        .filter(|(outcome, _)| outcome.is_failure())
        .map(|(outcome, count)| format!("{count} {outcome}"))
        .collect();
    let refused = counts.statuses.iter().filter(|(status, _)| *status >= 400);
    kinds.extend(refused.map(|(status, count)| format!("status {status} {count} times")));
    let text = format!(
        "{} of {} requests failed ({}): {}",
        counts.failed,
        counts.sent,
        percent(rate),
        kinds.join(", ")
    );
    let severity = if rate > ERROR_RATE_MAX { Severity::Invalid } else { Severity::Caution };
    AtLevel::Fires(severity, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::failed;
    use crate::warning::testing::check;

    #[test]
    fn one_failure_in_a_hundred_is_a_caution_and_two_are_too_many() {
        let spoil = |count: u32| {
            move |run: &mut ifm_core::RunData| {
                for index in 0..count {
                    run.requests.push(failed(120 + index, 0, 0, 15_000.0, 1.0));
                }
            }
        };
        check("failures", spoil(1), Severity::Caution, "1 of 121 requests failed (0.8 %)");
        check("failures", spoil(2), Severity::Invalid, "2 http_error, status 503 2 times");
    }
}
