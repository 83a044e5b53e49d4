//! Results of other tools: imported, listed, refused.

use crate::support::{run, stderr, stdout, store};
use serde_json::json;
use std::fs;

/// The figure of a row of an imported file: (quantity, statistic) as stored words.
fn figure(row: &serde_json::Value, quantity: &str, statistic: &str) -> f64 {
    let figures = row["figures"].as_array().unwrap();
    let found = figures.iter().find(|f| f["quantity"] == quantity && f["statistic"] == statistic);
    found.unwrap_or_else(|| panic!("{quantity} {statistic}: {row}"))["value"].as_f64().unwrap()
}

#[test]
fn a_run_goes_out_by_the_definitions_of_a_tool_and_comes_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "sweep", &[1, 2], (5.0, 2.0));
    let text = stdout(&run(folder.path(), &["export", "last", "--as", "vllm"]));
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    fs::write(folder.path().join("out.json"), &text).unwrap();
    let back = stdout(&run(folder.path(), &["import", "out.json", "--format", "json"]));
    let back: serde_json::Value = serde_json::from_str(&back).unwrap();
    let rows = back["import"]["sheets"][0]["parts"][0]["rows"].as_array().unwrap();
    for (line, row) in lines.iter().zip(rows) {
        assert_eq!(row["factors"]["concurrency"], line["max_concurrency"].to_string());
        assert_eq!(figure(row, "ttft", "mean"), line["mean_ttft_ms"].as_f64().unwrap());
        assert_eq!(
            figure(row, "output_rate", "value"),
            line["output_throughput"].as_f64().unwrap()
        );
        assert_eq!(row["requests"].as_array().unwrap().len(), 80);
    }
    // The printed block of the same run, by the same definitions, rounds the same numbers.
    let block = stdout(&run(folder.path(), &["report", "last", "--format", "vllm"]));
    let mean = lines[0]["mean_ttft_ms"].as_f64().unwrap();
    assert!(block.contains(&format!("{:<41}{mean:.2}", "Mean TTFT (ms):")), "{mean} {block}");

    // GuideLLM's time per output token holds the time to the first one; vLLM's does not.
    let of = |tool: &str| -> f64 {
        let words = ["export", "last", "--as", "jsonl", "--definitions", tool];
        let text = stdout(&run(folder.path(), &words));
        let row: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        figure(&row, "tpot", "mean")
    };
    assert!(of("guidellm") < of("vllm") + mean && of("guidellm") != of("vllm"));
}

