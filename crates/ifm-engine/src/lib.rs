#![forbid(unsafe_code)]
//! The embedded engine: a real decoder on the CPU with continuous batching.

mod attention;
mod decoder;
#[cfg(test)]
mod decoder_tests;
mod kv;
mod linear;
mod load;
mod measure;
mod model;
mod parallel;
mod quantization;
mod random;
mod rope;
mod sample;
mod shape;
mod simd;
mod weights;

pub use decoder::ComputeError;
pub use load::LoadError;
pub use measure::{MeasureError, StaticBatch, StaticTiming};
pub use model::{Model, ModelInfo, ModelSource};
pub use parallel::{
    restart_with_threads, suggested_threads, thread_environment, threads_in_effect,
};
pub use quantization::{Quantization, UnknownQuantization};
pub use sample::Sampling;
pub use shape::{ModelShape, Preset, UnknownPreset};
