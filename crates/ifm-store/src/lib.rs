//! The run folder: where the results of a run live and how they survive.
//!
//! A run is a folder `<store>/<run id>/`. While it is written it holds `manifest.json` (the head,
//! replaced as a whole) and `requests.journal` (one framed record per finished request, only ever
//! added to). Sealing turns the journal into `requests.parquet` and `series.parquet`, which any
//! Parquet reader opens, and takes the journal away. A process that is killed loses no request
//! that had finished; a machine that loses its power loses about the last second.
//!
//! A live writer holds an advisory lock on its journal, so that no other process seals or removes
//! a run that is still written. Files are made with the rights that the user's umask gives, since keys never
//! reach this crate; files of a plan, and of a run that keeps the texts of answers, can be read by the user only.
//!
//! Not here: what the numbers mean (`ifm-metrics`), how they look (`ifm-report`), other tools'
//! formats, and clocks. Where time matters the caller hands it in.
#![forbid(unsafe_code)]

mod disk;
mod error;
#[cfg(test)]
mod full_disk_tests;
mod imports;
mod journal;
mod labels;
mod load;
mod manifest_file;
mod plan_folder;
mod run_entry;
mod run_id;
mod run_writer;
mod seal;
mod sheet_file;
mod single_file;
mod store;
mod table;
mod tags;

pub use error::{FindError, StoreError};
pub use ifm_core::tag::NAME_LENGTH_MAX;
pub use imports::Import;
pub use journal::{JournalLoss, RunFollower};
pub use load::{LoadedRun, RequestBatches};
pub use plan_folder::{PlanFolder, PlanJournal};
pub use run_entry::RunEntry;
pub use run_id::new_run_id;
pub use run_writer::RunWriter;
pub use seal::SealedRun;
pub use sheet_file::{
    TableCells, TableColumn, read_sheet_file, write_sheet_file, write_table_file,
};
pub use single_file::{is_parquet, read_single_file, write_single_file};
pub use store::Store;
pub use table::column_names;
pub use tags::{TAG_LENGTH_MAX, TAGS_FILE, TAGS_MAX, check_tags};

/// Name of the head of a run within its folder.
pub const MANIFEST_FILE: &str = "manifest.json";
/// Name of the file that requests are written to until the run is sealed.
pub const JOURNAL_FILE: &str = "requests.journal";
/// Name of the file with one row per request in a sealed run.
pub const REQUESTS_FILE: &str = "requests.parquet";
/// Name of the file with one row per sampled quantity in a sealed run; absent if none was sampled.
pub const SERIES_FILE: &str = "series.parquet";
/// Name of the one file of an import.
pub const IMPORT_FILE: &str = "import.json";
