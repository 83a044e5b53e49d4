//! Sessions of agents against a server that is as strict as OpenAI's: a result without its call, and
//! a call without its result, are refused.

use crate::support::{assert_measured, run, stdout};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Who speaks in each request in order of arrival, and what was wrong with it.
type Log = Arc<Mutex<Vec<(String, Option<String>)>>>;

/// A server that answers every first turn with calls of its own ids, and later ones with text, in
/// three APIs.
struct Strict {
    url: String,
    log: Log,
}

impl Strict {
    fn start() -> Strict {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let log = Log::default();
        let kept = log.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = log.clone();
                std::thread::spawn(move || serve(stream, &log));
            }
        });
        Strict { url, log: kept }
    }
}

fn serve(mut stream: TcpStream, log: &Log) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut line, mut first, mut length) = (String::new(), String::new(), 0);
        loop {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if first.is_empty() {
                first.clone_from(&line);
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let answer = if first.starts_with("GET /v1/models") {
            plain(200, &json!({"object": "list", "data": [{"id": "strict", "object": "model"}]}))
        } else if let Some(strictness) = APIS.iter().find(|it| first.starts_with(it.line)) {
            strictness.answer(&serde_json::from_slice(&body).unwrap(), log)
        } else {
            plain(404, &json!({"error": {"message": "not here"}}))
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn plain(status: u16, body: &Value) -> String {
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n");
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// The parts of a conversation.
enum Item {
    Said(String),
    Call(String),
    Result(String),
}

/// An API with what it refuses and how it answers.
struct Strictness {
    word: &'static str,
    line: &'static str,
    /// The items in each message of a body; an error for a message that is not accepted.
    items: fn(&Value) -> Result<Vec<Vec<Item>>, String>,
    /// Whether a tool is declared in the API's own words.
    is_tool: fn(&Value) -> bool,
    /// The events of an answer with calls of these ids and names, or with a text.
    events: fn(&[(String, &str)]) -> Vec<Value>,
}

const APIS: [Strictness; 3] = [
    Strictness {
        word: "chat",
        line: "POST /v1/chat/completions",
        items: chat_items,
        is_tool: |tool| tool["type"] == "function" && tool["function"]["name"].is_string(),
        events: chat_events,
    },
    Strictness {
        word: "messages",
        line: "POST /v1/messages",
        items: message_items,
        is_tool: |tool| {
            tool["name"].is_string()
                && tool["input_schema"]["type"] == "object"
                && tool.get("function").is_none()
                && tool.get("type").is_none()
        },
        events: message_events,
    },
    Strictness {
        word: "responses",
        line: "POST /v1/responses",
        items: response_items,
        is_tool: |tool| {
            let is_told = |name: &str| tool.get(name).is_some();
            tool["type"] == "function"
                && tool["name"].is_string()
                && is_told("parameters")
                && is_told("strict")
                && !is_told("function")
        },
        events: response_events,
    },
];

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn chat_items(body: &Value) -> Result<Vec<Vec<Item>>, String> {
    let one = |message: &Value| {
        if message["role"] == "tool" {
            return vec![Item::Result(text_of(&message["tool_call_id"]))];
        }
        let calls = list(&message["tool_calls"]).map(|call| Item::Call(text_of(&call["id"])));
        std::iter::once(Item::Said(text_of(&message["role"]))).chain(calls).collect()
    };
    Ok(list(&body["messages"]).map(one).collect())
}

fn message_items(body: &Value) -> Result<Vec<Vec<Item>>, String> {
    let one = |message: &Value| {
        let role = text_of(&message["role"]);
        if !["user", "assistant"].contains(&role.as_str()) {
            return Err(format!("the role {role}"));
        }
        let block = |block: &Value| match block["type"].as_str() {
            Some("tool_use") if block["input"].is_object() => Ok(Item::Call(text_of(&block["id"]))),
            Some("tool_result") => Ok(Item::Result(text_of(&block["tool_use_id"]))),
            Some("text") if !text_of(&block["text"]).is_empty() => Ok(Item::Said(role.clone())),
            _ => Err(format!("the block {block}")),
        };
        match &message["content"] {
            Value::String(text) if !text.is_empty() => Ok(vec![Item::Said(role)]),
            Value::Array(blocks) => blocks.iter().map(block).collect(),
            other => Err(format!("the content {other}")),
        }
    };
    list(&body["messages"]).map(one).collect()
}

fn response_items(body: &Value) -> Result<Vec<Vec<Item>>, String> {
    let one = |item: &Value| match item["type"].as_str() {
        Some("function_call") => Ok(vec![Item::Call(text_of(&item["call_id"]))]),
        Some("function_call_output") => Ok(vec![Item::Result(text_of(&item["call_id"]))]),
        None if item["role"] != "tool" => Ok(vec![Item::Said(text_of(&item["role"]))]),
        _ => Err(format!("the item {item}")),
    };
    list(&body["input"]).map(one).collect()
}

fn chat_events(calls: &[(String, &str)]) -> Vec<Value> {
    let call = |(index, (id, name)): (usize, &(String, &str))| {
        json!({"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": "{}"}})
    };
    let (delta, reason) = match calls {
        [] => (json!({"content": "done"}), "stop"),
        calls => {
            let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
            (json!({"tool_calls": calls}), "tool_calls")
        }
    };
    let chunk = |delta: &Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        json!({"object": "chat.completion.chunk", "choices": [choice]})
    };
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14});
    vec![
        chunk(&delta, Value::Null),
        chunk(&json!({}), json!(reason)),
        json!({"choices": [], "usage": usage}),
    ]
}

