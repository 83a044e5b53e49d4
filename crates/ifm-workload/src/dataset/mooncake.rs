//! Traces of the Mooncake kind: times, lengths, and which blocks of a prompt were shared.
//!
//! The trace holds no text. Each hash stands for a block of 512 tokens; equal hashes give
//! equal text at equal places, so a prefix cache finds what it found when the trace was
//! recorded. vLLM's `timed_trace` takes blocks of 16 tokens if nothing else is said, and
//! makes other text in each process.
//!
//! Not here: sending at the right time (whoever sends).

use ifm_core::Prompt;

use super::{Dataset, DatasetKind, WorkItem};
use crate::{
    error::WorkloadError,
    facts::DropReason,
    lengths::Lengths,
    opening::Opening,
    prompt::PromptMaker,
    request::AfterLast,
    rng::{Rng, Stream},
    source::{Columns, Row},
    trace::{Clock, exhausted, place_of},
    value,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "mooncake",
    aliases: &["trace"],
    usage: "mooncake:FILE",
    summary: "a trace of times, lengths and shared blocks, with made-up text",
    ignore_eos: true,
    hub: &[],
    open,
};

/// Tokens of a block in Mooncake's traces.
const BLOCK_TOKENS: u32 = 512;
/// Blocks of one request at most.
const BLOCKS_MAX: usize = 1 << 16;

/// One request of the trace.
struct Request {
    at_ns: u64,
    prompt_tokens: u32,
    output_tokens: u32,
    /// Where its blocks stand.
    blocks: std::ops::Range<usize>,
}

/// The data set.
struct Trace {
    requests: Vec<Request>,
    /// Blocks of all requests, one after the other.
    blocks: Vec<u64>,
    block_tokens: u32,
    prompts: PromptMaker,
    output: Option<Lengths>,
    outputs: Stream,
    after_last: AfterLast,
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let block = opening.options.value::<u32>("block", "a number of tokens")?;
    let block_tokens = block.unwrap_or(BLOCK_TOKENS).max(1);
    let clock = Clock::take(opening, 1e6)?;
    let needed: [&[&str]; 3] = [&["timestamp"], &["input_tokens"], &["output_tokens"]];
    let mut rows = opening.rows(None, &needed)?;
    let wanted = opening.wanted();
    let (mut requests, mut blocks, mut stamps) = (Vec::new(), Vec::new(), Vec::new());
    while requests.len() < wanted {
        let Some(row) = rows.next()? else { break };
        match read(rows.columns(), &row, &mut blocks) {
            Ok(Some((stamp, request))) => {
                stamps.push(stamp);
                requests.push(request);
            }
            Ok(None) => rows.drop_row(DropReason::Failed),
            Err(reason) => rows.bad(row.line, &reason)?,
        }
    }
    for (request, at_ns) in requests.iter_mut().zip(clock.times_ns(&stamps)) {
        request.at_ns = at_ns;
    }
    requests.sort_by_key(|request| request.at_ns);
    opening.rule(format!(
        "blocks of {block_tokens} tokens: equal hashes give equal text; requests by time, the \
         first at 0"
    ));
    let rng = Rng::new(opening.request.seed);
    let trace = Trace {
        requests,
        blocks,
        block_tokens,
        prompts: opening.prompts(&rng)?,
        output: opening.output_override(),
        outputs: rng.stream("output_length"),
        after_last: opening.request.after_last,
    };
    let lengths = trace.requests.iter().map(|one| (one.prompt_tokens, one.output_tokens));
    opening.facts.timed = true;
    crate::trace::describe(opening, rows.into_counts(), lengths)?;
    Ok(Box::new(trace))
}

/// A row's time and request; nothing for a request without tokens.
fn read(
    columns: &Columns,
    row: &Row,
    blocks: &mut Vec<u64>,
) -> Result<Option<(f64, Request)>, String> {
    let there = || row.fields.keys().map(String::as_str).collect::<Vec<_>>();
    let get = |name: &str| columns.get(&row.fields, name);
    let lack = |name: &str| columns.missing(&[name], &there());
    let time = get("timestamp").ok_or_else(|| lack("timestamp"))?;
    let time = value::number(time).ok_or("the time stamp is not a number")?;
    let length = |name: &str| {
        let tokens = get(name).ok_or_else(|| lack(name))?;
        value::tokens(tokens).ok_or_else(|| format!("'{name}' is not a number of tokens"))
    };
    let (prompt_tokens, output_tokens) = (length("input_tokens")?, length("output_tokens")?);
    if prompt_tokens == 0 || output_tokens == 0 {
        return Ok(None);
    }
    let start = blocks.len();
    if let Some(list) = get("hash_ids") {
        let list = list.as_array().ok_or("'hash_ids' is not a list")?;
        if list.len() > BLOCKS_MAX {
            return Err(format!("'hash_ids' has more than {BLOCKS_MAX} blocks"));
        }
        let ids = list.iter().map(value::whole).collect::<Option<Vec<_>>>();
        blocks.extend(ids.ok_or("'hash_ids' holds something that is not a whole number")?);
    }
    let blocks = start..blocks.len();
    Ok(Some((time, Request { at_ns: 0, prompt_tokens, output_tokens, blocks })))
}

impl Dataset for Trace {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let place = place_of(id, self.requests.len(), self.after_last)?;
        let request = self.requests.get(place).ok_or_else(|| exhausted(self.requests.len()))?;
        let blocks = self.blocks.get(request.blocks.clone()).unwrap_or_default();
        let tokens = request.prompt_tokens;
        let text = self.prompts.prompt_of_blocks(id, tokens, blocks, self.block_tokens)?;
        let law = self.output.as_ref();
        let output = law.map(|law| law.draw(&mut self.outputs.item(u64::from(id))));
        let output = output.unwrap_or(request.output_tokens);
        let mut item = WorkItem::single(id, Prompt::Text(text), Some(tokens), Some(output));
        item.at_ns = (place == id as usize).then_some(request.at_ns);
        Ok(item)
    }

    fn distinct_items(&self) -> u64 {
        let mut seen = std::collections::HashSet::new();
        let firsts = self.requests.iter().map(|request| {
            self.blocks.get(request.blocks.start).filter(|_| !request.blocks.is_empty())
        });
        firsts.take_while(|first| first.is_none_or(|first| seen.insert(*first))).count() as u64
    }

    fn items(&self) -> Option<u32> {
        (self.after_last != AfterLast::Repeat).then_some(self.requests.len() as u32)
    }
}
