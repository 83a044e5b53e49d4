//! What a server is and can do, told by the program.

use crate::support::{canned, run, serve, stderr, stdout};
use serde_json::Value;

fn findings(text: &str) -> Vec<Value> {
    let document: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(document["schema_version"], "1.0");
    document["findings"].as_array().unwrap().clone()
}

#[test]
fn the_embedded_engine_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = serve(folder.path(), &[]);
    let output = run(folder.path(), &["probe", &url, "--json", "--limit", "600s"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let findings = findings(&stdout(&output));
    let of = |id: &str| {
        findings.iter().find(|finding| finding["id"] == id).unwrap_or_else(|| panic!("{id}"))
    };
    assert_eq!(of("software")["value"]["kind"], "inferometer");
    assert_eq!(of("model")["value"]["asked"], "nano");
    assert_eq!(of("context")["value"], 4096);
    assert_eq!(of("usage")["value"], "final");
    assert_eq!(of("tokenizer")["value"]["ratio"], 1.0);
    assert_eq!(of("tokenizer")["value"]["template_tokens"], 3);
    for id in ["max_tokens", "token_ids", "seed", "usage_in_chunks", "keep_alive"] {
        assert_eq!(of(id)["value"], true, "{}", of(id));
    }
    assert_eq!(of("apis")["value"]["completions"], "answers");
    for finding in &findings {
        assert!(!finding["text"].as_str().unwrap().is_empty(), "{finding}");
        assert_eq!(finding["grade"] == "unknown", finding["value"].is_null(), "{finding}");
    }
    let table = run(folder.path(), &["probe", &url, "--limit", "600s", "--ascii"]);
    let table = stdout(&table);
    assert!(table.is_ascii() && table.contains("+ software") && table.contains("prefix cache"));
}

#[test]
fn a_service_that_is_not_a_model_server_is_code_5() {
    let folder = tempfile::tempdir().unwrap();
    let models = "HTTP/1.1 200 OK\r\ncontent-length: 21\r\n\r\n{\"data\":[{\"id\":\"m\"}]}";
    let output = run(folder.path(), &["probe", &canned(models)]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stdout(&output).contains("no API gives an answer"), "{}", stdout(&output));
    assert!(stderr(&output).contains("does not respond to any API"), "{}", stderr(&output));
    let output =
        run(folder.path(), &["probe", &canned("HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n")]);
    assert_eq!(output.status.code(), Some(5));
    assert!(stdout(&output).is_empty() && stderr(&output).contains("API key"));
}