#[test]
fn every_format_writes_a_run_or_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "sweep", &[1, 2], (5.0, 2.0));
    for (format, files) in [
        ("vllm", 1),
        ("sglang", 1),
        ("guidellm", 1),
        ("aiperf", 2),
        ("genai-bench", 3),
        ("inferencex", 2),
        ("llm-d", 2),
        ("csv", 1),
        ("jsonl", 1),
        ("parquet", 1),
    ] {
        let out = folder.path().join(format);
        fs::create_dir(&out).unwrap();
        let output = run(folder.path(), &["export", "last", "--as", format, "-o", format]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", stderr(&output));
        assert_eq!(fs::read_dir(&out).unwrap().count(), files, "{format}");
    }
    let output = run(folder.path(), &["export", "last", "--as", "llama-bench"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("engine without a server"), "{}", stderr(&output));
    let output = run(folder.path(), &["export", "last", "--as", "aiperf"]);
    assert!(stderr(&output).contains("-o DIR"), "{}", stderr(&output));
    let table = fs::read_to_string(folder.path().join("csv/csv.csv")).unwrap();
    assert!(table.lines().next().unwrap().contains("ttft_p99_ms"), "{table}");
    assert_eq!(table.lines().count(), 3);
}

/// What the tools' own readers ask for, with which they were tried: vLLM 0.32, GuideLLM 0.8.1, AIPerf 0.13.
#[test]
fn files_of_others_have_what_their_own_readers_ask_for() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "sweep", &[1, 2], (5.0, 2.0));
    let written = |format: &str, name: &str| -> Vec<serde_json::Value> {
        let out = folder.path().join(format);
        fs::create_dir(&out).unwrap();
        let output = run(folder.path(), &["export", "last", "--as", format, "-o", format]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", stderr(&output));
        let text = fs::read_to_string(out.join(name)).unwrap();
        let values = serde_json::Deserializer::from_str(&text).into_iter();
        values.map(Result::unwrap).collect()
    };
    for line in written("vllm", "vllm.json") {
        assert_eq!(line["p50_ttft_ms"], line["median_ttft_ms"], "{line}");
        assert!(line["p50_itl_ms"].is_number() && line["date"] == "20261120-110000", "{line}");
        assert_eq!(line["endpoint_type"], line["backend"], "{line}");
        // vLLM writes its default for an endless rate too.
        assert_eq!(line["burstiness"], 1.0, "{line}");
    }

    let guidellm = written("guidellm", "guidellm.json").remove(0);
    assert_eq!(
        guidellm["config"]["spec"]["profile"],
        json!({"kind": "concurrent", "streams": [1, 2]})
    );
    assert_eq!(guidellm["config"]["spec"]["backend"]["kind"], "openai_http");
    for (index, benchmark) in guidellm["benchmarks"].as_array().unwrap().iter().enumerate() {
        let (metrics, times) = (&benchmark["metrics"], &benchmark["scheduler_metrics"]);
        assert_eq!(benchmark["config"]["run_index"], index);
        let lasts = times["measure_end_time"].as_f64().unwrap()
            - times["measure_start_time"].as_f64().unwrap();
        assert!((lasts - benchmark["duration"].as_f64().unwrap()).abs() < 1e-5, "{times}");
        // It says so where it does not know a delay.
        assert_eq!(times["queued_time_avg"], -1.0);
        assert_eq!(metrics["time_to_last_round_trip_ms"]["successful"]["count"], 0);
        assert_eq!(metrics["image"]["pixels"], json!(null));
        let all: Vec<&String> = metrics.as_object().unwrap().keys().collect();
        for (name, count) in [
            ("request_latency", 80),
            ("requests_per_second", 80),
            ("output_tokens_per_second", 800),
        ] {
            let successful = &metrics[name]["successful"];
            let number = |field: &str| {
                successful[field].as_f64().unwrap_or_else(|| panic!("{name} {field}: {all:?}"))
            };
            assert_eq!(successful["count"], count, "{name}");
            assert!(
                (number("std_dev").powi(2) - number("variance")).abs() <= 1e-9 * number("variance")
            );
            assert!(number("min") <= number("mode") && number("mode") <= number("max"), "{name}");
            let percentiles = successful["percentiles"].as_object().unwrap();
            assert_eq!(percentiles.len(), 11, "{percentiles:?}");
            assert_eq!(percentiles["p50"], successful["median"], "{name}");
            assert_eq!(metrics[name]["total"], *successful, "{name}");
        }
    }

    let aiperf = written("aiperf", "aiperf-01-concurrency1.json").remove(0);
    let asked = &aiperf["input_config"];
    assert_eq!(
        asked["phases"],
        json!([{"name": "profiling", "type": "concurrency", "concurrency": 1}])
    );
    let names: Vec<&String> = asked.as_object().unwrap().keys().collect();
    assert_eq!(names, ["datasets", "endpoint", "models", "phases"], "its reader takes no other");
    assert_eq!(asked["endpoint"]["type"], "chat");

    // The tool's readers use this name and the metadata.
    let genai = written("genai-bench", "experiment_metadata.json").remove(0);
    assert_eq!(genai["num_concurrency"], json!([1, 2]), "{genai}");
    let scenario = &genai["traffic_scenario"][0];
    for name in ["cmd", "benchmark_version", "api_backend", "api_model_name", "model", "task"] {
        assert!(genai[name].is_string(), "{name}: {genai}");
    }
    assert!(genai["max_time_per_run_s"].is_u64() && genai["max_requests_per_run"].is_u64());
    let name_of = |users: u32| {
        let all = fs::read_dir(folder.path().join("genai-bench")).unwrap();
        let mut all = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let middle = format!("_text-to-text_num_concurrency_{users}_time_");
        all.find(|name| name.contains(&middle) && name.ends_with("s.json")).unwrap()
    };
    for users in [1, 2] {
        let path = folder.path().join("genai-bench").join(name_of(users));
        let level: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let metrics = &level["aggregated_metrics"];
        assert_eq!((&metrics["scenario"], &metrics["num_concurrency"]), (scenario, &json!(users)));
        let single = level["individual_request_metrics"].as_array().unwrap();
        assert_eq!(metrics["num_completed_requests"], json!(single.len()));
        let sum: f64 = single.iter().map(|one| one["e2e_latency"].as_f64().unwrap()).sum();
        let told = metrics["stats"]["e2e_latency"]["sum"].as_f64().unwrap();
        assert!((sum - told).abs() < 1e-9 * told, "{sum} {told}");
        let mean: f64 =
            single.iter().map(|one| one["output_inference_speed"].as_f64().unwrap()).sum();
        let told = metrics["stats"]["output_inference_speed"]["sum"].as_f64().unwrap();
        assert!((mean - told).abs() < 1e-9 * told, "{mean} {told}");
    }
}

