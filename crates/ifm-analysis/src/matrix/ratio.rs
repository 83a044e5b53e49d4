//! How many times as fast one thing is as another, in one configuration or over several.

use super::{Matrix, Sample};
use crate::stat::welch::from_error;
use crate::survey::CONFIDENCE;

/// How many times as fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Mean over mean; over several configurations the geometric mean of these.
    pub value: f64,
    /// Bounds with 95 % confidence; absent with fewer than three repeats.
    pub interval: Option<(f64, f64)>,
    /// Whether the repeats of both agree well enough to say anything.
    pub is_trusted: bool,
    /// Configurations that it is over.
    pub configurations: usize,
}

impl Ratio {
    /// Whether a difference is shown: whether the interval lies on one side of 1.
    pub fn is_shown(&self) -> bool {
        self.is_trusted && self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }

    /// Whether it is shown to be faster.
    pub fn is_faster(&self) -> bool {
        self.is_shown() && self.value > 1.0
    }

    /// Whether it is shown to be slower.
    pub fn is_slower(&self) -> bool {
        self.is_shown() && self.value < 1.0
    }
}

/// A thing over all configurations.
#[derive(Debug, Clone, PartialEq)]
pub struct Overall {
    /// The thing.
    pub thing: usize,
    /// Geometric mean of its ratios against the baseline.
    pub ratio: Ratio,
    /// Configurations in which it is shown to be faster, in which no difference is shown, and in
    /// which it is shown to be slower.
    pub faster: usize,
    /// See `faster`.
    pub tied: usize,
    /// See `faster`.
    pub slower: usize,
    /// Whether it is not shown to differ from the first.
    pub ties_first: bool,
}

impl Matrix<'_> {
    /// How many times as fast `thing` is as `other`, over these configurations: geometric mean of
    /// the ratios of means, with an interval by the errors of the means (delta method on the
    /// logarithm, degrees of freedom of Welch and Satterthwaite). Absent where one of them was not
    /// measured. The configurations are taken as they are, not as a sample of others.
    pub fn ratio(&self, thing: usize, other: usize, configurations: &[usize]) -> Option<Ratio> {
        let (mut sum, mut variance, mut freedom) = (0.0, 0.0, 0.0);
        let (mut is_testable, mut is_trusted) = (true, true);
        let share = 1.0 / configurations.len() as f64;
        for configuration in configurations {
            let is_cost = self.configurations.get(*configuration)?.is_cost();
            let sides = [(thing, 1.0), (other, -1.0)];
            for (side, sign) in sides {
                let sample =
                    self.sample(side, *configuration).filter(|sample| sample.mean > 0.0)?;
                let sign = if is_cost { -sign } else { sign };
                sum += sign * sample.mean.ln() * share;
                is_trusted &= sample.is_trusted();
                is_testable &= sample.is_testable();
                let error = error(&sample) * share * share;
                variance += error;
                freedom += error * error / (sample.values.len().max(2) - 1) as f64;
            }
        }
        let freedom = if freedom > 0.0 { variance * variance / freedom } else { 1.0 };
        let bounds = |found: crate::stat::welch::MeanDifference| {
            (found.difference.low.exp(), found.difference.high.exp())
        };
        let interval = from_error(sum, variance.sqrt(), freedom, CONFIDENCE).map(bounds);
        (!configurations.is_empty()).then(|| Ratio {
            value: sum.exp(),
            interval: interval.filter(|_| is_testable),
            is_trusted,
            configurations: configurations.len(),
        })
    }

    /// The ratio of a thing against the baseline in a configuration; absent for the baseline.
    pub fn speed_up(&self, thing: usize, configuration: usize) -> Option<Ratio> {
        let baseline = self.baseline.filter(|baseline| *baseline != thing)?;
        self.ratio(thing, baseline, &[configuration])
    }

    /// The ratio of a thing against the baseline over the configurations of a size in which both
    /// are trusted, else over all of them.
    pub fn speed_up_at(&self, thing: usize, batch: f64) -> Option<Ratio> {
        let baseline = self.baseline.filter(|baseline| *baseline != thing)?;
        let all = self.at_batch(batch);
        let is_trusted = |configuration: &usize| {
            let ratio = self.ratio(thing, baseline, &[*configuration]);
            ratio.is_some_and(|ratio| ratio.is_trusted)
        };
        let trusted: Vec<usize> = all.iter().copied().filter(is_trusted).collect();
        self.ratio(thing, baseline, if trusted.is_empty() { &all } else { &trusted })
    }

    /// The configurations in which every thing was measured and is trusted.
    pub fn comparable(&self) -> Vec<usize> {
        let is_trusted = |thing: usize, configuration: usize| {
            self.sample(thing, configuration).is_some_and(|sample| sample.is_trusted())
        };
        (0..self.configurations.len())
            .filter(|of| (0..self.things.len()).all(|thing| is_trusted(thing, *of)))
            .collect()
    }

    /// Every thing but the baseline over the comparable configurations, the fastest first.
    pub fn overall(&self) -> Vec<Overall> {
        let Some(baseline) = self.baseline else { return Vec::new() };
        let configurations = self.comparable();
        let mut all: Vec<Overall> = (0..self.things.len())
            .filter(|thing| *thing != baseline)
            .filter_map(|thing| {
                let ratio = self.ratio(thing, baseline, &configurations)?;
                let ratios = (0..self.configurations.len())
                    .filter_map(|configuration| self.speed_up(thing, configuration));
                let ratios: Vec<Ratio> = ratios.collect();
                let count =
                    |is: fn(&Ratio) -> bool| ratios.iter().filter(|ratio| is(ratio)).count();
                let (faster, slower) = (count(Ratio::is_faster), count(Ratio::is_slower));
                let tied = ratios.len() - faster - slower;
                Some(Overall { thing, ratio, faster, tied, slower, ties_first: false })
            })
            .collect();
        all.sort_by(|a, b| b.ratio.value.total_cmp(&a.ratio.value));
        let first = all.first().map(|first| first.thing);
        for (index, other) in all.iter_mut().enumerate() {
            let against = |first| self.ratio(first, other.thing, &configurations);
            other.ties_first =
                index == 0 || first.and_then(against).is_none_or(|ratio| !ratio.is_shown());
        }
        all
    }
}

