//! Stored runs against each other, and the files of a gate; verdicts and codes are in `comparisons.says`
//! and `gates.says`.

use crate::support::{json, program, run, stderr, stdout, store};
use std::process::Output;

/// A folder with a quick run, "fast", and a slow one, "slow", each of 1 and 2 users.
fn two_runs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "fast", &[1, 2], (5.0, 1.0));
    store(folder.path(), "slow", &[1, 2], (30.0, 4.0));
    folder
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn a_slower_server_is_worse_in_every_metric_of_time() {
    let folder = two_runs();
    let folder = folder.path();
    let output = run(folder, &["compare", "fast", "slow", "--json"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let document = json(&output);
    let pair = &document["pairs"][0];
    let rows = pair["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 18, "nine metrics at two loads");
    for row in rows.iter().filter(|row| row["metric"] == "ttft.p50" || row["metric"] == "e2e.p50") {
        assert_eq!(row["verdict"], "worse", "{row}");
    }
    assert!(rows.iter().all(|row| row["basis"] != "runs"));
    let differences = pair["differences"].as_array().unwrap();
    let kind = |what: &str| {
        let found = differences.iter().find(|one| one["what"] == what).unwrap();
        found["kind"].as_str().unwrap().to_owned()
    };
    assert_eq!((kind("model"), kind("workload")), ("same".to_owned(), "same".to_owned()));
    assert_eq!(kind("seed of the prompts"), "expected");
}

#[test]
fn a_gate_writes_the_file_that_it_reads_and_the_summary_of_a_job() {
    let folder = two_runs();
    let folder = folder.path();
    let output = run(folder, &["gate", "fast", "--init"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("[max]") && text.contains("# \"ttft.p99@"), "{text}");
    std::fs::write(folder.join("ci.toml"), &text).unwrap();
    let own = run(folder, &["gate", "fast", "-t", "ci.toml"]);
    assert_eq!(code(&own), Some(0), "a run passes what was made from it: {}", stdout(&own));
    std::fs::write(folder.join("summary.md"), "before\n").unwrap();
    let output = program(folder)
        .env("GITHUB_STEP_SUMMARY", folder.join("summary.md"))
        .args(["gate", "slow", "-t", "ci.toml", "--github-summary"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(1), "{}", stdout(&output));
    let summary = std::fs::read_to_string(folder.join("summary.md")).unwrap();
    assert!(summary.starts_with("before\n## FAIL slow"), "{summary}");
    let output = program(folder)
        .env_remove("GITHUB_STEP_SUMMARY")
        .args(["gate", "slow", "-t", "ci.toml", "--github-summary"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(2));
    assert!(stderr(&output).contains("GITHUB_STEP_SUMMARY"), "{}", stderr(&output));
}
