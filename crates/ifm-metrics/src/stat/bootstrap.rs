//! Intervals without an assumption on the shape of the law: by drawing the sample again.
//!
//! The values must be independent; for values that follow each other in time, see
//! [`blocks`](super::blocks). Not here: statistics that need more than one column.

use super::quantile::percentile_of_sorted;
use super::random::RandomStream;
use super::special::{normal_below, normal_upper_quantile};
use super::welch::{Estimate, tail};

/// Most draws of one interval.
const RESAMPLES_MAX: u32 = 1_000_000;

/// What is computed from a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// A percentile, 0 to 100, by linear interpolation (type 7).
    Percentile(f64),
}

/// How bounds are made of the draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootstrapMethod {
    /// The percentiles of the draws. Source: Efron (1979).
    Percentile,
    /// Bias-corrected and accelerated: percentiles that are shifted for the bias of the draws and
    /// for a spread that changes with the value. Source: Efron (1987). Better for means and ratios
    /// of means; for percentiles its jackknife is rough, so use the other one there.
    BiasCorrected,
}

/// How an interval is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// Draws, at least 100; at most a million are made.
    pub resamples: u32,
    /// Confidence of the interval, between 0 and 1.
    pub confidence: f64,
    /// Which of the two ways.
    pub method: BootstrapMethod,
    /// Seed of the draws: the same seed gives the same interval.
    pub seed: u64,
}

/// A sample in rising order, with what is needed to leave values out.
struct Sample {
    sorted: Vec<f64>,
    sum: f64,
}

impl Sample {
    fn of(values: &[f64]) -> Option<Sample> {
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let sum = sorted.iter().sum();
        Some(Sample { sorted, sum })
    }

    fn value(&self, statistic: Statistic) -> f64 {
        let n = self.sorted.len() as f64;
        match statistic {
            Statistic::Mean => self.sum / n,
            Statistic::Percentile(p) => percentile_of_sorted(&self.sorted, p).unwrap_or(f64::NAN),
        }
    }

    /// The statistic of a draw; `counts` is used for the draw.
    fn draw(&self, statistic: Statistic, stream: &mut RandomStream, counts: &mut [u32]) -> f64 {
        let n = self.sorted.len();
        match statistic {
            Statistic::Mean => {
                let values = (0..n).filter_map(|_| self.sorted.get(stream.below(n)));
                values.sum::<f64>() / n as f64
            }
            Statistic::Percentile(p) => {
                counts.fill(0);
                for _ in 0..n {
                    if let Some(count) = counts.get_mut(stream.below(n)) {
                        *count += 1;
                    }
                }
                counted_percentile(self.sorted.iter().zip(counts.iter()), n as u64, p)
            }
        }
    }

    /// The statistic of the sample without each of its values in turn.
    fn without_each(&self, statistic: Statistic) -> Vec<f64> {
        let n = self.sorted.len();
        match statistic {
            Statistic::Mean => {
                self.sorted.iter().map(|value| (self.sum - value) / (n - 1) as f64).collect()
            }
            Statistic::Percentile(p) => {
                let (rank, share) = super::quantile::position(n as u64 - 1, p);
                let rank = rank as usize;
                let at = |place: usize| self.sorted.get(place.min(n - 1)).copied();
                let without = |left_out: usize| {
                    // The value at a rank once one value is left out.
                    let value_at = |rank: usize| at(rank + usize::from(left_out <= rank));
                    let low = value_at(rank).unwrap_or(f64::NAN);
                    let high = value_at((rank + 1).min(n - 2)).unwrap_or(f64::NAN);
                    low + (high - low) * share
                };
                (0..n).map(without).collect()
            }
        }
    }
}

/// Percentile `p` of values in rising order with their numbers of occurrences, `total` in all.
pub(crate) fn counted_percentile<'a>(
    values: impl Iterator<Item = (&'a f64, &'a u32)>,
    total: u64,
    p: f64,
) -> f64 {
    let (rank, share) = super::quantile::position(total, p);
    let mut seen = 0u64;
    let mut low = None;
    for (value, count) in values.filter(|(_, count)| **count > 0) {
        seen += u64::from(*count);
        match low {
            None if seen > rank + 1 || (seen > rank && share == 0.0) => return *value,
            None if seen > rank => low = Some(*value),
            None => {}
            Some(low) => return low + (value - low) * share,
        }
    }
    low.unwrap_or(f64::NAN)
}

impl Bootstrap {
    /// The interval of a statistic of one sample. None for fewer than two values, a value that is
    /// no number, fewer than 100 draws, and a confidence that is not between 0 and 1.
    pub fn interval(&self, values: &[f64], statistic: Statistic) -> Option<Estimate> {
        let sample = Sample::of(values)?;
        let value = sample.value(statistic);
        let mut stream = RandomStream::named(self.seed, "sample");
        let mut counts = vec![0; sample.sorted.len()];
        let draws = (0..self.resamples.min(RESAMPLES_MAX))
            .map(|_| sample.draw(statistic, &mut stream, &mut counts))
            .collect();
        let left_out = || vec![sample.without_each(statistic)];
        self.bounds(value, draws, left_out)
    }

