//! Predicted against measured: the error of a prediction at each load, and which constant causes
//! it.
//!
//! Pure functions of two lists of points. An error is signed and relative to what was measured:
//! (predicted - measured) / measured, so that -0.1 is a prediction 10 % too low. Not here: where
//! points come from (`ifm-results`), the simulation, and a chart of both.

mod drift;

pub use drift::{CHANCE_MAX, Course, Drift, ERROR_MIN, POINTS_MIN};

use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_metrics::level::Load;
use ifm_metrics::stat::percentile_of_sorted;

/// The compared metrics: means of the times, and the output of the whole server.
pub const COMPARED: [Metric; 5] =
    [Metric::Ttft, Metric::Itl, Metric::Tpot, Metric::E2e, Metric::OutputRate];

/// Means at one load, predicted or measured. Unknown values are absent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speeds {
    /// The requested load.
    pub load: Load,
    /// Mean number of requests in flight.
    pub in_flight: Option<f64>,
    /// Mean time to first token, milliseconds.
    pub ttft_ms: Option<f64>,
    /// Mean inter-token latency, milliseconds; absent where events carry several tokens.
    pub itl_ms: Option<f64>,
    /// Mean time per output token of a request, milliseconds.
    pub tpot_ms: Option<f64>,
    /// Mean time of a whole answer, milliseconds.
    pub e2e_ms: Option<f64>,
    /// Output tokens per second of the whole server.
    pub output_tok_per_s: Option<f64>,
}

impl Speeds {
    /// One of its numbers, in the unit of its field; absent for what is not [`COMPARED`].
    pub fn of(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Ttft => self.ttft_ms,
            Metric::Itl => self.itl_ms,
            Metric::Tpot => self.tpot_ms,
            Metric::E2e => self.e2e_ms,
            Metric::OutputRate => self.output_tok_per_s,
            _ => None,
        }
    }

    /// Requests in flight: on average, else the requested users; absent for a rate.
    fn users(&self) -> Option<f64> {
        let asked = match self.load {
            Load::Users(users) => Some(f64::from(users)),
            Load::ReqPerS(_) => None,
        };
        self.in_flight.or(asked)
    }
}

/// A load that was predicted and measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// What was predicted.
    pub predicted: Speeds,
    /// What was measured.
    pub measured: Speeds,
}

impl Pair {
    /// Both with the same gap between tokens: ITL where both have it, else TPOT. A run whose events
    /// carry several tokens has no ITL, and a prediction always has one.
    fn of(predicted: Speeds, measured: Speeds) -> Pair {
        let both = |of: fn(&Speeds) -> Option<f64>| of(&predicted).and(of(&measured)).is_some();
        let (has_itl, has_tpot) = (both(|one| one.itl_ms), both(|one| one.tpot_ms));
        let with = |one: Speeds| Speeds {
            itl_ms: one.itl_ms.filter(|_| has_itl || !has_tpot),
            tpot_ms: one.tpot_ms.filter(|_| !has_itl && has_tpot),
            ..one
        };
        Pair { predicted: with(predicted), measured: with(measured) }
    }

    /// The signed relative error of the prediction; absent where one of the two is not known, or
    /// nothing was measured that an error could be relative to.
    pub fn error(&self, metric: Metric) -> Option<f64> {
        let (predicted, measured) = (self.predicted.of(metric)?, self.measured.of(metric)?);
        let error = (predicted - measured) / measured;
        (measured > 0.0 && error.is_finite()).then_some(error)
    }
}

/// How far a metric is off, over all loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Off {
    /// Of what.
    pub metric: Metric,
    /// Loads with an error.
    pub points: usize,
    /// Median of the signed errors: which way the prediction leans.
    pub median: f64,
    /// Mean of the errors without their sign.
    pub mean_absolute: f64,
}

/// A prediction and a measurement of the same thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Loads that both have, from the smallest.
    pub pairs: Vec<Pair>,
    /// How far each metric is off; without those that no load has.
    pub off: Vec<Off>,
    /// What the errors say of a constant, at most one sentence each for ITL and TTFT.
    pub drifts: Vec<Drift>,
}

