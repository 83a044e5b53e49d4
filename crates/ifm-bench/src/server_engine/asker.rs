//! How a server is asked: the API that takes most, and the fields by which its kind computes all of a
//! prompt, always the likeliest token, and as many as were asked for.

use super::told::Heard;
use crate::engine::Trouble;
use ifm_core::manifest::RejectedField;
use ifm_core::spec::Api;
use ifm_core::{Outcome, Prompt};
use ifm_probe::preflight::{FieldRules, Preflight, Sending, TRIES, exchange, one_token};
use ifm_probe::question::{Wish, template};
use ifm_probe::server_tokenizer::ServerTokenizer;
use ifm_probe::traced_client::{CallLimits, Caller, Endpoint, Reply};
use ifm_wire::request::Ask;
use ifm_wire::{Expect, RequestBytes};
use serde_json::{Value, json};
use std::time::Duration;

/// Asks one server.
#[derive(Clone)]
pub struct Asker {
    /// Where it is.
    pub endpoint: Endpoint,
    /// Model to ask for.
    pub model: String,
    /// Its kind, as it was recognised.
    pub kind: Option<String>,
    /// By which API.
    pub api: Api,
    /// Whether the request asks it not to end an answer early.
    pub ignores_end: bool,
    /// Fields that the server rejects, and that are not sent.
    pub rejected: Vec<RejectedField>,
    /// Whether it reports that it caches no prompts.
    pub keeps_nothing: bool,
}

impl Asker {
    /// APIs that such a server may have, best first: those that accept ids and report times come first.
    pub fn apis(kind: Option<&str>) -> &'static [Api] {
        match kind {
            Some("llama.cpp") => &[Api::LlamaCpp, Api::Completions],
            Some("SGLang") => &[Api::Sglang, Api::Completions],
            _ => &[Api::Completions, Api::Chat],
        }
    }

    /// Its tokenizer.
    pub fn tokenizer(&self) -> ServerTokenizer {
        ServerTokenizer::of(self.kind.as_deref(), &self.model)
    }

    /// A request as bytes. What comes before an answer is kept for the next request only where
    /// `caches` says so and the server has a field for it.
    ///
    /// # Errors
    /// The part of it that cannot be sent.
    pub fn request(&self, prompt: &Prompt, tokens: u32, caches: bool) -> Result<Vec<u8>, String> {
        let wish = self.wish(prompt, tokens, caches);
        let template = template(&self.endpoint, &self.model, &wish)?;
        let template = template.without_rejected(&self.rejected);
        let ask = Ask { output_tokens: Some(tokens), ..one_token(prompt) };
        let mut bytes = RequestBytes::default();
        template.write(&ask, &mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes.to_vec())
    }

    /// The requests that detect the server's features, and the fields that it rejects so far.
    ///
    /// # Errors
    /// The part of them that cannot be sent.
    pub fn preflight(&self, limit: Duration) -> Result<Preflight, String> {
        let prompt = Prompt::Text(String::new());
        let wish = self.wish(&prompt, 1, false);
        let template = template(&self.endpoint, &self.model, &wish)?;
        let template = template.without_rejected(&self.rejected);
        let limits = CallLimits { first_token: Some(limit), ..CallLimits::default() };
        let caller = Caller::new(self.endpoint.clone()).with_limits(limits);
        let expect = Expect { api: self.api, keep_text: false, stream: true };
        Ok(Preflight::new(caller, template, expect, FieldRules::default()))
    }

    fn wish<'wish>(&self, prompt: &'wish Prompt, tokens: u32, caches: bool) -> Wish<'wish> {
        let fields = self.fields(caches);
        Wish { api: self.api, prompt, tokens, stream: true, ignore_eos: self.ignores_end, fields }
    }

    /// Fields in addition to the usual ones. A model may have default penalties, which are turned
    /// off.
    fn fields(&self, caches: bool) -> Value {
        match (self.api, self.kind.as_deref()) {
            // Its other samplers would only sort what the temperature 0 decides.
            (Api::LlamaCpp, _) => json!({
                "cache_prompt": caches, "repeat_penalty": 1.0, "samplers": ["temperature"],
            }),
            (Api::Sglang, _) => json!({"sampling_params": {"repetition_penalty": 1.0}}),
            (_, Some("vLLM")) => json!({
                "repetition_penalty": 1.0,
                "stream_options": {"include_usage": true, "continuous_usage_stats": true},
            }),
            _ => json!({}),
        }
    }

    /// What an answer reports.
    ///
    /// # Errors
    /// There is no good one; `of` is what was requested.
    pub fn heard(&self, reply: &Reply, of: &str) -> Result<Heard, Trouble> {
        let failed = |why: &str| format!("{of} got no answer: {why}");
        if reply.status().is_none() && !reply.is_late() {
            return Err(Trouble::Lost(failed(&reply.fault())));
        }
        if !reply.is_success() {
            return Err(Trouble::Cannot(failed(&reply.fault())));
        }
        let answer = reply.answer(Expect { api: self.api, keep_text: false, stream: true });
        match (answer.outcome, &answer.error) {
            (Outcome::Ok | Outcome::OkFiltered, _) => {
                let mut heard = Heard::of(reply, answer);
                heard.cached = heard.cached.or(self.keeps_nothing.then_some(0));
                Ok(heard)
            }
            (_, Some(error)) => Err(Trouble::Cannot(failed(error))),
            (outcome, None) => Err(Trouble::Cannot(failed(outcome.word()))),
        }
    }

    /// Asks for one token, and learns which fields the server rejects.
    ///
    /// # Errors
    /// As [`Asker::ask`].
    pub fn ask_first(
        &mut self,
        caller: &mut Caller,
        prompt: &Prompt,
        (of, limit): (&str, Duration),
    ) -> Result<Heard, Trouble> {
        let wish = self.wish(prompt, 1, false);
        let template = template(&self.endpoint, &self.model, &wish).map_err(Trouble::Cannot)?;
        let sending = Sending {
            template: &template,
            ask: &one_token(prompt),
            expect: Expect { api: self.api, keep_text: false, stream: true },
            limit,
            tries: TRIES,
            has_to_stay: &|name| name == "stream",
        };
        let exchange = exchange(caller, &mut self.rejected, &sending).map_err(Trouble::Cannot)?;
        self.heard(&exchange.reply, of)
    }

    /// Asks once, and waits.
    ///
    /// # Errors
    /// As [`Asker::heard`], or why it cannot be sent.
    pub fn ask(
        &self,
        caller: &mut Caller,
        (prompt, tokens, caches): (&Prompt, u32, bool),
        (of, limit): (&str, Duration),
    ) -> Result<Heard, Trouble> {
        let bytes = self.request(prompt, tokens, caches).map_err(Trouble::Cannot)?;
        caller.open(limit);
        self.heard(&caller.send(&bytes, limit), of)
    }
}
