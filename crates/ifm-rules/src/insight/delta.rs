//! A difference between two measurements, in the units of a report.
//!
//! It is a row of a comparison: its verdict is what `compare` says. Not here: how a difference is
//! tested (`comparison`), and which measurements are compared (`versus`, `grid`).

use super::{Question, Sentence};
use ifm_compare::comparison::contrast::rounded_up;
use ifm_compare::comparison::{Basis, Doubt, Measure, Over, Row, Shortage, Unit, Verdict};
use ifm_core::Metric;
use ifm_core::metric::Direction;
use ifm_core::sheet::Statistic;
use ifm_results::Pooled;
use ifm_results::say;

const NS_PER_MS: f64 = 1e6;

/// A change against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Delta {
    /// What was compared.
    pub measure: Measure,
    /// The baseline's number: of a time milliseconds.
    pub base: f64,
    /// The other's number.
    pub other: f64,
    /// Other over baseline, less 1.
    pub change: f64,
    /// Lower bound of the change with 95 % confidence; absent where the data give none.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Whether both numbers are predictions.
    pub is_predicted: bool,
    /// Whether the interval is of one run on each side, and how much runs differ is not in it.
    pub is_of_single_runs: bool,
    /// The verdict about it.
    pub verdict: Verdict,
    /// Why the data do not decide.
    pub doubt: Option<Doubt>,
    /// The smallest change that would have been found with a chance of 80 %, as a share of the
    /// baseline's number.
    pub detectable: Option<f64>,
}

impl Delta {
    /// Of a row of two numbers above zero; a share of requests has no ratio.
    pub fn of(row: &Row, is_predicted: bool) -> Option<Delta> {
        let (base, other) = (row.a?.value, row.b?.value);
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        if row.measure.is_share() || !is_positive(base) || !is_positive(other) {
            return None;
        }
        let per = if row.measure.unit() == Unit::Ns { NS_PER_MS } else { 1.0 };
        let less = |ratio: f64| ratio - 1.0;
        Some(Delta {
            measure: row.measure,
            base: base / per,
            other: other / per,
            change: row.difference.map_or(other / base, |ratio| ratio) - 1.0,
            low: row.change.map(|change| less(change.low)),
            high: row.change.map(|change| less(change.high)),
            is_predicted,
            is_of_single_runs: matches!(row.basis, Some(Basis::Requests | Basis::Stated)),
            verdict: row.verdict,
            doubt: row.doubt.clone(),
            detectable: row.detectable,
        })
    }

    /// Whether a relevant difference is shown.
    pub fn is_shown(&self) -> bool {
        matches!(self.verdict, Verdict::Better | Verdict::Worse)
    }

    /// Whether the data have an interval, and it does not show which of the two is better.
    pub fn is_open(&self) -> bool {
        self.as_measured().is_none()
    }

    /// Whether a relevant difference is ruled out.
    pub fn is_tie(&self) -> bool {
        matches!(self.verdict, Verdict::NoDifferenceShown | Verdict::NoRelevantDifference)
    }

    /// How many times better the other is, with the ends of the interval: above 1 it is better.
    pub fn advantage(&self) -> (f64, Option<(f64, f64)>) {
        let ratio = 1.0 + self.change;
        let bounds = self.low.zip(self.high).map(|(low, high)| (1.0 + low, 1.0 + high));
        match self.measure.direction() {
            Direction::Higher | Direction::Neither => (ratio, bounds),
            Direction::Lower => (1.0 / ratio, bounds.map(|(low, high)| (1.0 / high, 1.0 / low))),
        }
    }

    /// What is compared, as text: `median ITL`, `p99 TTFT`, `output tok/s`.
    pub fn name(&self) -> String {
        let metric = self.measure.metric;
        match self.measure.over {
            Over::Percentile(50.0) => format!("median {metric}"),
            Over::Percentile(p) => format!("p{p} {metric}"),
            Over::Mean => format!("mean {metric}"),
            Over::Value => metric.prose().to_owned(),
        }
    }

