//! Comparisons and rankings to text, JSON and Markdown.
//!
//! What is not here: the numbers, which come from [`ifm_compare::comparison`].

mod difference_words;
pub(crate) mod headline;
mod json;
mod markdown;
pub(crate) mod ranking;
mod terminal;
mod text;
pub(crate) mod words;

pub use json::comparison_json;
pub(crate) use json::{
    alone as alone_json, cell as cell_json, differences as differences_json, load as load_json,
    unit as unit_json,
};
pub use markdown::comparison_markdown;
pub(crate) use markdown::differences as differences_markdown;
pub use ranking::{ranking_json, ranking_markdown, ranking_terminal};
pub use terminal::comparison_terminal;
pub(crate) use terminal::differences as differences_terminal;
pub use text::{CellText, ComparisonText, RowText, SideText, comparison_text};
