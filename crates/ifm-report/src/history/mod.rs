//! Histories as a page, as JSON and as CSV.
//!
//! What is not here: what is found in them (`ifm_compare::history`), and how a page is drawn.

mod chart;
mod csv;
mod json;
mod page;
mod words;

pub use csv::history_csv;
pub use json::{HistoryDocument, history_json};
pub use page::{Charts, history_page};
