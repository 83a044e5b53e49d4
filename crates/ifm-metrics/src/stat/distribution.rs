//! The summary of one population.

use super::interval::{self, Interval};
use super::population::{self, Population};
use super::quantile::{is_enough, percentile_of_sorted, position};

/// The percentiles that every summary gives, 0 to 100. Those that a latency target names are added.
pub const DEFAULT_PERCENTILES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// One percentile of a population, in the unit of the population.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// Which one, 0 to 100.
    pub p: f64,
    /// Its value by linear interpolation (type 7).
    pub value: f64,
    /// Whether the population is large enough for it; if not, it is shown with a mark and its n.
    pub enough: bool,
    /// 95 % interval from order statistics; absent for pooled gaps, whose values are not
    /// independent.
    pub interval: Option<Interval>,
}

/// The summary of one population, in the unit that the holder's name says. Never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Number of values.
    pub n: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (n - 1); absent for one value.
    pub std: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Percentiles, rising.
    pub percentiles: Vec<Percentile>,
}

impl Distribution {
    /// Summarizes independent values, in any order. Absent for no values. O(n log n).
    pub fn from_values(mut values: Vec<f64>, percentiles: &[f64]) -> Option<Distribution> {
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len() as u64;
        let (min, max) = (*values.first()?, *values.last()?);
        // Equal values have no rest of a rounded sum between them.
        let mean = if min == max { min } else { values.iter().sum::<f64>() / n as f64 };
        let std = (n > 1).then(|| {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            (squares / (n - 1) as f64).sqrt()
        });
        let value_at = |rank: u64| values.get(rank as usize).copied();
        let percentiles = percentiles
            .iter()
            .filter_map(|&p| {
                let (low, high) = interval::ranks(n, p, interval::TAIL);
                let interval =
                    Some(Interval { low: low.and_then(value_at), high: high.and_then(value_at) });
                let value = percentile_of_sorted(&values, p)?;
                Some(Percentile { p, value, enough: is_enough(n, p), interval })
            })
            .collect();
        Some(Distribution { n, mean, std, min, max, percentiles })
    }

    /// Summarizes pooled, not independent, integers without holding them: memory does not grow
    /// with the population. `scale` turns an integer into the unit of the summary. Exact: the
    /// percentiles are those that sorting would give. Absent for no values.
    pub fn from_population(
        values: &impl Population,
        scale: f64,
        percentiles: &[f64],
    ) -> Option<Distribution> {
        let moments = population::moments(values)?;
        let n = moments.n;
        let mut wanted: Vec<u64> = percentiles
            .iter()
            .flat_map(|&p| {
                let rank = position(n, p).0;
                [rank, (rank + 1).min(n - 1)]
            })
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let found = population::order_statistics(values, &moments, &wanted);
        let value_at = |rank: u64| {
            let place = wanted.binary_search(&rank).ok()?;
            found.get(place).map(|value| *value as f64)
        };
        let percentiles = percentiles
            .iter()
            .filter_map(|&p| {
                let (rank, share) = position(n, p);
                let low = value_at(rank)?;
                let high = value_at((rank + 1).min(n - 1))?;
                let value = (low + (high - low) * share) * scale;
                Some(Percentile { p, value, enough: is_enough(n, p), interval: None })
            })
            .collect();
        Some(Distribution {
            n,
            mean: moments.mean() * scale,
            std: moments.std().map(|std| std * scale),
            min: moments.min as f64 * scale,
            max: moments.max as f64 * scale,
            percentiles,
        })
    }

    /// Percentile `p` (0 to 100), if it is one of those that were computed.
    pub fn percentile(&self, p: f64) -> Option<&Percentile> {
        self.percentiles.iter().find(|percentile| percentile.p == p)
    }

    /// The median.
    pub fn median(&self) -> Option<f64> {
        self.percentile(50.0).map(|percentile| percentile.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Values(Vec<u64>);
    impl Population for Values {
        fn visit(&self, mut each: impl FnMut(u64)) {
            self.0.iter().for_each(|value| each(*value));
        }
    }

    #[test]
    fn computes_the_distribution_of_five_values() {
        let summary =
            Distribution::from_values(vec![30.0, 10.0, 50.0, 20.0, 40.0], &DEFAULT_PERCENTILES)
                .expect("values");
        assert_eq!((summary.n, summary.mean, summary.min, summary.max), (5, 30.0, 10.0, 50.0));
        // Squares of the deviations: 400 + 100 + 0 + 100 + 400 = 1000, divided by 4.
        assert!((summary.std.expect("five values") - 250.0f64.sqrt()).abs() < 1e-12);
        assert_eq!(summary.median(), Some(30.0));
        let p99 = summary.percentile(99.0).expect("asked for");
        assert!((p99.value - 49.6).abs() < 1e-9);
        assert!(!p99.enough);
        assert_eq!(p99.interval, Some(Interval { low: Some(40.0), high: None }));
    }

    #[test]
    fn one_value_has_no_spread_and_no_values_have_no_summary() {
        let one = Distribution::from_values(vec![3.0], &[50.0]).expect("a value");
        assert_eq!((one.std, one.median()), (None, Some(3.0)));
        assert_eq!(Distribution::from_values(Vec::new(), &[50.0]), None);
        assert_eq!(Distribution::from_population(&Values(Vec::new()), 1.0, &[50.0]), None);
    }

    proptest! {
        #[test]
        fn the_visited_population_gives_what_sorting_gives(
            values in prop::collection::vec(
                prop_oneof![0u64..40, 4_000u64..9_000, 19_999_000u64..20_001_000, 0u64..1 << 50],
                1..300,
            ),
            scale in prop_oneof![Just(1.0), Just(0.001)],
        ) {
            let floats: Vec<f64> = values.iter().map(|value| *value as f64 * scale).collect();
            let percentiles = [0.0, 1.0, 5.0, 50.0, 90.0, 99.0, 100.0];
            let sorted = Distribution::from_values(floats, &percentiles).expect("values");
            let visited =
                Distribution::from_population(&Values(values), scale, &percentiles).expect("values");
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 + 1e-7 * a.abs().max(b.abs());
            prop_assert_eq!(sorted.n, visited.n);
            prop_assert!(near(sorted.mean, visited.mean));
            prop_assert!(near(sorted.std.unwrap_or(0.0), visited.std.unwrap_or(0.0)));
            prop_assert!(near(sorted.min, visited.min) && near(sorted.max, visited.max));
            for (a, b) in sorted.percentiles.iter().zip(&visited.percentiles) {
                prop_assert!(near(a.value, b.value), "p{}: {} and {}", a.p, a.value, b.value);
            }
        }
    }
}
