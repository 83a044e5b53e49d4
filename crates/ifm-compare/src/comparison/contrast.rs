//! Two sides at one load by one measure: the ratio, its interval, and what may be said.
//!
//! Not here: which loads and measures are compared with each other, see
//! [`pair`](super::pair).

use super::evidence::{
    Evidence, RunEvidence, Spread, bounds, disturbed, too_few, too_few_together, unbounded,
};
use super::measure::Measure;
use super::percentile::{PercentileBounds, pooled_bounds};
use super::shortage::Shortage;
use super::verdict::Verdict;
use ifm_core::metric::Direction;
use ifm_metrics::repeats::REPEATS_MIN;
use ifm_metrics::stat::power::{detectable, detectable_share};
use ifm_metrics::stat::proportion::{fisher_exact, share_difference, share_interval};
use ifm_metrics::stat::special::{normal_below, normal_upper_quantile};
use ifm_metrics::stat::welch::{Moments, from_error, from_errors, tail};
use ifm_metrics::stat::{Estimate, Scale, center, center_interval};
use std::fmt;

/// Probability (power) with which a comparison finds a difference of the size that it reports as
/// detectable.
pub(crate) const POWER: f64 = 0.8;
/// A change of a share by less than this is not relevant, 0 to 1.
pub const SHARE_POINTS_MIN: f64 = 0.005;

ifm_core::vocabulary! {
    /// What an interval rests on.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Basis {
        /// The requests of one run on each side: how runs differ among themselves is not in it.
        Requests = "requests",
        /// Repeated runs: how they differ among themselves.
        Runs = "runs",
        /// Counted requests.
        Counts = "counts",
        /// A mean with its standard deviation and number of values, on at least one side: as if each
        /// value were independent of the others.
        Stated = "stated",
    }
}

/// One side of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The value, in the unit of the measure; over several runs their geometric mean.
    pub value: f64,
    /// Lower bound; absent where there are too few values.
    pub low: Option<f64>,
    /// Upper bound; likewise.
    pub high: Option<f64>,
    /// Number of values: requests, gaps; absent if a document does not state it.
    pub n: Option<u64>,
    /// Runs of this level.
    pub runs: usize,
    /// Whether it lies between two measured loads and was measured at neither.
    pub is_interpolated: bool,
}

impl Cell {
    /// The same without an interval of two repeats, which says nothing.
    pub(crate) fn with_useful_interval(self) -> Cell {
        let has_interval = self.runs == 1 || self.runs >= REPEATS_MIN as usize;
        if has_interval { self } else { Cell { low: None, high: None, ..self } }
    }

    /// The same as it was counted in this run, which says nothing of other runs.
    pub(crate) fn counted(self) -> Cell {
        Cell { low: None, high: None, ..self }
    }
}

/// Why the data do not decide.
#[derive(Debug, Clone, PartialEq)]
pub enum Doubt {
    /// A side has too few values.
    Short(Shortage),
    /// A side has no value.
    NoValue,
    /// A side, or each, is one number with no information on its error.
    OneNumber {
        /// Whether both are.
        both: bool,
    },
    /// A side, or each, is a mean with a deviation, and how many values it is over is not stated.
    Uncounted,
    /// The sides define the measure differently; both definitions.
    Definitions(String, String),
    /// A value is zero or can be, so there is no ratio.
    NoRatio,
    /// The repeats of the sides do not vary at all, as copies and rounded numbers do.
    NoSpread,
    /// A side lies between two measured loads, and against them the verdicts differ.
    Between,
    /// The interval reaches from no difference to a relevant one.
    Wide,
    /// There is a difference, but whether it is relevant is not settled.
    Size,
    /// The difference would be significant by itself, but not among this many comparisons.
    Correction,
}

