//! Speculative decoding at a level: how many tokens of the drafts the model accepted.
//!
//! Acceptance length is `1 + accepted / drafts`: the tokens that one pass of the model gives a
//! request, since it adds one of its own to what it accepts. Acceptance rate is `accepted / draft
//! tokens`. Both as vLLM defines them (`vllm/v1/spec_decode/metrics.py`). Not here: a speed-up,
//! which one run cannot show; see `comparison` of `ifm-compare`.

use crate::telemetry::ServerCounters;
use ifm_core::RequestRecord;

ifm_core::vocabulary! {
    /// Who counted the drafts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum DraftsCountedBy {
        /// The server reported them with each answer: sums over the complete answers of the level.
        Requests = "requests",
        /// The server's counters over the level, warm-up and other clients included.
        Counters = "counters",
    }
}

/// The drafts of a level. Values that were not counted are absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Speculation {
    /// Who counted them.
    pub counted_by: DraftsCountedBy,
    /// Whose metrics page it is; absent if the answers reported them.
    pub source: Option<String>,
    /// Complete answers that reported them; absent for counters.
    pub answers: Option<u64>,
    /// Drafts that were verified.
    pub drafts: Option<f64>,
    /// Their tokens.
    pub draft_tokens: Option<f64>,
    /// Tokens of them that were accepted.
    pub accepted_tokens: Option<f64>,
    /// Tokens for each pass of the model over a request, its own one included.
    pub acceptance_length: Option<f64>,
    /// Whether that length was computed from output tokens, requests and passes, because accepted
    /// tokens are not counted. A last draft that is longer than what was left to answer makes it
    /// smaller than it is.
    pub is_length_derived: bool,
    /// Accepted over draft tokens, 0 to 1.
    pub acceptance_rate: Option<f64>,
    /// Share of the drafts whose token at this place was accepted, 0 to 1, from the first place, by
    /// the server's counters; empty if it was not counted by place.
    pub by_position: Vec<f64>,
    /// Counted output tokens for each token-bearing event of the streamed complete answers.
    pub tokens_per_event: Option<f64>,
}

/// Draft tokens of one answer: what was accepted, and of how many.
pub fn told(record: &RequestRecord) -> Option<(u32, u32)> {
    let accepted = record.accepted_draft_tokens?;
    Some((accepted, accepted.saturating_add(record.rejected_draft_tokens?)))
}

impl Speculation {
    /// Speculation by the answers and the server's counters; absent if no draft was made. Answers
    /// have priority over counters if all of them report it, since counters include other clients'
    /// load.
    pub fn of(measured: &[&RequestRecord], server: Option<&ServerCounters>) -> Option<Speculation> {
        let by_answers = of_answers(measured);
        let by_counters = server.and_then(of_counters);
        let all = measured.iter().filter(|record| record.outcome.is_ok()).count() as u64;
        let is_whole = |found: &Speculation| {
            found.answers == Some(all) && (found.drafts.is_some() || by_counters.is_none())
        };
        let mut found = match by_answers {
            Some(found) if is_whole(&found) => found,
            found => by_counters.clone().or(found)?,
        };
        if found.by_position.is_empty() {
            found.by_position = by_counters.map(|by| by.by_position).unwrap_or_default();
        }
        found.tokens_per_event = tokens_per_event(measured);
        Some(found)
    }
}

fn of_answers(measured: &[&RequestRecord]) -> Option<Speculation> {
    let (mut answers, mut accepted, mut tokens) = (0u64, 0u64, 0u64);
    let mut drafts = Some(0u64);
    for record in measured.iter().filter(|record| record.outcome.is_ok()) {
        let Some((of_it, all)) = told(record) else { continue };
        answers += 1;
        accepted += u64::from(of_it);
        tokens += u64::from(all);
        drafts = drafts.zip(record.draft_steps).map(|(sum, steps)| sum + u64::from(steps));
    }
    let drafts = drafts.map(|drafts| drafts as f64).filter(|drafts| *drafts > 0.0);
    (tokens > 0).then(|| Speculation {
        counted_by: DraftsCountedBy::Requests,
        source: None,
        answers: Some(answers),
        drafts,
        draft_tokens: Some(tokens as f64),
        accepted_tokens: Some(accepted as f64),
        acceptance_length: drafts.map(|drafts| 1.0 + accepted as f64 / drafts),
        is_length_derived: false,
        acceptance_rate: Some(accepted as f64 / tokens as f64),
        by_position: Vec::new(),
        tokens_per_event: None,
    })
}

fn of_counters(server: &ServerCounters) -> Option<Speculation> {
    let some = |value: Option<f64>| value.filter(|value| *value > 0.0);
    let (drafts, draft_tokens) = (some(server.drafts), some(server.draft_tokens));
    if drafts.is_none() && draft_tokens.is_none() {
        return None;
    }
    let accepted = server.accepted_tokens;
    let counted = accepted.zip(drafts).map(|(accepted, drafts)| 1.0 + accepted / drafts);
    // Each request has one token without a draft, its first.
    let derived = || {
        let (output, requests) = (server.output_tokens?, server.requests?);
        Some((output - requests) / drafts?).filter(|length| *length >= 1.0)
    };
    let acceptance_length = if accepted.is_some() { counted } else { derived() };
    Some(Speculation {
        counted_by: DraftsCountedBy::Counters,
        source: Some(server.source.clone()),
        answers: None,
        drafts,
        draft_tokens,
        accepted_tokens: accepted,
        acceptance_length,
        is_length_derived: accepted.is_none() && acceptance_length.is_some(),
        acceptance_rate: accepted.zip(draft_tokens).map(|(accepted, all)| accepted / all),
        by_position: drafts
            .map(|drafts| server.accepted_by_position.iter().map(|n| n / drafts).collect())
            .unwrap_or_default(),
        tokens_per_event: None,
    })
}

