//! A simulated server: the tokens of `ifm-sim` at their time on the wall.
//!
//! Speed, queues, memory for keys and values and the prefix cache are the simulation's; the
//! text is words drawn at random. An answer has as many tokens as its request allows, because
//! nobody knows where a real model would have ended it: end tokens, stop strings, sampling and
//! minimal lengths change nothing.
//!
//! Not here: the simulation (`ifm-sim`), HTTP.

mod clock;
mod driver;
mod inbox;
mod words;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use ifm_engine::{GenerateRequest, SubmitError, Tokenizer};
use ifm_sim::{Ask, BLOCK_TOKENS, Deployment, Simulation};
use serde_json::json;

use self::{
    clock::Clock,
    driver::{Command, Driver, Start},
    inbox::{Inbox, inbox},
    words::{Words, answer, block_names},
};
use crate::{
    event::Event,
    facts::{Counters, Facts},
};

/// Most requests under way, unless something else is said.
const REQUESTS_MAX: usize = 1 << 16;

/// What is simulated, and how.
#[derive(Debug, Clone)]
pub struct SimulatedOptions {
    /// What is simulated.
    pub deployment: Deployment,
    /// Name of the model.
    pub name: String,
    /// What else the list of models is to tell of it, by name: the kind of server, where its
    /// constants come from.
    pub notes: Vec<(String, String)>,
    /// Most tokens of a prompt and its answer; `None` takes what fits into the memory for keys
    /// and values of one replica.
    pub context: Option<usize>,
    /// Wall time of one second of the simulation, seconds: 0.1 is ten times as fast.
    pub time_scale: f64,
    /// Seed of the texts.
    pub seed: u64,
    /// Most requests under way; further ones are refused.
    pub requests_max: usize,
}

impl SimulatedOptions {
    /// A deployment under the name of its model, at the speed of the clock.
    pub fn new(deployment: Deployment) -> Self {
        Self {
            name: deployment.setup.model().id.clone(),
            notes: Vec::new(),
            context: None,
            time_scale: 1.0,
            seed: 0,
            requests_max: REQUESTS_MAX,
            deployment,
        }
    }
}

/// Why there is no simulated server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulatedError {
    /// Time cannot run at this rate.
    #[error("the time scale is {0}; hint: use more than 0, up to 1000")]
    TimeScale(f64),
    /// There is no tokenizer whose words could be answers.
    #[error("the vocabulary cannot be used: {0}")]
    Vocabulary(String),
    /// The system refused a thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// What the thread of a simulation and its handles share.
#[derive(Debug)]
struct Shared {
    tokenizer: Tokenizer,
    words: Words,
    counters: Mutex<Counters>,
    /// Requests under way.
    requests: AtomicUsize,
    refused_total: AtomicU64,
}

/// A running simulation. Cloning shares it; it ends when the last handle is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Simulated {
    shared: Arc<Shared>,
    inbox: Arc<Inbox<Command>>,
    /// How long after its arrival a request is needed.
    patience: Duration,
    context: usize,
    seed: u64,
    requests_max: usize,
}

impl Simulated {
    /// Starts the thread.
    pub(crate) fn start(options: SimulatedOptions) -> Result<(Self, Facts), SimulatedError> {
        if !(options.time_scale > 0.0 && options.time_scale <= 1000.0) {
            return Err(SimulatedError::TimeScale(options.time_scale));
        }
        let tokenizer =
            Tokenizer::embedded().map_err(|error| SimulatedError::Vocabulary(error.to_string()))?;
        let words = Words::of(&tokenizer);
        if words.is_empty() {
            return Err(SimulatedError::Vocabulary("it has no words".to_owned()));
        }
        let context = context(&options);
        let facts = facts(&options, &tokenizer, context);
        let shared = Arc::new(Shared {
            tokenizer,
            words,
            counters: Mutex::default(),
            requests: AtomicUsize::new(0),
            refused_total: AtomicU64::new(0),
        });
        let (seed, requests_max) = (options.seed, options.requests_max);
        let clock = Clock::new(Instant::now(), options.time_scale);
        let driver = Driver::new(Simulation::new(options.deployment), clock, Arc::clone(&shared));
        let patience = driver.patience();
        let inbox = Arc::new(inbox(|sleeper| {
            let thread = std::thread::Builder::new().name("ifm-sim".to_owned());
            Ok(thread.spawn(move || driver.run(&sleeper))?.thread().clone())
        })?);
        Ok((Self { shared, inbox, patience, context, seed, requests_max }, facts))
    }