/// Rows of an import, each with what holds for its part.
fn rows_with_factors(import: &serde_json::Value) -> Vec<(serde_json::Value, serde_json::Value)> {
    let mut rows = Vec::new();
    for sheet in import["import"]["sheets"].as_array().unwrap() {
        for part in sheet["parts"].as_array().unwrap() {
            for row in part["rows"].as_array().unwrap() {
                let mut factors = part.get("factors").cloned().unwrap_or_default();
                let own = row.get("factors").and_then(|own| own.as_object());
                for (name, value) in own.into_iter().flatten() {
                    factors[name] = value.clone();
                }
                rows.push((row.clone(), factors));
            }
        }
    }
    rows
}

/// A value in milliseconds where it is a time.
fn in_ms(figure: &serde_json::Value) -> Option<f64> {
    let scale = if figure["unit"] == "s" { 1e3 } else { 1.0 };
    Some(figure["value"].as_f64()? * scale)
}

#[test]
fn what_goes_out_in_a_format_comes_back_with_the_same_figures_and_factors() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "sweep", &[2, 3], (5.0, 2.0));
    for (format, definitions, figures, factors) in [
        ("vllm", "vllm", 30, &["concurrency", "requests", "model"][..]),
        ("sglang", "sglang", 30, &["concurrency", "requests", "model"]),
        ("guidellm", "guidellm", 60, &["concurrency", "requests", "model", "input_tokens"]),
        ("aiperf", "aiperf", 50, &["concurrency", "requests", "model", "input_tokens"]),
        ("genai-bench", "genai-bench", 90, &["concurrency", "requests", "model", "input_tokens"]),
        ("inferencex", "vllm", 15, &["concurrency", "input_tokens", "output_tokens", "model"]),
        ("llm-d", "inferometer", 25, &["concurrency", "requests", "model", "input_tokens"]),
        ("csv", "inferometer", 50, &["concurrency", "model", "requests", "input_tokens"]),
        ("jsonl", "inferometer", 50, &["concurrency", "model", "requests", "input_tokens"]),
    ] {
        let words = ["export", "last", "--as", "jsonl", "--definitions", definitions];
        let truth = stdout(&run(folder.path(), &words));
        let truth: Vec<serde_json::Value> =
            truth.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        fs::create_dir(folder.path().join(format)).unwrap();
        run(folder.path(), &["export", "last", "--as", format, "-o", format]);
        let words = ["import", format, "--format", "json", "--dry-run"];
        let output = run(folder.path(), &words);
        let back = serde_json::from_str(&stdout(&output))
            .unwrap_or_else(|_| panic!("{format}: {}", stderr(&output)));
        let rows = rows_with_factors(&back);
        assert_eq!(rows.len(), truth.len(), "{format}");
        for ((row, set), truth) in rows.iter().zip(&truth) {
            for name in factors {
                assert_eq!(set[name], truth["factors"][name], "{format}: {name}");
            }
            let mut same = 0;
            for figure in row["figures"].as_array().unwrap() {
                let like = |other: &&serde_json::Value| {
                    ["quantity", "statistic"].iter().all(|name| other[name] == figure[name])
                };
                let Some(other) = truth["figures"].as_array().unwrap().iter().find(like) else {
                    continue;
                };
                let (a, b) = (in_ms(figure), in_ms(other));
                let is_close = a.zip(b).is_some_and(|(a, b)| (a - b).abs() <= 1e-9 * b.abs());
                assert!(is_close || a == b, "{format}: {figure} {other}");
                same += 1;
            }
            assert!(same >= figures, "{format}: only {same} figures came back");
        }
    }
}

