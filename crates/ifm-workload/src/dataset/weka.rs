//! Weka's traces of coding agents: each conversation with the times, lengths and blocks of its
//! requests, and its sub-agents inside it.
//!
//! As `TRACE_FORMAT` of agentic-coding-analysis and the corpora `cc-traces-weka-…` have them: `t`
//! seconds from the conversation's start, `in` and `out` tokens, `hash_ids` of the full blocks,
//! `api_time` and `think_time` in seconds. A request of the type `subagent` holds requests of its own.
//! The parent's next request waits for it where it came after its end. Hashes mean something within
//! one agent, unless `hash_id_scope` says `global`.
//!
//! Not here: what a turn goes on from (`chain`), text (`script`).

use serde_json::{Map, Value};

use super::{Dataset, DatasetKind};
use crate::{
    chain::{Chain, Scope, Seen, mixed},
    error::WorkloadError,
    facts::DropReason,
    hub::HubSet,
    opening::Opening,
    playing::{AGENTS_MAX, Playing},
    request::Answers,
    script::{self, Script, ScriptAgent, Scripts, Writer},
    value,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "weka",
    aliases: &["weka-trace", "weka_trace", "cc-traces"],
    usage: "weka:FILE",
    summary: "recorded work of coding agents: times, lengths, blocks, sub-agents; made-up text",
    ignore_eos: true,
    hub: &[
        HubSet { repository: "semianalysisai/cc-traces-weka-042026", file: None },
        HubSet { repository: "semianalysisai/cc-traces-weka-no-subagents-051226", file: None },
        HubSet { repository: "semianalysisai/cc-traces-weka-with-subagents-051926", file: None },
        HubSet { repository: "semianalysisai/cc-traces-weka-062126", file: None },
    ],
    open,
};

/// Tokens of a block where a conversation does not say.
const BLOCK_TOKENS: u32 = 64;
/// Sub-agents inside one another at most.
const DEPTH_MAX: usize = 16;
/// Seconds by which times may be rounded.
const ROUNDING_S: f64 = 0.002;

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let playing = Playing::take(opening, Answers::Recorded)?;
    let scope = match opening.options.word("hashes", &["told", "agent", "session", "all"])? {
        "agent" => Some(Scope::Agent),
        "session" => Some(Scope::Session),
        "all" => Some(Scope::All),
        _ => None,
    };
    let home = KIND.hub.iter().find(|set| opening.body == format!("hub:{}", set.repository));
    let mut rows = opening.documents(home.or(KIND.hub.first()))?;
    let wanted = opening.wanted();
    let (mut scripts, mut seen, mut block_tokens) = (Scripts::default(), Seen::default(), None);
    let (mut overlaps, mut number) = (0_u64, 0_u64);
    while scripts.sessions.len() < wanted {
        let Some(row) = rows.next()? else { break };
        if playing.has_marks() {
            seen.clear();
        }
        let kept = scripts.blocks.len();
        number += 1;
        let mut reader = Reader {
            playing: &playing,
            scope: scope.unwrap_or_else(|| told_scope(&row.fields)),
            block_tokens: BLOCK_TOKENS,
            number,
            seen: &mut seen,
            kept: &mut scripts.blocks,
            agents: Vec::new(),
            overlaps: 0,
        };
        let read = reader.conversation(&row.fields);
        let (agents, tokens, overlapped) = (reader.agents, reader.block_tokens, reader.overlaps);
        let read = read.and_then(|()| match *block_tokens.get_or_insert(tokens) {
            first if first == tokens => Ok(()),
            first => Err(format!("blocks of {tokens} tokens, where others have {first}")),
        });
        if let Err(reason) = read {
            scripts.blocks.truncate(kept);
            seen.end_session(false);
            rows.bad(row.line, &reason)?;
            continue;
        }
        let turns = agents.first().map_or(0, |agent| agent.turns.len());
        if !playing.is_enough(turns) {
            scripts.blocks.truncate(kept);
            seen.end_session(false);
            rows.drop_row(DropReason::TooFewTurns);
            continue;
        }
        seen.end_session(true);
        overlaps += overlapped;
        let file = rows.file().to_owned();
        scripts.push(agents).map_err(|reason| WorkloadError::File { file, reason })?;
    }
    let block_tokens = block_tokens.unwrap_or(BLOCK_TOKENS);
    opening.rule(format!(
        "blocks of {block_tokens} tokens: equal hashes give equal text; pauses from the end of one \
         request to the start of the next; a parent waits for sub-agents that ended before its next \
         request"
    ));
    if overlaps > 0 {
        opening.rule(format!(
            "{overlaps} requests began before the one before them had ended, and follow it at once"
        ));
    }
    let writer = Writer::new(opening, playing, block_tokens, 0)?;
    script::dataset(opening, scripts, writer, rows.into_counts())
}

