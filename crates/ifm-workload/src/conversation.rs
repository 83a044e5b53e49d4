//! Recorded conversations as turns.
//!
//! ShareGPT says `from` and `value`, the OpenAI APIs say `role` and `content`; tool calls
//! and their results are kept as they are.
//!
//! Not here: which conversations are taken (`dataset`).

use std::sync::Arc;

use ifm_core::{Message, Prompt, Role, ToolCall};
use ifm_made::Draws;
use ifm_tokenizer::{Tokenizer, TokenizerError};
use serde_json::{Map, Value};

use crate::{
    item::Turn,
    request::Answers,
    select::{message_tokens, prompt_tokens},
    source::kind,
    think::Think,
};

/// Messages of one conversation at most.
const MESSAGES_MAX: usize = 10_000;

/// Reads a list of messages.
pub(crate) fn read_messages(list: &[Value]) -> Result<Vec<Message>, String> {
    if list.is_empty() {
        return Err("the conversation has no turns".to_owned());
    }
    if list.len() > MESSAGES_MAX {
        return Err(format!("the conversation has more than {MESSAGES_MAX} messages"));
    }
    let numbered = list.iter().zip(1..);
    numbered
        .map(|(message, number)| {
            read_message(message).map_err(|reason| format!("message {number}: {reason}"))
        })
        .collect()
}

fn read_message(message: &Value) -> Result<Message, String> {
    let Some(fields) = message.as_object() else {
        return Err(format!("{}, not an object", kind(message)));
    };
    let speaker = ["role", "from"].iter().find_map(|name| fields.get(*name)?.as_str());
    let speaker = speaker.ok_or("a turn without a speaker: no 'role' and no 'from'")?;
    let role = role(speaker).ok_or_else(|| format!("unknown role '{speaker}'"))?;
    let content = ["content", "value", "text"].iter().find_map(|name| fields.get(*name));
    let mut tool_calls = read_calls(fields.get("tool_calls"))?;
    if let Some(call) = fields.get("function_call").filter(|call| call.is_object()) {
        tool_calls.push(read_call(call, call, 0)?);
    }
    let content = match content {
        Some(content) => read_content(content)?,
        None if !tool_calls.is_empty() => String::new(),
        None => return Err("it has no 'content' and no 'value'".to_owned()),
    };
    let id = fields.get("tool_call_id").and_then(Value::as_str).map(str::to_owned);
    Ok(Message { tool_calls, tool_call_id: id, ..Message::text(role, content) })
}

fn role(speaker: &str) -> Option<Role> {
    match speaker {
        "user" | "human" => Some(Role::User),
        "assistant" | "gpt" | "model" | "chatgpt" | "bing" | "bard" => Some(Role::Assistant),
        "system" | "developer" => Some(Role::System),
        "tool" | "function" | "observation" | "function_response" => Some(Role::Tool),
        _ => None,
    }
}

/// A text, or a list of parts of which all are texts.
pub(crate) fn read_content(content: &Value) -> Result<String, String> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| {
                let text = part.as_str().or_else(|| part.get("text").and_then(Value::as_str));
                text.ok_or_else(|| {
                    let what = part.get("type").and_then(Value::as_str).unwrap_or("no type");
                    format!("a part of type '{what}' cannot be sent, only text")
                })
            });
            Ok(texts.collect::<Result<Vec<_>, _>>()?.concat())
        }
        other => Err(format!("the content is {}", kind(other))),
    }
}

fn read_calls(calls: Option<&Value>) -> Result<Vec<ToolCall>, String> {
    let calls = match calls {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(calls)) => calls,
        Some(other) => return Err(format!("'tool_calls' is {}", kind(other))),
    };
    let calls = calls.iter().enumerate();
    calls
        .map(|(index, call)| read_call(call, call.get("function").unwrap_or(call), index))
        .collect()
}

fn read_call(call: &Value, function: &Value, index: usize) -> Result<ToolCall, String> {
    let name = function.get("name").and_then(Value::as_str);
    let name = name.ok_or("a tool call has no name")?.to_owned();
    let arguments = match function.get("arguments") {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let id = call.get("id").and_then(Value::as_str);
    Ok(ToolCall { id: id.map_or_else(|| format!("call_{index}"), str::to_owned), name, arguments })
}

/// How a conversation is played.
#[derive(Clone, Copy)]
pub(crate) struct Play<'tokenizer> {
    pub tokenizer: &'tokenizer Tokenizer,
    /// Whose answers later turns carry.
    pub answers: Answers,
    /// Pauses before what a user says.
    pub think: Think,
    /// Pauses before what a tool says.
    pub tool_time: Think,
    /// Turns at most.
    pub turns_max: usize,
}

