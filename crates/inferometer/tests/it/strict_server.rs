//! Runs against a server that rejects every field it does not know, and against one whose list of models
//! fails.

use crate::support::{answering, assert_measured, json, run, stderr, stdout};
use serde_json::{Value, json};
use std::path::Path;

/// Fields that the server knows.
const KNOWN: [&str; 4] = ["model", "messages", "stream", "max_completion_tokens"];

fn respond(status: u16, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// A server that names the first field that it does not know, and the new name of the length.
fn strict(request: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").unwrap_or((request, ""));
    if head.starts_with("GET") {
        return match head.starts_with("GET /v1/models") {
            true => respond(500, "application/json", r#"{"error":{"message":"no list"}}"#),
            false => respond(404, "text/plain", "none"),
        };
    }
    let Ok(body) = serde_json::from_str::<Value>(body) else {
        return respond(404, "text/plain", "none");
    };
    let mut unknown = body.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let unknown = unknown.find(|name| !KNOWN.contains(name));
    if let Some(name) = unknown {
        let message = match name {
            "max_tokens" => {
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                 'max_completion_tokens' instead."
                    .to_owned()
            }
            _ => format!("Unrecognized request argument supplied: {name}"),
        };
        let error = json!({"error": {"message": message, "type": "invalid_request_error"}});
        return respond(400, "application/json", &error.to_string());
    }
    let tokens = body["max_completion_tokens"].as_u64().unwrap_or(1);
    let event = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!("data: {}\n\n", json!({"choices": [choice]}))
    };
    let mut events: String =
        (0..tokens).map(|_| event(json!({"content": "a "}), Value::Null)).collect();
    events += &event(json!({}), "length".into());
    events += "data: [DONE]\n\n";
    respond(200, "text/event-stream", &events)
}

fn manifest(folder: &Path) -> Value {
    let only = std::fs::read_dir(folder.join("runs")).unwrap().next().unwrap().unwrap().path();
    serde_json::from_str(&std::fs::read_to_string(only.join("manifest.json")).unwrap()).unwrap()
}

const LOAD: [&str; 9] =
    ["-m", "m", "-n", "3", "-w", "0", "-W", "8/4", "--prompt-lengths=tokenizer"];

#[test]
fn a_load_is_sent_without_what_the_server_rejects() {
    let folder = tempfile::tempdir().unwrap();
    let url = answering(strict);
    let output = run(folder.path(), &[&["run", &url, "--json"], &LOAD[..]].concat());
    assert_measured(&output);
    let told = stderr(&output);
    assert!(told.contains("the model list cannot be read") && told.contains("no list"), "{told}");
    let manifest = manifest(folder.path());
    let mut rejected: Vec<(&str, Option<&str>)> = manifest["rejected_fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["field"].as_str().unwrap(), one["replaced_by"].as_str()))
        .collect();
    rejected.sort_unstable();
    let expect = [
        ("ignore_eos", None),
        ("max_tokens", Some("max_completion_tokens")),
        ("stream_options", None),
        ("temperature", None),
    ];
    assert_eq!(rejected, expect);
    let workload = &manifest["spec"]["workload"];
    assert_eq!((&workload["ignore_eos"], &workload["temperature"]), (&false.into(), &Value::Null));
    let document = json(&output);
    let text = document.to_string();
    assert!(text.contains("token counts may be estimates from events"), "{text}");
    let shown = stdout(&run(folder.path(), &["report", "last"]));
    assert!(shown.contains("the server rejects \"ignore_eos\""), "{shown}");
}

#[test]
fn strict_and_fields_of_the_user_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let url = answering(strict);
    for (flags, told) in [
        (&["--strict"][..], "--strict: the server rejects the field"),
        (&["--temperature", "0.5"], "\"temperature\", which --temperature sets"),
        (&["--ignore-eos=true"], "\"ignore_eos\", which --ignore-eos sets"),
        (&["--extra-body", r#"{"top_k": 1}"#], "\"top_k\", which --extra-body sets"),
    ] {
        let output = run(folder.path(), &[&["run", &url], &LOAD[..], flags].concat());
        assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
        assert!(stderr(&output).contains("hint: "), "{}", stderr(&output));
    }
    assert!(!folder.path().join("runs").exists(), "nothing is stored");
}
