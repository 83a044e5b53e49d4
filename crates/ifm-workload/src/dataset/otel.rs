//! Calls of models recorded as OpenTelemetry spans, by the conventions for generative AI.
//!
//! A row is a session with a list `spans`, as the corpora `agent-llm-traces` have it; or OTLP as JSON
//! (`resourceSpans`), of which each trace is a session; or one span, where rows of one trace that
//! follow one another are a session. A call of a model is a span with `gen_ai.input.messages`. Whose
//! call it is, the nearest span above it tells that began an agent (`invoke_agent`). An agent inside
//! another one starts behind the outer one's last call that had ended before, and the outer one's
//! first call that began after its end waits for it.
//!
//! A prompt goes on from the one of the same agent with which it shares most messages. Known are the
//! messages at its beginning that were sent or answered before, in any session.
//!
//! Not here: tools and other spans, of which only the time counts; spans as JSON (`span`).

use ifm_core::order::Order as _;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use ifm_core::{Message, Prompt, Role};
use ifm_made::Rng;
use ifm_tokenizer::{Tokenizer, TokenizerError};
use serde_json::{Map, Value};

use super::{Dataset, DatasetKind, Turn};
use crate::{
    error::WorkloadError,
    facts::DropReason,
    hub::HubSet,
    item::{Keep, SubAgent, WorkItem},
    list::Stored,
    opening::Opening,
    playing::{AGENTS_MAX, Playing, TURNS_MAX},
    request::Answers,
    select::message_tokens,
    span::{Call, Span, read_span},
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "otel",
    aliases: &["otel-trace", "otlp"],
    usage: "otel:FILE",
    summary: "calls of models recorded as OpenTelemetry spans, with their messages",
    ignore_eos: false,
    hub: &[
        HubSet { repository: "Exgentic/agent-llm-traces-v2", file: None },
        HubSet { repository: "Exgentic/agent-llm-traces", file: None },
    ],
    open,
};

/// Tokens to ask for where neither a count nor an answer was recorded.
const OUTPUT_TOKENS: u32 = 256;
/// Earlier prompts of an agent that a prompt is compared with.
const COMPARED_MAX: usize = 8;
/// Messages that are remembered at most.
const REMEMBERED_MAX: usize = 1 << 24;
/// Spans above one another at most.
const DEPTH_MAX: usize = 1000;
/// Seconds by which times may be rounded.
const ROUNDING_S: f64 = 0.002;

/// Reads sessions.
struct Reader<'opening> {
    tokenizer: &'opening Tokenizer,
    playing: &'opening Playing,
    /// Beginnings of prompts that were sent, as hashes.
    seen: HashSet<u64>,
    /// Tokens of messages by their hashes, so that what a session repeats is counted once.
    tokens: HashMap<u64, u32>,
    /// Spans whose parent is not there.
    lost_parents: u64,
}

/// What can be wrong with a session.
enum Fault {
    Row(String),
    Other(WorkloadError),
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Row(reason)
    }
}

