//! Attention as one would write it first: query by query, with a row of all its scores, one number
//! at a time.
//!
//! Not here: tiles (`forward`, `backward`).

use pulp::Scalar;

use super::{
    plan::Plan,
    rule::{Alibi, Plain, Rule, Softcap, SoftcapApprox},
};
use crate::mask::Score;

/// A query of a head of queries.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) plan: &'a Plan,
    pub(super) head: usize,
    pub(super) number: usize,
    /// Its row, with the factor.
    pub(super) row: &'a [f32],
    /// Rows of the head's keys and values.
    pub(super) keys: &'a [f32],
    pub(super) values: &'a [f32],
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn add(to: &mut [f32], from: &[f32], factor: f32) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

/// What a query adds to when it goes backward.
pub(super) struct Gradients<'a> {
    /// Gradient of its output, the log2 of its weights' sum, and `delta`.
    pub(super) out: &'a [f32],
    pub(super) sum: f32,
    pub(super) delta: f32,
    /// Its own gradient, and rows of the gradients of keys and values.
    pub(super) query: &'a mut [f32],
    pub(super) keys: &'a mut [f32],
    pub(super) values: &'a mut [f32],
}

impl Query<'_> {
    fn score(&self, key: usize) -> (f32, f32) {
        let stride = self.plan.stride;
        let width = self.plan.shape.width;
        let x = dot(&self.row[..width], &self.keys[key * stride..][..width]);
        let reference = self.plan.reference_key(self.head, self.number);
        let distance = key as f32 - reference as f32;
        let simd = Scalar;
        match self.plan.score {
            Score::Plain => Plain.score(simd, x, distance),
            Score::Alibi => {
                let heads = self.plan.shape.query_heads;
                Alibi::of_head(self.head, heads).score(simd, x, distance)
            }
            Score::Softcap(cap) => Softcap(cap).score(simd, x, distance),
            Score::SoftcapApprox(cap) => SoftcapApprox(cap).score(simd, x, distance),
        }
    }

    /// Writes the output; gives the log2 of the sum of weights. `scores` is room for all keys.
    pub(super) fn forward(&self, scores: &mut [f32], out: &mut [f32]) -> f32 {
        let mut top = f32::NEG_INFINITY;
        for (key, score) in scores.iter_mut().enumerate() {
            let allowed = self.plan.allows(self.head, self.number, key);
            *score = if allowed { self.score(key).0 } else { f32::NEG_INFINITY };
            top = top.max(*score);
        }
        out.fill(0.0);
        let mut total = 0.0;
        for (key, score) in scores.iter().enumerate() {
            if *score > f32::NEG_INFINITY {
                let weight = (score - top).exp2();
                total += weight;
                add(out, &self.values[key * self.plan.stride..], weight);
            }
        }
        if total > 0.0 {
            out.iter_mut().for_each(|out| *out /= total);
        }
        top + total.log2()
    }

    /// Adds the gradients.
    pub(super) fn backward(&self, gradients: &mut Gradients<'_>) {
        let (stride, width) = (self.plan.stride, self.plan.shape.width);
        for key in 0..self.plan.shape.keys {
            if !self.plan.allows(self.head, self.number, key) {
                continue;
            }
            let row = key * stride..key * stride + width;
            let (score, slope) = self.score(key);
            let weight = (score - gradients.sum).exp2();
            let of_weight = dot(gradients.out, &self.values[row.clone()]);
            let of_score = weight * (of_weight - gradients.delta) * slope;
            add(&mut gradients.values[row.clone()], gradients.out, weight);
            add(&mut gradients.keys[row.clone()], self.row, of_score);
            add(gradients.query, &self.keys[row], of_score);
        }
    }
}
