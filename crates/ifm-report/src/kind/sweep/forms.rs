//! The section of a run about answers that are to have a form.
//!
//! Not here: its rows and its lines, which the terminal shows too (`parts`, `forms`).

use crate::ReportModel;
use crate::model::load_words;
use crate::page::{Block, Cell, Head, Section, Table};
use ifm_metrics::LevelSummary;

/// The forms of each level; absent where all answers are free.
pub(super) fn section(model: &ReportModel) -> Option<Section> {
    let levels = model.summary.levels_by_load().into_iter().filter(|level| level.forms.is_some());
    let of_level = |level: &LevelSummary| {
        let heads = crate::parts::heads("form", level.latencies.gap_label.short());
        let table = Table {
            caption: format!(
                "Structured answers at {}, with the share asked for.",
                load_words(level.load())
            ),
            heads: heads.into_iter().map(Head::number).collect(),
            rows: crate::parts::forms(level)
                .into_iter()
                .map(|row| row.into_iter().map(Cell::text).collect())
                .collect(),
        };
        [Block::Table(table), Block::List(crate::forms::lines(level))]
    };
    let blocks: Vec<Block> = levels.flat_map(of_level).collect();
    (!blocks.is_empty()).then(|| Section::new("Structured answers", blocks))
}
