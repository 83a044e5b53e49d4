//! Whether an output rate follows from other figures of the same rows.
//!
//! Each request in flight gets a token every TPOT, so the output rate is the number in flight over
//! the TPOT. Agreement with that does not depend on how a tool counts the tokens of a whole run.

use super::{OUTPUT, Versus, is_burst};
use ifm_core::Metric;
use ifm_core::sheet::Statistic;
use ifm_results::Pooled;

const MS_PER_S: f64 = 1e3;

/// The largest share by which the output rate of any row is off what its requests in flight and
/// their TPOT make. Absent where no row has all three, or some row lacks one of them.
pub fn output_off(versus: &Versus) -> Option<f64> {
    let rows = || {
        let all = versus.parties().flat_map(|party| &party.cells);
        all.filter(|cell| !is_burst(cell))
    };
    let shares: Option<Vec<f64>> = rows().map(off).collect();
    shares?.into_iter().map(f64::abs).max_by(f64::total_cmp)
}

fn off(cell: &Pooled) -> Option<f64> {
    let first = |quantity: Metric, statistics: &[Statistic]| {
        let find = |statistic: &Statistic| Some(cell.stat(quantity, *statistic)?.value);
        statistics.iter().find_map(find).filter(|value| *value > 0.0)
    };
    let in_flight = first(Metric::InFlight, &[Statistic::Mean])?;
    let tpot_ms = first(Metric::Tpot, &[Statistic::Mean, Statistic::Median])?;
    let output = first(Metric::OutputRate, OUTPUT)?;
    Some(output / (in_flight * MS_PER_S / tpot_ms) - 1.0)
}
