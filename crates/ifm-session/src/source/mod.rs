//! From work items to requests: what is sent next, and what was sent in all.
//!
//! Single-turn prompts are made ahead of the load. Conversations cannot be: a turn carries the
//! answer to the one before, so it is made when that has come.
//!
//! Not here: items (`ifm-workload`), bytes of a request (`ifm-wire`), when a user is free
//! (`ifm-drive`).

mod calls;
mod conversations;
mod ledger;
mod prompts;
mod said;
mod session;
mod templates;
#[cfg(test)]
mod tests;

pub use conversations::Carrying;
pub use prompts::PromptSource;
pub use templates::Templates;

use crate::media_token_estimate::Pairs;
use conversations::ConversationSource;
use ifm_core::EndedSession;
use ifm_core::manifest::{SentWorkload, TemplatePlace};
use ifm_core::spec::{Api, ArrivalLaw, LoadSpec};
use ifm_drive::{Answered, NextAsk, Offer, RequestMeta, RequestSource};
use ifm_wire::{RequestBytes, dialect};
use ifm_workload::{Arrivals, Dataset, WorkloadFacts};
use ledger::Ledger;
use prompts::Due;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Requests in flight at most for each user whose sessions have agents: beyond that they wait in
/// order.
const REQUESTS_PER_USER: u32 = 16;
/// Requests in flight that sessions with agents may need at most in all; more users than that have
/// one each.
const REQUESTS_OF_AGENTS: u32 = 16_384;

/// Maximum number of items that are made ahead of a level.
const AHEAD_ITEMS_MAX: u32 = 1024;

/// Maximum requests in flight: one for each user, or as many as the agents of their sessions can send
/// at the same time, within bounds.
pub fn slots(users: u32, parallel: u32) -> u32 {
    let wanted = users.saturating_mul(parallel.clamp(1, REQUESTS_PER_USER));
    wanted.min(REQUESTS_OF_AGENTS.max(users))
}

/// The requests of a run, level by level.
pub enum Source {
    /// Single-turn requests.
    Prompts(Box<PromptSource>),
    /// Turns of conversations.
    Conversations(Box<ConversationSource>),
}

impl Source {
    /// Requests from item 0 on.
    pub fn new(
        dataset: Arc<dyn Dataset>,
        templates: impl Into<Templates>,
        carrying: Carrying,
    ) -> Source {
        match dataset.has_conversations() {
            true => {
                let talks = ConversationSource::new(dataset, templates, carrying);
                Source::Conversations(Box::new(talks))
            }
            false => Source::Prompts(Box::new(PromptSource::new(dataset, templates.into()))),
        }
    }

    /// Fills in the tokens of media by what was measured before: of media that the server has had
    /// since.
    pub fn with_pairs(&mut self, pairs: &Arc<Pairs>, had: impl Iterator<Item = [u8; 32]>) {
        let ledger = match self {
            Source::Prompts(prompts) => {
                prompts.with_pairs(pairs.clone());
                prompts.ledger_mut()
            }
            Source::Conversations(talks) => {
                talks.with_pairs(pairs.clone());
                talks.ledger_mut()
            }
        };
        had.for_each(|sha256| ledger.had(sha256));
    }

    /// Whether answers have to come back.
    pub fn follows_answers(&self) -> bool {
        matches!(self, Source::Conversations(_))
    }

    /// Maximum number of requests that a user can have in flight at once: more than one where
    /// sessions have agents that work at the same time.
    pub fn parallel(&self) -> u32 {
        match self {
            Source::Prompts(_) => 1,
            Source::Conversations(talks) => talks.parallel(),
        }
    }

    /// Conversations that have ended so far; absent for single-turn requests.
    pub fn ended_conversations(&self) -> Option<Arc<AtomicU64>> {
        match self {
            Source::Prompts(_) => None,
            Source::Conversations(talks) => Some(talks.ended()),
        }
    }

    /// Sessions that ended before their last turn for a reason that none of their requests shows.
    pub fn ended_early(&self) -> &[EndedSession] {
        match self {
            Source::Prompts(_) => &[],
            Source::Conversations(talks) => talks.ended_early(),
        }
    }

