//! An attention that was prepared once and runs again and again.
//!
//! Not here: what is computed for a strip (`forward`, `backward`, `naive`).

use std::{
    fmt,
    str::FromStr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use pulp::Arch;

use super::{
    backward,
    buffer::{Buffer, Shared},
    element::{Element, Numbers},
    forward, naive, pack,
    plan::{PANEL, Plan},
    rule::{Alibi, Factors, Plain, Rule, Softcap, SoftcapApprox},
    shape::{Shape, ShapeError},
};
use crate::{
    Isa, Pool, RandomStream,
    mask::{Blocks, PlacedMask, Score},
    simd::arch_of,
};

/// How it is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Query by query with a row of all its scores, one number at a time: what one would write
    /// first. Pairs that are not allowed are left out.
    Naive,
    /// Tiles with an online softmax, all of them, and every pair is tested: dense attention with a
    /// mask. Under the mask `full` nothing is tested.
    Tiled,
    /// The same tiles, of which those in empty blocks of the mask are left out, and those in full
    /// blocks not tested.
    Sparse,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Naive, Self::Tiled, Self::Sparse];

    /// The spelling that [`Method::from_str`] reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Tiled => "tiled",
            Self::Sparse => "sparse",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is not a valid [`Method`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown method `{0}`: known are naive, tiled and sparse")]
pub struct UnknownMethod(pub String);

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

/// What an attention is made for.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// Its sizes.
    pub shape: Shape,
    /// Its mask, placed for the queries and keys of the shape.
    pub mask: &'a PlacedMask,
    /// How it is computed.
    pub method: Method,
    /// Type of inputs and outputs.
    pub element: Element,
    /// Instructions that it may use. `Naive` uses what the compiler makes of plain floats.
    pub isa: Isa,
    /// Side of a block of the mask, tokens.
    pub block: usize,
    /// Draws the inputs.
    pub seed: u64,
}

/// Why an attention cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The shape cannot be.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The mask is placed for other sizes.
    #[error("the mask is for {0} queries and {1} keys, the shape has different numbers")]
    Mask(u64, u64),
    /// A block has no side.
    #[error("a block of the mask has a side of at least 1")]
    Block,
    /// The processor lacks the instructions.
    #[error("this processor has no {0}")]
    Isa(Isa),
}

/// Inputs and outputs of one head of keys, as floats: rows of `width`. What belongs to queries has
/// one head of the group after another.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// Queries.
    pub q: Vec<f32>,
    /// Keys.
    pub k: Vec<f32>,
    /// Values.
    pub v: Vec<f32>,
    /// Gradient of the output, given.
    pub dout: Vec<f32>,
    /// Output of the last forward pass.
    pub out: Vec<f32>,
    /// Gradients of the last backward pass: of queries,
    pub dq: Vec<f32>,
    /// of keys,
    pub dk: Vec<f32>,
    /// and of values.
    pub dv: Vec<f32>,
}

/// An attention with its inputs, outputs and all memory that it needs.
#[derive(Debug)]
pub struct Attention {
    pub(super) plan: Plan,
    pub(super) method: Method,
    pub(super) arch: Arch,
    pub(super) factors: Factors,
    pub(super) mask_time: Duration,
    pub(super) inputs: Inputs,
    pub(super) outputs: Outputs,
    /// For each query the log2 of its weights' sum, distances counted from its reference key;
    /// infinity where it has no key, so that no weight is above 0.
    pub(super) sums: Vec<f32>,
    pub(super) packed: Packed,
    pub(super) forward_rooms: Mutex<Vec<forward::Scratch>>,
    pub(super) backward_rooms: Mutex<Vec<backward::Scratch>>,
}

#[derive(Debug)]
pub(super) struct Inputs {
    pub(super) q: Numbers,
    pub(super) k: Numbers,
    pub(super) v: Numbers,
    pub(super) dout: Numbers,
}

#[derive(Debug)]
pub(super) struct Outputs {
    pub(super) out: Numbers,
    pub(super) dq: Numbers,
    pub(super) dk: Numbers,
    pub(super) dv: Numbers,
}

