//! Requests that failed.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::failure::{self, Failures};
use crate::level::LevelSummary;
use crate::slo::ERROR_RATE_MAX;
use ifm_core::Outcome;

pub(super) const CHECK: Check =
    Check { id: "failures", title: "requests completed", run: Made::ByLevel(make) };

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let counts = &level.counts;
    let Some(rate) = counts.error_rate() else { return AtLevel::NotApplicable };
    if counts.failed == 0 {
        return AtLevel::Silent;
    }
    let refused: Vec<String> = counts
        .statuses
        .iter()
        .filter(|(status, _)| !(200..300).contains(status))
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
    let failures = Failures::of(context.measured(level).iter().copied());
    let text = failures.map_or(text.clone(), |failures| failure::sentence_of(&failures, &text));
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
        let corrupt = |count: u32| {
            move |run: &mut ifm_core::RunData| {
                for index in 0..count {
                    run.requests.push(failed(120 + index, 0, 0, 15_000.0, 1.0));
                }
            }
        };
        check("failures", corrupt(1), Severity::Caution, "1 of 121 requests failed (0.8 %)");
        check("failures", corrupt(2), Severity::Invalid, "http_error (2 with status 503)");
    }

    #[test]
    fn reports_a_redirect_with_its_status_and_target() {
        let redirect = |run: &mut ifm_core::RunData| {
            let mut record = failed(120, 0, 0, 15_000.0, 1.0);
            record.http_status = Some(307);
            record.error = Some("HTTP 307: redirected to /elsewhere".to_owned());
            run.requests.push(record);
        };
        let text = "http_error (1 with status 307). HTTP 307: redirected to /elsewhere";
        check("failures", redirect, Severity::Caution, text);
    }
}
