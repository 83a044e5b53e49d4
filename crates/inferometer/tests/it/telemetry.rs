//! What is recorded in addition to the answers, as the program reports it.

use crate::support::{assert_measured, paced, run, stdout};
use serde_json::Value;

fn document(words: &[&str], folder: &std::path::Path) -> Value {
    let output = run(folder, words);
    assert_measured(&output);
    let text = stdout(&output);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
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