    /// The change with its interval: `+3.5% (-1.2% to +8.4%)`.
    pub fn with_interval(&self) -> Sentence {
        match self.low.zip(self.high) {
            None => say!("{}"; self.change => Change),
            Some((low, high)) => say!(
                "{} (95% CI {} to {}{})"; self.change => Change, low => Change, high => Change,
                self.runs_note()
            ),
        }
    }

    /// What follows an interval that does not cover how much runs differ.
    pub fn runs_note(&self) -> &'static str {
        if self.is_of_single_runs { ", one run each" } else { "" }
    }

    /// What follows a ratio that was measured: its interval where the difference is shown, a doubt
    /// where the data have no interval. Absent where an interval does not show it.
    pub(super) fn as_measured(&self) -> Option<Sentence> {
        match (self.is_shown(), &self.doubt) {
            (true, _) => {
                let (_, bounds) = self.advantage();
                let bounds = bounds.map(|(low, high)| {
                    let [low, high] = if low < 1.0 { [1.0 / high, 1.0 / low] } else { [low, high] };
                    let note = self.runs_note();
                    say!(" (95% CI {} to {}{})"; low => Times, high => Times, note)
                });
                Some(bounds.unwrap_or_default())
            }
            (false, Some(Doubt::OneNumber { .. } | Doubt::Uncounted | Doubt::Definitions(..))) => {
                Some(say!(" (single numbers, which cannot show a difference)"))
            }
            (false, _) => None,
        }
    }

    /// Where the numbers come from: `measured` or `predicted`.
    pub fn source(&self) -> &'static str {
        if self.is_predicted { "predicted" } else { "measured" }
    }

    /// What was measured and why it decides nothing: `measured +3.5% (95% CI -1.2% to +8.4%); a
    /// change of 9.0% or more would probably show`.
    pub fn undecided(&self) -> Sentence {
        let measured = say!("{} {}"; self.source(), self.with_interval());
        match (&self.doubt, self.detectable) {
            (Some(Doubt::Wide), Some(least)) => {
                let least = rounded_up(least);
                say!("{}; a change of {} or more would probably show"; measured, least => Share)
            }
            (Some(Doubt::OneNumber { .. }), _) => {
                say!("{}; one number on a side cannot show a difference"; measured)
            }
            (Some(doubt), _) => say!("{}; {}"; measured, doubt),
            (None, _) => measured,
        }
    }
}

impl Question<'_> {
    /// The same for one pair.
    pub fn delta(
        &self,
        base: &Pooled,
        other: &Pooled,
        quantity: Metric,
        statistics: &[Statistic],
    ) -> Option<Delta> {
        self.deltas([(base, other)], quantity, statistics).into_iter().next().flatten()
    }

    /// The difference of a quantity between each pair of measurements, the first the baseline, by one
    /// of these statistics; all pairs are tested together.
    pub(super) fn deltas<'p>(
        &self,
        pairs: impl IntoIterator<Item = (&'p Pooled<'p>, &'p Pooled<'p>)>,
        quantity: Metric,
        statistics: &[Statistic],
    ) -> Vec<Option<Delta>> {
        let measure = |statistic: &Statistic| {
            quantity.has_word().then(|| Measure::of_statistic(quantity, *statistic))
        };
        let mut measures: Vec<Measure> = statistics.iter().filter_map(measure).collect();
        measures.dedup();
        let pairs: Vec<(&Pooled, &Pooled)> = pairs.into_iter().collect();
        let predicted: Vec<bool> =
            pairs.iter().map(|(base, other)| are_predicted(base, other)).collect();
        let rows = self.evidence.rows(pairs, (&measures, false));
        let of = |(rows, is_predicted): (&Vec<Row>, bool)| {
            Delta::of(row_of(rows, quantity, statistics)?, is_predicted)
        };
        rows.iter().zip(predicted).map(of).collect()
    }
}

/// Whether two measurements are both predictions.
pub(super) fn are_predicted(base: &Pooled, other: &Pooled) -> bool {
    base.points.iter().chain(&other.points).all(|point| point.is_predicted())
}