fn tokens_per_event(measured: &[&RequestRecord]) -> Option<f64> {
    let (mut tokens, mut events) = (0u64, 0u64);
    for record in measured.iter().filter(|record| record.outcome.is_ok() && record.streamed) {
        if let Some(counted) = record.output_tokens.filter(|counted| !counted.from.is_estimate()) {
            tokens += u64::from(counted.tokens);
            events += record.events.len() as u64;
        }
    }
    (events > 0).then(|| tokens as f64 / events as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed_loop, run, telemetry};
    use ifm_core::RunData;
    use ifm_core::series::Signal as Q;

    /// Counters that go up by so much each second, over a run of one level.
    fn counted(source: &str, each: &[(Q, f64)]) -> RunData {
        let mut run = run(&[2], closed_loop((0, 0), (2, 30), 5_000.0, (100.0, 10.0, 11)));
        run.series = each
            .iter()
            .map(|(quantity, by)| telemetry(*quantity, source, (0.0, 100.0), &|at_s| by * at_s))
            .collect();
        run
    }

    fn found(run: &RunData) -> Option<Speculation> {
        crate::summarize(run).levels.remove(0).speculation
    }

    /// 400 drafts a second of 3 tokens, of which 660 a second were accepted: 1 + 660/400 = 2.65
    /// tokens a pass, 660/1200 = 55 %.
    fn drafting() -> RunData {
        let mut run = counted(
            "vLLM /metrics",
            &[
                (Q::ServerDrafts, 400.0),
                (Q::ServerDraftTokens, 1200.0),
                (Q::ServerAcceptedTokens, 660.0),
            ],
        );
        for (place, each) in [320.0, 220.0, 120.0].into_iter().enumerate() {
            let source = format!("vLLM /metrics position {place}");
            let all = |at_s: f64| each * at_s;
            run.series.push(telemetry(Q::ServerAcceptedAt, &source, (0.0, 100.0), &all));
        }
        run
    }

    #[test]
    fn counters_over_the_level_give_length_rate_and_places() {
        let found = found(&drafting()).expect("drafts");
        assert_eq!(found.counted_by, DraftsCountedBy::Counters);
        assert_eq!(found.acceptance_length, Some(2.65));
        assert_eq!(found.acceptance_rate, Some(0.55));
        assert_eq!(found.by_position, [0.8, 0.55, 0.3]);
        assert_eq!(found.tokens_per_event, Some(1.0));
        assert!(!found.is_length_derived);
        let mut holed = drafting();
        holed.series.remove(4);
        assert!(self::found(&holed).expect("drafts").by_position.is_empty());
    }

    #[test]
    fn prefers_answers_to_counters_if_all_report_drafts() {
        let mut run = drafting();
        for record in &mut run.requests {
            // Four drafts of two tokens, three of eight accepted.
            (record.accepted_draft_tokens, record.rejected_draft_tokens) = (Some(3), Some(5));
            record.draft_steps = Some(4);
        }
        let told = found(&run).expect("drafts");
        assert_eq!((told.counted_by, told.answers), (DraftsCountedBy::Requests, Some(60)));
        assert_eq!((told.acceptance_length, told.acceptance_rate), (Some(1.75), Some(0.375)));
        assert_eq!(told.by_position.len(), 3);
        run.requests[7].accepted_draft_tokens = None;
        assert_eq!(found(&run).expect("drafts").counted_by, DraftsCountedBy::Counters);
        run.series.clear();
        let partly = found(&run).expect("drafts");
        assert_eq!((partly.answers, partly.acceptance_length), (Some(59), Some(1.75)));
        run.requests[8].draft_steps = None;
        let unknown = found(&run).expect("drafts");
        assert_eq!((unknown.acceptance_length, unknown.acceptance_rate), (None, Some(0.375)));
    }

    #[test]
    fn a_server_that_counts_passes_only_gives_the_length_it_follows_from() {
        // 10 requests of 101 tokens each second: 1000 after the first ones, in 400 passes.
        let each = [(Q::ServerRequests, 10.0), (Q::ServerOutputTokens, 1010.0)];
        let mut all = each.to_vec();
        all.push((Q::ServerDrafts, 400.0));
        let found = found(&counted("SGLang /metrics", &all)).expect("drafts");
        assert_eq!((found.acceptance_length, found.is_length_derived), (Some(2.5), true));
        assert_eq!((found.acceptance_rate, found.accepted_tokens), (None, None));
    }

    #[test]
    fn without_drafts_there_is_no_speculation() {
        let zero =
            counted("llama.cpp /metrics", &[(Q::ServerDrafts, 0.0), (Q::ServerDraftTokens, 0.0)]);
        assert_eq!(found(&zero), None);
    }
}
