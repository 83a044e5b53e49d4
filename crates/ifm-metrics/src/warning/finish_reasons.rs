//! Finish reasons that are on no list: their answers count as complete.

use super::{AtLevel, Check, Context, Made, Severity};
use crate::level::LevelSummary;
use ifm_core::{Ending, RequestRecord};

pub(super) const CHECK: Check = Check {
    id: "finish_reasons",
    title: "answers ended for known reasons",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let answered = || context.measured(level).iter().filter(|record| record.outcome.is_ok());
    let all = answered().count();
    let mut unknown: Vec<(&str, u64)> = Vec::new();
    let mut has_reason = false;
    for reason in answered().filter_map(|record: &&RequestRecord| record.finish_reason.as_deref()) {
        has_reason = true;
        if Ending::from_reason(reason) != Ending::Unknown {
            continue;
        }
        match unknown.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => unknown.push((reason, 1)),
        }
    }
    if !has_reason {
        return AtLevel::NotApplicable;
    }
    if unknown.is_empty() {
        return AtLevel::Silent;
    }
    let each: Vec<String> =
        unknown.iter().map(|(reason, count)| format!("\"{reason}\" ({count})")).collect();
    let text = format!(
        "of {all} complete answers, some have an unknown finish reason and count as complete: {}",
        each.join(", ")
    );
    AtLevel::Fires(Severity::Note, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::{check, sound_run, text};

    #[test]
    fn unknown_reasons_are_shown_with_their_count() {
        let some = |run: &mut ifm_core::RunData| {
            for record in run.requests.iter_mut().take(3) {
                record.finish_reason = Some("a_new_reason".to_owned());
            }
        };
        check("finish_reasons", some, Severity::Note, "\"a_new_reason\" (3)");
        assert_eq!(text(&sound_run(), "finish_reasons"), "");
    }
}
