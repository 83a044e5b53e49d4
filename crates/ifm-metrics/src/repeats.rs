//! Repeats of a load, taken together: their central value and how sure it is.
//!
//! Within one level requests are many and depend on each other; between repeats the values are few
//! and do not. So the interval of a repeated load is that between its repeats (Student's, from
//! three on), with one value for each repeat. Not here: whether repeats agree, which is a
//! check, and the verdict, for which every repeat of a load counts by itself.

use crate::level::{LevelSummary, Load};
use crate::slo::VerdictState;
use crate::stat::welch::Moments;
use crate::stat::{Distribution, Scale, center, center_interval};
use ifm_core::Metric;
use ifm_core::order::Order as _;

/// Confidence of the intervals.
pub const CONFIDENCE: f64 = 0.95;
/// Minimum number of repeats for an interval: over two it is so wide that it says nothing.
pub const REPEATS_MIN: u32 = 3;
/// Above this coefficient of variation the mean of repeats is not a result.
pub const VARIATION_TRUSTED_MAX: f64 = 0.20;

/// One figure over the repeats of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between {
    /// Repeats that have the figure.
    pub n: u32,
    /// Their geometric mean: see [`center()`].
    pub mean: f64,
    /// The smallest of them.
    pub min: f64,
    /// The largest of them.
    pub max: f64,
    /// Their standard deviation over their arithmetic mean; absent for one alone.
    pub variation: Option<f64>,
    /// The 95 % interval of the mean (Student); absent for fewer than [`REPEATS_MIN`].
    pub interval: Option<(f64, f64)>,
}

impl Between {
    /// Of one value for each repeat; absent without a value.
    fn of(values: &[f64]) -> Option<Between> {
        let n = u32::try_from(values.len()).ok().filter(|n| *n > 0)?;
        let moments = Moments::of(values).filter(|moments| moments.mean > 0.0);
        let variation = moments.and_then(|moments| Some(moments.std()? / moments.mean));
        let mean = center(values, Scale::Ratio)?;
        let estimate =
            (n >= REPEATS_MIN).then(|| center_interval(values, Scale::Ratio, CONFIDENCE)).flatten();
        Some(Between {
            n,
            mean,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            variation,
            interval: estimate.map(|estimate| (estimate.low, estimate.high)),
        })
    }

    /// Whether the repeats differ so much that their mean is not a result.
    pub fn is_noise(&self) -> bool {
        self.variation.is_some_and(|share| share > VARIATION_TRUSTED_MAX)
    }

    /// Half of the interval over the mean; absent without an interval.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = self.interval?;
        (self.mean > 0.0).then(|| (high - low) / 2.0 / self.mean)
    }
}

/// The repeats of one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeated {
    /// The load.
    pub load: Load,
    /// Indices of its levels in the spec, in the order in which they ran; at least two.
    pub levels: Vec<u16>,
    /// How many of them are inside the latency target.
    pub inside: u32,
    /// How many of them are outside of it.
    pub outside: u32,
    /// Requests per second.
    pub req_per_s: Option<Between>,
    /// Output tokens per second.
    pub output_tok_per_s: Option<Between>,
    /// Median speed for one user, tokens per second.
    pub user_tok_per_s: Option<Between>,
    /// Whether that speed comes from estimated token counts in any of them.
    pub user_speed_is_estimated: bool,
    /// Median TTFT as targets count it, nanoseconds.
    pub ttft_ns_p50: Option<Between>,
    /// P99 of the same, nanoseconds.
    pub ttft_ns_p99: Option<Between>,
    /// Median gap between events, nanoseconds.
    pub gap_ns_p50: Option<Between>,
    /// P99 of the gaps between events, nanoseconds.
    pub gap_ns_p99: Option<Between>,
}

impl Repeated {
    fn of(load: Load, levels: &[&LevelSummary]) -> Repeated {
        let between = |figure: &dyn Fn(&LevelSummary) -> Option<f64>| {
            let values: Vec<f64> = levels.iter().filter_map(|level| figure(level)).collect();
            Between::of(&values)
        };
        let percentile = |of: fn(&LevelSummary) -> Option<&Distribution>, p: f64| {
            between(&|level| Some(of(level)?.percentile(p)?.value))
        };
        let count = |state: VerdictState| {
            levels.iter().filter(|level| level.verdict.state == state).count() as u32
        };
        Repeated {
            load,
            levels: levels.iter().map(|level| level.level).collect(),
            inside: count(VerdictState::Pass),
            outside: count(VerdictState::Fail),
            req_per_s: between(&|level| Some(level.window()?.req_per_s)),
            output_tok_per_s: between(&LevelSummary::output_tok_per_s),
            user_tok_per_s: between(&|level| Some(level.user_tok_per_s()?.0)),
            user_speed_is_estimated: levels
                .iter()
                .any(|level| level.user_tok_per_s().is_some_and(|(_, is_estimated)| is_estimated)),
            ttft_ns_p50: percentile(ttft, 50.0),
            ttft_ns_p99: percentile(ttft, 99.0),
            gap_ns_p50: percentile(gap, 50.0),
            gap_ns_p99: percentile(gap, 99.0),
        }
    }
}

