//! Whole answers where streams were requested.

use super::{AtLevel, Check, Context, Made, Severity};
use crate::level::LevelSummary;
use ifm_core::words::counted;

pub(super) const CHECK: Check =
    Check { id: "streams", title: "answers were streamed", run: Made::ByLevel(make) };

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let target = &context.run.manifest.spec.target;
    let answered = || context.measured(level).iter().filter(|record| record.outcome.is_ok());
    let all = answered().count();
    if !target.stream || !target.api.generates() || all == 0 {
        return AtLevel::NotApplicable;
    }
    let whole = answered().filter(|record| !record.streamed).count();
    if whole == 0 {
        return AtLevel::Silent;
    }
    let effect = match all - whole {
        0 => "there is no TTFT".to_owned(),
        streamed => {
            format!("TTFT and gaps are of the other {}", counted(streamed as u64, "answer"))
        }
    };
    let text =
        format!("{whole} of {all} answers came whole although streams were requested: {effect}");
    AtLevel::Fires(Severity::Caution, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::CheckState;
    use crate::warning::testing::{check, sound_run, state};
    use ifm_core::RunData;
    use ifm_core::spec::Api;

    fn whole(run: &mut RunData, count: usize) {
        for record in run.requests.iter_mut().take(count) {
            record.streamed = false;
            record.events = ifm_core::TokenEvents::default();
        }
    }

    #[test]
    fn whole_answers_are_counted_where_streams_were_requested() {
        let none =
            "120 of 120 answers came whole although streams were requested: there is no TTFT";
        check("streams", |run| whole(run, 120), Severity::Caution, none);
        let some = "3 of 120 answers came whole although streams were requested: TTFT and gaps are \
                    of the other 117 answers";
        check("streams", |run| whole(run, 3), Severity::Caution, some);
        let mut run = sound_run();
        whole(&mut run, 120);
        run.manifest.spec.target.stream = false;
        assert_eq!(state(&run, "streams"), CheckState::NotApplicable);
        (run.manifest.spec.target.stream, run.manifest.spec.target.api) = (true, Api::Embeddings);
        assert_eq!(state(&run, "streams"), CheckState::NotApplicable);
    }
}
