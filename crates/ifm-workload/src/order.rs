//! The order in which rows are taken, and taking them.
//!
//! In the file's order rows are read only as far as they are needed; to be shuffled, all
//! have to be read.
//!
//! Not here: counting and filtering by length (`select`).

use crate::{
    compat::{NumpyGenerator, PythonRandom},
    error::WorkloadError,
    facts::DropReason,
    item::Dataset,
    opening::Opening,
    select::{BATCH_ROWS, Candidate, Limits, Selector},
    source::{Columns, Row, Rows},
};

/// Rows that Hugging Face's stream shuffle keeps: its default.
const BUFFER_ROWS: usize = 1000;

/// What becomes of a row.
pub(crate) enum Step {
    /// It may become an item.
    Take(Candidate),
    /// A rule leaves it out.
    Drop(DropReason),
}

/// Makes a data set of rows, each of which `read` understands. Understands the option
/// `order`: `file`, `shuffle` (Python's), or `hf` (the buffer shuffle of a streamed
/// Hugging Face data set of one file, which is vLLM's order).
///
/// # Errors
/// What reading and the tokenizer say, and [`WorkloadError::NoRows`].
pub(crate) fn fill(
    opening: &mut Opening<'_>,
    mut rows: Rows,
    limits: Limits,
    mut read: impl FnMut(&Columns, &Row) -> Result<Step, String>,
) -> Result<Box<dyn Dataset>, WorkloadError> {
    let order = opening.options.word("order", &["file", "shuffle", "hf"])?;
    let mut selector = Selector::new(opening, limits);
    let mut shuffle = match order {
        "file" => {
            opening.rule("order of the file");
            Shuffle::None
        }
        "shuffle" => {
            let seed = opening.selection_seed(0);
            opening.rule(format!("seed {seed}, Python random.shuffle"));
            Shuffle::Python(Vec::new(), seed)
        }
        _ => {
            if opening.facts.files.len() > 1 {
                return Err(WorkloadError::Shape {
                    text: "order=hf".to_owned(),
                    reason: "this order is known for a data set of one file".to_owned(),
                });
            }
            let seed = opening.selection_seed(0);
            opening.rule(format!(
                "Hugging Face datasets 5.2 IterableDataset.shuffle, seed {seed}, buffer 1000"
            ));
            Shuffle::Buffer(BufferShuffle::new(seed))
        }
    };
    let mut batch = Vec::new();
    let mut ended = false;
    let mut dropped = Vec::new();
    while !ended && !selector.is_done() {
        match rows.next()? {
            Some(row) => match read(rows.columns(), &row) {
                Ok(step) => shuffle.push(step, &mut batch),
                Err(reason) => rows.bad(row.line, &reason)?,
            },
            None => {
                shuffle.finish(&mut batch);
                ended = true;
            }
        }
        if batch.len() >= BATCH_ROWS || ended {
            take_batch(&mut selector, &mut rows, std::mem::take(&mut batch), &mut dropped)?;
        }
    }
    opening.list(selector.into_items(), rows.into_counts())
}

fn take_batch(
    selector: &mut Selector,
    rows: &mut Rows,
    batch: Vec<Step>,
    dropped: &mut Vec<DropReason>,
) -> Result<(), WorkloadError> {
    let candidates = batch.into_iter().filter_map(|step| match step {
        Step::Take(candidate) => Some(candidate),
        Step::Drop(reason) => {
            dropped.push(reason);
            None
        }
    });
    let candidates = candidates.collect::<Vec<_>>();
    dropped.drain(..).for_each(|reason| rows.drop_row(reason));
    let mut candidates = candidates.into_iter();
    loop {
        let part = candidates.by_ref().take(BATCH_ROWS).collect::<Vec<_>>();
        if part.is_empty() || selector.is_done() {
            return Ok(());
        }
        selector.push(part, rows.counts())?;
    }
}

/// Puts rows into an order.
enum Shuffle {
    None,
    Python(Vec<Step>, u64),
    Buffer(BufferShuffle<Step>),
}

impl Shuffle {
    fn push(&mut self, step: Step, out: &mut Vec<Step>) {
        match self {
            Self::None => out.push(step),
            Self::Python(list, _) => list.push(step),
            Self::Buffer(buffer) => buffer.push(step, out),
        }
    }

    fn finish(&mut self, out: &mut Vec<Step>) {
        match self {
            Self::None => {}
            Self::Python(list, seed) => {
                PythonRandom::new(*seed).shuffle(list);
                out.append(list);
            }
            Self::Buffer(buffer) => buffer.finish(out),
        }
    }
}

/// Hugging Face's `IterableDataset.shuffle` since its version 5: a buffer that is
/// shuffled when it is full, gives half of itself away, and is shuffled again at the end.
struct BufferShuffle<T> {
    generator: NumpyGenerator,
    buffer: Vec<T>,
}

impl<T> BufferShuffle<T> {
    fn new(seed: u64) -> Self {
        Self { generator: NumpyGenerator::new(seed), buffer: Vec::new() }
    }

    fn push(&mut self, element: T, out: &mut Vec<T>) {
        self.buffer.push(element);
        if self.buffer.len() >= BUFFER_ROWS {
            self.generator.shuffle(&mut self.buffer);
            out.extend(self.buffer.drain(..BUFFER_ROWS - BUFFER_ROWS / 2));
        }
    }

    fn finish(&mut self, out: &mut Vec<T>) {
        self.generator.shuffle(&mut self.buffer);
        out.append(&mut self.buffer);
    }
}
