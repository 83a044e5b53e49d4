//! What a preview tells.
use std::fs;

use crate::tokenizer;
use ifm_workload::{OpenedWorkload, WorkloadRequest, open, preview};

fn opened(text: &str) -> OpenedWorkload {
    open(&WorkloadRequest::new(text, 3), &tokenizer()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn unique_prompts_are_told_apart() {
    let workload = opened("random:200-300/5");
    let preview = preview(workload.dataset.as_ref(), 500).unwrap();
    assert_eq!((preview.items, preview.distinct_prompts, preview.items_all), (500, 500, None));
    assert_eq!(preview.shared_prefix_share, Some(0.0));
    assert_eq!(preview.prompt_lengths.count(), 500);
    assert!(preview.prompt_lengths.min_tokens() >= Some(200));
    assert_eq!(preview.output_lengths.iter().collect::<Vec<_>>(), [(5, 500)]);
    assert_eq!(preview.samples.len(), 5);
    let sample = &preview.samples[0];
    assert_eq!(
        (sample.id, sample.turns, sample.output_tokens, sample.is_cut),
        (0, 1, Some(5), true)
    );
    assert_eq!(sample.text.chars().count(), 400);
    let json = serde_json::to_value(&preview).unwrap();
    assert_eq!(json["output_lengths"], serde_json::json!([[5, 500]]));
}

#[test]
fn shared_beginnings_are_measured() {
    for (text, share) in [
        ("random:1000/5?prefix=500", 0.5),
        ("random:100/5?prefix=100", 1.0),
        ("prefix-repetition:1000/5?hit=0.25&prefixes=2", 0.25),
    ] {
        let workload = opened(text);
        let preview = preview(workload.dataset.as_ref(), 200).unwrap();
        let found = preview.shared_prefix_share.unwrap();
        assert!((found - share).abs() < 0.1, "{text}: {found}");
        let distinct = if share == 1.0 { 1 } else { 200 };
        assert_eq!(preview.distinct_prompts, distinct, "{text}");
    }
}

#[test]
fn what_ends_is_looked_at_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    let rows = [
        "{\"prompt\":\"one\"}",
        "{\"prompt\":\"two\"}",
        "{\"prompt\":\"one\"}",
        "{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"u\"}]}",
    ];
    fs::write(&path, rows.join("\n")).unwrap();
    let workload = opened(&format!("custom:{}", path.display()));
    let found = preview(workload.dataset.as_ref(), 100).unwrap();
    assert_eq!((found.items, found.items_all, found.distinct_prompts), (4, Some(4), 3));
    assert_eq!(workload.dataset.distinct_items(), 2);
    assert_eq!(found.samples[0].text, "one");
    assert_eq!(
        (found.samples[3].text.as_str(), found.samples[3].is_cut),
        ("system: s\nuser: u", false)
    );
    let turns = opened("random:20/5?turns=3&turn_tokens=7");
    let found = preview(turns.dataset.as_ref(), 10).unwrap();
    assert_eq!(found.turns.iter().collect::<Vec<_>>(), [(3, 10)]);
    assert_eq!(found.prompt_lengths.iter().collect::<Vec<_>>(), [(7, 20), (20, 10)]);
    let ids = opened("random-ids:500/5");
    let found = preview(ids.dataset.as_ref(), 2).unwrap();
    assert!(found.samples[0].text.split_whitespace().all(|id| id.parse::<u32>().is_ok()));
    assert_eq!(found.span_ns, None);
}
