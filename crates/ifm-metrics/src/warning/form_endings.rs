//! Answers with a form that could not come to their end.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;

/// Share of answers that their length cut off, above which a level says little of its forms.
const CUT_SHARE_MAX: f64 = 0.1;

pub(super) const CHECK: Check = Check {
    id: "form_endings",
    title: "structured answers come to their end",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let Some(forms) = level.forms.as_deref() else { return AtLevel::NotApplicable };
    let judged = &forms.judged;
    let of = judged.decided() + judged.cut;
    if of == 0 {
        return AtLevel::NotApplicable;
    }
    let share = judged.cut as f64 / of as f64;
    let specs = &context.run.manifest.spec.workload.forms;
    if specs.iter().any(|form| form.ignore_eos) {
        return AtLevel::Fires(
            Severity::Caution,
            format!(
                "requests with a form also asked the server to go on past the end of the text, \
                 so that no answer ends when its form is complete: {} of {of} were cut off \
                 by their length before it was; leave --ignore-eos out",
                judged.cut
            ),
        );
    }
    if share <= CUT_SHARE_MAX {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "{} of {of} answers with a form ({}) were cut off by their length before it was \
             complete: ask for more output tokens",
            judged.cut,
            percent(share)
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::form_spec;
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state};
    use ifm_core::Validity;

    #[test]
    fn fires_on_answers_that_were_cut_off_or_never_end() {
        let mut run = sound_run();
        assert_eq!(state(&run, "form_endings"), CheckState::NotApplicable);
        run.manifest.spec.workload.forms = vec![form_spec("json", 1.0)];
        for (place, record) in run.requests.iter_mut().enumerate() {
            let validity = if place % 10 == 0 { Validity::Cut } else { Validity::Valid };
            (record.form, record.validity) = (Some(0), Some(validity));
        }
        assert_eq!(state(&run, "form_endings"), CheckState::Passed, "a tenth");
        run.manifest.spec.workload.forms[0].ignore_eos = true;
        assert_eq!(state(&run, "form_endings"), CheckState::Caution);
        run.manifest.spec.workload.forms[0].ignore_eos = false;
        run.requests[1].validity = Some(Validity::Cut);
        assert_eq!(state(&run, "form_endings"), CheckState::Caution);
    }
}
