//! Results to bytes: terminal tables, JSON, Markdown, HTML.
//!
//! Everything is a pure function from a [`ReportModel`] to text. No statistic is computed here:
//! every number in a report is in the model. Not here: files, terminals and clocks; the caller says
//! how wide its terminal is and whether it shows colors.
#![forbid(unsafe_code)]

mod account;
mod audit;
mod comparison;
mod fitting;
mod format;
mod forms;
mod gate;
mod headline;
mod history;
mod imported;
mod json;
pub mod kind;
mod markdown;
mod media;
mod metric_table;
mod model;
pub mod page;
mod pages;
mod parts;
#[cfg(feature = "schema")]
mod schema;
mod sessions;
mod sglang;
mod shares;
mod sound;
mod steps;
mod style;
mod terminal;
mod ttft_parts;
mod vllm;
mod words;
mod workload_words;

#[cfg(test)]
mod testing;

/// The page of a run.
pub fn run_page(model: &ReportModel) -> page::Page {
    kind::sweep::run(model)
}

/// A run as one HTML file.
pub fn html(model: &ReportModel) -> String {
    page::html(&run_page(model))
}

/// A run as Markdown, without pictures; ends with a line break.
pub fn markdown(model: &ReportModel) -> String {
    page::markdown(&run_page(model), page::Pictures::None)
}

pub use audit::{
    AuditDocument, AuditText, FindingText, audit_json, audit_markdown, audit_terminal, audit_text,
};
pub use comparison::{
    CellText, ComparisonText, RowText, SideText, comparison_json, comparison_markdown,
    comparison_terminal, comparison_text, ranking_json, ranking_markdown, ranking_terminal,
};
pub use fitting::{
    FittingText, fitting_json, fitting_markdown, fitting_terminal, fitting_text, media_rate,
};
pub use format::{
    ABSENT, ascii, bytes, bytes_per_s, command_line, count, flop_per_s, harmless, number, plain,
    span, time, usd,
};
pub use gate::{Undecided, gate_json, gate_junit, gate_markdown, gate_template, gate_terminal};
pub use headline::{headline, request_words, server_words};
pub use history::{Charts, HistoryDocument, history_csv, history_json, history_page};
pub use imported::{ImportedText, RemarkText, imported};
pub use json::{
    RequestLine, ResultDocument, SCHEMA_VERSION, SessionLine, json, request_line, session_line,
};
pub use model::{ReportModel, VllmLines, load_unit};
pub use pages::{LoadLine, audit_page, comparison_page, gate_page, load_figure, ranking_page};
pub use parts::probe_line as bystander;
pub use sglang::sglang;
pub use shares::{share_cell, shares_fields, shares_line};
pub use style::TerminalStyle;
pub use terminal::{
    LevelTable, level_footnote, level_header, level_line, level_table, opening, terminal,
    terminal_answers, terminal_tables, terminal_trust,
};
pub use vllm::vllm;
pub use words::{
    Answer, AnswerTopic, answers, findings, missed_sign, value_and_limit, with_first_requests,
};
pub use workload_words::workload_words;
