//! `engine` with other tools' programs: fakes of llama-bench and SGLang; the real programs are
//! tested manually where they are installed. Faulty engines are tested in `engine/tests.rs` of the
//! program.

use crate::support::{program, run, stderr, stdout};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/engines")
}

/// The fake llama-bench as a program.
fn llama_bench(folder: &Path) -> String {
    let script = std::fs::read_to_string(data().join("llama-bench")).unwrap();
    let path = folder.join("llama-bench");
    std::fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn every_field_of_llama_bench_is_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let tool = llama_bench(folder.path());
    let script = std::fs::read_to_string(data().join("llama-bench")).unwrap();
    let line: &str = script.lines().find(|line| line.starts_with('{')).unwrap();
    let told: Value = serde_json::from_str(line).unwrap();
    let flags =
        ["-m", "tiny.gguf", "-t", "2", "-ctk", "f16", "-p", "16", "-n", "0", "-r", "2", "-s"];
    let words = [&["engine", "--llama-bench", &tool], &flags[..], &["-o", "jsonl"]].concat();
    let output = run(folder.path(), &words);
    assert!(output.status.success(), "{}", stderr(&output));
    let written: Value = serde_json::from_str(&stdout(&output)).unwrap();
    // The same names in the same order.
    let names = |text: &str| -> Vec<String> {
        text.split("\": ").filter_map(|part| Some(part.rsplit_once('"')?.1.to_owned())).collect()
    };
    assert_eq!(names(&stdout(&output)), names(line));
    for (name, value) in told.as_object().unwrap() {
        // The tool prints its rates rounded; here they follow from its nanoseconds.
        match (written[name].as_f64(), value.as_f64(), name.ends_with("_ts")) {
            (Some(one), Some(other), true) => assert!((one / other - 1.0).abs() < 1e-5, "{name}"),
            // Whole numbers are averaged by the tool in whole numbers.
            (Some(one), Some(other), _) => assert!((one - other).abs() <= 1.0, "{name}"),
            _ if name == "samples_ts" => assert_eq!(written[name].as_array().unwrap().len(), 2),
            _ => assert_eq!(&written[name], value, "{name}"),
        }
    }
    // A batch is refused with a hint, a failure is reported in the tool's words; each is a row.
    let refused =
        [&["engine", "--llama-bench", &tool], &flags[..], &["--static", "4x8/8"]].concat();
    let output = run(folder.path(), &[&refused[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stdout(&output).contains("measure batches on llama-server with --url"));
    let missing = ["engine", "--llama-bench", &tool, "-m", "missing.gguf", "-s"];
    let output = run(folder.path(), &missing);
    let said = "the engine ended (exit status: 1); it said: error: failed to load model";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
}

#[test]
fn sglangs_adapter_calls_what_its_script_calls() {
    let folder = tempfile::tempdir().unwrap();
    let flags = [
        "engine",
        "--adapter",
        "sglang",
        "-m",
        "folder/some-model",
        "--weights",
        "bf16",
        "-p",
        "16",
        "-n",
        "4",
        "-d",
        "0,8",
        "--static",
        "3x8/5",
        "--static",
        "64x8/5",
        "-r",
        "2",
        "-s",
        "--json",
    ];
    let output = program(folder.path()).args(flags).env("PYTHONPATH", data()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sheet = &document["import"]["sheets"][0];
    let remarks = sheet["remarks"].to_string();
    assert!(
        remarks.contains("too little memory: there is room for 30 such sequences, not 64"),
        "{remarks}"
    );
    // The batch of 64 at both depths; everything else was measured.
    assert_eq!(document["failed"], 2, "{remarks}");
    let rows: Vec<&Value> = sheet["parts"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|part| part["rows"].as_array().unwrap())
        .collect();
    assert!(rows.iter().filter(|row| row["factors"]["ended"].is_null()).all(|row| {
        row["factors"]["engine"] == "sglang" && row["factors"]["engine_version"] == "stand-in"
    }));
    let measured = rows.iter().filter(|row| row["unknown"]["wall_ns"].is_u64()).count();
    assert_eq!(measured, 2 * 3 * 2);
}
