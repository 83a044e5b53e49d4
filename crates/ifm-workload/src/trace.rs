//! What traces have in common: a clock, and requests without text.
//!
//! Not here: reading a trace's rows (`dataset`).

use std::{collections::HashSet, ops::Range};

use ifm_core::Prompt;
use ifm_made::{Rng, Stream};

use crate::{
    error::WorkloadError,
    facts::RowCounts,
    item::{Dataset, WorkItem},
    lengths::Lengths,
    opening::Opening,
    prompt::{Prefix, PromptMaker},
    request::AfterLast,
    source::{Columns, Row},
    value,
};

/// Turns a trace's time stamps into nanoseconds since its first request.
pub(crate) struct Clock {
    unit_ns: f64,
    /// How many times faster than recorded.
    speed: f64,
}

impl Clock {
    /// Reads the options `unit` and `speed`.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`].
    pub(crate) fn take(opening: &mut Opening<'_>, unit_ns: f64) -> Result<Self, WorkloadError> {
        let unit_ns = match opening.options.word("unit", &["default", "s", "ms", "us", "ns"])? {
            "s" => 1e9,
            "ms" => 1e6,
            "us" => 1e3,
            "ns" => 1.0,
            _ => unit_ns,
        };
        let speed = opening.options.value::<f64>("speed", "a number above 0")?.unwrap_or(1.0);
        if !(speed.is_finite() && speed > 0.0) {
            return Err(WorkloadError::Shape {
                text: format!("speed={speed}"),
                reason: "the speed is a number above 0; 2 is twice as fast as recorded".to_owned(),
            });
        }
        if speed != 1.0 {
            opening.rule(format!("{speed} times as fast as recorded"));
        }
        Ok(Self { unit_ns, speed })
    }

    /// A span in the trace's unit as seconds, as fast as asked.
    pub(crate) fn seconds(&self, span: f64) -> f64 {
        span * self.unit_ns / self.speed / 1e9
    }

    /// Sets the time of each request: nanoseconds after the earliest stamp.
    pub(crate) fn set_times(&self, requests: &mut [Request], stamps: &[f64]) {
        let earliest = stamps.iter().copied().fold(f64::INFINITY, f64::min);
        for (request, stamp) in requests.iter_mut().zip(stamps) {
            let at_ns = ((stamp - earliest) * self.unit_ns / self.speed).round();
            request.at_ns = Some(at_ns as u64);
        }
    }
}

/// One request of a trace.
#[derive(Clone)]
pub(crate) struct Request {
    /// None where a rule draws rows without their times.
    pub(crate) at_ns: Option<u64>,
    pub(crate) prompt_tokens: u32,
    pub(crate) output_tokens: u32,
    /// Where its blocks stand.
    pub(crate) blocks: Range<usize>,
}

impl Request {
    /// A request without a time and without blocks.
    pub(crate) fn new(prompt_tokens: u32, output_tokens: u32) -> Request {
        Request { at_ns: None, prompt_tokens, output_tokens, blocks: 0..0 }
    }
}

/// Reads the time stamp of a row.
///
/// # Errors
/// What is wrong with the row.
pub(crate) fn stamp(columns: &Columns, row: &Row) -> Result<f64, String> {
    let stamp = value::number(columns.found(row, "timestamp")?);
    stamp.ok_or_else(|| "the time stamp is not a number".to_owned())
}

/// Reads the lengths of prompt and output of a row.
///
/// # Errors
/// What is wrong with the row.
pub(crate) fn lengths(columns: &Columns, row: &Row) -> Result<(u32, u32), String> {
    Ok((columns.tokens(row, "input_tokens")?, columns.tokens(row, "output_tokens")?))
}

/// The data set: requests of given lengths with made-up text.
struct Trace {
    requests: Vec<Request>,
    /// Blocks of all requests, one after the other, and the tokens of each.
    blocks: Option<(Vec<u64>, u32)>,
    prompts: PromptMaker,
    prefix: Prefix,
    output: Option<Lengths>,
    outputs: Stream,
    after_last: AfterLast,
}

