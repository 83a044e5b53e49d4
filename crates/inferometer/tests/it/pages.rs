//! Results as pages: every command that compares, checks or computes writes one with `-o`, with the
//! numbers of its JSON document.

use crate::support::{json, run, stderr, store};
use serde_json::Value;
use std::fs;
use std::path::Path;

const EVERY_ENDING: [&str; 6] = ["html", "md", "json", "svg", "png", "csv"];

/// A folder with a quick run, "fast", and a slow one, "slow".
fn two_runs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "fast", &[1, 2], (5.0, 1.0));
    store(folder.path(), "slow", &[1, 2], (30.0, 4.0));
    folder
}

/// The fields of each line of a CSV, quotes removed.
fn csv(text: &str) -> Vec<Vec<String>> {
    let line = |line: &str| {
        let (mut fields, mut is_quoted) = (vec![String::new()], false);
        for c in line.chars() {
            match c {
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => fields.push(String::new()),
                c => fields.last_mut().unwrap().push(c),
            }
        }
        fields
    };
    text.lines().map(line).collect()
}

/// The numbers of a section's column, in the order of its rows.
fn column(lines: &[Vec<String>], section: &str, column: &str) -> Vec<f64> {
    let of = lines.iter().filter(|line| line[0] == section && line[4] == column);
    of.map(|line| line[5].parse().unwrap()).collect()
}

/// What is at a pointer of each item, where it is there.
fn numbers(items: &Value, pointer: &str) -> Vec<f64> {
    let items = items.as_array().unwrap().iter();
    items.filter_map(|item| item.pointer(pointer)?.as_f64()).collect()
}

/// A page of a command: its HTML and its CSV, and its document as printed by `--json`.
struct Written {
    html: String,
    csv: Vec<Vec<String>>,
    document: Value,
}

/// Runs a command with `-o` in every format. Each file is checked for its kind, and the JSON file for
/// being the printed document.
#[track_caller]
fn written(folder: &Path, words: &[&str], code: i32) -> Written {
    let files: Vec<String> = EVERY_ENDING.iter().map(|ending| format!("page.{ending}")).collect();
    let mut with_files = words.to_vec();
    files.iter().for_each(|file| with_files.extend(["-o", file]));
    let output = run(folder, &with_files);
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    assert!(output.stdout.is_empty(), "a file replaces standard output");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let is_picture = |name: &&String, ending: &str, start: &[u8]| {
        name.starts_with("page")
            && name.ends_with(ending)
            && fs::read(folder.join(name)).unwrap().starts_with(start)
    };
    let drawn =
        |ending, start: &[u8]| names.iter().filter(|name| is_picture(name, ending, start)).count();
    let charts = drawn(".svg", b"<svg");
    assert!(charts > 0 && charts == drawn(".png", b"\x89PNG"), "{names:?}");
    assert!(read("page.md").starts_with("# "), "{}", read("page.md"));
    let printed = json(&run(folder, &[words, &["--json"]].concat()));
    let document: Value = serde_json::from_str(&read("page.json")).unwrap();
    assert_eq!(document, printed);
    Written { html: read("page.html"), csv: csv(&read("page.csv")), document }
}

/// The text of the first element of this tag and class.
#[track_caller]
fn text<'h>(html: &'h str, start: &str, end: &str) -> &'h str {
    let from = html.find(start).unwrap_or_else(|| panic!("no {start}")) + start.len();
    html[from..].split(end).next().unwrap()
}

fn title(html: &str) -> &str {
    text(html, "<h1>", "</h1>")
}

/// The answer, with plain spaces.
fn lead(html: &str) -> String {
    text(html, "<p class=\"lead\">", "</p>").replace('\u{a0}', " ")
}

