//! Where prompts come from: one file per data set, one line in [`DATASETS`].
//!
//! Not here: what an item is (`item`), handing items out and keeping count (`generator`).

pub mod agent_trace;
pub mod agents;
pub mod asr;
pub mod audio;
pub mod burstgpt;
pub mod custom;
pub mod edit;
pub mod mix;
pub mod mlperf_agent;
pub mod mmmu;
pub mod mmstar;
pub mod mooncake;
pub mod numina;
pub mod openai_batch;
pub mod otel;
pub mod prefix_repetition;
pub mod random;
pub mod random_ids;
pub mod sharegpt;
pub mod sharegpt_chat;
pub mod sonnet;
pub mod spec_bench;
pub mod speed_bench;
pub mod vision_arena;
pub mod weka;

use std::fmt;

use crate::{
    error::WorkloadError,
    hub::HubSet,
    item::{Dataset, Turn, WorkItem},
    opening::Opening,
};

/// Opens a data set.
type Open = fn(&mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError>;

/// A kind of data set, as it is named in a workload.
#[derive(Clone, Copy)]
pub struct DatasetKind {
    /// The name before the colon.
    pub name: &'static str,
    /// Other names for it, such as other tools' names.
    pub aliases: &'static [&'static str],
    /// How to write it.
    pub usage: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Whether the server should be asked to go on until the length is reached.
    pub ignore_eos: bool,
    /// Its homes on the hub, the first one the default.
    pub hub: &'static [HubSet],
    pub(crate) open: Open,
}

impl DatasetKind {
    /// Whether this is its name, or one of its other names.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

impl fmt::Debug for DatasetKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DatasetKind").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All kinds of data sets. To add one, add its file and a line.
pub const DATASETS: &[DatasetKind] = &[
    random::KIND,
    random_ids::KIND,
    prefix_repetition::KIND,
    sharegpt::KIND,
    sharegpt_chat::KIND,
    edit::KIND_10K,
    edit::KIND_5K,
    numina::KIND,
    numina::KIND_AIMO,
    sonnet::KIND,
    spec_bench::KIND,
    speed_bench::KIND,
    custom::KIND,
    openai_batch::KIND,
    agent_trace::KIND,
    mooncake::KIND,
    burstgpt::KIND,
    mix::KIND,
    weka::KIND,
    otel::KIND,
    agents::KIND,
    mlperf_agent::KIND,
    audio::KIND,
    asr::KIND,
    vision_arena::KIND,
    mmmu::KIND,
    mmstar::KIND,
];
