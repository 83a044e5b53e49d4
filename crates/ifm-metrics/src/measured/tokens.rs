//! Lengths of prompts and answers, caches, and who counted.

use super::sessions::KnownPart;
use crate::tpot::TokenSpread;
use ifm_core::{CountSource, Counted, RequestRecord};
use std::collections::BTreeSet;

/// Two sources that differ by more than this share of the counted tokens are reported.
const DISAGREEMENT_SHARE: f64 = 0.05;

/// Who counted the tokens of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// The server counted, for every request.
    Server,
    /// The model's tokenizer counted on our side, for every request.
    Tokenizer,
    /// Counted for every request, by more than one counter.
    Mixed,
    /// Estimated or not known for some requests, counted for others.
    PartlyEstimated,
    /// The number of events is used as the number of tokens, for every request.
    Estimated,
    /// Neither counted nor observed.
    Unknown,
}

impl Provenance {
    /// As text.
    pub fn words(self) -> &'static str {
        match self {
            Provenance::Server => "counted by the server",
            Provenance::Tokenizer => "counted by the model's tokenizer",
            Provenance::Mixed => "counted by server and tokenizer",
            Provenance::PartlyEstimated => "partly estimated from events",
            Provenance::Estimated => "estimated from events",
            Provenance::Unknown => "not known",
        }
    }

    /// Whether every number is a count.
    pub fn is_exact(self) -> bool {
        matches!(self, Provenance::Server | Provenance::Tokenizer | Provenance::Mixed)
    }
}

/// Requests by who counted their tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CountSources {
    /// Each source that occurred, best first, with its number of requests.
    pub by_source: Vec<(CountSource, u64)>,
    /// Requests without any number.
    pub unknown: u64,
}

impl CountSources {
    pub(super) fn add(&mut self, counted: Option<Counted>) {
        match counted {
            None => self.unknown += 1,
            Some(counted) => {
                match self.by_source.iter_mut().find(|(from, _)| *from == counted.from) {
                    Some((_, count)) => *count += 1,
                    None => {
                        self.by_source.push((counted.from, 1));
                        self.by_source.sort_unstable();
                    }
                }
            }
        }
    }

    /// In one word.
    pub fn provenance(&self) -> Provenance {
        let any = |wanted: fn(CountSource) -> bool| {
            self.by_source.iter().any(|(source, _)| wanted(*source))
        };
        let tokenizer = any(|source| source == CountSource::Tokenizer);
        let estimate = any(CountSource::is_estimate) || self.unknown > 0;
        let server = any(|source| !source.is_estimate() && source != CountSource::Tokenizer);
        match (server, tokenizer, estimate) {
            _ if self.by_source.is_empty() => Provenance::Unknown,
            (false, false, _) => Provenance::Estimated,
            (_, _, true) => Provenance::PartlyEstimated,
            (true, false, false) => Provenance::Server,
            (false, true, false) => Provenance::Tokenizer,
            (true, true, false) => Provenance::Mixed,
        }
    }
}

/// Events and counted tokens that do not agree, summed over the requests that have both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountDisagreement {
    /// Token-bearing events.
    pub events: u64,
    /// Tokens as counted.
    pub tokens: u64,
}

impl CountDisagreement {
    /// Events over tokens, less one: -0.5 means two tokens in an event.
    pub fn share(&self) -> f64 {
        self.events as f64 / self.tokens as f64 - 1.0
    }
}

/// Reasoning tokens that the server reports and that came in no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HiddenReasoning {
    /// Answers that have some.
    pub answers: u64,
    /// These tokens.
    pub tokens: u64,
    /// All output tokens of the same answers.
    pub output_tokens: u64,
}

/// Answers with more tokens than events of which it is not known that all tokens were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnsentTokens {
    /// The answers.
    pub answers: u64,
    /// Their output tokens.
    pub tokens: u64,
    /// Output tokens whose text length is known.
    pub tokens_with_text: u64,
    /// Bytes of that text.
    pub text_bytes: u64,
}

impl UnsentTokens {
    /// Bytes of text for each token, where the length of the text is known.
    pub fn bytes_per_token(self) -> Option<f64> {
        (self.tokens_with_text > 0).then(|| self.text_bytes as f64 / self.tokens_with_text as f64)
    }

    fn add(&mut self, record: &RequestRecord, tokens: u32) {
        self.answers += 1;
        self.tokens += u64::from(tokens);
        if let Some(bytes) = record.text_bytes {
            self.tokens_with_text += u64::from(tokens);
            self.text_bytes += u64::from(bytes);
        }
    }
}