impl Forecast {
    /// Pairs what has the same load; the first point of a load counts.
    pub fn of(predicted: &[Speeds], measured: &[Speeds]) -> Forecast {
        let mut pairs: Vec<Pair> = Vec::new();
        for predicted in predicted {
            let is_new = !pairs.iter().any(|pair| pair.predicted.load == predicted.load);
            let same = measured.iter().find(|other| other.load == predicted.load);
            if let Some(measured) = same.filter(|_| is_new) {
                pairs.push(Pair::of(*predicted, *measured));
            }
        }
        pairs.order_by(|a, b| a.measured.load.value().total_cmp(&b.measured.load.value()));
        let off = COMPARED.into_iter().filter_map(|metric| off(&pairs, metric)).collect();
        let drifts = drift::drifts(&pairs);
        Forecast { pairs, off, drifts }
    }
}

fn off(pairs: &[Pair], metric: Metric) -> Option<Off> {
    let mut errors: Vec<f64> = pairs.iter().filter_map(|pair| pair.error(metric)).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let points = errors.len();
    let median = percentile_of_sorted(&errors, 50.0)?;
    let mean_absolute = errors.iter().map(|error| error.abs()).sum::<f64>() / points as f64;
    Some(Off { metric, points, median, mean_absolute })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speeds(load: Load, ttft_ms: f64, itl_ms: Option<f64>) -> Speeds {
        let ttft_ms = Some(ttft_ms);
        let tpot_ms = None;
        Speeds {
            load,
            in_flight: None,
            ttft_ms,
            itl_ms,
            tpot_ms,
            e2e_ms: None,
            output_tok_per_s: None,
        }
    }

    /// A run of which some events carry several tokens has no ITL: both are compared by TPOT.
    #[test]
    fn gaps_are_compared_by_what_both_have() {
        let at = |users, itl_ms, tpot_ms| Speeds {
            tpot_ms,
            ..speeds(Load::Users(users), 100.0, itl_ms)
        };
        let predicted = [at(1, Some(7.3), Some(7.5)), at(2, Some(8.0), Some(8.1))];
        let measured = [at(1, None, Some(10.0)), at(2, Some(10.0), Some(9.0))];
        let found = Forecast::of(&predicted, &measured);
        let errors = |metric| -> Vec<Option<f64>> {
            found.pairs.iter().map(|pair| pair.error(metric)).collect()
        };
        assert_eq!(errors(Metric::Tpot), [Some(-0.25), None]);
        assert_eq!(errors(Metric::Itl), [None, Some(-0.2)]);
        assert_eq!(found.pairs[0].predicted.itl_ms, None, "there is no other half");
        let off: Vec<Metric> = found.off.iter().map(|off| off.metric).collect();
        assert_eq!(off, [Metric::Ttft, Metric::Itl, Metric::Tpot]);
        // With nothing to compare, what is known stays.
        let found = Forecast::of(&predicted[..1], &[at(1, None, None)]);
        assert_eq!(found.pairs[0].predicted.itl_ms, Some(7.3));
    }

    #[test]
    fn errors_are_signed_and_relative_to_what_was_measured() {
        let users = Load::Users;
        let predicted = [
            speeds(users(8), 120.0, Some(9.0)),
            speeds(users(1), 90.0, Some(8.0)),
            speeds(users(2), 100.0, None),
            speeds(users(64), 1.0, None),
        ];
        let measured = [
            speeds(users(1), 100.0, Some(10.0)),
            speeds(users(2), 100.0, Some(10.0)),
            speeds(users(8), 100.0, Some(0.0)),
            // A rate of 8 per second is not 8 users.
            speeds(Load::ReqPerS(64.0), 7.0, None),
        ];
        let found = Forecast::of(&predicted, &measured);
        let errors = |metric| -> Vec<Option<f64>> {
            found.pairs.iter().map(|pair| pair.error(metric)).collect()
        };
        assert_eq!(errors(Metric::Ttft), [Some(-0.1), Some(0.0), Some(0.2)]);
        assert_eq!(errors(Metric::Itl), [Some(-0.2), None, None]);
        let [ttft, itl] = found.off[..] else { panic!("{:?}", found.off) };
        assert_eq!((ttft.metric, ttft.points, ttft.median), (Metric::Ttft, 3, 0.0));
        assert!((ttft.mean_absolute - 0.1).abs() < 1e-12);
        assert_eq!((itl.points, itl.median), (1, -0.2));
        assert!(found.drifts.is_empty(), "three points say nothing: {:?}", found.drifts);
    }
}