    /// The interval of the ratio of a statistic of two independent samples, `b / a`. None as for
    /// one sample, and where the ratio of the samples or of a draw is not defined.
    pub fn ratio(&self, a: &[f64], b: &[f64], statistic: Statistic) -> Option<Estimate> {
        let (a, b) = (Sample::of(a)?, Sample::of(b)?);
        let (value_a, value_b) = (a.value(statistic), b.value(statistic));
        let mut stream_a = RandomStream::named(self.seed, "sample");
        let mut stream_b = RandomStream::named(self.seed, "second sample");
        let (mut counts_a, mut counts_b) = (vec![0; a.sorted.len()], vec![0; b.sorted.len()]);
        let draws = (0..self.resamples.min(RESAMPLES_MAX))
            .map(|_| {
                b.draw(statistic, &mut stream_b, &mut counts_b)
                    / a.draw(statistic, &mut stream_a, &mut counts_a)
            })
            .collect();
        let left_out = || {
            let without_a = a.without_each(statistic).iter().map(|other| value_b / other).collect();
            let without_b = b.without_each(statistic).iter().map(|other| other / value_a).collect();
            vec![without_a, without_b]
        };
        self.bounds(value_b / value_a, draws, left_out)
    }

    fn bounds(
        &self,
        value: f64,
        mut draws: Vec<f64>,
        left_out: impl Fn() -> Vec<Vec<f64>>,
    ) -> Option<Estimate> {
        let tail = tail(self.confidence)?;
        if draws.len() < 100 || !value.is_finite() || draws.iter().any(|draw| !draw.is_finite()) {
            return None;
        }
        draws.sort_unstable_by(f64::total_cmp);
        let shares = match self.method {
            BootstrapMethod::Percentile => (tail, 1.0 - tail),
            BootstrapMethod::BiasCorrected => {
                corrected_shares(value, &draws, tail, acceleration(&left_out()))
            }
        };
        let low = percentile_of_sorted(&draws, shares.0 * 100.0)?;
        let high = percentile_of_sorted(&draws, shares.1 * 100.0)?;
        Some(Estimate { value, low, high })
    }
}

/// How the spread changes with the value, from the statistic without each value:
/// `sum(sum(U^3) / n^3) / (6 · sum(sum(U^2) / n^2)^1.5)` over the samples, with
/// `U = (n - 1)(mean - value without)`. Source: Efron and Tibshirani, "An Introduction to the
/// Bootstrap" (1993), chapter 14.
fn acceleration(samples: &[Vec<f64>]) -> f64 {
    let (mut cubes, mut squares) = (0.0, 0.0);
    for values in samples {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        for value in values {
            let influence = (n - 1.0) * (mean - value);
            cubes += influence.powi(3) / n.powi(3);
            squares += influence.powi(2) / n.powi(2);
        }
    }
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}

