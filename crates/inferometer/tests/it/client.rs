//! What the measuring client sends, and what it keeps of the answers: ids of requests, no secrets,
//! failures in words that help.

use crate::support::{answering, program, run, stderr, stdout};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

const CLOSE: &str = "connection: close\r\n\r\n";

/// A whole response with a JSON body.
fn document(status: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{CLOSE}{body}"
    )
}

/// A stream of events that the end of the connection ends.
fn stream(events: &[Value]) -> String {
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{CLOSE}{events}")
}

fn token() -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": null}]})
}

fn finish() -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
           "usage": {"prompt_tokens": 4, "completion_tokens": 1}})
}

/// A server with one model, whose load is answered by a function.
fn server(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> String {
    answering(move |request| match request.starts_with("GET /v1/models ") {
        true => document("200 OK", &json!({"data": [{"id": "m"}]})),
        false if request.starts_with("POST /v1/chat/completions ") => answer(request),
        false => document("404 Not Found", &json!({"error": "no such page"})),
    })
}

/// Every file below a folder that holds these bytes.
fn files_with(folder: &Path, wanted: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, wanted));
        } else if std::fs::read(&path).unwrap().windows(wanted.len()).any(|part| part == wanted) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_key_that_the_server_repeats_is_neither_shown_nor_kept() {
    const KEY: &str = "sk-live/QWERTYUIOPASDFGHJKL";
    const GATE: &str = "gate-ZXCVBNMLKJHGFDSA";
    // What must not be found: neither whole nor in parts.
    const TRACES: [&str; 3] = ["QWERT", "DFGHJKL", "ZXCVB"];
    let echo = |request: &str| {
        let value = |name: &str| {
            let line = request.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().to_owned()
        };
        (value("Authorization:"), value("X-Gate:"))
    };
    let refused = server(move |request| {
        let (key, gate) = echo(request);
        let message = format!("not allowed: {key}, nor {gate}");
        document("401 Unauthorized", &json!({"error": {"message": message}}))
            // As servers of another kind would escape it: one byte more than announced, so that
            // the text is shown as it came.
            .replacen("sk-live/", "sk-live\\/", 1)
    });
    let in_band = server(move |request| {
        let (key, gate) = echo(request);
        let key = key.strip_prefix("Bearer ").unwrap();
        let long = "x".repeat(260);
        stream(&[token(), json!({"error": {"message": format!("{gate} {long} {key}")}})])
    });
    for url in [refused, in_band] {
        let folder = tempfile::tempdir().unwrap();
        let program = |words: &[&str]| {
            let gate = format!("X-Gate: {GATE}");
            let mut command = program(folder.path());
            command.env("OPENAI_API_KEY", KEY).args(words);
            if ["run", "probe"].contains(&words[0]) {
                command.args(["-H", &gate]);
            }
            let output = command.output().unwrap();
            stdout(&output) + &stderr(&output)
        };
        let shape = ["-W", "8/2", "--prompt-lengths", "tokenizer", "-n", "3", "-w", "0"];
        let report = ["--out", "report.html", "--out", "report.json", "--keep-text"];
        let told = program(&[&["run", &url], &shape[..], &report[..]].concat());
        assert!(told.contains("***"), "the message itself is shown: {told}");
        let said = [
            told,
            program(&[&["run", &url, "--json=requests"], &shape[..]].concat()),
            program(
                &[&["run", &url, "--json", "--prompt-lengths", "server"], &shape[..2]].concat(),
            ),
            program(&["probe", &url, "--json"]),
            program(&["report", "last", "--format", "requests"]),
            program(&["runs", "show", "last"]),
        ];
        for trace in TRACES {
            said.iter().for_each(|text| assert!(!text.contains(trace), "{trace}: {text}"));
            let files = files_with(folder.path(), trace.as_bytes());
            assert!(files.is_empty(), "{trace} in {files:?}");
        }
    }
}