/// Inputs as kernels take them, and what lies between. What only one pass needs grows in its first
/// run.
#[derive(Debug, Default)]
pub(super) struct Packed {
    pub(super) q: Buffer,
    pub(super) k: Buffer,
    pub(super) v: Buffer,
    pub(super) dout: Buffer,
    pub(super) k_panels: Buffer,
    pub(super) v_panels: Buffer,
    pub(super) deltas: Buffer,
    /// For each share of a head gradients of queries.
    pub(super) dq: Buffer,
    /// Of the naive method.
    pub(super) dk: Buffer,
    pub(super) dv: Buffer,
}

/// Takes a room from those that are free, or makes one.
pub(super) fn borrow<T>(rooms: &Mutex<Vec<T>>, make: impl FnOnce() -> T) -> T {
    let free = rooms.lock().unwrap_or_else(PoisonError::into_inner).pop();
    free.unwrap_or_else(make)
}

pub(super) fn give_back<T>(rooms: &Mutex<Vec<T>>, room: T) {
    rooms.lock().unwrap_or_else(PoisonError::into_inner).push(room);
}

impl Attention {
    /// Prepares an attention: draws standard normal inputs, examines the mask, allocates memory.
    ///
    /// # Errors
    /// When shape, mask or block do not fit, or the processor lacks the instructions.
    pub fn new(setup: &Setup<'_>) -> Result<Self, SetupError> {
        let (shape, mask) = (setup.shape, setup.mask);
        shape.check()?;
        if (mask.queries(), mask.keys()) != (shape.queries as u64, shape.keys as u64) {
            return Err(SetupError::Mask(mask.queries(), mask.keys()));
        }
        if setup.block == 0 {
            return Err(SetupError::Block);
        }
        if !setup.isa.is_here() {
            return Err(SetupError::Isa(setup.isa));
        }
        let start = Instant::now();
        let plan = Plan::new(shape, mask, setup.block, setup.method == Method::Sparse);
        let mask_time = start.elapsed();
        let draw = |name, count| {
            Numbers::normal(setup.element, count, RandomStream::new(setup.seed, name))
        };
        let zeros = |count| Numbers::zeros(setup.element, count);
        let (queries, keys) = (shape.query_numbers(), shape.key_numbers());
        let factors = match plan.score {
            Score::Plain => Plain.factors(shape.width),
            Score::Alibi => Alibi(0.0).factors(shape.width),
            Score::Softcap(cap) => Softcap(cap).factors(shape.width),
            Score::SoftcapApprox(cap) => SoftcapApprox(cap).factors(shape.width),
        };
        Ok(Self {
            method: setup.method,
            arch: arch_of(setup.isa),
            factors,
            mask_time,
            inputs: Inputs {
                q: draw("queries", queries),
                k: draw("keys", keys),
                v: draw("values", keys),
                dout: draw("output gradients", queries),
            },
            outputs: Outputs {
                out: zeros(queries),
                dq: zeros(queries),
                dk: zeros(keys),
                dv: zeros(keys),
            },
            sums: vec![f32::INFINITY; shape.batch * shape.query_heads * shape.queries],
            packed: Packed::default(),
            forward_rooms: Mutex::default(),
            backward_rooms: Mutex::default(),
            plan,
        })
    }

    /// Its sizes.
    pub fn shape(&self) -> &Shape {
        &self.plan.shape
    }

    /// Blocks of the mask: for all heads at once, or for each head of queries where they differ.
    pub fn blocks(&self) -> &[Blocks] {
        &self.plan.blocks
    }

    /// How long it took to examine the mask.
    pub fn mask_time(&self) -> Duration {
        self.mask_time
    }

    /// Bytes of inputs, outputs and all that lies between, as far as passes have run.
    pub fn bytes(&self) -> usize {
        let (inputs, outputs, packed) = (&self.inputs, &self.outputs, &self.packed);
        let numbers = [
            &inputs.q,
            &inputs.k,
            &inputs.v,
            &inputs.dout,
            &outputs.out,
            &outputs.dq,
            &outputs.dk,
            &outputs.dv,
        ];
        let buffers = [
            &packed.q,
            &packed.k,
            &packed.v,
            &packed.dout,
            &packed.k_panels,
            &packed.v_panels,
            &packed.deltas,
            &packed.dq,
            &packed.dk,
            &packed.dv,
        ];
        let numbers: usize = numbers.into_iter().map(Numbers::bytes).sum();
        let floats: usize = buffers.into_iter().map(|buffer| buffer.len()).sum();
        numbers + (floats + self.sums.len()) * size_of::<f32>()
    }

