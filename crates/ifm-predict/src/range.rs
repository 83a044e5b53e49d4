//! The uncertainty of a forecast from what a calibration leaves open, and its warning.
//!
//! Not here: what is left open (`ifm_sim::fit`), and how well the law fits the server.

use crate::rows::{lengths_words, load_words};
use ifm_core::spec::LoadSpec;
use ifm_sim::{Deployment, Load, Observation, Predicted, Span, Spread, predict, steady};

/// The ratio of the ends of a 95 % interval above which a forecast is reported as uncertain.
const WIDE: f64 = 1.25;
const MS_PER_S: f64 = 1e3;

/// The 95 % intervals of a level's means.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// Load and lengths.
    load: String,
    /// Name, low and high end in milliseconds.
    means: Vec<(&'static str, f64, f64)>,
}

impl Range {
    /// The intervals of a load; absent if it cannot be computed.
    pub fn of(
        deployment: &Deployment,
        spread: &Spread,
        (load, lengths): (&LoadSpec, steady::Lengths),
    ) -> Option<Range> {
        let row = Observation::of(load_of(load)?, lengths.prompt, lengths.output);
        Range::of_row(deployment, spread, &row)
    }

    fn of_row(deployment: &Deployment, spread: &Spread, row: &Observation) -> Option<Range> {
        let at = |constants| predict(&deployment.with_constants(constants), row).ok();
        let center = at(*deployment.step.constants())?;
        let ends: Vec<[Option<Predicted>; 2]> =
            spread.directions.iter().map(|ends| ends.map(at)).collect();
        let rivals: Vec<Predicted> = spread.rivals.iter().filter_map(|one| at(*one)).collect();
        let means = [
            ("TTFT", (|got| Some(got.ttft_s)) as fn(&Predicted) -> Option<f64>),
            ("ITL", |got| got.itl_s),
        ];
        let interval = |(name, mean): (&'static str, fn(&Predicted) -> Option<f64>)| {
            let value = mean(&center)?;
            let far = |got: &Predicted| mean(got).map_or(0.0, |other| (other / value).ln());
            let (mut up, mut down) = (0.0_f64, 0.0_f64);
            for both in &ends {
                let logs = || both.iter().flatten().map(far);
                up += logs().fold(0.0, f64::max).powi(2);
                down += logs().fold(0.0, f64::min).powi(2);
            }
            let others = || rivals.iter().map(far);
            let high = others().fold(up.sqrt(), f64::max);
            let low = others().fold(-down.sqrt(), f64::min);
            Some((name, value * low.exp() * MS_PER_S, value * high.exp() * MS_PER_S))
        };
        let load = format!("{}, {}", load_words(&row.load), lengths_words(row));
        Some(Range { load, means: means.into_iter().filter_map(interval).collect() })
    }

    /// What is uncertain: one sentence per mean; none if all are well known.
    pub fn warnings(&self) -> Vec<String> {
        let wide = self.means.iter().filter(|(_, low, high)| high / low > WIDE);
        wide.map(|(name, low, high)| {
            format!(
                "{}: mean {name} may be anything from {} to {} ms (95 %), since the calibration does not \
                 determine all constants that this load depends on",
                self.load,
                crate::calibration::digits(*low),
                crate::calibration::digits(*high)
            )
        })
        .collect()
    }
}

/// The load of a level; absent if a forecast cannot model it.
fn load_of(load: &LoadSpec) -> Option<Load> {
    let Some(arrivals) = &load.arrivals else {
        return Some(Load::Closed { users: load.concurrency });
    };
    let span = match (load.requests, load.duration_s) {
        (_, Some(seconds)) => Span::Seconds(seconds),
        (Some(count), None) => Span::Requests(count),
        (None, None) => return None,
    };
    let is_random = !matches!(arrivals.law, ifm_core::spec::ArrivalLaw::Constant);
    Some(Load::Open { req_per_s: arrivals.constant_req_per_s()?, span, is_random })
}
