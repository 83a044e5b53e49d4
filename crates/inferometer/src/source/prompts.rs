//! Prompts that stand alone, in the order of their items.

use super::ledger::Ledger;
use ifm_core::Phase;
use ifm_drive::{NextAsk, Offer, RequestMeta};
use ifm_wire::RequestTemplate;
use ifm_wire::request::Ask;
use ifm_workload::{Arrivals, Dataset, WorkloadError};
use std::sync::Arc;

/// Makes requests from prompts. Prompts made ahead at the end of a level and never sent are made
/// again for the next one, so that the prompts sent in a run are the items from 0 on without a
/// gap.
pub struct PromptSource {
    dataset: Arc<dyn Dataset>,
    template: RequestTemplate,
    next_item: u32,
    ledger: Ledger,
    exhausted: bool,
    /// Due times of the level; absent in a closed loop.
    arrivals: Option<Arrivals>,
}

impl PromptSource {
    /// A source from item 0 on.
    pub fn new(dataset: Arc<dyn Dataset>, template: RequestTemplate) -> PromptSource {
        PromptSource {
            dataset,
            template,
            next_item: 0,
            ledger: Ledger::default(),
            exhausted: false,
            arrivals: None,
        }
    }

    /// Begins a level behind the items that were sent; with due times, in an open loop.
    pub fn begin_level(&mut self, sent: u32, arrivals: Option<Arrivals>) {
        self.next_item = sent;
        self.ledger.truncate(sent);
        self.arrivals = arrivals;
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
    pub fn next(&mut self, ask: &NextAsk, buffer: &mut Vec<u8>) -> Result<Offer, String> {
        let due_ns = match &mut self.arrivals {
            Some(arrivals) if ask.phase == Phase::Measure => match arrivals.next() {
                None => return Ok(Offer::End),
                due_ns => due_ns,
            },
            _ => None,
        };
        let item = match self.dataset.item(self.next_item) {
            Ok(item) => item,
            Err(WorkloadError::Exhausted { .. }) => {
                self.exhausted = true;
                return Ok(Offer::End);
            }
            Err(error) => return Err(error.to_string()),
        };
        let turn = item.turns.first().ok_or("the workload made an item without a turn")?;
        self.next_item = self.next_item.checked_add(1).ok_or("more than 2^32 prompts")?;
        self.ledger.note(&turn.prompt, turn.prompt_tokens, turn.output_tokens);
        let ask = Ask {
            prompt: &turn.prompt,
            output_tokens: turn.output_tokens,
            fields: turn.fields.as_deref(),
        };
        let results_asked = self.template.write(&ask, buffer).map_err(|error| error.to_string())?;
        Ok(Offer::Request(RequestMeta {
            item: item.id,
            due_ns,
            turn: None,
            prompt_tokens_asked: turn.prompt_tokens,
            output_tokens_asked: turn.output_tokens,
            results_asked,
        }))
    }

    /// Passes over a request of an open loop for which there is no time left. Its item stays for
    /// the next level.
    pub fn skip(&mut self) -> Option<RequestMeta> {
        let due_ns = self.arrivals.as_mut()?.next()?;
        Some(RequestMeta {
            item: self.next_item,
            due_ns: Some(due_ns),
            turn: None,
            prompt_tokens_asked: None,
            output_tokens_asked: None,
            results_asked: None,
        })
    }
}
