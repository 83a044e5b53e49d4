//! The shared state of all questions of a probe: the server, the remaining time, and what earlier
//! questions showed.

use super::noted::{self, Length};
use crate::preflight::{Exchange, Sending, TRIES, exchange, one_token};
use crate::traced_client::{Caller, Endpoint, Reply};
use ifm_core::manifest::{RejectedField, ServerInfo};
use ifm_core::spec::Api;
use ifm_core::{Outcome, Prompt};
use ifm_tokenizer::Tokenizer;
use ifm_wire::request::{Ask, TemplateSpec};
use ifm_wire::{Answer, Expect, RequestBytes, RequestTemplate, dialect};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// Maximum number of requests of a probe.
pub const REQUESTS_MAX: u32 = 48;
/// The share of the whole time that one request may take.
const REQUEST_SHARE: u32 = 3;
/// Number of consecutive requests without an answer in time after which no more are sent.
const LATE_MAX: u32 = 2;
/// Requested tokens if an answer needs some length.
pub const TOKENS: u32 = 24;

/// A probe in progress.
pub struct Inquiry {
    /// Sends requests to the server.
    pub caller: Caller,
    /// What the server reported about itself.
    pub server: ServerInfo,
    /// Requested model.
    pub model: String,
    /// Counts prompts on the client.
    pub tokenizer: Tokenizer,
    /// Whether the user declared that tokenizer to be the model's own.
    pub is_own_tokenizer: bool,
    /// Seed of the prompts, which must be new to the server.
    pub seed: u64,
    limit: Duration,
    until: Instant,
    late: u32,
    /// The API used by the questions about answers: the first that answered.
    pub api: Option<Api>,
    /// Whether that API answers only in streams.
    pub only_streams: bool,
    /// An answer that the model ended by itself, if any.
    pub natural: Option<Answer>,
    /// The answer to the same prompt with the request not to end, and the requested tokens.
    pub forced: Option<(Answer, u32)>,
    /// Lengths of the answers of that API so far.
    pub lengths: Vec<Length>,
    /// Fields that the server rejects without a question about them.
    pub rejected: Vec<RejectedField>,
    /// Bounds on the server's clock minus the client's, nanoseconds: minimum, maximum.
    pub clock_bounds: Vec<(i64, i64)>,
}

/// A request of a probe.
pub struct Wish<'wish> {
    /// Which API.
    pub api: Api,
    /// The prompt.
    pub prompt: &'wish Prompt,
    /// Requested tokens.
    pub tokens: u32,
    /// Whether to stream.
    pub stream: bool,
    /// Whether to ask the server not to end by itself.
    pub ignore_eos: bool,
    /// Additional fields of the body.
    pub fields: Value,
}

/// A valid answer, and its bytes.
pub struct Heard {
    /// As parsed by the run's decoder.
    pub answer: Answer,
    /// As received.
    pub reply: Reply,
}

impl Heard {
    /// Output tokens, if the server counted them.
    pub fn tokens(&self) -> Option<u32> {
        counted(&self.answer)
    }
}

/// Output tokens, if the server counted them.
pub fn counted(answer: &Answer) -> Option<u32> {
    answer.output_tokens.filter(|counted| !counted.from.is_estimate()).map(|counted| counted.tokens)
}

impl Inquiry {
    /// Sends nothing yet; `limit` is the maximum time for all questions together.
    pub fn new(
        caller: Caller,
        (server, model): (ServerInfo, String),
        (tokenizer, is_own_tokenizer): (Tokenizer, bool),
        seed: u64,
        (limit, since): (Duration, Instant),
    ) -> Inquiry {
        Inquiry {
            caller,
            server,
            model,
            tokenizer,
            is_own_tokenizer,
            seed,
            limit,
            until: since + limit,
            late: 0,
            api: None,
            only_streams: false,
            natural: None,
            forced: None,
            lengths: Vec::new(),
            rejected: Vec::new(),
            clock_bounds: Vec::new(),
        }
    }

    /// How long the next request may take.
    ///
    /// # Errors
    /// Why no more are sent, in a clause.
    pub fn patience(&self) -> Result<Duration, String> {
        let left = self.until.saturating_duration_since(Instant::now());
        if self.late >= LATE_MAX {
            return Err("not tried: the server did not answer the previous questions".into());
        }
        if left.is_zero() {
            let limit = self.limit.as_secs_f64();
            return Err(format!("not tried: the {limit} s were over (--limit gives more)"));
        }
        if self.caller.calls() >= REQUESTS_MAX {
            return Err(format!("not tried: {REQUESTS_MAX} requests are enough"));
        }
        Ok(left.min(self.limit / REQUEST_SHARE))
    }

