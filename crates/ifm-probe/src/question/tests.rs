//! Probes of servers that keep their promises, that do not, and that report nothing.

use super::*;
use crate::testing::{Asked, Said, server};
use crate::traced_client::{Caller, Endpoint};
use ifm_core::manifest::ServerInfo;
use ifm_tokenizer::Tokenizer;
use ifm_truth::slower_and_slower;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Instant;

/// Tokens that the model generates by itself.
const NATURAL: u64 = 3;

fn findings(endpoint: Endpoint, limit_s: f64) -> (Map<String, Value>, u32) {
    let inquiry = Inquiry::new(
        Caller::new(endpoint),
        (ServerInfo::default(), "m".to_owned()),
        (Tokenizer::embedded().unwrap(), false),
        1,
        (Duration::from_secs_f64(limit_s), Instant::now()),
    );
    let (findings, inquiry) = probe(inquiry);
    let entry = |finding: &Finding| (finding.id.to_owned(), json!(finding));
    let found: Map<String, Value> = findings.iter().map(entry).collect();
    assert_eq!(found.len(), findings.len(), "every id is there once");
    assert!(findings.is_sorted_by_key(|finding| finding.section));
    (found, inquiry.caller.calls())
}

fn value<'found>(found: &'found Map<String, Value>, id: &str) -> &'found Value {
    &found.get(id).unwrap_or_else(|| panic!("no finding {id}"))["value"]
}

fn prompt_of(asked: &Asked) -> String {
    let body = &asked.body;
    body["messages"][0]["content"]
        .as_str()
        .or(body["prompt"].as_str())
        .unwrap_or_default()
        .to_owned()
}

/// The words of an answer: numbers from the seed on, as many as requested.
fn words(asked: &Asked) -> (Vec<String>, &'static str) {
    let body = &asked.body;
    let most = body["max_tokens"].as_u64().unwrap_or(1);
    let natural = if body["ignore_eos"] == true { most } else { NATURAL };
    let least = body["min_tokens"].as_u64().unwrap_or(0);
    let length = natural.max(least).min(most);
    let first = body["seed"].as_u64().unwrap_or(100);
    let mut words: Vec<String> = (0..length).map(|step| format!("{} ", first + step)).collect();
    if let Some(stop) = body["stop"][0].as_str() {
        let kept = words.concat().split(stop).next().unwrap_or_default().to_owned();
        words = kept.split_inclusive(' ').map(str::to_owned).collect();
        return (words, "stop");
    }
    (words, if length == most { "length" } else { "stop" })
}

/// An honest server with a cache, 5 tokens of template, and one token per word.
fn honest(asked: &Asked, seen: &Mutex<HashSet<String>>) -> Said {
    if asked.method == "GET" {
        return Said::Json(200, json!({"data": []}));
    }
    if asked.path.ends_with("/v1/responses") {
        let text = json!([{"type": "output_text", "text": "much"}]);
        let output = json!([{"type": "message", "content": text}]);
        let usage = json!({"input_tokens": 9, "output_tokens": 16});
        return Said::Json(200, json!({"status": "completed", "output": output, "usage": usage}));
    }
    let is_chat = asked.path.ends_with("/chat/completions");
    if !is_chat && !asked.path.ends_with("/v1/completions") {
        return Said::Json(404, json!({"error": {"message": "no such place"}}));
    }
    let ids = asked.body["prompt"].as_array().map(Vec::len);
    let text = prompt_of(asked);
    let prompt_tokens = ids.unwrap_or_else(|| 5 + text.split(' ').count());
    let is_new = seen.lock().unwrap().insert(text);
    let cached = if is_new { 0 } else { prompt_tokens - 1 };
    let (words, reason) = words(asked);
    let usage = |tokens: usize| {
        json!({
            "prompt_tokens": prompt_tokens,
            "completion_tokens": tokens,
            "prompt_tokens_details": {"cached_tokens": cached},
        })
    };
    let choice = |text: &str, reason: Value, part: &str| match is_chat {
        true => json!({"index": 0, part: {"content": text}, "finish_reason": reason}),
        false => json!({"index": 0, "text": text, "finish_reason": reason}),
    };
    if asked.body["stream"] != true {
        let choice = choice(&words.concat(), reason.into(), "message");
        return Said::Json(200, json!({"choices": [choice], "usage": usage(words.len())}));
    }
    let mut events: Vec<Value> =
        words.iter().map(|word| json!({"choices": [choice(word, Value::Null, "delta")]})).collect();
    if asked.body["stream_options"]["continuous_usage_stats"] == true {
        for (index, event) in events.iter_mut().enumerate() {
            event["usage"] = usage(index + 1);
        }
    }
    events.push(json!({"choices": [choice("", reason.into(), "delta")]}));
    events.push(json!({"choices": [], "usage": usage(words.len())}));
    Said::Events(events)
}

