//! Reports of published documents: each number of a sentence is one of the document, or follows from
//! some of them.

use crate::support::{published, run, stderr, stdout};
use std::fs;

#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn a_document_that_only_states_figures_is_reported_as_such() {
    let path = published("001");
    let folder = tempfile::tempdir().unwrap();
    let path = path.to_string_lossy().into_owned();
    let output = run(folder.path(), &["report", &path, "--format", "md"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for words in [
        "states these figures and shows no data",
        "(Chatbot, 1 user) down to 13.2 tok/s (Tool Calling Agentic, 32 users)",
        "Best ITL 5.80 ms (Chatbot, 1 user, mean) is instant; worst 75.8 ms",
        "2 of 4 use cases are missing",
        "13.2 tok/s (⚠ disputed)",
        "Tool Calling Agentic: at 32 users each gets 8% of the speed of a single one",
        "At 32 users the speed for one of them runs from 70.6 tok/s (Chatbot) to 13.2 tok/s \
         (Tool Calling Agentic): 5.35×, a wide band.",
        "Best TTFT 211 ms (Chatbot, load not given), worst 6.18 s (Tool Calling Agentic, 32 users).",
        "A capacity needs measured percentiles",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// A published sweep whose first level, 32 users, ran cold: 128 users are inside, 256 are not.
#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn a_cold_first_level_does_not_hide_the_capacity() {
    let path = published("004");
    let folder = tempfile::tempdir().unwrap();
    let path = path.to_string_lossy().into_owned();
    let words = [
        "report",
        &path,
        "--kind",
        "sweep",
        "--slo",
        "itl:p99<50ms,ttft:p99<500ms",
        "--price",
        "1.8",
        "--format",
        "md",
    ];
    let output = run(folder.path(), &words);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for words in [
        "128? · inside",
        "256 fails: ITL p99 67.2 ms",
        "32 fails: ITL p99 84.7 ms",
        "though it is the lowest load: measure it again",
        "| at capacity? | 128 | 2\u{202F}553 | 9.19M | $0.20 |",
        "Cheapest inside the target at 128: $0.20 for a million output tokens",
        "| at most output | 512 | 3\u{202F}451 | 12.4M | $0.14 |",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn machines_and_models_that_nobody_knows_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.md");
    fs::write(&file, "| users | ttft_ms |\n|---|---|\n| 1 | 10 |\n").unwrap();
    let path = file.to_string_lossy().into_owned();
    for flag in ["--gpu", "--model"] {
        let output = run(folder.path(), &["report", &path, flag, "no such thing"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("no such thing"), "{}", stderr(&output));
    }
}

#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn a_base_and_its_8_bit_twin_are_held_against_each_other_at_equal_load() {
    let path = published("003");
    let folder = tempfile::tempdir().unwrap();
    let path = path.to_string_lossy();
    let output = run(folder.path(), &["report", &path, "--format", "md"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let headings = [
        "## Hardware",
        "## Base Model",
        "## Quantized Model",
        "## Quantization Scheme",
        "## Performance Results",
        "### Performance Results for Base Model",
        "## Concurrency Comparison",
        "## TTFT and ITL Comparison",
        "## ITL Degradation Ratio",
        "## Capacity at equal latency",
        "## Conclusion",
    ];
    let places: Vec<Option<usize>> =
        headings.iter().map(|heading| text.find(&format!("\n{heading}\n"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{text}");
    for expect in [
        "int8-dynamic is 1.51× faster at 1 and \\~1.38× at 28.5 requests in flight on average (median ITL)",
        "At median ITL ≤ 30 ms: base \\~13.1, int8-dynamic \\~30.6 requests in flight on average (\\~2.33×)",
        "at ≤ 25 ms \\~4.55 against \\~22.5 (\\~4.95×)",
        "ITL grows 2.35× for int8-dynamic (14.7 ms → 34.5 ms, load 1 → 37.5)",
        "1.78× for base (22.2 ms → 39.6 ms, load 1 → 28.5)",
        "still lower at its highest load",
        "median 34, mean 28.5 (base) and median 44, mean 37.5 (int8-dynamic)",
        "this output is within 8% of requests in flight / TPOT",
        "Possible reason (not measured): activations are quantized anew",
        "| synchronous                     | 11.4 | 11.4      | 115.9   | 124.1   |",
        "| constant (0.3/s served, median) |",
        "| Strategy                        | Per Sec",
    ] {
        assert!(text.contains(expect), "{expect}\n{text}");
    }
    // All requests at once wait for their turn: no load of this sweep makes a first token so late.
    assert!(text.contains("Best TTFT 87.9 ms") && !text.contains("worst 36.1 s"), "{text}");
}

#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn an_announced_grid_is_shown_with_every_figure_missing() {
    let path = published("000");
    let folder = tempfile::tempdir().unwrap();
    let path = path.to_string_lossy();
    let output = run(folder.path(), &["report", &path, "--format", "md"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let workloads = [
        "Random (1500 ⇒ 250)",
        "Random (4000 ⇒ 1000)",
        "Random (1000 ⇒ 1000)",
        "ShareGPT",
        "Edit 10K Characters",
        "Numina Math",
    ];
    let titles = workloads.iter().flat_map(|workload| {
        [100, 50, 1]
            .map(|users| format!("\n| {workload} ({users} Concurrent Requests) | ✗ No CC, CC |"))
    });
    let places: Vec<Option<usize>> = titles.map(|title| text.find(&title)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{text}");
    for expect in [
        "CC against No CC",
        "Not one of 288 announced figures is here",
        "the conditions stand in lines 30, 47, 88 and are taken for all",
        "288 announced figures is here (144 cells, mean and P99 of each)",
        "End-to-End Latency (Mean) and End-to-End Latency (P99) of both conditions",
        "| workload and load | Llama 3.1 8B | Mistral 3.1 24B | GPT OSS 120B | Llama 3.3 70B Int4 |",
    ] {
        assert!(text.contains(expect), "{expect}\n{text}");
    }
}