#[test]
fn a_comparison_is_a_page_with_the_numbers_of_its_document() {
    let folder = two_runs();
    let page = written(folder.path(), &["compare", "fast", "slow"], 0);
    assert!(title(&page.html).starts_with("slow vs fast: "), "{}", title(&page.html));
    assert!(lead(&page.html).contains("% higher"), "{}", lead(&page.html));
    let model = page.document["baseline"]["models"][0].as_str().unwrap();
    assert!(title(&page.html).contains(model), "{}", title(&page.html));
    let rows = &page.document["pairs"][0]["rows"];
    for (side, pointer) in [("fast", "/a/value"), ("slow", "/b/value")] {
        let expect = numbers(rows, pointer);
        assert_eq!(column(&page.csv, "every-row", side), expect);
        assert_eq!(expect.len(), 18);
    }
    let changes = |row: &Value| {
        let found = row.pointer("/ratio/value").or(row.pointer("/points/value"));
        found.and_then(Value::as_f64)
    };
    let expect: Vec<f64> = rows.as_array().unwrap().iter().filter_map(changes).collect();
    assert_eq!(column(&page.csv, "every-row", "change"), expect);
    let runs =
        [&page.document["baseline"]["runs"][0], &page.document["pairs"][0]["side"]["runs"][0]];
    for run in runs {
        assert!(page.html.contains(run.as_str().unwrap()), "the runs are named");
    }
    assert!(page.html.contains("compare fast slow"), "the command is named");
    for chart in ["ttft", "itl", "e2e", "output", "change-1-user", "change-2-users"] {
        assert!(folder.path().join(format!("page-{chart}.svg")).is_file(), "{chart}");
    }
}

#[test]
fn several_sides_and_single_loads_are_drawn_too() {
    let folder = two_runs();
    store(folder.path(), "one", &[1], (9.0, 2.0));
    let page = written(folder.path(), &["compare", "fast", "slow", "one"], 0);
    assert!(title(&page.html).starts_with("slow and one vs fast"), "{}", title(&page.html));
    let pairs = page.document["pairs"].as_array().unwrap();
    for (pair, section) in pairs.iter().zip(["every-row-slow", "every-row-one"]) {
        let side = pair["side"]["label"].as_str().unwrap();
        assert_eq!(column(&page.csv, section, side), numbers(&pair["rows"], "/b/value"));
    }
    let page = written(folder.path(), &["compare", "fast", "one"], 0);
    assert!(page.html.contains("p50 at 1 user"), "bars for a single load");
}

#[test]
fn a_gate_is_a_page_with_its_verdict_first() {
    let folder = two_runs();
    let words = ["gate", "slow", "--baseline", "fast", "--max", "itl.p50@1=2ms", "--max"];
    let page = written(folder.path(), &[&words[..], &["ttft.p50@2=+5%"]].concat(), 1);
    assert!(title(&page.html).starts_with("Gate: slow vs fast: "), "{}", title(&page.html));
    assert!(lead(&page.html).starts_with("FAIL: 2 failed"), "{}", lead(&page.html));
    let rows = &page.document["thresholds"];
    let head = "measured [95%]";
    assert_eq!(column(&page.csv, "every-threshold", head), numbers(rows, "/value/value"));
    assert_eq!(column(&page.csv, "every-threshold", "baseline"), numbers(rows, "/baseline/value"));
    let change = column(&page.csv, "every-threshold", "change [95%]");
    assert_eq!(change, numbers(rows, "/change/value"));
    assert!(change.len() > 1 && change[1] > 1.0, "{change:?}");
}

#[test]
fn a_ranking_is_a_page_with_the_first_side_first() {
    let folder = two_runs();
    let page = written(folder.path(), &["rank", "slow", "fast"], 0);
    assert!(title(&page.html).starts_with("fast, slow by out tok/s at 2 users: "));
    assert!(lead(&page.html).starts_with("fast ("), "{}", lead(&page.html));
    let order = &page.document["order"];
    assert_eq!(column(&page.csv, "ranks", "value"), numbers(order, "/cell/value"));
    assert_eq!(column(&page.csv, "ranks", "rank"), numbers(order, "/rank"));
}

#[test]
fn an_audit_is_a_page_with_the_gravest_finding_first() {
    let folder = tempfile::tempdir().unwrap();
    let note = concat!(env!("CARGO_MANIFEST_DIR"), "/../ifm-interop/tests/data/notes/report-a.md");
    fs::copy(note, folder.path().join("notes.md")).unwrap();
    let page = written(folder.path(), &["audit", "notes.md"], 9);
    assert_eq!(title(&page.html), "Audit of notes.md");
    let findings = page.document["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        assert!(page.html.contains(finding["rule"].as_str().unwrap()), "{finding}");
    }
    let first = findings[0]["text"].as_str().unwrap();
    assert!(
        lead(&page.html).starts_with(&format!("Cannot be right: {first}")),
        "{}",
        lead(&page.html)
    );
}

