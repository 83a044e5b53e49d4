//! Traces of the Mooncake kind: times, lengths, and which blocks of a prompt were shared.
//!
//! The trace holds no text. Each hash stands for a block of 512 tokens; equal hashes give
//! equal text at equal places, so a prefix cache finds what it found when the trace was
//! recorded. vLLM's `timed_trace` takes blocks of 16 tokens if nothing else is said, and
//! makes other text in each process.
//!
//! Rows with a `session_id` are grouped into sessions: turns that wait for one another, with pauses
//! from the end of one request to the start of the next. Such a trace tells no ends, so `delay` (in
//! the unit of its times) is the pause where it stands in the row, and else the time between the two
//! rows.
//!
//! Not here: sending at the right time (whoever sends), what a turn goes on from (`chain`).

use ifm_core::order::Order as _;
use std::collections::HashMap;

use super::{Dataset, DatasetKind};
use crate::{
    chain::{Chain, Seen},
    error::WorkloadError,
    facts::{DropReason, RowCounts},
    opening::Opening,
    playing::Playing,
    request::Answers,
    script::{self, ScriptAgent, Scripts, Writer},
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
/// Rows with sessions that are read at most: how many a session has is known at the end alone.
const SESSION_ROWS_MAX: usize = 1 << 21;

/// Which session a row belongs to, and the pause before it in the trace's unit.
struct Place {
    session: String,
    delay: Option<f64>,
}

/// The rows of a trace of sessions.
struct Recorded {
    requests: Vec<Request>,
    stamps: Vec<f64>,
    places: Vec<Place>,
    blocks: Vec<u64>,
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let block = opening.options.value::<u32>("block", "a number of tokens")?;
    let block_tokens = block.unwrap_or(BLOCK_TOKENS).max(1);
    let clock = Clock::take(opening, 1e6)?;
    let needed: [&[&str]; 3] = [&["timestamp"], &["input_tokens"], &["output_tokens"]];
    let mut rows = opening.rows(None, &needed)?;
    let wanted = opening.wanted();
    let (mut requests, mut blocks, mut stamps) = (Vec::new(), Vec::new(), Vec::new());
    let mut places: Vec<Place> = Vec::new();
    let mut playing = None;
    while places.is_empty() && requests.len() < wanted || !places.is_empty() {
        let Some(row) = rows.next()? else { break };
        match read(rows.columns(), &row, &mut blocks) {
            Ok(Some((stamp, request))) => {
                let place = match place(rows.columns(), &row) {
                    Ok(place) => place,
                    Err(reason) => {
                        rows.bad(row.line, &reason)?;
                        continue;
                    }
                };
                if place.is_some() == places.is_empty() && !requests.is_empty() {
                    rows.bad(row.line, "some rows have a session, and some have none")?;
                    continue;
                }
                if place.is_some() && playing.is_none() {
                    playing = Some(Playing::take(opening, Answers::Recorded)?);
                }
                places.extend(place);
                if places.len() > SESSION_ROWS_MAX {
                    let reason = format!("holds more than {SESSION_ROWS_MAX} rows of sessions");
                    return Err(WorkloadError::File { file: rows.file().to_owned(), reason });
                }
                stamps.push(stamp);
                requests.push(request);
            }
            Ok(None) => rows.drop_row(DropReason::Failed),
            Err(reason) => rows.bad(row.line, &reason)?,
        }
    }
    if let Some(playing) = playing {
        clock.set_times(&mut requests, &stamps);
        let recorded = Recorded { requests, stamps, places, blocks };
        let counts = rows.into_counts();
        return sessions(opening, recorded, (playing, &clock), block_tokens, counts);
    }
    clock.set_times(&mut requests, &stamps);
    requests.order_by_key(|request| request.at_ns);
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

/// Position of a row; absent without a session.
///
/// # Errors
/// No pause.
fn place(columns: &Columns, row: &Row) -> Result<Option<Place>, String> {
    let session = match columns.get(&row.fields, "session_id") {
        None => return Ok(None),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let delay = match columns.get(&row.fields, "delay").filter(|delay| !delay.is_null()) {
        None => None,
        Some(told) => match value::number(told).filter(|delay| *delay >= 0.0) {
            Some(delay) => Some(delay),
            None => return Err(format!("'delay' is {told}, and a pause is not below 0")),
        },
    };
    Ok(Some(Place { session, delay }))
}

/// The sessions of a trace, in the order of their first requests. Hashes mean the same in all.
fn sessions(
    opening: &mut Opening<'_>,
    recorded: Recorded,
    (playing, clock): (Playing, &Clock),
    block_tokens: u32,
    mut counts: RowCounts,
) -> Result<Box<dyn Dataset>, WorkloadError> {
    let file = opening.facts.files.first().map(|file| file.name.clone()).unwrap_or_default();
    let wrong = |reason: String| WorkloadError::File { file: file.clone(), reason };
    let Recorded { requests, stamps, places, blocks } = recorded;
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.order_by_key(|row| requests.get(*row).and_then(|request| request.at_ns));
    let mut sessions: Vec<Vec<usize>> = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for row in order {
        let Some(place) = places.get(row) else { continue };
        let number = *numbers.entry(&place.session).or_insert(sessions.len());
        if number == sessions.len() {
            sessions.push(Vec::new());
        }
        if let Some(session) = sessions.get_mut(number) {
            session.push(row);
        }
    }
    let (mut scripts, mut seen) = (Scripts::default(), Seen::default());
    counts.kept = 0;
    for rows in sessions {
        if scripts.sessions.len() == opening.wanted() {
            break;
        }
        if !playing.is_enough(rows.len()) {
            rows.iter().for_each(|_| counts.drop_row(DropReason::TooFewTurns));
            continue;
        }
        if playing.has_marks() {
            seen.clear();
        }
        let mut chain = Chain::new(block_tokens, 0);
        let mut turns = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let Some(request) = requests.get(*row) else { continue };
            let hashes = blocks.get(request.blocks.clone()).unwrap_or_default();
            let lengths = (request.prompt_tokens, request.output_tokens);
            let is_sent = !playing.is_context(at);
            let turn = chain.next(hashes, lengths, is_sent, &mut seen, &mut scripts.blocks);
            let mut turn = turn.map_err(&wrong)?;
            let former = at.checked_sub(1).and_then(|former| rows.get(former));
            if let Some(former) = former {
                let stamp = |row: &usize| stamps.get(*row).copied().unwrap_or_default();
                let between = stamp(row) - stamp(former);
                let delay = places.get(*row).and_then(|place| place.delay).unwrap_or(between);
                turn.think_ns = playing.pause_ns(clock.seconds(delay)).map_err(&wrong)?;
            }
            turns.push(turn);
        }
        seen.end_session(true);
        counts.kept += rows.len() as u64;
        let root = ScriptAgent { parent: 0, after_turn: 0, before_turn: None, delay_ns: 0, turns };
        scripts.push(vec![root]).map_err(&wrong)?;
    }
    opening.rule(format!(
        "blocks of {block_tokens} tokens: equal hashes give equal text where a prompt begins; rows \
         of a session wait for one another, with the pause that the row tells, or the time since \
         the row before"
    ));
    let writer = Writer::new(opening, playing, block_tokens, 0)?;
    script::dataset(opening, scripts, writer, counts)
}
