//! `calibrate` from stored runs.

use crate::support::{assert_measured, pace, run, stderr, stdout};
use ifm_truth::paced::{Pace, PacedOptions, run_paced};

/// A server that sends four tokens per event: the gap between tokens follows from its token count.
#[test]
fn events_of_several_tokens_have_a_time_per_token() {
    let folder = tempfile::tempdir().unwrap();
    let options = PacedOptions::for_benchmarks(Pace { burst: 4, ..pace(60, 20) });
    let server = run_paced(options).unwrap();
    let load = ["-c", "1,2", "-n", "6", "-W", "64/32", "--name", "bursts"];
    assert_measured(&run(
        folder.path(),
        &[&["sweep", &format!("http://{}", server.address())], &load[..]].concat(),
    ));
    let calibrated = run(
        folder.path(),
        &["calibrate", "--from", "bursts", "--gpu", "l40s", "-m", "llama-3.1-8b", "--json"],
    );
    // Whether a law of the simulator fits this server is not the question.
    let text = stdout(&calibrated);
    let document: serde_json::Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text} {}", stderr(&calibrated)));
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{document:#}");
    assert!(rows.iter().all(|row| row["itl"]["measured"].is_number()), "{document:#}");
}
