//! Requests that were cut off at the end of a level: the long ones go missing first.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;

/// Above this share, the missing long requests bend the latencies.
const SHARE_MAX: f64 = 0.05;

pub(super) const CHECK: Check = Check {
    id: "cut_off",
    title: "few requests were cut off by the client",
    run: Made::ByLevel(make),
};

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    let counts = &level.counts;
    if counts.sent == 0 {
        return AtLevel::NotApplicable;
    }
    let share = counts.cancelled as f64 / counts.sent as f64;
    if share <= SHARE_MAX {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "{} cut off ({}): long answers are missing from the latencies",
            ifm_core::words::counted(counts.cancelled, "request"),
            percent(share)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::{check, sound_run, state};
    use ifm_core::Outcome;

    fn cut(run: &mut ifm_core::RunData, count: usize) {
        run.requests.iter_mut().rev().take(count).for_each(|record| {
            record.outcome = Outcome::Cancelled;
        });
    }

    #[test]
    fn fires_above_a_twentieth() {
        check("cut_off", |run| cut(run, 7), Severity::Caution, "7 requests cut off");
        let mut run = sound_run();
        cut(&mut run, 6);
        assert_eq!(state(&run, "cut_off"), crate::warning::CheckState::Passed);
    }
}
