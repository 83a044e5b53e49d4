//! The backward pass: over the panels of keys, for each over the strips of queries that see it.
//!
//! Weights are computed again from the sums that the forward pass left (Dao et al. 2022). With
//! weights `p`, gradients `do` of the output and `delta = do . out` of a query, for each pair
//! `ds = p (do . v - delta)` times the derivative of the score; then `dv += p do`,
//! `dk += ds q / sqrt(width)` and `dq += ds k / sqrt(width)`.
//!
//! A share of the work is some panels of a head of keys, with all its heads of queries: it owns the
//! gradients of its keys and values; gradients of queries are summed over the shares at the end.
//!
//! Not here: the forward pass.

use pulp::{Simd, WithSimd};

use super::{
    buffer::Buffer,
    lanes::{Tests, iota},
    plan::{Need, PANEL, Panel, Plan, STRIP, Strip},
    rule::{Alibi, Plain, Rule, Softcap, SoftcapApprox, weight},
};
use crate::{mask::Score, simd::Product};

/// Memory of a share in work.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Scores, then weights.
    weights: Buffer,
    /// Gradients of weights, then of scores.
    gradients: Buffer,
    /// Gradients of a panel's keys and values.
    pub(super) keys: Buffer,
    pub(super) values: Buffer,
}

impl Scratch {
    pub(super) fn new(stride: usize) -> Self {
        Self {
            weights: Buffer::zeros(STRIP * PANEL),
            gradients: Buffer::zeros(STRIP * PANEL),
            keys: Buffer::zeros(PANEL * stride),
            values: Buffer::zeros(PANEL * stride),
        }
    }

    pub(super) fn clear(&mut self) {
        self.keys.fill(0.0);
        self.values.fill(0.0);
    }
}

/// A head of queries, all its rows.
#[derive(Clone, Copy)]
pub(super) struct Queries<'a> {
    /// Its number among the heads of a sequence.
    pub(super) head: usize,
    /// Rows of queries with their factor, and of the output's gradient.
    pub(super) rows: &'a [f32],
    pub(super) gradients: &'a [f32],
    /// For each the log2 of the sum of weights, and `delta`.
    pub(super) sums: &'a [f32],
    pub(super) deltas: &'a [f32],
}

/// A panel of keys.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    pub(super) panel: &'a Panel,
    /// The panel of keys, and of values.
    pub(super) keys: &'a [f32],
    pub(super) values: &'a [f32],
    /// Rows of its keys.
    pub(super) rows: &'a [f32],
}

/// A panel of keys with a head of queries.
pub(super) struct Walk<'a> {
    pub(super) plan: &'a Plan,
    pub(super) queries: Queries<'a>,
    pub(super) keys: Keys<'a>,
    /// Gradients of the queries, rows, to be added to.
    pub(super) gradients: &'a mut [f32],
    pub(super) scratch: &'a mut Scratch,
}

impl WithSimd for Walk<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (plan, queries, keys) = (self.plan, self.queries, self.keys);
        let (stride, panel) = (plan.stride, keys.panel);
        let scratch = self.scratch;
        for strip in &plan.strips {
            let need = plan.need(queries.head, strip, panel);
            if need == Need::Nothing {
                continue;
            }
            let first = strip.first * stride;
            let rows = &queries.rows[first..];
            let gradients = &queries.gradients[first..];
            // Scores, and the gradients of weights.
            for (a, b, out) in [
                (rows, keys.keys, &mut scratch.weights),
                (gradients, keys.values, &mut scratch.gradients),
            ] {
                Product {
                    a,
                    a_stride: stride,
                    a_step: 1,
                    depth: plan.shape.width,
                    b,
                    stride: PANEL,
                    lines: strip.count,
                    columns: Plan::columns(panel),
                    out_stride: PANEL,
                }
                .set(simd, out);
            }
            let tile = Tile { plan, queries, strip, panel, need };
            match plan.score {
                Score::Plain => tile.apply(simd, Plain, scratch),
                Score::Alibi => {
                    let rule = Alibi::of_head(queries.head, plan.shape.query_heads);
                    tile.apply(simd, rule, scratch);
                }
                Score::Softcap(cap) => tile.apply(simd, Softcap(cap), scratch),
                Score::SoftcapApprox(cap) => tile.apply(simd, SoftcapApprox(cap), scratch),
            }
            // By the keys' side: a column of weights for each key.
            for (a, b, out) in [
                (&scratch.weights, gradients, &mut scratch.values),
                (&scratch.gradients, rows, &mut scratch.keys),
            ] {
                Product {
                    a,
                    a_stride: 1,
                    a_step: PANEL,
                    depth: strip.count,
                    b,
                    stride,
                    lines: panel.count,
                    columns: stride,
                    out_stride: stride,
                }
                .add_to(simd, out);
            }
            add_query_gradients(simd, plan, strip, keys, &scratch.gradients, self.gradients);
        }
    }
}