impl Doubt {
    /// The stored word.
    pub fn word(&self) -> &'static str {
        match self {
            Doubt::Short(Shortage::Disturbed { .. }) => "disturbed",
            Doubt::Short(Shortage::Tail { .. }) => "heavy_tail",
            Doubt::Short(_) => "too_few",
            Doubt::NoValue => "no_value",
            Doubt::OneNumber { .. } => "one_number",
            Doubt::Uncounted => "uncounted",
            Doubt::Definitions(..) => "definitions",
            Doubt::NoRatio => "no_ratio",
            Doubt::NoSpread => "no_spread",
            Doubt::Between => "between_loads",
            Doubt::Wide => "wide",
            Doubt::Size => "size",
            Doubt::Correction => "correction",
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Doubt::Short(shortage) => return write!(formatter, "{shortage}"),
            Doubt::NoValue => "a side has no value",
            Doubt::OneNumber { both: true } => "cannot be decided: one number on each side",
            Doubt::OneNumber { both: false } => "cannot be decided: one number on one side",
            Doubt::Uncounted => {
                "cannot be decided: the number of values behind the stated deviation is unknown"
            }
            Doubt::Definitions(a, b) => {
                return write!(formatter, "defined differently: {a}; and {b}");
            }
            Doubt::NoRatio => "no ratio of values at zero",
            Doubt::NoSpread => "the repeats are identical: nothing shows how much they vary",
            Doubt::Between => "between two measured loads that do not agree",
            Doubt::Wide => "the interval is too wide",
            Doubt::Size => "they differ; by how much is not settled",
            Doubt::Correction => "not certain after correction for several comparisons",
        };
        formatter.write_str(words)
    }
}

/// How two sides are compared with each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub confidence: f64,
    /// Smallest relevant change, as a share of the first side's value.
    pub threshold: f64,
}

impl Rules {
    /// The chance of a false alarm that is allowed.
    pub fn alpha(&self) -> f64 {
        1.0 - self.confidence
    }
}

/// What two sides say together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contrast {
    /// Second over first; for shares, second minus first.
    pub change: Estimate,
    pub p: f64,
    /// The smallest change that would probably have been found, on the scale of `change` less 1.
    pub detectable: Option<f64>,
    pub basis: Basis,
    /// Why no verdict may rest on it.
    pub shortage: Option<Shortage>,
    /// What is missing if the interval does not decide.
    pub lacking: Option<Shortage>,
    /// Standard error of the logarithm of the ratio, and its degrees of freedom; absent for shares
    /// and between two loads.
    pub error: Option<(f64, f64)>,
}

/// Holds two sides against each other.
pub(crate) fn contrast(a: &Evidence, b: &Evidence, rules: &Rules) -> Result<Contrast, Doubt> {
    match (a, b) {
        (Evidence::Runs(a), Evidence::Runs(b)) => match (a.as_slice(), b.as_slice()) {
            ([], _) | (_, []) => Err(Doubt::NoValue),
            ([a], [b]) => by_requests(a, b, rules),
            (a, b) => by_runs(a, b, rules),
        },
        (Evidence::Share { hits: hits_a, n: n_a }, Evidence::Share { hits: hits_b, n: n_b }) => {
            by_counts((*hits_a, *n_a), (*hits_b, *n_b), rules)
        }
        _ => Err(Doubt::NoValue),
    }
}