/// What a sentence about the ends of a range adds where the data have an interval for their difference
/// and do not show it: the numbers come first, the reservation after them.
pub(super) fn if_open(delta: Option<Delta>) -> Sentence {
    let Some(delta) = delta.filter(Delta::is_open) else { return Sentence::default() };
    match &delta.doubt {
        Some(doubt) => say!("; {}"; reservation(doubt)),
        None => say!("; no relevant difference"),
    }
}

/// Why a difference is not certain, for a reader who has just read its two numbers.
fn reservation(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Short(Shortage::Disturbed { .. }) => format!("not certain: {doubt}"),
        Doubt::Short(shortage @ (Shortage::Repeats { .. } | Shortage::Runs { .. })) => {
            format!("too few to be sure of a difference: {shortage}")
        }
        Doubt::Short(shortage) => {
            format!("too few requests to be sure of a difference ({shortage})")
        }
        Doubt::Wide | Doubt::Correction => "the difference could be chance".to_owned(),
        Doubt::Size => "they differ, but by how much is uncertain".to_owned(),
        Doubt::NoValue
        | Doubt::OneNumber { .. }
        | Doubt::Uncounted
        | Doubt::Definitions(..)
        | Doubt::NoRatio
        | Doubt::NoSpread
        | Doubt::Between => format!("not certain: {doubt}"),
    }
}

/// The difference of the speed for one user between two measurements, by the first of the figures
/// that say it.
pub fn user_speed(question: &Question, base: &Pooled, other: &Pooled) -> Option<Delta> {
    user_speeds(question, || std::iter::once((base, other))).into_iter().next().flatten()
}

/// The same of pairs that are tested together.
pub(super) fn user_speeds<'p, I>(question: &Question, pairs: impl Fn() -> I) -> Vec<Option<Delta>>
where
    I: Iterator<Item = (&'p Pooled<'p>, &'p Pooled<'p>)>,
{
    let all = [Statistic::Median, Statistic::Mean, Statistic::Value];
    let mut found: Vec<Option<Delta>> = pairs().map(|_| None).collect();
    for quantity in [Metric::UserSpeed, Metric::Tpot, Metric::Itl] {
        for (known, delta) in found.iter_mut().zip(question.deltas(pairs(), quantity, &all)) {
            *known = known.take().or(delta);
        }
    }
    found
}

/// The row of a quantity by one of these statistics: the first for which the data give an interval,
/// else the first with a number on both sides.
pub(super) fn row_of<'r>(
    rows: &'r [Row],
    quantity: Metric,
    statistics: &[Statistic],
) -> Option<&'r Row> {
    let is_of = |row: &&Row, statistic: &Statistic| {
        let metric = row.measure.metric;
        let is_metric = [quantity, quantity.from_due()].contains(&metric);
        let is_over = row.measure.over == Over::of(*statistic) || !metric.has_many_values();
        is_metric && is_over && row.difference.is_some()
    };
    let found = |statistic| rows.iter().find(|row| is_of(row, statistic));
    let all = || statistics.iter().filter_map(found);
    all().find(|row| row.change.is_some()).or_else(|| all().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_plain_and_says_what_is_missing() {
        let short = |shortage| reservation(&Doubt::Short(shortage));
        for (found, expect) in [
            (
                short(Shortage::Values { n: 6, needed: 20 }),
                "too few requests to be sure of a difference (n = 6, 20 are needed)",
            ),
            (
                short(Shortage::Dependent { n: 2, needed: 10 }),
                "too few requests to be sure of a difference (correlated requests count as 2, 10 are \
                 needed)",
            ),
            (
                short(Shortage::Repeats { n: 2, needed: 3 }),
                "too few to be sure of a difference: 2 repeats, 3 are needed",
            ),
            (
                short(Shortage::Disturbed { n: 1, of: 3 }),
                "not certain: other work disturbed 1 of 3 repeats",
            ),
            (reservation(&Doubt::Wide), "the difference could be chance"),
            (reservation(&Doubt::NoRatio), "not certain: no ratio of values at zero"),
        ] {
            assert_eq!(found, expect);
            assert!(!found.contains("inconclusive") && !found.contains("in effect"), "{found}");
        }
    }
}
