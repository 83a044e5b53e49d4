//! What one run says of a measure, as a value that follows others: on a scale on which noise is even,
//! with the variance that it has by itself, or with the reason why it does not count.
//!
//! Not here: other runs.

use crate::comparison::evidence::{Evidence, REQUESTS_MIN, RunEvidence, Spread};
use crate::comparison::{Measure, Shortage};

/// A percentile of a single run needs ten values beyond it. In a series the variation from run to
/// run is visible, so that one value is enough there.
const VALUES_BEYOND_OWN: u64 = 10;

/// A value on the scale of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scaled {
    pub value: f64,
    /// Variance of the value by itself, by the run's own requests; absent where it is not known.
    pub variance: Option<f64>,
}

/// The value on its scale: logarithms, and of shares `asin(sqrt((h + 3/8) / (n + 3/4)))` with variance
/// `1 / (4 n + 2)`, by Anscombe (1948). Absent if the logarithm is undefined.
pub(super) fn scaled(evidence: &Evidence) -> Option<Scaled> {
    match evidence {
        Evidence::Share { n: 0, .. } => None,
        Evidence::Share { hits, n } => {
            let (hits, n) = (*hits as f64, *n as f64);
            let value = ((hits + 0.375) / (n + 0.75)).sqrt().asin();
            Some(Scaled { value, variance: Some(1.0 / (4.0 * n + 2.0)) })
        }
        Evidence::Runs(runs) => {
            let logs: Vec<f64> = runs.iter().map(|run| run.value.ln()).collect();
            if logs.is_empty() || logs.iter().any(|log| !log.is_finite()) {
                return None;
            }
            let n = runs.len() as f64;
            let variances: Option<Vec<f64>> =
                runs.iter().map(|run| Some(run.logarithm()?.1)).collect();
            Some(Scaled {
                value: logs.iter().sum::<f64>() / n,
                variance: variances.map(|all| all.iter().sum::<f64>() / (n * n)),
            })
        }
    }
}

/// The same as evidence of one run, for contrasts of runs with runs.
pub(super) fn as_run(evidence: &Evidence, run: usize) -> Option<RunEvidence> {
    let Evidence::Runs(runs) = evidence else { return None };
    let value = scaled(evidence)?.value.exp();
    let n = runs.iter().map(|run| run.n).sum::<Option<u64>>();
    Some(RunEvidence { run, value, spread: Spread::Unknown, n, shortage: None, disturbed: None })
}

/// Why a value does not count in a series: too few requests, or too few for the percentile.
pub(super) fn shortage(evidence: &Evidence, measure: Measure) -> Option<Shortage> {
    let runs = match evidence {
        Evidence::Runs(runs) => runs,
        Evidence::Share { n, .. } => {
            let (n, needed) = (*n, REQUESTS_MIN);
            return (n < needed).then_some(Shortage::Values { n, needed });
        }
    };
    let own = runs.iter().find_map(|run| run.shortage)?;
    let least = measure.percentile().map(ifm_metrics::stat::quantile::needed_for);
    let eased = |n: u64, needed: u64| {
        let needed = needed.div_ceil(VALUES_BEYOND_OWN).max(REQUESTS_MIN);
        (n < needed).then_some((n, needed))
    };
    match own {
        Shortage::Values { n, needed } if least == Some(needed) => {
            eased(n, needed).map(|(n, needed)| Shortage::Values { n, needed })
        }
        Shortage::Dependent { n, needed } if least == Some(needed) => {
            eased(n, needed).map(|(n, needed)| Shortage::Dependent { n, needed })
        }
        other => Some(other),
    }
}

/// Whether a run has requests enough for the measure to count.
pub(crate) fn is_told(evidence: &Evidence, measure: Measure) -> bool {
    shortage(evidence, measure).is_none()
}
