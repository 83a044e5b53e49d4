//! What answers: the embedded engine, or a simulated server.
//!
//! Both take the same requests and give the same events, so everything behind the
//! socket is written once.
//!
//! Not here: HTTP, and what is simulated (`simulated`).

use std::{
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use ifm_engine::{EngineHandle, EventReceiver, GenerateRequest, SubmitError, Tokenizer};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    event::Event,
    facts::{Counters, Facts},
    form::Script,
    simulated::{Simulated, SimulatedError, SimulatedOptions},
};

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

/// The events of one request. Dropping it cancels the request.
#[derive(Debug)]
pub(crate) enum Events {
    Engine(EventReceiver),
    Simulated(mpsc::Receiver<Event>),
    /// Those of another, with a text in the place of theirs.
    Scripted(Box<Events>, Script),
}

impl Events {
    /// The next event; none when the backend is gone.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        match self {
            Self::Engine(events) => events.poll_recv(context).map(|event| event.map(Event::from)),
            Self::Simulated(events) => events.poll_recv(context),
            Self::Scripted(events, script) => {
                let event = ready!(events.poll_next(context));
                Poll::Ready(event.map(|event| script.rewrite(event)))
            }
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
