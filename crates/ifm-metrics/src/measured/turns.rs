//! Conversations by turn: later turns carry longer prompts, of which a prefix cache may know most.
//!
//! Not here: requests without a conversation.

use super::PartSummary;
use ifm_core::RequestRecord;
use std::collections::BTreeMap;

/// Turns that are summarized separately; later turns share the last summary.
const TURNS_TOLD_MAX: u16 = 16;

/// One turn, over the conversations of a level.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSummary {
    /// Whether it is a turn of sub-agents, which have conversations of their own.
    pub is_of_sub_agents: bool,
    /// Which turn, from 0.
    pub turn: u16,
    /// Whether it covers all later turns too.
    pub and_later: bool,
    /// Its requests.
    pub part: PartSummary,
}

/// One summary for each turn, rising, sub-agents last; empty if no request belongs to a
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
        let later = later.get(usize::from(is_of_sub_agents)).is_some_and(|later| *later);
        TurnSummary {
            is_of_sub_agents,
            turn,
            and_later: later && turn == TURNS_TOLD_MAX - 1,
            part: PartSummary::of(&records, &records, percentiles),
        }
    };
    turns.into_iter().map(summary).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::{closed_loop, run};

    #[test]
    fn summarizes_turns_separately() {
        let mut run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        assert!(crate::summarize(&run).levels[0].turns.is_empty());
        for (index, record) in run.requests.iter_mut().enumerate() {
            record.session = Some(index as u32 / 3);
            record.turn = Some((index % 3) as u16);
            record.cached_tokens = Some(if index % 3 == 0 { 0 } else { 50 });
        }
        let turns = crate::summarize(&run).levels[0].turns.clone();
        assert_eq!(turns.iter().map(|turn| turn.turn).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(turns.iter().map(|turn| turn.part.sent).sum::<u64>(), 120);
        assert_eq!(turns[0].part.cached_share, Some(0.0));
        assert!(turns[1].part.cached_share > Some(0.3), "{:?}", turns[1].part.cached_share);
        assert_eq!(turns[2].part.ttft_ns.as_ref().unwrap().n, 40);
        assert!(turns.iter().all(|turn| !turn.and_later));
        assert_eq!(turns[1].part.ideal_share, None, "not counted");
        run.requests[1].agent = Some(1);
        run.requests[1].known_tokens = Some(25);
        let apart = crate::summarize(&run).levels[0].turns.clone();
        assert_eq!((apart.len(), apart[1].part.sent, apart[1].part.ideal_share), (4, 39, None));
        assert!(apart[3].is_of_sub_agents && apart[3].turn == 1);
        assert_eq!(apart[3].part.ideal_share, Some(0.25));
        run.requests[1].agent = None;
        run.requests[0].turn = Some(40);
        let turns = crate::summarize(&run).levels[0].turns.clone();
        assert_eq!(turns.last().map(|turn| (turn.turn, turn.and_later)), Some((15, true)));
    }
}
