//! Load against servers: counts, formats, and the numbers that go with them.

use crate::support::{assert_measured, paced, run, serve, stdout};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn one_load_point_counts_every_request_and_token() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(20, 2);
    let url = format!("http://{}", server.address());
    let words = ["run", &url, "-c", "4", "-n", "20", "-W", "32/16", "-w", "4", "--json"];
    let output = run(folder.path(), &[&words[..], &["--prompt-lengths", "tokenizer"]].concat());
    assert_measured(&output);
    let document = json(&stdout(&output));
    assert!(document["schema_version"].is_string());
    let level = &document["levels"][0];
    let text = level.to_string();
    let log = server.stop();
    assert_eq!(log.served.len(), 24, "20 measured and 4 to warm up");
    assert!(log.served.iter().all(|served| served.tokens == 16));
    assert!(text.contains("\"sent\":20") && text.contains("\"ok\":20"), "{text}");
}

#[test]
fn a_line_for_each_request_says_who_counted() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let words = ["run", &url, "-c", "2", "-n", "6", "-W", "32/8", "-w", "0", "--json=requests"];
    let output = run(folder.path(), &words);
    assert_measured(&output);
    let lines: Vec<Value> = stdout(&output).lines().map(json).collect();
    assert_eq!(lines.len(), 6);
    for line in &lines {
        assert_eq!(line["outcome"], "ok");
        assert_eq!(line["output_tokens"], 8);
        assert_eq!(line["output_tokens_from"], "final_usage");
        assert!(line["ttft_ms"].as_f64().unwrap() >= 5.0, "{line}");
        // Equal if a busy machine read the whole answer at once.
        assert!(line["e2e_ms"].as_f64() >= line["ttft_ms"].as_f64(), "{line}");
    }
}

#[test]
fn a_sweep_prints_a_row_per_level_and_answers() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let words = ["sweep", &url, "-c", "1,2", "-n", "8", "-W", "32/8", "-o", "r.html", "-o", "r.md"];
    let output = run(folder.path(), &words);
    assert_measured(&output);
    let text = stdout(&output);
    assert!(text.contains("How many users?") && text.contains("TTFT p50"), "{text}");
    let rows = text.lines().filter(|line| line.contains("100%")).count();
    assert_eq!(rows, 2, "{text}");
    for name in ["r.html", "r.md"] {
        assert!(std::fs::metadata(folder.path().join(name)).unwrap().len() > 1000, "{name}");
    }
}

#[test]
fn a_pasted_vllm_command_runs_and_prints_its_block() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let words = [
        "bench",
        "serve",
        "--backend",
        "openai-chat",
        "--endpoint",
        "/v1/chat/completions",
        "--base-url",
        &url,
        "--model",
        "truth-model",
        "--dataset-name",
        "random",
        "--random-input-len",
        "32",
        "--random-output-len",
        "8",
        "--num-prompts",
        "6",
        "--max-concurrency",
        "2",
        "--ignore-eos",
        "--save-result",
    ];
    let output = run(folder.path(), &words);
    assert_measured(&output);
    let text = stdout(&output);
    assert!(text.contains("============ Serving Benchmark Result ============"), "{text}");
    let line = text.lines().find(|line| line.starts_with("Successful requests:")).unwrap();
    assert_eq!(line.split_whitespace().last(), Some("6"));
}

#[test]
fn the_embedded_engine_answers_on_both_apis_streamed_and_not() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = serve(folder.path(), &[]);
    for api in ["chat", "completions"] {
        for stream in [true, false] {
            let mut words = vec![
                "run",
                &url,
                "--api",
                api,
                "-c",
                "2",
                "-n",
                "4",
                "-W",
                "24/6",
                "-w",
                "0",
                "--json=requests",
            ];
            if !stream {
                words.push("--no-stream");
            }
            let output = run(folder.path(), &words);
            assert_measured(&output);
            let lines: Vec<Value> = stdout(&output).lines().map(json).collect();
            assert_eq!(lines.len(), 4);
            for line in &lines {
                assert_eq!(line["outcome"], "ok", "{line}");
                assert_eq!(line["output_tokens"], 6, "{line}");
                assert_eq!(line.get("ttft_ms").is_some(), stream, "{line}");
                if api == "completions" {
                    // The engine counts with the tokenizer that made the prompt.
                    let prompt = line["prompt_tokens"].as_u64().unwrap();
                    assert!((24..=25).contains(&prompt), "{line}");
                }
            }
        }
    }
}

#[test]
fn prompts_of_a_run_are_all_different_and_the_same_for_the_same_seed() {
    let digest = |seed: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let server = paced(1, 0);
        let url = format!("http://{}", server.address());
        let words = ["sweep", &url, "-c", "1,2", "-n", "5", "-W", "32/2", "--json"];
        let output = run(folder.path(), &[&words, seed].concat());
        assert_measured(&output);
        let runs = folder.path().join("runs");
        let entry = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap();
        let manifest = std::fs::read_to_string(entry.path().join("manifest.json")).unwrap();
        json(&manifest)["prompts_sha256"].as_str().unwrap().to_owned()
    };
    assert_eq!(digest(&["--seed", "7"]), digest(&["--seed", "7"]));
    assert_ne!(digest(&["--seed", "7"]), digest(&["--seed", "8"]));
    // A run without a seed must not meet what the run before it left in the server's cache.
    assert_ne!(digest(&[]), digest(&[]));
}
