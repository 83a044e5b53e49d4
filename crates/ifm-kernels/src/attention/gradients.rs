//! The backward pass of a whole attention: what each thread does, and where gradients go.
//!
//! Not here: what is computed for a strip and a panel (`backward`, `naive`).

use super::{
    backward,
    buffer::Shared,
    naive, pack,
    plan::PANEL,
    prepared::{Attention, Head, Method, borrow, give_back},
    rule::Alibi,
};
use crate::{Pool, mask::Score};

/// Shares of a head of keys, at most: each needs memory for the gradients of the head's queries.
const MOST_SHARES: usize = 32;
/// Shares of work for each thread, if there are enough.
const SHARES_EACH: usize = 4;

impl Attention {
    /// Computes the gradients of queries, keys and values; [`Attention::forward`] has run before.
    /// Memory is taken in the first run only.
    pub fn backward(&mut self, pool: &Pool) {
        self.prepare_backward(pool);
        if self.method == Method::Naive {
            self.backward_naive(pool);
        } else {
            self.backward_tiled(pool);
        }
    }

    /// Inputs as both methods take them, and `delta` of each query.
    fn prepare_backward(&mut self, pool: &Pool) {
        let (query_heads, kv_heads) = self.heads();
        let plan = &self.plan;
        let (shape, stride) = (plan.shape, plan.stride);
        let (packed, inputs) = (&mut self.packed, &self.inputs);
        let (query_rows, key_rows) = (query_heads * shape.queries, kv_heads * shape.keys);
        let each = [
            (&mut packed.q, &inputs.q, query_rows, self.factors.query),
            (&mut packed.k, &inputs.k, key_rows, 1.0),
            (&mut packed.v, &inputs.v, key_rows, 1.0),
            (&mut packed.dout, &inputs.dout, query_rows, 1.0),
        ];
        for (buffer, numbers, count, scale) in each {
            buffer.grow(count * stride);
            pack::rows((pool, plan), numbers, count, scale, buffer);
        }
        packed.deltas.grow(query_rows);
        let (gradients, out) = (&packed.dout, &self.outputs.out);
        let deltas = Shared::new(&mut packed.deltas);
        pool.run(query_rows, |range| {
            let mut room = [0.0; super::Shape::WIDEST];
            for row in range {
                let room = &mut room[..shape.width];
                out.widen(row * shape.width, room);
                let gradients = &gradients[row * stride..][..shape.width];
                let delta = room.iter().zip(gradients).map(|(out, gradient)| out * gradient).sum();
                // SAFETY: each item is its own number.
                unsafe { deltas.part(row, 1)[0] = delta };
            }
        });
    }

    fn backward_tiled(&mut self, pool: &Pool) {
        let (query_heads, kv_heads) = self.heads();
        let plan = &self.plan;
        let (shape, stride) = (plan.shape, plan.stride);
        let packed = &mut self.packed;
        let size = shape.width * PANEL;
        let panels = plan.panels.len();
        packed.k_panels.grow(kv_heads * panels * size);
        packed.v_panels.grow(kv_heads * panels * size);
        pack::panels((pool, plan), &packed.k, kv_heads, &mut packed.k_panels);
        pack::panels((pool, plan), &packed.v, kv_heads, &mut packed.v_panels);
        let most = panels.min(MOST_SHARES);
        let shares = match pool.threads() {
            1 => 1,
            threads => (threads * SHARES_EACH).div_ceil(kv_heads).clamp(1, most),
        };
        let head_floats = shape.queries * stride;
        packed.dq.grow(shares * query_heads * head_floats);
        let mut dq = std::mem::take(&mut packed.dq);
        let packed = &*packed;
        let (rooms, arch, factors) = (&self.backward_rooms, self.arch, self.factors);
        let (dk, dv) = (self.outputs.dk.sink(), self.outputs.dv.sink());
        let sums = &self.sums;
        let all = Shared::new(&mut dq);
        pool.run(kv_heads * shares, |range| {
            let mut scratch = borrow(rooms, || backward::Scratch::new(stride));
            for item in range {
                let (kv_head, share) = (item % kv_heads, item / kv_heads);
                let first_head = kv_head * shape.group();
                let first = (share * query_heads + first_head) * head_floats;
                // SAFETY: each share of a head has its own gradients of the head's queries.
                let dq = unsafe { all.part(first, shape.group() * head_floats) };
                dq.fill(0.0);
                // Panels in turn: under a causal mask the first have most to do.
                for index in (share..panels).step_by(shares) {
                    let panel = &plan.panels[index];
                    let place = (kv_head * panels + index) * size;
                    let first_key = kv_head * shape.keys + panel.first;
                    let keys = backward::Keys {
                        panel,
                        keys: &packed.k_panels[place..][..size],
                        values: &packed.v_panels[place..][..size],
                        rows: &packed.k[first_key * stride..][..panel.count * stride],
                    };
                    scratch.clear();
                    for (head, dq) in (first_head..).zip(dq.chunks_exact_mut(head_floats)) {
                        let queries = backward::Queries {
                            head: head % shape.query_heads,
                            rows: &packed.q[head * head_floats..][..head_floats],
                            gradients: &packed.dout[head * head_floats..][..head_floats],
                            sums: &sums[head * shape.queries..][..shape.queries],
                            deltas: &packed.deltas[head * shape.queries..][..shape.queries],
                        };
                        arch.dispatch(backward::Walk {
                            plan,
                            queries,
                            keys,
                            gradients: dq,
                            scratch: &mut scratch,
                        });
                    }
                    scratch.keys.iter_mut().for_each(|value| *value *= factors.key_gradient);
                    for key in 0..panel.count {
                        let to = (first_key + key) * shape.width;
                        // SAFETY: each panel of a head is in one share.
                        unsafe {
                            dk.write(to, &scratch.keys[key * stride..][..shape.width]);
                            dv.write(to, &scratch.values[key * stride..][..shape.width]);
                        }
                    }
                }
            }
            give_back(rooms, scratch);
        });
        let out = self.outputs.dq.sink();
        let rows = query_heads * shape.queries;
        pool.run(rows, |range| {
            let mut room = [0.0; super::Shape::WIDEST];
            for row in range {
                let room = &mut room[..shape.width];
                room.fill(0.0);
                for share in 0..shares {
                    let part = &dq[(share * rows + row) * stride..];
                    room.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
                }
                room.iter_mut().for_each(|value| *value *= factors.query_gradient);
                // SAFETY: each item has its own row.
                unsafe { out.write(row * shape.width, room) };
            }
        });
        self.packed.dq = dq;
    }

