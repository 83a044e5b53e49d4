//! Load against servers: counts, formats, and the numbers that go with them.

use crate::support::{assert_measured, paced, run, stdout};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn one_load_point_counts_every_request_and_token() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(20, 2);
    let url = format!("http://{}", server.address());
    let words = ["run", &url, "-c", "4", "-n", "20", "-W", "32/16", "-w", "4", "--json"];
    let output = run(folder.path(), &[&words[..], &["--prompt-lengths", "tokenizer"]].concat());
    assert_measured(&output);
    let document = json(&stdout(&output));
    assert!(document["schema_version"].is_string());
    let level = &document["levels"][0];
    let text = level.to_string();
    let log = server.stop();
    assert_eq!(log.served.len(), 25, "one before the load, 4 to warm up and 20 measured");
    assert_eq!(log.served[0].tokens, 1);
    assert!(log.served[1..].iter().all(|served| served.tokens == 16));
    assert!(text.contains("\"sent\":20") && text.contains("\"ok\":20"), "{text}");
}

#[test]
fn prompts_of_a_run_are_all_different_and_the_same_for_the_same_seed() {
    let digest = |seed: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let server = paced(1, 0);
        let url = format!("http://{}", server.address());
        let words = ["sweep", &url, "-c", "1,2", "-n", "5", "-W", "32/2", "--json"];
        let output = run(folder.path(), &[&words, seed].concat());
        assert_measured(&output);
        let runs = folder.path().join("runs");
        let entry = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap();
        let manifest = std::fs::read_to_string(entry.path().join("manifest.json")).unwrap();
        json(&manifest)["prompts_blake3"].as_str().unwrap().to_owned()
    };
    assert_eq!(digest(&["--seed", "7"]), digest(&["--seed", "7"]));
    assert_ne!(digest(&["--seed", "7"]), digest(&["--seed", "8"]));
    // A run without a seed must not meet what the run before it left in the server's cache.
    assert_ne!(digest(&[]), digest(&[]));
}