/// One run on each side: Welch's test of the logarithms, each with the spread of its draws or with
/// that of its stated mean. The interval of two runs with draws is that of the ratio of the draws;
/// else it is Welch's, `(m_b - m_a) ± t · sqrt(v_a + v_b)` on the logarithms, with `v = s^2 / (n m^2)`
/// for a stated mean and the degrees of freedom of Welch and Satterthwaite. Source: Welch (1947).
fn by_requests(a: &RunEvidence, b: &RunEvidence, rules: &Rules) -> Result<Contrast, Doubt> {
    let lonely = |run: &RunEvidence| matches!(run.spread, Spread::Unknown);
    if lonely(a) || lonely(b) {
        return Err(Doubt::OneNumber { both: lonely(a) && lonely(b) });
    }
    if !(a.spread.is_known() && b.spread.is_known()) {
        return Err(Doubt::Uncounted);
    }
    let disturbed = disturbed(std::slice::from_ref(a)).or(disturbed(std::slice::from_ref(b)));
    let shortage = disturbed.or(a.shortage).or(b.shortage);
    if let (Some(first), Some(second)) = (a.ranks(), b.ranks()) {
        return by_ranks((a, first), (b, second), shortage, rules);
    }
    let (Some((log_a, variance_a, freedom_a)), Some((log_b, variance_b, freedom_b))) =
        (a.logarithm(), b.logarithm())
    else {
        return Err(shortage.map_or(Doubt::NoRatio, Doubt::Short));
    };
    let test = from_errors(
        log_a,
        (variance_a, freedom_a),
        log_b,
        (variance_b, freedom_b),
        rules.confidence,
    )
    .ok_or(Doubt::NoValue)?;
    let (change, basis) = match (&a.spread, &b.spread) {
        (Spread::Draws(a_draws, _), Spread::Draws(b_draws, _)) => {
            let draws = a_draws.iter().zip(b_draws).map(|(a, b)| b / a).collect();
            let change = bounds(b.value / a.value, draws, test.freedom, rules.confidence);
            (change.ok_or(Doubt::NoValue)?, Basis::Requests)
        }
        _ => (test.difference.map(f64::exp), Basis::Stated),
    };
    let error = (variance_a + variance_b).sqrt();
    let detectable = detectable(error, test.freedom, rules.alpha(), POWER).map(f64::exp_m1);
    let error = Some((error, test.freedom));
    Ok(Contrast { change, p: test.p, detectable, basis, shortage, lacking: None, error })
}

/// A percentile of one run on each side: the interval of the difference of the logarithms from those
/// of both, `d - sqrt((b - b_low)^2 + (a_high - a)^2)` and the same upward. Source: Zou and Donner (2008),
/// as Newcombe (1998) makes it of shares. The chance is that of a normal value with the reach of the
/// interval toward none. Without both bounds of both sides there is no interval.
fn by_ranks(
    (a, ranks_a): (&RunEvidence, &PercentileBounds),
    (b, ranks_b): (&RunEvidence, &PercentileBounds),
    shortage: Option<Shortage>,
    rules: &Rules,
) -> Result<Contrast, Doubt> {
    let logs = |run: &RunEvidence| -> Option<Estimate> {
        let (low, high) = run.bounds(rules.confidence);
        let found = Estimate { value: run.value, low: low?, high: high? };
        (found.low > 0.0).then(|| found.map(f64::ln))
    };
    let short = || shortage.or_else(|| unbounded(ranks_a)).or_else(|| unbounded(ranks_b));
    let (Some(a), Some(b)) = (logs(a), logs(b)) else {
        return Err(short().map_or(Doubt::NoRatio, Doubt::Short));
    };
    let value = b.value - a.value;
    let (below, above) =
        ((b.value - b.low).hypot(a.high - a.value), (b.high - b.value).hypot(a.value - a.low));
    let z = normal_upper_quantile(tail(rules.confidence).ok_or(Doubt::NoValue)?);
    let reach = if value > 0.0 { below } else { above };
    let p = match () {
        () if value == 0.0 => 1.0,
        // Values that do not vary.
        () if reach == 0.0 => 0.0,
        () => (2.0 * normal_below(-value.abs() / (reach / z))).min(1.0),
    };
    let error = f64::midpoint(below, above) / z;
    let freedom = (ranks_a.in_effect.min(ranks_b.in_effect) - 1.0).max(1.0);
    let needed = normal_upper_quantile(rules.alpha() / 2.0) + normal_upper_quantile(1.0 - POWER);
    Ok(Contrast {
        change: Estimate { value, low: value - below, high: value + above }.map(f64::exp),
        p,
        detectable: Some((needed * error).exp_m1()),
        basis: Basis::Requests,
        shortage,
        lacking: None,
        error: Some((error, freedom)),
    })
}

