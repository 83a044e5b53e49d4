//! Sessions of conversations: all of a level as an object, and one as a line.

use super::load::{Distribution, seconds};
use super::{known, objects};
use ifm_metrics::level::{Session, SessionsSummary};
use std::collections::BTreeMap;

const NS_PER_S: f64 = 1e9;

fn s(ns: u64) -> f64 {
    ns as f64 / NS_PER_S
}

/// One session as one line of JSON; no line break.
pub fn session_line(session: &Session) -> String {
    known(&SessionLine::from(session)).to_string()
}

objects! {
    /// The sessions of a level.
    Sessions of sessions: &SessionsSummary {
        /// Begun.
        begun: u64 = sessions.begun(),
        /// By how they ended; an end that did not occur is left out.
        ends: BTreeMap<&'static str, u64> =
            sessions.ends.iter().map(|(end, count)| (end.word(), *count)).collect(),
        /// Complete ones over those that ended by themselves, 0 to 1.
        ok_share: Option<f64> = sessions.ok_share(),
        /// Sessions in which at least one turn failed.
        with_failures: u64 = sessions.with_failures(),
        /// First request to last answer of complete sessions, seconds.
        duration_s: Option<Distribution> = seconds(&sessions.duration_ns),
        /// The part of it in which no request was under way, seconds.
        waiting_s: Option<Distribution> = seconds(&sessions.waiting_ns),
        /// Complete sessions per hour.
        per_hour: Option<f64> = sessions.per_hour,
        /// Turns that were sent.
        turns: u64 = sessions.turns(),
        /// Turns that failed.
        turns_failed: u64 = sessions.failed_turns(),
        /// Turns of a complete session, mean.
        turns_mean: Option<f64> = sessions.turns_mean(),
        /// Prompt tokens of a complete session, over all its turns, mean.
        prompt_tokens_mean: Option<f64> = sessions.prompt_mean(),
        /// Output tokens of a complete session, over all its turns, mean.
        output_tokens_mean: Option<f64> = sessions.output_mean(),
        /// Sub-agents that sent something.
        sub_agents: u64 = sessions.sub_agents(),
        /// Share of prompt tokens that a cache which forgets nothing would know, 0 to 1.
        ideal_cached_share: Option<f64> = sessions.ideal.share(),
        /// The same if it finds only prompts again, and no answers of the server; in whole blocks of its
        /// cache, where their size is known.
        ideal_cached_share_of_prompts: Option<f64> = sessions.ideal_of_prompts.share(),
        /// The same as `ideal_cached_share` in whole blocks of the server's cache.
        ideal_cached_share_in_blocks: Option<f64> = sessions.ideal_in_blocks.share(),
        /// Tokens per cache block, where the server reports them.
        block_tokens: Option<u32> = sessions.block_tokens,
        /// Share of prompt tokens that the answers say came from a cache, 0 to 1.
        cached_share: Option<f64> = sessions.told.share(),
    }

    /// One line of `--json=sessions` and `report --format sessions`. What is not known is left out;
    /// it is never 0.
    SessionLine of session: &Session {
        /// Number of the session within the run.
        session: u32 = session.session,
        /// Index of the level.
        level: u16 = session.level,
        /// Prompt of the workload.
        item: u32 = session.item,
        /// How it ended.
        #[cfg_attr(feature = "schema", schemars(extend("enum" =
            ["complete", "failed", "overflow", "empty_answer", "cut_off"])))]
        end: Option<&'static str> = session.end.map(|end| end.word()),
        /// Agents that sent something.
        agents: u32 = session.agents,
        /// Turns that it was to have, including turns of sub-agents that began.
        turns_asked: Option<u64> = session.turns_asked,
        /// Turns that were sent.
        sent: u64 = session.sent,
        /// Complete answers.
        ok: u64 = session.ok,
        /// Turns that failed.
        failed: u64 = session.failed,
        /// First start, seconds since the run's origin.
        start_s: f64 = s(session.start_ns),
        /// Last end, seconds since the run's origin.
        end_s: f64 = s(session.end_ns),
        /// From the one to the other, seconds.
        duration_s: f64 = s(session.duration_ns()),
        /// The same of a session that is complete, seconds.
        complete_s: Option<f64> = session.complete_ns().map(s),
        /// Time in which a request was under way, seconds.
        in_requests_s: f64 = s(session.busy_ns),
        /// Time in which none was, seconds.
        waiting_s: f64 = s(session.waiting_ns()),
        /// Prompt tokens of the complete answers.
        prompt_tokens: Option<u64> = session.prompt_tokens,
        /// Output tokens of the complete answers.
        output_tokens: Option<u64> = session.output_tokens,
        /// Share of prompt tokens that a cache which forgets nothing would know, 0 to 1.
        ideal_cached_share: Option<f64> = session.ideal.share(),
        /// Share of prompt tokens that the answers say came from a cache, 0 to 1.
        cached_share: Option<f64> = session.told.share(),
    }
}