impl From<TokenizerError> for Fault {
    fn from(error: TokenizerError) -> Self {
        Self::Other(error.into())
    }
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let mut playing = Playing::take(opening, Answers::Recorded)?;
    let output = opening.output_override();
    let home = KIND.hub.iter().find(|set| opening.body == format!("hub:{}", set.repository));
    let mut rows = opening.documents(home.or(KIND.hub.first()))?;
    let wanted = opening.wanted();
    let mut reader = Reader {
        tokenizer: opening.tokenizer,
        playing: &playing,
        seen: HashSet::new(),
        tokens: HashMap::new(),
        lost_parents: 0,
    };
    let mut found: Vec<WorkItem> = Vec::new();
    let mut flat = Flat::default();
    let mut kept = 0;
    while found.len() < wanted {
        let bad_before = rows.counts().bad;
        let row = rows.next()?;
        // A row that is no JSON may have been a span of the trace around it.
        flat.has_gap |= rows.counts().bad > bad_before;
        let mut read: Vec<Recorded> = Vec::new();
        let is_last = row.is_none();
        match row {
            Some(row) if is_span(&row.fields) => {
                let trace = trace_of(&row.fields);
                match read_span(&row.fields) {
                    Ok(span) => read.extend(flat.add(row.line, span)),
                    Err(reason) => {
                        rows.bad(row.line, &reason)?;
                        read.extend(flat.spoil(trace));
                    }
                }
                if flat.spans.len() > TURNS_MAX {
                    let file = rows.file().to_owned();
                    let reason = format!("holds a trace of more than {TURNS_MAX} spans");
                    return Err(WorkloadError::File { file, reason });
                }
            }
            Some(row) => {
                read.extend(flat.end());
                let sessions = spans_of(&row.fields);
                read.push(Recorded { line: row.line, rows: 1, sessions });
            }
            None => read.extend(flat.end()),
        }
        for Recorded { line, rows: count, sessions } in read {
            let (mut is_kept, mut fault) = (false, None);
            match sessions {
                Err(reason) => fault = Some(reason),
                Ok(sessions) => {
                    for spans in sessions {
                        match reader.session(spans) {
                            Ok(Some(item)) => {
                                if found.len() < wanted {
                                    is_kept = true;
                                    found.push(item);
                                }
                            }
                            Ok(None) => {}
                            Err(Fault::Row(reason)) => fault = fault.or(Some(reason)),
                            Err(Fault::Other(error)) => return Err(error),
                        }
                    }
                    if !is_kept && fault.is_none() && found.len() < wanted {
                        (0..count).for_each(|_| rows.drop_row(DropReason::TooFewTurns));
                    }
                }
            }
            match fault {
                Some(reason) => rows.bad(line, &reason)?,
                None if is_kept => kept += count,
                None => {}
            }
        }
        (0..std::mem::take(&mut flat.dropped)).for_each(|_| rows.drop_row(DropReason::Incomplete));
        if is_last {
            break;
        }
    }
    let lost = reader.lost_parents;
    if lost > 0 {
        opening.rule(format!(
            "spans whose parent is not in the file, and count as without one: {lost}"
        ));
    }
    let marks = playing.take_marks();
    let lengths = Rng::new(opening.request.seed).stream("output_length");
    let mut stored = Vec::new();
    for (place, item) in (0_u64..).zip(found) {
        let mut item = playing.finish(WorkItem { id: place as u32, ..item })?;
        let agents = item.agents.iter_mut().flat_map(|agent| agent.turns.iter_mut());
        for (turn, at) in item.turns.iter_mut().chain(agents).zip(0_u64..) {
            let given = output.as_ref().map(|law| law.draw(&mut lengths.item(place << 16 | at)));
            turn.output_tokens = given.or(turn.output_tokens).or(Some(OUTPUT_TOKENS));
        }
        stored.push(Stored { turns: item.turns, at_ns: None, agents: item.agents });
    }
    let mut counts = rows.into_counts();
    counts.kept = kept;
    opening.list_of_rows(stored, counts, marks)
}

/// Sessions that some rows contain.
struct Recorded {
    /// Line of the first row.
    line: u64,
    rows: u64,
    /// Their spans, or what is wrong with the rows.
    sessions: Result<Vec<Vec<Span>>, String>,
}

/// The trace that is being read where every row is a span. One of which a span is malformed is left out
/// as a whole: what is left of it would be another session.
#[derive(Default)]
struct Flat {
    line: u64,
    spans: Vec<Span>,
    /// A trace that is left out.
    spoiled: Option<String>,
    /// Whether a row was passed over of which the trace is not known.
    has_gap: bool,
    /// Well-formed rows that were left out, to be counted.
    dropped: u64,
}

impl Flat {
    /// Takes a span; the trace before it comes back when it is another one's.
    fn add(&mut self, line: u64, span: Span) -> Option<Recorded> {
        let is_same = self.spans.first().is_some_and(|first| first.trace == span.trace);
        if is_same && self.has_gap {
            self.leave_out(span.trace.clone());
        }
        self.has_gap = false;
        if self.spoiled.as_ref() == Some(&span.trace) {
            self.dropped += 1;
            return None;
        }
        let before = if is_same { None } else { self.end() };
        if self.spans.is_empty() {
            self.line = line;
        }
        self.spans.push(span);
        before
    }

