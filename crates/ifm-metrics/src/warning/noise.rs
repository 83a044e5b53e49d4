//! Repeats of one load that do not agree: then one of them alone says little.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;
use crate::repeats::{VARIATION_TRUSTED_MAX, by_load};
use crate::stat::Distribution;
use ifm_core::Metric;

/// Repeats whose coefficient of variation is above this share do not agree: published static
/// batches mostly have 0.7 to 6 %.
const CV_MAX: f64 = 0.05;
/// Times below this are the client's and the host's own as much as the server's, nanoseconds.
const NS_MIN: f64 = 1e6;

pub(super) const CHECK: Check =
    Check { id: "noise", title: "repeats of a level agreed", run: Made::ByLevel(make) };

/// Speaks of all repeats of a load at the first of them.
fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let loads = by_load(context.levels);
    let repeats = loads.iter().find_map(|(_, levels)| {
        let is_first = levels.first().is_some_and(|first| first.level == level.level);
        (is_first && levels.len() > 1).then_some(levels.as_slice())
    });
    let Some(repeats) = repeats else { return AtLevel::NotApplicable };
    let median = |distribution: Option<&Distribution>| {
        distribution.and_then(Distribution::median).filter(|median| *median > NS_MIN)
    };
    let spreads = [
        ("output tok/s", spread(repeats, &LevelSummary::output_tok_per_s)),
        ("median TTFT", spread(repeats, &|level| median(level.latencies.get(Metric::Ttft)))),
        (
            "median TPOT",
            spread(repeats, &|level| median(level.latencies.tpot().map(|(tpot, _)| tpot))),
        ),
    ];
    let spreads: Vec<(&str, f64)> = spreads
        .into_iter()
        .filter_map(|(name, share)| Some((name, share.filter(|share| *share > CV_MAX)?)))
        .collect();
    if spreads.is_empty() {
        return AtLevel::Silent;
    }
    let words: Vec<String> =
        spreads.iter().map(|(name, share)| format!("{name} by {}", percent(*share))).collect();
    let differ = format!(
        "{} repeats differ: {} of the mean (standard deviation)",
        repeats.len(),
        words.join(", ")
    );
    // Other figures of the same repeats may agree, and their means are shown.
    let wild: Vec<&str> = spreads
        .iter()
        .filter(|(_, share)| *share > VARIATION_TRUSTED_MAX)
        .map(|(name, _)| *name)
        .collect();
    if wild.is_empty() {
        return AtLevel::Fires(Severity::Caution, differ);
    }
    let names = wild.join(" and ");
    AtLevel::Fires(Severity::Invalid, format!("{differ}; a mean of {names} is not a result"))
}

/// The coefficient of variation of a figure over repeats; absent for fewer than two.
fn spread(levels: &[&LevelSummary], figure: &dyn Fn(&LevelSummary) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = levels.iter().filter_map(|level| figure(level)).collect();
    let all = Distribution::from_values(values, &[])?;
    Some(all.std? / all.mean).filter(|share| share.is_finite())
}

#[cfg(test)]
mod tests {
    use crate::testing::{closed_loop, run};
    use crate::warning::CheckState;
    use crate::warning::testing::state;

    #[test]
    fn fires_when_repeats_differ() {
        let repeats = |ttft_ms: [f64; 3]| {
            let requests = (0..3u16).flat_map(|level| {
                let seq = u32::from(level) * 80;
                closed_loop((seq, level), (2, 40), 0.0, (ttft_ms[usize::from(level)], 10.0, 16))
            });
            run(&[2, 2, 2], requests.collect())
        };
        assert_eq!(state(&repeats([100.0, 101.0, 99.0]), "noise"), CheckState::Passed);
        // Standard deviation over mean: 5.8 of 103.3, and 46.5 of 126.3.
        assert_eq!(state(&repeats([100.0, 110.0, 100.0]), "noise"), CheckState::Caution);
        assert_eq!(state(&repeats([100.0, 180.0, 99.0]), "noise"), CheckState::Invalid);
        let single = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        assert_eq!(state(&single, "noise"), CheckState::NotApplicable);
    }
}
