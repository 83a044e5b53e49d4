//! OpenTelemetry spans as rows of JSON have them, and the messages in them.
//!
//! Not here: which spans are one session (`dataset`).

use ifm_core::{Message, Role, ToolCall};
use serde_json::{Map, Value};

use crate::{conversation::read_messages, value};

/// One span.
pub(crate) struct Span {
    pub trace: String,
    pub id: String,
    pub parent: Option<String>,
    /// Seconds since 1970.
    pub start_s: f64,
    pub end_s: f64,
    /// Whether an agent began its work with it.
    pub begins_agent: bool,
    /// The call of a model that it is.
    pub call: Option<Call>,
}

/// A call of a model.
pub(crate) struct Call {
    pub input: Vec<Message>,
    pub answer: Option<Message>,
    pub output_tokens: Option<u32>,
    pub tools: Option<Value>,
}

/// Reads a span.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn read_span(fields: &Map<String, Value>) -> Result<Span, String> {
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| fields.get(*name)?.as_str());
        found.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let id = text(&["span_id", "spanId", "id"]).ok_or("a span without an id")?;
    let named = |reason: String| format!("span {id}: {reason}");
    let time = |names: &[&str], what: &str| {
        let found = names.iter().find_map(|name| fields.get(*name).filter(|it| !it.is_null()));
        let found = found.ok_or_else(|| named(format!("no {what} time")))?;
        time_s(found).ok_or_else(|| named(format!("its {what} is no time")))
    };
    let start_s = time(&["start_time", "startTimeUnixNano", "start_time_unix_nano"], "start")?;
    let end_s = time(&["end_time", "endTimeUnixNano", "end_time_unix_nano"], "end")?;
    if end_s < start_s {
        return Err(named("it ends before it starts".to_owned()));
    }
    let attributes = attributes(fields.get("attributes"));
    let operation = attributes.get("gen_ai.operation.name").and_then(Value::as_str);
    let name = text(&["name"]).unwrap_or_default();
    let begins_agent = operation == Some("invoke_agent") || name.starts_with("invoke_agent");
    let call = match attributes.get("gen_ai.input.messages").filter(|it| !it.is_null()) {
        Some(input) => Some(read_call(input, &attributes).map_err(named)?),
        None => None,
    };
    Ok(Span {
        trace: text(&["trace_id", "traceId"]).unwrap_or_default(),
        parent: text(&["parent_span_id", "parentSpanId", "parent_id"]),
        id,
        start_s,
        end_s,
        begins_agent,
        call,
    })
}

fn read_call(input: &Value, attributes: &Map<String, Value>) -> Result<Call, String> {
    let mut messages = Vec::new();
    if let Some(system) = attributes.get("gen_ai.system_instructions").filter(|it| !it.is_null()) {
        let parts = parsed(system)?;
        messages.push(Message::text(Role::System, parts_text(parts.as_array())));
    }
    let list = parsed(input)?;
    messages.extend(read_list(&list)?);
    if messages.is_empty() {
        return Err("a call without messages".to_owned());
    }
    let output = attributes.get("gen_ai.output.messages").filter(|it| !it.is_null());
    let output = output.map(|output| read_list(&parsed(output)?)).transpose()?;
    let answer = output.and_then(|list| list.into_iter().find(|it| it.role == Role::Assistant));
    let tokens = ["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"];
    let tokens = tokens.iter().find_map(|name| attributes.get(*name).and_then(value::tokens));
    let tools = attributes.get("gen_ai.tool.definitions").filter(|it| !it.is_null());
    let tools = tools.map(parsed).transpose()?.and_then(tools_of);
    Ok(Call { input: messages, answer, output_tokens: tokens.filter(|it| *it > 0), tools })
}

/// A value that may be written as JSON inside a text.
fn parsed(value: &Value) -> Result<Value, String> {
    match value {
        Value::String(text) => {
            serde_json::from_str(text).map_err(|error| format!("messages are not JSON: {error}"))
        }
        other => Ok(other.clone()),
    }
}

fn read_list(list: &Value) -> Result<Vec<Message>, String> {
    let list = list.as_array().ok_or("messages are not a list")?;
    let mut messages = Vec::new();
    for (number, message) in (1..).zip(list) {
        let Some(parts) = message.get("parts").and_then(Value::as_array) else {
            messages.extend(read_messages(std::slice::from_ref(message)).map_err(|reason| {
                format!("message {number}: {}", reason.trim_start_matches("message 1: "))
            })?);
            continue;
        };
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        let role = match role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" | "developer" => Role::System,
            "tool" => Role::Tool,
            other => return Err(format!("message {number}: unknown role '{other}'")),
        };
        read_parts(role, parts, &mut messages);
    }
    Ok(messages)
}

/// A message of the conventions: results of tools become messages of their own, reasoning is left out.
fn read_parts(role: Role, parts: &[Value], messages: &mut Vec<Message>) {
    let text = |part: &Value, name: &str| part.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for part in parts {
        match part.get("type").and_then(Value::as_str).unwrap_or_default() {
            "tool_call" => {
                let arguments = match part.get("arguments") {
                    Some(Value::String(text)) => text.clone(),
                    None | Some(Value::Null) => "{}".to_owned(),
                    Some(other) => other.to_string(),
                };
                let id = text(part, "id").unwrap_or_else(|| format!("call_{}", calls.len()));
                calls.push(ToolCall {
                    id,
                    name: text(part, "name").unwrap_or_default(),
                    arguments,
                });
            }
            "tool_call_response" | "tool_result" => {
                let told = ["response", "result", "content"].iter().find_map(|it| part.get(*it));
                let content = match told {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Array(parts)) => parts_text(Some(parts)),
                    Some(other) => other.to_string(),
                    None => String::new(),
                };
                results.push(Message {
                    tool_call_id: text(part, "id"),
                    ..Message::text(Role::Tool, content)
                });
            }
            _ => {}
        }
    }
    let said = parts_text(Some(&parts.to_vec()));
    let has_results = !results.is_empty();
    messages.extend(results);
    if !said.is_empty() || !calls.is_empty() || !has_results {
        messages.push(Message { tool_calls: calls, ..Message::text(role, said) });
    }
}

