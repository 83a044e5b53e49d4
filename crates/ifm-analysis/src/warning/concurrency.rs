//! Levels that never had the asked number of requests in flight.

use super::{AtLevel, Check, Context, Made, Severity};
use crate::level::LevelSummary;

pub(super) const CHECK: Check = Check {
    id: "concurrency",
    title: "the asked number of requests was in flight",
    run: Made::ByLevel(make),
};

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    let (Some(asked), Some(whole)) = (level.concurrency_asked(), &level.whole) else {
        return AtLevel::NotApplicable;
    };
    let max = whole.concurrency.max;
    if max >= asked {
        return match &level.steady_absent_because {
            Some(reason) => AtLevel::Fires(
                Severity::Note,
                format!("rates are over the whole level, ramp and drain included: {reason}"),
            ),
            None => AtLevel::Silent,
        };
    }
    AtLevel::Fires(
        Severity::Caution,
        format!("{asked} requests in flight were asked for, there were never more than {max}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::check;

    #[test]
    fn fires_when_the_target_was_never_in_flight() {
        let raise = |run: &mut ifm_core::RunData| run.manifest.spec.levels[0].concurrency = 3;
        check("concurrency", raise, Severity::Caution, "never more than 2");
    }

    #[test]
    fn notes_that_the_rates_are_over_the_whole_level() {
        let shorten = |run: &mut ifm_core::RunData| run.requests.truncate(4);
        check("concurrency", shorten, Severity::Note, "ramp and drain included");
    }
}