#[test]
fn every_request_has_an_id_that_the_run_knows() {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let seen = sent.clone();
    let url = server(move |request| {
        let ids = request.lines().filter_map(|line| line.strip_prefix("X-Request-Id: "));
        seen.lock().unwrap().push(ids.collect::<Vec<_>>().join(", "));
        stream(&[token(), finish()])
    });
    let folder = tempfile::tempdir().unwrap();
    let ids = |more: &[&str]| {
        let shape = ["-W", "8/2", "--prompt-lengths", "tokenizer", "-n", "4", "-w", "1"];
        let words = ["run", &url, "--json=requests"];
        let output = run(folder.path(), &[&words[..], &shape[..], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let again = run(folder.path(), &["report", "last", "--format", "requests"]);
        let ids = |text: String| -> BTreeSet<Option<String>> {
            let line = |line: &str| serde_json::from_str::<Value>(line).unwrap();
            let id = |value: Value| value["request_id"].as_str().map(str::to_owned);
            text.lines().map(line).map(id).collect()
        };
        let told = ids(stdout(&output));
        assert_eq!(told, ids(stdout(&again)));
        let mut sent = std::mem::take(&mut *sent.lock().unwrap());
        // The request before the load is in no run, so it has no id.
        sent.remove(0);
        (told, sent)
    };
    let (told, sent) = ids(&[]);
    assert_eq!((told.len(), sent.len()), (5, 5), "all are different: {sent:?}");
    assert_eq!(told, sent.into_iter().map(Some).collect());
    let (other, _) = ids(&[]);
    assert!(told.is_disjoint(&other), "and in each run");
    let nothing = BTreeSet::from([None]);
    assert_eq!(ids(&["--no-request-id"]), (nothing.clone(), vec![String::new(); 5]));
    assert_eq!(ids(&["-H", "X-Request-Id: mine"]), (nothing, vec!["mine".to_owned(); 5]));
}

/// A turn says its session, gives a router's token back, and carries the calls of the answer before it.
#[test]
fn a_turn_says_its_session_and_carries_the_calls_before_it() {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let seen = sent.clone();
    let url = server(move |request| {
        seen.lock().unwrap().push(request.to_owned());
        let number = seen.lock().unwrap().len();
        let call = json!({"index": 0, "id": format!("call-{number}"), "type": "function",
            "function": {"name": "ls", "arguments": "{}"}});
        let delta = json!({"reasoning_content": "Hm.", "tool_calls": [call]});
        let event = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        let token = format!("HTTP/1.1 200 OK\r\nx-session-token: t{number}");
        stream(&[event, finish()]).replacen("HTTP/1.1 200 OK", &token, 1)
    });
    let folder = tempfile::tempdir().unwrap();
    let sessions = |more: &[&str]| -> (Vec<String>, Value, String) {
        let shape = ["-W", "random:8/2?turns=3", "--prompt-lengths", "tokenizer"];
        let load = ["-c", "1", "--sessions", "1", "-w", "0"];
        let output = run(folder.path(), &[&["run", &url], &shape[..], &load[..], more].concat());
        // This server answers at once: on a busy host a turn may leave so late in comparison that the run
        // is invalid. The requests are the same.
        assert!(matches!(output.status.code(), Some(0 | 6)), "{}", stderr(&output));
        let mut requests = std::mem::take(&mut *sent.lock().unwrap());
        assert_eq!(requests.len(), 4);
        // It goes before the load and belongs to no session.
        assert!(!requests.remove(0).contains("X-Session-ID"));
        let heads = requests.iter().map(|request| {
            let names = ["X-Session-ID", "X-Correlation-ID", "X-Route", "x-session-token"];
            let is_ours =
                |line: &&str| line.split_once(": ").is_some_and(|(name, _)| names.contains(&name));
            request.lines().filter(is_ours).collect::<Vec<_>>().join(" | ")
        });
        let heads = heads.collect();
        let output = run(folder.path(), &["runs", "show", "last", "--json"]);
        let run_id: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let run_id = run_id["run"]["id"].as_str().unwrap().to_owned();
        let body = requests[2].split_once("\r\n\r\n").unwrap().1;
        (heads, serde_json::from_str(body).unwrap(), run_id)
    };
    let (heads, body, run_id) = sessions(&[]);
    let id = format!("X-Session-ID: {run_id}-0");
    let with = |token: &str| format!("{id} | x-session-token: {token}");
    assert_eq!(heads, [id.clone(), with("t2"), with("t3")]);
    // A call that the workload has no result for is answered, since servers insist on one.
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user", "assistant", "tool", "user"]);
    assert_eq!(
        (&messages[5]["tool_call_id"], &messages[2]["tool_call_id"]),
        (&json!("call-3"), &json!("call-2"))
    );
    let answer = &messages[4];
    assert_eq!(answer["content"], "");
    assert_eq!(answer["tool_calls"][0]["id"], "call-3");
    assert!(answer.get("reasoning_content").is_none(), "{answer}");

    let (heads, ..) = sessions(&["--session-header", "none"]);
    assert_eq!(heads[0], "");
    let named = ["--session-header", "X-Correlation-ID", "--session-header", "X-Session-ID"];
    let route = ["--header-per-session", "X-Route=a-{session}"];
    let (heads, _, run_id) = sessions(&[&named[..], &route].concat());
    let id = format!("{run_id}-0");
    let expect = format!("X-Correlation-ID: {id} | X-Session-ID: {id} | X-Route: a-{id}");
    assert_eq!(heads[0], expect);
}

#[test]
fn a_redirect_and_an_unstreamed_answer_are_reported_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let words = |url: &str, more: &[&str]| {
        let words =
            ["run", url, "-W", "8/2", "--prompt-lengths", "tokenizer", "-n", "2", "-w", "0"];
        let output = run(folder.path(), &[&words[..], more].concat());
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let moved =
        server(|_| format!("HTTP/1.1 307 T\r\nlocation: /v2/chat\r\ncontent-length: 0\r\n{CLOSE}"));
    let (code, told) = words(&moved, &[]);
    assert_eq!(code, Some(6), "{told}");
    assert!(
        told.contains("2 with status 307") && told.contains("redirected to /v2/chat"),
        "{told}"
    );
    let whole = json!({"choices": [{"index": 0, "message": {"content": "hi"}}],
                       "usage": {"prompt_tokens": 4, "completion_tokens": 1}});
    let whole = server(move |_| document("200 OK", &whole));
    let (code, told) = words(&whole, &[]);
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("came whole") && told.contains("--no-stream"), "{told}");
    // Whether a busy host let the client send in time, with answers of 2 ms, is not tested here.
    let (_, told) = words(&whole, &["--no-stream"]);
    assert!(told.contains("2 sent · 2 ok") && !told.contains("came whole"), "{told}");
}

#[test]
fn reports_far_too_long_prompts_before_the_load() {
    // Every letter is a token, and a request may have 300 of them.
    let loads = Arc::new(Mutex::new(0));
    let seen = loads.clone();
    let url = server(move |request| {
        let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        let tokens = 9 + body["messages"][0]["content"].as_str().unwrap().len();
        *seen.lock().unwrap() += u32::from(body["max_tokens"] != 1);
        if tokens > 300 {
            let message = "the request exceeds the available context size (300 tokens)";
            return document("400 Bad Request", &json!({"error": {"message": message}}));
        }
        let mut finish = finish();
        finish["usage"]["prompt_tokens"] = tokens.into();
        stream(&[token(), finish])
    });
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["run", &url, "-W", "256/2", "-n", "2", "-w", "0"]);
    let told = stderr(&output);
    assert_eq!((output.status.code(), *loads.lock().unwrap()), (Some(5), 0), "{told}");
    assert!(told.contains("context size") && told.contains("--tokenizer"), "{told}");
    assert!(!folder.path().join("runs").exists(), "nothing is stored");
}
