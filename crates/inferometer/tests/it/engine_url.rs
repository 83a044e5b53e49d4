//! `inferometer engine --url`: a server in the notation of llama-bench.

use super::support::{document, program, serve, stderr};
use serde_json::{Value, json};

#[test]
fn our_own_server_has_rows_of_what_it_computed() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = serve(folder.path(), &[]);
    // Many steps: with so small a model they may arrive in few reads, but not in one.
    let words = ["engine", "--url", &url, "-p", "512", "-n", "200", "-d", "0,256", "-r", "2"];
    let words = [&words[..], &["--keep-disturbed", "--quiet", "--json"]].concat();
    let told = document(folder.path(), &words);
    let rows = told["import"]["sheets"][0]["parts"][0]["rows"].as_array().unwrap();
    let is_mean = |row: &&Value| row["factors"].get("repeat").is_none();
    let means: Vec<&Value> = rows.iter().filter(is_mean).collect();
    let test = |factors: &Value| {
        let word = |name: &str| factors[name].as_str().unwrap_or_default().to_owned();
        (word("test"), word("depth_tokens"), word("depth_from"))
    };
    let expect =
        [("pp512", "", ""), ("tg200", "", ""), ("pp512", "256", "computed"), ("tg200", "256", "")];
    assert_eq!(means.len(), expect.len(), "{told:#}");
    for (row, (name, depth, from)) in means.iter().zip(expect) {
        let factors = &row["factors"];
        assert_eq!(test(factors), (name.to_owned(), depth.to_owned(), from.to_owned()));
        let who = (&factors["engine"], &factors["timed_by"]);
        assert_eq!(who, (&json!("inferometer"), &json!("client")));
        assert_eq!(factors.get("n_batch"), None, "nothing was set from here");
        let rate = row["figures"].as_array().unwrap().iter().find_map(|one| one["value"].as_f64());
        assert!(rate > Some(0.0), "{row}");
    }
    // The first repeat of each: prompts as long as asked, and of a depth all of it.
    let computed: Vec<Option<u64>> = rows
        .iter()
        .filter(|row| row["factors"]["repeat"] == "1")
        .map(|row| row["unknown"]["computed_prompt_tokens"].as_u64())
        .collect();
    assert_eq!(computed, [Some(512), None, Some(768), None]);
}

#[test]
fn where_nothing_listens_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["engine", "--url", "http://127.0.0.1:1", "-p", "8", "-n", "0"];
    let output = program(folder.path()).args(words).output().unwrap();
    assert!(!output.status.success());
    let said = stderr(&output);
    assert!(said.contains("nothing listens at http://127.0.0.1:1"), "{said}");
}
