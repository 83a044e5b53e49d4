//! Stored runs against each other and against thresholds: verdicts, files and exit codes.

use crate::support::{program, run, stderr, stdout, store, store_changed};
use serde_json::Value;
use std::process::Output;

/// A folder with a quick run, "fast", and a slow one, "slow", each of 1 and 2 users.
fn two_runs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "fast", &[1, 2], (5.0, 1.0));
    store(folder.path(), "slow", &[1, 2], (30.0, 4.0));
    folder
}

fn json(output: &Output) -> Value {
    let text = stdout(output);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} {}", stderr(output)))
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn a_slower_server_is_worse_and_can_fail_a_comparison() {
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

    let words = ["compare", "fast", "slow", "--metric", "ttft.p50", "--fail-on", "worse"];
    let output = run(folder, &words);
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("worse") && text.contains("TTFT p50") && text.contains("same"), "{text}");
    let output = run(folder, &["compare", "slow", "fast", "--fail-on", "worse", "--md"]);
    assert_eq!(code(&output), Some(0), "the other way round nothing is worse: {}", stdout(&output));
    assert!(stdout(&output).contains("✓ better"), "{}", stdout(&output));
    let output = run(folder, &["compare", "fast", "slow", "-o", "c.md", "-o", "c.json"]);
    assert_eq!((code(&output), stdout(&output)), (Some(0), String::new()));
    for name in ["c.md", "c.json"] {
        assert!(std::fs::metadata(folder.join(name)).unwrap().len() > 1000, "{name}");
    }
}

#[test]
fn repeats_stand_for_one_side() {
    let folder = two_runs();
    let folder = folder.path();
    store(folder, "fast2", &[1, 2], (5.0, 1.0));
    let output = run(folder, &["compare", "fast,fast2", "slow", "--json", "--metric", "ttft.p50"]);
    let document = json(&output);
    assert_eq!(document["baseline"]["runs"].as_array().unwrap().len(), 2);
    let row = &document["pairs"][0]["rows"][0];
    assert_eq!((&row["basis"], &row["a"]["runs"]), (&"runs".into(), &2.into()), "{row}");
    let twice = run(folder, &["compare", "fast,fast2", "fast"]);
    assert_eq!(code(&twice), Some(2));
    assert!(stderr(&twice).contains("named twice"), "{}", stderr(&twice));
}

#[test]
fn unlike_runs_are_refused_unless_told() {
    let folder = two_runs();
    let folder = folder.path();
    store_changed(folder, "longer", &[1, 2], ((5.0, 1.0), 9), |_| {});
    let output = run(folder, &["compare", "fast", "longer"]);
    assert_eq!((code(&output), stdout(&output)), (Some(7), String::new()));
    let error = stderr(&output);
    assert!(error.contains("output tokens") && error.contains("--even-so"), "{error}");
    let output = run(folder, &["compare", "fast", "longer", "--even-so"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("unlike"), "{}", stdout(&output));
    let output = run(folder, &["rank", "fast", "longer"]);
    assert_eq!(code(&output), Some(7), "{}", stderr(&output));
}

#[test]
fn a_ranking_puts_the_fast_server_first() {
    let folder = two_runs();
    let output = run(folder.path(), &["rank", "slow", "fast", "--json"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let document = json(&output);
    assert_eq!((&document["metric"], &document["load"]["users"]), (&"out_tok_s".into(), &2.into()));
    let place = |index: usize| {
        let one = &document["order"][index];
        (one["side"]["label"].as_str().unwrap().to_owned(), one["rank"].as_u64())
    };
    assert_eq!(place(0), ("fast".to_owned(), Some(1)));
    assert_eq!(place(1), ("slow".to_owned(), Some(2)));
    let words = ["rank", "slow", "fast", "--metric", "ttft.p50", "--at", "1"];
    let text = stdout(&run(folder.path(), &words));
    assert!(text.starts_with("TTFT p50 at 1 user\n"), "{text}");
    let nowhere = run(folder.path(), &["rank", "slow", "fast", "--at", "64"]);
    assert_eq!(code(&nowhere), Some(2), "{}", stderr(&nowhere));
}

#[test]
fn a_gate_has_three_states_and_says_them_by_its_code() {
    let folder = two_runs();
    let folder = folder.path();
    let gate = |words: &[&str]| run(folder, &[&["gate", "slow"], words].concat());
    assert_eq!(code(&gate(&["--max", "itl.p50@2=1s"])), Some(0));
    assert_eq!(code(&gate(&["--max", "e2e.p50@2=5ms"])), Some(1));
    assert_eq!(code(&gate(&["--min", "out_tok_s@2=-3%", "--baseline", "fast"])), Some(1));
    assert_eq!(code(&gate(&["--max", "ttft.p50@2=+2000%", "--baseline", "fast"])), Some(0));
    // 80 requests, without the first of each user, bound no P99.
    let open = ["--max", "ttft.p99@2=10s"];
    let output = gate(&open);
    assert_eq!(code(&output), Some(4), "{}", stdout(&output));
    assert!(stdout(&output).contains("INCONCLUSIVE (n = 78"), "{}", stdout(&output));
    assert_eq!(code(&gate(&[&open[..], &["--inconclusive", "pass"]].concat())), Some(0));
    assert_eq!(code(&gate(&[&open[..], &["--inconclusive", "fail"]].concat())), Some(1));

    let both = ["--max", "e2e.p50@2=5ms", "--min", "success=99%", "--junit", "gate.xml", "--json"];
    let output = gate(&both);
    assert_eq!((code(&output), &json(&output)["state"]), (Some(1), &"fail".into()));
    let xml = std::fs::read_to_string(folder.join("gate.xml")).unwrap();
    assert!(xml.contains("tests=\"3\" failures=\"1\" errors=\"0\""), "{xml}");
    for (words, word) in [
        (&["--max", "itl.p50@64=5ms"][..], "was not measured at"),
        (&["--max", "itl.p50@2=+5%"][..], "none was given"),
        (&["--max", "speed@2=5"][..], "unknown metric"),
        (&[][..], "no threshold"),
        (&["--thresholds", "missing.toml"][..], "missing.toml"),
        (&["--github-summary", "--max", "itl.p50=1s"][..], "GITHUB_STEP_SUMMARY"),
    ] {
        let output = program(folder)
            .env_remove("GITHUB_STEP_SUMMARY")
            .args(["gate", "slow"])
            .args(words)
            .output()
            .unwrap();
        assert_eq!(code(&output), Some(2), "{words:?}");
        assert!(stderr(&output).contains(word), "{words:?}: {}", stderr(&output));
    }
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
    std::fs::write(folder.join("bad.toml"), "[max]\n\"itl.p99\" = \n").unwrap();
    let bad = run(folder, &["gate", "fast", "-t", "bad.toml"]);
    assert_eq!(code(&bad), Some(2));
    assert!(stderr(&bad).contains("line 2"), "{}", stderr(&bad));
}
