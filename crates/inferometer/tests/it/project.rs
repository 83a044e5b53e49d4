//! A project's file: found from below, beaten by variables and flags, and told in the record.

use crate::support::{json, program, stderr};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

const PREDICT: [&str; 6] = ["predict", "--gpu", "l40s", "-m", "llama-3.1-8b", "--json"];

/// The program in a folder, without the variables that other tests set.
fn run_in(folder: &Path, words: &[&str]) -> Output {
    program(folder).env_remove("INFEROMETER_STORE").args(words).output().unwrap()
}

fn with_file(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("below")).unwrap();
    fs::write(folder.path().join("inferometer.toml"), text).unwrap();
    folder
}

/// What the document of a run says of a setting: value, who set it, and where.
fn setting<'d>(document: &'d Value, name: &str) -> (&'d str, &'d str, Option<&'d str>) {
    let all = document["run"]["settings"].as_array().unwrap();
    let one = all.iter().find(|one| one["name"] == name);
    let one = one.unwrap_or_else(|| panic!("{name}: {all:?}"));
    (one["value"].as_str().unwrap(), one["by"].as_str().unwrap(), one["at"].as_str())
}

#[test]
fn a_flag_wins_over_a_variable_and_that_over_the_file() {
    let folder = with_file(
        "workload = \"64/8\"\nstore = \"kept\"\n\n[predict]\nconcurrency = \"1,2\"\nrequests = 4\n",
    );
    let below = folder.path().join("below");
    let first = json(&run_in(&below, &PREDICT));
    let at = |line: &str| Some(format!("../inferometer.toml:{line}"));
    assert_eq!(setting(&first, "workload"), ("64/8", "project", at("1").as_deref()));
    assert_eq!(setting(&first, "concurrency"), ("1,2", "project", at("5").as_deref()));
    assert_eq!(setting(&first, "gpu"), ("l40s", "flag", None));
    assert_eq!(first["levels"].as_array().unwrap().len(), 2);
    assert_eq!(first["spec"]["workload"]["prompt_tokens"], 64);
    // Paths are relative to the file; the command is complete, so that it can be typed again.
    assert!(folder.path().join("kept").is_dir() && !below.join(".inferometer").exists());
    let command = first["run"]["command"].to_string();
    assert!(command.contains("--workload=64/8") && command.contains("--requests=4"), "{command}");

    // What is typed wins, also over what would contradict it.
    let words = [&PREDICT[..], &["-W", "32/8", "--rate", "5", "-n", "3"]].concat();
    let typed = json(&run_in(&below, &words));
    assert_eq!(setting(&typed, "workload"), ("32/8", "flag", None));
    assert_eq!(typed["levels"].as_array().unwrap().len(), 1);
    let mut by_variable = program(&below);
    by_variable.env("INFEROMETER_STORE", folder.path().join("other")).args(PREDICT);
    let by_variable = json(&by_variable.output().unwrap());
    let (store, by, at) = setting(&by_variable, "store");
    assert!(store.ends_with("/other"), "{store}");
    assert_eq!((by, at), ("environment", Some("INFEROMETER_STORE")));
    assert!(folder.path().join("other").is_dir());
    // No file at all, by a variable without a value.
    let mut without = program(&below);
    without.env("INFEROMETER_PROJECT", "").args(["workload", "preview", "-n", "2", "--json"]);
    let without = json(&without.output().unwrap());
    assert_eq!(without["facts"]["prompt_tokens_max"], 1024);

    // Whatever the command: what holds here, and who says so.
    let facts = json(&run_in(&below, &["facts", "--json"]));
    let told: Vec<&str> = facts["settings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["workload", "store", "predict.concurrency", "predict.requests"]);
}

#[test]
fn a_mistake_in_the_file_has_its_line_and_what_was_meant() {
    for (text, sentence) in [
        (
            "store = \"x\"\nworkloda = \"64/8\"\n",
            "line 2: there is no key \"workloda\"; did you mean \"workload\"?",
        ),
        (
            "[predict]\n\nconcurency = 1\n",
            "line 3: predict has no flag \"concurency\"; did you mean \"concurrency\"?",
        ),
        (
            "[perdict]\nrequests = 1\n",
            "line 2: there is no command \"perdict\"; did you mean \"predict\"?",
        ),
        ("[predict]\nrequests = \"many\"\n", "line 2: invalid value 'many' for '--requests <N>'"),
        ("[run]\nyes = true\n", "line 2: run has no flag \"yes\""),
        ("workload = \n", "line 1: "),
        ("slo = [1, [2]]\n", "line 1: \"slo\" cannot be a value of the type array"),
    ] {
        let folder = with_file(text);
        let output = run_in(folder.path(), &PREDICT);
        assert_eq!(output.status.code(), Some(2), "{text}");
        let said = stderr(&output);
        assert!(said.contains(&format!("error: inferometer.toml, {sentence}")), "{text}: {said}");
    }
    // An error in a typed argument is reported as usual, whatever the file says.
    let folder = with_file("[predict]\nrequests = 4\n");
    let said = stderr(&run_in(folder.path(), &["predict", "--requests", "few"]));
    assert!(said.contains("invalid value 'few'") && !said.contains("inferometer.toml"), "{said}");
}

/// A flag that may be typed without its value is switched as one that takes none.
#[test]
fn a_switch_can_replace_an_optional_value() {
    for (text, expected) in [("true", Some("5%")), ("false", None), ("\"3%\"", Some("3%"))] {
        let folder = with_file(&format!("[predict]\nuntil-settled = {text}\nrequests = 8\n"));
        let document = json(&run_in(folder.path(), &PREDICT));
        let all = document["run"]["settings"].as_array().unwrap();
        let found = all.iter().find(|one| one["name"] == "until-settled");
        assert_eq!(found.map(|one| one["value"].as_str().unwrap()), expected, "{text}");
    }
}