/// Lengths over complete answers, and who counted them. Means are per request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TokenFacts {
    /// Mean output tokens asked for.
    pub output_asked_mean: Option<f64>,
    /// Mean output tokens, over requests with a number.
    pub output_mean: Option<f64>,
    /// Sum of output tokens.
    pub output_total: Option<u64>,
    /// Who counted the output.
    pub output_from: CountSources,
    /// Mean prompt tokens that the workload meant to send.
    pub prompt_asked_mean: Option<f64>,
    /// Mean prompt tokens as counted.
    pub prompt_mean: Option<f64>,
    /// Tokens by which every single prompt was longer than asked, where that is one number: what
    /// the server's chat template adds. Of prompts with media their text counts. Absent where it is
    /// not one number, or 0, and where the text of one was not counted.
    pub prompt_added: Option<u32>,
    /// Sum of prompt tokens.
    pub prompt_total: Option<u64>,
    /// Who counted the prompts.
    pub prompt_from: CountSources,
    /// Prompt tokens served from a cache; absent if the server never reported them.
    pub cached_total: Option<u64>,
    /// Cached tokens over prompt tokens, over the requests for which the server reported both, 0 to
    /// 1.
    pub cached_share: Option<f64>,
    /// Prompt tokens that had been said before over prompt tokens, where the workload counted, 0 to
    /// 1: what a cache that forgets nothing would know.
    pub ideal_share: Option<f64>,
    /// Reasoning tokens among the output; absent if the server never reported them.
    pub reasoning_total: Option<u64>,
    /// Reasoning that was counted and not sent; absent where there was none.
    pub hidden_reasoning: Option<HiddenReasoning>,
    /// Other tokens that were counted and are not known to have been sent; absent where there were
    /// none.
    pub unsent: Option<UnsentTokens>,
    /// Streamed answers without a token-bearing event whose tokens were counted.
    pub empty_answers: u64,
    /// Draft tokens accepted by speculative decoding; absent if the server never reported them.
    pub accepted_draft_total: Option<u64>,
    /// Draft tokens rejected; absent if the server never reported them.
    pub rejected_draft_total: Option<u64>,
    /// Token-bearing events.
    pub events: u64,
    /// Token-bearing events whose read contained another one too, so that they share a timestamp.
    pub co_arrived_events: u64,
    /// Present where events and counted tokens differ by more than 5 %.
    pub disagreement: Option<CountDisagreement>,
}

impl TokenFacts {
    pub fn of(measured: &[&RequestRecord]) -> TokenFacts {
        let mut facts = TokenFacts::default();
        let mut output_asked = Total::default();
        let mut prompt_asked = Total::default();
        let mut output = Total::default();
        let mut prompt = Total::default();
        let mut added = BTreeSet::new();
        let (mut cached, mut ideal) = (KnownPart::default(), KnownPart::default());
        let mut both = CountDisagreement { events: 0, tokens: 0 };
        let add = |total: &mut Option<u64>, tokens: Option<u32>| {
            if let Some(tokens) = tokens {
                *total = Some(total.unwrap_or(0) + u64::from(tokens));
            }
        };
        for record in measured.iter().filter(|record| record.outcome.is_ok()) {
            let events = record.events.len() as u64;
            facts.events += events;
            facts.co_arrived_events += u64::from(record.co_arrived_events);
            output_asked.add(record.output_tokens_asked);
            prompt_asked.add(record.prompt_tokens_asked);
            output.add(record.output_tokens.map(|counted| counted.tokens));
            prompt.add(record.prompt_tokens.map(|counted| counted.tokens));
            // The requested length is of the text alone.
            let text = match record.media {
                Some(_) => record.text_tokens,
                None => record.prompt_tokens,
            };
            if let Some(asked) = record.prompt_tokens_asked
                && record.prompt_tokens.is_some()
            {
                let more = text.and_then(|counted| counted.tokens.checked_sub(asked));
                added.insert(more.filter(|tokens| *tokens > 0));
            }
            facts.output_from.add(record.output_tokens);
            facts.prompt_from.add(record.prompt_tokens);
            add(&mut facts.cached_total, record.cached_tokens);
            add(&mut facts.reasoning_total, record.reasoning_tokens);
            add(&mut facts.accepted_draft_total, record.accepted_draft_tokens);
            add(&mut facts.rejected_draft_total, record.rejected_draft_tokens);
            let counted = record.prompt_tokens.map(|counted| counted.tokens);
            cached.add(record.cached_tokens, counted);
            ideal.add(record.known_tokens, counted);
            if let Some(counted) = record.output_tokens
                && record.streamed
                && !counted.from.is_estimate()
            {
                let spread = TokenSpread::of(record);
                let hidden = u64::from(spread.map_or(0, |spread| spread.hidden(record)));
                both.events += events;
                both.tokens += u64::from(counted.tokens).saturating_sub(hidden);
                facts.empty_answers += u64::from(events == 0 && counted.tokens > 0);
                if spread == Some(TokenSpread::NotSent) {
                    facts.unsent.get_or_insert_default().add(record, counted.tokens);
                }
                if hidden > 0 {
                    let all = facts.hidden_reasoning.get_or_insert_default();
                    all.answers += 1;
                    all.tokens += hidden;
                    all.output_tokens += u64::from(counted.tokens);
                }
            }
        }
        facts.output_asked_mean = output_asked.mean();
        // The length of later turns was not requested: a mean of the first ones would mislead.
        let has_turns = measured.iter().any(|record| record.turn > Some(0));
        facts.prompt_asked_mean = prompt_asked.mean().filter(|_| !has_turns);
        (facts.output_mean, facts.output_total) = (output.mean(), output.sum());
        facts.prompt_added = added.pop_first().flatten().filter(|_| added.is_empty());
        (facts.prompt_mean, facts.prompt_total) = (prompt.mean(), prompt.sum());
        (facts.cached_share, facts.ideal_share) = (cached.share(), ideal.share());
        facts.disagreement =
            Some(both).filter(|both| both.tokens > 0 && both.share().abs() > DISAGREEMENT_SHARE);
        facts
    }

    /// Share of events that share their stamp with another one, 0 to 1; absent without events.
    pub fn co_arrived_share(&self) -> Option<f64> {
        (self.events > 0).then(|| self.co_arrived_events as f64 / self.events as f64)
    }
}

/// A sum with the number of its terms.
#[derive(Default)]
struct Total {
    sum: u64,
    count: u64,
}

impl Total {
    fn add(&mut self, value: Option<u32>) {
        if let Some(value) = value {
            self.sum += u64::from(value);
            self.count += 1;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    fn sum(&self) -> Option<u64> {
        (self.count > 0).then_some(self.sum)
    }
}