    /// Notes a malformed span; the trace before it comes back when it is another one's.
    fn spoil(&mut self, trace: Option<String>) -> Option<Recorded> {
        let Some(trace) = trace else {
            self.has_gap = true;
            return None;
        };
        let is_same = self.spans.first().is_some_and(|first| first.trace == trace);
        let before = if is_same { None } else { self.end() };
        self.leave_out(trace);
        before
    }

    fn leave_out(&mut self, trace: String) {
        self.dropped += self.spans.len() as u64;
        self.spans.clear();
        self.spoiled = Some(trace);
    }

    /// The trace that has been read.
    fn end(&mut self) -> Option<Recorded> {
        let spans = std::mem::take(&mut self.spans);
        (!spans.is_empty()).then(|| Recorded {
            line: self.line,
            rows: spans.len() as u64,
            sessions: Ok(vec![spans]),
        })
    }
}

/// The trace of a row that is a span; absent where it names none.
fn trace_of(fields: &Map<String, Value>) -> Option<String> {
    let found = ["trace_id", "traceId"].iter().find_map(|name| fields.get(*name)?.as_str());
    found.filter(|text| !text.is_empty()).map(str::to_owned)
}

fn is_span(fields: &Map<String, Value>) -> bool {
    let has = |name: &str| fields.contains_key(name);
    (has("span_id") || has("spanId")) && !has("spans") && !has("resourceSpans")
}

/// The spans of a row, by trace where it is OTLP.
fn spans_of(fields: &Map<String, Value>) -> Result<Vec<Vec<Span>>, String> {
    let read = |list: &[Value]| -> Result<Vec<Span>, String> {
        let span = |(number, span): (usize, &Value)| match span.as_object() {
            Some(fields) => read_span(fields),
            None => Err(format!("span number {number} is no object")),
        };
        (1..).zip(list).map(span).collect()
    };
    match fields.get("spans") {
        Some(Value::Array(list)) => return Ok(vec![read(list)?]),
        // Some tables hold them as a text.
        Some(Value::String(text)) => {
            let list = serde_json::from_str::<Vec<Value>>(text);
            let list =
                list.map_err(|error| format!("'spans' is a text that is no list: {error}"))?;
            return Ok(vec![read(&list)?]);
        }
        _ => {}
    }
    let resources = fields.get("resourceSpans").and_then(Value::as_array);
    let resources = resources.ok_or("no list 'spans' and no 'resourceSpans'")?;
    let mut traces: Vec<Vec<Span>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for resource in resources {
        let scopes = resource.get("scopeSpans").and_then(Value::as_array);
        for scope in scopes.into_iter().flatten() {
            let list = scope.get("spans").and_then(Value::as_array).map(Vec::as_slice);
            for span in read(list.unwrap_or_default())? {
                let place = *places.entry(span.trace.clone()).or_insert(traces.len());
                if place == traces.len() {
                    traces.push(Vec::new());
                }
                if let Some(trace) = traces.get_mut(place) {
                    trace.push(span);
                }
            }
        }
    }
    Ok(traces)
}

/// The calls of one agent, by time.
struct Agent {
    /// The span that began it.
    span: Option<String>,
    calls: Vec<(f64, f64, Call)>,
}

impl Agent {
    fn start_s(&self) -> f64 {
        self.calls.first().map_or(0.0, |call| call.0)
    }

    fn end_s(&self) -> f64 {
        self.calls.iter().map(|call| call.1).fold(0.0, f64::max)
    }
}