/// Several runs on at least one side: Welch's test of the logarithms of the runs' values. If one
/// side has one run, the spread of the other side's runs is used for both.
fn by_runs(a: &[RunEvidence], b: &[RunEvidence], rules: &Rules) -> Result<Contrast, Doubt> {
    let logs = |runs: &[RunEvidence]| -> Option<Vec<f64>> {
        runs.iter().map(|run| (run.value > 0.0).then(|| run.value.ln())).collect()
    };
    let (Some(logs_a), Some(logs_b)) = (logs(a), logs(b)) else { return Err(Doubt::NoRatio) };
    let (Some(first), Some(second)) = (Moments::of(&logs_a), Moments::of(&logs_b)) else {
        return Err(Doubt::NoValue);
    };
    // Repeats that differ by less than the last digits of a number say as much as one.
    let varies = |moments: &Moments| moments.variance.filter(|variance| *variance >= 1e-24);
    let (of_a, of_b) = (varies(&first), varies(&second));
    let count = |moments: &Moments, variance: Option<f64>| match variance {
        Some(_) => moments.n as f64,
        None => 1.0,
    };
    let (n_a, n_b) = (count(&first, of_a), count(&second, of_b));
    let test = match (of_a, of_b) {
        (Some(v_a), Some(v_b)) => {
            let side = |variance: f64, n: f64| (variance / n, n - 1.0);
            from_errors(first.mean, side(v_a, n_a), second.mean, side(v_b, n_b), rules.confidence)
        }
        (Some(variance), None) | (None, Some(variance)) => {
            let error = (variance * (1.0 / n_a + 1.0 / n_b)).sqrt();
            let freedom = n_a.max(n_b) - 1.0;
            from_error(second.mean - first.mean, error, freedom, rules.confidence)
        }
        (None, None) => return Err(Doubt::NoSpread),
    }
    .ok_or(Doubt::NoValue)?;
    let detectable = detectable(test.error, test.freedom, rules.alpha(), POWER).map(f64::exp_m1);
    let change = test.difference.map(f64::exp);
    let n = first.n.max(second.n) as u64;
    let lacking = (first.n == 2 || second.n == 2)
        .then_some(Shortage::Repeats { n: n.min(2), needed: u64::from(REPEATS_MIN) });
    let together = || too_few_together(a).or_else(|| too_few_together(b));
    let few = || a.iter().chain(b).filter_map(RunEvidence::ranks).find_map(too_few);
    let shortage = disturbed(a).or(disturbed(b)).or_else(together).or_else(few);
    let (basis, error) = (Basis::Runs, Some((test.error, test.freedom)));
    Ok(Contrast { change, p: test.p, detectable, basis, shortage, lacking, error })
}

/// The geometric mean of ratios that were measured under several conditions, as one contrast: the mean
/// of their logarithms, whose errors are independent, with the degrees of freedom of Welch and
/// Satterthwaite. The conditions are fixed, not a sample of other conditions. Absent if a ratio has no error.
pub(crate) fn mean_of(all: &[Contrast], rules: &Rules) -> Option<Contrast> {
    let (first, share) = (all.first()?, 1.0 / all.len() as f64);
    let (mut value, mut variance, mut of_freedom) = (0.0, 0.0, 0.0);
    for contrast in all {
        let (error, freedom) = contrast.error?;
        let part = (error * share).powi(2);
        value += contrast.change.value.ln() * share;
        variance += part;
        of_freedom += part * part / freedom;
    }
    let freedom = if of_freedom > 0.0 { variance * variance / of_freedom } else { 1.0 };
    let test = from_error(value, variance.sqrt(), freedom, rules.confidence)?;
    let of = |what: fn(&Contrast) -> Option<Shortage>| all.iter().find_map(what);
    Some(Contrast {
        change: test.difference.map(f64::exp),
        p: test.p,
        detectable: detectable(test.error, freedom, rules.alpha(), POWER).map(f64::exp_m1),
        basis: first.basis,
        shortage: of(|contrast| contrast.shortage),
        lacking: of(|contrast| contrast.lacking),
        error: Some((test.error, freedom)),
    })
}

/// Shares: Newcombe's interval of the difference, and Fisher's exact test.
fn by_counts(a: (u64, u64), b: (u64, u64), rules: &Rules) -> Result<Contrast, Doubt> {
    let change = share_difference(a, b, rules.confidence).ok_or(Doubt::NoValue)?;
    let p = fisher_exact(a, b).ok_or(Doubt::NoValue)?;
    let detectable = detectable_share(a, b.1, rules.alpha(), POWER);
    let (basis, error) = (Basis::Counts, None);
    Ok(Contrast { change, p, detectable, basis, shortage: None, lacking: None, error })
}

