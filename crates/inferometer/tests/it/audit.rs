//! Audits of real documents, whole or spoiled; small ones that were made up are in `audits.says`.

use crate::support::{published, run, stderr, stdout};
use std::fs;
use std::path::Path;

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

const PUBLISHED: [&str; 5] = ["000", "001", "002", "003", "004"];

/// `tests/data/audit/README.md` describes how each finding in these goldens was checked manually.
/// After an intended change: `INSTA_UPDATE=always cargo test -p inferometer --test it -- audit`,
/// then check what is new.
#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn published_documents_show_their_faults() {
    let folder = tempfile::tempdir().unwrap();
    for number in PUBLISHED {
        let name = format!("{number}.txt");
        fs::copy(published(number), folder.path().join(&name)).unwrap();
        let output = run(folder.path(), &["audit", &name, "--format", "markdown"]);
        assert!(matches!(output.status.code(), Some(8 | 9)), "{name}: {}", stderr(&output));
        insta::with_settings!(
            {
                snapshot_path => "../data/audit",
                prepend_module_to_snapshot => false,
                omit_expression => true
            },
            { insta::assert_snapshot!(number, stdout(&output)); }
        );
    }
}

/// A file that another tool wrote.
fn real(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ifm-interop/tests/data");
    data.join(name).display().to_string()
}

#[test]
fn reports_files_of_several_tools_with_different_definitions() {
    let folder = tempfile::tempdir().unwrap();
    let notions = |names: &[&str]| {
        let files: Vec<String> = names.iter().map(|name| real(name)).collect();
        let mut words = vec!["audit", "--format", "json"];
        words.extend(files.iter().map(String::as_str));
        let document: serde_json::Value =
            serde_json::from_str(&stdout(&run(folder.path(), &words))).unwrap();
        let findings = document["findings"].as_array().unwrap().iter();
        findings
            .filter(|finding| finding["rule"] == "two_notions")
            .map(|finding| finding["text"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let (vllm, aiperf) =
        ("vllm-serve-0.33/result.json", "aiperf-0.13.0/profile_export_aiperf.json");
    let guidellm = "guidellm-0.8.1/result.json";
    // One tool, whatever it writes, means one thing.
    assert_eq!(notions(&[vllm, "vllm-serve-0.33/console.txt"]), [""; 0]);
    assert_eq!(notions(&[guidellm, "guidellm-0.8.1/result.csv"]), [""; 0]);
    let found = notions(&[vllm, aiperf, guidellm]);
    for words in [
        "ITL means 3 things",
        "what is called TPOT here",
        "TPOT means 2 things",
        "(E2E - TTFT) / (n - 1) of its means and 16 tokens is",
        "concurrency means 2 things: vllm bench serve (what was asked for, such as 4)",
    ] {
        assert!(found.iter().any(|text| text.contains(words)), "{words}: {found:?}");
    }
}

#[test]
fn computed_values_of_a_real_file_are_compared_with_their_names() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "vllm-serve-0.33/result.json",
        "sglang-serve-0.5.23/result.jsonl",
        "sglang-serve-rust-0.5.23/result.jsonl",
        "guidellm-0.8.1/result.json",
        "genai-bench-0.0.5/D32_16_text-to-text_num_concurrency_4_time_1s.json",
        "aiperf-0.13.0/profile_export_aiperf.json",
    ] {
        let rules = found(folder.path(), &[&real(name)]);
        assert!(rules.iter().all(|(rule, ..)| rule != "implied_definition"), "{name}: {rules:?}");
    }
    let text = fs::read_to_string(real("vllm-serve-0.33/result.json")).unwrap();
    let sound: serde_json::Value = serde_json::from_str(&text).unwrap();
    let number = |field: &str| sound[field].as_f64().unwrap();
    for (field, value) in [
        ("mean_tpot_ms", number("mean_e2el_ms") / 16.0),
        ("output_throughput", number("total_token_throughput")),
    ] {
        let mut spoiled = sound.clone();
        spoiled[field] = value.into();
        fs::write(folder.path().join("spoiled.json"), spoiled.to_string()).unwrap();
        let rules = found(folder.path(), &["spoiled.json"]);
        assert!(rules.contains(&told("implied_definition", "strong", 1)), "{field}: {rules:?}");
    }
}

/// A run of this program on its own engine, really measured: `tests/data/audit/README.md` says how.
#[test]
fn a_clean_run_of_our_own_has_nothing_above_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/audit/clean-run");
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(stored.join("manifest.json")).unwrap()).unwrap();
    let kept = folder.path().join("runs").join(manifest["run_id"].as_str().unwrap());
    fs::create_dir_all(&kept).unwrap();
    for entry in fs::read_dir(&stored).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, kept.join(path.file_name().unwrap())).unwrap();
    }
    let findings = found(folder.path(), &["clean"]);
    assert!(findings.iter().all(|(_, level, _)| level == "hint"), "{findings:?}");
    let rules: Vec<&str> = findings.iter().map(|(rule, ..)| rule.as_str()).collect();
    assert_eq!(rules, ["samples"], "60 requests are too few for a P99, and the audit says so");
    assert_eq!(run(folder.path(), &["audit", "clean"]).status.code(), Some(0));
}
