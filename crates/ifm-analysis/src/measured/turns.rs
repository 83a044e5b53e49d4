//! Conversations by turn: later turns carry longer prompts, of which a prefix cache may know most.
//!
//! Not here: requests that stand alone.

use super::{Latencies, TokenFacts};
use crate::stat::Distribution;
use ifm_core::RequestRecord;
use std::collections::BTreeMap;

/// Turns that are told apart; those behind them share the last summary.
const TURNS_TOLD_MAX: u16 = 16;

/// One turn, over the conversations of a level. Latencies are over complete answers.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSummary {
    /// Whether it is a turn of sub-agents, which have conversations of their own.
    pub is_of_sub_agents: bool,
    /// Which turn, from 0.
    pub turn: u16,
    /// Whether it stands for all later turns too.
    pub and_later: bool,
    /// Requests that were sent.
    pub sent: u64,
    /// Complete answers among them.
    pub ok: u64,
    /// Start to first token, nanoseconds.
    pub ttft_ns: Option<Distribution>,
    /// Gaps between token-bearing events, pooled, nanoseconds.
    pub gap_ns: Option<Distribution>,
    /// Start to last token, nanoseconds.
    pub e2e_ns: Option<Distribution>,
    /// Mean prompt tokens as counted: the whole conversation so far.
    pub prompt_mean: Option<f64>,
    /// Mean output tokens.
    pub output_mean: Option<f64>,
    /// Cached tokens over prompt tokens, where the server told both, 0 to 1.
    pub cached_share: Option<f64>,
    /// Prompt tokens that had been said before over prompt tokens, where the workload counted, 0 to
    /// 1: what a cache that forgets nothing would know.
    pub ideal_share: Option<f64>,
}

/// One summary for each turn, rising, those of sub-agents last; empty where no request belongs to a
/// conversation.
pub(crate) fn by_turn(measured: &[&RequestRecord], percentiles: &[f64]) -> Vec<TurnSummary> {
    let mut turns = BTreeMap::<(bool, u16), Vec<&RequestRecord>>::new();
    let mut later = [false; 2];
    for record in measured {
        if let Some(turn) = record.turn {
            let is_sub = record.agent > Some(0);
            if let Some(later) = later.get_mut(usize::from(is_sub)) {
                *later |= turn >= TURNS_TOLD_MAX;
            }
            turns.entry((is_sub, turn.min(TURNS_TOLD_MAX - 1))).or_default().push(record);
        }
    }
    let summary = |((is_of_sub_agents, turn), records): ((bool, u16), Vec<&RequestRecord>)| {
        let latencies = Latencies::of(&records, percentiles);
        let tokens = TokenFacts::of(&records);
        let later = later.get(usize::from(is_of_sub_agents)).is_some_and(|later| *later);
        TurnSummary {
            is_of_sub_agents,
            turn,
            and_later: later && turn == TURNS_TOLD_MAX - 1,
            sent: records.len() as u64,
            ok: records.iter().filter(|record| record.outcome.is_ok()).count() as u64,
            ttft_ns: latencies.ttft_ns,
            gap_ns: latencies.gap_ns,
            e2e_ns: latencies.e2e_ns,
            prompt_mean: tokens.prompt_mean,
            output_mean: tokens.output_mean,
            cached_share: tokens.cached_share,
            ideal_share: tokens.ideal_share,
        }
    };
    turns.into_iter().map(summary).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::{closed_loop, run};

    #[test]
    fn turns_are_told_apart() {
        let mut run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        assert!(crate::summarize(&run).levels[0].turns.is_empty());
        for (index, record) in run.requests.iter_mut().enumerate() {
            record.session = Some(index as u32 / 3);
            record.turn = Some((index % 3) as u16);
            record.cached_tokens = Some(if index % 3 == 0 { 0 } else { 50 });
        }
        let turns = crate::summarize(&run).levels[0].turns.clone();
        assert_eq!(turns.iter().map(|turn| turn.turn).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(turns.iter().map(|turn| turn.sent).sum::<u64>(), 120);
        assert_eq!(turns[0].cached_share, Some(0.0));
        assert!(turns[1].cached_share > Some(0.3), "{:?}", turns[1].cached_share);
        assert_eq!(turns[2].ttft_ns.as_ref().unwrap().n, 40);
        assert!(turns.iter().all(|turn| !turn.and_later));
        assert_eq!(turns[1].ideal_share, None, "nobody counted");
        run.requests[1].agent = Some(1);
        run.requests[1].known_tokens = Some(25);
        let apart = crate::summarize(&run).levels[0].turns.clone();
        assert_eq!((apart.len(), apart[1].sent, apart[1].ideal_share), (4, 39, None));
        assert!(apart[3].is_of_sub_agents && apart[3].turn == 1);
        assert_eq!(apart[3].ideal_share, Some(0.25));
        run.requests[1].agent = None;
        run.requests[0].turn = Some(40);
        let turns = crate::summarize(&run).levels[0].turns.clone();
        assert_eq!(turns.last().map(|turn| (turn.turn, turn.and_later)), Some((15, true)));
    }
}
