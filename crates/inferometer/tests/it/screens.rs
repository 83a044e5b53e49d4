//! What every command prints at 80, 100 and 160 columns.
//!
//! Output that is the same on every machine is kept as a snapshot, one file per command. Output with measured numbers is
//! checked for its width only. What has a form of its own is exempt, with the reason: tables of other tools, scripts,
//! files.

use crate::support::{program, serve, served, stderr, stdout, store_changed};
use regex::{Captures, Regex};
use std::collections::BTreeSet;
use std::path::Path;

const WIDTHS: [usize; 3] = [80, 100, 160];

/// Results that read-only commands show: two sides with repeats, and a report of another tool.
const STORED: &[&str] = &[
    "runs list",
    "runs show 20261120-110000-0000",
    "runs rename --help",
    "runs tag 20261120-110000-0000",
    "runs seal --help",
    "runs rm --help",
    "runs restore",
    "report 20261120-110000-0000",
    "report base other",
    "compare base other",
    "compare -v base other",
    "rank base other",
    "rank base other --metric ttft.p99",
    "history",
    "history -v",
    "gate 20261120-110000-0000 --max ttft:p95<1s --min out_tok_s>3",
    "gate 20261120-110000-0000 --baseline 20261124-110000-0004 --max ttft.p50@8=+5%",
    "audit 20261120-110000-0000",
    "audit row.json",
    "capacity 20261120-110000-0000 --slo ttft:p95<1s",
    "capacity --list",
    "limit --list",
    "gate --init",
    "gate base --baseline other --max itl.p99=+1% --max ttft.p99@8=+2%",
    "compare base row.json --even-so",
    "rank base other --metric itl.p99 --at 8 --threshold 1%",
    "import row.json --dry-run",
    "limit --gpu l40s -m llama-3.1-8b --measured itl=22.2ms@1",
    "predict --gpu l40s -m llama-3.1-8b -W 64/16 -c 1,8,32 --seed 1",
    "predict --gpu l40s -m llama-3.1-8b -W 64/16 --seed 1 --price 2.5",
    "predict -m llama-3.1-8b -W 64/16 -c 8 --seed 1 --vary gpu=l40s,h100-sxm --vary quant=bf16,fp8 --price 2.5",
    "workload list",
    "workload preview -W chat",
    "workload preview -W chatbot --items 50",
    "plan init",
    "plan check quantization.toml",
    "translate vllm bench serve --base-url http://127.0.0.1:8000 --model m --num-prompts 100 --request-rate 5",
    "as --help",
    "rerun --help",
    "schema",
    "completions --help",
    "man --help",
    "export --help",
    "conform --help",
    "ui --help",
    "--help",
    "-h",
];

/// A file of `vllm bench serve`, as its version 0.11 writes it.
const ROW: &str = r#"{"date": "20251101-101500", "backend": "openai", "endpoint_type": "openai",
"model_id": "m", "tokenizer_id": "m", "num_prompts": 100, "request_rate": 5.0, "burstiness": 1.0, "max_concurrency": null,
"duration": 21.3, "completed": 100, "total_input_tokens": 25600, "total_output_tokens": 12800,
"request_throughput": 4.69, "output_throughput": 600.9, "total_token_throughput": 1802.8,
"mean_ttft_ms": 41.2, "median_ttft_ms": 38.9, "std_ttft_ms": 9.1, "p99_ttft_ms": 71.5,
"mean_tpot_ms": 9.2, "median_tpot_ms": 9.1, "std_tpot_ms": 0.4, "p99_tpot_ms": 10.4,
"mean_itl_ms": 9.2, "median_itl_ms": 9.0, "std_itl_ms": 1.1, "p99_itl_ms": 12.8}"#;

#[test]
fn screens_are_as_reviewed() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let mut too_wide = Vec::new();
    for line in STORED {
        let words: Vec<&str> = line.split(' ').collect();
        let mut screens = String::new();
        for width in WIDTHS {
            let printed = without_ids(&at_width(folder.path(), &words, width));
            too_wide.extend(longer(line, width, &printed));
            if !screens.ends_with(&printed) {
                screens.push_str(&format!("{width} columns\n{}\n", "─".repeat(width)));
                screens.push_str(&printed);
            }
        }
        let name = line.replace(|sign: char| !sign.is_ascii_alphanumeric(), "_");
        let name = name.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false,
                                snapshot_path => "screens", description => (*line).to_owned() }, {
            insta::assert_snapshot!(name, screens);
        });
    }
    assert!(too_wide.is_empty(), "{}", too_wide.join("\n"));
}

/// Commands whose numbers are measured here. `URL` is a small server.
const MEASURED: &[&str] = &[
    "run URL -c 2 -n 8 -W 16/8",
    "sweep URL -c 1,2,4 -n 12 -W 16/8",
    "sweep URL --rate 20,40 -n 12 -W 16/8",
    "capacity URL -W 16/8 --slo ttft:p50<1s --max-users 2 -n 8",
    "probe URL",
    "calibrate SIM --gpu l40s -m llama-3.1-8b --points 1:128/8,1:1024/4,4:256/8 --held-out 2:256/8",
    "gate --interleave URL URL --max itl.p50=+900% -- -c 1 -n 8 -W 16/8",
    "engine -m nano -p 16 -n 8 -r 2",
    "kernel attention --mask causal --size 1x1x64x16 -k naive,tiled -r 2",
    "kernel gemm --type f32 --size 64 -r 2",
    "kernel bandwidth --bytes 64K -r 2",
    "exec --repeat 2 -- true",
    "doctor",
    "facts",
    "conform --case baseline",
    "plan run smoke.toml",
    "plan resume smoke.toml",
    "plan show smoke.toml",
    "plan collect smoke.toml .inferometer/runs",
];