/// Makes the data set, and writes down what it is.
///
/// # Errors
/// [`WorkloadError::NoRows`] when it holds no request.
pub(crate) fn dataset(
    opening: &mut Opening<'_>,
    requests: Vec<Request>,
    blocks: Option<(Vec<u64>, u32)>,
    counts: RowCounts,
) -> Result<Box<dyn Dataset>, WorkloadError> {
    let rng = Rng::new(opening.request.seed);
    describe(opening, counts, requests.iter().map(|one| (one.prompt_tokens, one.output_tokens)))?;
    Ok(Box::new(Trace {
        requests,
        blocks,
        prompts: opening.prompts(&rng)?,
        prefix: Prefix::default(),
        output: opening.output_override(),
        outputs: rng.stream("output_length"),
        after_last: opening.request.after_last,
    }))
}

impl Trace {
    /// Which request an item is.
    fn place(&self, id: u32) -> Option<usize> {
        let place = id as usize;
        match self.after_last {
            _ if place < self.requests.len() => Some(place),
            AfterLast::Repeat => place.checked_rem(self.requests.len()),
            AfterLast::Stop | AfterLast::VllmOversample => None,
        }
    }
}

impl Dataset for Trace {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let exhausted = || WorkloadError::Exhausted { items: self.requests.len() as u64 };
        let place = self.place(id).ok_or_else(exhausted)?;
        let request = self.requests.get(place).ok_or_else(exhausted)?;
        let tokens = request.prompt_tokens;
        let text = match &self.blocks {
            Some((all, block_tokens)) => {
                let blocks = all.get(request.blocks.clone()).unwrap_or_default();
                self.prompts.prompt_of_blocks(id, tokens, blocks, *block_tokens)?
            }
            None => self.prompts.prompt(&self.prefix, id, tokens)?,
        };
        let law = self.output.as_ref();
        let output = law.map(|law| law.draw(&mut self.outputs.item(u64::from(id))));
        let output = output.unwrap_or(request.output_tokens);
        let mut item = WorkItem::single(id, Prompt::Text(text), Some(tokens), Some(output));
        item.at_ns = request.at_ns.filter(|_| place == id as usize);
        Ok(item)
    }

    fn are_items_alike(&self) -> bool {
        true
    }

    fn distinct_items(&self) -> u64 {
        let Some((blocks, _)) = &self.blocks else {
            let shortest = self.requests.iter().map(|request| request.prompt_tokens).min();
            return self.prompts.distinct_prompts(&self.prefix, shortest.unwrap_or(1));
        };
        let mut seen = HashSet::new();
        let firsts = self
            .requests
            .iter()
            .map(|request| blocks.get(request.blocks.start).filter(|_| !request.blocks.is_empty()));
        firsts.take_while(|first| first.is_none_or(|first| seen.insert(*first))).count() as u64
    }

    fn items(&self) -> Option<u32> {
        (self.after_last != AfterLast::Repeat).then_some(self.requests.len() as u32)
    }
}

/// Writes down what a trace is.
///
/// # Errors
/// [`WorkloadError::NoRows`] when it holds no request.
fn describe(
    opening: &mut Opening<'_>,
    mut counts: RowCounts,
    lengths: impl Iterator<Item = (u32, u32)>,
) -> Result<(), WorkloadError> {
    let lengths = lengths.collect::<Vec<_>>();
    opening.tell_bound(lengths.len());
    let facts = &mut opening.facts;
    let mut requests = 0_u32;
    for (prompt, output) in lengths {
        requests = requests.saturating_add(1);
        facts.prompt_tokens_max = facts.prompt_tokens_max.max(Some(prompt));
        facts.output_tokens_max = facts.output_tokens_max.max(Some(output));
        let total = u64::from(prompt) + u64::from(output);
        facts.total_tokens_max = facts.total_tokens_max.max(Some(total));
    }
    if requests == 0 {
        return Err(WorkloadError::NoRows {
            file: facts.files.first().map(|file| file.name.clone()).unwrap_or_default(),
            read: counts.read,
            reasons: counts.reasons(),
        });
    }
    counts.kept = u64::from(requests);
    let told = counts.dropped.values().sum::<u64>() + counts.bad + counts.kept;
    counts.unused = counts.read.saturating_sub(told);
    let repeat = opening.request.after_last == AfterLast::Repeat;
    facts.items = (!repeat).then_some(requests);
    facts.after_last = opening.request.after_last;
    facts.rows = Some(counts);
    Ok(())
}
