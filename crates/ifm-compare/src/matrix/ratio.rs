//! How many times as fast one thing is as another, over one configuration or several.
//!
//! The verdict is that of the comparison, wherever a page says that a difference is shown or is not.
//! It is corrected within a family. For the same configurations and the same measure there are two
//! families, the pairs with the baseline and all other pairs, so that every pair has one verdict: a
//! rank and a ratio cannot contradict each other.

use super::Matrix;
use crate::comparison::advantage::{AdvantageDraft, corrected};
use crate::comparison::side::AtLoad;
use crate::comparison::{Advantage, Doubt, Measure, Verdict};
use ifm_core::Metric;
use ifm_core::sheet::Statistic;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How many times as fast.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// Geometric mean over geometric mean of the repeats; over several configurations the geometric
    /// mean of these.
    pub value: f64,
    /// Bounds of this ratio alone with 95 % confidence; absent where the data give none.
    pub interval: Option<(f64, f64)>,
    /// The verdict of the comparison, corrected for its family.
    pub verdict: Verdict,
    /// Why the data do not decide.
    pub doubt: Option<Doubt>,
    /// The smallest difference that would have been found with a chance of 80 %, as a share.
    pub detectable: Option<f64>,
    /// Whether the repeats of both agree well enough, or the verdict is certain although they do not.
    pub is_trusted: bool,
    /// Configurations that it is over.
    pub configurations: usize,
}

impl Ratio {
    fn new(of: Advantage, is_calm: bool, configurations: usize) -> Ratio {
        let is_shown = matches!(of.verdict, Verdict::Better | Verdict::Worse);
        Ratio {
            value: of.value,
            interval: of.interval,
            verdict: of.verdict,
            doubt: of.doubt,
            detectable: of.detectable,
            is_trusted: is_calm || is_shown,
            configurations,
        }
    }

    /// Whether a difference is shown.
    pub fn is_shown(&self) -> bool {
        self.is_faster() || self.is_slower()
    }

    /// Whether it is shown to be faster.
    pub fn is_faster(&self) -> bool {
        self.verdict == Verdict::Better
    }

    /// Whether it is shown to be slower.
    pub fn is_slower(&self) -> bool {
        self.verdict == Verdict::Worse
    }

    /// Whether a relevant difference is ruled out.
    pub fn is_equal(&self) -> bool {
        matches!(self.verdict, Verdict::NoDifferenceShown | Verdict::NoRelevantDifference)
    }
}

/// A ratio before its correction, and whether the repeats of both sides agree.
pub(super) struct Draft {
    draft: AdvantageDraft,
    is_calm: bool,
    configurations: usize,
}

/// The ratios of a family.
pub(super) fn family(drafts: Vec<Option<Draft>>) -> Vec<Option<Ratio>> {
    let notes: Vec<_> =
        drafts.iter().map(|of| of.as_ref().map(|of| (of.is_calm, of.configurations))).collect();
    let drafts = drafts.into_iter().map(|of| of.map(|of| of.draft)).collect();
    let found = corrected(drafts).into_iter().zip(notes);
    found.map(|(of, note)| of.zip(note).map(|(of, (calm, n))| Ratio::new(of, calm, n))).collect()
}

/// Which things differ, over the same configurations.
#[derive(Debug, Clone)]
pub struct Verdicts {
    baseline: Option<usize>,
    against_baseline: Vec<Option<Ratio>>,
    others: BTreeMap<(usize, usize), Ratio>,
}

impl Verdicts {
    /// The ratio of two things, the one with the higher number over the other or over the baseline.
    pub fn of(&self, one: usize, other: usize) -> Option<&Ratio> {
        let thing = match self.baseline {
            Some(baseline) if baseline == one => Some(other),
            Some(baseline) if baseline == other => Some(one),
            _ => None,
        };
        match thing {
            Some(thing) => self.against_baseline.get(thing)?.as_ref(),
            None => self.others.get(&(one.min(other), one.max(other))),
        }
    }

    /// Whether two things are shown to differ.
    pub fn differ(&self, one: usize, other: usize) -> bool {
        self.of(one, other).is_some_and(Ratio::is_shown)
    }

    /// Whether a relevant difference between two things is ruled out.
    pub fn are_equal(&self, one: usize, other: usize) -> bool {
        self.of(one, other).is_some_and(Ratio::is_equal)
    }

