//! Files of other tools, sent to the page.

use crate::client::Page;
use crate::runs::Shelf;

/// A block as `vllm bench serve` prints it.
const NOTE: &str = "# Llama at 8 users\n\n\
    ============ Serving Benchmark Result ============\n\
    Successful requests:                     80\n\
    Benchmark duration (s):                  10.00\n\
    Total input tokens:                      8000\n\
    Total generated tokens:                  4000\n\
    Request throughput (req/s):              8.00\n\
    Output token throughput (tok/s):         400.00\n\
    ---------------Time to First Token----------------\n\
    Mean TTFT (ms):                          50.00\n\
    Median TTFT (ms):                        48.00\n\
    P99 TTFT (ms):                           90.00\n\
    ==================================================\n";

#[test]
fn a_file_is_read_told_and_kept() {
    let page = Page::over(Shelf::empty());
    let answer = page.send(&[("note.md", NOTE.as_bytes())]);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(
        answer.body.contains("Imported as") && answer.body.contains("1 measured"),
        "{answer:?}"
    );
    assert!(answer.body.contains("rules applied"), "the audit is told: {answer:?}");
    let ids = page.shelf.store.import_ids().unwrap();
    let [id] = ids.as_slice() else { panic!("{ids:?}") };
    let shown = page.get(&format!("/imports/{id}"));
    assert!(shown.body.contains("note.md") && shown.body.contains("ttft p99 ms"), "{shown:?}");
    assert!(page.get("/?kind=import").body.contains("note.md"));
    let report = page.get(&format!("/imports/{id}/page"));
    assert!(report.status == 200 && report.body.starts_with("<!DOCTYPE"), "{report:?}");
    let csv = page.get(&format!("/imports/{id}/download/csv"));
    assert!(csv.body.contains("ttft_p99_ms"), "{csv:?}");
    assert_eq!(page.post("/label", &[("id", id), ("name", "theirs"), ("tags", "web")]).status, 303);
    assert!(page.get("/?tag=web").body.contains("theirs"));
    let slower =
        NOTE.replace("Mean TTFT (ms):                          50.00", "Mean TTFT (ms): 60.00");
    assert_eq!(page.send(&[("slower.md", slower.as_bytes())]).status, 200);
    let ids = page.shelf.store.import_ids().unwrap();
    let other = ids.iter().find(|other| *other != id).expect("a second import");
    let compared = page.get(&format!("/compare?run={id}&run={other}"));
    assert_eq!(compared.status, 200, "{compared:?}");
    assert!(compared.body.contains("one number"), "no verdict without evidence: {compared:?}");
    assert_eq!(page.get(&format!("/compare?run={id}&run=other")).status, 404);
}

#[test]
fn what_is_not_known_is_told_and_the_rest_is_kept() {
    let page = Page::over(Shelf::empty());
    let refused = page.send(&[("cat.bin", b"\x00\x01\x02 no results at all")]);
    assert_eq!(refused.status, 422, "{refused:?}");
    assert!(refused.body.contains("cat.bin: no known results in it"), "{refused:?}");
    assert!(page.shelf.store.import_ids().unwrap().is_empty());
    let half = page.send(&[("cat.bin", b"\x00\x01"), ("note.md", NOTE.as_bytes())]);
    assert!(half.status == 200 && half.body.contains("Imported in part"), "{half:?}");
    assert!(page.send(&[]).status == 400, "no file at all");
    assert_eq!(page.shelf.store.import_ids().unwrap().len(), 1);
}

#[test]
fn a_body_that_is_too_large_is_refused_and_nothing_is_kept() {
    let page = Page::over(Shelf::empty());
    let large = NOTE.repeat((65 << 20) / NOTE.len());
    let answer = page.send(&[("large.md", large.as_bytes())]);
    assert!(matches!(answer.status, 413), "{} {}", answer.status, answer.body);
    assert!(page.shelf.store.import_ids().unwrap().is_empty());
    assert_eq!(page.send(&[("note.md", NOTE.as_bytes())]).status, 200, "the next one is read");
}

#[test]
fn a_name_of_a_file_is_no_path() {
    let page = Page::over(Shelf::empty());
    let answer = page.send(&[("../../escape.md", NOTE.as_bytes())]);
    assert_eq!(answer.status, 200, "{answer:?}");
    let files = page.shelf.state();
    let names: Vec<_> = files.iter().map(|(path, _)| path.file_name().unwrap()).collect();
    assert_eq!(names, ["import.json"]);
}
