//! Spreads as GuideLLM has them in its file: of weighted values, of rates and of what was in flight
//! over time (`DistributionSummary` in `guidellm/schemas/base/statistics.py`, 0.8).

use super::rows::nearest_rank;
use ifm_core::order::Order as _;
use ifm_core::sheet::Spread;

/// Percentiles of the file.
const PERCENTILES: [f64; 11] = [0.1, 1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9];
/// Times that lie closer than this, seconds, are one.
const SAME_S: f64 = 1e-4;
/// Minimum time assigned to the last event of a window, seconds; smaller weights count as zero.
const LEAST: f64 = 1e-6;

/// The spread of weighted values; absent without values. Without a count the weights are the
/// observations.
pub(super) fn spread(
    name: &'static str,
    mut values: Vec<(f64, f64)>,
    count: Option<u64>,
) -> Option<Spread> {
    let count =
        count.unwrap_or(values.iter().map(|(_, weight)| weight).sum::<f64>().round() as u64);
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    values.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
    values.retain(|(_, weight)| *weight > 0.0);
    if values.iter().map(|(_, weight)| weight).sum::<f64>() <= LEAST {
        values.iter_mut().for_each(|(_, weight)| *weight = 1.0);
    }
    let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
    let (first, last) = (values.first()?.0, values.last()?.0);
    let mean = values.iter().map(|(value, weight)| value * weight).sum::<f64>() / weight;
    let squares: f64 = values.iter().map(|(value, w)| (value - mean).powi(2) * w).sum();
    let heavier = |a: (f64, f64), b: &(f64, f64)| if b.1 > a.1 { *b } else { a };
    let mode = values.iter().fold((first, 0.0), heavier).0;
    let percentile = |p: f64| Some((p, nearest_rank(&values, weight, p)?));
    Some(Spread {
        name,
        mean,
        mode,
        variance: squares / weight,
        min: first,
        max: last,
        count,
        percentiles: PERCENTILES.into_iter().filter_map(percentile).collect(),
    })
}

/// Rates between events: each applies halfway to its neighbors. `events` are times in seconds and
/// what happened then; the window's ends count as events of nothing.
pub(super) fn rate(
    name: &'static str,
    mut events: Vec<(f64, f64)>,
    (start_s, end_s): (f64, f64),
) -> Option<Spread> {
    events.retain(|(at, _)| (start_s..=end_s).contains(at));
    events.extend([(start_s, 0.0), (end_s, 0.0)]);
    let events = merged(events);
    let many: f64 = events.iter().map(|(_, many)| many).sum();
    let at = |index: usize| events.get(index).map(|(at, _)| *at);
    let halfway = |index: usize| Some((at(index)? + at(index + 1)?) / 2.0);
    if events.len() < 2 {
        return None;
    }
    let rates = events.iter().enumerate().map(|(index, (at, many))| {
        let from = index.checked_sub(1).and_then(halfway).unwrap_or(*at);
        let lasts = match halfway(index) {
            Some(until) => until - from,
            None => (at - from).max(LEAST),
        };
        (many / lasts, lasts)
    });
    spread(name, rates.collect(), Some(many.round() as u64))
}

/// How many were in flight, weighted by how long. `spans` are starts and ends in seconds.
pub(super) fn in_flight(
    name: &'static str,
    spans: &[(f64, f64)],
    (_, end_s): (f64, f64),
) -> Option<Spread> {
    let changes = spans.iter().flat_map(|(from, to)| [(*from, 1.0), (*to, -1.0)]).collect();
    let mut changes = merged(changes);
    changes.push((end_s, 0.0));
    let mut now: f64 = 0.0;
    let levels = changes.windows(2).filter_map(|pair| {
        let [(at, change), (next, _)] = pair else { return None };
        now += change;
        Some((now.max(0.0), (next - at).max(0.0)))
    });
    spread(name, levels.collect(), Some(spans.len() as u64))
}

