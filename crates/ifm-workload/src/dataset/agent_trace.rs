//! Recorded work of agents: the model calls tools, their results come back as turns.
//!
//! A row is a conversation in the form of the OpenAI APIs, with `tool_calls` and messages
//! of the role `tool`; or, as SGLang writes them, a list of turns with the messages that
//! each one adds.
//!
//! Not here: running tools.

use std::sync::Arc;

use ifm_core::{Message, Prompt, Role};
use ifm_made::{Draws, Rng};
use serde_json::{Map, Value};

use super::{Dataset, DatasetKind, Turn};
use crate::{
    conversation::Play,
    error::WorkloadError,
    facts::DropReason,
    list::Stored,
    media::Reader,
    opening::Opening,
    request::Answers,
    select::prompt_tokens,
    source::{Columns, Row},
    think::Think,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "agent-trace",
    aliases: &["agentic-trace", "agentic_trace"],
    usage: "agent-trace:FILE",
    summary: "recorded work of agents with tool calls and their results",
    ignore_eos: false,
    hub: &[],
    open,
};

/// Turns of one row at most, if nothing else is said.
const TURNS_MAX: usize = 1000;
/// Tokens to ask for where no answer was recorded: SGLang's default for such traces.
const OUTPUT_TOKENS: u32 = 220;

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let turns_max = opening.options.value::<usize>("turns_max", "a number of turns")?;
    let pause = "a pause, such as 2s or exp(2s)";
    let think = opening.options.value::<Think>("think", pause)?.unwrap_or_default();
    let tool_time = opening.options.value::<Think>("tool_time", pause)?.unwrap_or_default();
    let answers = opening.take_answers(Answers::Recorded)?;
    let mut rows = opening.rows(None, &[&["messages"]])?;
    let wanted = opening.wanted();
    let turns_max = turns_max.unwrap_or(TURNS_MAX).max(1);
    let play = Play { tokenizer: opening.tokenizer, answers, think, tool_time, turns_max };
    let pauses = Rng::new(opening.request.seed).stream("think");
    let output = opening.output_override();
    let lengths = Rng::new(opening.request.seed).stream("output_length");
    let mut found = Vec::new();
    let mut media = Reader::new(opening.request);
    while found.len() < wanted {
        let Some(row) = rows.next()? else { break };
        let mut draws = pauses.item(row.line);
        let mut turns = match read(rows.columns(), &row, &play, &mut media, &mut draws) {
            Ok(turns) => turns,
            Err(Fault::Row(reason)) => {
                rows.bad(row.line, &reason)?;
                continue;
            }
            Err(Fault::Other(error)) => return Err(error),
        };
        if turns.is_empty() {
            rows.drop_row(DropReason::TooFewTurns);
            continue;
        }
        for (turn, place) in turns.iter_mut().zip(0_u64..) {
            let given =
                output.as_ref().map(|law| law.draw(&mut lengths.item(row.line << 16 | place)));
            turn.output_tokens = given.or(turn.output_tokens).or(Some(OUTPUT_TOKENS));
        }
        found.push(Stored { turns, at_ns: None, agents: Vec::new() });
    }
    opening.tell_answers(answers);
    opening.list(found, rows.into_counts())
}

/// What can be wrong with a row.
enum Fault {
    Row(String),
    Other(WorkloadError),
}

impl<E: Into<WorkloadError>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

fn read(
    columns: &Columns,
    row: &Row,
    play: &Play<'_>,
    media: &mut Reader,
    draws: &mut Draws,
) -> Result<Vec<Turn>, Fault> {
    let list = columns.list(row, "messages").map_err(Fault::Row)?;
    let tools = columns.get(&row.fields, "tools").filter(|tools| tools.is_array());
    let fields = tools.map(|tools| Arc::new(Map::from_iter([("tools".to_owned(), tools.clone())])));
    if list.iter().any(|turn| turn.get("messages").is_some()) {
        let read = |list: &[Value]| media.messages(list, &row.folder);
        return read_steps(list, read, play, fields.as_ref(), draws);
    }
    let messages = media.messages(list, &row.folder).map_err(Fault::Row)?;
    Ok(play.turns(messages, fields.as_ref(), draws)?)
}

/// SGLang's form: each turn holds what is new, and no answer is recorded.
fn read_steps(
    list: &[Value],
    mut read: impl FnMut(&[Value]) -> Result<Vec<Message>, String>,
    play: &Play<'_>,
    fields: Option<&Arc<Map<String, Value>>>,
    draws: &mut Draws,
) -> Result<Vec<Turn>, Fault> {
    let mut turns = Vec::new();
    for step in list.iter().take(play.turns_max) {
        let messages = step.get("messages").and_then(Value::as_array);
        let Some(messages) = messages.filter(|messages| !messages.is_empty()) else {
            continue;
        };
        let messages = read(messages).map_err(Fault::Row)?;
        let by_tool = messages.iter().any(|message: &Message| message.role == Role::Tool);
        let think = if by_tool { play.tool_time } else { play.think };
        let think_ns = if turns.is_empty() { 0 } else { think.draw(draws) };
        let prompt = Prompt::Messages(messages);
        turns.push(Turn {
            prompt_tokens: Some(prompt_tokens(play.tokenizer, &prompt)?),
            think_ns,
            fields: fields.cloned(),
            ..Turn::new(prompt)
        });
    }
    Ok(turns)
}
