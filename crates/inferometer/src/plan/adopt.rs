//! Runs of cells that a killed process had finished and not yet recorded.

use super::{Experiment, files};
use crate::exit::Failure;
use ifm_core::Metric;
use ifm_core::RunState;
use ifm_core::sheet::Statistic;
use ifm_plan::{Event, Fate, Journal};
use std::collections::BTreeMap;

const NS_PER_S: f64 = 1e9;
const MS_PER_S: f64 = 1e3;

/// The events that the journal lacks: cells that it records as begun, for which the store has a
/// complete run. The latest one counts.
///
/// # Errors
/// The store cannot be read.
pub fn missing_events(of: &Experiment, journal: &Journal) -> Result<Vec<Event>, Failure> {
    let is_begun = |key: &str| matches!(journal.fate(key), Fate::Begun { .. });
    if !of.cells.iter().any(|cell| is_begun(&cell.key)) {
        return Ok(Vec::new());
    }
    let mut found = BTreeMap::new();
    // Newest first: the first match is the latest.
    for entry in of.store.list().map_err(files)? {
        let Ok(manifest) = entry.manifest else { continue };
        let Some(place) = manifest.plan.filter(|place| place.plan == of.plan.head.name) else {
            continue;
        };
        if manifest.state == RunState::Complete && is_begun(&place.cell) {
            let end_ns = manifest.levels.iter().map(|level| level.end_ns).max().unwrap_or(0);
            found.entry(place.cell).or_insert((entry.id, end_ns as f64 / NS_PER_S));
        }
    }
    for id in of.store.import_ids().map_err(files)? {
        let Ok(import) = of.store.find_import(&id) else { continue };
        let Some(place) = import.plan.filter(|place| place.plan == of.plan.head.name) else {
            continue;
        };
        if is_begun(&place.cell) {
            let times =
                import.sheets.iter().flat_map(|sheet| &sheet.parts).flat_map(|part| &part.rows);
            let ms = times.filter_map(|row| row.value(Metric::Duration, Statistic::Value));
            let seconds = ms.sum::<f64>() / MS_PER_S;
            found.entry(place.cell).or_insert((import.id, seconds));
        }
    }
    let event = |(cell, (run, seconds))| Event::Done { cell, run, seconds };
    Ok(found.into_iter().map(event).collect())
}