impl Play<'_> {
    /// Takes a conversation apart before each answer of the model: a turn is all that was
    /// said since the former answer. What follows the last answer is a turn without a
    /// recorded one.
    pub(crate) fn turns(
        &self,
        messages: Vec<Message>,
        fields: Option<&Arc<Map<String, Value>>>,
        draws: &mut Draws,
    ) -> Result<Vec<Turn>, TokenizerError> {
        let mut turns = Vec::new();
        let mut said = Vec::new();
        for message in messages {
            if turns.len() >= self.turns_max {
                return Ok(turns);
            }
            if message.role != Role::Assistant || said.is_empty() {
                said.push(message);
                continue;
            }
            let said = std::mem::take(&mut said);
            turns.push(self.turn(said, Some(message), fields, turns.is_empty(), draws)?);
        }
        if said.iter().any(|message| message.role != Role::Assistant)
            && turns.len() < self.turns_max
        {
            turns.push(self.turn(said, None, fields, turns.is_empty(), draws)?);
        }
        Ok(turns)
    }

    fn turn(
        &self,
        said: Vec<Message>,
        answer: Option<Message>,
        fields: Option<&Arc<Map<String, Value>>>,
        first: bool,
        draws: &mut Draws,
    ) -> Result<Turn, TokenizerError> {
        let by_tool = said.iter().any(|message| message.role == Role::Tool);
        let think_ns = match (first, by_tool) {
            (true, _) => 0,
            (false, true) => self.tool_time.draw(draws),
            (false, false) => self.think.draw(draws),
        };
        let output = answer.as_ref().map(|answer| message_tokens(self.tokenizer, answer));
        let recorded_tokens = output.transpose()?;
        let prompt = Prompt::Messages(said);
        Ok(Turn {
            prompt_tokens: Some(prompt_tokens(self.tokenizer, &prompt)?),
            output_tokens: recorded_tokens.map(|tokens| tokens.max(1)),
            think_ns,
            recorded_answer: answer,
            recorded_tokens,
            fields: fields.cloned(),
            ..Turn::new(prompt)
        }
        .with_answers_of(self.answers))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ifm_made::Rng;

    fn read(list: &Value) -> Result<Vec<Message>, String> {
        read_messages(list.as_array().unwrap())
    }

    #[test]
    fn both_spellings_are_read() {
        let sharegpt = json!([{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]);
        let openai =
            json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]);
        let parts = json!([{"role": "user", "content": [{"type": "text", "text": "a"}]},
            {"role": "assistant", "content": "b"}]);
        let expected = [Message::text(Role::User, "a"), Message::text(Role::Assistant, "b")];
        for list in [sharegpt, openai, parts] {
            assert_eq!(read(&list).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (list, part) in [
            (json!([]), "no turns"),
            (json!(["x"]), "message 1: a text, not an object"),
            (json!([{"value": "a"}]), "a turn without a speaker"),
            (json!([{"from": "cat", "value": "a"}]), "unknown role 'cat'"),
            (json!([{"from": "human"}]), "no 'content'"),
            (json!([{"role": "user", "content": 5}]), "the content is a number"),
            (json!([{"role": "user", "content": [{"type": "image_url"}]}]), "'image_url' cannot"),
            (json!([{"role": "assistant", "tool_calls": [{"id": "x"}]}]), "has no name"),
        ] {
            let error = read(&list).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_turn_is_what_was_said_since_the_last_answer() {
        let list = json!([
            {"role": "system", "content": "s"},
            {"role": "user", "content": "list the files"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": {"dir": "/"}}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "etc usr"},
            {"role": "assistant", "content": "two folders"},
            {"role": "user", "content": "thanks"}
        ]);
        let tokenizer = Tokenizer::embedded().unwrap();
        let play = Play {
            tokenizer: &tokenizer,
            answers: Answers::Recorded,
            think: "2s".parse().unwrap(),
            tool_time: "1s".parse().unwrap(),
            turns_max: 10,
        };
        let fields = Arc::new(Map::from_iter([("tools".to_owned(), json!([1]))]));
        let mut draws = Rng::new(1).stream("think").item(0);
        let messages = read(&list).unwrap();
        let turns = play.turns(messages.clone(), Some(&fields), &mut draws).unwrap();
        assert_eq!(turns.len(), 3);
        let said = |turn: &Turn| match &turn.prompt {
            Prompt::Messages(messages) => {
                messages.iter().map(|m| m.role.word()).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        };
        let roles = turns.iter().map(said).collect::<Vec<_>>();
        assert_eq!(roles, [vec!["system", "user"], vec!["tool"], vec!["user"]]);
        let pauses = turns.iter().map(|turn| turn.think_ns).collect::<Vec<_>>();
        assert_eq!(pauses, [0, 1_000_000_000, 2_000_000_000]);
        let call = &turns[0].recorded_answer.as_ref().unwrap().tool_calls[0];
        assert_eq!((call.id.as_str(), call.arguments.as_str()), ("c1", r#"{"dir":"/"}"#));
        assert!(turns[0].output_tokens.unwrap() > 1);
        assert_eq!((turns[2].output_tokens, &turns[2].recorded_answer), (None, &None));
        assert!(turns.iter().all(|turn| turn.fields.as_ref() == Some(&fields)));
        let server = Play { answers: Answers::Server, turns_max: 1, ..play };
        let turns = server.turns(messages, None, &mut draws).unwrap();
        assert_eq!((turns.len(), &turns[0].recorded_answer), (1, &None));
    }
}
