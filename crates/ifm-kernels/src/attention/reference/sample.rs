//! Which queries and keys are compared where all are too much work.
//!
//! Not here: what is computed for them (`rows`).

use super::Inputs;
use crate::{
    RandomStream,
    mask::{Blocks, PlacedMask},
};

/// Work of one test of a pair, in multiplications.
const TEST: f64 = 16.0;
/// Borders of blocks of this side, and of its multiples, are looked at.
const SIDE: usize = 64;
/// Keys that are compared at most where not all are.
const MOST_KEYS: usize = 256;

pub(super) struct Sample {
    /// Queries whose output and gradient are compared.
    pub(super) queries: Vec<usize>,
    /// Keys whose gradients are compared.
    pub(super) keys: Vec<usize>,
    /// Queries that see one of these keys.
    pub(super) rows_of_keys: Vec<usize>,
}

/// Numbers below `count` in the order in which they are taken: the ends, then in turn one at a
/// border of blocks and any other.
fn order(count: usize) -> Vec<usize> {
    let mut stream = RandomStream::new(count as u64, "sample");
    let mut shuffle = |mut numbers: Vec<usize>| {
        for last in (1..numbers.len()).rev() {
            numbers.swap(last, stream.below(last as u64 + 1) as usize);
        }
        numbers
    };
    let is_border = |number: &usize| matches!(number % SIDE, 0 | 1) || number % SIDE == SIDE - 1;
    let inner = 1..count.saturating_sub(1);
    let (borders, others): (Vec<_>, Vec<_>) = inner.partition(is_border);
    let (mut borders, mut others) = (shuffle(borders).into_iter(), shuffle(others).into_iter());
    let mut order = vec![0];
    if count > 1 {
        order.push(count - 1);
    }
    while order.len() < count {
        order.extend(borders.next());
        order.extend(others.next());
    }
    order
}

impl Sample {
    pub(super) fn new(mask: &PlacedMask, inputs: &Inputs<'_>, group: usize, work: f64) -> Self {
        let (queries, keys) = (mask.queries() as usize, mask.keys() as usize);
        let width = inputs.width as f64;
        let heads = if mask.needs_heads() { group } else { 1 };
        let blocks: Vec<Blocks> = (0..heads)
            .map(|head| Blocks::new(mask, 2 * SIDE as u64, (inputs.first_head + head) as u64))
            .collect();
        // What a query costs in all heads of the group, with `products` products for each pair.
        let cost = |query: usize, products: f64| {
            let pairs: u64 = blocks.iter().map(|blocks| blocks.row_pairs(query)).sum();
            let pairs = pairs as f64 * (group / heads) as f64;
            products * width * pairs + TEST * (group * keys) as f64
        };
        // Score, output, gradient of the weight, gradient of the query; and the same for keys.
        let all: f64 = (0..queries).map(|query| 2.0 * cost(query, 4.0)).sum();
        if all <= work {
            let all_queries: Vec<usize> = (0..queries).collect();
            let rows_of_keys = all_queries.clone();
            return Self { queries: all_queries, keys: (0..keys).collect(), rows_of_keys };
        }
        let mut left = work / 2.0;
        let mut chosen = Vec::new();
        for query in order(queries) {
            left -= cost(query, 4.0);
            if left < 0.0 && chosen.len() >= 2 {
                break;
            }
            chosen.push(query);
        }
        let mut sample = Self { queries: chosen, keys: Vec::new(), rows_of_keys: Vec::new() };
        if inputs.dout.is_some() {
            sample.choose_keys(mask, inputs, group, work / 2.0, |query| cost(query, 2.0));
        }
        sample
    }

    /// Keys, as long as they and the queries that see them cost no more than `left`.
    fn choose_keys(
        &mut self,
        mask: &PlacedMask,
        inputs: &Inputs<'_>,
        group: usize,
        mut left: f64,
        cost: impl Fn(usize) -> f64,
    ) {
        let queries = mask.queries() as usize;
        let mut needed = vec![false; queries];
        for key in order(mask.keys() as usize).into_iter().take(MOST_KEYS) {
            let sees = |query: &usize| {
                let position = *query as i64 + mask.first_position();
                let mut heads = inputs.first_head..inputs.first_head + group;
                heads.any(|head| mask.allows(position, key as i64, head as u64))
            };
            let seen_by: Vec<usize> = (0..queries).filter(sees).collect();
            let of_key = (group * seen_by.len() * inputs.width) as f64 * 4.0
                + TEST * (group * queries) as f64;
            let of_rows: f64 =
                seen_by.iter().filter(|query| !needed[**query]).map(|query| cost(*query)).sum();
            if of_key + of_rows > left {
                continue;
            }
            left -= of_key + of_rows;
            seen_by.into_iter().for_each(|query| needed[query] = true);
            self.keys.push(key);
        }
        self.rows_of_keys = (0..queries).filter(|query| needed[*query]).collect();
    }
}
