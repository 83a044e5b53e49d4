//! Results other than reports as pages: what a comparison, a gate, a ranking or an audit found,
//! drawn and in tables, with the words and numbers of its other formats.
//!
//! Not here: the numbers, and the kinds of reports (`kind`).

mod audit;
mod changes;
mod comparison;
mod curves;
mod gate;
mod limits;
mod ranking;
mod sides;

pub use audit::audit_page;
pub use comparison::comparison_page;
pub use gate::gate_page;
pub use limits::{LoadLine, load_figure};
pub use ranking::ranking_page;

use crate::format::command_line;
use crate::page::{Block, Remark, Section};
use ifm_chart::{GREY, Mark};
use ifm_compare::comparison::Verdict;
use ifm_rules::insight::{Tone, Topic};

/// Colors from the palette: green and orange, which differ for every color vision.
const GREEN: u8 = 2;
const ORANGE: u8 = 1;
/// Blue, for the error of a prediction, which is neither.
const BLUE: u8 = 0;

/// Color and mark of a verdict.
fn look(verdict: Verdict) -> (u8, Mark) {
    match verdict {
        Verdict::Better => (GREEN, Mark::Circle),
        Verdict::Worse => (ORANGE, Mark::Square),
        Verdict::PredictedAbove | Verdict::PredictedBelow => (BLUE, Mark::Diamond),
        Verdict::NoRelevantDifference => (GREY, Mark::Diamond),
        Verdict::NoDifferenceShown => (GREY, Mark::Triangle),
        Verdict::Inconclusive => (GREY, Mark::Circle),
    }
}

/// The line at the end of each page.
fn footer() -> Vec<String> {
    vec![format!("made by inferometer {}", env!("CARGO_PKG_VERSION"))]
}

/// A sentence of a summary.
fn remark(rule: &'static str, tone: Tone, text: String) -> Remark {
    let topic = Topic::Summary;
    Remark { rule, topic, tone, text, numbers: Vec::new(), is_hypothesis: false }
}

/// The command that wrote a page.
fn written_by(command: &[String]) -> Vec<Block> {
    match command {
        [] => Vec::new(),
        words => vec![
            Block::Prose("This page was written by".to_owned()),
            Block::Pre(command_line(words)),
        ],
    }
}

/// Where the numbers of a page come from.
fn provenance(blocks: Vec<Block>) -> Section {
    Section::new("Where the numbers come from", blocks)
}
