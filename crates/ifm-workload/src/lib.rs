#![forbid(unsafe_code)]
//! What to send: prompts of an exact length, reproducible from a seed.
//!
//! A speed depends on how long the prompts are and on whether the server has
//! seen them before, so both are made certain here: each prompt encodes to
//! exactly the tokens asked for, and no two prompts share a beginning that a
//! prefix cache could use, unless a shared prefix is asked for. Item `k` depends
//! on the seed and on `k` alone, so any request of a run can be made again.
//!
//! ```
//! use ifm_tokenizer::Tokenizer;
//! use ifm_workload::{Generator, RandomSpec, Shape};
//!
//! let tokenizer = Tokenizer::embedded()?;
//! let shape: Shape = "random:1500/250".parse()?;
//! let mut generator = Generator::random(&RandomSpec::from_shape(&shape, 7), &tokenizer)?;
//! let item = generator.next_item()?;
//! let turn = &item.turns[0];
//! assert_eq!(turn.output_tokens, Some(250));
//! assert_eq!(tokenizer.encode(turn.prompt.as_text().unwrap())?.len(), 1500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Not here
//! Waiting for the time to send (`ifm-drive`), request bodies (`ifm-wire`), tokenizers
//! (`ifm-tokenizer`).

mod arrivals;
pub mod compat;
mod conversation;
mod count;
pub mod dataset;
mod error;
pub mod facts;
mod generator;
pub mod hub;
mod lengths;
mod list;
mod open;
mod options;
mod order;
mod preset;
mod preview;
mod prompt;
pub mod request;
mod rng;
mod scale;
mod select;
mod shape;
mod source;
mod think;
mod trace;
mod value;
mod words;

pub use arrivals::{ArrivalError, Arrivals};
pub use dataset::{DATASETS, Dataset, DatasetKind, Turn, WorkItem, random::RandomSpec};
pub use error::WorkloadError;
pub use facts::WorkloadFacts;
pub use generator::Generator;
pub use hub::HubAccess;
pub use lengths::{LengthCounts, LengthPair, LengthRange, Lengths, RangeRatio, TOKENS_MAX};
pub use open::{OpenedWorkload, kind_of, open};
pub use preset::{Preset, load as presets};
pub use preview::{Preview, Sample, preview};
pub use request::{AfterLast, Answers, OnBadRow, WorkloadRequest};
pub use rng::{Draws, Rng, Stream};
pub use scale::{LengthScale, word_texts};
pub use shape::{SCENARIOS, Scenario, Shape};
