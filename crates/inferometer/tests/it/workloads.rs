//! Workloads from files and by name, as a user runs them.

use crate::support::{assert_measured, paced, run, serve, stderr, stdout};
use serde_json::{Value, json};
use std::path::Path;

/// Conversations of these many turns each, in ShareGPT's format.
fn conversations(folder: &Path, turns: &[usize]) {
    let conversation = |(id, &turns): (usize, &usize)| {
        let said = (0..turns).map(|turn| {
            let from = if turn % 2 == 0 { "human" } else { "gpt" };
            json!({"from": from, "value": format!("conversation {id} says part {turn} of its words")})
        });
        json!({"id": format!("c{id}"), "conversations": said.collect::<Vec<_>>()})
    };
    let all: Vec<Value> = turns.iter().enumerate().map(conversation).collect();
    std::fs::write(folder.join("talks.json"), Value::from(all).to_string()).unwrap();
}

fn document(folder: &Path) -> Value {
    let output = run(folder, &["report", "last", "--format", "json"]);
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn conversations_go_on_with_the_servers_answers() {
    let folder = tempfile::tempdir().unwrap();
    conversations(folder.path(), &[6, 4, 2, 6]);
    let (_server, url) = serve(folder.path(), &[]);
    let words =
        ["run", &url, "-W", "sharegpt-chat:talks.json", "-c", "2", "--sessions", "3", "-w", "0"];
    let output = run(folder.path(), &words);
    assert_measured(&output);
    let document = document(folder.path());
    assert_eq!(document["run"]["state"], "complete");
    let workload = &document["run"]["workload"];
    assert_eq!(workload["sessions"], 3);
    let turns = document["levels"][0]["turns"].as_array().unwrap();
    // Each later turn carries the whole conversation: prompts grow.
    let prompts: Vec<f64> =
        turns.iter().map(|turn| turn["prompt_mean"].as_f64().unwrap()).collect();
    assert!(prompts.len() >= 2 && prompts.windows(2).all(|pair| pair[0] < pair[1]), "{prompts:?}");
    assert_eq!(turns[0]["sent"], 3);
    assert!(stdout(&output).contains("ok/sent"), "each turn has a row");
    // Answers were needed for the next turns, but keeping them was not requested.
    let lines = run(folder.path(), &["report", "last", "--format", "requests"]);
    assert!(!stdout(&lines).contains("\"text\""), "{}", stdout(&lines));
    assert!(stdout(&lines).contains("\"session\":2"));
}

#[test]
fn a_data_set_that_ends_ends_the_run_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    conversations(folder.path(), &[2, 2, 2, 2, 2]);
    let server = paced(1, 1);
    let url = format!("http://{}", server.address());
    let words = ["run", &url, "-W", "sharegpt:talks.json", "-n", "9", "-w", "1"];
    let output = run(folder.path(), &words);
    assert_measured(&output);
    assert!(stderr(&output).contains("no more prompts"), "{}", stderr(&output));
    let stored = document(folder.path());
    assert_eq!(
        (&stored["run"]["state"], &stored["levels"][0]["requests"]["ok"]),
        (&"partial".into(), &4.into())
    );
    assert_eq!(stored["run"]["workload"]["facts"]["rows"]["kept"], 5);
    let again = run(folder.path(), &[&words[..], &["--repeat-prompts"]].concat());
    assert_measured(&again);
    let stored = document(folder.path());
    assert_eq!(stored["levels"][0]["requests"]["ok"], 9);
    let workload = &stored["run"]["workload"];
    assert_eq!((&workload["prompts"], &workload["distinct_prompts"]), (&10.into(), &5.into()));
    let checks = stored["checks"].as_array().unwrap();
    let repeats = checks.iter().find(|check| check["id"] == "repeated_prompts").unwrap();
    assert_eq!(repeats["state"], "caution");
}

#[test]
fn other_tools_flags_name_the_same_workload() {
    let folder = tempfile::tempdir().unwrap();
    conversations(folder.path(), &[2; 8]);
    let server = paced(1, 1);
    let url = format!("http://{}", server.address());
    let kind = |flags: &[&str]| {
        let words =
            ["bench", "serve", "--base-url", &url, "--num-prompts", "4", "--model", "truth-model"];
        let output = run(folder.path(), &[&words[..], flags].concat());
        assert_measured(&output);
        let document = document(folder.path());
        (document["spec"]["workload"]["text"].clone(), document["spec"]["workload"]["kind"].clone())
    };
    let file =
        ["--dataset-name", "sharegpt", "--dataset-path", "talks.json", "--request-rate", "inf"];
    assert_eq!(kind(&file), ("sharegpt:talks.json".into(), "sharegpt".into()));
    let ratio =
        ["--dataset-name", "random", "--random-input-len", "40", "--random-range-ratio", "0.5"];
    let (text, _) = kind(&ratio);
    assert_eq!(text, "random:40/128?range_ratio=0.5&ratio=vllm");
    let lengths = &document(folder.path())["run"]["workload"]["prompt_tokens"];
    let lengths: Vec<u64> =
        lengths.as_array().unwrap().iter().map(|bin| bin[0].as_u64().unwrap()).collect();
    assert!(lengths.iter().all(|tokens| (20..=60).contains(tokens)), "{lengths:?}");
}
