//! How many times as fast one thing is as another, over one configuration or several.
//!
//! One test decides, wherever a page says that a difference is shown or is not: Welch's test of the
//! logarithm of the ratio of two means, 95 %. Its chances are corrected by Holm's method within a
//! family. For the same configurations and the same measure there are two families, the pairs with
//! the baseline and all other pairs, so that every pair has one verdict: a rank and a ratio cannot
//! contradict each other.

use super::{Matrix, Sample};
use crate::stat::multiple::holm;
use crate::stat::welch::{MeanDifference, from_error};
use crate::survey::CONFIDENCE;
use ifm_core::sheet::Quantity;
use std::collections::BTreeMap;

/// How many times as fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Mean over mean; over several configurations the geometric mean of these.
    pub value: f64,
    /// Bounds of this ratio alone with 95 % confidence; absent with fewer than three repeats.
    pub interval: Option<(f64, f64)>,
    /// Chance of such a ratio if there were no difference, corrected for its family; absent with
    /// fewer than three repeats, and where the repeats contradict each other.
    pub chance: Option<f64>,
    /// Whether the repeats of both agree well enough to say anything.
    pub is_trusted: bool,
    /// Configurations that it is over.
    pub configurations: usize,
}

impl Ratio {
    /// Whether a difference is shown.
    pub fn is_shown(&self) -> bool {
        self.chance.is_some_and(|chance| chance < 1.0 - CONFIDENCE)
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

/// Which things differ, over the same configurations.
#[derive(Debug, Clone)]
pub struct Verdicts {
    baseline: Option<usize>,
    against_baseline: Vec<Option<Ratio>>,
    others: BTreeMap<(usize, usize), Ratio>,
}

impl Verdicts {
    /// Whether two things are shown to differ.
    pub fn differ(&self, one: usize, other: usize) -> bool {
        let thing = match self.baseline {
            Some(baseline) if baseline == one => Some(other),
            Some(baseline) if baseline == other => Some(one),
            _ => None,
        };
        let found = match thing {
            Some(thing) => self.against_baseline.get(thing).copied().flatten(),
            None => self.others.get(&(one.min(other), one.max(other))).copied(),
        };
        found.is_some_and(|ratio| ratio.is_shown())
    }
}

impl Matrix<'_> {
    /// Every row against the baseline, by its index; none for the baseline itself and for rows that
    /// were not measured. Over several configurations it is the geometric mean of the ratios of
    /// means, each by the measure of its configuration unless one is named. The interval follows
    /// from the errors of the means (delta method on the logarithm, degrees of freedom of Welch and
    /// Satterthwaite). The configurations are fixed, not a sample of a larger set.
    pub fn against_baseline(
        &self,
        configurations: &[usize],
        measure: Option<&Quantity>,
    ) -> Vec<Option<Ratio>> {
        let mut ratios: Vec<Option<Ratio>> = (0..self.things.len())
            .map(|thing| {
                let baseline = self.baseline.filter(|baseline| *baseline != thing)?;
                self.untested(thing, baseline, configurations, measure)
            })
            .collect();
        correct(ratios.iter_mut().flatten());
        ratios
    }

    /// The ratio of a row to the baseline in a configuration; absent for the baseline.
    pub fn speed_up(&self, thing: usize, configuration: usize) -> Option<Ratio> {
        self.against_baseline(&[configuration], None).get(thing).copied().flatten()
    }

    /// The verdicts of all pairs of things over these configurations.
    pub fn verdicts(&self, configurations: &[usize]) -> Verdicts {
        let mut others = BTreeMap::new();
        let is_other = |thing: &usize| Some(*thing) != self.baseline;
        for first in (0..self.things.len()).filter(is_other) {
            for second in (first + 1..self.things.len()).filter(is_other) {
                let ratio = self.untested(first, second, configurations, None);
                others.extend(ratio.map(|ratio| ((first, second), ratio)));
            }
        }
        correct(others.values_mut());
        Verdicts {
            baseline: self.baseline,
            against_baseline: self.against_baseline(configurations, None),
            others,
        }
    }

    /// A ratio whose chance is not yet corrected. Absent where one of both was not measured.
    pub(super) fn untested(
        &self,
        thing: usize,
        other: usize,
        configurations: &[usize],
        measure: Option<&Quantity>,
    ) -> Option<Ratio> {
        let (mut sum, mut variance, mut freedom) = (0.0, 0.0, 0.0);
        let (mut is_testable, mut is_trusted) = (true, true);
        let share = 1.0 / configurations.len() as f64;
        for configuration in configurations {
            let measure = measure.unwrap_or(&self.configurations.get(*configuration)?.measure);
            let is_cost = *measure == Quantity::E2e;
            for (side, sign) in [(thing, 1.0), (other, -1.0)] {
                let sample = self.cell(side, *configuration)?.sample(measure);
                let sample = sample.filter(|sample| sample.mean > 0.0)?;
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
        let found = from_error(sum, variance.sqrt(), freedom, CONFIDENCE);
        let found = found.filter(|_| is_testable);
        let bounds =
            |found: MeanDifference| (found.difference.low.exp(), found.difference.high.exp());
        (!configurations.is_empty()).then(|| Ratio {
            value: sum.exp(),
            interval: found.map(bounds),
            chance: found.filter(|_| is_trusted).map(|found| found.p),
            is_trusted,
            configurations: configurations.len(),
        })
    }
}

/// Corrects the chances of a family, as far as there are any.
pub(super) fn correct<'r>(family: impl Iterator<Item = &'r mut Ratio>) {
    let mut tested: Vec<&mut Ratio> = family.filter(|ratio| ratio.chance.is_some()).collect();
    let chances: Vec<f64> = tested.iter().filter_map(|ratio| ratio.chance).collect();
    let corrected = holm(&chances);
    for (index, ratio) in tested.iter_mut().enumerate() {
        ratio.chance = corrected.as_ref().and_then(|corrected| corrected.get(index).copied());
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
        let wild = matrix.speed_up(3, 0).expect("measured");
        assert!(!wild.is_trusted && wild.chance.is_none() && wild.interval.is_some());
        let once = matrix.speed_up(4, 0).expect("measured");
        assert_eq!((once.interval, once.chance), (None, None));
        assert_eq!(matrix.speed_up(0, 0), None, "the baseline has none");
    }

    /// The smaller of two chances is doubled, the larger one stays.
    #[test]
    fn chances_are_corrected_within_the_pairs_of_the_baseline() {
        let mut points = repeats("base", SMALL, &[99.0, 100.0, 101.0]);
        points.extend(repeats("near", SMALL, &[101.0, 102.5, 103.0]));
        points.extend(repeats("far", SMALL, &[103.0, 104.0, 106.0]));
        let survey = survey(&points);
        let matrix = Matrix::of(&survey, None, None).expect("batches");
        let both = matrix.against_baseline(&[0], None);
        let chance = |thing: usize| both[thing].expect("measured").chance.expect("tested");
        let alone = |thing| matrix.untested(thing, 0, &[0], None).expect("measured").chance;
        near(chance(2), 2.0 * alone(2).expect("tested"));
        near(chance(1), alone(1).expect("tested"));
        // scipy 1.17.1, stats.t.sf: ln(102.1667 / 100) over the errors 1 / (100 √3) and
        // 1.04083 / (102.1667 √3), 3.9986 degrees of freedom; ln(104.3333 / 100), 3.5325 degrees.
        assert!((chance(1) - 0.060_020_41).abs() < 1e-6, "{}", chance(1));
        assert!((chance(2) - 2.0 * 0.018_468_51).abs() < 1e-6, "{}", chance(2));
        let verdicts = matrix.verdicts(&[0]);
        assert!(verdicts.differ(0, 2) && verdicts.differ(2, 0) && !verdicts.differ(0, 1));
        assert!(!verdicts.differ(1, 2), "the only pair of the other family");
    }
}
