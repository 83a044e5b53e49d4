//! `inferometer conform`: this client gets the suite right, and one that invents its numbers does
//! not.

use crate::support::{run, stderr, stdout};
use ifm_truth::slower_and_slower;
use std::path::Path;

/// Cases of several classes that are over soon, as flags.
const CASES: [&str; 12] = [
    "--case",
    "baseline",
    "--case",
    "crlf",
    "--case",
    "completions",
    "--case",
    "http429",
    "--case",
    "truncated_rst",
    "--case",
    "two_choices",
];

/// A client that asks nothing and prints the block of a success.
const INVENTS: &str = "printf '============ Serving Benchmark Result ============\\n\
    Successful requests: {requests}\\nMean TTFT (ms): 1.00\\n\
    ==================================================\\n'";

/// What `conform` says of these cases of a client, as JSON.
fn document(folder: &Path, words: &[&str]) -> serde_json::Value {
    let output = run(folder, &[&["conform", "--format", "json"][..], words].concat());
    serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)))
}

#[test]
fn this_client_is_right_and_its_json_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // How right its times are, the tests of the client itself say.
    let words = [&["conform", "--format", "json", "--tolerance-ms", "60000"][..], &CASES].concat();
    let output = run(folder.path(), &words);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["right"], document["of"], "{document:#}");
    assert_eq!(document["of"], CASES.len() / 2);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_client_that_invents_its_numbers_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = format!("{INVENTS}; : {{endpoint}}");
    let words = [&["conform", "--cmd", &endpoint][..], &CASES].concat();
    let output = run(folder.path(), &words);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("right     0 of"), "{said}");
    assert!(said.contains("complete answers: 1.0, truth 0.0"), "{said}");
    assert!(said.contains("TTFT, ms: 1.0, truth"), "{said}");
}

#[test]
fn a_client_that_hangs_is_ended_and_a_silent_one_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let case = ["conform", "--case", "baseline", "--cmd"];
    let said = |rest: &[&str]| stdout(&run(folder.path(), &[&case, rest].concat()));
    let hung = said(&["sleep 60", "--start-limit", "300ms"]);
    assert!(hung.contains("did not end in time; it sent no request"), "{hung}");
    assert!(hung.contains("ended by --start-limit, before its first request"), "{hung}");
    let silent = said(&["echo Traceback; echo no module named x >&2; exit 3"]);
    assert!(silent.contains("nothing that can be read"), "{silent}");
    assert!(silent.contains("exit code 3: no module named x"), "{silent}");
    let unknown = run(folder.path(), &["conform", "--case", "nonsense"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn a_slow_start_is_no_failure_and_a_client_that_hangs_after_its_request_is_one() {
    let folder = tempfile::tempdir().unwrap();
    // Starting takes longer than the time for the answer; the limit counts from the request.
    let client = env!("CARGO_BIN_EXE_inferometer");
    let ask = format!(
        "'{client}' run {{base}} --model mock -c 1 -n {{requests}} -w 0 -W 16/16 \
         --store {{out}}/runs --quiet"
    );
    let limits = ["--case", "baseline", "--tolerance-ms", "60000", "--time-limit"];
    slower_and_slower(|factor| {
        let slow = format!("sleep {:.1}; {ask}", 0.8 * factor as f64);
        let limit = format!("{}ms", 600 * factor);
        let slow = document(folder.path(), &[&["--cmd", &slow][..], &limits, &[&limit]].concat());
        match &slow["cases"][0]["verdict"] {
            verdict if verdict == "right" => Ok(()),
            _ => Err(slow.to_string()),
        }
    })
    .unwrap();
    let hangs = format!("{ask}; sleep 60");
    let hangs = document(folder.path(), &[&["--cmd", &hangs][..], &limits, &["1s"]].concat());
    assert_eq!(hangs["cases"][0]["verdict"], "unended", "{hangs:#}");
}

#[test]
fn a_case_that_the_command_cannot_ask_for_is_neither_right_nor_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let cases = ["--case", "stall_midstream", "--case", "completions", "--case", "baseline"];
    let document = document(folder.path(), &[&["--cmd", INVENTS][..], &cases].concat());
    assert_eq!((&document["of"], &document["not_applicable"]), (&1.into(), &2.into()));
    let of = |name: &str| {
        let cases = document["cases"].as_array().unwrap();
        cases.iter().find(|case| case["case"] == name).unwrap().clone()
    };
    assert_eq!(of("stall_midstream")["verdict"], "not_applicable");
    assert!(of("stall_midstream")["reason"].as_str().unwrap().contains("{idle_s}"));
    assert_eq!(of("completions")["runs"], 0);
    assert_eq!(of("baseline")["verdict"], "wrong");
}

#[test]
fn most_runs_decide() {
    let folder = tempfile::tempdir().unwrap();
    // Says nothing in the first run and reports a failure, which is right, in the later ones.
    let block = INVENTS.replace("{requests}", "0");
    let flaky = format!("if mkdir ../first 2> /dev/null; then exit 1; fi; {block}");
    let words = ["--cmd", &flaky, "--case", "http429", "--runs", "3", "--jobs", "1"];
    let document = document(folder.path(), &words);
    let case = &document["cases"][0];
    assert_eq!(case["verdict"], "right", "{document:#}");
    assert_eq!((&case["runs"], &case["right_runs"]), (&3.into(), &2.into()));
    let even = run(folder.path(), &["conform", "--runs", "2"]);
    assert!(stderr(&even).contains("odd"), "{}", stderr(&even));
}

#[test]
fn one_case_is_shown_in_full_with_the_way_to_repeat_it() {
    let folder = tempfile::tempdir().unwrap();
    let listed = stdout(&run(folder.path(), &["conform", "--list", "--case", "crlf"]));
    for part in [
        "crlf (grammar): lines end in CR LF",
        "     0  HTTP/1.1 200 OK\\r\\n",
        "   100  ",
        "\\r\\n\n",
        "true: outcome ok, TTFT 100.0 ms",
        "because the grammar allows",
    ] {
        assert!(listed.contains(part), "{part:?} in {listed}");
    }
    let said = stdout(&run(folder.path(), &["conform", "--case", "crlf", "--cmd", INVENTS]));
    for part in [
        "lines end in CR LF",
        "it sent no request to this case",
        "TTFT, ms                1.0   truth 100.0, tolerance 10 ms: wrong",
        "output tokens       nothing   truth 10.0: not reported",
        "again: inferometer conform --cmd 'printf ",
        "--case crlf",
    ] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
}

#[test]
fn a_client_may_take_another_command_for_completions() {
    let folder = tempfile::tempdir().unwrap();
    let (chat, text) = ("echo chat > {out}/asked; exit 1", "echo text > {out}/asked; exit 1");
    let cases = ["--case", "baseline", "--case", "completions", "--out", "kept"];
    let words = [&["--cmd", chat, "--completions-cmd", text][..], &cases].concat();
    let document = document(folder.path(), &words);
    assert_eq!(document["completions_command"], text);
    let asked = |name: &str| {
        std::fs::read_to_string(folder.path().join("kept").join(name).join("asked")).unwrap()
    };
    assert_eq!((asked("baseline").trim(), asked("completions").trim()), ("chat", "text"));
    let tokenizer = folder.path().join("kept/tokenizer/tokenizer.json");
    assert!(tokenizer.exists(), "a tokenizer for clients that want one");
}
