//! Agentic rows in MLPerf's format: one row per message, with the rows of a conversation together.
//!
//! Columns: `conversation_id`, `turn`, `role` (user, assistant, tool), `content`, `system` with the
//! first message, `tools`, `tool_calls`, `tool_results` (each with `tool_call_id` and `content`),
//! `reasoning_content`, `delay_seconds` before a message of a user or a tool, and a length to ask for.
//!
//! Not here: its scenario and its accuracy.

use std::{collections::HashSet, sync::Arc};

use ifm_core::{Message, Prompt, Role};
use serde_json::{Map, Value};

use super::{Dataset, DatasetKind, Turn};
use crate::{
    conversation::read_content,
    error::WorkloadError,
    facts::DropReason,
    item::WorkItem,
    list::Stored,
    media::Reader,
    opening::Opening,
    playing::{Playing, TURNS_MAX},
    request::Answers,
    select::{message_tokens, prompt_tokens},
    source::{Row, Rows},
    value,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "mlperf-agent",
    aliases: &["mlperf-agentic", "agentic-inference"],
    usage: "mlperf-agent:FILE",
    summary: "MLPerf's agentic rows: messages with tools, their results and delays",
    ignore_eos: false,
    hub: &[],
    open,
};

/// Tokens to ask for where neither a length nor an answer was recorded.
const OUTPUT_TOKENS: u32 = 256;

/// A conversation that is being read.
struct Conversation {
    id: String,
    line: u64,
    messages: Vec<Said>,
    tools: Option<Arc<Map<String, Value>>>,
}

/// A message, and the other fields of its row.
struct Said {
    messages: Vec<Message>,
    delay_ns: u64,
    output_tokens: Option<u32>,
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let mut playing = Playing::take(opening, Answers::Recorded)?;
    let output = opening.output_override();
    let mut rows = opening.documents(None)?;
    let wanted = opening.wanted();
    let (mut found, mut ended) = (Vec::new(), HashSet::new());
    let mut current: Option<Conversation> = None;
    // Rows of a conversation that is left out because one of them is malformed.
    let mut spoiled: Option<String> = None;
    let mut kept = 0;
    let mut media = Reader::new(opening.request);
    while found.len() < wanted {
        let row = rows.next()?;
        let id = match row.as_ref().map(conversation_id).transpose() {
            Ok(id) => id,
            Err(reason) => {
                rows.bad(row.map_or(0, |row| row.line), &reason)?;
                continue;
            }
        };
        if current.as_ref().is_some_and(|current| Some(&current.id) != id.as_ref())
            && let Some(whole) = current.take()
        {
            ended.insert(whole.id.clone());
            let count = whole.messages.len() as u64;
            let turns = turns(opening, whole, &playing, &mut rows)?;
            kept += turns.as_ref().map_or(0, |_| count);
            found.extend(turns);
            if found.len() == wanted {
                break;
            }
        }
        let (Some(row), Some(id)) = (row, id) else { break };
        if spoiled.as_ref() == Some(&id) {
            continue;
        }
        let said = match ended.contains(&id) {
            true => Err(format!("rows of the conversation '{id}' do not stand together")),
            false => read(&row, current.as_ref(), &playing, &mut media),
        };
        match said {
            Ok((said, tools)) => {
                let at = current.get_or_insert_with(|| Conversation {
                    id,
                    line: row.line,
                    messages: Vec::new(),
                    tools: None,
                });
                at.messages.push(said);
                at.tools = at.tools.take().or(tools);
            }
            Err(reason) => {
                rows.bad(row.line, &reason)?;
                current = None;
                spoiled = Some(id);
            }
        }
    }
    let marks = playing.take_marks();
    let lengths = ifm_made::Rng::new(opening.request.seed).stream("output_length");
    let mut stored = Vec::new();
    for (place, mut item) in (0_u64..).zip(found) {
        for (turn, at) in item.turns.iter_mut().zip(0_u64..) {
            let given = output.as_ref().map(|law| law.draw(&mut lengths.item(place << 16 | at)));
            turn.output_tokens = given.or(turn.output_tokens).or(Some(OUTPUT_TOKENS));
        }
        let marked = WorkItem { id: place as u32, ..item };
        let item = playing.finish(marked)?;
        stored.push(Stored { turns: item.turns, at_ns: None, agents: item.agents });
    }
    opening.rule("reasoning of recorded answers is not sent");
    let mut counts = rows.into_counts();
    counts.kept = kept;
    opening.list_of_rows(stored, counts, marks)
}

fn conversation_id(row: &Row) -> Result<String, String> {
    match row.fields.get("conversation_id") {
        Some(Value::String(id)) if !id.is_empty() => Ok(id.clone()),
        Some(Value::Number(id)) => Ok(id.to_string()),
        _ => Err("no 'conversation_id'".to_owned()),
    }
}

/// What a row says, and the tools that it names.
type Read = (Said, Option<Arc<Map<String, Value>>>);

