//! Sessions of agents against a server that is as strict as OpenAI's: a result without its call, and
//! a call without its result, are refused.

use crate::support::{assert_measured, run, stdout};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Messages of each request in order of arrival, and whether it was refused.
type Log = Arc<Mutex<Vec<(Vec<Value>, bool)>>>;

/// A chat server that answers every first turn with calls of its own ids, and later ones with text.
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
        } else if first.starts_with("POST /v1/chat/completions") {
            chat(&serde_json::from_slice(&body).unwrap(), log)
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

fn chat(body: &Value, log: &Log) -> String {
    let messages = body["messages"].as_array().unwrap().clone();
    let fault = fault(&messages);
    let mut log = log.lock().unwrap();
    let number = log.len();
    log.push((messages.clone(), fault.is_some()));
    if let Some(fault) = fault {
        return plain(400, &json!({"error": {"message": fault, "type": "invalid_request_error"}}));
    }
    let has_answer = messages.iter().any(|message| message["role"] == "assistant");
    let delta = match has_answer {
        true => json!({"content": "done"}),
        // In another order than recorded, one call fewer, and one that nobody recorded.
        false => json!({"tool_calls": [
            {"index": 0, "id": format!("live-{number}-a"), "type": "function",
                "function": {"name": "cat", "arguments": "{}"}},
            {"index": 1, "id": format!("live-{number}-b"), "type": "function",
                "function": {"name": "ls", "arguments": "{}"}},
            {"index": 2, "id": format!("live-{number}-c"), "type": "function",
                "function": {"name": "rm", "arguments": "{}"}}]}),
    };
    let chunk = |delta: &Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!("data: {}\n\n", json!({"object": "chat.completion.chunk", "choices": [choice]}))
    };
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14});
    let events = [
        chunk(&delta, Value::Null),
        chunk(&json!({}), json!(if has_answer { "stop" } else { "tool_calls" })),
        format!("data: {}\n\n", json!({"choices": [], "usage": usage})),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
    format!("{head}Content-Length: {}\r\n\r\n{events}", events.len())
}

/// What is wrong with calls and results of a conversation.
fn fault(messages: &[Value]) -> Option<String> {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let place = open.iter().position(|call| call == id);
            match place {
                Some(place) => _ = open.remove(place),
                None => return Some(format!("no call '{id}' for a result")),
            }
            continue;
        }
        if !open.is_empty() {
            return Some(format!("calls without results: {}", open.join(", ")));
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open = calls.map(|call| call["id"].as_str().unwrap().to_owned()).collect();
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
            {"role": "assistant", "content": "bye"}]})
    };
    let rows: String = (0..3).map(|number| format!("{}\n", trace(number))).collect();
    std::fs::write(folder.join("work.jsonl"), rows).unwrap();
}

#[test]
fn results_of_tools_are_never_refused() {
    for answers in ["server", "recorded"] {
        let folder = tempfile::tempdir().unwrap();
        write_trace(folder.path());
        let server = Strict::start();
        let words = [
            "run",
            &server.url,
            "-W",
            "agent-trace:work.jsonl",
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
        assert!(log.iter().all(|(_, refused)| !refused), "{log:?}");
        let roles = |messages: &[Value]| {
            let role = |message: &Value| message["role"].as_str().unwrap().to_owned();
            messages.iter().map(role).collect::<Vec<_>>().join(" ")
        };
        let all: Vec<String> = log.iter().map(|(messages, _)| roles(messages)).collect();
        // The call that nobody recorded has a result, and the result without a call is said.
        let second = match answers {
            "server" => "user assistant tool tool tool user",
            _ => "user assistant tool tool tool",
        };
        let third = format!("{second} assistant user");
        for (wanted, count) in [(second, 3), (&third, 3)] {
            assert_eq!(all.iter().filter(|it| *it == wanted).count(), count, "{answers} {all:?}");
        }
        let document = run(folder.path(), &["report", "last", "--format", "json"]);
        let document: Value = serde_json::from_str(&stdout(&document)).unwrap();
        assert_eq!(document["levels"][0]["requests"]["ok"], 9, "{answers}");
        assert_eq!(document["run"]["workload"]["sessions"], 3);
    }
}