fn ttft(level: &LevelSummary) -> Option<&Distribution> {
    level.latencies.ttft()
}

fn gap(level: &LevelSummary) -> Option<&Distribution> {
    level.latencies.get(Metric::Itl)
}

/// The levels of each load, loads in the order in which they first ran. Levels that are no result of
/// a load are left out: see [`LevelSummary::held_load`].
pub(crate) fn by_load(levels: &[LevelSummary]) -> Vec<(Load, Vec<&LevelSummary>)> {
    let mut loads: Vec<(Load, Vec<&LevelSummary>)> = Vec::new();
    for level in levels {
        let Some(load) = level.held_load() else { continue };
        match loads.iter_mut().find(|(known, _)| *known == load) {
            Some((_, levels)) => levels.push(level),
            None => loads.push((load, vec![level])),
        }
    }
    loads
}

/// The loads that were measured more than once, from the lowest to the highest.
pub fn repeated(levels: &[LevelSummary]) -> Vec<Repeated> {
    let mut loads = by_load(levels);
    loads.retain(|(_, levels)| levels.len() > 1);
    loads.order_by(|(a, _), (b, _)| a.order(*b));
    loads.into_iter().map(|(load, levels)| Repeated::of(load, &levels)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed_loop, run};

    #[test]
    fn repeats_become_a_mean_with_the_interval_between_them() {
        let ttft_ms = [100.0, 110.0, 300.0, 120.0];
        let users = [2, 2, 4, 2];
        let requests = (0..4u16).flat_map(|level| {
            let at = usize::from(level);
            let start = (u32::from(level) * 200, level);
            closed_loop(start, (users[at], 40), 0.0, (ttft_ms[at], 10.0, 16))
        });
        let summary = crate::summarize(&run(&users, requests.collect()));
        let [two] = summary.repeats.as_slice() else { panic!("{:?}", summary.repeats) };
        assert_eq!((two.load, two.levels.as_slice()), (Load::Users(2), &[0, 1, 3][..]));
        let ttft = two.ttft_ns_p50.expect("measured");
        assert_eq!((ttft.n, ttft.min, ttft.max), (3, 100e6, 120e6));
        // The logarithms have the deviation 0.091192, t(0.975, 2) = 4.302653.
        assert!((ttft.mean - 109.696_131e6).abs() < 1.0, "{}", ttft.mean);
        let (low, high) = ttft.interval.expect("three repeats");
        assert!((high - 137.585_867e6).abs() < 1.0 && (low - 87.459_864e6).abs() < 1.0, "{high}");
        assert!((ttft.relative_half_width().expect("an interval") - 0.228_477).abs() < 1e-6);
        assert_eq!((two.inside, two.outside), (3, 0));
        // The answers cover all repeats, not the one that happened to come first.
        let answers = summary.answers.expect("levels");
        assert_eq!(answers.at.load, Some(Load::Users(4)));
    }

    #[test]
    fn two_repeats_have_no_interval_and_one_is_not_a_repeat() {
        let requests = (0..2u16).flat_map(|level| {
            let start = (u32::from(level) * 100, level);
            closed_loop(start, (2, 40), 0.0, (100.0 + f64::from(level), 10.0, 16))
        });
        let summary = crate::summarize(&run(&[2, 2], requests.collect()));
        let both = summary.repeats[0].output_tok_per_s.expect("measured");
        assert_eq!((both.n, both.interval, both.relative_half_width()), (2, None, None));
        let at = summary.answers.expect("levels").at;
        assert_eq!((at.repeats, at.output_tok_per_s), (2, Some(both.mean)));
        let single = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        let summary = crate::summarize(&single);
        assert!(summary.repeats.is_empty());
        assert_eq!(summary.answers.expect("a level").at.repeats, 1);
    }
}
