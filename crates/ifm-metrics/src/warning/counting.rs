//! Who counted the tokens, and whether events and counts agree.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::{CountDisagreement, GapLabel, LevelSummary};
use ifm_core::Metric;

/// Above this share of answers without text, those are why tokens and events differ.
const EMPTY_SHARE: f64 = 0.01;

pub(super) const CHECK: Check =
    Check { id: "counting", title: "tokens were counted, one per event", run: Made::ByLevel(make) };

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    // Sound alone has no tokens.
    let is_sound = level.spoken.is_some() && level.latencies.get(Metric::Ttft).is_none();
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
        return AtLevel::Fires(Severity::Caution, disagreement(level, both));
    }
    if level.latencies.tpot_absent.not_sent > 0 {
        return AtLevel::Fires(Severity::Caution, unknown_tpot(level));
    }
    match (level.latencies.gap_label, level.latencies.several_token_event_share) {
        (GapLabel::InterEvent, Some(share)) => AtLevel::Fires(
            Severity::Note,
            format!("{} of the events carry several tokens", percent(share)),
        ),
        _ => AtLevel::Silent,
    }
}

/// Tokens and events that differ, by the sign.
fn disagreement(level: &LevelSummary, both: CountDisagreement) -> String {
    let tokens = both.tokens;
    if both.events == 0 {
        return format!(
            "{tokens} tokens were counted and no event carried text: times of tokens are not known. \
             Check with `inferometer probe` where the server puts the text"
        );
    }
    let head = format!(
        "{tokens} tokens were counted in {} events ({})",
        both.events,
        percent(both.share())
    );
    if both.share() > 0.0 {
        return format!(
            "{head}: more events than tokens, so an event is less than a token. The server may split \
             tokens, or its count may leave some out"
        );
    }
    let facts = &level.tokens;
    let mut parts = Vec::new();
    if facts.empty_answers as f64 > EMPTY_SHARE * level.counts.ok as f64 {
        parts.push(format!(
            "{} of {} answers have no text, and their tokens came in no event",
            facts.empty_answers, level.counts.ok
        ));
    }
    if level.latencies.tpot_absent.not_sent > facts.empty_answers {
        parts.push(unknown_tpot(level));
    } else if level.latencies.gap_label == GapLabel::InterEvent {
        parts.push(
            "gaps between events are not gaps between tokens: some events carry several, by \
             speculative decoding, incomplete characters, or a server or proxy that joins tokens"
                .to_owned(),
        );
    } else if parts.is_empty() {
        parts.push("fewer events than tokens".to_owned());
    }
    format!("{head}: {}", parts.join("; "))
}

/// Tokens that did not come: how far the text shows it, and what is not known for it.
fn unknown_tpot(level: &LevelSummary) -> String {
    let absent = level.latencies.tpot_absent.not_sent;
    let because = match level.tokens.unsent.and_then(|unsent| unsent.bytes_per_token()) {
        Some(bytes) => format!(
            "the text is short for all tokens ({bytes:.1} bytes each): some may not have been sent, \
             such as hidden reasoning that the server does not report"
        ),
        None => "it is not known whether the other tokens were sent".to_owned(),
    };
    let answers = if absent == 1 { "answer" } else { "answers" };
    format!("{because}; TPOT and tok/s/user of {absent} {answers} are not known")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::{check, sound_run, text};
    use ifm_core::{CountSource, Counted, RunData};

    /// Tokens and bytes of text of every `each`th answer, which has 16 events.
    fn count(
        tokens: u32,
        from: CountSource,
        each: usize,
        text_bytes: Option<u32>,
    ) -> impl Fn(&mut RunData) {
        move |run| {
            for record in run.requests.iter_mut().step_by(each) {
                record.output_tokens = Some(Counted { tokens, from });
                record.text_bytes = text_bytes;
            }
        }
    }

    #[test]
    fn reports_uncounted_tokens() {
        let all = count(16, CountSource::Events, 1, None);
        check("counting", all, Severity::Caution, "estimated from events");
        let half = count(16, CountSource::Events, 2, None);
        check("counting", half, Severity::Caution, "partly estimated");
    }

    #[test]
    fn says_by_the_sign_how_events_and_tokens_differ() {
        let usage = CountSource::FinalUsage;
        let joined = "3840 tokens were counted in 1920 events (-50.0 %): gaps between events are not \
                      gaps between tokens";
        check("counting", count(32, usage, 1, Some(130)), Severity::Caution, joined);
        let more = "1200 tokens were counted in 1920 events (60.0 %): more events than tokens";
        check("counting", count(10, usage, 1, None), Severity::Caution, more);
        let some = count(18, usage, 3, None);
        check("counting", some, Severity::Note, "2.1 % of the events carry several");
    }

    #[test]
    fn says_that_tokens_were_not_sent() {
        let usage = CountSource::FinalUsage;
        let unsent =
            "the text is short for all tokens (0.9 bytes each): some may not have been sent";
        check("counting", count(64, usage, 1, Some(58)), Severity::Caution, unsent);
        // The first request of each user is in no latency.
        let unsent = "TPOT and tok/s/user of 118 answers are not known";
        check("counting", count(64, usage, 1, Some(58)), Severity::Caution, unsent);
        let unsent = "not known whether the other tokens were sent";
        check("counting", count(64, usage, 1, None), Severity::Caution, unsent);
        // Too few to move the total.
        let unsent = "TPOT and tok/s/user of 1 answer are not known";
        check("counting", count(64, usage, 100, Some(58)), Severity::Caution, unsent);
    }

    #[test]
    fn says_that_no_event_carried_text() {
        let empty = |each: usize, tokens: u32| {
            let mut run = sound_run();
            for record in run.requests.iter_mut().step_by(each) {
                record.output_tokens = Some(Counted { tokens, from: CountSource::FinalUsage });
                record.events.at_ns.clear();
            }
            text(&run, "counting")
        };
        let none =
            "1920 tokens were counted and no event carried text: times of tokens are not known";
        assert!(empty(1, 16).starts_with(none), "{}", empty(1, 16));
        // Each has the token that ends the text.
        let half = "1020 tokens were counted in 960 events (-5.9 %): 60 of 120 answers have no text, \
                    and their tokens came in no event";
        assert_eq!(empty(2, 1), half);
    }
}
