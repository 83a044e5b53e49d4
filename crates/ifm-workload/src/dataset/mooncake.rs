//! Traces of the Mooncake kind: times, lengths, and which blocks of a prompt were shared.
//!
//! The trace holds no text. Each hash stands for a block of 512 tokens; equal hashes give
//! equal text at equal places, so a prefix cache finds what it found when the trace was
//! recorded. vLLM's `timed_trace` takes blocks of 16 tokens if nothing else is said, and
//! makes other text in each process.
//!
//! Not here: sending at the right time (whoever sends).

use super::{Dataset, DatasetKind};
use crate::{
    error::WorkloadError,
    facts::DropReason,
    opening::Opening,
    source::{Columns, Row},
    trace::{self, Clock, Request},
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
    clock.set_times(&mut requests, &stamps);
    requests.sort_by_key(|request| request.at_ns);
    opening.rule(format!(
        "blocks of {block_tokens} tokens: equal hashes give equal text; requests by time, the \
         first at 0"
    ));
    opening.facts.timed = true;
    trace::dataset(opening, requests, Some((blocks, block_tokens)), rows.into_counts())
}

/// A row's time and request; nothing for a request without tokens.
fn read(
    columns: &Columns,
    row: &Row,
    blocks: &mut Vec<u64>,
) -> Result<Option<(f64, Request)>, String> {
    let time = trace::stamp(columns, row)?;
    let (prompt_tokens, output_tokens) = trace::lengths(columns, row)?;
    if prompt_tokens == 0 || output_tokens == 0 {
        return Ok(None);
    }
    let start = blocks.len();
    if let Some(list) = columns.get(&row.fields, "hash_ids") {
        let list = list.as_array().ok_or("'hash_ids' is not a list")?;
        if list.len() > BLOCKS_MAX {
            return Err(format!("'hash_ids' has more than {BLOCKS_MAX} blocks"));
        }
        let ids = list.iter().map(value::whole).collect::<Option<Vec<_>>>();
        blocks.extend(ids.ok_or("'hash_ids' holds something that is not a whole number")?);
    }
    let blocks = start..blocks.len();
    Ok(Some((time, Request { blocks, ..Request::new(prompt_tokens, output_tokens) })))
}
