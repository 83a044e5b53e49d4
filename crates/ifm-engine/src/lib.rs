#![forbid(unsafe_code)]
//! The embedded engine: a real decoder on the CPU with continuous batching.

mod answer;
mod attention;
mod decoder;
#[cfg(test)]
mod decoder_tests;
#[cfg(test)]
mod end_tests;
mod engine;
mod kv;
mod linear;
mod load;
mod measure;
mod model;
mod parallel;
mod quantization;
mod random;
mod request;
mod rope;
mod sample;
mod scheduler;
mod sequence;
mod shape;
mod simd;
mod stats;
mod weights;

pub use decoder::ComputeError;
pub use engine::{Engine, EngineError, EngineHandle, EngineInfo, EngineOptions, EventReceiver};
pub use kv::KvExhausted;
pub use load::LoadError;
pub use measure::{MeasureError, StaticBatch, StaticTiming};
pub use model::{Model, ModelInfo, ModelSource};
pub use parallel::{
    restart_with_threads, suggested_threads, thread_environment, threads_in_effect,
};
pub use quantization::{Quantization, UnknownQuantization};
pub use request::{Event, Finish, FinishReason, GenerateRequest, SubmitError, Token};
pub use sample::Sampling;
pub use shape::{ModelShape, Preset, UnknownPreset};
pub use stats::EngineStats;
// Requests are in tokens, so who makes them needs the tokenizer's type.
pub use ifm_tokenizer::Tokenizer;