fn read(
    row: &Row,
    former: Option<&Conversation>,
    playing: &Playing,
    media: &mut Reader,
) -> Result<Read, String> {
    let fields = &row.fields;
    let given = |name: &str| fields.get(name).filter(|value| !value.is_null());
    let turn = given("turn").and_then(value::whole).ok_or("'turn' is not a whole number")?;
    let expected = former.map_or(1, |former| former.messages.len() as u64 + 1);
    if turn != expected {
        return Err(format!("turn {turn} where turn {expected} should follow"));
    }
    if expected > 2 * TURNS_MAX as u64 {
        return Err(format!("a conversation of more than {} messages", 2 * TURNS_MAX));
    }
    let role = given("role").and_then(Value::as_str).unwrap_or_default();
    let mut messages = Vec::new();
    if let (1, Some(Value::String(system))) = (turn, given("system")) {
        messages.push(Message::text(Role::System, system.clone()));
    }
    let results = given("tool_results").and_then(Value::as_array);
    match results.filter(|_| role == "tool") {
        Some(results) if !results.is_empty() => {
            for (number, result) in (1..).zip(results) {
                let id = result.get("tool_call_id").and_then(Value::as_str);
                let content =
                    result.get("content").ok_or(format!("result {number}: no content"))?;
                messages.push(Message {
                    tool_call_id: Some(
                        id.ok_or(format!("result {number}: no call id"))?.to_owned(),
                    ),
                    ..Message::text(Role::Tool, read_content(content)?)
                });
            }
        }
        _ if role == "tool" => return Err("a tool without 'tool_results'".to_owned()),
        _ => {
            let message: Map<String, Value> = ["role", "content", "tool_calls"]
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), given(name)?.clone())))
                .collect();
            let read = media.messages(&[Value::Object(message)], &row.folder);
            messages.extend(read.map_err(|reason| {
                reason.strip_prefix("message 1: ").unwrap_or(&reason).to_owned()
            })?);
        }
    }
    check_calls(&messages, former)?;
    let delay_s = match given("delay_seconds").map(value::number) {
        None => 0.0,
        Some(Some(delay_s)) if delay_s >= 0.0 => delay_s,
        Some(_) => return Err("'delay_seconds' is not a time".to_owned()),
    };
    let output = ["max_completion_tokens", "max_new_tokens"].iter().find_map(|name| given(name));
    let tools = given("tools").filter(|tools| tools.is_array());
    let tools = tools.map(|tools| Arc::new(Map::from_iter([("tools".to_owned(), tools.clone())])));
    let said = Said {
        messages,
        delay_ns: playing.pause_ns(delay_s)?,
        output_tokens: output.and_then(value::tokens).filter(|tokens| *tokens > 0),
    };
    Ok((said, tools))
}

/// Results have to belong to calls of the answer before them.
fn check_calls(messages: &[Message], former: Option<&Conversation>) -> Result<(), String> {
    let calls = former.and_then(|former| former.messages.last()?.messages.last());
    let calls = calls.map(|answer| answer.tool_calls.as_slice()).unwrap_or_default();
    let mut results = messages.iter().filter(|message| message.role == Role::Tool);
    let lost = results
        .find(|result| !calls.iter().any(|call| Some(&call.id) == result.tool_call_id.as_ref()));
    match lost {
        Some(result) => {
            let id = result.tool_call_id.as_deref().unwrap_or_default();
            Err(format!("a result for the call '{id}', which the answer before it does not hold"))
        }
        None => Ok(()),
    }
}

/// The turns of a whole conversation; nothing where it is left out.
fn turns(
    opening: &Opening<'_>,
    conversation: Conversation,
    playing: &Playing,
    rows: &mut Rows,
) -> Result<Option<WorkItem>, WorkloadError> {
    let Conversation { line, messages, tools, .. } = conversation;
    let mut turns: Vec<Turn> = Vec::new();
    let mut pending: Option<Said> = None;
    for said in messages {
        let is_answer = said.messages.first().is_some_and(|it| it.role == Role::Assistant);
        match (is_answer, &mut pending) {
            (true, Some(_)) => {
                let answer = said.messages.into_iter().next();
                turns.extend(
                    pending
                        .take()
                        .map(|asked| (asked, answer))
                        .map(|(asked, answer)| turn(opening, asked, answer, tools.as_ref()))
                        .transpose()?,
                );
            }
            (true, None) => {
                rows.bad(line, "an answer without a message before it")?;
                return Ok(None);
            }
            (false, Some(asked)) => {
                asked.messages.extend(said.messages);
                asked.delay_ns = asked.delay_ns.max(said.delay_ns);
            }
            (false, None) => pending = Some(said),
        }
    }
    if let Some(asked) = pending {
        turns.push(turn(opening, asked, None, tools.as_ref())?);
    }
    if !playing.is_enough(turns.len()) || turns.is_empty() {
        rows.drop_row(DropReason::TooFewTurns);
        return Ok(None);
    }
    if let Some(first) = turns.first_mut() {
        first.think_ns = 0;
    }
    Ok(Some(WorkItem::new(0, turns)))
}

fn turn(
    opening: &Opening<'_>,
    asked: Said,
    answer: Option<Message>,
    tools: Option<&Arc<Map<String, Value>>>,
) -> Result<Turn, WorkloadError> {
    let recorded = answer.as_ref().map(|answer| message_tokens(opening.tokenizer, answer));
    let recorded_tokens = recorded.transpose()?;
    let prompt = Prompt::Messages(asked.messages);
    Ok(Turn {
        prompt_tokens: Some(prompt_tokens(opening.tokenizer, &prompt)?),
        output_tokens: asked.output_tokens.or(recorded_tokens.map(|tokens| tokens.max(1))),
        think_ns: asked.delay_ns,
        recorded_answer: answer,
        recorded_tokens,
        fields: tools.cloned(),
        ..Turn::new(prompt)
    })
}
