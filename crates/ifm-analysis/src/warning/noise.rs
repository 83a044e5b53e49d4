//! Repeats of one load that do not agree: then one of them alone says little.

use super::{Check, Context, Finding, Made, Severity, percent};
use crate::level::{LevelSummary, Load};
use crate::stat::Distribution;

/// Repeats whose coefficient of variation is above this share do not agree.
const CV_MAX: f64 = 0.10;

pub(super) const CHECK: Check =
    Check { id: "noise", title: "repeats of a level agreed", run: Made::ForRun(make) };

fn make(context: &Context) -> Option<Vec<Finding>> {
    let mut loads: Vec<(Load, Vec<&LevelSummary>)> = Vec::new();
    for level in context.levels {
        let Some(load) = level.load() else { continue };
        match loads.iter_mut().find(|(known, _)| *known == load) {
            Some((_, levels)) => levels.push(level),
            None => loads.push((load, vec![level])),
        }
    }
    loads.retain(|(_, levels)| levels.len() > 1);
    if loads.is_empty() {
        return None;
    }
    let findings = loads.iter().filter_map(|(load, levels)| {
        let spreads = [
            spread("output tok/s", levels, LevelSummary::output_tok_per_s),
            spread("median TTFT", levels, |level| {
                level.latencies.ttft_ns.as_ref().and_then(Distribution::median)
            }),
        ];
        let spreads: Vec<String> = spreads.into_iter().flatten().collect();
        let at = match load {
            Load::Users(users) => format!("{users} users"),
            Load::ReqPerS(rate) => format!("{rate:.2} req/s"),
        };
        (!spreads.is_empty()).then(|| {
            let repeats = levels.len();
            (Severity::Caution, format!("{repeats} repeats at {at} differ: {}", spreads.join(", ")))
        })
    });
    Some(findings.collect())
}

/// The coefficient of variation of a figure over repeats, in words, if it is too large.
fn spread(
    name: &str,
    levels: &[&LevelSummary],
    figure: fn(&LevelSummary) -> Option<f64>,
) -> Option<String> {
    let values: Vec<f64> = levels.iter().filter_map(|level| figure(level)).collect();
    let all = Distribution::from_values(values, &[])?;
    let share = all.std? / all.mean;
    (share > CV_MAX)
        .then(|| format!("{name} by {} of its mean (standard deviation)", percent(share)))
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
        assert_eq!(state(&repeats([100.0, 180.0, 99.0]), "noise"), CheckState::Caution);
        let single = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        assert_eq!(state(&single, "noise"), CheckState::NotApplicable);
    }
}
