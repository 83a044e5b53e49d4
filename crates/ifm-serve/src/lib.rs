#![forbid(unsafe_code)]
//! The OpenAI-compatible HTTP server in front of the embedded engine or a simulated server,
//! and faults on demand.
//!
//! `POST /v1/chat/completions` and `/v1/completions`, streamed or whole, with the
//! extensions of vLLM that load generators use (`min_tokens`, `ignore_eos`,
//! `continuous_usage_stats`); `GET /v1/models`, `/health`, `/version` and `/metrics`
//! (Prometheus, in vLLM's names); `POST /tokenize` and `/detokenize`;
//! `POST /v1/audio/transcriptions`, `translations` and `speech`, made up at a stated pace. The same
//! answers in the words of other APIs: OpenAI's Responses, Anthropic's Messages, Ollama's, SGLang's and
//! llama.cpp's own.
//!
//! Made to be measured: every generated token is one event, and every event is sent at
//! once and on its own, so what a client sees is what the engine did.
//!
//! # Not here
//! Inference (`ifm-engine`), several choices for a request, log probabilities, tools, TLS.
//! Images, audio and video are counted and cost time; nothing looks at them.

mod app;
mod audio;
mod backend;
mod body;
mod browser;
mod chat;
mod completions;
mod error;
mod event;
mod facts;
mod fault;
mod fields;
mod foreign;
mod form;
mod frames;
mod generate;
mod media;
mod metrics;
mod options;
mod params;
mod router;
mod server;
mod simulated;
mod socket;
mod stopwatch;
mod stream;
mod template;
mod tokenize;

pub use backend::Backend;
pub use browser::BrowserAccess;
pub use fault::{Fault, FaultError, Faults, HowCut, KNOWN as KNOWN_FAULTS};
pub use ifm_listen::{Limits, Shutdown};
pub use media::{ImageTokens, MediaOptions};
pub use options::ServeOptions;
pub use server::{ServeError, Server, serve};
pub use simulated::{SimulatedError, SimulatedOptions};
