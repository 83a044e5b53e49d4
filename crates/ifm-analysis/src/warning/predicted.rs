//! Runs that were computed and not measured. A measured run has nothing of it.

use super::{Check, Context, Finding, Made, Severity};

pub(super) const CHECK: Check =
    Check { id: "predicted", title: "the numbers were measured", run: Made::ForRun(make) };

fn make(context: &Context) -> Option<Vec<Finding>> {
    let prediction = context.run.manifest.predicted.as_ref()?;
    let text = format!(
        "{}; no server was asked, and the numbers are as right as these constants",
        prediction.words()
    );
    Some(vec![(Severity::Caution, text)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::predicted;
    use crate::warning::CheckState;
    use crate::warning::testing::{check, sound_run, state};

    #[test]
    fn tells_a_prediction_and_from_what() {
        assert_eq!(state(&sound_run(), "predicted"), CheckState::NotApplicable);
        let run = predicted(sound_run());
        let summary = crate::summarize(&run);
        let found = summary.warnings.iter().find(|warning| warning.check == CHECK.id);
        let text = &found.expect("it fires").text;
        assert!(text.starts_with("predicted, not measured: H100 SXM, "), "{text}");
    }

    #[test]
    fn what_only_a_measurement_has_is_not_asked_of_a_prediction() {
        // Each of these fires on a measured run.
        let spoil = |run: &mut ifm_core::RunData| {
            run.requests.iter_mut().for_each(|record| record.co_arrived_events = 4);
        };
        check("co_arrival", spoil, Severity::Note, "of the events");
        let mut run = predicted(sound_run());
        spoil(&mut run);
        for check in super::super::OF_MEASURING {
            assert_eq!(state(&run, check.id), CheckState::NotApplicable, "{}", check.id);
        }
        assert_eq!(state(&run, "samples"), CheckState::Passed);
    }
}
