#![forbid(unsafe_code)]
//! The embedded engine: a real decoder on the CPU with continuous batching.
//!
//! [`Engine::load`] takes a [`ModelSource`] and gives an [`EngineHandle`], to which any
//! thread submits requests; each gets a channel with one event for each token. A thread
//! of the engine's own puts the running requests through the model together.
//! [`Model::time_static_batch`] measures the model without all that.
//!
//! # Models
//! The Llama family: presets with random weights that need no file, GGUF files (`llama`,
//! `qwen2`, `qwen3`) and Hugging Face folders (`llama`, `mistral`, `qwen2`, `qwen3`; floats,
//! or integers of compressed-tensors, AWQ and GPTQ). Of floats any [`Quantization`] can be
//! made while loading. Mixtures of experts, other rotary scalings than linear and Llama
//! 3's, and other families are refused with the reason.
//!
//! # What is real about it
//! Random weights cost what trained ones of their dimensions cost: the speed is real, the
//! text is noise. There is no cache of prompts, so equal prompts cost the same. An answer
//! does not depend on the company it is computed in, up to the rounding of floats; with
//! `q8_0` on processors with AVX-512 VNNI not in a single bit.
//!
//! # Not here
//! HTTP and chat templates (`ifm-serve`), GPUs, speculative decoding, log probabilities.

mod answer;
mod attention;
mod decoder;
#[cfg(test)]
mod decoder_tests;
#[cfg(test)]
mod end_tests;
mod engine;
mod info;
mod kv;
mod kv_format;
mod linear;
mod load;
mod load_error;
mod measure;
mod model;
mod parallel;
mod peaks;
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
#[cfg(test)]
mod variant_tests;
mod weights;

pub use decoder::ComputeError;
pub use engine::{Engine, EngineError, EngineHandle, EngineInfo, EngineOptions, EventReceiver};
pub use info::ModelInfo;
pub use kv::KvExhausted;
pub use kv_format::{KvFormat, UnknownKvFormat};
pub use load_error::LoadError;
pub use measure::{Ceilings, MeasureError, StaticBatch, StaticTiming};
pub use model::{Model, ModelSource};
pub use parallel::{Compute, suggested_threads};
pub use quantization::{Quantization, UnknownQuantization};
pub use request::{Event, Finish, FinishReason, GenerateRequest, SubmitError, Token};
pub use sample::Sampling;
pub use shape::{ModelShape, Preset, UnknownPreset};
pub use stats::EngineStats;
/// Whether this program can compute. Where it cannot (feature `compute`), every door to the kernels is shut
/// with this, and the linker leaves them out.
pub const BUILT: bool = cfg!(feature = "compute");
/// What a program that cannot says.
pub const NOT_BUILT: &str = "this program was built without the embedded engine (slim)";

// What a model computes on is said in the words of the kernels.
pub use ifm_kernels::Isa;
// Requests are in tokens, so who makes them needs the tokenizer's type.
pub use ifm_tokenizer::Tokenizer;
