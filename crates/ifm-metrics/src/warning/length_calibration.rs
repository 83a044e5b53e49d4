//! Prompts whose length could not be set by the server's count.

use super::{Check, Context, Finding, Made, Severity};
use ifm_core::spec::PromptLengths;

pub(super) const CHECK: Check = Check {
    id: "length_calibration",
    title: "prompt lengths follow the server's count",
    run: Made::ForRun(make),
};

fn make(context: &Context) -> Option<Vec<Finding>> {
    let workload = &context.run.manifest.spec.workload;
    let of_probe = workload.probe.as_ref().and_then(|probe| probe.prompt_lengths.as_ref());
    let of_load = workload.prompt_lengths.as_ref();
    // A probe with the same lengths as the load says nothing new.
    let of_probe = of_probe.filter(|lengths| Some(*lengths) != of_load);
    let all = [("prompt lengths", of_load), ("prompt lengths of the probe", of_probe)];
    let found: Vec<Option<Finding>> =
        all.into_iter().filter_map(|(what, lengths)| look(what, lengths?)).collect();
    (!found.is_empty()).then(|| found.into_iter().flatten().collect())
}

/// Errors of lengths that were to follow the server's count; absent for others.
fn look(what: &str, lengths: &PromptLengths) -> Option<Option<Finding>> {
    match lengths {
        PromptLengths { failure: Some(why), .. } => Some(Some((
            Severity::Caution,
            format!(
                "{what} follow the embedded vocabulary, not the model's: the length calibration \
                 failed ({why})"
            ),
        ))),
        PromptLengths { calibration: Some(_), .. } => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state, text};
    use ifm_core::spec::{Calibration, LengthCounter};

    #[test]
    fn a_failed_calibration_stays_in_the_results() {
        let mut run = sound_run();
        assert_eq!(state(&run, "length_calibration"), CheckState::NotApplicable);
        run.manifest.spec.workload.prompt_lengths = Some(PromptLengths {
            failure: Some("no answer within 31.0 s".to_owned()),
            ..PromptLengths::by_tokenizer()
        });
        assert_eq!(state(&run, "length_calibration"), CheckState::Caution);
        assert!(text(&run, "length_calibration").contains("no answer within 31.0 s"));
    }

    #[test]
    fn a_calibration_passes_and_a_tokenizer_needs_none() {
        let mut run = sound_run();
        run.manifest.spec.workload.prompt_lengths = Some(PromptLengths {
            counted_by: LengthCounter::ServerCalibrated,
            calibration: Some(Calibration {
                template_tokens: 3,
                ratio: 1.0,
                requests: 8,
                error_share: None,
            }),
            ..PromptLengths::by_tokenizer()
        });
        assert_eq!(state(&run, "length_calibration"), CheckState::Passed);
        run.manifest.spec.workload.prompt_lengths = Some(PromptLengths::by_tokenizer());
        assert_eq!(state(&run, "length_calibration"), CheckState::NotApplicable);
    }
}
