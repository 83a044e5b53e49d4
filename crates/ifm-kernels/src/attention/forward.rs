//! The forward pass of a strip of queries: over the panels of keys once, with an online softmax.
//!
//! For each line the greatest score so far and the weighted sum of values are kept (Milakov and
//! Gimelshein 2018; Dao et al. 2022), so no matrix of scores is needed.
//!
//! Not here: gradients (`backward`).

use pulp::{Simd, WithSimd};

use super::{
    buffer::Buffer,
    lanes::{Tests, iota},
    plan::{Need, PANEL, Panel, Plan, STRIP, Strip},
    rule::{Alibi, Plain, Rule, Softcap, SoftcapApprox, weight},
};
use crate::{
    mask::Score,
    simd::{Product, scale},
};

/// Memory of a strip in work.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Scores of a panel, then its weights.
    scores: Buffer,
    /// Weighted sums of values, in the end the output.
    pub(super) sums: Buffer,
    /// For each line the greatest score so far, in the end the log2 of the sum of weights.
    pub(super) tops: Vec<f32>,
    totals: Vec<f32>,
}

impl Scratch {
    pub(super) fn new(stride: usize) -> Self {
        Self {
            scores: Buffer::zeros(STRIP * PANEL),
            sums: Buffer::zeros(STRIP * stride),
            tops: vec![0.0; STRIP],
            totals: vec![0.0; STRIP],
        }
    }
}

/// What a strip is computed from.
pub(super) struct Walk<'a> {
    pub(super) plan: &'a Plan,
    pub(super) query_head: usize,
    pub(super) strip: &'a Strip,
    /// Rows of the strip's queries, with their factor.
    pub(super) queries: &'a [f32],
    /// Panels of the head's keys.
    pub(super) keys: &'a [f32],
    /// Rows of its values.
    pub(super) values: &'a [f32],
    pub(super) scratch: &'a mut Scratch,
}

impl WithSimd for Walk<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (plan, strip) = (self.plan, self.strip);
        let (width, stride) = (plan.shape.width, plan.stride);
        let scratch = self.scratch;
        scratch.sums.fill(0.0);
        scratch.tops.fill(f32::NEG_INFINITY);
        scratch.totals.fill(0.0);
        for (index, panel) in plan.panels.iter().enumerate() {
            let need = plan.need(self.query_head, strip, panel);
            if need == Need::Nothing {
                continue;
            }
            let columns = Plan::columns(panel);
            Product {
                a: self.queries,
                a_stride: stride,
                a_step: 1,
                depth: width,
                b: &self.keys[index * width * PANEL..][..width * PANEL],
                stride: PANEL,
                lines: strip.count,
                columns,
                out_stride: PANEL,
            }
            .set(simd, &mut scratch.scores);
            let tile = Tile { plan, query_head: self.query_head, strip, panel, need };
            match plan.score {
                Score::Plain => tile.weigh(simd, Plain, scratch),
                Score::Alibi => {
                    let rule = Alibi::of_head(self.query_head, plan.shape.query_heads);
                    tile.weigh(simd, rule, scratch);
                }
                Score::Softcap(cap) => tile.weigh(simd, Softcap(cap), scratch),
                Score::SoftcapApprox(cap) => tile.weigh(simd, SoftcapApprox(cap), scratch),
            }
            Product {
                a: &scratch.scores,
                a_stride: PANEL,
                a_step: 1,
                depth: panel.count,
                b: &self.values[panel.first * stride..],
                stride,
                lines: strip.count,
                columns: stride,
                out_stride: stride,
            }
            .add_to(simd, &mut scratch.sums);
        }
        let sums = &mut scratch.sums[..strip.count * stride];
        for (line, sums) in sums.chunks_exact_mut(stride).enumerate() {
            let total = scratch.totals[line];
            // A query without keys has the output 0 and the sum 0.
            scale(simd, sums, if total > 0.0 { total.recip() } else { 0.0 });
            scratch.tops[line] += total.log2();
        }
    }
}

/// The scores of a strip with a panel.
struct Tile<'a> {
    plan: &'a Plan,
    query_head: usize,
    strip: &'a Strip,
    panel: &'a Panel,
    need: Need,
}

impl Tile<'_> {
    /// Turns products into weights, and moves each line's sums to its new greatest score. The rule
    /// is chosen outside of all loops.
    #[inline(always)]
    fn weigh<S: Simd, R: Rule>(self, simd: S, rule: R, scratch: &mut Scratch) {
        let (plan, stride) = (self.plan, self.plan.stride);
        for line in 0..self.strip.count {
            let scores = &mut scratch.scores[line * PANEL..][..Plan::columns(self.panel)];
            let key = plan.reference_key(self.query_head, self.strip.first + line);
            let distance = self.panel.first as f32 - key as f32;
            let best = if self.need == Need::Tests {
                let word = plan.word(self.query_head, self.strip, line, self.panel);
                Tests::new(word).apply(simd, rule, distance, scores)
            } else {
                apply(simd, rule, distance, scores)
            };
            let (top, total) = (&mut scratch.tops[line], &mut scratch.totals[line]);
            if best > *top {
                let factor = (*top - best).exp2();
                scale(simd, &mut scratch.sums[line * stride..][..stride], factor);
                *total *= factor;
                *top = best;
            }
            if *top == f32::NEG_INFINITY {
                scores.fill(0.0);
            } else {
                *total += weigh(simd, scores, *top);
            }
        }
    }
}

/// Makes scores of products; gives the greatest.
#[inline(always)]
fn apply<S: Simd, R: Rule>(simd: S, rule: R, distance: f32, scores: &mut [f32]) -> f32 {
    let first = simd.splat_f32s(distance);
    let mut best = simd.splat_f32s(f32::NEG_INFINITY);
    let vectors = S::as_mut_simd_f32s(scores).0;
    for (vector, iota) in vectors.iter_mut().zip(iota::<S>()) {
        *vector = rule.score(simd, *vector, simd.add_f32s(first, *iota)).0;
        best = simd.max_f32s(best, *vector);
    }
    simd.reduce_max_f32s(best)
}

impl Tests {
    /// As [`apply`], with minus infinity for pairs that are not allowed.
    #[inline(always)]
    fn apply<S: Simd, R: Rule>(self, simd: S, rule: R, distance: f32, scores: &mut [f32]) -> f32 {
        let first = simd.splat_f32s(distance);
        let never = simd.splat_f32s(f32::NEG_INFINITY);
        let mut best = never;
        let vectors = S::as_mut_simd_f32s(scores).0;
        for (index, (vector, iota)) in vectors.iter_mut().zip(iota::<S>()).enumerate() {
            let score = rule.score(simd, *vector, simd.add_f32s(first, *iota)).0;
            *vector = simd.select_f32s(self.mask(simd, index), score, never);
            best = simd.max_f32s(best, *vector);
        }
        simd.reduce_max_f32s(best)
    }
}

/// Replaces scores by weights; gives their sum.
#[inline(always)]
fn weigh<S: Simd>(simd: S, scores: &mut [f32], top: f32) -> f32 {
    let top = simd.splat_f32s(top);
    let mut total = simd.splat_f32s(0.0);
    for vector in S::as_mut_simd_f32s(scores).0 {
        *vector = weight(simd, *vector, top);
        total = simd.add_f32s(total, *vector);
    }
    simd.reduce_sum_f32s(total)
}
