//! `inferometer conform`: this client gets the suite right, and one that invents its numbers does
//! not.

use crate::support::{run, stderr, stdout};

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

#[test]
fn this_client_is_right_and_its_json_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let words = [&["conform", "--format", "json", "--tolerance-ms", "500"][..], &CASES].concat();
    let output = run(folder.path(), &words);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["right"], document["of"], "{document:#}");
    assert_eq!(document["of"], CASES.len() / 2);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_client_that_invents_its_numbers_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    // It asks nothing, and prints the block of a success.
    let block = "printf '============ Serving Benchmark Result ============\\n\
                 Successful requests: {requests}\\nMean TTFT (ms): 1.00\\n\
                 ==================================================\\n'";
    let words = [&["conform", "--cmd", block][..], &CASES].concat();
    let output = run(folder.path(), &words);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("right     0 of"), "{said}");
    assert!(said.contains("complete answers: 1.0, truth 0.0"), "{said}");
    assert!(said.contains("TTFT, ms: 1.0, truth"), "{said}");
}

#[test]
fn a_client_that_hangs_is_ended_and_one_that_says_nothing_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["conform", "--case", "baseline", "--cmd", "sleep 60", "--time-limit", "300ms"];
    assert!(stdout(&run(folder.path(), &words)).contains("did not end in time"));
    let words = ["conform", "--case", "baseline", "--cmd", "true"];
    assert!(stdout(&run(folder.path(), &words)).contains("nothing that can be read"));
    assert_eq!(run(folder.path(), &["conform", "--case", "nonsense"]).status.code(), Some(2));
}
