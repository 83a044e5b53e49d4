//! Pages of made-up results, for the tests of kinds.

use super::{Kind, Subject};
use crate::ReportModel;
use crate::page::Page;
use ifm_compare::comparison::ResultsEvidence;
use ifm_core::Sheet;
use ifm_results::{Point, Results, Source};
use ifm_rules::insight::{Question, insights};

/// What a page is made of.
#[derive(Default)]
pub(crate) struct Shown<'a> {
    pub runs: &'a [ReportModel],
    pub sheets: &'a [Sheet],
    /// Points in addition to the points of runs and sheets.
    pub points: Results,
    /// The word of a kind; without one it is recognised.
    pub kind: Option<&'static str>,
    /// Whether the page knows what the checks say of the sheets.
    pub is_audited: bool,
}

impl Shown<'_> {
    /// The word of the kind, and its page after what is asked.
    pub fn draw(self, ask: impl FnOnce(&mut Question)) -> (&'static str, Page) {
        let Shown { runs, sheets, points: mut results, kind, is_audited } = self;
        for run in runs {
            results.extend(Results::of_run(&run.manifest, &run.summary));
        }
        results.extend(Results::of_sheets(sheets));
        let results = results.with_sides(&[]);
        let evidence = ResultsEvidence::new(runs.iter().map(|run| run.evidence.clone()), sheets);
        let mut question = Question { evidence: &evidence, ..Question::new(&results) };
        ask(&mut question);
        let insights = insights(&question);
        let audit = ifm_rules::audit::audit(&ifm_rules::audit::Subject::new(sheets));
        let audit = is_audited.then_some(&audit);
        let subject = Subject { runs, sheets, question, insights: &insights, audit, title: None };
        let kind = match kind {
            Some(word) => Kind::from_word(word),
            None => Kind::recognise(&subject),
        };
        let kind = kind.expect("a kind");
        (kind.word, kind.page(&subject))
    }
}

/// Points of one document.
pub(crate) fn results(name: &str, points: Vec<Point>) -> Results {
    Results { sources: vec![Source::of_document(name)], points }
}
