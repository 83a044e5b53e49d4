//! One request in work: what it still has to compute, and when it ends.
//!
//! Not here: which sequences go into a pass together (`scheduler`).

use ifm_tokenizer::{Tokenizer, TokenizerError};
use tokio::sync::mpsc::Sender;

use crate::{
    answer::AnswerText,
    decoder::Row,
    kv::{KvCache, tiles_for},
    request::{Event, Finish, FinishReason, GenerateRequest, Token},
    sample::Sampler,
};

/// A request that waits or runs.
#[derive(Debug)]
pub(crate) struct Sequence {
    request: GenerateRequest,
    pub(crate) cache: KvCache,
    answer: AnswerText,
    events: Sender<Event>,
    /// The last token of the answer; computed with the next pass.
    last: Option<u32>,
    generated: usize,
}

/// What is true for every sequence of a model.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Tokens that end an answer.
    pub(crate) eos_ids: Vec<u32>,
    /// Ids from here on have no text and are never chosen.
    pub(crate) vocabulary: usize,
}

impl Sequence {
    pub(crate) fn new(
        request: GenerateRequest,
        events: Sender<Event>,
        tokenizer: &Tokenizer,
    ) -> Self {
        let answer = AnswerText::new(tokenizer, request.stop.clone());
        Self { request, cache: KvCache::default(), answer, events, last: None, generated: 0 }
    }

    /// Tiles that the sequence may come to need.
    pub(crate) fn tiles_most(&self) -> usize {
        tiles_for(self.request.prompt.len() + self.request.max_tokens)
    }

    /// Whether the receiver of the events is gone.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.events.is_closed()
    }

    /// Whether the whole prompt has been computed.
    pub(crate) fn is_decoding(&self) -> bool {
        self.cache.length() >= self.request.prompt.len()
    }

    /// Tokens of the prompt that have not been computed.
    pub(crate) fn prompt_left(&self) -> usize {
        self.request.prompt.len().saturating_sub(self.cache.length())
    }

    /// The next tokens to compute: `prompt_tokens` of the prompt, or the last token of
    /// the answer.
    pub(crate) fn row(&mut self, prompt_tokens: usize) -> Row<'_> {
        let computed = self.cache.length();
        let (tokens, wants_logits) = if self.is_decoding() {
            (self.last.as_slice(), true)
        } else {
            let end = (computed + prompt_tokens).min(self.request.prompt.len());
            (&self.request.prompt[computed..end], end == self.request.prompt.len())
        };
        Row { cache: &mut self.cache, tokens, wants_logits }
    }

    /// Tokens of the answer so far.
    pub(crate) fn generated(&self) -> usize {
        self.generated
    }

    /// Chooses the next token from the logits.
    pub(crate) fn advance(
        &mut self,
        logits: &mut [f32],
        rules: &Rules,
        sampler: &Sampler,
    ) -> Result<Token, TokenizerError> {
        let may_end = self.generated >= self.request.min_tokens;
        logits.iter_mut().skip(rules.vocabulary).for_each(|logit| *logit = f32::NEG_INFINITY);
        if !may_end {
            for id in &rules.eos_ids {
                if let Some(logit) = logits.get_mut(*id as usize) {
                    *logit = f32::NEG_INFINITY;
                }
            }
        }
        let id = sampler.choose(logits, self.request.sampling, self.generated);
        self.last = Some(id);
        self.generated += 1;
        let ended = may_end && !self.request.ignore_eos && rules.eos_ids.contains(&id);
        let piece = self.answer.push(id, self.generated >= self.request.min_tokens)?;
        let reason = if ended || piece.stopped {
            Some(FinishReason::Stop)
        } else if self.generated >= self.request.max_tokens {
            Some(FinishReason::Length)
        } else {
            None
        };
        let mut text = piece.text;
        if reason.is_some() && !piece.stopped {
            text.push_str(&self.answer.finish()?);
        }
        let finish = reason.map(|reason| Finish {
            reason,
            prompt_tokens: self.request.prompt.len(),
            completion_tokens: self.generated,
        });
        Ok(Token { id, text, finish })
    }

    /// Sends an event to the client.
    pub(crate) fn send(&self, event: Event) {
        // The channel has room for every event that the request may have, so only a
        // closed one refuses; the scheduler finds those before its next pass.
        let _ = self.events.try_send(event);
    }
}