#[test]
fn limits_are_a_page_with_the_numbers_of_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["limit", "-m", "llama-3.1-8b", "--gpu", "h100-sxm", "-c", "1,8"];
    let page = written(folder.path(), &words, 0);
    assert!(
        title(&page.html).contains("Llama 3.1 8B on 1 × NVIDIA H100 SXM"),
        "{}",
        title(&page.html)
    );
    let levels = &page.document["levels"];
    let seconds = numbers(levels, "/step/strict/seconds");
    let ms: Vec<f64> = seconds.iter().map(|seconds| seconds * 1e3).collect();
    assert_eq!(column(&page.csv, "every-number-of-users", "ITL strict, ms"), ms);
    let rates = numbers(levels, "/closed_loop/strict/tokens_per_s");
    assert_eq!(column(&page.csv, "every-number-of-users", "out tok/s strict"), rates);
}

#[test]
fn the_capacity_of_results_is_a_page() {
    let folder = two_runs();
    let words = ["capacity", "fast", "slow", "--slo", "ttft:p50<20ms"];
    let output = run(folder.path(), &[&words[..], &["-o", "c.html", "-o", "c.json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let html = fs::read_to_string(folder.path().join("c.html")).unwrap();
    assert!(lead(&html).contains("at least 2 users"), "{}", lead(&html));
    assert!(lead(&html).contains("below every measured load"), "{}", lead(&html));
    let file = fs::read(folder.path().join("c.json")).unwrap();
    let printed = run(folder.path(), &[&words[..], &["--json"]].concat());
    assert_eq!(file, printed.stdout);
}

#[test]
fn a_history_has_a_title_and_a_single_chart() {
    let folder = two_runs();
    let words = ["history", "--metric", "ttft.p50", "--title", "Nights", "-o", "h.html"];
    let output = run(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let html = fs::read_to_string(folder.path().join("h.html")).unwrap();
    assert_eq!(title(&html), "Nights");
}

#[test]
fn a_prediction_is_a_page_with_the_numbers_of_its_document() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["predict", "-m", "llama-3.1-8b", "--gpu", "h100-sxm", "-W", "64/8", "-n", "8"];
    let files = ["-o", "p.html", "-o", "p.json", "--json", "-s"];
    let output = run(folder.path(), &[&words[..], &files].concat());
    let document = json(&output);
    let html = fs::read_to_string(folder.path().join("p.html")).unwrap();
    assert!(title(&html).contains("llama-3.1-8b"), "{}", title(&html));
    assert!(html.contains("predicted, not measured"));
    let file = fs::read_to_string(folder.path().join("p.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&file).unwrap(), document);
}

#[test]
fn one_chart_and_a_title_are_chosen_as_in_reports() {
    let folder = two_runs();
    let folder = folder.path();
    let compare = |more: &[&str]| run(folder, &[&["compare", "fast", "slow"], more].concat());
    let output = compare(&["-o", "one.svg", "--chart", "change-1-user", "--title", "A & B"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let svg = fs::read_to_string(folder.join("one.svg")).unwrap();
    assert!(svg.contains("What changed at 1 user?") && svg.contains("A &amp; B"), "{svg}");
    for (words, expect) in [
        (&["-o", "x.svg", "--chart", "nothing"][..], "its charts are ttft, itl, e2e, output"),
        (&["-o", "x.html", "--chart", "ttft"], "--chart writes a picture"),
        (&["-o", "x.txt"], "the ending names no format"),
        (&["-o", "no/x.html"], "the folder no does not exist"),
        (&["--chart", "ttft"], "--out"),
    ] {
        let output = compare(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(expect), "{}", stderr(&output));
    }
}

#[test]
fn names_on_a_page_are_text() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "a<b>", &[1, 2], (5.0, 1.0));
    store(folder.path(), "slow", &[1, 2], (30.0, 4.0));
    let output = run(folder.path(), &["compare", "a<b>", "slow", "-o", "x.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let html = fs::read_to_string(folder.path().join("x.html")).unwrap();
    assert!(title(&html).starts_with("slow vs a&lt;b&gt;"), "{}", title(&html));
}