    /// Begins a level; `sent` requests were sent before it.
    ///
    /// # Errors
    /// Due times that cannot be, and conversations that are to have due times.
    pub fn begin_level(&mut self, sent: u32, load: &LoadSpec) -> Result<(), String> {
        let due = match &load.arrivals {
            None => None,
            Some(spec) => {
                // A replay is checked like any other schedule, and then takes the items' times.
                let arrivals = Arrivals::new(spec).map_err(|error| error.to_string())?;
                Some(match spec.law {
                    ArrivalLaw::Replay(speed) => Due::Recorded { speed, first_ns: None },
                    _ => Due::Schedule(Box::new(arrivals)),
                })
            }
        };
        match self {
            Source::Prompts(prompts) => prompts.begin_level(sent, due),
            Source::Conversations(_) if due.is_some() => {
                return Err(
                    "conversations are held by users: give --concurrency, no rate".to_owned()
                );
            }
            Source::Conversations(talks) => {
                talks.begin_level(sent, load.concurrency, load.sessions);
            }
        }
        Ok(())
    }

    /// Has media that take long to make ready before a level whose `sent` requests were sent before it
    /// begins, as far as it gets: the media of its warm-up, and those that its users send at once, or its
    /// rate in a second.
    pub fn make_ahead(&self, sent: u32, load: &LoadSpec, go_on: &dyn Fn() -> bool) {
        let at_once = match &load.arrivals {
            None => load.concurrency,
            Some(arrivals) => arrivals.mean_req_per_s().map_or(1, |rate| rate.ceil() as u32),
        };
        let measured = load.requests.or(load.sessions).unwrap_or(at_once).min(at_once);
        let needed = measured.saturating_add(load.warmup_requests).min(AHEAD_ITEMS_MAX);
        match self {
            Source::Prompts(prompts) => prompts.dataset().make_ahead(sent, needed, go_on),
            Source::Conversations(talks) => talks.make_sessions_ahead(needed, go_on),
        }
    }

    /// Whether the workload had no more items.
    pub fn is_exhausted(&self) -> bool {
        match self {
            Source::Prompts(prompts) => prompts.is_exhausted(),
            Source::Conversations(talks) => talks.is_exhausted(),
        }
    }

    fn ledger(&self) -> &Ledger {
        match self {
            Source::Prompts(prompts) => prompts.ledger(),
            Source::Conversations(talks) => talks.ledger(),
        }
    }

    /// BLAKE3 over the BLAKE3 of each prompt that was sent, in order, in hex.
    pub fn prompts_blake3(&self) -> String {
        self.ledger().prompts_blake3()
    }

    /// Describes everything that was sent: this many requests.
    pub fn sent_workload(&mut self, sent: u32, api: Api, facts: &WorkloadFacts) -> SentWorkload {
        let (ledger, sessions, ended_sessions) = match self {
            Source::Prompts(prompts) => (prompts.ledger_mut(), None, Vec::new()),
            Source::Conversations(talks) => {
                let (begun, ended) = (talks.begun(), talks.ended_early().to_vec());
                (talks.ledger_mut(), Some(u64::from(begun)), ended)
            }
        };
        ledger.truncate(sent);
        let template_by = if dialect::of(api).has_template() {
            TemplatePlace::Server
        } else {
            TemplatePlace::None
        };
        // Facts are texts, numbers and maps with text keys: they always become JSON.
        let mut facts = match serde_json::to_value(facts) {
            Ok(serde_json::Value::Object(facts)) => facts,
            _ => serde_json::Map::new(),
        };
        if let Some(sheet) = ledger.media_sheet() {
            facts.insert("media_sheet".to_owned(), sheet);
        }
        SentWorkload { sessions, facts, ended_sessions, ..ledger.sent_workload(template_by) }
    }
}

impl RequestSource for Source {
    fn next(&mut self, ask: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
        match self {
            Source::Prompts(prompts) => prompts.next(ask, buffer),
            Source::Conversations(talks) => talks.next(ask, buffer),
        }
    }

    fn skip(&mut self) -> Option<RequestMeta> {
        match self {
            Source::Prompts(prompts) => prompts.skip(),
            Source::Conversations(_) => None,
        }
    }

    fn answered(&mut self, answered: Answered) {
        if let Source::Conversations(talks) = self {
            talks.answered(answered);
        }
    }
}