#[inline(always)]
fn add_query_gradients<S: Simd>(
    simd: S,
    plan: &Plan,
    strip: &Strip,
    keys: Keys<'_>,
    from: &[f32],
    gradients: &mut [f32],
) {
    let stride = plan.stride;
    Product {
        a: from,
        a_stride: PANEL,
        a_step: 1,
        depth: keys.panel.count,
        b: keys.rows,
        stride,
        lines: strip.count,
        columns: stride,
        out_stride: stride,
    }
    .add_to(simd, &mut gradients[strip.first * stride..]);
}

/// The pairs of a strip and a panel.
struct Tile<'a> {
    plan: &'a Plan,
    queries: Queries<'a>,
    strip: &'a Strip,
    panel: &'a Panel,
    need: Need,
}

impl Tile<'_> {
    /// Makes weights and the gradients of scores of what the products gave. The rule is chosen
    /// outside of all loops.
    #[inline(always)]
    fn apply<S: Simd, R: Rule>(self, simd: S, rule: R, scratch: &mut Scratch) {
        let (plan, queries, panel) = (self.plan, self.queries, self.panel);
        for line in 0..self.strip.count {
            let query = self.strip.first + line;
            let place = Line {
                distance: panel.first as f32 - plan.reference_key(queries.head, query) as f32,
                sum: queries.sums[query],
                delta: queries.deltas[query],
            };
            let columns = line * PANEL..line * PANEL + Plan::columns(panel);
            let weights = &mut scratch.weights[columns.clone()];
            let gradients = &mut scratch.gradients[columns];
            if self.need == Need::Tests {
                let tests = Tests::new(plan.word(queries.head, self.strip, line, panel));
                place.apply::<S, R, true>(simd, rule, tests, weights, gradients);
            } else {
                let tests = Tests::new(u64::MAX);
                place.apply::<S, R, false>(simd, rule, tests, weights, gradients);
            }
        }
    }
}

/// What a query brings to its pairs.
#[derive(Clone, Copy)]
struct Line {
    distance: f32,
    sum: f32,
    delta: f32,
}

impl Line {
    /// Computes weights from products, and gradients of scores from gradients of weights.
    #[inline(always)]
    fn apply<S: Simd, R: Rule, const TEST: bool>(
        self,
        simd: S,
        rule: R,
        tests: Tests,
        weights: &mut [f32],
        gradients: &mut [f32],
    ) {
        let distance = simd.splat_f32s(self.distance);
        let (sum, delta) = (simd.splat_f32s(self.sum), simd.splat_f32s(self.delta));
        let zero = simd.splat_f32s(0.0);
        let weights = S::as_mut_simd_f32s(weights).0.iter_mut();
        let gradients = S::as_mut_simd_f32s(gradients).0;
        let vectors = weights.zip(gradients).zip(iota::<S>()).enumerate();
        for (index, ((vector, gradient), iota)) in vectors {
            let (score, slope) = rule.score(simd, *vector, simd.add_f32s(distance, *iota));
            let mut p = weight(simd, score, sum);
            if TEST {
                p = simd.select_f32s(tests.mask(simd, index), p, zero);
            }
            *vector = p;
            let ds = simd.mul_f32s(p, simd.sub_f32s(*gradient, delta));
            *gradient = if R::SLOPE { simd.mul_f32s(ds, slope) } else { ds };
        }
    }
}
