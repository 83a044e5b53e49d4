//! Conversations as wholes: the outcome of each session of a level, and of all of them.
//!
//! A session is every request of one conversation, including requests of its sub-agents. Its
//! numbers are sums over these requests only. Not here: its turns one by one, see
//! [`turns`](super::turns), and how sessions are compared (`comparison/sample`).

mod summary;

pub use summary::SessionsSummary;

use ifm_core::order::Order as _;
use ifm_core::{EndedSession, Outcome, RequestRecord, SessionEnd};
use std::collections::{BTreeMap, BTreeSet};

/// Prompt tokens, and how many of them are known to a cache, by one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KnownPart {
    /// Tokens that are known.
    pub known: u64,
    /// Prompt tokens of the requests for which both numbers are there.
    pub of: u64,
}

impl KnownPart {
    pub(crate) fn add(&mut self, known: Option<u32>, prompt: Option<u32>) {
        if let (Some(known), Some(prompt)) = (known, prompt) {
            // By the workload's arithmetic it may be more than the server counts.
            self.known += u64::from(known.min(prompt));
            self.of += u64::from(prompt);
        }
    }

    /// The known share, 0 to 1; absent if not reported.
    pub fn share(self) -> Option<f64> {
        (self.of > 0).then(|| self.known as f64 / self.of as f64)
    }

    fn and(self, other: KnownPart) -> KnownPart {
        KnownPart { known: self.known + other.known, of: self.of + other.of }
    }
}

/// One session: every request of one conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Number of the session within the run.
    pub session: u32,
    /// Index of the level.
    pub level: u16,
    /// Index of the work item that it came from.
    pub item: u32,
    /// Agents that sent something; 1 where it has no sub-agents.
    pub agents: u32,
    /// Turns that were sent.
    pub sent: u64,
    /// Complete answers to them.
    pub ok: u64,
    /// Turns that failed.
    pub failed: u64,
    /// Turns that its agents were to have together; absent where the workload did not say it of
    /// one of them.
    pub turns_asked: Option<u64>,
    /// Start of the first request, nanoseconds since the run's origin.
    pub start_ns: u64,
    /// End of the last one.
    pub end_ns: u64,
    /// How it ended; absent if unknown, as in runs that do not hold how many turns a conversation
    /// was to have.
    pub end: Option<SessionEnd>,
    /// Prompt tokens of its complete answers; absent if they were not counted.
    pub prompt_tokens: Option<u64>,
    /// Output tokens of them.
    pub output_tokens: Option<u64>,
    /// What a cache that forgets nothing would have known of the prompts.
    pub ideal: KnownPart,
    /// The same if it found only the prompt of the turn before, and not its answer: text that is
    /// tokenized again does not always give the same tokens. In whole blocks, if their size is
    /// reported.
    pub ideal_of_prompts: KnownPart,
    /// The value of `ideal` in whole blocks of the server's cache; empty if their size is not
    /// reported.
    pub ideal_in_blocks: KnownPart,
    /// Tokens from the server's cache, as it reported them.
    pub told: KnownPart,
    /// Time in which at least one of its requests was under way, nanoseconds.
    pub busy_ns: u64,
}

impl Session {
    /// From the first request to the end of the last, nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Time in which none of its requests was under way, nanoseconds: tools, people who think, and
    /// a client that was late.
    pub fn waiting_ns(&self) -> u64 {
        self.duration_ns().saturating_sub(self.busy_ns)
    }

    /// Whether every turn has its answer.
    pub fn is_complete(&self) -> bool {
        self.end == Some(SessionEnd::Complete)
    }

    /// The duration of a complete session, nanoseconds.
    pub fn complete_ns(&self) -> Option<u64> {
        self.is_complete().then(|| self.duration_ns())
    }

