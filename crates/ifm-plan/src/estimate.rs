//! How long a plan takes and what it costs, as far as that is known before.
//!
//! A load that ends after a number of requests takes as long as the server needs: such a cell counts
//! only once one like it was measured. Nothing is guessed in its place.

use crate::cell::{Cell, CellLoad};
use crate::journal::{Fate, Journal};
use crate::spec::Plan;
use std::collections::BTreeMap;

/// Seconds of a level that says neither requests nor duration; the default of `inferometer run`.
const LEVEL_S: f64 = 20.0;
const SECONDS_PER_HOUR: f64 = 3600.0;

/// Time and money of the cells that are left.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Cells that are left.
    pub cells: usize,
    /// Seconds of those whose time is known, with known starts of servers and the longest waits for
    /// steady temperatures.
    pub seconds: f64,
    /// Seconds of the longest waits for steady temperatures.
    pub settle_s: f64,
    /// Cells whose time is not known.
    pub unknown: usize,
    /// Starts of servers that are left.
    pub starts: usize,
    /// Whether the time of a start is known.
    pub is_start_known: bool,
    /// US dollars of that time; absent without a price.
    pub usd: Option<f64>,
}

/// What is left of a plan after its journal, cells that cannot be tried again apart.
pub fn estimate(plan: &Plan, cells: &[Cell], journal: &Journal) -> Estimate {
    let mut measured: BTreeMap<(Option<usize>, usize, String), Vec<f64>> = BTreeMap::new();
    for cell in cells {
        if let Fate::Done { seconds, .. } = journal.fate(&cell.key) {
            measured.entry(alike(cell)).or_default().push(*seconds);
        }
    }
    let is_left = |cell: &&Cell| journal.next_attempt(&cell.key, plan.head.retries).is_some();
    let left: Vec<&Cell> = cells.iter().filter(is_left).collect();
    let mut estimate = Estimate {
        cells: left.len(),
        seconds: 0.0,
        settle_s: settle_s(plan, &left),
        unknown: 0,
        starts: 0,
        is_start_known: !journal.starts_s.is_empty(),
        usd: None,
    };
    let start_s = mean(&journal.starts_s).unwrap_or(0.0);
    let mut last = None;
    for cell in left {
        let instance = cell.instance(plan);
        let is_ours =
            cell.server.and_then(|index| plan.servers.get(index)?.kind.as_ref()).is_some();
        if is_ours && last.as_ref() != Some(&instance) {
            estimate.starts += 1;
            estimate.seconds += start_s;
        }
        last = Some(instance);
        let before = measured.get(&alike(cell)).and_then(|seconds| mean(seconds));
        match before.or_else(|| planned_s(plan, cell)) {
            Some(seconds) => estimate.seconds += seconds + plan.head.pause_s.unwrap_or(0.0),
            None => estimate.unknown += 1,
        }
    }
    estimate.seconds += estimate.settle_s;
    estimate.usd = plan.head.price.map(|price| price * estimate.seconds / SECONDS_PER_HOUR);
    estimate
}

/// The longest waits after the changes of conditions between these cells, the first setting included.
fn settle_s(plan: &Plan, cells: &[&Cell]) -> f64 {
    let of_condition = |(index, condition): (usize, &crate::spec::Condition)| {
        let settle_s = condition.settle_s?;
        let mut values: Vec<&String> =
            cells.iter().filter_map(|cell| cell.conditions.get(index)).collect();
        values.dedup();
        Some(settle_s * values.len() as f64)
    };
    plan.conditions.iter().enumerate().filter_map(of_condition).sum()
}

/// Cells of one workload and load take about as long.
fn alike(cell: &Cell) -> (Option<usize>, usize, String) {
    (cell.workload, cell.load, format!("{:?}", cell.what))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Seconds that the plan itself says of a cell.
fn planned_s(plan: &Plan, cell: &Cell) -> Option<f64> {
    let load = plan.loads.get(cell.load)?;
    let level_s = match (load.duration_s, load.requests) {
        (Some(seconds), _) => Some(seconds),
        (None, None) => Some(LEVEL_S),
        (None, Some(_)) => None,
    };
    match &cell.what {
        CellLoad::Users(_) | CellLoad::Rate(_) => level_s,
        CellLoad::Sweep(levels) if !levels.contains("..") && levels != "sweep" => {
            level_s.map(|seconds| seconds * levels.split(',').count() as f64)
        }
        CellLoad::Sweep(_) | CellLoad::Capacity(_) | CellLoad::Exec => None,
        CellLoad::StartUp { .. } => Some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, cells};

    #[test]
    fn time_is_known_by_duration_or_once_one_like_it_was_measured() {
        let text = "[plan]\nname = \"p\"\nrepeats = 2\nprice = 36.0\n[[server]]\nname = \"a\"\n\
                    kind = \"embedded\"\n[[workload]]\nworkload = \"8/8\"\n[[load]]\nusers = 1\n\
                    duration = \"30s\"\n[[load]]\nusers = 2\nrequests = 100\n";
        let plan = Plan::parse(text).unwrap();
        let cells = cells(&plan).unwrap();
        let mut journal = Journal::default();
        let before = estimate(&plan, &cells, &journal);
        assert_eq!((before.cells, before.unknown, before.seconds), (4, 2, 60.0));
        assert_eq!((before.starts, before.is_start_known, before.usd), (1, false, Some(0.6)));
        let of_two = cells.iter().find(|c| c.what == CellLoad::Users("2".into())).unwrap();
        let (cell, run) = (of_two.key.clone(), "r".to_owned());
        journal.add(Event::Done { cell, run, seconds: 10.0 });
        journal.add(Event::Started { server: "a".into(), seconds: 5.0, log: String::new() });
        let after = estimate(&plan, &cells, &journal);
        assert_eq!((after.cells, after.unknown, after.seconds), (3, 0, 5.0 + 60.0 + 10.0));
    }
    #[test]
    fn waits_after_each_change_of_a_condition_count() {
        let text = "[plan]\nname = \"p\"\nrepeats = 3\norder = \"interleaved\"\n[[server]]\n\
                    name = \"a\"\nurl = \"http://127.0.0.1:1\"\n[[workload]]\nworkload = \"8/8\"\n\
                    [[load]]\nusers = [1, 8]\nduration = \"10s\"\n[[condition]]\n\
                    name = \"power_limit_w\"\nset = \"power-limit\"\nvalues = [600, 500, 400, 300]\n\
                    settle = \"60s\"\n";
        let plan = Plan::parse(text).unwrap();
        let cells = cells(&plan).unwrap();
        let estimate = estimate(&plan, &cells, &Journal::default());
        // 4 values in each of 3 repeats; 24 levels of 10 s.
        assert_eq!((estimate.settle_s, estimate.seconds), (12.0 * 60.0, 12.0 * 60.0 + 240.0));
    }
}