    /// Sequences times heads of queries, and of keys.
    pub(super) fn heads(&self) -> (usize, usize) {
        let shape = self.plan.shape;
        (shape.batch * shape.query_heads, shape.batch * shape.kv_heads)
    }

    /// Computes the output. Memory is taken in the first run only.
    pub fn forward(&mut self, pool: &Pool) {
        let (query_heads, kv_heads) = self.heads();
        let plan = &self.plan;
        let (shape, stride) = (plan.shape, plan.stride);
        let (packed, inputs) = (&mut self.packed, &self.inputs);
        packed.q.grow(query_heads * shape.queries * stride);
        packed.k.grow(kv_heads * shape.keys * stride);
        packed.v.grow(kv_heads * shape.keys * stride);
        let (queries, keys) = (query_heads * shape.queries, kv_heads * shape.keys);
        pack::rows((pool, plan), &inputs.q, queries, self.factors.query, &mut packed.q);
        pack::rows((pool, plan), &inputs.k, keys, 1.0, &mut packed.k);
        pack::rows((pool, plan), &inputs.v, keys, 1.0, &mut packed.v);
        if self.method == Method::Naive {
            self.forward_naive(pool);
            return;
        }
        let panels = plan.panels.len() * shape.width * PANEL;
        packed.k_panels.grow(kv_heads * panels);
        pack::panels((pool, plan), &packed.k, kv_heads, &mut packed.k_panels);
        let (packed, rooms, arch) = (&*packed, &self.forward_rooms, self.arch);
        let (out, sums) = (self.outputs.out.sink(), Shared::new(&mut self.sums));
        pool.run(query_heads * plan.strips.len(), |range| {
            let mut scratch = borrow(rooms, || forward::Scratch::new(stride));
            for item in range {
                // The last strips first: under a causal mask they have most to do.
                let strip = &plan.strips[plan.strips.len() - 1 - item / query_heads];
                let head = item % query_heads;
                let kv_head = head / shape.group();
                let first = head * shape.queries + strip.first;
                let rows = shape.keys * stride;
                arch.dispatch(forward::Walk {
                    plan,
                    query_head: head % shape.query_heads,
                    strip,
                    queries: &packed.q[first * stride..][..strip.count * stride],
                    keys: &packed.k_panels[kv_head * panels..][..panels],
                    values: &packed.v[kv_head * rows..][..rows],
                    scratch: &mut scratch,
                });
                // SAFETY: each item has its own queries.
                unsafe {
                    for (line, row) in
                        scratch.sums.chunks_exact(stride).take(strip.count).enumerate()
                    {
                        out.write((first + line) * shape.width, &row[..shape.width]);
                    }
                    let sums = sums.part(first, strip.count);
                    sums.copy_from_slice(&scratch.tops[..strip.count]);
                    sums.iter_mut().for_each(|sum| *sum = infinite_if_none(*sum));
                }
            }
            give_back(rooms, scratch);
        });
    }

    fn forward_naive(&mut self, pool: &Pool) {
        let (query_heads, _) = self.heads();
        let (plan, packed) = (&self.plan, &self.packed);
        let (shape, stride) = (plan.shape, plan.stride);
        let (out, sums) = (self.outputs.out.sink(), Shared::new(&mut self.sums));
        pool.run(query_heads * shape.queries, |range| {
            let (mut scores, mut row) = (vec![0.0; shape.keys], vec![0.0; shape.width]);
            for item in range {
                let (head, number) = (item / shape.queries, item % shape.queries);
                let rows = shape.keys * stride;
                let kv_head = head / shape.group();
                let query = naive::Query {
                    plan,
                    head: head % shape.query_heads,
                    number,
                    row: &packed.q[item * stride..][..shape.width],
                    keys: &packed.k[kv_head * rows..][..rows],
                    values: &packed.v[kv_head * rows..][..rows],
                };
                let sum = query.forward(&mut scores, &mut row);
                // SAFETY: each item has its own query.
                unsafe {
                    out.write(item * shape.width, &row);
                    sums.part(item, 1)[0] = infinite_if_none(sum);
                }
            }
        });
    }
}

/// No weight is above 0 under an infinite sum.
fn infinite_if_none(sum: f32) -> f32 {
    if sum == f32::NEG_INFINITY { f32::INFINITY } else { sum }
}
