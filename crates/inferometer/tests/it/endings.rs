//! Levels that end before their planned end: by evidence, or by a budget.

use crate::support::{assert_measured, paced, run, stderr, stdout};
use ifm_truth::slower_and_slower;
use serde_json::Value;
use std::path::Path;

/// Runs a command against a server with answers of two tokens: TTFT 5 ms, gap 1 ms.
fn measured(folder: &Path, command: &str, flags: &[&str]) -> (Value, String) {
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let fixed = [command, &url, "-W", "16/2", "--prompt-lengths", "tokenizer", "--json"];
    let words = [&fixed, flags].concat();
    let output = run(folder, &words);
    assert_measured(&output);
    let document = serde_json::from_str(&stdout(&output)).unwrap();
    (document, stderr(&output))
}

fn levels(document: &Value) -> &[Value] {
    document["levels"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn a_level_that_is_settled_sends_fewer_requests_than_it_might() {
    let folder = tempfile::tempdir().unwrap();
    // A host that stalls makes single answers slow; half of all is far away from that.
    let flags = ["-c", "2", "-n", "1000000", "--until-settled=50%"];
    let (document, _) = measured(folder.path(), "run", &flags);
    let level = &levels(&document)[0];
    assert_eq!(level["ended_by"], "settled", "{level}");
    assert_eq!(level["complete"], true);
    let requests = &level["requests"];
    assert!(requests["sent"].as_u64().unwrap() < 1_000_000);
    assert_eq!(requests["sent"], requests["ok"], "what was in flight finished: {requests}");
    assert_eq!(document["run"]["state"], "complete");
    let shown = run(folder.path(), &["report", "last"]);
    assert!(stdout(&shown).contains("as narrow as asked"), "{}", stdout(&shown));
}

#[test]
fn a_look_ends_once_the_target_is_surely_missed() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--slo", "ttft:p50<1ms", "-n", "100000", "--max-users", "2"];
    let (document, _) = measured(folder.path(), "capacity", &flags);
    assert_eq!(document["users_outside"], 1, "{document}");
    let sent: u64 = document["loads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|load| load["requests"].as_u64().unwrap())
        .sum();
    assert!((50..50_000).contains(&sent), "{sent} of 100000");
}

#[test]
fn a_budget_leaves_levels_out_and_says_so() {
    // Room for one level and most of another: a host that stalls in between ends the first at the
    // budget.
    let (document, said) = slower_and_slower(|factor| {
        let folder = tempfile::tempdir().unwrap();
        let [lasts, budget] = [300 * factor, 570 * factor].map(|ms| format!("{ms}ms"));
        let flags = ["-c", "1,2", "-z", &lasts, "--budget", &budget, "--cooldown", "10ms"];
        let (document, said) = measured(folder.path(), "sweep", &flags);
        match levels(&document)[0]["ended_by"].as_str() {
            Some("planned") => Ok((document, said)),
            end => Err(format!("ended by {end:?}")),
        }
    })
    .unwrap();
    assert_eq!(levels(&document).len(), 1);
    assert_eq!(document["run"]["state"], "partial");
    assert!(said.contains("left out: 2 users"), "{said}");
}

#[test]
fn a_level_under_way_is_cut_at_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-c", "1", "-n", "1000000", "--budget", "1s"];
    let (document, said) = measured(folder.path(), "sweep", &flags);
    let level = &levels(&document)[0];
    assert_eq!((&level["ended_by"], &level["complete"]), (&"budget".into(), &false.into()));
    assert!(level["requests"]["sent"].as_u64().unwrap() < 1_000_000);
    assert!(said.contains("ended during the last level"), "{said}");
}
