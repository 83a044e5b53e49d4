//! The report of a run, in the one place where this crate asks for it.

use ifm_core::RunData;
use ifm_report::ReportModel;

/// The report of a run as a page of its own, with a policy of its own.
pub(crate) fn report_page(run: &RunData) -> String {
    ifm_report::html(&ReportModel::new(run, ifm_analysis::summarize(run)))
}