/// Measured output whose form is not a screen's.
const OWN_FORM: [(&str, &str); 2] =
    [("engine", "the table of llama-bench, for its readers"), ("conform", "bytes on the wire")];

/// Commands that run until they are stopped or write scripts; tests named here look at their output.
const ELSEWHERE: [(&str, &str); 2] = [
    ("serve sim", "a URL to copy: `served` in support.rs reads it"),
    ("demo", "the same screen as `sweep`; demo.rs runs it"),
];

#[test]
fn measured_screens_fit_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = serve(folder.path(), &[]);
    let simulated = ["--sim", "--gpu", "l40s", "-m", "llama-3.1-8b"];
    let (_simulator, simulated) = served(folder.path(), &simulated);
    std::fs::write(folder.path().join("smoke.toml"), PLAN).unwrap();
    let mut too_wide = Vec::new();
    for line in MEASURED {
        let words: Vec<String> = line
            .split(' ')
            .map(|word| word.replace("URL", &url).replace("SIM", &simulated))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let printed = at_width(folder.path(), &words, 80);
        if !OWN_FORM.iter().any(|(command, _)| line.starts_with(command)) {
            too_wide.extend(longer(line, 80, &printed));
        }
    }
    assert!(too_wide.is_empty(), "{}", too_wide.join("\n"));
}

const PLAN: &str = r#"
[plan]
name = "smoke"
repeats = 1
order = "interleaved"
flags = ["--warmup", "0"]

[[server]]
name = "nano"
kind = "embedded"
model = "nano"

[[workload]]
workload = "16/4"

[[load]]
users = [1, 2]
requests = 4
"#;

/// A new command has a screen here.
#[test]
fn every_command_has_a_screen() {
    let folder = tempfile::tempdir().unwrap();
    at_width(folder.path(), &["man", "-o", "pages"], 80);
    let pages = std::fs::read_dir(folder.path().join("pages")).unwrap();
    let pages: BTreeSet<String> = pages
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .map(|name| name.trim_end_matches(".1").to_owned())
        .collect();
    assert!(pages.len() > 40, "{pages:?}");
    let commands = pages
        .iter()
        .filter(|page| !pages.iter().any(|other| other.starts_with(&format!("{page}-"))));
    for command in commands {
        let words = command.trim_start_matches("inferometer-").replace('-', " ");
        let shown = STORED.iter().chain(MEASURED).any(|line| line.starts_with(&words));
        let elsewhere = ELSEWHERE.iter().any(|(name, _)| *name == words);
        assert!(shown || elsewhere, "`{words}` has no screen in this file");
    }
}

fn fill(folder: &Path) {
    // Seven runs: a history with a band, and two sides with repeats.
    for number in 0..7 {
        let (name, ttft) = if number < 4 { ("base", 40.0) } else { ("other", 52.0) };
        let run = format!("{name}{}", number % 4);
        store_changed(folder, &run, &[1, 8], ((ttft, 9.0), 10), |head| {
            head.name = Some(name.to_owned());
            head.run_id = format!("202611{}-110000-{number:04}", 20 + number);
        });
    }
    // The default store: its path is the same in every temporary folder.
    std::fs::create_dir(folder.join(".inferometer")).unwrap();
    std::fs::rename(folder.join("runs"), folder.join(".inferometer/runs")).unwrap();
    at_width(folder, &["runs", "tag", "20261120-110000-0000", "commit=1a2b3c"], 80);
    std::fs::write(folder.join("row.json"), ROW).unwrap();
    at_width(folder, &["plan", "init", "quantization"], 80);
}

/// The same text in every run: what `predict` stores has an id and a time of its own.
fn without_ids(printed: &str) -> String {
    let id = Regex::new(r"20\d{6}-\d{6}-[0-9a-f]{4}").unwrap();
    let time = Regex::new(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ").unwrap();
    let printed = id.replace_all(printed, |found: &Captures<'_>| match &found[0] {
        stored if stored.contains("-110000-000") => stored.to_owned(),
        _ => "20260101-000000-0000".to_owned(),
    });
    time.replace_all(&printed, "2026-01-01T00:00:00Z").into_owned()
}

/// Standard output, then standard error, as on a terminal of this width.
fn at_width(folder: &Path, words: &[&str], width: usize) -> String {
    let mut command = program(folder);
    command.env_remove("INFEROMETER_STORE");
    let done = command.args(words).env("COLUMNS", width.to_string()).env("TZ", "UTC").output();
    let done = done.unwrap();
    assert_ne!(done.status.code(), Some(2), "{words:?}: {}", stderr(&done));
    assert!(done.status.code().is_some(), "{words:?} was ended by a signal");
    format!("{}{}", stdout(&done), stderr(&done))
}

/// The longest line of a command, if it is longer than the terminal is wide.
fn longer(line: &str, width: usize, printed: &str) -> Option<String> {
    assert!(!printed.trim().is_empty(), "`{line}` prints nothing");
    // Commands to copy stay on one line.
    let lines = printed.lines().filter(|line| !line.trim_start().starts_with("inferometer "));
    let longest = lines.max_by_key(|line| line.chars().count())?;
    let is_longer = longest.chars().count() > width;
    is_longer.then(|| format!("`{line}` at {width} columns:\n{longest}"))
}
