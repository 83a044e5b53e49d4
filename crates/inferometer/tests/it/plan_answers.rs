//! What plans say: before they run, at their end, and in the report by their name.

use crate::support::{program, run, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

const TWO_SERVERS: &str = r#"
[plan]
name = "formats"
repeats = 2
order = "interleaved"
flags = ["--warmup", "0"]

[[server]]
name = "base"
kind = "embedded"
model = "nano"
args = ["--quant", "bf16"]
tags = { quantization = "bf16" }

[[server]]
name = "int8"
kind = "embedded"
model = "nano"
args = ["--quant", "w8a8", "--threads", "1"]
tags = { quantization = "w8a8" }

[[workload]]
workload = "16/4"

[[load]]
users = [1, 2]
requests = 4
"#;

fn plan(folder: &Path, words: &[&str]) -> Output {
    run(folder, &[&["plan"], words].concat())
}

#[test]
fn ends_with_its_answer_and_is_reported_by_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), TWO_SERVERS).unwrap();
    let checked = stdout(&plan(folder.path(), &["check", "plan.toml"]));
    assert!(checked.contains("8 cells (4 × 2 repeats, interleaved)"), "{checked}");
    assert!(checked.contains("base, 1 user × 2 repeats\n"), "{checked}");
    assert!(!checked.contains("repeat 1"), "repeats in one state share a row: {checked}");
    let all = stdout(&plan(folder.path(), &["check", "plan.toml", "--all"]));
    assert_eq!(all.matches(", repeat ").count(), 8, "{all}");
    let early = run(folder.path(), &["report", "formats"]);
    assert_eq!(early.status.code(), Some(2), "a plan that was never run has no report");
    let done = plan(folder.path(), &["run", "plan.toml"]);
    let said = stdout(&done);
    assert!(said.contains("8 of 8 cells measured."), "{said}");
    assert!(said.contains("inferometer plan show formats -o formats.html"), "{said}");
    assert!(!said.contains(", repeat "), "each cell was reported once, when it ended: {said}");
    assert!(said.contains("int8") || said.contains("w8a8"), "the comparison: {said}");
    let report = run(folder.path(), &["report", "formats", "-o", "formats.html"]);
    assert!(report.status.success(), "{}", stderr(&report));
    plan(folder.path(), &["show", "formats", "-o", "shown.html"]);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("formats.html"), read("shown.html"), "one report of a plan");
    let titled = run(folder.path(), &["report", "formats", "--title", "Own title"]);
    assert!(stdout(&titled).contains("Own title"), "{}", stdout(&titled));
}

#[test]
fn simulates_each_server_with_its_own_settings() {
    let folder = tempfile::tempdir().unwrap();
    let text = TWO_SERVERS.replace("model = \"nano\"\n", "").replace("[1, 2]", "[1]");
    fs::write(folder.path().join("plan.toml"), text).unwrap();
    let words =
        ["check", "plan.toml", "--simulate", "-o", "p.html", "--", "--gpu", "l40s", "--model"];
    let done = plan(folder.path(), &[&words[..], &["llama-3.1-8b"]].concat());
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(stderr(&done).contains("server int8: the simulation leaves out --threads 1"));
    let predicted = folder.path().join("runs/.plans/formats/predicted");
    let mut formats = Vec::new();
    for entry in fs::read_dir(predicted).unwrap() {
        let Ok(text) = fs::read(entry.unwrap().path().join("manifest.json")) else { continue };
        let run: Value = serde_json::from_slice(&text).unwrap();
        let of = |name: &str| run["predicted"][name].as_str().unwrap_or_default().to_owned();
        formats
            .push((run["tags"]["quantization"].as_str().unwrap().to_owned(), of("quantization")));
    }
    formats.sort();
    let pair = |word: &str| (word.to_owned(), word.to_owned());
    assert_eq!(formats, [pair("bf16"), pair("bf16"), pair("w8a8"), pair("w8a8")]);
    let page = fs::read_to_string(folder.path().join("p.html")).unwrap();
    assert!(page.contains("the simulation leaves out --threads 1"), "the report has it, too");
    let is_called =
        |word: &str| ["+", "−", "0"].iter().any(|sign| page.contains(&format!("{word} {sign}")));
    assert!(
        is_called("predicted") && !is_called("measured"),
        "no simulated difference is measured"
    );
}

#[test]
fn conditions_that_cannot_be_set_are_found_before_a_server_starts() {
    let folder = tempfile::tempdir().unwrap();
    assert!(plan(folder.path(), &["init", "power"]).status.success());
    let without_driver = |words: &[&str]| {
        let mut command = program(folder.path());
        command.args(words).env("INFEROMETER_NVML", "/nowhere/libnvidia-ml.so.1");
        command.output().unwrap()
    };
    let checked = stdout(&without_driver(&["plan", "check", "power.toml"]));
    assert!(checked.contains("✗ power_limit_w cannot be set here: no NVIDIA driver"), "{checked}");
    let flat = checked.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("about 16 min left: 4 min measuring, up to 12 min settling"), "{flat}");
    let document = stdout(&without_driver(&["plan", "check", "power.toml", "--json"]));
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["obstacles"][0]["condition"], "power_limit_w");
    assert_eq!(document["left"]["settle_seconds"], 720.0);
    let refused = without_driver(&["plan", "run", "power.toml"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    let said = stderr(&refused);
    assert!(said.contains("condition power_limit_w cannot be set here") && said.contains("hint: "));
    assert!(!said.contains("starting"), "no server is started: {said}");
    // A hook whose program is missing, too.
    let hook =
        "[[condition]]\nname = \"fan\"\nvalues = [\"full\"]\nbefore = [\"no-such-program-1\"]\n";
    fs::write(folder.path().join("plan.toml"), format!("{TWO_SERVERS}{hook}")).unwrap();
    let checked = stdout(&plan(folder.path(), &["check", "plan.toml"]));
    assert!(checked.contains("✗ fan cannot be set here: no program \"no-such-program-1\""));
}