/// A detectable difference as it is written: two digits, upward, since a smaller one may not show.
pub fn rounded_up(share: f64) -> f64 {
    if share <= 0.0 || !share.is_finite() {
        return share;
    }
    let unit = 10f64.powf(share.log10().floor() - 1.0);
    (share / unit).ceil() * unit
}

/// One side by itself.
pub(crate) fn cell(evidence: &Evidence, measure: Measure, confidence: f64) -> Option<Cell> {
    let runs = match evidence {
        Evidence::Share { hits, n } => {
            let share = share_interval(*hits, *n, confidence)?;
            return Some(Cell {
                value: share.value,
                low: Some(share.low),
                high: Some(share.high),
                n: Some(*n),
                runs: 1,
                is_interpolated: false,
            });
        }
        Evidence::Runs(runs) => runs,
    };
    let n = runs.iter().map(|run| run.n).sum::<Option<u64>>();
    let (value, (low, high)) = match runs.as_slice() {
        [] => return None,
        [run] => (run.value, run.bounds(confidence)),
        runs => between_runs(runs, measure.repeat_scale(), confidence),
    };
    // Measured values are never below zero.
    let low = low.map(|low: f64| if value >= 0.0 { low.max(0.0) } else { low });
    Some(Cell { value, low, high, n, runs: runs.len(), is_interpolated: false })
}

/// The central value of runs with Student's interval: see [`center`]. A percentile of few
/// requests is too near the middle in every run alike, which their spread does not show: its interval
/// also holds that of all requests together, and it has none where a run alone has none.
fn between_runs(
    runs: &[RunEvidence],
    scale: Scale,
    confidence: f64,
) -> (f64, (Option<f64>, Option<f64>)) {
    let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
    let mean = center(&values, scale).unwrap_or(f64::NAN);
    let between = center_interval(&values, scale, confidence);
    let (mut low, mut high) =
        (between.map(|between| between.low), between.map(|between| between.high));
    let ranks: Option<Vec<&PercentileBounds>> = runs.iter().map(RunEvidence::ranks).collect();
    if let Some((ranks, tail)) = ranks.zip(tail(confidence)) {
        let (of_all_low, of_all_high) = pooled_bounds(&ranks, tail);
        let each: Vec<_> = ranks.iter().map(|of| of.bounds(tail)).collect();
        let have_low = each.iter().all(|(low, _)| low.is_some());
        let have_high = each.iter().all(|(_, high)| high.is_some());
        low = low.zip(of_all_low).map(|(a, b)| a.min(b)).filter(|_| have_low);
        high = high.zip(of_all_high).map(|(a, b)| a.max(b)).filter(|_| have_high);
    }
    (mean, (low, high))
}

