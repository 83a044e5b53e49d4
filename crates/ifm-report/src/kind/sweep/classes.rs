//! The section of a run about the classes of its traffic.
//!
//! Not here: its rows, which the terminal shows too (`parts`).

use crate::ReportModel;
use crate::model::load_words;
use crate::page::{Block, Cell, Head, Section, Table};
use ifm_metrics::LevelSummary;

/// The classes of mixed traffic of each level; absent for one workload alone.
pub(super) fn section(model: &ReportModel) -> Option<Section> {
    let levels = model
        .summary
        .levels_by_load()
        .into_iter()
        .filter(|level| !level.classes.is_empty() || level.probe.is_some());
    let table = |level: &LevelSummary| {
        let heads = crate::parts::heads("class", level.latencies.gap_label.short());
        Block::Table(Table {
            caption: format!("Classes at {}, with the share asked for.", load_words(level.load())),
            heads: heads.into_iter().map(Head::number).collect(),
            rows: crate::parts::classes(level)
                .into_iter()
                .map(|row| row.into_iter().map(Cell::text).collect())
                .collect(),
        })
    };
    let blocks: Vec<Block> = levels
        .flat_map(|level| {
            let line =
                crate::parts::probe_line(level).map(|line| Block::Prose(format!("Probe: {line}.")));
            [Some(table(level)), line].into_iter().flatten()
        })
        .collect();
    (!blocks.is_empty()).then(|| Section::new("Classes of the traffic", blocks))
}
