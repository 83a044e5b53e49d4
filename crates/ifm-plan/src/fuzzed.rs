//! What the fuzz target and the tests do with the text of a plan: all that `plan check`, `plan slurm` and
//! `plan kubernetes` make of it. Nothing is started.

use super::{
    Journal, Plan, Submission, Words, cells, effects, estimate, groups, manifests, script,
    start_words, words,
};
use std::collections::HashSet;

/// Cells of a plan whose command lines are made.
const CELLS_SHOWN: usize = 200;

/// Number of cells of the plan.
pub fn read(text: &str) -> Result<usize, String> {
    let plan = Plan::parse(text).map_err(|error| error.to_string())?;
    assert!(!plan.head.name.starts_with(['-', '.']), "{:?}", plan.head.name);
    assert!(!plan.head.name.contains(['/', '\\']), "{:?}", plan.head.name);
    let _ = effects(&plan);
    let all = cells(&plan).map_err(|error| error.to_string())?;
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
    Ok(all.len())
}