/// Checks that no span is its own ancestor.
///
/// # Errors
/// The one that does.
fn no_circle(parents: &HashMap<String, (Option<String>, bool)>) -> Result<(), String> {
    // Whether all ancestors of a span were visited; a span in progress has not finished.
    let mut seen: HashMap<&str, bool> = HashMap::with_capacity(parents.len());
    for id in parents.keys() {
        let (mut path, mut at) = (Vec::new(), id.as_str());
        while let Some((parent, _)) = parents.get(at) {
            match seen.insert(at, false) {
                Some(true) => {
                    seen.insert(at, true);
                    break;
                }
                Some(false) => return Err(format!("span {at}: it stands above itself")),
                None => path.push(at),
            }
            let Some(parent) = parent else { break };
            at = parent;
        }
        path.into_iter().for_each(|span| _ = seen.insert(span, true));
    }
    Ok(())
}

impl Reader<'_> {
    /// The session of some spans; nothing where it has too few turns.
    fn session(&mut self, spans: Vec<Span>) -> Result<Option<WorkItem>, Fault> {
        if self.playing.has_marks() {
            self.seen.clear();
        }
        if self.seen.len() > REMEMBERED_MAX {
            return Err(Fault::Row(format!("more than {REMEMBERED_MAX} different messages")));
        }
        let (agents, above) = self.agents(spans)?;
        if agents.first().is_none_or(|root| !self.playing.is_enough(root.calls.len())) {
            return Ok(None);
        }
        let mut item = WorkItem::new(0, Vec::new());
        // Positions of sub-agents, before the calls become turns.
        let mut places = Vec::new();
        let mut joined: Vec<Vec<(usize, f64)>> = vec![Vec::new(); agents.len()];
        for (number, agent) in agents.iter().enumerate().skip(1) {
            let parent = above.get(number).copied().filter(|parent| *parent < number).unwrap_or(0);
            let calls = agents.get(parent).map(|it| it.calls.as_slice()).unwrap_or_default();
            let start_s = agent.start_s();
            let before = calls.iter().rposition(|call| call.1 <= start_s + ROUNDING_S);
            let after_turn = before.unwrap_or(0);
            let end_s = agent.end_s();
            let next = calls.iter().enumerate().skip(after_turn + 1);
            let next =
                next.filter(|(_, call)| call.0 >= end_s - ROUNDING_S).map(|(at, _)| at).next();
            let former_s = calls.get(after_turn).map_or(start_s, |call| call.1);
            let delay_ns = self.playing.pause_ns(start_s - former_s)?;
            if let (Some(at), Some(joined)) = (next, joined.get_mut(parent)) {
                joined.push((at, end_s));
            }
            places.push((parent as u16, after_turn as u16, next.map(|at| at as u16), delay_ns));
        }
        let mut all = Vec::new();
        // What is context alone, and the agents that it had started, is not sent.
        let mut over: Vec<bool> = Vec::new();
        for (number, (agent, joined)) in agents.into_iter().zip(&joined).enumerate() {
            let place = number.checked_sub(1).and_then(|place| places.get(place));
            let is_over = place.is_some_and(|&(parent, after, ..): &(u16, u16, _, _)| {
                let parent = usize::from(parent);
                let is_parent_over = over.get(parent).copied().unwrap_or(false);
                self.playing.is_over((parent, is_parent_over), usize::from(after))
            });
            over.push(is_over);
            all.push(self.turns((number, is_over), agent.calls, joined)?);
        }
        let mut all = all.into_iter();
        item.turns = all.next().unwrap_or_default();
        for (turns, (parent, after_turn, before_turn, delay_ns)) in all.zip(places) {
            item.agents.push(SubAgent { parent, after_turn, before_turn, delay_ns, turns });
        }
        Ok(Some(item))
    }

    /// The agents that called a model, by the time of their first call, and the agent above each.
    fn agents(&mut self, spans: Vec<Span>) -> Result<(Vec<Agent>, Vec<usize>), String> {
        let mut parents: HashMap<String, (Option<String>, bool)> = HashMap::new();
        for span in &spans {
            parents.insert(span.id.clone(), (span.parent.clone(), span.begins_agent));
        }
        no_circle(&parents)?;
        // The nearest span above that began an agent.
        let above = |from: Option<&String>| -> Result<Option<String>, String> {
            let mut at = from;
            for _ in 0..DEPTH_MAX {
                let Some(id) = at else { return Ok(None) };
                match parents.get(id) {
                    Some((_, true)) => return Ok(Some(id.clone())),
                    Some((parent, false)) => at = parent.as_ref(),
                    None => return Ok(None),
                }
            }
            let id = from.map_or("", String::as_str);
            Err(format!("span {id}: it stands below more than {DEPTH_MAX} spans"))
        };
        let is_lost =
            |span: &&Span| span.parent.as_ref().is_some_and(|it| !parents.contains_key(it));
        self.lost_parents += spans.iter().filter(is_lost).count() as u64;
        let mut agents: Vec<Agent> = Vec::new();
        let mut numbers: HashMap<Option<String>, usize> = HashMap::new();
        for span in spans {
            let Some(call) = span.call else { continue };
            let owner = above(span.parent.as_ref())?;
            let number = *numbers.entry(owner.clone()).or_insert(agents.len());
            if number == agents.len() {
                agents.push(Agent { span: owner, calls: Vec::new() });
            }
            if let Some(agent) = agents.get_mut(number) {
                agent.calls.push((span.start_s, span.end_s, call));
            }
        }
        if agents.len() > AGENTS_MAX {
            return Err(format!("more than {AGENTS_MAX} agents"));
        }
        if agents.iter().any(|agent| agent.calls.len() > TURNS_MAX) {
            return Err(format!("an agent with more than {TURNS_MAX} calls"));
        }
        for agent in &mut agents {
            agent.calls.order_by(|left, right| left.0.total_cmp(&right.0));
        }
        agents.order_by(|left, right| left.start_s().total_cmp(&right.start_s()));
        let mut outer = Vec::new();
        for agent in &agents {
            // The nearest agent above that called a model too.
            let mut at = agent.span.clone();
            let mut found = 0;
            for _ in 0..DEPTH_MAX {
                let Some(span) = at else { break };
                let parent = parents.get(&span).and_then(|(parent, _)| parent.as_ref());
                at = above(parent)?;
                if let Some(place) =
                    agents.iter().position(|other| other.span == at && at.is_some())
                {
                    found = place;
                    break;
                }
            }
            outer.push(found);
        }
        Ok((agents, outer))
    }

    /// The turns of one agent. `joined` are the turns that wait for others, and when those ended.
    fn turns(
        &mut self,
        (agent, is_over): (usize, bool),
        calls: Vec<(f64, f64, Call)>,
        joined: &[(usize, f64)],
    ) -> Result<Vec<Turn>, Fault> {
        let mut turns = Vec::new();
        // The content of each earlier prompt, followed by its answer.
        let mut contexts: Vec<Vec<u64>> = Vec::new();
        let mut former_end_s: Option<f64> = None;
        let mut tools: Option<Arc<Map<String, Value>>> = None;
        for (number, (start_s, end_s, call)) in calls.into_iter().enumerate() {
            let mut hashes: Vec<u64> = call.input.iter().map(hash).collect();
            let keep = best(&contexts, &hashes, &call.input);
            let kept = keep.map_or(0, |keep| keep.messages as usize);
            let counts = self.count(&call.input, &hashes)?;
            let is_sent = !is_over && (agent > 0 || !self.playing.is_context(number));
            let known = self.known(&hashes, &counts, call.answer.as_ref(), is_sent);
            let waits = joined.iter().filter(|(turn, _)| *turn == number).map(|(_, end_s)| *end_s);
            let think_ns = match former_end_s {
                Some(former_s) => {
                    self.playing.pause_ns(start_s - waits.fold(former_s, f64::max))?
                }
                None => 0,
            };
            if let Some(told) = call.tools {
                let fields = Map::from_iter([("tools".to_owned(), told)]);
                if tools.as_ref().is_none_or(|tools| **tools != fields) {
                    tools = Some(Arc::new(fields));
                }
            }
            let recorded = call.answer.as_ref().map(|it| message_tokens(self.tokenizer, it));
            let recorded_tokens = recorded.transpose()?;
            let messages = call.input.into_iter().skip(kept).collect();
            let follows = number.checked_sub(1).and_then(|last| contexts.get(last));
            // Where no answer was recorded the next prompt tells what was said, and goes on from the
            // prompt before: the server's own answer would stand there beside it.
            let is_answered =
                turns.last().is_some_and(|turn: &Turn| turn.recorded_answer.is_some());
            let is_plain = is_answered
                && follows.is_some_and(|context| {
                    keep == Some(Keep { turn: number as u16 - 1, messages: context.len() as u32 })
                });
            turns.push(Turn {
                prompt_tokens: Some(counts.iter().skip(kept).sum()),
                output_tokens: call.output_tokens.or(recorded_tokens.map(|tokens| tokens.max(1))),
                think_ns,
                keeps: keep.filter(|_| !is_plain && number > 0),
                known_tokens: Some(known),
                fields: tools.clone(),
                recorded_tokens,
                ..Turn::new(Prompt::Messages(messages))
            });
            if let (Some(turn), Some(answer)) = (turns.last_mut(), call.answer) {
                hashes.push(hash(&answer));
                turn.recorded_answer = Some(answer);
            }
            contexts.push(hashes);
            former_end_s = Some(former_end_s.map_or(end_s, |former| former.max(end_s)));
        }
        Ok(turns)
    }

    /// Tokens of each message.
    fn count(&mut self, messages: &[Message], hashes: &[u64]) -> Result<Vec<u32>, TokenizerError> {
        let mut counts = Vec::with_capacity(messages.len());
        for (message, hash) in messages.iter().zip(hashes) {
            let tokens = match self.tokens.get(hash) {
                Some(tokens) => *tokens,
                None => message_tokens(self.tokenizer, message)?,
            };
            if self.tokens.len() < REMEMBERED_MAX {
                self.tokens.insert(*hash, tokens);
            }
            counts.push(tokens);
        }
        Ok(counts)
    }

    /// Tokens at the beginning of a prompt that were sent or answered before; it and its answer are
    /// said then, if it is sent.
    fn known(
        &mut self,
        hashes: &[u64],
        counts: &[u32],
        answer: Option<&Message>,
        is_sent: bool,
    ) -> u32 {
        let mut chain = DefaultHasher::new();
        let (mut known, mut is_known) = (0, true);
        for (one, tokens) in hashes.iter().zip(counts) {
            one.hash(&mut chain);
            let said = chain.finish();
            is_known &= self.seen.contains(&said);
            if is_sent {
                self.seen.insert(said);
            }
            known += if is_known { *tokens } else { 0 };
        }
        if let Some(answer) = answer.filter(|_| is_sent) {
            hash(answer).hash(&mut chain);
            self.seen.insert(chain.finish());
        }
        known
    }
}

/// What a prompt goes on from: the latest of the earlier prompts with which it shares most messages.
/// At least one message is new.
fn best(contexts: &[Vec<u64>], hashes: &[u64], input: &[Message]) -> Option<Keep> {
    let mut best: Option<Keep> = None;
    for (turn, context) in contexts.iter().enumerate().rev().take(COMPARED_MAX) {
        let equal = context.iter().zip(hashes).take_while(|(left, right)| left == right).count();
        // An answer may have been written back in other words; its position stays the same.
        let is_answer = input.get(equal).is_some_and(|message| message.role == Role::Assistant);
        let shared = if equal + 1 == context.len() && is_answer { equal + 1 } else { equal };
        let shared = shared.min(hashes.len().saturating_sub(1)) as u32;
        if best.is_none_or(|best| shared > best.messages) {
            best = Some(Keep { turn: turn as u16, messages: shared });
        }
    }
    best
}

/// A message as a number.
fn hash(message: &Message) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.role.word().hash(&mut hasher);
    message.content.trim().hash(&mut hasher);
    message.tool_call_id.hash(&mut hasher);
    for call in &message.tool_calls {
        (&call.name, &call.arguments).hash(&mut hasher);
    }
    hasher.finish()
}
