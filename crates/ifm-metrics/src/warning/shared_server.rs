//! Servers that did more than this client asked for: requests of other clients distort every
//! number.
//!
//! What the server counted while a level ran is compared with what was sent in that time, warm-up
//! included. Where it does not count requests, generated tokens are compared, provided every
//! answer came whole: the tokens of answers that were cut off are ours and did not arrive.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;
use ifm_core::{Outcome, RequestRecord};

/// The server may have counted this many requests more, and this share more: requests of the level
/// before whose ends it noticed late.
const REQUESTS_SPARE: f64 = 2.0;
const REQUESTS_SHARE: f64 = 0.01;
/// Likewise for tokens, of which counts differ by ends of text.
const TOKENS_SPARE: f64 = 64.0;
const TOKENS_SHARE: f64 = 0.05;
/// A server that counted a smaller share of the requests is one of several.
const SEEN_SHARE_MIN: f64 = 0.90;

pub(super) const CHECK: Check = Check {
    id: "shared_server",
    title: "no other client used the server",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let Some(server) = &level.server else { return AtLevel::NotApplicable };
    if server.began_anew {
        return AtLevel::Fires(
            Severity::Caution,
            "a counter of the server decreased: it restarted during the level".to_owned(),
        );
    }
    let ours: Vec<&RequestRecord> = context
        .run
        .requests
        .iter()
        .filter(|record| record.level == level.level && record.sent_ns.is_some())
        .filter(|record| record.outcome != Outcome::Dropped)
        .collect();
    match (server.requests, server.output_tokens.zip(tokens(&ours))) {
        (Some(counted), _) => requests(counted, &ours),
        (None, Some((counted, ours))) => {
            if counted > ours * (1.0 + TOKENS_SHARE) + TOKENS_SPARE {
                return AtLevel::Fires(
                    Severity::Caution,
                    format!(
                        "the server generated {counted:.0} tokens while {ours:.0} were generated \
                         for this run: other clients used the server during the run"
                    ),
                );
            }
            AtLevel::Silent
        }
        (None, None) => AtLevel::NotApplicable,
    }
}

fn requests(counted: f64, ours: &[&RequestRecord]) -> AtLevel {
    let sent = ours.len() as f64;
    // Some servers count each choice as a request.
    let at_most: f64 = ours.iter().map(|record| f64::from(record.choices.max(1))).sum();
    if counted > at_most * (1.0 + REQUESTS_SHARE) + REQUESTS_SPARE {
        return AtLevel::Fires(
            Severity::Caution,
            format!(
                "the server ended {counted:.0} requests while {sent:.0} of this run were sent: \
                 other clients used the server during the run"
            ),
        );
    }
    let failed = ours.iter().filter(|record| !record.outcome.is_ok()).count() as f64;
    if counted < (sent - failed) * SEEN_SHARE_MIN - REQUESTS_SPARE {
        return AtLevel::Fires(
            Severity::Note,
            format!(
                "the server counted {counted:.0} of {sent:.0} requests ({}): it had not counted the \
                 last ones yet, or it is one of several",
                percent(counted / sent.max(1.0))
            ),
        );
    }
    AtLevel::Silent
}

/// Tokens that were generated for this run; absent unless every answer was complete and counted.
fn tokens(ours: &[&RequestRecord]) -> Option<f64> {
    let of = |record: &&RequestRecord| {
        let counted = record.output_tokens.filter(|counted| !counted.from.is_estimate());
        record.outcome.is_ok().then(|| counted.map(|counted| f64::from(counted.tokens))).flatten()
    };
    ours.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::telemetry;
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state};
    use ifm_core::RunData;
    use ifm_core::series::Signal;

    /// A run of 120 requests with 16 tokens each, of which the server counted this many.
    fn run(quantity: Signal, counted: f64) -> RunData {
        let mut run = sound_run();
        let jump = move |at_s: f64| if at_s < 1.0 { 70.0 } else { 70.0 + counted };
        run.series = vec![telemetry(quantity, "x", (0.0, 60.0), &jump)];
        run
    }

    fn found(quantity: Signal, counted: f64) -> CheckState {
        state(&run(quantity, counted), "shared_server")
    }

    #[test]
    fn fires_when_the_server_ended_more_requests_than_were_sent() {
        assert_eq!(found(Signal::ServerRequests, 120.0), CheckState::Passed);
        assert_eq!(found(Signal::ServerRequests, 122.0), CheckState::Passed);
        assert_eq!(found(Signal::ServerRequests, 140.0), CheckState::Caution);
    }

    #[test]
    fn uses_tokens_if_requests_are_not_counted() {
        assert_eq!(found(Signal::ServerOutputTokens, 1920.0), CheckState::Passed);
        assert_eq!(found(Signal::ServerOutputTokens, 2100.0), CheckState::Caution);
        let mut cut = run(Signal::ServerOutputTokens, 2100.0);
        cut.requests[0].outcome = Outcome::Cancelled;
        assert_eq!(state(&cut, "shared_server"), CheckState::NotApplicable);
    }

    #[test]
    fn one_of_several_servers_is_a_note() {
        let run = run(Signal::ServerRequests, 60.0);
        let summary = crate::summarize(&run);
        let found = summary.warnings.iter().find(|warning| warning.check == "shared_server");
        let found = found.expect("a note");
        assert_eq!(found.severity, Severity::Note);
        assert!(found.text.contains("50.0 %"), "{}", found.text);
    }

    #[test]
    fn reports_a_restarted_server() {
        let mut run = sound_run();
        let fall = |at_s: f64| if at_s < 2.0 { 500.0 } else { at_s };
        run.series = vec![telemetry(Signal::ServerRequests, "x", (0.0, 60.0), &fall)];
        assert_eq!(state(&run, "shared_server"), CheckState::Caution);
    }

    #[test]
    fn without_counters_it_cannot_be_made() {
        assert_eq!(state(&sound_run(), "shared_server"), CheckState::NotApplicable);
    }
}
