//! What attention should give: in 64 bits, straight from the definition, one pair at a time.
//!
//! For one head of keys of one sequence, with the heads of queries that share it. Where all of it is
//! too much work, some queries and keys are drawn, the first and last and those at borders of blocks
//! among them, and only those rows are compared.
//!
//! Errors are by norm: the greatest error of a tensor over the greatest value that the reference has
//! for it. A single number near 0 may have any relative error; one that is wrong by a part of the
//! largest is found. Gradients that are 0, such as for queries that see one key each, are compared
//! with the greatest gradient of the output instead.
//!
//! Not here: kernels.

mod rows;
mod sample;
mod tolerance;

use std::{ops::Range, thread};

use self::rows::{Definition, Sums};
use crate::mask::PlacedMask;

pub use self::tolerance::{APPROXIMATE, tolerance};

/// Work that a reference may do by default, multiplications: a few seconds of one thread.
pub const WORK: f64 = 1e10;

/// Inputs of one head of keys, rows of `width`. What belongs to queries has one head of the group
/// after another.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// Queries.
    pub q: &'a [f32],
    /// Keys.
    pub k: &'a [f32],
    /// Values.
    pub v: &'a [f32],
    /// Gradient of the output; absent if only the forward pass is to be checked.
    pub dout: Option<&'a [f32]>,
    /// Width of a head.
    pub width: usize,
    /// Number of the group's first head among the heads of queries.
    pub first_head: usize,
    /// Heads of queries of the whole attention.
    pub query_heads: usize,
}

/// Outputs to be checked, in the form of [`Inputs`]; absent what is not there.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// Output.
    pub out: &'a [f32],
    /// Gradient of queries.
    pub dq: Option<&'a [f32]>,
    /// Gradient of keys.
    pub dk: Option<&'a [f32]>,
    /// Gradient of values.
    pub dv: Option<&'a [f32]>,
}

/// The greatest error of each tensor over the greatest value of the reference; infinity for what is
/// no number. Absent what was not given, or would be too much work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// Of the output.
    pub out: f64,
    /// Of the gradient of queries.
    pub dq: Option<f64>,
    /// Of the gradient of keys.
    pub dk: Option<f64>,
    /// Of the gradient of values.
    pub dv: Option<f64>,
}

impl Errors {
    /// The greatest.
    pub fn greatest(&self) -> f64 {
        [self.dq, self.dk, self.dv].into_iter().flatten().fold(self.out, f64::max)
    }
}

/// Sizes that do not fit each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the reference needs {expected} numbers of {what}, and there are {found}")]
pub struct SizeError {
    what: &'static str,
    expected: usize,
    found: usize,
}

/// Rows of a tensor, and their numbers.
#[derive(Debug)]
struct Rows {
    numbers: Vec<usize>,
    width: usize,
    values: Vec<f64>,
    /// What errors are compared with.
    greatest: f64,
}

/// What attention should give.
#[derive(Debug)]
pub struct Reference {
    out: Rows,
    dq: Option<Rows>,
    dk: Option<Rows>,
    dv: Option<Rows>,
    queries: usize,
    keys: usize,
    group: usize,
}

fn sized(what: &'static str, found: usize, expected: usize) -> Result<(), SizeError> {
    if found == expected { Ok(()) } else { Err(SizeError { what, expected, found }) }
}

