//! `engine`: llama-bench's tests and static batches on the embedded engine, its outputs, and engines
//! that fail.

use crate::support::{run, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn document(folder: &Path, flags: &[&str]) -> Value {
    let words: Vec<&str> = ["engine", "-m", "nano", "-t", "1", "-s", "--no-limit", "--json"]
        .iter()
        .chain(flags)
        .copied()
        .collect();
    let output = run(folder, &words);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("a document")
}

fn rows(document: &Value) -> Vec<&Value> {
    let parts = document["import"]["sheets"][0]["parts"].as_array().expect("parts");
    parts.iter().flat_map(|part| part["rows"].as_array().expect("rows")).collect()
}

fn figure(row: &Value, quantity: &str, statistic: &str) -> Option<f64> {
    let is = |figure: &&Value| figure["quantity"] == quantity && figure["statistic"] == statistic;
    row["figures"].as_array()?.iter().find(is)?["value"].as_f64()
}

#[test]
fn tests_in_llama_benchs_notation_are_measured_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-p", "32", "-n", "8", "-pg", "32,8", "-d", "0,16", "-r", "3", "--name", "bench"];
    let document = document(folder.path(), &flags);
    let all = rows(&document);
    let heads: Vec<&&Value> = all.iter().filter(|row| row["role"] == "summary").collect();
    let names: Vec<&str> =
        heads.iter().map(|row| row["factors"]["test"].as_str().unwrap()).collect();
    assert_eq!(names, ["pp32", "tg8", "pp32+tg8", "pp32", "tg8", "pp32+tg8"]);
    assert_eq!(heads[3]["factors"]["depth_tokens"], "16");
    assert_eq!(all.len(), 6 * 4, "a mean and three repeats of each");
    for row in all.iter().filter(|row| row["role"] == "measured") {
        // A rate is all tokens over all time, in the nanoseconds that the engine told.
        let told = &row["unknown"];
        let prompt = told["prompt_ns"].as_u64().unwrap_or_default();
        let ns = prompt + told["steps_ns"].as_u64().unwrap_or_default();
        assert!(ns > 0 && ns <= told["wall_ns"].as_u64().unwrap(), "{row}");
        let (quantity, tokens) = match row["factors"]["test"].as_str().unwrap() {
            "pp32" => ("prefill_rate", 32.0),
            "tg8" => ("decode_rate", 8.0),
            _ => ("total_rate", 40.0),
        };
        let rate = figure(row, quantity, "value").unwrap();
        assert!((rate * ns as f64 / 1e9 / tokens - 1.0).abs() < 1e-9, "{row}");
    }
    // It is there by its name, for every command.
    let shown = run(folder.path(), &["report", "bench", "--format", "md"]);
    assert!(stdout(&shown).contains("pp32"), "{}", stdout(&shown));
    let output = run(folder.path(), &["export", "bench", "--as", "llama-bench-jsonl"]);
    let line = stdout(&output).lines().next().unwrap().to_owned();
    let fields: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&fields["n_prompt"], &fields["n_gen"]), (&32.into(), &0.into()));
    assert_eq!(fields["samples_ns"].as_array().unwrap().len(), 3);
    assert_eq!(fields["n_threads"], 1);
}

#[test]
fn a_report_has_the_mean_of_each_test_and_the_batches() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-p", "32", "-n", "0", "--static", "2x16/4", "-r", "3", "--name", "mixed"];
    let document = document(folder.path(), &flags);
    let all = rows(&document);
    let head = all.iter().find(|row| row["role"] == "summary").unwrap();
    let mean = figure(head, "prefill_rate", "mean").unwrap();
    let shown = stdout(&run(folder.path(), &["report", "mixed", "--format", "md"]));
    assert!(shown.contains("1 engine row · 1 static batch"), "{shown}");
    assert!(shown.contains(&format!("{mean:.2} ± ")), "{mean}: {shown}");
    let batches = shown.split("## Static batches").nth(1).expect("a chapter");
    assert!(batches.contains("| nano q8\\_0 | 2 | 16 | 4 | 3 |"), "{batches}");
}

