//! The engine: a model, a thread that runs it, and a handle to hand it requests.
//!
//! Not here: how requests share the model (`scheduler`), HTTP (`ifm-serve`).

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::Ordering,
        mpsc::{Sender, channel},
    },
    thread::JoinHandle,
};

use tokio::sync::mpsc;

use crate::{
    BUILT,
    info::ModelInfo,
    kv::{TILE_TOKENS, tiles_for},
    load_error::LoadError,
    model::{Model, ModelSource},
    parallel::Compute,
    request::{Event, GenerateRequest, SubmitError},
    scheduler::{Command, Limits, Scheduler},
    sequence::Sequence,
    stats::{Counters, EngineStats, count},
};

use ifm_tokenizer::Tokenizer;

/// The events of one request. Dropping it cancels the request.
pub type EventReceiver = mpsc::Receiver<Event>;

/// Memory for keys and values when nothing is said, in bytes: a quarter of a small
/// machine, and far more than the presets need.
const KV_BYTES_DEFAULT: usize = 1 << 30;

/// How an engine works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineOptions {
    /// Threads that compute, and the instructions they use.
    pub compute: Compute,
    /// Most tokens of a prompt and its answer; `None` takes what the model is made for,
    /// up to 32,768.
    pub context: Option<usize>,
    /// Most requests at once in a pass.
    pub max_batch: usize,
    /// Most tokens of prompts in a pass: more makes prompts quicker, and the others'
    /// next token later.
    pub prefill_chunk: usize,
    /// Tokens of memory for keys and values, over all requests; `None` takes the
    /// context for every place in the batch, within a gibibyte and the memory left after the
    /// weights, but at least once.
    pub kv_tokens: Option<usize>,
    /// Most requests that wait; further ones are refused.
    pub waiting_max: usize,
    /// Bytes that the machine has left; what does not fit is refused before it is read.
    /// `None` takes the model as it is.
    pub available_bytes: Option<u64>,
}

impl EngineOptions {
    /// Values that suit a demonstration and a test: 32 requests at once, prompts in
    /// chunks of 128 tokens, 1024 requests waiting.
    ///
    /// Chunks of 128 keep their activations in the second-level cache: `tiny` computes a
    /// prompt of 2048 tokens in them at 4760 tokens per CPU second, at 3760 in chunks of
    /// 512, at 4020 in chunks of 32; and the others' next token waits 25 ms, not 110.
    pub fn suggested() -> Self {
        Self {
            compute: Compute::default(),
            context: None,
            max_batch: 32,
            prefill_chunk: 128,
            kv_tokens: None,
            waiting_max: 1024,
            available_bytes: None,
        }
    }
}

/// Why an engine could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The model could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// An option is zero.
    #[error("{option} is 0; hint: use at least 1")]
    Zero {
        /// Its name.
        option: &'static str,
    },
    /// The system refused a thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// What an engine is, for records and reports.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineInfo {
    /// The model.
    pub model: ModelInfo,
    /// Most tokens of a prompt and its answer.
    pub context: usize,
    /// Most requests at once in a pass.
    pub max_batch: usize,
    /// Most tokens of prompts in a pass.
    pub prefill_chunk: usize,
    /// Tokens of memory for keys and values.
    pub kv_tokens: usize,
    /// The same in bytes. Taken when needed, never given back.
    pub kv_bytes: usize,
    /// Most requests that wait.
    pub waiting_max: usize,
}

/// Starts engines.
#[derive(Debug)]
pub struct Engine;