#[test]
fn a_run_as_parquet_comes_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "sweep", &[1, 3], (5.0, 2.0));
    let written = run(folder.path(), &["export", "last", "--as", "parquet", "-o", "run.parquet"]);
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    let rows = |subject: &str, definitions: &str| -> Vec<serde_json::Value> {
        let words = ["export", subject, "--as", "jsonl", "--definitions", definitions];
        let output = run(folder.path(), &words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let mut rows: Vec<serde_json::Value> =
            stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for row in &mut rows {
            row.as_object_mut().unwrap().remove("document");
        }
        rows
    };
    let truth = rows("last", "inferometer");
    assert_eq!(truth.len(), 2);
    assert_eq!(truth[1]["requests"].as_array().unwrap().len(), 78);
    assert_eq!(rows("run.parquet", "inferometer"), truth);
    // The events are in the file: other definitions compute from them, too.
    assert_eq!(rows("run.parquet", "vllm"), rows("last", "vllm"));

    let output = run(folder.path(), &["import", "run.parquet", "--format", "json", "--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let back: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let back = rows_with_factors(&back);
    assert_eq!(back.len(), truth.len());
    for ((row, factors), truth) in back.iter().zip(&truth) {
        assert_eq!(row["figures"], truth["figures"]);
        assert_eq!(row["requests"], truth["requests"]);
        assert_eq!(*factors, truth["factors"]);
    }

    // A truncated file is invalid, and the error says so.
    let bytes = fs::read(folder.path().join("run.parquet")).unwrap();
    fs::write(folder.path().join("cut.parquet"), &bytes[..bytes.len() / 2]).unwrap();
    let output = run(folder.path(), &["import", "cut.parquet"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cut.parquet is damaged"), "{}", stderr(&output));
}

#[test]
fn files_of_others_as_parquet_come_back_as_they_were_read() {
    let folder = tempfile::tempdir().unwrap();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../ifm-interop/tests/data/");
    let rows = |subject: &str| -> Vec<serde_json::Value> {
        let output = run(folder.path(), &["export", subject, "--as", "jsonl"]);
        assert_eq!(output.status.code(), Some(0), "{subject}: {}", stderr(&output));
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    for (name, least) in [
        ("vllm-serve-0.33/result.json", 1),
        ("guidellm-0.8.1-failures/result.json", 2),
        ("llama-bench-0c1e570/sweep.md", 20),
    ] {
        let file = format!("{data}{name}");
        let words = ["export", &file, "--as", "parquet", "-o", "out.parquet"];
        let output = run(folder.path(), &words);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        let truth = rows(&file);
        assert!(truth.len() >= least, "{name}: {} rows", truth.len());
        assert_eq!(rows("out.parquet"), truth, "{name}");
    }
    // An import of several files is a file each.
    let files =
        [format!("{data}vllm-serve-0.33/result.json"), format!("{data}oha-1.16.0/result.json")];
    let words = ["import", &files[0], &files[1], "--name", "two"];
    assert_eq!(run(folder.path(), &words).status.code(), Some(0));
    let output = run(folder.path(), &["export", "two", "--as", "parquet", "-o", "tables"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut names: Vec<String> = fs::read_dir(folder.path().join("tables"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["parquet-01-result.parquet", "parquet-02-result.parquet"]);

    // A document that was truncated or changed is reported.
    let bytes = fs::read(folder.path().join("out.parquet")).unwrap();
    let text = b"inferometer.sheet";
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap() + 200;
    let mut changed = bytes.clone();
    changed[at] ^= 1;
    for (name, bytes) in [("cut.parquet", &bytes[..bytes.len() / 2]), ("changed.parquet", &changed)]
    {
        fs::write(folder.path().join(name), bytes).unwrap();
        let output = run(folder.path(), &["import", name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(stderr(&output).contains("is damaged"), "{name}: {}", stderr(&output));
    }
}

/// What `--json` prints is read back: of a run with the figures that the run itself gives, of an engine whole.
#[test]
fn our_own_documents_are_results() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "sweep", &[1, 2], (5.0, 2.0));
    let import = |name: &str| -> serde_json::Value {
        let output = run(folder.path(), &["import", name, "--json"]);
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let text = stdout(&run(folder.path(), &["report", "last", "--json"]));
    fs::write(folder.path().join("run.json"), &text).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let back = import("run.json")["import"]["sheets"][0].clone();
    assert_eq!(back["source"]["format"], "inferometer-result");
    assert_eq!(back["source"]["tool_version"], document["run"]["tool"]["version"]);
    let lines = stdout(&run(folder.path(), &["export", "last", "--as", "jsonl"]));
    let rows = back["parts"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    // The one in seconds, the other in milliseconds.
    let canonical = |figure: &serde_json::Value| {
        let scale = if figure["unit"] == "s" { 1e3 } else { 1.0 };
        figure["value"].as_f64().unwrap() * scale
    };
    for (row, line) in rows.iter().zip(lines.lines()) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        for name in ["concurrency", "input_tokens", "output_tokens", "requests"] {
            assert_eq!(row["factors"][name], line["factors"][name], "{name}");
        }
        let mut same = 0;
        for figure in row["figures"].as_array().unwrap() {
            let mut all = line["figures"].as_array().unwrap().iter();
            let of = |other: &&serde_json::Value| {
                ["quantity", "statistic"].iter().all(|name| other[*name] == figure[*name])
            };
            let found = all.find(of).unwrap_or_else(|| panic!("{figure}: {line}"));
            let (a, b) = (canonical(figure), canonical(found));
            assert!((a - b).abs() <= 1e-9 * b.abs(), "{figure}: {found}");
            same += 1;
        }
        assert!(same > 40, "{same} figures");
    }

    let words = ["engine", "-m", "nano", "-p", "16", "-n", "4", "-r", "2", "--json"];
    let text = stdout(&run(folder.path(), &words));
    fs::write(folder.path().join("engine.json"), &text).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let back = import("engine.json")["import"]["sheets"][0].clone();
    let own = &document["import"]["sheets"][0];
    assert_eq!((&back["parts"], &back["remarks"]), (&own["parts"], &own["remarks"]));
    assert_eq!(back["source"]["format"], "inferometer-engine");
    let newer = text.replacen("\"sheet_version\": 1", "\"sheet_version\": 99", 1);
    assert_ne!(newer, text);
    fs::write(folder.path().join("newer.json"), newer).unwrap();
    let refused = run(folder.path(), &["import", "newer.json"]);
    assert!(stderr(&refused).contains("of version 99, and this program reads 1"));

    // A prediction stays one.
    let words = ["predict", "--gpu", "l40s", "-m", "llama-3.1-8b", "-c", "1", "-n", "4", "--json"];
    fs::write(folder.path().join("predicted.json"), stdout(&run(folder.path(), &words))).unwrap();
    let back = import("predicted.json")["import"]["sheets"][0].clone();
    let factors = &back["parts"][0]["factors"];
    assert_eq!(factors["numbers"], "predicted");
    assert!(factors.as_object().unwrap().keys().any(|name| name.starts_with("predicted")));
    // A report is not a result.
    let page = run(folder.path(), &["report", "engine.json", "-o", "page.json"]);
    assert_eq!(page.status.code(), Some(0));
    let refused = run(folder.path(), &["compare", "page.json", "engine.json"]);
    assert!(stderr(&refused).contains("a report by inferometer, not results"));
}

/// A run as a folder of the store and as one file: every command says the same of both.
#[test]
fn a_run_as_one_file_is_the_same_run_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "base", &[1, 3], (5.0, 2.0));
    store(folder.path(), "new", &[1, 3], (5.0, 2.1));
    let words = ["export", "base", "--as", "parquet", "-o", "base.parquet"];
    let written = run(folder.path(), &words);
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    for words in [
        "report RUN --json",
        "report RUN --kind sweep --json",
        "report RUN new --kind sweep --json",
        "report RUN --json=requests",
        "audit RUN --json",
        "compare RUN new --json",
        "compare RUN new --slo itl:p97<2.05ms --json",
        "rank RUN new --json",
        "capacity RUN --slo itl:p50<2.05ms --json",
        "gate RUN --max itl.p50=10ms --json",
        "gate RUN --baseline new --max itl.p50=+5% --json",
        "history RUN --json",
    ] {
        let said = |name: &str| {
            let all: Vec<&str> = words.split(' ').collect();
            let all: Vec<&str> =
                all.into_iter().map(|word| if word == "RUN" { name } else { word }).collect();
            let output = run(folder.path(), &all);
            (output.status.code(), stdout(&output), stderr(&output))
        };
        let (of_store, of_file) = (said("base"), said("base.parquet"));
        assert!(of_store.1.len() > 50, "{words}: {of_store:?}");
        assert_eq!(of_store, of_file, "{words}");
    }
}

/// `compare` and `capacity RESULT` find one capacity, by any target.
#[test]
fn a_run_has_one_capacity() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "base", &[1, 3, 8], (5.0, 2.0));
    store(folder.path(), "new", &[1, 3, 8], (6.0, 2.0));
    let json = |words: &[&str]| -> serde_json::Value {
        let output = run(folder.path(), words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    for slo in ["ttft:p50<5ms", "ttft:p50<5.5ms", "ttft:p97<9s", "ttft:p90<5.8ms"] {
        let alone = json(&["capacity", "base", "--slo", slo, "--json"]);
        let pair = json(&["compare", "base", "new", "--slo", slo, "--json"]);
        let (alone, pair) = (&alone["curves"][0], &pair["pairs"][0]["capacity"]["a"]);
        assert_eq!(alone["state"], pair["state"], "{slo}: {alone} {pair}");
        if alone["state"] != "below" {
            assert_eq!(alone["inside"]["users"].as_f64(), pair["load"].as_f64(), "{slo}");
        }
        assert_eq!(alone["low"]["users"].as_f64(), pair["low"].as_f64(), "{slo}");
    }
}
