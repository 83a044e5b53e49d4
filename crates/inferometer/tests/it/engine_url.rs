//! `inferometer engine --url`: a server in the notation of llama-bench.

use super::support::{document, program, serve, stderr};
use serde_json::{Value, json};

#[test]
fn our_own_server_has_rows_of_what_it_computed() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = serve(folder.path(), &[]);
    let words =
        ["engine", "--url", &url, "-p", "24", "-n", "6", "-d", "0,16", "-r", "2", "--static"];
    let words = [&words[..], &["2x12/4", "--keep-disturbed", "--quiet", "--json"]].concat();
    let told = document(folder.path(), &words);
    let of = |kind: &str| -> Vec<Value> {
        let parts = told["import"]["sheets"][0]["parts"].as_array().unwrap();
        let part = parts.iter().find(|part| part["kind"] == kind).unwrap();
        part["rows"].as_array().unwrap().clone()
    };
    let means: Vec<Value> =
        of("engine").into_iter().filter(|row| row["factors"].get("repeat").is_none()).collect();
    let tests: Vec<&str> = means.iter().filter_map(|row| row["factors"]["test"].as_str()).collect();
    assert_eq!(tests, ["pp24", "tg6", "pp24 @ d16", "tg6 @ d16"], "{means:#?}");
    for (row, depth_from) in means.iter().zip([None, None, Some("computed"), None]) {
        let factors = &row["factors"];
        assert_eq!(
            (&factors["engine"], &factors["timed_by"]),
            (&json!("inferometer"), &json!("client"))
        );
        assert_eq!(factors.get("depth_from").and_then(Value::as_str), depth_from, "{row}");
        assert_eq!(factors.get("n_batch"), None, "nothing was set from here");
        let rate = row["figures"].as_array().unwrap().iter().find_map(|one| one["value"].as_f64());
        assert!(rate > Some(0.0), "{row}");
    }
    // The first repeat of each: prompts as long as asked, and of a depth all of it.
    let computed: Vec<Option<u64>> = of("engine")
        .iter()
        .filter(|row| row["factors"]["repeat"] == "1")
        .map(|row| row["unknown"]["computed_prompt_tokens"].as_u64())
        .collect();
    assert_eq!(computed, [Some(24), None, Some(40), None]);
    let batch = of("static_batch");
    assert_eq!(batch.len(), 2, "{batch:#?}");
}

#[test]
fn where_nothing_listens_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["engine", "--url", "http://127.0.0.1:1", "-p", "8", "-n", "0"];
    let output = program(folder.path()).args(words).output().unwrap();
    assert!(!output.status.success());
    assert!(
        stderr(&output).contains("nothing listens at http://127.0.0.1:1"),
        "{}",
        stderr(&output)
    );
}
