//! Every file that another tool wrote, audited unchanged: the findings in each are in a list.
//!
//! The list is `tests/data/audit/real-files.snap`: it changes when a rule begins to accuse a real
//! file, or no longer checks one. A finding may join the list once it was checked manually. After an
//! intended change: `INSTA_UPDATE=always cargo test -p inferometer --test it -- real_files`.

use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Row, RowRole, Statistic};
use ifm_interop::{Input, settle_together};
use ifm_results::Results;
use ifm_rules::audit::{Audit, Level, Looked, RuleResult, Subject, audit};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Files next to the tools' files: logs of the server, a tool's inputs, and synthetic documents.
const NOT_RESULTS: [&str; 5] = ["truth.jsonl", "script.js", "README.md", "notes", "written"];

/// Files of other tools in the folder that each of them left behind.
fn real() -> BTreeMap<PathBuf, Vec<PathBuf>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ifm-interop/tests/data");
    let mut folders = BTreeMap::new();
    gather(&data, &mut folders);
    folders
}

fn gather(folder: &Path, folders: &mut BTreeMap<PathBuf, Vec<PathBuf>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if NOT_RESULTS.contains(&name.as_str()) {
            continue;
        }
        match path.is_dir() {
            true => gather(&path, folders),
            false => folders.entry(folder.to_owned()).or_default().push(path),
        }
    }
    if let Some(files) = folders.get_mut(folder) {
        files.sort();
    }
}

fn read(path: &Path) -> Sheet {
    let name = path.display().to_string();
    ifm_interop::read(Input::new(&name, File::open(path).unwrap()))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// How many rules looked, and what they found: each rule with its worst level.
fn told(audit: &Audit) -> String {
    let looked = |rule: &&RuleResult| matches!(rule.looked, Looked::Found(_));
    let looked = audit.rules.iter().filter(looked).count();
    let mut worst: BTreeMap<&str, Level> = BTreeMap::new();
    for finding in audit.findings() {
        worst.entry(finding.rule).or_insert(finding.level);
    }
    let words = worst.iter().map(|(rule, level)| format!("{rule} {}", level.word()));
    let words: Vec<String> = words.collect();
    let found = if words.is_empty() { "nothing found".to_owned() } else { words.join(", ") };
    format!("{looked} rules looked, {found}")
}

#[test]
fn findings_in_files_of_other_tools_are_those_of_the_list() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ifm-interop/tests/data");
    let short = |path: &Path| path.strip_prefix(&data).unwrap().display().to_string();
    let mut lines = Vec::new();
    let mut files = 0;
    for (folder, paths) in real() {
        let mut sheets: Vec<Sheet> = paths.iter().map(|path| read(path)).collect();
        let alone = |(path, sheet): (&PathBuf, &Sheet)| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let found = audit(&Subject::new(std::slice::from_ref(sheet)));
            format!("  {name}: {}", told(&found))
        };
        let each: Vec<String> = paths.iter().zip(&sheets).map(alone).collect();
        files += each.len();
        settle_together(&mut sheets);
        lines.push(format!("{}: {}", short(&folder), told(&audit(&Subject::new(&sheets)))));
        lines.extend(each);
    }
    assert!(files >= 40, "only {files} files of other tools: where are they?");
    insta::with_settings!(
        {
            snapshot_path => "../data/audit",
            prepend_module_to_snapshot => false,
            omit_expression => true
        },
        { insta::assert_snapshot!("real-files", lines.join("\n")); }
    );
}

/// A tool writes a run in several forms into one folder: it was measured once.
#[test]
fn a_folder_that_a_tool_left_is_read_once() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ifm-interop/tests/data");
    for (folder, fullest, others) in [
        ("guidellm-0.8.1", "result.json", 3),
        ("aiperf-0.13.0", "profile_export_aiperf.json", 3),
        ("vllm-serve-0.33", "result.json", 1),
        ("sglang-serve-0.5.23", "result.jsonl", 1),
        ("inference-benchmarker-1.1.0", "result.json", 1),
    ] {
        let paths = real().remove(&data.join(folder)).expect(folder);
        let mut sheets: Vec<Sheet> = paths.iter().map(|path| read(path)).collect();
        assert_eq!(sheets.len(), others + 1, "{folder}");
        settle_together(&mut sheets);
        let results = Results::of_sheets(&sheets);
        let alone = Results::of_sheets(&[read(&data.join(folder).join(fullest))]);
        assert_eq!(results.points.len(), alone.points.len(), "{folder}");
        // The remainder is the content of the fullest file, with the requests of the file next to
        // it.
        let row = |sheets: &[Sheet]| -> Vec<Row> {
            sheets
                .iter()
                .flat_map(|sheet| &sheet.parts)
                .flat_map(|part| part.rows.clone())
                .collect()
        };
        let (left, full) = (row(&sheets), row(&[read(&data.join(folder).join(fullest))]));
        assert_eq!(left.len(), full.len(), "{folder}");
        for (left, full) in left.iter().zip(&full) {
            assert_eq!(left.figures, full.figures, "{folder}");
            let requests = if folder.starts_with("aiperf") { 12 } else { full.requests.len() };
            assert_eq!(left.requests.len(), requests, "{folder}");
        }
    }
}