    /// The verdict about the second thing against the first.
    pub(super) fn second(&self, first: usize, second: usize) -> (Verdict, Option<&Ratio>) {
        let Some(ratio) = self.of(first, second) else { return (Verdict::Inconclusive, None) };
        // A ratio is of a row over the baseline, else of the lower index over the higher.
        let is_of_first = match self.baseline {
            Some(baseline) if baseline == second => true,
            Some(baseline) if baseline == first => false,
            _ => first < second,
        };
        let verdict = match ratio.verdict {
            Verdict::Better if is_of_first => Verdict::Worse,
            Verdict::Worse if is_of_first => Verdict::Better,
            verdict => verdict,
        };
        (verdict, Some(ratio))
    }
}

impl Matrix<'_> {
    /// Every row against the baseline, by its index; none for the baseline itself and for rows that
    /// were not measured. Over several configurations it is the geometric mean of the ratios, each by
    /// the measure of its configuration unless one is named. The configurations are fixed, not a
    /// sample of a larger set.
    pub fn against_baseline(
        &self,
        configurations: &[usize],
        measure: Option<Metric>,
    ) -> Vec<Option<Ratio>> {
        let drafts = (0..self.things.len()).map(|thing| {
            let baseline = self.baseline.filter(|baseline| *baseline != thing)?;
            self.draft(thing, baseline, configurations, measure)
        });
        family(drafts.collect())
    }

    /// The ratio of a row to the baseline in a configuration; absent for the baseline.
    pub fn speed_up(&self, thing: usize, configuration: usize) -> Option<Ratio> {
        self.against_baseline(&[configuration], None).into_iter().nth(thing).flatten()
    }

    /// The verdicts of all pairs of things over these configurations.
    pub fn verdicts(&self, configurations: &[usize]) -> Verdicts {
        let is_other = |thing: &usize| Some(*thing) != self.baseline;
        let others = || (0..self.things.len()).filter(is_other);
        let pairs: Vec<(usize, usize)> = others()
            .flat_map(|first| others().map(move |second| (first, second)))
            .filter(|(first, second)| first < second)
            .collect();
        let drafts = pairs
            .iter()
            .map(|(first, second)| self.draft(*first, *second, configurations, None))
            .collect();
        let ratios = pairs.into_iter().zip(family(drafts));
        Verdicts {
            baseline: self.baseline,
            against_baseline: self.against_baseline(configurations, None),
            others: ratios.filter_map(|(pair, ratio)| Some((pair, ratio?))).collect(),
        }
    }

    /// A ratio that is not yet corrected. Absent where one of both was not measured.
    pub(super) fn draft(
        &self,
        thing: usize,
        other: usize,
        configurations: &[usize],
        measure: Option<Metric>,
    ) -> Option<Draft> {
        let mut is_calm = true;
        let each = configurations.iter().map(|configuration| {
            let measure = match measure {
                Some(measure) => measure,
                None => self.configurations.get(*configuration)?.measure,
            };
            let (of, base) = (self.cell(thing, *configuration)?, self.cell(other, *configuration)?);
            for cell in [of, base] {
                is_calm &= cell.sample(measure).is_none_or(|sample| sample.is_trusted());
            }
            let measures = measures(measure);
            let (base, of) = (self.known(base, &measures), self.known(of, &measures));
            AdvantageDraft::of(&base, &of, &measures)
        });
        let draft = AdvantageDraft::over(each)?;
        Some(Draft { draft, is_calm, configurations: configurations.len() })
    }
}

impl Matrix<'_> {
    /// What a cell says of these measures of one quantity.
    fn known(&self, cell: &super::Cell, measures: &[Measure]) -> Rc<AtLoad> {
        let name = measures.first().map(Measure::to_string).unwrap_or_default();
        let key = (cell.thing, cell.configuration, name);
        if let Some(known) = self.known.borrow().get(&key) {
            return Rc::clone(known);
        }
        let known = Rc::new(self.evidence.of_points(&cell.points, measures));
        self.known.borrow_mut().insert(key, Rc::clone(&known));
        known
    }
}

