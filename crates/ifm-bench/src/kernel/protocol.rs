//! What is said to a provider of kernels in a child process, and what it answers: one JSON object to a
//! line, on its standard input and output. `docs/reference/kernel-protocol.md` describes it for others.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Version of the protocol.
pub const VERSION: u32 = 1;

/// What is said to a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Order {
    /// Get ready. Answered by [`Answer::Ready`] or [`Answer::Cannot`].
    Load(Load),
    /// Make the inputs of a case and all that it needs, run it once, and write what is checked.
    /// Answered by [`Answer::Prepared`] or [`Answer::Cannot`]. Forgets the case before.
    Prepare {
        /// The case.
        case: Box<Case>,
        /// Another for each case: its inputs are drawn by it.
        seed: u64,
        /// File into which inputs and outputs are written that are checked.
        check: PathBuf,
    },
    /// Time one pass of the case that was prepared. Answered by [`Answer::Timed`] or
    /// [`Answer::Cannot`].
    Time {
        /// Which.
        pass: Pass,
        /// Warm-up runs, which do not count.
        warm_up: u32,
        /// Runs that count.
        repeats: u32,
        /// Bytes that are written before each run, not timed, so that caches hold nothing of it; 0 for
        /// caches as they are.
        flush_bytes: u64,
    },
}

/// What a provider is started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// [`VERSION`].
    pub protocol: u32,
    /// Threads that compute; absent for the provider's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Instructions that may be used, by name; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// What to compute on, such as `cpu` or `cuda:0`; absent for the provider's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// From inputs to outputs.
    Forward,
    /// From the gradient of the outputs to the gradients of the inputs, forward not included.
    Backward,
}

/// What is to be computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The provider's name of the implementation, such as `tiled` or `flex`.
    pub implementation: String,
    /// Type of the inputs: `f32`, `f16`, `bf16`, and what else the provider knows.
    #[serde(rename = "type")]
    pub kind: String,
    /// What.
    #[serde(flatten)]
    pub operation: Operation,
    /// Factor by which the default sides of a product grow on a GPU: a size that fills a processor is too
    /// small to keep a GPU busy. 0 and 1: no growth.
    #[serde(skip)]
    pub grows: u64,
}

impl Case {
    /// The case as it is run on this device.
    pub fn on(&mut self, about: &About) {
        let times = if about.gpu.is_some() { self.grows.max(1) } else { 1 };
        self.grows = 0;
        if let Operation::Gemm { m, n, k } = &mut self.operation {
            for side in [m, n, k] {
                *side = side.saturating_mul(times);
            }
        }
    }
}

/// An operation and its sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum Operation {
    /// `softmax(score(q k^T / sqrt(width)) where the mask allows) v`.
    Attention(Attention),
    /// `a b`: `m` x `k` times `k` x `n`.
    Gemm {
        /// Rows of `a`.
        m: u64,
        /// Columns of `b`.
        n: u64,
        /// Columns of `a`.
        k: u64,
    },
    /// Moving numbers.
    Bandwidth {
        /// Bytes of one array.
        bytes: u64,
    },
}

/// Attention with its sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attention {
    /// Sequences.
    pub batch: u64,
    /// Heads of the queries, a multiple of `kv_heads`.
    pub query_heads: u64,
    /// Heads of keys and values.
    pub kv_heads: u64,
    /// Queries of a sequence.
    pub queries: u64,
    /// Its keys.
    pub keys: u64,
    /// Width of a head.
    pub width: u64,
    /// Passes that will be timed.
    pub passes: Vec<Pass>,
    /// The mask.
    pub mask: Mask,
    /// Side of a block of the mask.
    pub block: u64,
    /// Sequence of which one head of keys, and the heads of queries that share it, are checked.
    pub check_batch: u64,
    /// That head of keys.
    pub check_kv_head: u64,
}

impl Attention {
    /// The same under another mask.
    #[must_use]
    pub fn under(self, mask: Mask) -> Attention {
        Attention { mask, ..self }
    }
}

/// A mask, in a form that needs no knowledge of its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mask {
    /// How it was asked for, such as `sliding:1024`.
    pub name: String,
    /// Which pairs are allowed, as an expression of integers that Python and its tensors understand:
    /// `q` is the position of the query, `k` that of the key, `h` the head of the query, and each
    /// table is a name to be indexed; `&`, `|` and `~` join. Absent where all are allowed. A query's
    /// position is its number plus `keys` - `queries`: the last query is at the last key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows: Option<String>,
    /// The tables of `allows`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, Vec<i64>>,
    /// Whether it is the plain causal mask, which implementations know by name.
    pub is_causal: bool,
    /// How a score is changed.
    pub score: Score,
}

/// How a score `s` is changed before the softmax.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Score {
    /// `s`.
    Plain,
    /// `s + (k - q) 2^(-8 (h + 1) / query_heads)` (Press et al. 2022), `q` the position.
    Alibi,
    /// `cap tanh(s / cap)`.
    Softcap {
        /// The cap.
        cap: f64,
    },
    /// The same with whatever quick tanh the implementation has.
    SoftcapApprox {
        /// The cap.
        cap: f64,
    },
}

/// What a provider answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Answer {
    /// It is ready.
    Ready(Box<About>),
    /// The case is prepared.
    Prepared(Prepared),
    /// Times of each run that counted.
    Timed(Timed),
    /// It cannot; the case, or the pass, is given up, and others can be asked for.
    Cannot {
        /// Why, in one sentence without end mark.
        why: String,
    },
}

/// What a provider reports about itself. What it does not know is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Its name, such as `torch`.
    pub provider: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it computes on: `cpu`, `cuda`.
    pub device: String,
    /// The accelerator's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// Threads that compute, on a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Instructions in use, on a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Versions of what it rests on, by name: `python`, `cuda`, `triton`, `flash_attn`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
}

/// What is known once a case is prepared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prepared {
    /// Names of the kernels that run, if known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<String>,
    /// To make the block mask, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mask_ns: Option<u64>,
    /// To compile, first run included, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compile_ns: Option<u64>,
    /// Passes that cannot be run, with the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cannot: BTreeMap<Pass, String>,
    /// What is computed where that is not what was asked for, such as `causal alone, whatever the
    /// mask`: such a row is checked against what it computes, and is no rival of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computes: Option<Mask>,
    /// Operations of the forward and of the backward pass by the rule of the tool from which the
    /// implementation is known, where it has another than ours.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub own_flop: BTreeMap<Pass, f64>,
}

/// Times of runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timed {
    /// Each run by the monotonic clock, nanoseconds.
    pub wall_ns: Vec<u64>,
    /// Each run on processors, all threads together, nanoseconds; empty where unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu_ns: Vec<u64>,
    /// Each run by the device's own clock, nanoseconds; empty where it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_ns: Vec<u64>,
    /// Most memory that the case took, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
}
