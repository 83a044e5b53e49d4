//! Results of other tools in every command that takes results: what is said, and by which code.

use crate::schemas::check as follows_schema;
use crate::support::{assert_measured, document, paced, run, stderr};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A file of `vllm bench serve` at 4 users, times `factor` times as long; with its single requests
/// if they are to be saved.
fn vllm(folder: &Path, name: &str, factor: f64, is_detailed: bool) {
    const N: u32 = 300;
    // Spread by a fixed sequence, another for each file.
    let step = name.bytes().map(u32::from).sum::<u32>() | 1;
    let spread = |index: u32| 0.9 + 0.2 * f64::from(index * step % 97) / 96.0;
    let ttfts: Vec<f64> = (0..N).map(|index| 0.05 * factor * spread(index)).collect();
    let itls: Vec<Vec<f64>> =
        (0..N).map(|index| vec![0.01 * factor * spread(index + 31); 15]).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / f64::from(N);
    let std = |values: &[f64]| {
        let squares = values.iter().map(|value| (value - mean(values)).powi(2)).sum::<f64>();
        (squares / f64::from(N)).sqrt()
    };
    let tpots: Vec<f64> = itls.iter().map(|gaps| gaps.iter().sum::<f64>() / 15.0).collect();
    let mut file = json!({
        "date": "20261120-110920", "endpoint_type": "openai-chat", "backend": "openai-chat",
        "label": null, "model_id": "m", "tokenizer_id": "m", "num_prompts": N,
        "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 4, "duration": 15.0 * factor,
        "completed": N, "failed": 0, "total_input_tokens": 32 * N, "total_output_tokens": 16 * N,
        "request_throughput": f64::from(N) / (15.0 * factor),
        "output_throughput": f64::from(16 * N) / (15.0 * factor),
        "total_token_throughput": f64::from(48 * N) / (15.0 * factor),
        "mean_ttft_ms": mean(&ttfts) * 1e3, "std_ttft_ms": std(&ttfts) * 1e3,
        "p99_ttft_ms": 55.0 * factor,
        "mean_tpot_ms": mean(&tpots) * 1e3, "std_tpot_ms": std(&tpots) * 1e3,
    });
    if is_detailed {
        file["input_lens"] = json!(vec![32; N as usize]);
        file["output_lens"] = json!(vec![16; N as usize]);
        file["ttfts"] = json!(ttfts);
        file["itls"] = json!(itls);
        file["errors"] = json!(vec![""; N as usize]);
    }
    std::fs::write(folder.join(name), file.to_string()).unwrap();
}

/// A table of `llama-bench`.
fn llama(folder: &Path, name: &str, rates: [f64; 2]) {
    let [prompt, generated] = rates;
    let table = format!(
        "| model | size | params | backend | threads | test | t/s |\n\
         | --- | ---: | ---: | --- | ---: | ---: | ---: |\n\
         | llama 8B Q8_0 | 7.95 GiB | 8.03 B | CPU | 8 | pp512 | {prompt:.2} ± 1.20 |\n\
         | llama 8B Q8_0 | 7.95 GiB | 8.03 B | CPU | 8 | tg128 | {generated:.2} ± 0.50 |\n"
    );
    std::fs::write(folder.join(name), table).unwrap();
}

/// The levels of a sweep in a table: users, P99 of TTFT in ms.
fn sweep(folder: &Path, name: &str, levels: &[(u32, f64)]) {
    let lines: String = levels
        .iter()
        .map(|(users, ttft)| format!("| {users} | {:.1} | {ttft:.1} |\n", 20.0 * f64::from(*users)))
        .collect();
    let head = "| Concurrency | Output throughput (tok/s) | P99 TTFT (ms) |\n|---|---|---|\n";
    std::fs::write(folder.join(name), format!("# Serving\n\n{head}{lines}")).unwrap();
}

