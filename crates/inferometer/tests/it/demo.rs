//! The first thing that a newcomer does.

use crate::support::{assert_measured, run, stderr, stdout};

#[test]
fn the_demo_needs_nothing_and_says_that_its_weights_are_random() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["demo", "--preset", "nano", "-z", "0.5", "-o", "d.html"]);
    assert_measured(&output);
    let text = stdout(&output);
    let rows = text.lines().filter(|line| line.contains('%') && line.contains(" ms")).count();
    assert!(rows >= 4, "{text}");
    assert!(text.contains("How fast?"), "{text}");
    let page = std::fs::read_to_string(folder.path().join("d.html")).unwrap();
    for said in [stderr(&output), page] {
        assert!(said.contains("random"), "that the weights are random is said everywhere");
    }
}
