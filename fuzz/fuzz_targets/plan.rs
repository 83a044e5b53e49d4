//! Plans: what `plan check`, `plan slurm` and `plan kubernetes` make of a text. Nothing is started.
#![no_main]

use ifm_plan::{Journal, Plan, Submission, Words, cells, effects, estimate, groups, manifests, script};
use ifm_plan::{start_words, words};
use std::collections::HashSet;

/// Cells of a plan whose command lines are made.
const CELLS_SHOWN: usize = 200;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(plan) = Plan::parse(text) else { return };
    assert!(!plan.head.name.starts_with(['-', '.']), "{:?}", plan.head.name);
    assert!(!plan.head.name.contains(['/', '\\']), "{:?}", plan.head.name);
    let _ = effects(&plan);
    let Ok(all) = cells(&plan) else { return };
    let together = groups(&plan, &all);
    let covered: usize = together.iter().map(|group| group.cells.len()).sum();
    assert_eq!(covered, all.len(), "each cell belongs to one group");
    let with = Words { url: "http://127.0.0.1:1", attempt: 1, is_fresh: false };
    let mut keys = HashSet::new();
    for cell in all.iter().take(CELLS_SHOWN) {
        assert!(keys.insert(cell.key.clone()), "two cells have the key {}", cell.key);
        let _ = (words(&plan, cell, with), start_words(&plan, cell), cell.label(&plan));
    }
    let _ = estimate(&plan, &all, &Journal::read(""));
    let _ = manifests(&plan, text, together.len());
    let numbers: Vec<usize> = (0..together.len()).collect();
    let submission = Submission {
        program: "inferometer",
        plan_file: "plan.toml",
        store: "runs",
        logs: "logs",
        groups: &numbers,
    };
    let _ = script(&plan, submission);
});