/// Files of other tools in a folder; the scripts of `says` read them, too.
pub(crate) fn write(path: &Path) {
    vllm(path, "base.json", 1.0, true);
    vllm(path, "like.json", 1.0, true);
    vllm(path, "slow.json", 1.05, true);
    vllm(path, "few.json", 1.0, false);
    vllm(path, "less.json", 1.05, false);
    llama(path, "old.md", [900.0, 50.0]);
    llama(path, "new.md", [990.0, 50.0]);
    sweep(path, "sweep.md", &[(1, 100.0), (8, 300.0), (32, 900.0)]);
    sweep(path, "other.md", &[(1, 90.0), (8, 280.0), (32, 450.0)]);
    std::fs::write(path.join("prose.txt"), "Nothing was measured here.\n").unwrap();
}

/// Whether two JSON values have the same type; whole numbers and numbers with a point are two types.
fn is_like(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => a.is_f64() == b.is_f64(),
        (Value::Array(a), Value::Array(b)) => match (a.first(), b.first()) {
            (Some(a), Some(b)) => is_like(a, b),
            (a, b) => a.is_none() == b.is_none(),
        },
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// The first line of a file as an object.
fn first_line(path: &Path) -> Map<String, Value> {
    let text = std::fs::read_to_string(path).unwrap();
    // Python writes an endless rate as a word that JSON does not have.
    let line = text.lines().next().unwrap().replace(": Infinity", ": \"inf\"");
    serde_json::from_str(&line).unwrap()
}

#[test]
fn as_writes_the_fields_of_the_tools_own_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = paced(30, 4);
    let url = format!("http://{}", server.address());
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ifm-interop/tests/data");
    let run_as = |line: &str| {
        let line = line.replace("URL", &url);
        let output = run(folder, &["as", &line]);
        assert_measured(&output);
    };
    let vllm = "vllm bench serve --backend openai-chat --endpoint /v1/chat/completions --base-url URL \
                --model truth-model --dataset-name random --random-input-len 32 --random-output-len 16 \
                --num-prompts 12 --max-concurrency 4 --save-result --ignore-eos";
    run_as(&format!(
        "{vllm} --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,90,99 --save-detailed \
         --result-filename v.json"
    ));
    run_as(
        "python3 -m sglang.bench_serving --backend sglang-oai-chat --base-url URL --model truth-model \
         --dataset-name random --random-input-len 32 --random-output-len 16 --random-range-ratio 1 \
         --num-prompts 12 --max-concurrency 4 --output-file s.jsonl --output-details",
    );
    // SGLang's peaks are not computed: their keys are absent. What the client reads from its own tokenizer and
    // its own flags is null.
    let unknown = ["total_output_tokens_retokenized", "random_range_ratio", "dataset_name"];
    for (ours, theirs, absent) in [
        ("v.json", "vllm-serve-0.33/result.json", &[][..]),
        (
            "s.jsonl",
            "sglang-serve-0.5.23/result.jsonl",
            &[
                "max_output_tokens_per_s",
                "max_concurrent_requests",
                "total_input_text_tokens",
                "total_input_vision_tokens",
            ],
        ),
    ] {
        let (ours, theirs) = (first_line(&folder.join(ours)), first_line(&data.join(theirs)));
        let known: Vec<&String> = ours.keys().filter(|key| !key.starts_with("factor.")).collect();
        for (key, value) in &theirs {
            match ours.get(key) {
                Some(own) if own.is_null() && unknown.contains(&key.as_str()) => {}
                // Nothing was set, here or there.
                Some(own) if value.is_null() => assert!(own.is_null(), "{key}: {own}"),
                Some(own) => assert!(is_like(own, value), "{key}: {own} and {value}"),
                None => assert!(absent.contains(&key.as_str()), "no {key} among {known:?}"),
            }
        }
    }
    let v = first_line(&folder.join("v.json"));
    for key in ["backend", "endpoint_type"] {
        assert_eq!(v[key], "openai-chat");
    }
    assert_eq!((&v["request_goodput"], &v["rtfx"]), (&Value::Null, &json!(0.0)));
    assert_eq!((&v["burstiness"], &v["request_rate"]), (&json!(1.0), &json!("inf")));
    let lists = ["input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times"];
    let lists = lists.into_iter().chain(["queue_times", "generated_texts", "errors"]);
    for key in lists.clone() {
        assert_eq!(v[key].as_array().map(Vec::len), Some(12), "{key}");
    }
    assert_eq!(v["itls"][0].as_array().map(Vec::len), Some(15));
    assert!(!v["generated_texts"][0].as_str().unwrap().is_empty());
    // The percentiles that are asked for and no others, and the lists only where they are asked for.
    run_as(&format!(
        "{vllm} --metric-percentiles 25,99.9 --percentile-metrics ttft,itl --goodput ttft:1000 \
         --request-rate 200 --result-filename p.json"
    ));
    let p = first_line(&folder.join("p.json"));
    let is_percentile = |key: &&String| key.starts_with('p') && key.ends_with("_ms");
    let percentiles: Vec<&String> = p.keys().filter(is_percentile).collect();
    assert_eq!(percentiles, ["p25_itl_ms", "p25_ttft_ms", "p99.9_itl_ms", "p99.9_ttft_ms"]);
    assert!(!p.contains_key("mean_e2el_ms") && p["median_ttft_ms"].is_f64());
    assert!(p["request_goodput"].is_f64() && p["request_rate"].is_f64());
    assert!(lists.clone().all(|key| !p.contains_key(key)), "{:?}", p.keys());
}