impl Reference {
    /// Computes it on `threads` threads, with at most about `work` multiplications, such as [`WORK`].
    ///
    /// # Errors
    /// When inputs have not the sizes that mask and width say.
    pub fn new(
        mask: &PlacedMask,
        inputs: &Inputs<'_>,
        work: f64,
        threads: usize,
    ) -> Result<Self, SizeError> {
        let (queries, keys) = (mask.queries() as usize, mask.keys() as usize);
        let width = inputs.width.max(1);
        let group = (inputs.q.len() / (queries * width).max(1)).max(1);
        sized("queries", inputs.q.len(), group * queries * width)?;
        sized("keys", inputs.k.len(), keys * width)?;
        sized("values", inputs.v.len(), keys * width)?;
        if let Some(dout) = inputs.dout {
            sized("output gradients", dout.len(), group * queries * width)?;
        }
        let definition = Definition::new(mask, inputs, group);
        let sample = sample::Sample::new(mask, inputs, group, work);
        // Rows of all heads of the group, one head after another.
        let row_numbers = |queries_of: &[usize]| -> Vec<usize> {
            let heads = 0..group;
            heads
                .flat_map(|head| queries_of.iter().map(move |query| head * queries + query))
                .collect()
        };
        let compared = row_numbers(&sample.queries);
        let found = each(threads, compared.len(), |index| definition.row(compared[index]));
        let (mut out, mut dq) = (Vec::new(), Vec::new());
        for row in &found {
            out.extend_from_slice(&row.out);
            dq.extend_from_slice(&row.dq);
        }
        let backward = inputs.dout.is_some();
        let given = inputs.dout.unwrap_or_default().iter();
        let given = given.fold(0.0, |greatest: f64, value| greatest.max(f64::from(value.abs())));
        let mut reference = Self {
            out: Rows::new(compared.clone(), width, out, 0.0),
            dq: backward.then(|| Rows::new(compared.clone(), width, dq, given)),
            dk: None,
            dv: None,
            queries,
            keys,
            group,
        };
        if backward && !sample.keys.is_empty() {
            let mut sums: Vec<Option<Sums>> = vec![None; group * queries];
            for (number, row) in compared.iter().zip(&found) {
                sums[*number] = Some(row.sums);
            }
            let missing: Vec<usize> = row_numbers(&sample.rows_of_keys)
                .into_iter()
                .filter(|number| sums[*number].is_none())
                .collect();
            let more = each(threads, missing.len(), |index| definition.sums(missing[index]));
            for (number, found) in missing.iter().zip(more) {
                sums[*number] = Some(found);
            }
            let gradients =
                each(threads, sample.keys.len(), |index| definition.key(sample.keys[index], &sums));
            let (mut dk, mut dv) = (Vec::new(), Vec::new());
            for (of_key, of_value) in gradients {
                dk.extend(of_key);
                dv.extend(of_value);
            }
            reference.dk = Some(Rows::new(sample.keys.clone(), width, dk, given));
            reference.dv = Some(Rows::new(sample.keys, width, dv, given));
        }
        Ok(reference)
    }

    /// Rows of queries that are compared, of all heads of the group; and rows of keys.
    pub fn compared(&self) -> (usize, usize) {
        (self.out.numbers.len(), self.dk.as_ref().map_or(0, |rows| rows.numbers.len()))
    }

    /// Compares outputs.
    ///
    /// # Errors
    /// When they have not the sizes of the inputs.
    pub fn check(&self, given: &Given<'_>) -> Result<Errors, SizeError> {
        let (of_queries, of_keys) = (self.group * self.queries, self.keys);
        let compare = |what, rows: &Option<Rows>, given: Option<&[f32]>, count: usize| {
            let (Some(rows), Some(given)) = (rows, given) else { return Ok(None) };
            sized(what, given.len(), count * rows.width)?;
            Ok(Some(rows.error(given)))
        };
        sized("outputs", given.out.len(), of_queries * self.out.width)?;
        Ok(Errors {
            out: self.out.error(given.out),
            dq: compare("query gradients", &self.dq, given.dq, of_queries)?,
            dk: compare("key gradients", &self.dk, given.dk, of_keys)?,
            dv: compare("value gradients", &self.dv, given.dv, of_keys)?,
        })
    }
}

impl Rows {
    /// `otherwise` is what errors are compared with where all is 0 except for rounding.
    fn new(numbers: Vec<usize>, width: usize, values: Vec<f64>, otherwise: f64) -> Self {
        /// Far above what rounding in 64 bits leaves, far below any gradient.
        const NOTHING: f64 = 1e-12;
        let greatest = values.iter().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
        let greatest = if greatest < NOTHING * otherwise { otherwise } else { greatest };
        Self { numbers, width, values, greatest }
    }

    fn error(&self, given: &[f32]) -> f64 {
        let mut error = 0.0_f64;
        for (number, row) in self.numbers.iter().zip(self.values.chunks_exact(self.width)) {
            for (expected, given) in row.iter().zip(&given[number * self.width..]) {
                let difference = (expected - f64::from(*given)).abs();
                if difference.is_nan() {
                    return f64::INFINITY;
                }
                error = error.max(difference);
            }
        }
        if error == 0.0 { 0.0 } else { error / self.greatest }
    }
}

/// `work` of each index, on `threads` threads.
fn each<T: Send>(threads: usize, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = threads.clamp(1, count.max(1));
    let part = |thread: usize| -> Range<usize> {
        count * thread / threads..count * (thread + 1) / threads
    };
    let work = &work;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || part(thread).map(work).collect::<Vec<T>>()))
            .collect();
        let mut all = Vec::with_capacity(count);
        for worker in workers {
            match worker.join() {
                Ok(values) => all.extend(values),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}
