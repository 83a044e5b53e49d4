//! Requests that failed.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;
use crate::slo::ERROR_RATE_MAX;
use ifm_core::Outcome;

pub(super) const CHECK: Check =
    Check { id: "failures", title: "requests came back complete", run: Made::ByLevel(make) };

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    let counts = &level.counts;
    let Some(rate) = counts.error_rate() else { return AtLevel::NotApplicable };
    if counts.failed == 0 {
        return AtLevel::Silent;
    }
    let refused: Vec<String> = counts
        .statuses
        .iter()
        .filter(|(status, _)| *status >= 400)
        .map(|(status, count)| format!("{count} with status {status}"))
        .collect();
    let kinds: Vec<String> = counts
        .outcomes
        .iter()
        .filter(|(outcome, _)| outcome.is_failure())
        .map(|(outcome, count)| match *outcome {
            Outcome::HttpError => format!("{outcome} ({})", refused.join(", ")),
            _ => format!("{outcome} ({count})"),
        })
        .collect();
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
        check("failures", spoil(2), Severity::Invalid, "http_error (2 with status 503)");
    }
}
