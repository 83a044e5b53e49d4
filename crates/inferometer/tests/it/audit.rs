//! Audits of whole documents: what is found in them, and that nothing is found in sound ones.

use crate::support::{run, stderr, stdout};
use std::fs;
use std::path::Path;

/// Notes of an engine at two power limits, with a ratio in prose. `fast` is the decode speed of the
/// second row, tokens per second.
fn notes(deviation: &str, fast: &str, ratio: &str) -> String {
    let table = |prefill: &str, decode: &str| {
        format!(
            "| model | size | params | backend | ngl | test | t/s |\n\
             | --- | ---: | ---: | --- | --: | ---: | ---: |\n\
             | llama 8B Q4_K - Medium | 4.58 GiB | 8.03 B | CUDA | 99 | pp512 | {prefill} |\n\
             | llama 8B Q4_K - Medium | 4.58 GiB | 8.03 B | CUDA | 99 | tg128 | {decode} |\n\n\
             build: 0a1b2c3d (7001)\n\n"
        )
    };
    format!(
        "# Workshop notes\n\n## 72W\n\n{}## 40W\n\n{}## What it says\n\n\
         ```text\n   ITL degradation ratio = 31.2/20.0 = {ratio}\n```\n",
        table("1900.00 ± 6.00", "46.00 ± 0.05"),
        table(&format!("1100.00 ± {deviation}"), &format!("{fast} ± 0.10")),
    )
}

/// Findings of an audit: rule, level and first line.
fn found(folder: &Path, words: &[&str]) -> Vec<(String, String, u64)> {
    let mut all = vec!["audit", "--format", "json"];
    all.extend(words);
    let output = run(folder, &all);
    let document: serde_json::Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let findings = document["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| {
            let line = finding["spots"][0]["line"].as_u64().unwrap_or(0);
            (text(&finding["rule"]), text(&finding["level"]), line)
        })
        .collect()
}

fn told(rule: &str, level: &str, line: u64) -> (String, String, u64) {
    (rule.to_owned(), level.to_owned(), line)
}

const SETUP: [&str; 5] = ["notes.md", "--gpu", "l4", "--model", "llama-3.1-8b"];

#[test]
fn sound_notes_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.md"), notes("4.00", "39.00", "1.56")).unwrap();
    assert_eq!(found(folder.path(), &SETUP), []);
}

#[test]
fn each_damage_fires_its_rule() {
    let folder = tempfile::tempdir().unwrap();
    let of = |notes: String, words: &[&str]| {
        fs::write(folder.path().join("notes.md"), notes).unwrap();
        found(folder.path(), words)
    };
    // One repeat of 1900 and four of 900: mean 1100, deviation 447.21.
    let drift = [told("repeat_drift", "strong", 16)];
    assert_eq!(of(notes("447.21", "39.00", "1.56"), &SETUP), drift);
    // 300 GB/s over 4.58 GiB is 61 tokens per second.
    let light = [told("faster_than_light", "proof", 17)];
    assert_eq!(of(notes("4.00", "310.00", "1.56"), &SETUP), light);
    assert_eq!(of(notes("4.00", "310.00", "1.56"), &SETUP[..1]), []);
    let ratio = [told("stated_ratio", "proof", 24)];
    assert_eq!(of(notes("4.00", "39.00", "1.65"), &SETUP), ratio);
}

#[test]
fn a_machine_that_is_not_known_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.md"), notes("4.00", "39.00", "1.56")).unwrap();
    let output = run(folder.path(), &["audit", "notes.md", "--gpu", "zx9000"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// The rules of a document of others, at a level, sorted and without repetition.
fn rules_of(folder: &Path, path: &Path, level: &str) -> Vec<String> {
    let path = path.to_string_lossy().into_owned();
    let mut rules: Vec<String> = found(folder, &[&path])
        .into_iter()
        .filter(|(_, of, _)| of == level)
        .map(|(rule, _, _)| rule)
        .collect();
    rules.sort();
    rules.dedup();
    rules
}

/// Each finding behind these words was checked by hand.
#[test]
fn published_documents_show_their_faults() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let Ok(entries) = fs::read_dir(&seeds) else {
        eprintln!("skipped: {} is not there", seeds.display());
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (proof, strong): (&[&str], &[&str]) = match name.get(..3) {
            Some("000") => (&["planned_cells"], &[]),
            Some("001") => (&[], &["bandwidth_claim", "prefill_interference"]),
            Some("002") => (
                &["duplicate_label", "not_measured"],
                &["encoding", "rank_outlier", "rank_tie", "repeat_outlier", "wrong_metric"],
            ),
            Some("003") => (&["token_sum"], &["mixed_concurrency", "unequal_load"]),
            Some("004") => (&[], &["repeat_drift"]),
            _ => continue,
        };
        assert_eq!(rules_of(folder.path(), &path, "proof"), proof, "{name}");
        assert_eq!(rules_of(folder.path(), &path, "strong"), strong, "{name}");
    }
}
