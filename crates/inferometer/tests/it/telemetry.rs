//! What is recorded beside the answers, told by the program.

use crate::support::{assert_measured, paced, run, serve, stderr, stdout};
use serde_json::Value;

fn document(words: &[&str], folder: &std::path::Path) -> Value {
    let output = run(folder, words);
    assert_measured(&output);
    let text = stdout(&output);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_servers_account_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = serve(folder.path(), &[]);
    let words = ["run", &url, "-c", "2", "-n", "12", "-w", "4", "-W", "random:32/32", "--json"];
    let found = document(&words, folder.path());
    let level = &found["levels"][0];
    assert_eq!(level["server"]["source"], "inferometer /metrics");
    // 12 requests and 4 of warm-up, 32 tokens each; there is no prefix cache.
    assert_eq!(level["server"]["requests"], 16.0);
    assert_eq!(level["server"]["output_tokens"], 512.0);
    assert_eq!(level["server"]["cache_hit_share"], Value::Null);
    let check = |id: &str| {
        let checks = found["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["id"] == id);
        check.unwrap_or_else(|| panic!("{id}"))["state"].clone()
    };
    assert_eq!(check("shared_server"), "passed");
    assert_eq!(check("server_cache"), "not_applicable");
}

#[test]
fn stated_power_becomes_energy() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(300, 0);
    let url = format!("http://{}", server.address());
    // Six rounds of 300 ms: a window of a second or more, ramp left out.
    let words = ["run", &url, "-c", "2", "-n", "12", "-W", "16/1", "--power-watts", "50", "--json"];
    let found = document(&words, folder.path());
    let energy = &found["levels"][0]["energy"];
    assert_eq!(energy["method"], "stated", "{found}");
    let seconds = energy["duration_s"].as_f64().unwrap();
    assert!((energy["energy_j"].as_f64().unwrap() - 50.0 * seconds).abs() < 1e-6);
}

#[test]
fn a_server_without_a_page_is_measured_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let output = run(folder.path(), &["run", &url, "-n", "4", "-W", "random:16/4", "-v"]);
    assert_measured(&output);
    assert!(
        stderr(&output).contains("not recorded: the server's counters:"),
        "{}",
        stderr(&output)
    );
    let asked = ["run", &url, "-n", "4", "-W", "random:16/4", "--metrics-url", &url];
    let output = run(folder.path(), &asked);
    assert_measured(&output);
    assert!(stderr(&output).contains("warning: the server's counters:"), "{}", stderr(&output));
    let output = run(folder.path(), &["run", &url, "-n", "4", "--power", "gpus"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