/// The shares of the draws that give the corrected bounds.
fn corrected_shares(value: f64, sorted: &[f64], tail: f64, acceleration: f64) -> (f64, f64) {
    let below = sorted.partition_point(|draw| *draw < value);
    let not_above = sorted.partition_point(|draw| *draw <= value);
    let share = (below + not_above) as f64 / (2 * sorted.len()) as f64;
    let bias = -normal_upper_quantile(share);
    if !bias.is_finite() {
        // Every draw lies on one side of the value: there is nothing to correct by.
        return (tail, 1.0 - tail);
    }
    let corrected = |z: f64| {
        let moved = bias + z;
        normal_below(bias + moved / (1.0 - acceleration * moved))
    };
    let reach = normal_upper_quantile(tail);
    (corrected(-reach), corrected(reach))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: [f64; 12] = [3.1, 0.4, 7.7, 1.2, 0.9, 2.8, 15.4, 0.7, 4.4, 1.9, 2.2, 6.0];
    const B: [f64; 10] = [4.2, 1.1, 9.3, 2.0, 0.8, 12.6, 3.3, 5.9, 21.0, 2.7];

    fn bootstrap(method: BootstrapMethod) -> Bootstrap {
        Bootstrap { resamples: 100_000, confidence: 0.95, method, seed: 1 }
    }

    // scipy 1.17.1: stats.bootstrap((A,), numpy.mean, n_resamples=999999, batch=1000, rng=1,
    // method=...) with methods "percentile" and "BCa"; for the ratio, stats.bootstrap((A, B),
    // lambda a, b, axis=-1: b.mean(axis) / a.mean(axis), ...). Half a percent is the noise of
    // 100,000 draws.
    #[test]
    fn intervals_are_those_of_scipy() {
        let check = |found: Option<Estimate>, (low, high): (f64, f64)| {
            let found = found.expect("values");
            assert!((found.low / low - 1.0).abs() < 0.015, "{found:?} and {low}");
            assert!((found.high / high - 1.0).abs() < 0.015, "{found:?} and {high}");
        };
        let plain = bootstrap(BootstrapMethod::Percentile);
        let corrected = bootstrap(BootstrapMethod::BiasCorrected);
        check(
            plain.interval(&A, Statistic::Mean),
            (1.933_333_333_333_333_3, 6.466_666_666_666_668),
        );
        check(corrected.interval(&A, Statistic::Mean), (2.25, 7.441_666_666_666_669));
        check(plain.interval(&A, Statistic::Percentile(75.0)), (2.2, 9.625));
        check(corrected.interval(&A, Statistic::Percentile(75.0)), (2.425, 15.4));
        check(
            plain.ratio(&A, &B, Statistic::Mean),
            (0.662_433_862_433_862_5, 3.834_638_361_266_296),
        );
        check(
            corrected.ratio(&A, &B, Statistic::Mean),
            (0.620_360_394_533_841_4, 3.638_866_396_761_134_3),
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_bounds() {
        let plain = Bootstrap { resamples: 500, ..bootstrap(BootstrapMethod::Percentile) };
        let found = plain.interval(&A, Statistic::Percentile(50.0));
        assert_eq!(found, plain.interval(&A, Statistic::Percentile(50.0)));
        assert_ne!(found, Bootstrap { seed: 2, ..plain }.interval(&A, Statistic::Percentile(50.0)));
    }

    #[test]
    fn what_cannot_be_drawn_has_no_interval() {
        let plain = bootstrap(BootstrapMethod::Percentile);
        assert_eq!(plain.interval(&[1.0], Statistic::Mean), None);
        assert_eq!(plain.interval(&[1.0, f64::NAN], Statistic::Mean), None);
        assert_eq!(plain.ratio(&[0.0, 0.0], &A, Statistic::Mean), None);
        assert_eq!(Bootstrap { resamples: 99, ..plain }.interval(&A, Statistic::Mean), None);
        assert_eq!(Bootstrap { confidence: 1.0, ..plain }.interval(&A, Statistic::Mean), None);
        let same = bootstrap(BootstrapMethod::BiasCorrected).interval(&[2.0; 5], Statistic::Mean);
        assert_eq!(same, Some(Estimate { value: 2.0, low: 2.0, high: 2.0 }));
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let plain = Bootstrap { resamples: 400, ..bootstrap(BootstrapMethod::Percentile) };
        let corrected = Bootstrap { method: BootstrapMethod::BiasCorrected, ..plain };
        let mut held = [0u32; 3];
        for seed in 0..400 {
            let mut stream = RandomStream::new(seed);
            let values: Vec<f64> = (0..60).map(|_| stream.exponential()).collect();
            let holds = |found: Option<Estimate>, truth: f64| {
                u32::from(found.is_some_and(|found| found.low <= truth && truth <= found.high))
            };
            held[0] += holds(plain.interval(&values, Statistic::Mean), 1.0);
            held[1] += holds(corrected.interval(&values, Statistic::Mean), 1.0);
            held[2] += holds(plain.interval(&values, Statistic::Percentile(50.0)), 2f64.ln());
        }
        // 95 % of 400 is 380; few values of a skew law hold a little less.
        assert!(held.iter().all(|held| (360..=396).contains(held)), "{held:?}");
    }

    proptest! {
        #[test]
        fn a_counted_percentile_is_that_of_the_values_written_out(
            counts in prop::collection::vec(0u32..4, 1..20),
            p in 0.0f64..100.0,
        ) {
            let values: Vec<f64> = (0..counts.len()).map(|i| (i * i) as f64).collect();
            let written: Vec<f64> = values
                .iter()
                .zip(&counts)
                .flat_map(|(value, count)| std::iter::repeat_n(*value, *count as usize))
                .collect();
            let got = counted_percentile(values.iter().zip(&counts), written.len() as u64, p);
            match percentile_of_sorted(&written, p) {
                Some(expect) => prop_assert!((got - expect).abs() < 1e-9, "{} {}", got, expect),
                None => prop_assert!(got.is_nan()),
            }
        }

        #[test]
        fn leaving_one_out_is_what_it_says(
            values in prop::collection::vec(-9.0f64..9.0, 2..12),
            p in 0.0f64..100.0,
        ) {
            let sample = Sample::of(&values).expect("values");
            let found = sample.without_each(Statistic::Percentile(p));
            for (index, found) in found.iter().enumerate() {
                let mut rest = sample.sorted.clone();
                rest.remove(index);
                let expect = percentile_of_sorted(&rest, p).expect("values");
                prop_assert!((found - expect).abs() < 1e-12);
            }
        }
    }
}
