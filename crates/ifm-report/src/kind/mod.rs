//! The kinds of report: each makes a page of what was measured.
//!
//! One folder or file per kind, one line in `KINDS`. A kind decides sections, charts and tables;
//! numbers come from the results, sentences from the insights. Not here: how a page is drawn.

mod answers;
pub(crate) mod common;
mod cumulative;
mod grid;
mod limit;
mod matrix;
mod note;
mod prediction;
mod reading;
mod scenario;
mod start_up;
pub(crate) mod sweep;
mod target;
#[cfg(test)]
mod testing;
mod variant;

pub use note::kernel_overview;

use crate::ReportModel;
use crate::page::Page;
use ifm_core::Sheet;
use ifm_rules::audit::Audit;
use ifm_rules::insight::{Insight, Question};

/// What a report is about.
#[derive(Debug)]
pub struct Subject<'a> {
    /// inferometer's runs, in the order in which they were named.
    pub runs: &'a [ReportModel],
    /// Documents of other tools.
    pub sheets: &'a [Sheet],
    /// All their points, and what the user asks of them.
    pub question: Question<'a>,
    /// What the rules say, the most important first.
    pub insights: &'a [Insight],
    /// What is wrong with the documents; absent where there are none.
    pub audit: Option<&'a Audit>,
    /// Title that the user gave.
    pub title: Option<&'a str>,
}

/// A kind of report.
pub struct Kind {
    /// Word on the command line and in files.
    pub word: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    fits: fn(&Subject) -> bool,
    page: fn(&Subject) -> Page,
}

/// Every kind, the most particular first; the last one fits everything.
pub const KINDS: &[Kind] =
    &[note::KIND, grid::KIND, variant::KIND, matrix::KIND, scenario::KIND, sweep::KIND];

impl Kind {
    /// The kind of a word.
    pub fn from_word(word: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.word == word)
    }

    /// The kind that what was measured asks for.
    pub fn recognise(subject: &Subject) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| (kind.fits)(subject))
    }

    /// The page, with how its documents were read; answers that a document's own contradictions
    /// take back are struck out, and sentences about the same lose their praise.
    pub fn page(&self, subject: &Subject) -> Page {
        let mut page = (self.page)(subject);
        if let Some(title) = subject.title {
            let own = std::mem::replace(&mut page.title, crate::format::plain(title));
            // What was measured stays on the page.
            if own != page.title && !own.is_empty() {
                page.facts.insert(0, own);
            }
        }
        let simulated = prediction::simulated(subject.runs);
        simulated.filter(|fact| !page.facts.contains(fact)).into_iter().for_each(|fact| {
            page.facts.insert(0, fact);
        });
        page.banners.splice(0..0, prediction::banners(subject));
        page.conditions.extend(common::measured(subject.runs));
        page.tiles.splice(0..0, prediction::tile(subject));
        // Behind the first chapter, which is what was measured.
        if let Some(section) = prediction::section(subject) {
            page.sections.insert(page.sections.len().min(1), section);
        }
        page.sections.extend(start_up::section(subject));
        page.sections.extend(reading::section(subject));
        if let Some(audit) = subject.audit {
            let strike = |tile: crate::page::Tile| common::strike(audit, tile);
            page.tiles = page.tiles.into_iter().map(strike).collect();
            page.for_each_remark(&mut |remark| common::doubt(audit, remark));
        }
        page
    }
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word)
    }
}