#[test]
fn what_a_server_keeps_is_found_out() {
    let seen = Mutex::new(HashSet::new());
    let (found, calls) = findings(server(move |asked| honest(asked, &seen)), 6000.0);
    for id in ["ignore_eos", "min_tokens", "max_tokens", "seed", "stop", "token_ids", "keep_alive"]
    {
        assert_eq!(value(&found, id), true, "{}", found[id]);
    }
    assert_eq!(value(&found, "usage"), "final");
    assert_eq!(value(&found, "usage_in_chunks"), true);
    assert_eq!(value(&found, "tokens_per_event"), 1.0);
    assert_eq!(value(&found, "tokenizer"), &json!({"ratio": 1.0, "template_tokens": 5}));
    assert_eq!(value(&found, "prefix_cache")["on"], true, "{}", found["prefix_cache"]);
    for (api, word) in [("completions", "answers"), ("responses", "answers"), ("tgi", "absent")] {
        assert_eq!(value(&found, "apis")[api], word, "{}", found["apis"]);
    }
    // The whole stream is one write: nothing in it can be timed.
    assert_eq!(value(&found, "streaming")["at_once"], true);
    assert_eq!(value(&found, "software"), &Value::Null);
    assert!(calls <= inquiry::REQUESTS_MAX);
}

/// A server that ignores requests: no stream, no counts except for the prompt, which is always
/// 7, no parameter honored, and no IDs.
fn liar(asked: &Asked) -> Said {
    match asked.method.as_str() {
        "GET" => Said::Json(200, json!({"data": []})),
        _ if asked.body["prompt"].is_array() => Said::Json(422, json!({"error": "text please"})),
        _ if asked.body.get("ignore_eos").is_some() => {
            Said::Json(400, json!({"error": {"message": "unknown field ignore_eos"}}))
        }
        _ => {
            let choice = json!({"index": 0, "message": {"content": "a b"}, "text": "a b", "finish_reason": "stop"});
            Said::Json(200, json!({"choices": [choice], "usage": {"prompt_tokens": 7}}))
        }
    }
}

#[test]
fn what_a_server_does_not_keep_is_not_believed() {
    let (found, _) = findings(server(liar), 6000.0);
    assert_eq!(value(&found, "ignore_eos"), false);
    assert!(found["ignore_eos"]["how"].as_str().unwrap().contains("unknown field"), "{found:?}");
    assert_eq!(value(&found, "streaming"), false);
    assert_eq!(value(&found, "usage"), "none");
    assert_eq!(value(&found, "usage_in_chunks"), false);
    assert_eq!(value(&found, "token_ids"), false);
    for id in ["max_tokens", "min_tokens", "seed", "stop", "tokens_per_event", "tokenizer"] {
        assert_eq!(found[id]["grade"], "unknown", "{}", found[id]);
        assert_eq!(value(&found, id), &Value::Null);
        assert!(!found[id]["how"].as_str().unwrap().is_empty(), "it says why");
    }
}

#[test]
fn a_server_that_hangs_is_told_and_not_waited_for() {
    let (found, calls) = slower_and_slower(|factor| {
        let hanging = server(|asked| match asked.method.as_str() {
            "GET" => Said::Json(200, json!({"data": []})),
            _ => Said::Silence,
        });
        let (found, calls) = findings(hanging, 0.6 * factor as f64);
        // On a busy host, even the few answers may arrive too late.
        match value(&found, "keep_alive") == &json!(true) {
            true => Ok((found, calls)),
            false => Err(found["keep_alive"].to_string()),
        }
    })
    .unwrap();
    assert_eq!(value(&found, "answers"), false);
    let how = found["answers"]["how"].as_str().unwrap();
    assert!(how.contains("no answer within "), "{how}");
    assert!(found["tokenizer"]["how"].as_str().unwrap().contains("no API answered"));
    assert!(calls <= 6, "four for the line, two that were left without an answer: {calls}");
}