/// Rows that count, of the files of each folder with several one by one, and read together. k6 and
/// llama-batched-bench have two runs, inference-perf a stage and a summary of several; llama-bench's files
/// have too few figures to decide.
#[test]
fn what_is_no_other_form_stays() {
    let rows = |sheets: &[Sheet]| {
        let rows = sheets.iter().flat_map(|sheet| &sheet.parts).flat_map(|part| &part.rows);
        rows.filter(|row| row.role == RowRole::Measured).count()
    };
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ifm-interop/tests/data");
    let mut lines = Vec::new();
    for (folder, paths) in real().into_iter().filter(|(_, paths)| paths.len() > 1) {
        let mut sheets: Vec<Sheet> = paths.iter().map(|path| read(path)).collect();
        let each: Vec<String> =
            sheets.iter().map(|sheet| rows(std::slice::from_ref(sheet)).to_string()).collect();
        settle_together(&mut sheets);
        let name = folder.strip_prefix(&data).unwrap().display().to_string();
        lines.push(format!("{name}: {} -> {}", each.join(" + "), rows(&sheets)));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    aiperf-0.13.0: 1 + 1 + 1 + 1 -> 1
    aiperf-0.13.0-failures: 1 + 1 + 1 -> 1
    aiperf-0.13.0-reasoning: 1 + 1 -> 1
    guidellm-0.8.1: 1 + 1 + 1 + 1 -> 1
    guidellm-0.8.1-failures: 2 + 2 + 2 -> 2
    guidellm-0.8.1-reasoning: 2 + 2 -> 2
    inference-benchmarker-1.1.0: 2 + 2 -> 2
    inference-perf-0.7.0: 1 + 1 + 1 -> 2
    k6-1.1.0: 1 + 1 -> 2
    llama-batched-bench-0c1e570: 3 + 3 -> 6
    llama-bench-0c1e570: 60 + 20 + 20 -> 100
    llama-bench-0c1e570/small: 4 + 12 -> 16
    sglang-serve-0.5.23: 1 + 1 -> 1
    sglang-serve-0.5.23-failures: 1 + 1 -> 1
    sglang-serve-rust-0.5.23: 1 + 1 -> 1
    vllm-serve-0.33: 1 + 1 -> 1
    vllm-serve-0.33-failures: 1 + 1 -> 1
    ");
}

/// GuideLLM has a rate's median over time too, half of it here: what came out is the tokens over the time.
#[test]
fn the_output_of_guidellm_is_that_of_its_time() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ifm-interop/tests/data");
    let results = Results::of_sheets(&[read(&data.join("guidellm-0.8.1/result.json"))]);
    for point in &results.points {
        let rate = point.central(Metric::OutputRate).expect("a rate").value;
        let tokens = point.value(Metric::OutputTokens, Statistic::Sum).expect("tokens");
        let ms = point.value(Metric::Duration, Statistic::Value).expect("a duration");
        let by_hand = tokens / (ms / 1e3);
        assert!((rate / by_hand - 1.0).abs() < 1e-3, "{rate} for {by_hand}");
    }
}

/// What one rule finds in the JSON files of a folder.
fn found(rule: &str, folder: &Path, spoiled: Option<(&str, &str)>) -> Option<Vec<String>> {
    let mut sheets = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_json = path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl");
        if !is_json || NOT_RESULTS.contains(&name.as_str()) {
            continue;
        }
        let mut text = fs::read_to_string(&path).unwrap();
        if let Some((_, number)) = spoiled.filter(|(file, _)| *file == name) {
            // Python writes a word where JSON has no number.
            let mut document: serde_json::Value =
                serde_json::from_str(&text.replace("Infinity", "null")).unwrap();
            let value = document.pointer_mut(number).unwrap_or_else(|| panic!("{number}"));
            *value = (value.as_f64().unwrap() * 1.3).into();
            text = document.to_string();
        }
        let input = Input::new(path.display().to_string(), text.as_bytes());
        sheets.push(ifm_interop::read(input).unwrap());
    }
    settle_together(&mut sheets);
    let audit = audit(&Subject::new(&sheets));
    let result = audit.rules.into_iter().find(|result| result.id == rule).unwrap();
    match result.looked {
        Looked::Found(findings) => Some(findings.into_iter().map(|found| found.text).collect()),
        Looked::Needs(_) => None,
    }
}

#[test]
fn reports_a_changed_number_in_a_real_file() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ifm-interop/tests/data");
    let lines = include_str!("../data/audit/damages.txt").lines().skip(1);
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [file, number, rule] = words.as_slice() else { panic!("{line}") };
        let (folder, file) = file.split_once('/').expect(line);
        let folder = data.join(folder);
        let sound = found(rule, &folder, None);
        assert_eq!(sound, Some(Vec::new()), "{rule} on {}", folder.display());
        let findings = found(rule, &folder, Some((file, number))).unwrap_or_default();
        assert_eq!(findings.len(), 1, "{rule} on {number} of {}", folder.display());
    }
}
