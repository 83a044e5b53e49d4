//! Single-turn prompts, in the order of their items.

use super::ledger::{Ledger, digest};
use super::templates::Templates;
use crate::media_token_estimate::Pairs;
use ifm_core::{Phase, SentMedia};
use ifm_drive::{NextAsk, Offer, RequestMeta};
use ifm_wire::RequestBytes;
use ifm_wire::request::Ask;
use ifm_workload::{Arrivals, Dataset, WorkloadError};
use std::sync::Arc;

/// When requests are due.
pub enum Due {
    /// By a schedule of its own.
    Schedule(Box<Arrivals>),
    /// By the times of the items, counted from the first measured one.
    Recorded {
        /// Speed-up factor.
        speed: f64,
        /// Time of the first measured item, once it is known.
        first_ns: Option<u64>,
    },
}

/// Makes requests from prompts. Prompts made ahead at the end of a level and never sent are made
/// again for the next one, so that the prompts sent in a run are the items from 0 on without a
/// gap.
pub struct PromptSource {
    dataset: Arc<dyn Dataset>,
    templates: Templates,
    next_item: u32,
    ledger: Ledger,
    exhausted: bool,
    /// Due times of the level; absent in a closed loop.
    due: Option<Due>,
    pairs: Arc<Pairs>,
    /// The item that was passed over last, and its media: those that have no time wait with the same.
    passed: Option<(u32, Option<SentMedia>)>,
}

impl PromptSource {
    /// A source from item 0 on.
    pub fn new(dataset: Arc<dyn Dataset>, templates: Templates) -> PromptSource {
        PromptSource {
            dataset,
            templates,
            next_item: 0,
            ledger: Ledger::default(),
            exhausted: false,
            due: None,
            pairs: Arc::default(),
            passed: None,
        }
    }

    /// Reports requests with media to the code that fills in their tokens.
    pub fn with_pairs(&mut self, pairs: Arc<Pairs>) {
        self.pairs = pairs;
    }

    /// Begins a level after the items that were sent; with due times, in an open loop.
    pub fn begin_level(&mut self, sent: u32, due: Option<Due>) {
        self.next_item = sent;
        self.ledger.truncate(sent);
        self.due = due;
    }

    /// What prompts are taken from.
    pub fn dataset(&self) -> &dyn Dataset {
        &*self.dataset
    }

    /// Items that were made into requests so far.
    pub fn made(&self) -> u32 {
        self.next_item
    }

    /// Whether the workload had no more items.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// What was made so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What was made so far, to be cut to what was sent.
    pub fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// Writes the next request.
    ///
    /// # Errors
    /// What the workload or the API says about it.
    pub fn next(&mut self, ask: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
        let mut due_ns = None;
        if let Some(Due::Schedule(arrivals)) = &mut self.due
            && ask.phase == Phase::Measure
        {
            due_ns = arrivals.next();
            if due_ns.is_none() {
                return Ok(Offer::End);
            }
        }
        let item = match self.dataset.item(self.next_item) {
            Ok(item) => item,
            Err(WorkloadError::Exhausted { .. }) => {
                self.exhausted = true;
                return Ok(Offer::End);
            }
            Err(error) => return Err(error.to_string()),
        };
        if let Some(Due::Recorded { speed, first_ns }) = &mut self.due
            && ask.phase == Phase::Measure
        {
            let at_ns = item.at_ns.unwrap_or(0);
            let since_ns = at_ns.saturating_sub(*first_ns.get_or_insert(at_ns));
            due_ns = Some((since_ns as f64 / *speed) as u64);
        }
        let turn = item.turns.first().ok_or("the workload made an item without a turn")?;
        self.next_item = self.next_item.checked_add(1).ok_or("more than 2^32 prompts")?;
        self.pairs.note(ask.seq, turn.prompt.media());
        let media = self.ledger.media(turn.prompt.media());
        self.ledger.note(digest(&turn.prompt), turn.prompt_tokens, turn.output_tokens);
        let shared_tokens = self.dataset.shared_tokens();
        let known_tokens = turn.known_tokens.or(shared_tokens.filter(|_| item.id > 0));
        let known_tokens = known_tokens.or(shared_tokens.map(|_| 0));
        let ask = Ask {
            prompt: &turn.prompt,
            said: &[],
            said_media: &[],
            output_tokens: turn.output_tokens,
            fields: turn.fields.as_deref(),
            number: Some(ask.seq),
            session: None,
        };
        let (results_asked, form) = self.templates.write((item.id, None), &ask, buffer)?;
        Ok(Offer::Request(RequestMeta {
            item: item.id,
            due_ns,
            turn: None,
            class: item.class,
            known_tokens,
            prompt_tokens_asked: turn.prompt_tokens,
            output_tokens_asked: turn.output_tokens.filter(|_| self.templates.free.generates()),
            results_asked,
            media,
            form,
        }))
    }

    /// Skips a request of an open loop for which there is no time left. Its item stays for
    /// the next level.
    pub fn skip(&mut self) -> Option<RequestMeta> {
        let due_ns = match self.due.as_mut()? {
            Due::Schedule(arrivals) => arrivals.next()?,
            Due::Recorded { speed, first_ns } => {
                let at_ns = self.dataset.item(self.next_item).ok()?.at_ns?;
                self.next_item = self.next_item.checked_add(1)?;
                (at_ns.saturating_sub(first_ns.unwrap_or(at_ns)) as f64 / *speed) as u64
            }
        };
        let media = self.passed_media();
        Some(RequestMeta {
            item: self.next_item,
            due_ns: Some(due_ns),
            turn: None,
            class: None,
            known_tokens: None,
            prompt_tokens_asked: None,
            output_tokens_asked: None,
            results_asked: None,
            media,
            form: None,
        })
    }

    /// What the item that waits would carry.
    fn passed_media(&mut self) -> Option<SentMedia> {
        if !self.ledger.has_media() {
            return None;
        }
        match self.passed {
            Some((item, media)) if item == self.next_item => media,
            _ => {
                let item = self.dataset.item(self.next_item).ok()?;
                let media = self.ledger.unsent_media(item.turns.first()?.prompt.media());
                self.passed = Some((self.next_item, media));
                media
            }
        }
    }
}