/// Times in rising order; those that lie closer to the first of a group are added to it.
fn merged(mut events: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    events.order_by(|a, b| a.0.total_cmp(&b.0));
    events.dedup_by(|next, kept| {
        let is_near = next.0 <= kept.0 + SAME_S;
        if is_near {
            kept.1 += next.1;
        }
        is_near
    });
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight requests of a run of GuideLLM 0.8.1 with 16 tokens and as many events each: start, end, first and
    /// last token in seconds since the first start, prompt tokens.
    const RUN: [(f64, f64, f64, f64, f64); 8] = [
        (0.0016177, 0.1313770, 0.0636857, 0.1310251, 14.0),
        (0.0000000, 0.1394823, 0.0620916, 0.1391501, 13.0),
        (0.0078816, 0.1431260, 0.0669873, 0.1428399, 17.0),
        (0.0086789, 0.1592386, 0.0698400, 0.1588752, 16.0),
        (0.1680789, 0.2979827, 0.2428174, 0.2976758, 15.0),
        (0.1781838, 0.3096488, 0.2440608, 0.3093519, 15.0),
        (0.1834161, 0.3195662, 0.2449031, 0.3192577, 15.0),
        (0.1993964, 0.3348436, 0.2542775, 0.3344533, 17.0),
    ];

    fn near(found: Option<Spread>, count: u64, (mean, mode, max): (f64, f64, f64), p: [f64; 4]) {
        let found = found.expect("a spread");
        let percentile =
            |wanted: f64| found.percentiles.iter().find(|(p, _)| *p == wanted).unwrap().1;
        assert_eq!((found.count, found.min), (count, 0.0), "{found:?}");
        let told = [found.mean, found.mode, found.max, found.variance.sqrt()];
        let told = told.into_iter().chain([25.0, 50.0, 90.0].map(percentile));
        for (told, expect) in told.zip([mean, mode, max, p[0], p[1], p[2], p[3]]) {
            assert!(
                (told - expect).abs() <= 1e-3 * expect.max(1.0),
                "{} {expect}: {found:?}",
                found.name
            );
        }
    }

    /// What the tool made of them.
    #[test]
    fn rates_over_time_are_those_of_guidellm() {
        let window = (0.0, RUN[7].1);
        let spans: Vec<(f64, f64)> = RUN.iter().map(|run| (run.0, run.1)).collect();
        let ends = spans.iter().map(|span| (span.1, 1.0)).collect();
        let found = rate("requests", ends, window);
        near(
            found,
            8,
            (23.891_749, 12.915_168, 170.223_377),
            [35.577_440, 12.915_168, 13.297_015, 92.663_132],
        );
        near(
            in_flight("in flight", &spans, window),
            8,
            (3.249_313, 4.0, 4.0),
            [1.194_221, 3.0, 4.0, 4.0],
        );
        let prompts = RUN.iter().map(|run| (run.2, run.4)).collect();
        let found = rate("prompts", prompts, window);
        near(
            found,
            122,
            (364.349_168, 181.993_594, 14_383.758_573),
            [1_101.914_055, 172.195_518, 181.993_594, 408.253_671],
        );
        let tokens = RUN.iter().flat_map(|run| {
            (0..16).map(|index| (run.2 + (run.3 - run.2) * f64::from(index) / 15.0, 1.0))
        });
        let found = rate("tokens", tokens.collect(), window);
        near(
            found,
            128,
            (382.267_979, 22.252_366, 3_548.480_542),
            [462.332_488, 23.478_298, 203.035_337, 895.644_672],
        );
    }

    #[test]
    fn a_spread_is_of_weighted_values() {
        let found =
            spread("x", vec![(3.0, 1.0), (1.0, 2.0), (3.0, 2.0), (9.0, 0.0)], None).unwrap();
        // Two times 1 and three times 3.
        assert_eq!((found.count, found.mean, found.mode), (5, 2.2, 3.0));
        assert!((found.variance - 0.96).abs() < 1e-12);
        assert_eq!((found.min, found.max), (1.0, 3.0));
        assert_eq!(found.percentiles.first(), Some(&(0.1, 1.0)));
        assert_eq!(found.percentiles.last(), Some(&(99.9, 3.0)));
        assert_eq!(spread("x", Vec::new(), None), None);
    }
}
