//! Runs for the tests of this crate.

use crate::ReportModel;
use ifm_analysis::testing::{closed_loop, failed, run};
use ifm_core::RunData;

/// Three levels: 1 and 4 users inside the target, 8 outside with one failed request.
pub(crate) fn sweep() -> RunData {
    let mut requests = closed_loop((0, 0), (1, 60), 0.0, (91.0, 6.3, 16));
    requests.extend(closed_loop((60, 1), (4, 300), 20_000.0, (104.25, 7.8, 16)));
    requests.extend(closed_loop((1260, 2), (8, 20), 90_000.0, (1150.0, 48.8, 16)));
    requests.push(failed(1420, 2, 0, 128_000.0, 12.0));
    run(&[1, 4, 8], requests)
}

/// One level of 4 users.
pub(crate) fn single() -> RunData {
    run(&[4], closed_loop((0, 0), (4, 300), 0.0, (104.25, 7.8, 16)))
}

/// One level without an answer.
pub(crate) fn all_failed() -> RunData {
    run(&[2], (0..4).map(|seq| failed(seq, 0, seq % 2, f64::from(seq), 5.0)).collect())
}

pub(crate) fn model(run: &RunData) -> ReportModel {
    ReportModel::new(run, ifm_analysis::summarize(run))
}