/// What the texts among parts say.
fn parts_text(parts: Option<&Vec<Value>>) -> String {
    let text = |part: &Value| match part {
        Value::String(text) => Some(text.clone()),
        part => match part.get("type").and_then(Value::as_str) {
            None | Some("text") => {
                let text = ["content", "text"].iter().find_map(|name| part.get(*name)?.as_str());
                text.map(str::to_owned)
            }
            Some(_) => None,
        },
    };
    parts.into_iter().flatten().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// Definitions of tools as the API of chat completions has them.
fn tools_of(list: Value) -> Option<Value> {
    let Value::Array(list) = list else { return None };
    let tool = |tool: Value| match tool.get("function") {
        Some(_) => tool,
        None => {
            let mut function = tool;
            if let Some(fields) = function.as_object_mut() {
                fields.remove("type");
            }
            serde_json::json!({"type": "function", "function": function})
        }
    };
    Some(list.into_iter().map(tool).collect())
}

/// Attributes as one object: OTLP writes them as a list of keys with typed values.
fn attributes(value: Option<&Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(fields)) => fields.clone(),
        // Some tables hold them as a text.
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(Value::Array(list)) => {
            let pair = |one: &Value| {
                let key = one.get("key")?.as_str()?.to_owned();
                Some((key, plain(one.get("value")?)))
            };
            list.iter().filter_map(pair).collect()
        }
        _ => Map::new(),
    }
}

/// A typed value of OTLP as plain JSON.
fn plain(value: &Value) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|fields| fields.iter().next()) else {
        return value.clone();
    };
    let values = |inner: &Value| inner.get("values").and_then(Value::as_array).cloned();
    match kind.as_str() {
        "arrayValue" => values(inner).unwrap_or_default().iter().map(plain).collect(),
        "kvlistValue" => {
            let pairs = values(inner).unwrap_or_default();
            Value::Object(attributes(Some(&Value::Array(pairs))))
        }
        "stringValue" | "intValue" | "doubleValue" | "boolValue" => inner.clone(),
        _ => value.clone(),
    }
}

/// A time as seconds since 1970: a date, or a number of seconds, or of thousandths and so on.
fn time_s(value: &Value) -> Option<f64> {
    if let Some(number) = value::number(value).filter(|number| *number >= 0.0) {
        let units = [(1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (0.0, 1.0)];
        return units.iter().find(|(from, _)| number >= *from).map(|(_, unit)| number / unit);
    }
    date_s(value.as_str()?)
}

/// `2026-01-31T12:30:01.5Z`, or with an offset such as `+00:00`; without one it is UTC.
fn date_s(text: &str) -> Option<f64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut parts = date.split('-').map(str::parse::<i64>);
    let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    if !(1970..3000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let time = time.trim_end_matches(['Z', 'z']);
    let (time, offset_s) = match time.rfind(['+', '-']) {
        Some(place) => {
            let (time, offset) = (time.get(..place)?, time.get(place + 1..)?);
            let (hours, minutes) = offset.split_once(':')?;
            let seconds = hours.parse::<f64>().ok()? * 3600.0 + minutes.parse::<f64>().ok()? * 60.0;
            (time, if text.as_bytes().contains(&b'+') { seconds } else { -seconds })
        }
        None => (time, 0.0),
    };
    let mut parts = time.split(':').map(str::parse::<f64>);
    let (hours, minutes, seconds) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    // Days from the civil date (H. Hinnant, "chrono-compatible low-level date algorithms", 2013).
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(days as f64 * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds - offset_s)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_read_however_they_are_written() {
        for value in [
            json!("2024-01-01T00:00:00Z"),
            json!("2024-01-01 00:00:00.000"),
            json!("2024-01-01T02:00:00+02:00"),
            json!("2023-12-31T22:30:00-01:30"),
            json!("1704067200000000000"),
            json!(1_704_067_200_000_000_u64),
            json!(1_704_067_200_000_u64),
            json!(1_704_067_200),
        ] {
            assert_eq!(time_s(&value), Some(1_704_067_200.0), "{value}");
        }
        for value in [json!("yesterday"), json!("2024-13-01T00:00:00Z"), json!(null), json!(-1)] {
            assert_eq!(time_s(&value), None, "{value}");
        }
    }

    #[test]
    fn messages_of_the_conventions_and_of_the_api_are_read() {
        let list = json!([
            {"role": "user", "parts": [{"type": "text", "content": "list"}]},
            {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"},
                {"type": "tool_call", "id": "c1", "name": "ls", "arguments": {"dir": "/"}}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "etc"}]},
            {"role": "assistant", "content": "one"}]);
        let messages = read_list(&list).unwrap();
        let roles: Vec<_> = messages.iter().map(|message| message.role.word()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
        assert_eq!(messages[1].tool_calls[0].arguments, r#"{"dir":"/"}"#);
        assert_eq!((messages[1].content.as_str(), messages[2].content.as_str()), ("", "etc"));
        assert_eq!(messages[2].tool_call_id.as_deref(), Some("c1"));
        assert!(read_list(&json!({"role": "user"})).is_err());
        let odd = read_list(&json!([{"role": "cat", "parts": []}])).unwrap_err();
        assert_eq!(odd, "message 1: unknown role 'cat'");
    }
}
