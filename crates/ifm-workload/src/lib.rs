#![forbid(unsafe_code)]
//! What to send: prompts of an exact length, and data sets, reproducible from a seed.
//!
//! A speed depends on how long the prompts are and on whether the server has
//! seen them before, so both are made certain here: each prompt encodes to
//! exactly the tokens asked for, and no two prompts share a beginning that a
//! prefix cache could use, unless a shared prefix is asked for. Item `k` depends
//! on the seed and on `k` alone, so any request of a run can be made again.
//!
//! A data set is chosen from its file as the tool chooses that made it known, bit for
//! bit; what was chosen, by which rule and from which bytes stands in the facts.
//!
//! ```
//! use ifm_tokenizer::Tokenizer;
//! use ifm_workload::{WorkloadRequest, open};
//!
//! let tokenizer = Tokenizer::embedded()?;
//! let workload = open(&WorkloadRequest::new("random:1500/250", 7), &tokenizer)?;
//! let item = workload.dataset.item(0)?;
//! let turn = &item.turns[0];
//! assert_eq!(turn.output_tokens, Some(250));
//! assert_eq!(tokenizer.encode(turn.prompt.as_text().unwrap())?.len(), 1500);
//! assert_eq!(workload.facts.items, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Not here
//! Waiting for the time to send (`ifm-drive`), request bodies (`ifm-wire`), tokenizers
//! (`ifm-tokenizer`).

mod arrivals;
mod chain;
pub mod compat;
mod conversation;
mod count;
pub mod dataset;
mod error;
pub mod facts;
pub mod forms;
mod generator;
pub mod hub;
mod item;
mod known;
mod lengths;
mod list;
mod marks;
mod media;
mod open;
mod opening;
mod options;
mod order;
mod playing;
mod preset;
mod preview;
mod prompt;
pub mod request;
mod scale;
mod script;
mod select;
mod source;
mod span;
mod think;
mod thread;
mod trace;
mod value;
mod words;

pub use arrivals::{ArrivalError, Arrivals};
pub use dataset::{DATASETS, DatasetKind, random::RandomSpec};
pub use error::{TOKENS_MAX, WorkloadError};
pub use facts::WorkloadFacts;
pub use forms::Forms;
pub use generator::Generator;
pub use hub::HubAccess;
pub use ifm_made::{Draws, Rng, Stream};
pub use item::{Dataset, FAR_ITEM, Keep, SubAgent, Turn, WorkItem};
pub use known::{KindFacts, MediaFacts, MediaPreview};
pub use lengths::{LengthCounts, LengthPair, LengthRange, Lengths, RangeRatio};
pub use media::{Thumbnail, thumbnail};
pub use open::open;
pub use opening::OpenedWorkload;
pub use preset::{Preset, load as presets};
pub use preview::{Preview, Sample, Sessions, preview};
pub use request::{AfterLast, Answers, Carry, OnBadRow, WorkloadRequest};
pub use scale::{LengthScale, word_texts};
pub use thread::{Begun, Carried, Thread};
