//! Answers that do not have the requested form.

use super::{AtLevel, Check, Context, Made, Severity};
use crate::level::LevelSummary;
use ifm_core::words::counted;

pub(super) const CHECK: Check = Check {
    id: "form_validity",
    title: "structured answers have the requested form",
    run: Made::ByLevel(make),
};

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    let Some(forms) = level.forms.as_deref() else { return AtLevel::NotApplicable };
    if forms.judged.decided() == 0 {
        return AtLevel::NotApplicable;
    }
    if forms.judged.invalid == 0 {
        return AtLevel::Silent;
    }
    let broken = || forms.forms.iter().filter(|form| form.judged.invalid > 0);
    let each: Vec<String> =
        broken().map(|form| format!("{} of {}", form.judged.invalid, form.word)).collect();
    let why = if broken().any(|form| form.judged.valid == 0) {
        "no answer has its requested form, so the server may ignore the request: choose the \
         server's dialect with --forms-as, and check that its grammar backend is on"
    } else {
        "the server does not always enforce it: keep the answers with --keep-text, and check \
         which schemas its grammar backend fully supports"
    };
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "{} of {} that ended by themselves do not have the requested form ({}): {why}",
            forms.judged.invalid,
            counted(forms.judged.decided(), "answer"),
            each.join(", ")
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
    fn fires_on_one_broken_answer() {
        let mut run = sound_run();
        assert_eq!(state(&run, "form_validity"), CheckState::NotApplicable);
        run.manifest.spec.workload.forms = vec![form_spec("json", 1.0)];
        for record in &mut run.requests {
            (record.form, record.validity) = (Some(0), Some(Validity::Valid));
        }
        assert_eq!(state(&run, "form_validity"), CheckState::Passed);
        run.requests[3].validity = Some(Validity::Invalid);
        assert_eq!(state(&run, "form_validity"), CheckState::Caution);
        let said = crate::summarize(&run).warnings;
        let text = said.iter().find(|warning| warning.check == "form_validity");
        let text = &text.expect("it fires").text;
        assert!(text.starts_with("1 of 120 answers that ended") && text.contains("1 of json"));
        assert!(text.contains("not always") && text.contains("--keep-text"), "{text}");
        run.requests.iter_mut().for_each(|record| record.validity = Some(Validity::Invalid));
        let said = crate::summarize(&run).warnings;
        let text = said.iter().find(|warning| warning.check == "form_validity");
        assert!(text.expect("it fires").text.contains("--forms-as"));
    }
}
