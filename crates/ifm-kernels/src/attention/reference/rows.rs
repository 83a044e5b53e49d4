//! The definition, for a query and for a key.
//!
//! Not here: which of them are asked (`sample`).

use pulp::Arch;

use super::Inputs;
use crate::mask::{PlacedMask, Score};

/// A head of keys in 64 bits.
pub(super) struct Definition<'a> {
    mask: &'a PlacedMask,
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    /// Zeros where only the forward pass is asked.
    dout: Vec<f64>,
    width: usize,
    first_head: usize,
    query_heads: usize,
    arch: Arch,
}

/// What the keys need to know of a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sums {
    /// Logarithm of the sum of `e^score`; minus infinity without keys.
    log_sum: f64,
    /// Gradient of the output times the output.
    delta: f64,
}

/// What a query gives.
pub(super) struct Row {
    pub(super) out: Vec<f64>,
    pub(super) dq: Vec<f64>,
    pub(super) sums: Sums,
}

/// A key that a query may see.
struct Seen {
    key: usize,
    score: f64,
    /// Derivative of the score by the plain one.
    slope: f64,
}

fn wide(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().copied().map(f64::from).collect()
}

/// Eight sums, so that vectors can be used.
#[inline(always)]
fn dot(left: &[f64], right: &[f64]) -> f64 {
    let (left, right) = (left.chunks_exact(8), right.chunks_exact(8));
    let rest: f64 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 8];
    for (left, right) in left.zip(right) {
        for lane in 0..8 {
            sums[lane] += left[lane] * right[lane];
        }
    }
    rest + sums.iter().sum::<f64>()
}

#[inline(always)]
fn add(to: &mut [f64], from: &[f64], factor: f64) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

impl<'a> Definition<'a> {
    pub(super) fn new(mask: &'a PlacedMask, inputs: &Inputs<'_>, group: usize) -> Self {
        let queries = group * mask.queries() as usize * inputs.width;
        Self {
            mask,
            q: wide(inputs.q),
            k: wide(inputs.k),
            v: wide(inputs.v),
            dout: inputs.dout.map_or_else(|| vec![0.0; queries], wide),
            width: inputs.width,
            first_head: inputs.first_head,
            query_heads: inputs.query_heads,
            arch: Arch::new(),
        }
    }

    /// Head and position of a row of queries.
    fn place(&self, row: usize) -> (u64, i64) {
        let queries = self.mask.queries() as usize;
        let head = self.first_head + row / queries;
        (head as u64, (row % queries) as i64 + self.mask.first_position())
    }

    fn of<'b>(&self, rows: &'b [f64], row: usize) -> &'b [f64] {
        &rows[row * self.width..][..self.width]
    }

    /// The score of a row of queries with a key.
    #[inline(always)]
    fn score(&self, row: usize, key: usize, head: u64, position: i64) -> Seen {
        let product = dot(self.of(&self.q, row), self.of(&self.k, key));
        let plain = product / (self.width as f64).sqrt();
        let (score, slope) = match self.mask.mask().score() {
            Score::Plain => (plain, 1.0),
            Score::Alibi => {
                let slope = Score::alibi_slope(head, self.query_heads as u64);
                (plain + (key as i64 - position) as f64 * slope, 1.0)
            }
            Score::Softcap(cap) | Score::SoftcapApprox(cap) => {
                let tanh = (plain / f64::from(cap)).tanh();
                (f64::from(cap) * tanh, 1.0 - tanh * tanh)
            }
        };
        Seen { key, score, slope }
    }

    /// The keys that a row of queries sees, the greatest score, and the sum of `e^(score - it)`.
    #[inline(always)]
    fn seen(&self, row: usize) -> (Vec<Seen>, f64, f64) {
        let (head, position) = self.place(row);
        let keys = 0..self.mask.keys() as usize;
        let allowed = keys.filter(|key| self.mask.allows(position, *key as i64, head));
        let seen: Vec<Seen> = allowed.map(|key| self.score(row, key, head, position)).collect();
        let top = seen.iter().fold(f64::NEG_INFINITY, |top, seen| top.max(seen.score));
        let total = seen.iter().map(|seen| (seen.score - top).exp()).sum();
        (seen, top, total)
    }

    /// All of a row of queries.
    pub(super) fn row(&self, row: usize) -> Row {
        self.arch.dispatch(
            #[inline(always)]
            || {
                let (seen, top, total) = self.seen(row);
                let dout = self.of(&self.dout, row);
                let mut out = vec![0.0; self.width];
                let mut dq = vec![0.0; self.width];
                let weight = |seen: &Seen| (seen.score - top).exp() / total;
                seen.iter()
                    .for_each(|seen| add(&mut out, self.of(&self.v, seen.key), weight(seen)));
                let delta = dot(dout, &out);
                let root = (self.width as f64).sqrt();
                for seen in &seen {
                    let gradient = dot(dout, self.of(&self.v, seen.key)) - delta;
                    let factor = weight(seen) * gradient * seen.slope / root;
                    add(&mut dq, self.of(&self.k, seen.key), factor);
                }
                Row { out, dq, sums: Sums { log_sum: top + total.ln(), delta } }
            },
        )
    }

    /// What the keys need to know of a row of queries.
    pub(super) fn sums(&self, row: usize) -> Sums {
        self.arch.dispatch(
            #[inline(always)]
            || {
                let (seen, top, total) = self.seen(row);
                let dout = self.of(&self.dout, row);
                let gradients = seen.iter().map(|seen| {
                    (seen.score - top).exp() / total * dot(dout, self.of(&self.v, seen.key))
                });
                Sums { delta: gradients.sum(), log_sum: top + total.ln() }
            },
        )
    }

    /// Gradients of a key and its value. `sums` has the sums of all rows that see it.
    pub(super) fn key(&self, key: usize, sums: &[Option<Sums>]) -> (Vec<f64>, Vec<f64>) {
        self.arch.dispatch(
            #[inline(always)]
            || {
                let (mut dk, mut dv) = (vec![0.0; self.width], vec![0.0; self.width]);
                let root = (self.width as f64).sqrt();
                for (row, sums) in sums.iter().enumerate() {
                    let (head, position) = self.place(row);
                    let Some(sums) = sums else { continue };
                    if !self.mask.allows(position, key as i64, head) {
                        continue;
                    }
                    let seen = self.score(row, key, head, position);
                    let weight = (seen.score - sums.log_sum).exp();
                    let dout = self.of(&self.dout, row);
                    let gradient = dot(dout, self.of(&self.v, key)) - sums.delta;
                    add(&mut dv, dout, weight);
                    add(&mut dk, self.of(&self.q, row), weight * gradient * seen.slope / root);
                }
                (dk, dv)
            },
        )
    }
}
