//! The reports of runs and imports, in the one place where this crate asks for them.

use ifm_compare::comparison::ResultsEvidence;
use ifm_core::{RunData, Sheet};
use ifm_report::ReportModel;
use ifm_report::kind::{Kind, Subject};
use ifm_results::Results;
use ifm_rules::audit::{Subject as Audited, audit};
use ifm_rules::insight::{Question, insights};

/// The report of a run as a page of its own, with a policy of its own.
pub(crate) fn report_page(run: &RunData) -> String {
    ifm_report::html(&ReportModel::new(run, ifm_metrics::summarize(run)))
}

/// The report of documents of other tools as a page of its own; absent where they hold nothing that
/// a report can show.
pub(crate) fn import_page(sheets: &[Sheet]) -> Option<String> {
    let results = Results::of_sheets(sheets).with_sides(&[]);
    let audit = audit(&Audited::new(sheets));
    let evidence = ResultsEvidence::new([], sheets);
    let question = Question { evidence: &evidence, ..Question::new(&results) };
    let insights = insights(&question);
    let subject = Subject {
        runs: &[],
        sheets,
        question,
        insights: &insights,
        audit: Some(&audit),
        title: None,
    };
    let page = Kind::recognise(&subject)?.page(&subject);
    Some(ifm_report::page::html(&page))
}