/// What a comparison calls a quantity, by each of its central statistics. A static batch has other
/// names for some of them.
fn measures(quantity: Metric) -> Vec<Measure> {
    let names = std::iter::once(quantity).chain(super::sample::name_of_batches(quantity));
    let of_metric = |metric: Metric| {
        let statistics = Statistic::central(metric).into_iter();
        statistics.map(move |statistic| Measure::of_statistic(metric, statistic))
    };
    let mut measures: Vec<Measure> =
        names.filter(|metric| metric.has_word()).flat_map(of_metric).collect();
    measures.dedup();
    measures
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_results::testing::{repeats, results};

    const SMALL: (u32, u32, u32) = (1, 128, 64);

    #[test]
    fn a_ratio_is_that_of_the_means() {
        let mut points = repeats("base", SMALL, &[99.0, 100.0, 101.0]);
        points.extend(repeats("fast", SMALL, &[148.0, 150.0, 152.0]));
        points.extend(repeats("same", SMALL, &[99.0, 100.2, 101.0]));
        points.extend(repeats("wild", SMALL, &[50.0, 150.0, 150.0]));
        points.extend(repeats("once", SMALL, &[200.0]));
        let results = results(&points);
        let matrix = Matrix::of(&results, None, None).expect("batches");
        let fast = matrix.speed_up(1, 0).expect("measured");
        assert!((fast.value - 1.5).abs() < 1e-4, "of the geometric means: {}", fast.value);
        let (low, high) = fast.interval.expect("three repeats");
        // Relative errors 1/(100 √3) and 2/(150 √3); 3.78 degrees of freedom, t = 2.84:
        // 1.5 · exp(± 2.84 · 0.00962).
        assert!((low - 1.4596).abs() < 5e-4 && (high - 1.5415).abs() < 5e-4, "{low} {high}");
        assert!(fast.is_faster() && !fast.is_slower());
        assert!(!matrix.speed_up(2, 0).expect("measured").is_shown());
        let wild = matrix.speed_up(3, 0).expect("measured");
        assert!(!wild.is_trusted && wild.doubt == Some(Doubt::Wide) && wild.interval.is_some());
        // One number is judged by the spread of the baseline's repeats, as in `compare`.
        let once = matrix.speed_up(4, 0).expect("measured");
        assert!(once.is_faster() && once.interval.is_some(), "{once:?}");
        assert_eq!(matrix.speed_up(0, 0), None, "the baseline has none");
    }

    /// A difference that is shown among two pairs with the baseline is not certain among four: alone
    /// its chance is 0.0185 by Welch's test.
    #[test]
    fn chances_are_corrected_within_the_pairs_of_the_baseline() {
        let verdicts = |others: usize| {
            let mut points = repeats("base", SMALL, &[99.0, 100.0, 101.0]);
            points.extend(repeats("far", SMALL, &[103.0, 104.0, 106.0]));
            for other in 0..others {
                points.extend(repeats(&format!("same{other}"), SMALL, &[99.0, 100.0, 101.0]));
            }
            let results = results(&points);
            let matrix = Matrix::of(&results, None, None).expect("batches");
            let far = matrix.speed_up(1, 0).expect("measured");
            let verdicts = matrix.verdicts(&[0]);
            assert_eq!(verdicts.of(0, 1), Some(&far), "one verdict for a rank and a ratio");
            assert!(!verdicts.differ(0, 2) && verdicts.are_equal(2, 0));
            (far.verdict, far.doubt)
        };
        assert_eq!(verdicts(1), (Verdict::Better, None));
        assert_eq!(verdicts(3), (Verdict::Inconclusive, Some(Doubt::Correction)));
    }

    /// A verdict of a matrix is that of the comparison of the same two measurements, and over two
    /// configurations the same judge has both.
    #[test]
    fn a_ratio_has_the_verdict_of_the_comparison() {
        use crate::comparison::pairs_of_results::NO_EVIDENCE;
        let mut points = repeats("base", SMALL, &[99.0, 100.0, 101.0]);
        points.extend(repeats("other", SMALL, &[95.0, 101.0, 108.0]));
        let results = results(&points);
        let matrix = Matrix::of(&results, None, None).expect("batches");
        let ratio = matrix.speed_up(1, 0).expect("measured");
        let pool = results.pool(ifm_core::sheet::PartKind::StaticBatch);
        let measures = measures(Metric::OutputRate);
        let rows = NO_EVIDENCE.rows([(&pool.cells[0], &pool.cells[1])], (&measures, false));
        let row = &rows[0][0];
        let change = row.change.expect("repeats");
        assert_eq!(ratio.value, change.value);
        assert_eq!(ratio.interval, Some((change.low, change.high)));
        assert_eq!((ratio.verdict, &ratio.doubt), (row.verdict, &row.doubt));
        assert_eq!((ratio.verdict, ratio.detectable), (Verdict::Inconclusive, row.detectable));
    }
}