#[test]
fn a_static_batch_has_a_step_less_than_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--static", "4x16/8", "--static", "2x16/1", "-r", "2"];
    let document = document(folder.path(), &flags);
    let all = rows(&document);
    assert_eq!(all.len(), 4);
    let (prompt, steps) = (&all[0]["unknown"]["prompt_ns"], &all[0]["unknown"]["steps_ns"]);
    let (prompt, steps) = (prompt.as_f64().unwrap() / 1e9, steps.as_f64().unwrap() / 1e9);
    for (quantity, expected) in [
        ("prefill_rate", 4.0 * 16.0 / prompt),
        ("decode_rate", 4.0 * 7.0 / steps),
        ("total_rate", 4.0 * 24.0 / (prompt + steps)),
    ] {
        let told = figure(all[0], quantity, "value").unwrap();
        assert!((told / expected - 1.0).abs() < 1e-9, "{quantity}: {told}, {expected}");
    }
    // One token comes with the prompts: there is no speed of steps.
    assert_eq!(figure(all[2], "decode_rate", "value"), None);
    assert!(figure(all[2], "prefill_rate", "value").is_some());
}

#[test]
fn outputs_are_those_of_llama_bench() {
    let folder = tempfile::tempdir().unwrap();
    let bench = |format: &str| {
        let words = [
            "engine",
            "-m",
            "nano",
            "-t",
            "1",
            "-s",
            "--no-limit",
            "-p",
            "8",
            "-n",
            "4",
            "-r",
            "2",
            "-o",
            format,
        ];
        let output = run(folder.path(), &words);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let table = bench("md");
    let head = table.lines().next().unwrap();
    assert!(head.starts_with("| model ") && head.ends_with("test |                  t/s |"));
    assert!(table.contains("| nano q8_0 ") && table.contains(" pp8 | "), "{table}");
    // Each comes back by its own reader, with two tests.
    for format in ["md", "csv", "json", "jsonl", "sql"] {
        let path = folder.path().join(format!("table.{format}"));
        fs::write(&path, bench(format)).unwrap();
        let words = ["import", path.to_str().unwrap(), "--json"];
        let output = run(folder.path(), &words);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let tests: std::collections::BTreeSet<String> = rows(&document)
            .iter()
            .filter_map(|row| Some(row["factors"]["test"].as_str()?.to_owned()))
            .collect();
        let expected = ["pp8", "tg4"].map(str::to_owned);
        assert_eq!(tests.into_iter().collect::<Vec<_>>(), expected, "{format}");
    }
}

#[test]
fn what_cannot_be_measured_is_a_row_and_the_rest_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let words = [
        "engine",
        "-m",
        "no-such-file.gguf,nano",
        "-p",
        "8",
        "-n",
        "0",
        "-r",
        "1",
        "-s",
        "--no-limit",
    ];
    let output = run(folder.path(), &[&words[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["failed"], 1);
    let remarks = document["import"]["sheets"][0]["remarks"].to_string();
    assert!(remarks.contains("no preset \\\"no-such-file.gguf\\\""), "{remarks}");
    let output = run(folder.path(), &["engine", "-m", "nothing", "-r", "1", "-s", "--no-limit"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("there is no file and no preset \"nothing\""),
        "{}",
        stderr(&output)
    );
    for (wrong, said) in [
        (&["-r", "0"][..], "0 is not in 1..=1000"),
        (&["-p", "x"], "\"x\" is not a number"),
        (&["-p", "0", "-n", "0"], "nothing to measure"),
        (&["--static", "8x0/1"], "three positive numbers"),
        (&["--preset", "none"], "there are variants, quick"),
        (&["--frobnicate"], "--frobnicate"),
    ] {
        let output = run(folder.path(), &[&["engine"], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{wrong:?}: {}", stderr(&output));
    }
}
