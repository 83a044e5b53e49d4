//! A plan as one JSON document: its cells, the state of each, and the remaining work.

use super::Experiment;
use super::conditions::{Obstacle, obstacles};
use crate::secrets::mask_words;
use ifm_plan::{Effect, Fate, Journal, effects, estimate};
use serde::Serialize;
use std::collections::BTreeMap;

/// What `plan check`, `run`, `resume`, `show` and `collect` write with `--json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanDocument {
    /// What the document is.
    #[cfg_attr(test, schemars(extend("const" = "inferometer_plan")))]
    kind: &'static str,
    /// Name of the plan.
    name: String,
    /// Its cells, in the order in which they run.
    cells: Vec<CellRow>,
    /// What it does with the user's permissions in addition to sending load: commands, variables, files
    /// outside the store.
    effects: Vec<EffectRow>,
    /// Conditions that cannot be set on this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    obstacles: Vec<Obstacle>,
    /// The remaining work.
    left: Left,
}

/// Something that the plan does with the user's permissions.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EffectRow {
    /// `runs`, `sets`, `writes` or `sends`.
    deed: &'static str,
    /// Words of a command, or what is set, written or sent; secrets are masked.
    words: Vec<String>,
    /// The part of the plan that requests it.
    by: String,
}

/// A cell.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CellRow {
    /// Key, derived from all settings of the cell.
    key: String,
    /// The cell as text.
    label: String,
    /// The settings of the cell: server, parameters, conditions, workload, load.
    factors: BTreeMap<String, String>,
    /// Number of the repeat, from 1.
    repeat: u32,
    /// Number of the cluster task that measures it, from 0: cells of a task share a server.
    task: usize,
    /// Its state.
    state: State,
    /// Id of its run or import in the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// Duration in seconds, without starts of servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    /// Tries of a failed cell so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    tries: Option<u32>,
    /// Why the last try failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The command that measures it; URL is a placeholder for that of a server that the plan
    /// starts.
    command: String,
}

/// State of a cell.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum State {
    /// Nothing yet.
    Open,
    /// It was started, and its end is unknown.
    Begun,
    /// Measured.
    Done,
    /// Not measured.
    Failed,
}

/// The remaining work.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Left {
    /// Cells that remain to be measured.
    cells: usize,
    /// Number of these cells whose duration is unknown before a similar one has been measured.
    cells_of_unknown_length: usize,
    /// Cells that failed and have no try left; `plan resume` tries them again.
    failed: usize,
    /// Starts of servers.
    starts: usize,
    /// Seconds of all cells whose duration is known, with the longest waits for steady temperatures.
    seconds: f64,
    /// The part of these seconds that is the longest waits for steady temperatures.
    settle_seconds: f64,
    /// US dollars for that time, if the plan has a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    usd: Option<f64>,
}

impl EffectRow {
    fn of(effect: Effect) -> EffectRow {
        let (deed, words) = (effect.deed.word(), mask_words(&effect.words));
        EffectRow { deed, words, by: effect.by }
    }
}

impl PlanDocument {
    /// The document of a plan and its journal.
    pub fn new(of: &Experiment, journal: &Journal) -> PlanDocument {
        let tasks = of.groups.iter().enumerate();
        let task_of: Vec<usize> =
            tasks.flat_map(|(task, group)| group.cells.clone().map(move |_| task)).collect();
        let row = |(index, cell): (usize, &ifm_plan::Cell)| {
            let (mut run, mut seconds, mut tries, mut reason) = (None, None, None, None);
            let state = match journal.fate(&cell.key).clone() {
                Fate::Open => State::Open,
                Fate::Begun { .. } => State::Begun,
                Fate::Done { run: id, seconds: took } => {
                    (run, seconds) = (Some(id), Some(took));
                    State::Done
                }
                Fate::Failed { attempts, reason: why, .. } => {
                    (tries, reason) = (Some(attempts), Some(why));
                    State::Failed
                }
            };
            CellRow {
                key: cell.key.clone(),
                label: cell.label(&of.plan),
                factors: cell.factors(&of.plan).into_iter().collect(),
                repeat: cell.repeat,
                task: task_of.get(index).copied().unwrap_or(0),
                state,
                run,
                seconds,
                tries,
                reason,
                command: super::text::command(of, cell),
            }
        };
        let left = estimate(&of.plan, &of.cells, journal);
        let is_failed = |cell: &&ifm_plan::Cell| {
            matches!(journal.fate(&cell.key), Fate::Failed { .. })
                && journal.next_attempt(&cell.key, of.plan.head.retries).is_none()
        };
        PlanDocument {
            kind: "inferometer_plan",
            name: of.plan.head.name.clone(),
            cells: of.cells.iter().enumerate().map(row).collect(),
            effects: effects(&of.plan).into_iter().map(EffectRow::of).collect(),
            obstacles: obstacles(&of.plan.conditions),
            left: Left {
                cells: left.cells,
                cells_of_unknown_length: left.unknown,
                failed: of.cells.iter().filter(is_failed).count(),
                starts: left.starts,
                seconds: left.seconds,
                settle_seconds: left.settle_s,
                usd: left.usd,
            },
        }
    }
}