    /// Remaining time, seconds.
    pub fn left_s(&self) -> f64 {
        self.until.saturating_duration_since(Instant::now()).as_secs_f64()
    }

    /// Gets a document, whatever its status.
    ///
    /// # Errors
    /// Why there is no document, in a clause.
    pub fn get(&mut self, path: &str, more: &[(&str, &str)]) -> Result<Reply, String> {
        let patience = self.patience()?;
        let reply = self.caller.get(path, more, patience);
        self.note(reply)
    }

    /// Requests an answer from an API.
    ///
    /// # Errors
    /// Why there is no valid one, in a clause: refused, late, or not understood.
    pub fn ask(&mut self, wish: &Wish<'_>) -> Result<Heard, String> {
        let patience = self.patience()?;
        // The field that a question is about stays, and so does a stream.
        let has_to_stay = |name: &str| {
            let is_asked = wish.fields.get(name).is_some();
            is_asked || name == "stream" || (name == "ignore_eos" && wish.ignore_eos)
        };
        let sending = Sending {
            template: &template(self.caller.endpoint(), &self.model, wish)?,
            ask: &Ask { output_tokens: Some(wish.tokens), ..one_token(wish.prompt) },
            expect: Expect { api: wish.api, keep_text: true, stream: wish.stream },
            limit: patience,
            tries: TRIES,
            has_to_stay: &has_to_stay,
        };
        let Exchange { reply, answer, .. } =
            exchange(&mut self.caller, &mut self.rejected, &sending)?;
        let reply = self.note(reply)?;
        match (answer.outcome, &answer.error) {
            (Outcome::Ok | Outcome::OkFiltered, _) => {
                // Some APIs have their own minimum length: only the one that is tested counts.
                if self.api.is_none_or(|api| api == wish.api) {
                    self.lengths.extend(counted(&answer).map(|counted| Length {
                        asked: wish.tokens,
                        counted,
                        finish_reason: answer.finish_reason.clone(),
                    }));
                }
                Ok(Heard { answer, reply })
            }
            (_, Some(error)) => Err(error.clone()),
            (outcome, None) => Err(outcome.word().to_owned()),
        }
    }

    /// Requests an answer from the API that responded. `fields` are added to the body.
    ///
    /// # Errors
    /// As [`Inquiry::ask`]; or that no API answered.
    pub fn say(
        &mut self,
        prompt: &str,
        tokens: u32,
        ignore_eos: bool,
        fields: Value,
    ) -> Result<Heard, String> {
        let api = self.api.ok_or("no API answered")?;
        let prompt = Prompt::Text(prompt.to_owned());
        let stream = self.only_streams;
        self.ask(&Wish { api, prompt: &prompt, tokens, stream, ignore_eos, fields })
    }

    /// Records whether the server keeps answering, and its clock.
    fn note(&mut self, reply: Reply) -> Result<Reply, String> {
        self.late = if reply.is_late() { self.late + 1 } else { 0 };
        if reply.status().is_none() {
            return Err(reply.fault());
        }
        if let Some(bounds) = noted::bounds(&reply) {
            self.clock_bounds.push(bounds);
        }
        Ok(reply)
    }
}

/// A request as bytes.
///
/// # Errors
/// The part that cannot be sent, in a clause.
pub fn written(endpoint: &Endpoint, model: &str, wish: &Wish<'_>) -> Result<Vec<u8>, String> {
    let template = template(endpoint, model, wish)?;
    let mut bytes = RequestBytes::default();
    let ask = Ask { output_tokens: Some(wish.tokens), ..one_token(wish.prompt) };
    template.write(&ask, &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes.to_vec())
}

/// The parts that are the same for every request like this one.
///
/// # Errors
/// The part that cannot be sent, in a clause.
pub fn template(
    endpoint: &Endpoint,
    model: &str,
    wish: &Wish<'_>,
) -> Result<RequestTemplate, String> {
    let path = dialect::path(wish.api, endpoint.url.path(), model, wish.stream);
    let none = Map::new();
    let template = RequestTemplate::new(&TemplateSpec {
        api: wish.api,
        host: &endpoint.url.authority(),
        path: &path,
        model,
        authorization: endpoint.authorization.as_deref(),
        headers: &endpoint.headers,
        stream: wish.stream,
        ignore_eos: wish.ignore_eos,
        temperature: dialect::of(wish.api).takes_temperature.then_some(0.0),
        extra_body: wish.fields.as_object().unwrap_or(&none),
    });
    template.map_err(|error| error.to_string())
}
