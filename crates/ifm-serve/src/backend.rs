//! What answers: the embedded engine, or a simulated server.
//!
//! Both take the same requests and give the same events, so everything behind the
//! socket is written once.
//!
//! Not here: HTTP, and what is simulated (`simulated`).

use std::{
    task::{Context, Poll},
    time::{Duration, Instant},
};

use ifm_engine::{
    EngineHandle, EngineStats, EventReceiver, FinishReason, GenerateRequest, SubmitError, Tokenizer,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::simulated::{Simulated, SimulatedError, SimulatedOptions};

/// What answers the requests of a server.
#[derive(Debug, Clone)]
pub struct Backend {
    kind: Kind,
    facts: Facts,
}

#[derive(Debug, Clone)]
enum Kind {
    Engine(EngineHandle),
    Simulated(Simulated),
}

/// What a backend is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Facts {
    /// The model's own name.
    pub(crate) name: String,
    /// Most tokens of a prompt and its answer.
    pub(crate) context: usize,
    /// The token that starts a text, if the model wants one.
    pub(crate) bos_id: Option<u32>,
    /// Whether time and tokens are made up.
    pub(crate) is_simulated: bool,
    /// What the list of models tells beside that.
    pub(crate) meta: Value,
    /// How keys and values are kept: labels of `vllm:cache_config_info`.
    pub(crate) cache: Vec<(&'static str, String)>,
}

/// A reading of a backend's counters. Totals only grow; what a backend cannot have is
/// absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Counters {
    pub(crate) engine: EngineStats,
    /// Requests that were put off after they had started.
    pub(crate) preemptions_total: u64,
    /// Tokens of prompts looked up in the prefix cache, and those found.
    pub(crate) prefix_queries_total: u64,
    pub(crate) prefix_hits_total: u64,
    /// Tokens that a second model guessed.
    pub(crate) drafts: Option<Drafts>,
}

/// What became of guessed tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Drafts {
    /// Guesses of several tokens each.
    pub(crate) drafts_total: u64,
    /// Tokens guessed.
    pub(crate) tokens_total: u64,
    /// Tokens taken.
    pub(crate) accepted_total: u64,
    /// Tokens taken, by their place in the guess.
    pub(crate) accepted_by_position: Vec<u64>,
}

/// One event of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// The next tokens.
    Piece(Piece),
    /// The request cannot be completed; nothing follows.
    Failed(String),
}

/// Tokens that came at once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    /// The text that they complete; may be empty.
    pub(crate) text: String,
    /// How many, at least 1.
    pub(crate) tokens: usize,
    /// When a simulation says that a client sees it.
    pub(crate) due: Option<Instant>,
    /// Set on the last piece.
    pub(crate) finish: Option<Finish>,
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Finish {
    pub(crate) reason: FinishReason,
    pub(crate) prompt_tokens: usize,
    pub(crate) completion_tokens: usize,
    /// Tokens of the prompt that were found in the prefix cache, where that is known.
    pub(crate) cached_tokens: Option<usize>,
    /// How long things took, where the backend knows.
    pub(crate) times: Option<Times>,
}

/// How long things took for a request, nanoseconds of the clock on the wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    /// From its arrival until it was first part of a step.
    pub(crate) queued_ns: u64,
    /// From then to the first token.
    pub(crate) first_token_ns: u64,
    /// From the first token to the last.
    pub(crate) generation_ns: u64,
}

/// The events of one request. Dropping it cancels the request.
#[derive(Debug)]
pub(crate) enum Events {
    Engine(EventReceiver),
    Simulated(mpsc::Receiver<Event>),
}

impl Events {
    /// The next event; none when the backend is gone.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        match self {
            Self::Engine(events) => events.poll_recv(context).map(|event| event.map(Event::from)),
            Self::Simulated(events) => events.poll_recv(context),
        }
    }
}

impl From<ifm_engine::Event> for Event {
    fn from(event: ifm_engine::Event) -> Self {
        match event {
            ifm_engine::Event::Token(token) => Self::Piece(Piece {
                text: token.text,
                tokens: 1,
                due: None,
                finish: token.finish.map(|finish| Finish {
                    reason: finish.reason,
                    prompt_tokens: finish.prompt_tokens,
                    completion_tokens: finish.completion_tokens,
                    // There is no such cache.
                    cached_tokens: Some(0),
                    times: None,
                }),
            }),
            ifm_engine::Event::Failed(reason) => Self::Failed(reason),
        }
    }
}

impl Backend {
    /// A simulated server, which runs from now on.
    ///
    /// # Errors
    /// [`SimulatedError`].
    pub fn simulate(options: SimulatedOptions) -> Result<Self, SimulatedError> {
        let (simulated, facts) = Simulated::start(options)?;
        Ok(Self { kind: Kind::Simulated(simulated), facts })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn tokenizer(&self) -> &Tokenizer {
        match &self.kind {
            Kind::Engine(engine) => engine.tokenizer(),
            Kind::Simulated(simulated) => simulated.tokenizer(),
        }
    }

    /// Hands in a request that arrived at an instant. Never blocks.
    pub(crate) fn submit(
        &self,
        request: GenerateRequest,
        arrival: Instant,
    ) -> Result<Events, SubmitError> {
        match &self.kind {
            Kind::Engine(engine) => engine.submit(request).map(Events::Engine),
            Kind::Simulated(simulated) => {
                simulated.submit(&request, arrival).map(Events::Simulated)
            }
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        match &self.kind {
            Kind::Engine(engine) => Counters { engine: engine.stats(), ..Counters::default() },
            Kind::Simulated(simulated) => simulated.counters(),
        }
    }

    /// Has steps take `factor` times as long from some time on; `false` where that cannot be.
    pub(crate) fn throttle(&self, after: Duration, factor: f64) -> bool {
        match &self.kind {
            Kind::Engine(_) => false,
            Kind::Simulated(simulated) => simulated.throttle(after, factor),
        }
    }

    /// Forgets all prompts; `false` where none are remembered.
    pub(crate) fn reset_prefix_cache(&self) -> bool {
        match &self.kind {
            Kind::Engine(_) => false,
            Kind::Simulated(simulated) => simulated.clear_cache(),
        }
    }
}

impl From<EngineHandle> for Backend {
    fn from(engine: EngineHandle) -> Self {
        let info = engine.info();
        let model = &info.model;
        let facts = Facts {
            name: model.name.clone(),
            context: engine.context(),
            bos_id: model.bos_id,
            is_simulated: false,
            meta: json!({
                "architecture": model.architecture,
                "n_params": model.parameters,
                "n_vocab": model.shape.vocabulary,
                "tokenizer_sha256": engine.tokenizer().sha256(),
                "n_embd": model.shape.embedding,
                "variant": model.variant,
                "stored_dtype": model.stored_dtype,
                "stored_bytes": model.stored_bytes,
                "bits_per_weight": model.bits_per_weight,
                "compute_dtype": model.compute_dtype,
                "kv_dtype": model.kv_dtype,
                "instruction_set": model.instruction_set,
                "threads": model.threads,
                "random_seed": model.random_seed,
                "prefix_cache": model.prefix_cache,
                "max_batch": info.max_batch,
                "kv_tokens": info.kv_tokens,
            }),
            cache: vec![
                ("enable_prefix_caching", "False".to_owned()),
                ("cache_dtype", model.kv_dtype.clone()),
                ("kv_cache_tokens", info.kv_tokens.to_string()),
            ],
        };
        Self { kind: Kind::Engine(engine), facts }
    }
}
