//! The limits of a shard's requests: their times, and the size of their answers.
//!
//! Not here: what happens to a request that exceeds one (`shard`).

use super::Shard;
use crate::slot::Asked;
use ifm_core::outcome::TimeoutKind;
use std::sync::atomic::Ordering;

/// How long the decoder is given to say whether a first token has come.
const DECODER_ANSWER_NS: u64 = 100_000_000;

impl Shard<'_> {
    /// Whether the decoder found that the answer on the slot exceeds a bound.
    pub(super) fn is_refused(&self, index: usize) -> bool {
        let slot = &self.slots[index];
        slot.active.as_ref().is_some_and(|active| {
            let mark = active.request.seq.wrapping_add(1);
            self.shared.refused_of[slot.id as usize].load(Ordering::Relaxed) == mark
        })
    }

    /// Which limit the slot's request has run into.
    pub(super) fn limit_reached(&mut self, index: usize, now: u64) -> Option<TimeoutKind> {
        let limits = self.plan.limits;
        let slot = &self.slots[index];
        let active = slot.active.as_ref()?;
        let over = |limit: Option<u64>, since: u64| {
            limit.is_some_and(|limit| now.saturating_sub(since) > limit)
        };
        if slot.line.is_late(now, limits.connect_ns) {
            return Some(TimeoutKind::Connect);
        }
        if over(limits.total_ns, active.start_ns) {
            return Some(TimeoutKind::Total);
        }
        let waited = over(limits.first_token_ns, active.start_ns);
        let silent = over(limits.idle_ns, active.last_activity_ns);
        let depends_on_token = waited || (silent && limits.first_token_ns.is_some());
        if !depends_on_token {
            return silent.then_some(TimeoutKind::Idle);
        }
        // Before the first token there is one limit only: a long queue is not silence.
        let since_ns = if waited { active.start_ns } else { active.last_activity_ns };
        match self.has_first_token(index, since_ns, now)? {
            true => silent.then_some(TimeoutKind::Idle),
            false => waited.then_some(TimeoutKind::FirstToken),
        }
    }

    /// Whether the decoder, having seen all bytes, has found a token. It is asked once for each
    /// wait, which is identified by its start, and given a moment to answer.
    fn has_first_token(&mut self, index: usize, since_ns: u64, now: u64) -> Option<bool> {
        let slot = &mut self.slots[index];
        let id = slot.id as usize;
        let active = slot.active.as_mut()?;
        let mark = active.request.seq.wrapping_add(1);
        if self.shared.first_token_of[id].load(Ordering::Relaxed) == mark {
            return Some(true);
        }
        match active.asked_decoder {
            Some(asked) if asked.since_ns == since_ns => (now >= asked.until_ns).then_some(false),
            _ => {
                let until_ns = now + DECODER_ANSWER_NS;
                active.asked_decoder = Some(Asked { since_ns, until_ns });
                self.flush(index);
                None
            }
        }
    }
}
