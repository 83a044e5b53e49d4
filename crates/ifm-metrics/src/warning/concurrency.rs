//! Levels that never had the asked number of requests in flight.

use super::{AtLevel, Check, Context, Made, Severity};
use crate::level::LevelSummary;

pub(super) const CHECK: Check = Check {
    id: "concurrency",
    title: "the requested number of requests was in flight",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let (Some(asked), Some(whole)) = (level.concurrency_asked(), &level.whole) else {
        return AtLevel::NotApplicable;
    };
    let max = whole.concurrency.max;
    if max >= asked {
        return match &level.steady_absent_because {
            Some(reason) => AtLevel::Fires(
                Severity::Note,
                format!("no steady window, rates include ramp-up and drain: {reason}"),
            ),
            None => AtLevel::Silent,
        };
    }
    if context.run.manifest.workload.as_ref().is_some_and(|sent| sent.sessions.is_some()) {
        return AtLevel::Fires(
            Severity::Note,
            format!(
                "at most {max} of {asked} users had a request in flight at once: the others were \
                 thinking"
            ),
        );
    }
    AtLevel::Fires(
        Severity::Caution,
        format!("{asked} requests in flight were requested, but there were never more than {max}"),
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
    fn users_who_think_are_not_missed() {
        let mut run = crate::warning::testing::sound_run();
        run.manifest.spec.levels[0].concurrency = 3;
        run.manifest.workload.as_mut().unwrap().sessions = Some(60);
        let summary = crate::summarize(&run);
        let warning = summary.warnings.iter().find(|warning| warning.check == "concurrency");
        let warning = warning.expect("a note");
        assert!(warning.severity == Severity::Note && warning.text.contains("thinking"));
    }

    #[test]
    fn notes_that_the_rates_are_over_the_whole_level() {
        let shorten = |run: &mut ifm_core::RunData| run.requests.truncate(4);
        check("concurrency", shorten, Severity::Note, "include ramp-up and drain");
    }
}