fn told_scope(fields: &Map<String, Value>) -> Scope {
    match fields.get("hash_id_scope").and_then(Value::as_str) {
        Some("global") => Scope::All,
        _ => Scope::Agent,
    }
}

/// Reads one conversation.
struct Reader<'file> {
    playing: &'file Playing,
    scope: Scope,
    block_tokens: u32,
    /// The conversation's own number, from 1; those that are left out count too.
    number: u64,
    seen: &'file mut Seen,
    kept: &'file mut Vec<u64>,
    agents: Script,
    overlaps: u64,
}

/// A sub-agent as its parent's list has it.
struct Spawned {
    /// Its number among the agents.
    number: usize,
    after_turn: usize,
    start_s: f64,
    /// When it ended; absent if unknown.
    end_s: Option<f64>,
}

/// When a request was sent and answered, as far as the trace reports it.
struct Times {
    start_s: f64,
    api_s: Option<f64>,
    think_s: Option<f64>,
}

impl Times {
    /// When the answer arrived. If unknown, the request counts as answered immediately.
    fn end_s(&self) -> f64 {
        self.start_s + self.api_s.unwrap_or(0.0)
    }
}

impl Reader<'_> {
    fn conversation(&mut self, fields: &Map<String, Value>) -> Result<(), String> {
        if let Some(tokens) = present(fields, "block_size") {
            let tokens = value::tokens(tokens).filter(|tokens| *tokens > 0);
            self.block_tokens = tokens.ok_or("'block_size' is not a number of tokens")?;
        }
        let requests = list(fields, "requests")?;
        self.agent(requests, (0, 0), false, 0)?;
        Ok(())
    }

    /// Reads an agent and what it starts; when its last answer came, on the clock of its requests. One
    /// that is over when the session begins is not sent.
    fn agent(
        &mut self,
        requests: &[Value],
        (parent, after_turn): (u16, u16),
        is_over: bool,
        depth: usize,
    ) -> Result<(usize, Option<f64>), String> {
        if depth > DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} sub-agents inside one another"));
        }
        if self.agents.len() >= AGENTS_MAX {
            return Err(format!("more than {AGENTS_MAX} agents"));
        }
        let number = self.agents.len();
        self.agents.push(ScriptAgent {
            parent,
            after_turn,
            before_turn: None,
            delay_ns: 0,
            turns: Vec::new(),
        });
        let space = match self.scope {
            Scope::Agent => mixed(self.number, number as u64),
            Scope::Session => self.number,
            Scope::All => 0,
        };
        let mut chain = Chain::new(self.block_tokens, space);
        let (mut times, mut turns, mut spawned) = (Vec::<Times>::new(), Vec::new(), Vec::new());
        for (place, request) in requests.iter().enumerate() {
            let wrong = |reason: String| format!("request {}: {reason}", place + 1);
            let fields = request.as_object().ok_or_else(|| wrong("it is no object".to_owned()))?;
            let start_s = seconds(fields, "t").and_then(|it| it.ok_or("no time 't'".to_owned()));
            let start_s = start_s.map_err(&wrong)?;
            if present(fields, "type").and_then(Value::as_str) == Some("subagent") {
                let inner = list(fields, "requests").map_err(&wrong)?;
                if inner.is_empty() {
                    continue;
                }
                let after = times.len().checked_sub(1);
                let after = after.ok_or_else(|| wrong("a sub-agent before any request".into()))?;
                let places = (number as u16, after as u16);
                let over = is_over || number == 0 && self.playing.is_context(after);
                let read = self.agent(inner, places, over, depth + 1);
                let (child, inner_end_s) = read.map_err(&wrong)?;
                let lasted_s = seconds(fields, "duration_ms").map_err(&wrong)?.map(|ms| ms / 1e3);
                // Without its duration, what its requests tell, where they are on the same clock.
                let told_s = lasted_s.map(|span_s| start_s + span_s);
                let end_s = told_s.or(end_s_on(start_s, inner, inner_end_s));
                spawned.push(Spawned { number: child, after_turn: after, start_s, end_s });
                continue;
            }
            let time = Times {
                start_s,
                api_s: seconds(fields, "api_time").map_err(&wrong)?,
                think_s: seconds(fields, "think_time").map_err(&wrong)?,
            };
            if times.last().is_some_and(|former| start_s < former.start_s - ROUNDING_S) {
                return Err(wrong("its time lies before that of the request before it".to_owned()));
            }
            let context = is_over || number == 0 && self.playing.is_context(times.len());
            let turn = self.request(fields, !context, &mut chain).map_err(&wrong)?;
            turns.push(turn);
            times.push(time);
        }
        if turns.is_empty() {
            return Err("no request of an agent's own".to_owned());
        }
        let joined = self.join(&spawned, &times)?;
        for (place, turn) in turns.iter_mut().enumerate().skip(1) {
            let waited =
                joined.iter().filter(|(before, _)| *before == place).map(|(_, end_s)| *end_s);
            turn.think_ns = self.pause(&times, place, waited)?;
        }
        let end_s = times.last().and_then(|time| Some(time.start_s + time.api_s?));
        if let Some(agent) = self.agents.get_mut(number) {
            agent.turns = turns;
        }
        Ok((number, end_s))
    }

    fn request(
        &mut self,
        fields: &Map<String, Value>,
        is_sent: bool,
        chain: &mut Chain,
    ) -> Result<script::ScriptTurn, String> {
        if let Some(word) = present(fields, "type").and_then(Value::as_str)
            && !["s", "n"].contains(&word)
        {
            return Err(format!("a request of the type '{word}'; known are s, n and subagent"));
        }
        let tokens = |name: &str| match present(fields, name).and_then(value::tokens) {
            Some(tokens) => Ok(tokens.max(1)),
            None => Err(format!("'{name}' is not a number of tokens")),
        };
        let lengths = (tokens("in")?, tokens("out")?);
        let hashes = match present(fields, "hash_ids") {
            None => Vec::new(),
            Some(list) => {
                let list = list.as_array().ok_or("'hash_ids' is not a list")?;
                let hashes = list.iter().map(value::whole).collect::<Option<Vec<u64>>>();
                hashes.ok_or("'hash_ids' holds something that is not a whole number")?
            }
        };
        // More blocks than there is room for say nothing about the prompt.
        let room = lengths.0.div_ceil(self.block_tokens) as usize;
        let hashes = hashes.get(..hashes.len().min(room)).unwrap_or_default();
        chain.next(hashes, lengths, is_sent, self.seen, self.kept)
    }

    /// Which turns wait for which sub-agents: the turn, and when the sub-agent had ended. Sets what
    /// the sub-agents themselves need.
    fn join(&mut self, spawned: &[Spawned], times: &[Times]) -> Result<Vec<(usize, f64)>, String> {
        let mut joined = Vec::new();
        for child in spawned {
            let after = times.get(child.after_turn).map_or(child.start_s, Times::end_s);
            let delay_ns = self.playing.pause_ns(child.start_s - after)?;
            let mut later = times.iter().enumerate().skip(child.after_turn + 1);
            let before = later.find(|(_, time)| match child.end_s {
                Some(end_s) => time.start_s >= end_s - ROUNDING_S,
                None => true,
            });
            let before = before.map(|(place, _)| place);
            if let Some(before) = before {
                joined.push((before, child.end_s.unwrap_or(f64::NEG_INFINITY)));
            }
            if let Some(agent) = self.agents.get_mut(child.number) {
                agent.delay_ns = delay_ns;
                agent.before_turn = before.map(|place| place as u16);
            }
        }
        Ok(joined)
    }

    /// The pause before a turn, from the later end of what it waits for.
    fn pause(
        &mut self,
        times: &[Times],
        place: usize,
        joined: impl Iterator<Item = f64>,
    ) -> Result<u64, String> {
        let former = place.checked_sub(1).and_then(|former| times.get(former));
        let (Some(former), Some(time)) = (former, times.get(place)) else { return Ok(0) };
        let gap_s = match (former.api_s, time.think_s) {
            (None, Some(think_s)) => think_s,
            _ => time.start_s - joined.fold(former.end_s(), f64::max),
        };
        if gap_s < -ROUNDING_S {
            self.overlaps += 1;
        }
        self.playing.pause_ns(gap_s)
    }
}

