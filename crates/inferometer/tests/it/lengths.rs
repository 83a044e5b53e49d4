//! Prompts as long as asked, by whoever is to count them.

use crate::support::{assert_measured, run, serve, stderr, stdout};
use serde_json::Value;
use std::path::Path;

/// Prompt tokens as counted by the server, request by request, and what is said of the lengths in
/// the head of the run and in words.
fn measure(folder: &Path, url: &str, words: &[&str]) -> (Vec<u64>, Value, String) {
    let fixed = ["run", url, "-n", "4", "-w", "0", "--json=requests"];
    let output = run(folder, &[&fixed, words].concat());
    assert_measured(&output);
    let line = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let counted =
        stdout(&output).lines().map(|text| line(text)["prompt_tokens"].as_u64().unwrap()).collect();
    let shown = stdout(&run(folder, &["runs", "show", "last"]));
    let runs = folder.join("runs");
    let only = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let manifest = line(&std::fs::read_to_string(only.join("manifest.json")).unwrap());
    // One run at a time, so that there is no doubt which one it is.
    std::fs::remove_dir_all(runs).unwrap();
    (counted, manifest["spec"]["workload"]["prompt_lengths"].clone(), stderr(&output) + &shown)
}

#[test]
fn the_server_counts_what_was_asked_template_included() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = serve(folder.path(), &[]);
    for (api, template) in [("chat", 3), ("completions", 0)] {
        for length in ["40", "300"] {
            let shape = format!("{length}/2");
            let words = ["-W", &shape, "--api", api, "--prompt-lengths", "server"];
            let (counted, lengths, told) = measure(folder.path(), &url, &words);
            assert_eq!(counted, [length.parse::<u64>().unwrap(); 4]);
            assert_eq!(lengths["counted_by"], "server_calibrated", "{lengths}");
            let calibration = &lengths["calibration"];
            assert_eq!(calibration["template_tokens"], template, "{lengths}");
            assert_eq!(
                (&calibration["ratio"], &calibration["error_share"]),
                (&1.0.into(), &0.0.into())
            );
            assert!(calibration["requests"].as_u64().unwrap() <= 8);
            assert!(told.contains("by the server's count: 1.000"), "{told}");
        }
    }
}
