//! The sessions of each level, below the table of levels.
//!
//! Not here: a single level, whose sessions are described in lines (`single`).

use super::{Color, TerminalStyle};
use crate::ReportModel;
use crate::model::load;
use crate::sessions::{HEADS, row};

/// Which columns of the table, in their order: the terminal has no room for all.
const SHOWN: [&str; 8] =
    ["begun", "complete", "failed", "p50", "p90", "per hour", "ideal hits", "told hits"];
/// What they are called here, where that is shorter.
const SHORT: [(&str, &str); 2] = [("ideal hits", "ideal"), ("told hits", "cached")];

/// The table, each line ended; empty where requests are independent.
pub(super) fn table(model: &ReportModel, style: &TerminalStyle) -> String {
    let rows: Vec<(String, [String; 11])> = model
        .summary
        .levels_by_load()
        .into_iter()
        .filter_map(|level| Some((load(level.load()), row(level)?)))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let line = |first: &str, cells: &[&str]| {
        let mut line = format!("{:>6}", style.text(first));
        cells.iter().for_each(|cell| line.push_str(&format!("{:>10}", style.text(cell))));
        line
    };
    let short = |head: &'static str| {
        SHORT.into_iter().find(|(long, _)| *long == head).map_or(head, |(_, short)| short)
    };
    let head = line(model.load_unit(), &SHOWN.map(short));
    let mut out = format!("\n{}  sessions\n", style.paint(Color::Bold, &head));
    for (first, cells) in &rows {
        let of = |head: &str| {
            let place = HEADS.iter().position(|known| *known == head);
            place.and_then(|place| cells.get(place)).map_or("", String::as_str)
        };
        out.push_str(&line(first, &SHOWN.map(of)));
        out.push('\n');
    }
    out
}