/// The verdict, once p is corrected for all comparisons that are made together.
pub(crate) fn judge(
    measure: Measure,
    contrast: &Contrast,
    p_corrected: f64,
    rules: &Rules,
) -> (Verdict, Option<Doubt>) {
    let is_share = measure.is_share();
    let (none, relevant) = if is_share { (0.0, SHARE_POINTS_MIN) } else { (1.0, rules.threshold) };
    let Estimate { value, low, high } = contrast.change;
    if let Some(shortage) = contrast.shortage {
        return (Verdict::Inconclusive, Some(Doubt::Short(shortage)));
    }
    let excludes = low > none || high < none;
    let is_within = low >= none - relevant && high <= none + relevant;
    let is_sure = p_corrected < rules.alpha() && tail(rules.confidence).is_some();
    let is_relevant = (value - none).abs() >= relevant;
    let open = |doubt| {
        let doubt = contrast.lacking.map_or(doubt, Doubt::Short);
        (Verdict::Inconclusive, Some(doubt))
    };
    match (is_sure && (excludes || is_share), is_relevant, is_within) {
        (true, true, _) => {
            let is_better = (value > none) == (measure.direction() == Direction::Higher);
            (if is_better { Verdict::Better } else { Verdict::Worse }, None)
        }
        (true, false, true) => (Verdict::NoRelevantDifference, None),
        (true, false, false) => open(Doubt::Size),
        (false, _, true) => (Verdict::NoDifferenceShown, None),
        (false, ..) if excludes => open(Doubt::Correction),
        (false, ..) => open(Doubt::Wide),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::Metric;
    use ifm_metrics::stat::special::{student_two_sided, student_upper_quantile};

    const RULES: Rules = Rules { confidence: 0.95, threshold: 0.03 };

    fn runs(values: &[f64]) -> Evidence {
        let run = |value: &f64| RunEvidence {
            run: 0,
            value: *value,
            spread: Spread::Draws(vec![*value; 2], 100.0),
            n: Some(1_000),
            shortage: None,
            disturbed: None,
        };
        Evidence::Runs(values.iter().map(run).collect())
    }

    #[test]
    fn percentiles_of_values_that_do_not_vary_differ_surely() {
        use super::super::percentile::Ordered;
        let side = |value: f64| {
            let ordered = Ordered::Values(vec![value; 100].into());
            let bounds = PercentileBounds { ordered, p: 50.0, n: 100, in_effect: 100.0 };
            let spread = Spread::Ranks(bounds);
            let (n, shortage) = (Some(100), None);
            Evidence::Runs(vec![RunEvidence {
                run: 0,
                value,
                spread,
                n,
                shortage,
                disturbed: None,
            }])
        };
        let found = contrast(&side(20.0), &side(10.0), &RULES).expect("bounds");
        let is_half = |value: f64| (value - 0.5).abs() < 1e-9;
        assert!(
            found.p == 0.0 && is_half(found.change.low) && is_half(found.change.high),
            "{found:?}"
        );
        assert_eq!(contrast(&side(20.0), &side(20.0), &RULES).expect("bounds").p, 1.0);
    }

    #[test]
    fn repeats_that_do_not_vary_decide_nothing() {
        let ttft = Measure::parse("ttft.p50").expect("a measure");
        let (same, other) = (runs(&[100.0; 3]), runs(&[80.0; 3]));
        assert_eq!(contrast(&same, &other, &RULES), Err(Doubt::NoSpread));
        let one = cell(&same, ttft, 0.95).expect("a value");
        assert_eq!((one.low, one.high, one.runs), (None, None, 3));
        // Against repeats that vary they count as one value.
        let varying = runs(&[90.0, 100.0, 110.0]);
        let by_copies = contrast(&varying, &same, &RULES).expect("a test");
        let by_one = contrast(&varying, &runs(&[100.0]), &RULES).expect("a test");
        assert_eq!(by_copies, by_one);
    }

    #[test]
    fn repeats_are_compared_by_their_logarithms() {
        let found = contrast(&runs(&[90.0, 100.0, 110.0]), &runs(&[180.0, 200.0, 220.0]), &RULES)
            .expect("values");
        assert!((found.change.value - 2.0).abs() < 1e-12);
        // The logarithms have the spread 0.1004 each: 4 degrees of freedom, t(0.975) = 2.776.
        let spread = {
            let logs: Vec<f64> = [90.0f64, 100.0, 110.0].iter().map(|v| v.ln()).collect();
            Moments::of(&logs).and_then(|m| m.variance).expect("three")
        };
        let reach = 2.776_445_105_197_8 * (2.0 * spread / 3.0).sqrt();
        assert!((found.change.high - 2.0 * reach.exp()).abs() < 1e-9, "{found:?}");
        assert_eq!(found.basis, Basis::Runs);
        let lonely = contrast(&runs(&[100.0]), &runs(&[180.0, 200.0, 220.0]), &RULES);
        let lonely = lonely.expect("values");
        assert!(lonely.change.high > found.change.high, "one run is less than three");
        assert_eq!(contrast(&runs(&[0.0, 1.0]), &runs(&[1.0, 1.0]), &RULES), Err(Doubt::NoRatio));
    }

    /// Two repeats decide where they agree far better than the sides differ; else a third is needed.
    #[test]
    fn two_repeats_ask_for_a_third_where_they_do_not_decide() {
        let ttft = Measure::parse("ttft.p50").expect("a measure");
        let verdict = |a: &[f64], b: &[f64]| {
            let found = contrast(&runs(a), &runs(b), &RULES).expect("values");
            judge(ttft, &found, found.p, &RULES)
        };
        let third = Doubt::Short(Shortage::Repeats { n: 2, needed: 3 });
        let open = (Verdict::Inconclusive, Some(third));
        assert_eq!(verdict(&[100.0, 130.0], &[90.0, 150.0]), open);
        assert_eq!(verdict(&[100.0], &[90.0, 150.0]), open);
        assert_eq!(
            open.1.map(|doubt| doubt.to_string()).as_deref(),
            Some("2 repeats, 3 are needed")
        );
        assert_eq!(verdict(&[100.0, 100.1], &[140.0, 140.1]), (Verdict::Worse, None));
        let three = verdict(&[100.0, 130.0, 120.0], &[90.0, 150.0, 130.0]);
        assert_eq!(three, (Verdict::Inconclusive, Some(Doubt::Wide)));
    }

    #[test]
    fn values_that_never_vary_decide_at_once() {
        let same = contrast(&runs(&[100.0]), &runs(&[100.0]), &RULES).expect("values");
        assert_eq!((same.change.value, same.p), (1.0, 1.0));
        let other = contrast(&runs(&[100.0]), &runs(&[110.0]), &RULES).expect("values");
        assert_eq!((other.change.low, other.p), (other.change.high, 0.0));
    }

    /// Means 100 and 105, deviations 20 and 15, of 400 and 100 values. Computed on paper:
    /// v = 1/100^2 · 400/400 = 1e-4 and (15/10/105)^2 = 2.0408e-4; error sqrt(3.0408e-4) = 0.017438;
    /// ln 1.05 / error = 2.798; freedom by Welch and Satterthwaite
    /// 9.2467e-8 / (1e-8/399 + 4.1649e-8/99) = 207.4.
    #[test]
    fn stated_means_have_welchs_interval() {
        let stated = |value: f64, std: f64, n: u64| RunEvidence {
            run: 0,
            value,
            spread: Spread::Stated { error: std / (n as f64).sqrt(), freedom: n as f64 - 1.0 },
            n: Some(n),
            shortage: None,
            disturbed: None,
        };
        let (a, b) = (stated(100.0, 20.0, 400), stated(105.0, 15.0, 100));
        let found = contrast(&Evidence::Runs(vec![a.clone()]), &Evidence::Runs(vec![b]), &RULES);
        let found = found.expect("means");
        assert_eq!(found.basis, Basis::Stated);
        let reach = student_upper_quantile(0.025, 207.43) * 0.017_438;
        assert!((found.change.high / (1.05 * reach.exp()) - 1.0).abs() < 1e-4, "{found:?}");
        assert!((found.p - student_two_sided(2.797_9, 207.43)).abs() < 1e-4, "{found:?}");
        // A comparison with one number decides nothing.
        let lonely = RunEvidence { spread: Spread::Unknown, ..a.clone() };
        let of = |run: &RunEvidence| Evidence::Runs(vec![run.clone()]);
        let check = |a, b, both| {
            assert_eq!(contrast(&of(a), &of(b), &RULES), Err(Doubt::OneNumber { both }));
        };
        check(&lonely, &lonely, true);
        check(&a, &lonely, false);
        let uncounted = RunEvidence { spread: Spread::Uncounted, ..a.clone() };
        assert_eq!(contrast(&of(&a), &of(&uncounted), &RULES), Err(Doubt::Uncounted));
    }

    #[test]
    fn each_verdict_has_its_case() {
        let ttft = Measure::parse("ttft.p50").expect("a measure");
        let rate = Measure::value_of(Metric::OutputRate);
        let check = |measure, (low, value, high), p, expect| {
            let change = Estimate { value, low, high };
            let basis = Basis::Requests;
            let (detectable, error) = (None, None);
            let contrast =
                Contrast { change, p, detectable, basis, shortage: None, lacking: None, error };
            let (verdict, doubt) = judge(measure, &contrast, p, &RULES);
            assert_eq!((verdict, doubt), expect, "{measure} {low} {value} {high}");
        };
        let doubt = |doubt| (Verdict::Inconclusive, Some(doubt));
        check(ttft, (1.05, 1.1, 1.15), 0.001, (Verdict::Worse, None));
        check(rate, (1.05, 1.1, 1.15), 0.001, (Verdict::Better, None));
        check(ttft, (0.85, 0.9, 0.95), 0.001, (Verdict::Better, None));
        check(ttft, (1.005, 1.01, 1.015), 0.001, (Verdict::NoRelevantDifference, None));
        check(ttft, (0.99, 1.0, 1.01), 0.9, (Verdict::NoDifferenceShown, None));
        check(ttft, (0.9, 1.0, 1.1), 0.9, doubt(Doubt::Wide));
        check(ttft, (1.01, 1.025, 1.04), 0.001, doubt(Doubt::Size));
        check(ttft, (1.01, 1.1, 1.2), 0.2, doubt(Doubt::Correction));
        check(
            Measure::value_of(Metric::ErrorRate),
            (0.02, 0.05, 0.08),
            0.001,
            (Verdict::Worse, None),
        );
        check(Measure::value_of(Metric::ErrorRate), (-0.03, 0.0, 0.03), 1.0, doubt(Doubt::Wide));
        check(
            Measure::value_of(Metric::ErrorRate),
            (-0.002, 0.0, 0.003),
            1.0,
            (Verdict::NoDifferenceShown, None),
        );
        check(Measure::value_of(Metric::Success), (0.001, 0.004, 0.007), 0.001, doubt(Doubt::Size));
        check(
            Measure::value_of(Metric::Success),
            (0.001, 0.003, 0.005),
            0.001,
            (Verdict::NoRelevantDifference, None),
        );
    }

    /// 4 of 40 and 8 of 40, 3 of 300 and 9 of 300, none of 300 twice: none of them rules out a
    /// difference of half a point.
    #[test]
    fn shares_with_a_wide_interval_are_inconclusive_and_say_what_would_show() {
        let measure = Measure::value_of(Metric::ErrorRate);
        for (a, b, least) in [
            ((4, 40), (8, 40), Some(0.2597)),
            ((3, 300), (9, 300), Some(0.03846)),
            ((0, 300), (0, 300), Some(0.02573)),
            ((1, 2), (2, 3), None),
        ] {
            let share = |(hits, n)| Evidence::Share { hits, n };
            let found = contrast(&share(a), &share(b), &RULES).expect("requests");
            let expect = (Verdict::Inconclusive, Some(Doubt::Wide));
            assert_eq!(judge(measure, &found, found.p, &RULES), expect, "{a:?} {b:?}");
            let rounded = found.detectable.map(|found| (found * 1e4).round() / 1e4);
            let expect = least.map(|least: f64| (least * 1e4).round() / 1e4);
            assert_eq!(rounded, expect, "{a:?} {b:?}");
        }
        let share = |n| Evidence::Share { hits: 0, n };
        let found = contrast(&share(1_000), &share(1_000), &RULES).expect("requests");
        let expect = (Verdict::NoDifferenceShown, None);
        assert_eq!(judge(measure, &found, found.p, &RULES), expect, "0.38 points at most");
    }

    #[test]
    fn shares_are_counted() {
        let share = |hits, n| Evidence::Share { hits, n };
        let found = contrast(&share(0, 300), &share(15, 300), &RULES).expect("requests");
        assert_eq!((found.change.value, found.basis), (0.05, Basis::Counts));
        assert!(found.p < 0.001);
        let cell =
            cell(&share(15, 300), Measure::value_of(Metric::ErrorRate), 0.95).expect("requests");
        assert_eq!((cell.value, cell.n), (0.05, Some(300)));
        assert_eq!(contrast(&share(0, 0), &share(1, 2), &RULES), Err(Doubt::NoValue));
        assert_eq!(contrast(&share(0, 1), &runs(&[1.0]), &RULES), Err(Doubt::NoValue));
    }
}