    fn of(
        session: u32,
        requests: &[&RequestRecord],
        ended: Option<SessionEnd>,
        fields: Fields,
    ) -> Option<Session> {
        let first = requests.iter().min_by_key(|record| (record.start_ns, record.seq))?;
        let agents: BTreeSet<u16> = requests.iter().map(|record| agent(record)).collect();
        let count = |is: fn(Outcome) -> bool| {
            requests.iter().filter(|record| is(record.outcome)).count() as u64
        };
        let mut found = Session {
            session,
            level: first.level,
            item: first.item,
            agents: agents.len() as u32,
            sent: count(|outcome| outcome != Outcome::Dropped),
            ok: count(Outcome::is_ok),
            failed: count(Outcome::is_failure),
            turns_asked: agents.iter().map(|of| turns_of(requests, *of)).sum(),
            start_ns: first.start_ns,
            end_ns: requests.iter().map(|record| record.end_ns).max().unwrap_or(first.end_ns),
            end: None,
            prompt_tokens: None,
            output_tokens: None,
            ideal: KnownPart::default(),
            ideal_of_prompts: KnownPart::default(),
            ideal_in_blocks: KnownPart::default(),
            told: KnownPart::default(),
            busy_ns: busy_ns(requests),
        };
        let prompt_of = |record: &RequestRecord| record.prompt_tokens.map(|counted| counted.tokens);
        let prompts: BTreeMap<(u16, Option<u16>), Option<u32>> = requests
            .iter()
            .map(|record| ((agent(record), record.turn), prompt_of(record)))
            .collect();
        for record in requests.iter().filter(|record| record.outcome.is_ok()) {
            let prompt = prompt_of(record);
            let output = record.output_tokens.map(|counted| counted.tokens);
            add(&mut found.prompt_tokens, prompt);
            add(&mut found.output_tokens, output);
            // Shares that are compared with each other are over the same requests.
            if !fields.cached || record.cached_tokens.is_some() {
                let known = record.known_tokens;
                found.ideal.add(known, prompt);
                let before = record.turn.and_then(|turn| turn.checked_sub(1));
                let before = before.map(|turn| prompts.get(&(agent(record), Some(turn))));
                let of_prompts = match before {
                    None => known,
                    Some(read) => known.zip(read.copied().flatten()).map(|(a, b)| a.min(b)),
                };
                let whole = |known: u32| fields.whole(known, prompt);
                found.ideal_of_prompts.add(of_prompts.map(whole), prompt);
                if fields.block_tokens.is_some() {
                    found.ideal_in_blocks.add(known.map(whole), prompt);
                }
            }
            if !fields.known || record.known_tokens.is_some() {
                found.told.add(record.cached_tokens, prompt);
            }
        }
        found.end = ended.or_else(|| found.derived_end(requests));
        Some(found)
    }

    /// How it ended, as far as its requests show it.
    fn derived_end(&self, requests: &[&RequestRecord]) -> Option<SessionEnd> {
        if self.failed > 0 {
            return Some(SessionEnd::Failed);
        }
        if requests.iter().any(|record| !record.outcome.is_ok()) {
            return Some(SessionEnd::CutOff);
        }
        let asked = self.turns_asked?;
        Some(if self.ok >= asked { SessionEnd::Complete } else { SessionEnd::CutOff })
    }
}

/// Which fields about prompts and caches the requests of a level have.
#[derive(Clone, Copy)]
struct Fields {
    known: bool,
    cached: bool,
    /// Tokens of a block of the server's cache.
    block_tokens: Option<u32>,
}

impl Fields {
    /// The tokens in whole blocks, if their size is reported. The last token of a prompt is
    /// computed in any case.
    fn whole(self, known: u32, prompt: Option<u32>) -> u32 {
        let Some(size) = self.block_tokens else { return known };
        known.min(prompt.map_or(known, |all| all.saturating_sub(1))) / size * size
    }
}

/// The agent of a request; a session without agents has one.
fn agent(record: &RequestRecord) -> u16 {
    record.agent.unwrap_or(0)
}

/// Turns that one agent's conversation was to have.
fn turns_of(requests: &[&RequestRecord], of: u16) -> Option<u64> {
    let turns = requests.iter().filter(|record| agent(record) == of);
    turns.filter_map(|record| record.agent_turns).max().map(u64::from)
}

fn add(total: &mut Option<u64>, tokens: Option<u32>) {
    if let Some(tokens) = tokens {
        *total = Some(total.unwrap_or(0) + u64::from(tokens));
    }
}

/// Time in which at least one of the requests was under way.
fn busy_ns(requests: &[&RequestRecord]) -> u64 {
    let mut spans: Vec<(u64, u64)> =
        requests.iter().map(|record| (record.start_ns, record.end_ns)).collect();
    spans.sort_unstable();
    let (mut busy, mut until) = (0, 0);
    for (start, end) in spans {
        busy += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    busy
}

/// The sessions of one level that sent something, in the order in which they began; empty if
/// requests are independent. `block_tokens` is the size of a block of the server's cache, if
/// reported.
pub(crate) fn sessions(
    measured: &[&RequestRecord],
    ended: &[EndedSession],
    block_tokens: Option<u32>,
) -> Vec<Session> {
    let mut by_session = BTreeMap::<u32, Vec<&RequestRecord>>::new();
    for record in measured {
        if let Some(session) = record.session {
            by_session.entry(session).or_default().push(record);
        }
    }
    let ended: BTreeMap<u32, SessionEnd> =
        ended.iter().map(|ended| (ended.session, ended.end)).collect();
    let told = |session: u32| ended.get(&session).copied();
    let fields = Fields {
        known: measured.iter().any(|record| record.known_tokens.is_some()),
        cached: measured.iter().any(|record| record.cached_tokens.is_some()),
        block_tokens,
    };
    let all = by_session.into_iter();
    let mut found: Vec<Session> = all
        .filter_map(|(session, requests)| Session::of(session, &requests, told(session), fields))
        .collect();
    found.order_by_key(|session| (session.start_ns, session.session));
    found
}

#[cfg(test)]
mod tests;