#[test]
fn a_run_and_a_file_are_two_sides_and_imports_count_as_files() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder);
    let server = paced(30, 4);
    let url = format!("http://{}", server.address());
    let words = ["sweep", &url, "-c", "4", "-n", "60", "-W", "32/16", "--name", "own", "-s"];
    let output = run(folder, &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let pair = document(folder, &["compare", "own", "base.json", "--json"])["pairs"][0].clone();
    let rows = pair["rows"].as_array().unwrap();
    // vLLM counts from before a connection is opened: the run is computed again so.
    let ttft = rows.iter().find(|row| row["metric"] == "ttft.p50").unwrap();
    // On a busy host the requests of the run may depend on each other too much for an interval.
    assert!(ttft["a"]["n"] == 60 && ttft["b"]["low"].is_number(), "{ttft}");
    assert!(ttft["basis"] == "requests" || ttft["reason"]["id"] == "too_few", "{ttft}");
    assert_eq!(ttft["load"]["users"], 4);
    assert_eq!(pair["side"]["tools"][0], "vllm bench serve");
    let kept = run(folder, &["import", "slow.json", "--name", "kept"]);
    assert_eq!(kept.status.code(), Some(0), "{}", stderr(&kept));
    let words = ["gate", "own", "--baseline", "kept", "--max", "ttft.mean@4=+500%", "--json"];
    let gate = document(folder, &words);
    let state = &gate["thresholds"][0]["state"];
    assert!(state == "pass" || state == "inconclusive", "{gate}");
    assert!(gate["thresholds"][0]["change"]["value"].as_f64().unwrap() < 0.0, "{gate}");
    let capacity = document(folder, &["capacity", "own", "--slo", "ttft:p50<10s", "--json"]);
    assert_eq!(capacity["curves"][0]["state"], "at_least", "{capacity}");
}

#[test]
fn what_is_said_of_files_follows_the_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder);
    let slo = ["--slo", "ttft:p99<500ms"];
    let check = |name: &str, words: &[&str]| {
        follows_schema(folder, name, &document(folder, &[words, &["--json"][..]].concat()));
    };
    check("comparison", &["compare", "old.md", "new.md"]);
    check("comparison", &["compare", "few.json", "less.json"]);
    check("ranking", &["rank", "old.md", "new.md"]);
    check("gate", &["gate", "new.md", "--min", "decode_tok_s=-3%", "--baseline", "old.md"]);
    check("measured-capacity", &[&["capacity", "sweep.md"], &slo[..]].concat());
    check("measured-capacity", &["capacity", "sweep.md", "--slo", "itl:p99<5ms"]);
}