    pub(crate) fn tokenizer(&self) -> &Tokenizer {
        &self.shared.tokenizer
    }

    /// Hands in a request that arrived at an instant. Never blocks.
    pub(crate) fn submit(
        &self,
        request: &GenerateRequest,
        arrival: Instant,
    ) -> Result<tokio::sync::mpsc::Receiver<Event>, SubmitError> {
        let Shared { tokenizer, words, requests, refused_total, .. } = &*self.shared;
        request.check(tokenizer.vocab_size() as usize, self.context)?;
        let enter = |waiting: usize| (waiting < self.requests_max).then_some(waiting + 1);
        if let Err(waiting) = requests.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enter) {
            refused_total.fetch_add(1, Ordering::Relaxed);
            return Err(SubmitError::Overloaded { waiting });
        }
        let GenerateRequest { prompt, max_tokens, .. } = request;
        let answer = answer(self.seed, prompt);
        let (output_tokens, text_bytes) = match words.end(&answer, request) {
            Some((tokens, bytes)) => (tokens, Some(bytes)),
            None => (*max_tokens, None),
        };
        let mut drawn = answer.clone();
        let tokens = (0..output_tokens).map(|_| words.draw(&mut drawn).0);
        let ask = Ask {
            // Both are within the context, which is a number of this size.
            prompt_tokens: prompt.len() as u32,
            output_tokens: output_tokens as u32,
            blocks: block_names(prompt.iter().copied().chain(tokens)),
        };
        // One more for the news of a failure.
        let (events, receiver) = tokio::sync::mpsc::channel(max_tokens.saturating_add(1));
        let start = Command::Start(Box::new(Start { arrival, ask, answer, text_bytes, events }));
        match self.inbox.tell(start, arrival + self.patience) {
            true => Ok(receiver),
            false => Err(SubmitError::Stopped),
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        let counters = self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counters = counters.clone();
        counters.engine.refused_total = self.shared.refused_total.load(Ordering::Relaxed);
        counters
    }

    /// Has steps take `factor` times as long from some time on.
    pub(crate) fn throttle(&self, after: Duration, factor: f64) -> bool {
        self.inbox.tell(Command::Throttle { after, factor }, Instant::now())
    }

    /// Forgets all prompts.
    pub(crate) fn clear_cache(&self) -> bool {
        self.inbox.tell(Command::ClearCache, Instant::now())
    }
}

/// Most tokens of a prompt and its answer.
fn context(options: &SimulatedOptions) -> usize {
    let drafts = options.deployment.settings.speculation.map_or(0, |it| u64::from(it.drafts));
    let room = options.deployment.kv_tokens().saturating_sub(drafts).min(u64::from(u32::MAX / 2));
    // A real server refuses requests beyond the context of its model.
    let of_model = options.deployment.setup.model().context_tokens.unwrap_or(u64::MAX);
    options.context.map_or(of_model, |tokens| tokens as u64).min(room) as usize
}

fn facts(options: &SimulatedOptions, tokenizer: &Tokenizer, context: usize) -> Facts {
    let SimulatedOptions { deployment, notes, .. } = options;
    let (setup, settings) = (&deployment.setup, &deployment.settings);
    let machine = setup.machine();
    let mut meta = json!({
        "simulated": true,
        "machine": machine.name,
        "gpus": deployment.gpus() as u64,
        "replicas": settings.replicas,
        "tensor_parallel": setup.gpus() as u64,
        "model": setup.model().name,
        "n_params": setup.model().parameters() as u64,
        "n_vocab": tokenizer.vocab_size(),
        "tokenizer_sha256": tokenizer.sha256(),
        "stored_dtype": setup.precision().weights.id,
        "stored_bytes": setup.weight_bytes() as u64,
        "kv_dtype": setup.precision().kv.id,
        "prefix_cache": settings.prefix_cache,
        "max_batch": settings.sequences,
        "max_batched_tokens": settings.step_tokens,
        "kv_tokens": deployment.kv_tokens(),
        "time_scale": options.time_scale,
    });
    for (name, text) in notes {
        meta[name] = text.as_str().into();
    }
    let cached = if settings.prefix_cache { "True" } else { "False" };
    Facts {
        name: options.name.clone(),
        context,
        bos_id: tokenizer.bos_id(),
        is_simulated: true,
        meta,
        cache: vec![
            ("block_size", BLOCK_TOKENS.to_string()),
            ("num_gpu_blocks", deployment.blocks.to_string()),
            ("enable_prefix_caching", cached.to_owned()),
            ("cache_dtype", setup.precision().kv.id.to_owned()),
        ],
    }
}
