//! Sessions that ended because their context was full: the long turns that they would have had are in no
//! number.

use super::{Check, Context, Made, Severity, percent};
use ifm_core::SessionEnd;

pub(super) const CHECK: Check = Check {
    id: "overflown_sessions",
    title: "sessions did not end because their context was full",
    run: Made::ForRun(make),
};

/// More than this share makes a run of agents invalid, by the rules of InferenceX.
const SHARE_MAX: f64 = 0.01;

fn make(context: &Context) -> Option<Vec<(Severity, String)>> {
    let sent = context.run.manifest.workload.as_ref()?;
    let all = sent.sessions.filter(|all| *all > 0)?;
    let is_full = |end: &&ifm_core::EndedSession| end.end == SessionEnd::Overflow;
    let full = sent.ended_sessions.iter().filter(is_full).count() as u64;
    if full == 0 {
        return Some(Vec::new());
    }
    let share = full as f64 / all as f64;
    let severity = if share > SHARE_MAX { Severity::Invalid } else { Severity::Caution };
    let text = format!(
        "{full} of {all} sessions ({}) ended because their context was full: their longest turns are \
         in no latency; give a longer context or shorter sessions",
        percent(share)
    );
    Some(vec![(severity, text)])
}

#[cfg(test)]
mod tests {
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state};
    use ifm_core::{EndedSession, SessionEnd};

    #[test]
    fn one_in_a_hundred_is_a_caution_and_more_is_invalid() {
        let id = "overflown_sessions";
        let mut run = sound_run();
        assert_eq!(state(&run, id), CheckState::NotApplicable);
        let mut with = |all: u64, ends: &[SessionEnd]| {
            let sent = run.manifest.workload.as_mut().expect("a workload");
            sent.sessions = Some(all);
            let ended = (0..).zip(ends).map(|(session, end)| EndedSession { session, end: *end });
            sent.ended_sessions = ended.collect();
            state(&run, id)
        };
        assert_eq!(with(100, &[SessionEnd::Failed, SessionEnd::CutOff]), CheckState::Passed);
        assert_eq!(with(100, &[SessionEnd::Overflow]), CheckState::Caution);
        assert_eq!(with(99, &[SessionEnd::Overflow]), CheckState::Invalid);
    }
}
