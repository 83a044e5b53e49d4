//! The pages name what the code has: every column, outcome, check and exit code, no more, no fewer.
//!
//! A table of a page lists its things in backticks or as numbers in the first cell of each row.

use ifm_core::{CountSource, Outcome};
use std::{collections::BTreeSet, path::Path};

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The first cells of the table below a heading, one by one where a cell lists several in
/// backticks.
fn first_cells(page: &str, heading: &str) -> Vec<String> {
    let lines = page.lines().skip_while(|line| *line != heading).skip(1);
    let section = lines.take_while(|line| !line.starts_with('#'));
    let rows = section.filter(|line| line.starts_with('|')).skip(2);
    let cells = rows.map(|row| row.split('|').nth(1).unwrap_or_default().trim());
    cells
        .flat_map(|cell| match cell.contains('`') {
            true => cell.split('`').skip(1).step_by(2).map(str::to_owned).collect(),
            false => vec![cell.to_owned()],
        })
        .collect()
}

/// Compares the table with what the code has, in any order.
fn check<'a>(page: &str, heading: &str, code: impl IntoIterator<Item = &'a str>) {
    let cells: BTreeSet<String> = first_cells(&read(page), heading).into_iter().collect();
    let code: BTreeSet<String> = code.into_iter().map(str::to_owned).collect();
    assert!(!code.is_empty());
    let missing: Vec<_> = code.difference(&cells).collect();
    let extra: Vec<_> = cells.difference(&code).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{page}, {heading}: missing {missing:?}, not in the code {extra:?}"
    );
}

const METRICS: &str = "docs/concepts/metrics.md";
const RUN_FORMAT: &str = "docs/concepts/run-format.md";
const EXIT_CODES: &str = "docs/reference/exit-codes.md";

#[test]
fn outcomes_and_counters() {
    check(METRICS, "## Outcomes", Outcome::ALL.into_iter().map(Outcome::word));
    check(METRICS, "## Counts of tokens", CountSource::ALL.into_iter().map(CountSource::word));
}

#[test]
fn checks() {
    let run = ifm_metrics::testing::run(&[1], Vec::new());
    let summary = ifm_metrics::summarize(&run);
    check(METRICS, "## Checks", summary.checks.iter().map(|check| check.id));
}

#[test]
fn columns_in_the_order_of_the_file() {
    let columns: Vec<&str> = ifm_store::column_names().collect();
    assert_eq!(first_cells(&read(RUN_FORMAT), "## requests.parquet"), columns);
}

#[test]
fn fields_of_the_manifest() {
    let schema: serde_json::Value =
        serde_json::from_str(&read("docs/reference/schema/manifest.json")).expect("JSON");
    let fields = schema["properties"].as_object().expect("an object has fields").keys();
    // The store adds the checksums when it seals.
    let fields = fields.map(String::as_str).chain(["file_crc32"]);
    check(RUN_FORMAT, "## manifest.json", fields);
    let page = read(RUN_FORMAT);
    let version = format!("`\"{}\"`", ifm_core::manifest::SCHEMA_VERSION);
    assert!(page.contains(&version), "the page names another version than {version}");
}

#[test]
fn exit_codes() {
    let source = read("crates/ifm-terminal/src/exit.rs");
    let codes: Vec<&str> = source
        .lines()
        .skip_while(|line| !line.starts_with("pub enum Code"))
        .take_while(|line| *line != "}")
        .filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "))
        .map(|(_, code)| code)
        .collect();
    check(EXIT_CODES, "# Exit codes", codes);
}

#[test]
fn a_table_is_read_cell_by_cell() {
    let page =
        "# A\n\n| x | y |\n|---|---|\n| no | |\n\n## B\n\n| x |\n|---|\n| `a`, `b` |\n| 7 |\n";
    assert_eq!(first_cells(page, "## B"), ["a", "b", "7"]);
}
