//! The sentences of a document, with their positions.
//!
//! Not here: what rules look for in them.

use super::{Cell, Subject};
use ifm_core::sheet::RowRole;
use std::collections::BTreeSet;

/// Characters of a sentence that are shown.
const SHOWN: usize = 120;

/// A sentence of a document. Several figures of one sentence are one.
#[derive(Debug)]
pub(super) struct Sentence<'c> {
    /// As it was written.
    pub text: &'c str,
    /// In small letters, with single spaces and plain hyphens.
    pub lower: String,
    /// The first row that it gave.
    pub cell: &'c Cell<'c>,
}

/// All sentences of the documents, each once.
pub(super) fn sentences<'s>(subject: &'s Subject<'s>) -> Vec<Sentence<'s>> {
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut found = Vec::new();
    for cell in subject.cells(RowRole::Stated) {
        let Some(text) = cell.row.text.as_deref() else { continue };
        if seen.insert((&cell.sheet.source.name, text)) {
            found.push(Sentence { text, lower: plain(text), cell });
        }
    }
    found
}

fn plain(text: &str) -> String {
    let lower = text.to_lowercase().replace(['\u{2010}', '\u{2011}'], "-").replace('\u{2019}', "'");
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Sentence<'_> {
    /// Whether it holds one of these words or phrases.
    pub fn says(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.lower.contains(phrase))
    }

    /// The sentence for a finding, cut where it is long.
    pub fn shown(&self) -> String {
        let mut shown: String = self.text.chars().take(SHOWN).collect();
        if shown.len() < self.text.len() {
            shown.push('…');
        }
        shown.replace('\n', " ")
    }
}
