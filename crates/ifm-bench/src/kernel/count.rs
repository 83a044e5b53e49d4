//! What a case takes at least: operations by one rule for all implementations, bytes that go in and
//! out, and the time by the machine's measured ceilings.
//!
//! The rule: two operations for each product and sum. Attention counts the pairs of query and key that
//! the mask allows, and no others: `4 width` for each forward (scores, weighted sums), `10 width`
//! backward (scores again, and four products of gradients; Dao 2023, section 4). The softmax and what a
//! score becomes are left out.

use super::course::Done;
use super::protocol::{Attention, Operation, Pass};
use std::collections::BTreeMap;

/// Operations of a pair and a number of the width.
fn per_pair(pass: Pass) -> f64 {
    match pass {
        Pass::Forward => 4.0,
        Pass::Backward => 10.0,
    }
}

/// Operations of one pass; 0 where numbers are only moved.
pub fn operations(operation: &Operation, pass: Pass, pairs: u64) -> f64 {
    match operation {
        Operation::Attention(of) => per_pair(pass) * of.width as f64 * pairs as f64,
        Operation::Gemm { m, n, k } => 2.0 * (*m as f64) * (*n as f64) * (*k as f64),
        Operation::Bandwidth { .. } => 0.0,
    }
}

/// Arrays that a transfer reads and writes, as STREAM counts them: what a cache fetches in order to
/// write is not counted.
fn arrays(kernel: &str) -> Option<f64> {
    Some(match kernel {
        "read" | "write" => 1.0,
        "copy" => 2.0,
        "triad" => 3.0,
        _ => return None,
    })
}

/// Bytes that a transfer moves.
pub fn moved(kernel: &str, bytes: u64) -> Option<f64> {
    Some(arrays(kernel)? * bytes as f64)
}

/// Bytes of a number of a type; absent for a type that is not known.
pub fn width(kind: &str) -> Option<f64> {
    Some(match kind {
        "f64" => 8.0,
        "f32" | "tf32" => 4.0,
        "f16" | "bf16" => 2.0,
        "int8" | "fp8" => 1.0,
        _ => return None,
    })
}

/// Bytes that attention takes in and gives out, each once.
fn attention_bytes(of: &Attention, pass: Pass, number: f64) -> f64 {
    let heads = |heads: u64, tokens: u64| (of.batch * heads * tokens * of.width) as f64;
    let (queries, keys) = (heads(of.query_heads, of.queries), heads(of.kv_heads, of.keys));
    number
        * match pass {
            // q, k, v; out.
            Pass::Forward => 2.0 * queries + 2.0 * keys,
            // q, k, v, out and its gradient; gradients of q, k, v.
            Pass::Backward => 4.0 * queries + 4.0 * keys,
        }
}

/// Measured peak rates of a device, with these threads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ceilings {
    /// Operations per second by type.
    pub flop_per_s: BTreeMap<String, f64>,
    /// Bytes per second of arrays that no cache holds.
    pub bytes_per_s: Option<f64>,
}

impl Ceilings {
    /// The best that products and transfers of these results reached on a device.
    pub fn of(all: &[Done], device: &str) -> Ceilings {
        let mut ceilings = Ceilings::default();
        let on = |done: &&Done| done.about.as_ref().is_some_and(|about| about.device == device);
        for done in all.iter().filter(on) {
            let runs = done.passes.values().flat_map(|pass| &pass.runs);
            let Some(best_ns) = runs.map(|run| run.ns()).min() else { continue };
            let per_s = |what: f64| what * 1e9 / best_ns as f64;
            match &done.case.operation {
                Operation::Gemm { .. } => {
                    let rate = per_s(operations(&done.case.operation, Pass::Forward, 0));
                    let of = ceilings.flop_per_s.entry(done.case.kind.clone()).or_default();
                    *of = of.max(rate);
                }
                Operation::Bandwidth { bytes } => {
                    let rate = moved(&done.case.implementation, *bytes).map(per_s);
                    let best = ceilings.bytes_per_s.into_iter().chain(rate).reduce(f64::max);
                    ceilings.bytes_per_s = best;
                }
                Operation::Attention(_) => {}
            }
        }
        ceilings
    }

    /// The least time of a pass, seconds: arithmetic or traffic, whichever takes longer. Absent where a
    /// ceiling is not known.
    pub fn least_s(&self, done: &Done, pass: Pass, pairs: u64) -> Option<f64> {
        let Operation::Attention(of) = &done.case.operation else { return None };
        let kind = done.case.kind.as_str();
        let flop = operations(&done.case.operation, pass, pairs);
        let bytes = attention_bytes(of, pass, width(kind)?);
        let arithmetic = flop / self.flop_per_s.get(kind)?;
        Some(arithmetic.max(bytes / self.bytes_per_s?))
    }
}