impl Engine {
    /// Loads a model and starts the thread that runs it.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn load(source: &ModelSource, options: EngineOptions) -> Result<EngineHandle, EngineError> {
        if options.compute.threads == 0 {
            return Err(EngineError::Zero { option: "threads" });
        }
        let prepared = Model::prepare(source, options.context, options.compute.kv)?;
        if let Some(available_bytes) = options.available_bytes {
            let shape = &prepared.shape;
            let kv_tokens = options.kv_tokens.unwrap_or(shape.context_max);
            let kv_bytes = kv_tokens.saturating_mul(shape.kv_bytes_per_token()) as u64;
            prepared.check_memory(kv_bytes, available_bytes)?;
        }
        Self::start(Model::finish(prepared, options.compute)?, options)
    }

    /// Starts the thread that runs a model.
    ///
    /// # Errors
    /// [`EngineError::Zero`] and [`EngineError::Thread`].
    pub fn start(model: Model, options: EngineOptions) -> Result<EngineHandle, EngineError> {
        if !BUILT {
            return Err(LoadError::NotBuilt.into());
        }
        let nonzero = [
            ("max_batch", options.max_batch),
            ("prefill_chunk", options.prefill_chunk),
            ("context", model.decoder.shape().context_max),
            ("kv_tokens", options.kv_tokens.unwrap_or(1)),
        ];
        for (option, value) in nonzero {
            if value == 0 {
                return Err(EngineError::Zero { option });
            }
        }
        let context = model.decoder.shape().context_max;
        let token_bytes = model.decoder.shape().kv_bytes_per_token();
        let kv_tokens = options.kv_tokens.unwrap_or_else(|| {
            let wanted = options.max_batch.saturating_mul(context);
            let left = options.available_bytes.map(|bytes| {
                usize::try_from(bytes.saturating_sub(model.info().stored_bytes))
                    .unwrap_or(usize::MAX)
            });
            let most = KV_BYTES_DEFAULT.min(left.unwrap_or(usize::MAX));
            wanted.min(most / token_bytes.max(1)).max(context)
        });
        let kv_tokens = tiles_for(kv_tokens) * TILE_TOKENS;
        let info = EngineInfo {
            model: model.info().clone(),
            context,
            max_batch: options.max_batch,
            prefill_chunk: options.prefill_chunk,
            kv_tokens,
            kv_bytes: kv_tokens * token_bytes,
            waiting_max: options.waiting_max,
        };
        let model = Arc::new(model);
        let counters = Arc::new(Counters::default());
        let limits = Limits { max_batch: options.max_batch, prefill_chunk: options.prefill_chunk };
        let scheduler =
            Scheduler::new(Arc::clone(&model), limits, kv_tokens, Arc::clone(&counters));
        let (commands, inbox) = channel();
        let thread = std::thread::Builder::new()
            .name("ifm-engine".to_owned())
            .spawn(move || scheduler.run(&inbox))?;
        Ok(EngineHandle {
            shared: Arc::new(Shared {
                info,
                model,
                counters,
                commands,
                thread: Mutex::new(Some(thread)),
            }),
        })
    }
}

/// A running engine. Cloning shares it; it stops when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct EngineHandle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    info: EngineInfo,
    model: Arc<Model>,
    counters: Arc<Counters>,
    commands: Sender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl EngineHandle {
    /// Hands in a request. Its events come one for each token; dropping the receiver
    /// cancels it.
    ///
    /// Never blocks. The channel is bounded by the tokens that the request may have.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn submit(&self, request: GenerateRequest) -> Result<EventReceiver, SubmitError> {
        let (info, context) = (&self.shared.info, self.context());
        request.check(info.model.shape.vocabulary, context)?;
        let counters = &self.shared.counters;
        let waiting_max = self.shared.info.waiting_max;
        let enter = |waiting: usize| (waiting < waiting_max).then_some(waiting + 1);
        let entered = counters.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enter);
        if let Err(waiting) = entered {
            count(&counters.refused, 1);
            return Err(SubmitError::Overloaded { waiting });
        }
        // One more for the news of a failure.
        let (events, receiver) = mpsc::channel(request.max_tokens.saturating_add(1));
        let sequence = Sequence::new(request, events, self.tokenizer());
        if self.shared.commands.send(Command::Start(Box::new(sequence))).is_err() {
            counters.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(SubmitError::Stopped);
        }
        Ok(receiver)
    }

    /// Most tokens of a prompt and its answer: the context, or the whole memory for keys and
    /// values if that is less.
    pub fn context(&self) -> usize {
        let info = &self.shared.info;
        info.context.min(info.kv_tokens)
    }

    /// What the engine is.
    pub fn info(&self) -> &EngineInfo {
        &self.shared.info
    }

    /// What the engine is doing and has done.
    pub fn stats(&self) -> EngineStats {
        self.shared.counters.read(self.shared.info.kv_tokens)
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        self.shared.model.tokenizer()
    }

    /// Stops the engine: running and waiting requests fail, and the thread ends before
    /// this returns. Further requests are refused.
    pub fn shutdown(&self) {
        // A thread that has ended cannot be reached, and need not be.
        let _ = self.shared.commands.send(Command::Shutdown);
        let thread = self.shared.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}