/// Variance of the logarithm of a mean: (s / mean)² / n.
fn error(sample: &Sample) -> f64 {
    let cv = sample.cv().unwrap_or(0.0);
    cv * cv / sample.values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::testing::{repeats, survey};
    use super::*;

    const SMALL: (u32, u32, u32) = (1, 128, 64);
    const LARGE: (u32, u32, u32) = (64, 256, 128);

    fn near(got: f64, expect: f64) {
        assert!((got - expect).abs() < 1e-9, "{got} is not {expect}");
    }

    #[test]
    fn a_ratio_is_that_of_the_means() {
        let mut points = repeats("base", SMALL, &[99.0, 100.0, 101.0]);
        points.extend(repeats("fast", SMALL, &[148.0, 150.0, 152.0]));
        points.extend(repeats("same", SMALL, &[99.0, 100.2, 101.0]));
        points.extend(repeats("wild", SMALL, &[50.0, 150.0, 150.0]));
        points.extend(repeats("once", SMALL, &[200.0]));
        let survey = survey(&points);
        let matrix = Matrix::of(&survey, None, None).expect("batches");
        let fast = matrix.speed_up(1, 0).expect("measured");
        near(fast.value, 1.5);
        let (low, high) = fast.interval.expect("three repeats");
        // Relative errors 1/(100 √3) and 2/(150 √3); 3.78 degrees of freedom, t = 2.84:
        // 1.5 · exp(± 2.84 · 0.00962).
        assert!((low - 1.4596).abs() < 5e-4 && (high - 1.5415).abs() < 5e-4, "{low} {high}");
        assert!(fast.is_faster() && !fast.is_slower());
        assert!(!matrix.speed_up(2, 0).expect("measured").is_shown());
        assert!(!matrix.speed_up(3, 0).expect("measured").is_trusted);
        assert_eq!(matrix.speed_up(4, 0).expect("measured").interval, None);
        assert_eq!(matrix.speed_up(0, 0), None, "the baseline has none");
    }

    #[test]
    fn over_configurations_the_ratios_are_multiplied() {
        let mut points = repeats("base", SMALL, &[99.0, 100.0, 101.0]);
        points.extend(repeats("a", SMALL, &[199.0, 200.0, 201.0]));
        points.extend(repeats("b", SMALL, &[100.0, 100.1, 99.9]));
        points.extend(repeats("base", LARGE, &[999.0, 1000.0, 1001.0]));
        points.extend(repeats("a", LARGE, &[499.0, 500.0, 501.0]));
        points.extend(repeats("b", LARGE, &[1000.0, 1000.1, 999.9]));
        let survey = survey(&points);
        let matrix = Matrix::of(&survey, None, None).expect("batches");
        let overall = matrix.overall();
        assert_eq!(overall.len(), 2);
        let a = overall.iter().find(|overall| overall.thing == 1).expect("measured");
        near(a.ratio.value, 1.0);
        assert_eq!((a.faster, a.tied, a.slower, a.ratio.configurations), (1, 0, 1, 2));
        near(matrix.speed_up_at(1, 64.0).expect("measured").value, 0.5);
        assert!(overall.iter().all(|overall| overall.ties_first));
    }
}