fn message_events(calls: &[(String, &str)]) -> Vec<Value> {
    let mut events = vec![
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}),
    ];
    let mut block = |index: usize, block: Value, delta: Value| {
        events.extend([
            json!({"type": "content_block_start", "index": index, "content_block": block}),
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
            json!({"type": "content_block_stop", "index": index}),
        ]);
    };
    for (index, (id, name)) in calls.iter().enumerate() {
        let call = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        block(index, call, json!({"type": "input_json_delta", "partial_json": "{}"}));
    }
    if calls.is_empty() {
        let text = json!({"type": "text_delta", "text": "done"});
        block(0, json!({"type": "text", "text": ""}), text);
    }
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    events.extend([
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ]);
    events
}

fn response_events(calls: &[(String, &str)]) -> Vec<Value> {
    let mut events = Vec::new();
    for (index, (id, name)) in calls.iter().enumerate() {
        let item = |arguments: &str| {
            json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": id,
                "name": name, "arguments": arguments})
        };
        events.extend([
            json!({"type": "response.output_item.added", "output_index": index, "item": item("")}),
            json!({"type": "response.function_call_arguments.delta", "output_index": index,
                "delta": "{}"}),
            json!({"type": "response.output_item.done", "output_index": index, "item": item("{}")}),
        ]);
    }
    if calls.is_empty() {
        events.push(
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "done"}),
        );
    }
    let usage = json!({"input_tokens": 9, "output_tokens": 5, "total_tokens": 14});
    let response = json!({"status": "completed", "usage": usage});
    events.push(json!({"type": "response.completed", "response": response}));
    events
}

