//! `inferometer export RUN --as sessions-parquet`: the sessions of a run as a table.
//!
//! A derived table, computed on request and never stored with the run. Not here: what a session is
//! (`ifm-metrics`), and its JSON lines (`ifm-report`).

use crate::exit::{Code, Failure};
use crate::terminal;
use ifm_core::RunData;
use ifm_metrics::level::Session;
use ifm_store::{TableCells, TableColumn, write_table_file};
use std::path::Path;

/// The word of the format.
pub const SESSIONS_PARQUET: &str = "sessions-parquet";

const NS_PER_S: f64 = 1e9;

fn seconds(ns: u64) -> Option<f64> {
    Some(ns as f64 / NS_PER_S)
}

/// A column: its name, and its value in a session.
type Column = (&'static str, fn(&Session) -> Option<f64>);

/// The numbers of a session, by their names in the lines of `--json=sessions`.
const COLUMNS: [Column; 18] = [
    ("session", |session| Some(f64::from(session.session))),
    ("level", |session| Some(f64::from(session.level))),
    ("item", |session| Some(f64::from(session.item))),
    ("agents", |session| Some(f64::from(session.agents))),
    ("turns_asked", |session| session.turns_asked.map(|turns| turns as f64)),
    ("sent", |session| Some(session.sent as f64)),
    ("ok", |session| Some(session.ok as f64)),
    ("failed", |session| Some(session.failed as f64)),
    ("start_s", |session| seconds(session.start_ns)),
    ("end_s", |session| seconds(session.end_ns)),
    ("duration_s", |session| seconds(session.duration_ns())),
    ("complete_s", |session| session.complete_ns().and_then(seconds)),
    ("in_requests_s", |session| seconds(session.busy_ns)),
    ("waiting_s", |session| seconds(session.waiting_ns())),
    ("prompt_tokens", |session| session.prompt_tokens.map(|tokens| tokens as f64)),
    ("output_tokens", |session| session.output_tokens.map(|tokens| tokens as f64)),
    ("ideal_cached_share", |session| session.ideal.share()),
    ("cached_share", |session| session.told.share()),
];

/// Writes the table.
///
/// # Errors
/// A run without sessions, or a file that cannot be written.
pub fn write(run: &RunData, out: &Path) -> Result<Code, Failure> {
    let summary = ifm_metrics::summarize(run);
    let of_levels = summary.levels.iter().filter_map(|level| level.sessions.as_deref());
    let sessions: Vec<&Session> = of_levels.flat_map(|sessions| &sessions.each).collect();
    if sessions.is_empty() {
        return Err(Failure::usage("no request of this run belongs to a session")
            .hint("only workloads of conversations have sessions"));
    }
    let numbers = COLUMNS.iter().map(|(name, read)| TableColumn {
        name: (*name).to_owned(),
        cells: TableCells::Numbers(sessions.iter().map(|session| read(session)).collect()),
    });
    let ends = sessions.iter().map(|session| session.end.map(|end| end.word().to_owned()));
    let end = TableColumn { name: "end".to_owned(), cells: TableCells::Texts(ends.collect()) };
    let columns: Vec<TableColumn> = numbers.chain([end]).collect();
    let path = if out.is_dir() { out.join("sessions.parquet") } else { out.to_owned() };
    write_table_file(&path, &columns).map_err(|error| Failure::files(error.to_string()))?;
    terminal::say(&format!("wrote {}", path.display()));
    Ok(Code::Done)
}