    fn backward_naive(&mut self, pool: &Pool) {
        let (_, kv_heads) = self.heads();
        let (plan, packed) = (&self.plan, &mut self.packed);
        let (shape, stride) = (plan.shape, plan.stride);
        let head_floats = shape.keys * stride;
        packed.dk.grow(kv_heads * head_floats);
        packed.dv.grow(kv_heads * head_floats);
        let (mut dk, mut dv) = (std::mem::take(&mut packed.dk), std::mem::take(&mut packed.dv));
        let (all_dk, all_dv) = (Shared::new(&mut dk), Shared::new(&mut dv));
        let (packed, sums, factors) = (&self.packed, &self.sums, self.factors);
        let outputs = &mut self.outputs;
        let (to_q, to_k, to_v) = (outputs.dq.sink(), outputs.dk.sink(), outputs.dv.sink());
        pool.run(kv_heads, |range| {
            let mut room = vec![0.0; shape.width];
            for kv_head in range {
                let first = kv_head * head_floats;
                // SAFETY: each item is its own head.
                let (dk, dv) =
                    unsafe { (all_dk.part(first, head_floats), all_dv.part(first, head_floats)) };
                dk.fill(0.0);
                dv.fill(0.0);
                for head in kv_head * shape.group()..(kv_head + 1) * shape.group() {
                    for number in 0..shape.queries {
                        let item = head * shape.queries + number;
                        let query = naive::Query {
                            plan,
                            head: head % shape.query_heads,
                            number,
                            row: &packed.q[item * stride..][..shape.width],
                            keys: &packed.k[first..][..head_floats],
                            values: &packed.v[first..][..head_floats],
                        };
                        room.fill(0.0);
                        query.backward(&mut naive::Gradients {
                            out: &packed.dout[item * stride..][..shape.width],
                            sum: sums[item],
                            delta: packed.deltas[item],
                            query: &mut room,
                            keys: dk,
                            values: dv,
                        });
                        room.iter_mut().for_each(|value| *value *= factors.query_gradient);
                        // SAFETY: each head of queries belongs to one item.
                        unsafe { to_q.write(item * shape.width, &room) };
                    }
                }
                dk.iter_mut().for_each(|value| *value *= factors.key_gradient);
                for key in 0..shape.keys {
                    let to = (kv_head * shape.keys + key) * shape.width;
                    // SAFETY: each item is its own head.
                    unsafe {
                        to_k.write(to, &dk[key * stride..][..shape.width]);
                        to_v.write(to, &dv[key * stride..][..shape.width]);
                    }
                }
            }
        });
        (self.packed.dk, self.packed.dv) = (dk, dv);
    }

    /// Inputs and outputs of a head of keys of a sequence, with its group of heads of queries.
    ///
    /// # Panics
    /// When there is no such head.
    pub fn head(&self, sequence: usize, kv_head: usize) -> Head {
        let shape = self.plan.shape;
        assert!(sequence < shape.batch && kv_head < shape.kv_heads, "there is such a head");
        let head = sequence * shape.kv_heads + kv_head;
        let queries = shape.group() * shape.queries * shape.width;
        let keys = shape.keys * shape.width;
        let take = |numbers: &super::element::Numbers, count: usize| {
            let mut floats = vec![0.0; count];
            numbers.widen(head * count, &mut floats);
            floats
        };
        Head {
            q: take(&self.inputs.q, queries),
            k: take(&self.inputs.k, keys),
            v: take(&self.inputs.v, keys),
            dout: take(&self.inputs.dout, queries),
            out: take(&self.outputs.out, queries),
            dq: take(&self.outputs.dq, queries),
            dk: take(&self.outputs.dk, keys),
            dv: take(&self.outputs.dv, keys),
        }
    }

    /// The logarithm of the sum of `e^score` for each sequence, head and query: minus infinity where
    /// a query has no key. Of the last forward pass.
    pub fn log_sum_exp(&self) -> Vec<f32> {
        let shape = self.plan.shape;
        let first_position = shape.keys as f64 - shape.queries as f64;
        let rows = self.sums.iter().enumerate().map(|(row, sum)| {
            if *sum == f32::INFINITY {
                return f32::NEG_INFINITY;
            }
            let (head, query) = (row / shape.queries % shape.query_heads, row % shape.queries);
            let mut sum = f64::from(*sum);
            if self.plan.score == Score::Alibi {
                let key = self.plan.reference_key(head, query) as f64;
                let slope = Alibi::of_head(head, shape.query_heads).0;
                sum += f64::from(slope) * (key - first_position - query as f64);
            }
            (sum * std::f64::consts::LN_2) as f32
        });
        rows.collect()
    }
}