impl Strictness {
    fn answer(&self, body: &Value, log: &Log) -> String {
        let items = (self.items)(body);
        let fault = match &items {
            Err(fault) => Some(fault.clone()),
            Ok(items) => {
                let tools = list(&body["tools"]).find(|tool| !(self.is_tool)(tool));
                tools.map(|tool| format!("the tool {tool}")).or_else(|| fault(items))
            }
        };
        let mut roles: Vec<&str> = Vec::new();
        for item in items.iter().flatten().flatten() {
            let role = match item {
                Item::Said(role) => role,
                Item::Call(_) => "assistant",
                Item::Result(_) => "tool",
            };
            if role != "assistant" || roles.last() != Some(&role) {
                roles.push(role);
            }
        }
        let has_answer = roles.contains(&"assistant");
        let mut log = log.lock().unwrap();
        let number = log.len();
        log.push((roles.join(" "), fault.clone()));
        if let Some(fault) = fault {
            let error = json!({"message": fault, "type": "invalid_request_error"});
            return plain(400, &json!({"type": "error", "error": error}));
        }
        // In a different order than recorded, with one call fewer and one that was not recorded.
        let calls: Vec<(String, &str)> = [("a", "cat"), ("b", "ls"), ("c", "rm")]
            .into_iter()
            .filter(|_| !has_answer)
            .map(|(letter, name)| (format!("live-{number}-{letter}"), name))
            .collect();
        let events = (self.events)(&calls);
        let mut text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        if self.word == "chat" {
            text.push_str("data: [DONE]\n\n");
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
        format!("{head}Content-Length: {}\r\n\r\n{text}", text.len())
    }
}

/// What is wrong with calls and results of a conversation.
fn fault(messages: &[Vec<Item>]) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let is_of_results = message.iter().all(|item| matches!(item, Item::Result(_)));
        let is_of_calls = message.iter().all(|item| matches!(item, Item::Call(_)));
        if !open.is_empty() && !is_of_results && !is_of_calls {
            return Some(format!("calls without results: {}", open.join(", ")));
        }
        for item in message {
            match item {
                Item::Said(_) => {}
                Item::Call(id) => open.push(id),
                Item::Result(id) => match open.iter().position(|call| call == id) {
                    Some(place) => _ = open.remove(place),
                    None => return Some(format!("no call '{id}' for a result")),
                },
            }
        }
    }
    (!open.is_empty()).then(|| format!("calls without results: {}", open.join(", ")))
}

fn write_trace(folder: &Path) {
    let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let trace = |number: u32| {
        json!({"messages": [
            {"role": "user", "content": format!("look around, please ({number})")},
            {"role": "assistant", "content": "",
                "tool_calls": [call("r1", "ls"), call("r2", "cat"), call("r3", "ls")]},
            result("r1", "etc usr"), result("r2", "a text"), result("r3", "bin"),
            {"role": "assistant", "content": "all is fine"},
            {"role": "user", "content": "thanks"},
            {"role": "assistant", "content": "bye"}],
            "tools": [{"type": "function", "function": {"name": "ls", "description": "lists"}}]})
    };
    let rows: String = (0..3).map(|number| format!("{}\n", trace(number))).collect();
    std::fs::write(folder.join("work.jsonl"), rows).unwrap();
}

#[test]
fn results_of_tools_are_never_refused() {
    for (api, answers) in
        APIS.iter().flat_map(|api| ["server", "recorded"].map(|answers| (api.word, answers)))
    {
        let folder = tempfile::tempdir().unwrap();
        write_trace(folder.path());
        let server = Strict::start();
        let words = [
            "run",
            &server.url,
            "-W",
            "agent-trace:work.jsonl",
            "--api",
            api,
            "--answers",
            answers,
            "-c",
            "2",
            "--sessions",
            "3",
            "-w",
            "0",
            "--model",
            "strict",
        ];
        let output = run(folder.path(), &words);
        assert_measured(&output);
        let log = server.log.lock().unwrap();
        assert!(log.iter().all(|(_, fault)| fault.is_none()), "{api} {log:?}");
        // The call that was not recorded has a result, and the result without a call becomes a user
        // message.
        let second = match answers {
            "server" => "user assistant tool tool tool user",
            _ => "user assistant tool tool tool",
        };
        let third = format!("{second} assistant user");
        for (wanted, count) in [(second, 3), (&third, 3)] {
            let found = log.iter().filter(|(roles, _)| roles == wanted).count();
            assert_eq!(found, count, "{api} {answers} {log:?}");
        }
        let document = run(folder.path(), &["report", "last", "--format", "json"]);
        let document: Value = serde_json::from_str(&stdout(&document)).unwrap();
        assert_eq!(document["levels"][0]["requests"]["ok"], 9, "{api} {answers}");
        assert_eq!(document["run"]["workload"]["sessions"], 3);
    }
}
