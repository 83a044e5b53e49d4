//! Results one after the other, and results of one server at several loads: `history` and `capacity`.

use super::count::{Share, Sum, counted, seed};
use super::file::{Result as File, TTFT_S};
use super::law::Law;
use super::program::ClaimError;
use std::path::Path;

/// Users of each result of a history.
const USERS: usize = 8;
/// Results of a history, and how many of them come before a change.
const NIGHTS: (usize, usize) = (16, 10);
/// Users of the levels whose capacity is asked for. The times grow with the root of them.
const LEVELS: [usize; 5] = [2, 4, 8, 16, 32];
/// The capacity: the target lies halfway between this level and the next.
const TRUTH: u64 = 16;

/// States of a series that say that something changed.
const STATEMENTS: [&str; 4] = ["worse", "better", "small", "outside"];

/// What came of histories.
#[derive(Debug, Clone, Copy, Default)]
pub struct Histories {
    /// `history` says that some series changed.
    pub changes: Share,
    /// `history` says that the median TTFT became worse.
    pub found: Share,
}

impl Sum for Histories {
    fn sum(&mut self, other: Histories) {
        self.changes.sum(other.changes);
        self.found.sum(other.found);
    }
}

/// Looks at `count` histories of results, of which the last ones are `factor` times as slow. Files go
/// below `folder`.
///
/// # Errors
/// When a file cannot be written, or the program writes something else than its schema.
pub fn histories(
    program: &Path,
    folder: &Path,
    (law, requests, factor): (Law, usize, f64),
    count: u32,
) -> Result<Histories, ClaimError> {
    counted(program, folder, count, |program, trial, found: &mut Histories| {
        let mut words = vec!["history".to_owned()];
        for night in 0..NIGHTS.0 {
            let factor = if night < NIGHTS.1 { 1.0 } else { factor };
            let seed = seed(trial, 2, night as u32);
            let file = File { law, seed, requests, failed: 0, users: USERS, factor };
            let name = format!("night-{night:02}.json");
            program.write(&name, &file.document(24 * night))?;
            words.push(name);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let document = program.json(&words)?;
        let series = document["series"].as_array().filter(|all| !all.is_empty());
        let series =
            series.ok_or_else(|| program.unexpected(&words, "no series", &document.to_string()))?;
        // A change that the series leaves undecided is listed, and no statement.
        let says_change = |one: &serde_json::Value| {
            one["state"].as_str().is_some_and(|state| STATEMENTS.contains(&state))
        };
        found.changes.add(series.iter().any(says_change));
        let median = series.iter().find(|one| one["metric"] == "ttft.p50");
        found.found.add(median.is_some_and(|one| one["state"] == "worse"));
        Ok(())
    })
}

/// What came of capacities.
#[derive(Debug, Clone, Copy, Default)]
pub struct Capacities {
    /// The largest level inside and the smallest outside are the true ones.
    pub right: Share,
    /// A level is reported as inside that is not, or the other way around.
    pub wrong: Share,
}

impl Sum for Capacities {
    fn sum(&mut self, other: Capacities) {
        self.right.sum(other.right);
        self.wrong.sum(other.wrong);
    }
}

/// Asks `count` folders of results at several loads for their capacity. Files go below `folder`.
///
/// # Errors
/// When a file cannot be written, or the program writes something else than its schema.
pub fn capacities(
    program: &Path,
    folder: &Path,
    (law, requests): (Law, usize),
    count: u32,
) -> Result<Capacities, ClaimError> {
    let factor = |users: u64| (users as f64 / USERS as f64).sqrt();
    let halfway = (factor(TRUTH) * factor(2 * TRUTH)).sqrt();
    let limit_ms = 1e3 * TTFT_S * halfway * law.percentile(99.0);
    let target = format!("--slo=ttft:p99<{limit_ms:.6}ms");
    counted(program, folder, count, |program, trial, found: &mut Capacities| {
        for (place, users) in (0u32..).zip(LEVELS) {
            let (seed, factor) = (seed(trial, 3, place), factor(users as u64));
            let file = File { law, seed, requests, failed: 0, users, factor };
            program
                .write(&format!("levels/level-{users:02}.json"), &file.document(place as usize))?;
        }
        let words = ["capacity", "levels", &target];
        let document = program.json(&words)?;
        let curve = document["curves"]
            .get(0)
            .ok_or_else(|| program.unexpected(&words, "no curve", &document.to_string()))?;
        let users = |name: &str| curve[name]["users"].as_u64();
        let (inside, outside) = (users("inside"), users("outside"));
        found.right.add(inside == Some(TRUTH) && outside == Some(2 * TRUTH));
        let is_sure = curve["is_sure"] == true;
        let is_false = inside.is_some_and(|users| users > TRUTH)
            || outside.is_some_and(|users| users <= TRUTH);
        found.wrong.add(is_sure && is_false);
        Ok(())
    })
}