/// When a sub-agent ended by its own requests: the end on the parent's clock. Some files count their
/// times from the sub-agent's start.
fn end_s_on(start_s: f64, inner: &[Value], end_s: Option<f64>) -> Option<f64> {
    let first_s = inner.first()?.get("t").and_then(value::number)?;
    let lasted_s = end_s? - first_s;
    Some(if first_s + ROUNDING_S >= start_s { first_s } else { start_s } + lasted_s)
}

/// A field that is there and not null.
fn present<'row>(fields: &'row Map<String, Value>, name: &str) -> Option<&'row Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn list<'row>(fields: &'row Map<String, Value>, name: &str) -> Result<&'row [Value], String> {
    let list = present(fields, name).and_then(Value::as_array);
    list.map(Vec::as_slice).ok_or_else(|| format!("no list '{name}'"))
}

/// A time in the file's unit, not below 0; absent where the file does not tell.
fn seconds(fields: &Map<String, Value>, name: &str) -> Result<Option<f64>, String> {
    let Some(told) = present(fields, name) else { return Ok(None) };
    match value::number(told) {
        Some(number) if number >= 0.0 => Ok(Some(number)),
        Some(number) => Err(format!("'{name}' is {number}, and a time is not below 0")),
        None => Err(format!("'{name}' is not a number")),
    }
}
