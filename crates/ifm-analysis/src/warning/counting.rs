//! Who counted the tokens, and whether events and counts agree.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::{GapLabel, LevelSummary};

pub(super) const CHECK: Check = Check {
    id: "counting",
    title: "tokens were counted, one to an event",
    run: Made::ByLevel(make),
};

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    // Sound alone has no tokens.
    let is_sound = level.spoken.is_some() && level.latencies.ttft_ns.is_none();
    if level.counts.ok == 0 || is_sound {
        return AtLevel::NotApplicable;
    }
    let provenance = level.tokens.output_from.provenance();
    if !provenance.is_exact() {
        return AtLevel::Fires(
            Severity::Caution,
            format!("output tokens are {}: token rates and TPOT are estimates", provenance.words()),
        );
    }
    if let Some(both) = level.tokens.disagreement {
        let label = level.latencies.gap_label;
        let consequence = match label {
            GapLabel::InterEvent => "gaps between events are not gaps between tokens",
            GapLabel::InterToken => "more events than tokens were seen",
        };
        return AtLevel::Fires(
            Severity::Caution,
            format!(
                "{} tokens were counted in {} events ({}): {consequence}",
                both.tokens,
                both.events,
                percent(both.share())
            ),
        );
    }
    match (level.latencies.gap_label, level.latencies.several_token_event_share) {
        (GapLabel::InterEvent, Some(share)) => AtLevel::Fires(
            Severity::Note,
            format!("{} of the events carry several tokens", percent(share)),
        ),
        _ => AtLevel::Silent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::check;
    use ifm_core::{CountSource, Counted, RunData};

    fn count(tokens: u32, from: CountSource, each: usize) -> impl Fn(&mut RunData) {
        move |run| {
            for record in run.requests.iter_mut().step_by(each) {
                record.output_tokens = Some(Counted { tokens, from });
            }
        }
    }

    #[test]
    fn says_when_nobody_counted() {
        let all = count(16, CountSource::Events, 1);
        check("counting", all, Severity::Caution, "estimated from events");
        let half = count(16, CountSource::Events, 2);
        check("counting", half, Severity::Caution, "partly estimated");
    }

    #[test]
    fn says_when_events_and_tokens_differ() {
        let more = count(32, CountSource::FinalUsage, 1);
        check("counting", more, Severity::Caution, "3840 tokens were counted in 1920 events");
        let fewer = count(10, CountSource::FinalUsage, 1);
        check("counting", fewer, Severity::Caution, "more events than tokens");
        let some = count(18, CountSource::FinalUsage, 3);
        check("counting", some, Severity::Note, "2.1 % of the events carry several");
    }
}
