//! Open loops and the search for a capacity, as a user runs them.

use crate::support::{paced, run, stderr, stdout};
use serde_json::Value;

fn json(output: &std::process::Output) -> Value {
    serde_json::from_str(&stdout(output))
        .unwrap_or_else(|error| panic!("{error}: {} {}", stdout(output), stderr(output)))
}

#[test]
fn a_rate_is_kept_whatever_the_server_does() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(100, 1);
    let url = format!("http://{}", server.address());
    let words = ["run", &url, "-W", "16/4", "--rate", "50", "--arrivals", "constant", "-n", "40"];
    let output = run(folder.path(), &[&words[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = json(&output);
    let level = &document["levels"][0];
    assert_eq!(level["req_per_s_asked"], 50.0);
    assert!(level.get("concurrency_asked").is_none());
    assert_eq!(level["requests"]["ok"], 40);
    // Five answers of 103 ms are under way at a time; one user alone would take 4 s for all.
    assert!(level["whole"]["concurrency"]["max"].as_u64() >= Some(4), "{level}");
    let lines = run(folder.path(), &["report", "last", "--format", "requests"]);
    let mut due: Vec<u64> = stdout(&lines)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["phase"] == "measure")
        .map(|line| line["stamps"]["due_ns"].as_u64().unwrap())
        .collect();
    due.sort_unstable();
    assert!(due.windows(2).all(|pair| pair[1] - pair[0] == 20_000_000), "{due:?}");
}

#[test]
fn a_sweep_over_rates_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let words = ["sweep", &url, "-W", "16/4", "--rate", "20,40", "-n", "20", "--seed", "3"];
    let output = run(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("20.0/s") && text.contains("40.0/s"), "{text}");
    assert!(text.contains("How many requests?"), "{text}");
}

#[test]
fn what_cannot_be_a_load_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for words in [
        &["run", "http://127.0.0.1:9", "--rate", "0"][..],
        &["run", "http://127.0.0.1:9", "--rate", "1,2"],
        &["run", "http://127.0.0.1:9", "--ramp", "5"],
        &["run", "http://127.0.0.1:9", "--rate", "1", "--arrivals", "gamma:0"],
        &["sweep", "http://127.0.0.1:9", "--rate", "1", "-c", "2"],
        &["capacity", "http://127.0.0.1:9", "--start", "9", "--max-users", "3"],
        &["capacity", "http://127.0.0.1:9", "--precision", "2"],
    ] {
        let output = run(folder.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
    }
}

#[test]
fn a_capacity_lies_between_a_load_inside_and_one_outside() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(20, 1);
    let url = format!("http://{}", server.address());
    let search = |slo: &str| {
        let words = ["capacity", &url, "-W", "16/2", "--slo", slo, "-n", "20", "--max-users", "3"];
        let output = run(folder.path(), &[&words[..], &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        json(&output)
    };
    // The server is as fast for three users as for one.
    let all = search("ttft:p50<2000ms");
    assert_eq!((&all["users_inside"], all.get("users_outside")), (&3.into(), None), "{all}");
    assert_eq!(all["is_finished"], true);
    assert_eq!(all["loads"].as_array().map(Vec::len), Some(3), "1, 2 and 3 users");
    // It cannot be faster than 20 ms.
    let none = search("ttft:p50<10ms");
    assert_eq!((none.get("users_inside"), &none["users_outside"]), (None, &1.into()), "{none}");
    assert!(none["limited_by"].as_str().unwrap().starts_with("TTFT p50"), "{none}");
}
