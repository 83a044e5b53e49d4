//! Times of the single requests of a document, and which of them a figure of the row was taken over.
//!
//! Which time of a request a tool means by its figure is found by trying: the time whose mean and
//! median equal those in the row. If none match, the requests say nothing about that figure.

use super::Stat;
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Row, SheetRequest, Statistic};
use ifm_metrics::stat::blocks::strong_inflation;
use ifm_metrics::stat::interval::{TAIL, ranks_in_effect};
use ifm_metrics::stat::quantile::percentile_of_sorted;
use ifm_metrics::stat::special::student_upper_quantile;
use ifm_metrics::stat::welch::Moments;

/// Share by which a mean over the requests may differ from the one that is stated.
const APART: f64 = 1e-3;
const MS_PER_S: f64 = 1e3;
/// Quantities whose percentiles are bounded: each request has one value.
const BOUNDED: [Metric; 3] = [Metric::Ttft, Metric::Tpot, Metric::E2e];

pub type Of = fn(&SheetRequest) -> Option<f64>;

/// Times that a tool may mean, ms; for a speed the time of a token.
fn candidates(metric: Metric) -> &'static [Of] {
    match metric {
        Metric::Ttft => &[|request| request.ttft_ms],
        Metric::E2e => {
            &[|request| request.e2e_ms, |request| Some(request.ttft_ms? + request.gaps_sum_ms?)]
        }
        Metric::Tpot | Metric::UserSpeed => &[end_by_tokens, gaps_by_tokens, whole_by_tokens],
        Metric::Itl => &[gaps_by_tokens, end_by_tokens],
        _ => &[],
    }
}

pub fn after_first(request: &SheetRequest) -> Option<f64> {
    request.output_tokens.filter(|tokens| *tokens > 1).map(|tokens| (tokens - 1) as f64)
}

pub fn end_by_tokens(request: &SheetRequest) -> Option<f64> {
    Some((request.e2e_ms? - request.ttft_ms?) / after_first(request)?)
}

fn gaps_by_tokens(request: &SheetRequest) -> Option<f64> {
    Some(request.gaps_sum_ms? / after_first(request)?)
}

fn whole_by_tokens(request: &SheetRequest) -> Option<f64> {
    Some(request.e2e_ms? / request.output_tokens.filter(|tokens| *tokens > 0)? as f64)
}

/// The requests of a row that succeeded, in the order of their starts.
pub fn in_order(row: &Row) -> Vec<&SheetRequest> {
    let mut good: Vec<&SheetRequest> =
        row.requests.iter().filter(|request| request.error.is_none()).collect();
    if good.iter().all(|request| request.start_s.is_some()) {
        let start = |request: &SheetRequest| request.start_s.unwrap_or_default();
        good.order_by(|a, b| start(a).total_cmp(&start(b)));
    }
    good
}

/// The value of each request that has one, with its place: of the first of the times that the
/// row's own figures were taken over.
pub fn values(good: &[&SheetRequest], metric: Metric, stated: &[&Stat]) -> Option<Vec<(f64, u32)>> {
    let is_speed = metric == Metric::UserSpeed;
    let of = |of: &Of| -> Vec<(f64, u32)> {
        let value = |request: &SheetRequest| {
            let value = of(request)?;
            let value = if is_speed { MS_PER_S / value } else { value };
            value.is_finite().then_some(value)
        };
        let places = good.iter().zip(0u32..);
        let mut values: Vec<(f64, u32)> =
            places.filter_map(|(request, place)| Some((value(request)?, place))).collect();
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        values
    };
    let mut found = candidates(metric).iter().map(of).filter(|values| !values.is_empty());
    if stated.is_empty() {
        // The row does not say what it means by it: use the value that a request has under its
        // name.
        return found.next().filter(|_| !is_speed && metric != Metric::Itl);
    }
    found.find(|values| stated.iter().all(|stated| is_of(stated, values)))
}

/// Adds the 95 % intervals that the single requests of a row give: of percentiles the values at two
/// ranks, of means `mean ± t · s / sqrt(n)` (Student 1908). `n` is the effective number of requests.
pub(super) fn add_bounds(stats: &mut [Stat], row: &Row) {
    let good = in_order(row);
    if good.is_empty() {
        return;
    }
    for metric in &BOUNDED {
        let is_stated = |stat: &&Stat| {
            stat.metric == *metric && matches!(stat.statistic, Statistic::Mean | Statistic::Median)
        };
        let stated: Vec<&Stat> = stats.iter().filter(is_stated).collect();
        let Some(values) = values(&good, *metric, &stated) else { continue };
        let mut in_time = values.clone();
        in_time.sort_unstable_by_key(|(_, place)| *place);
        let in_time: Vec<f64> = in_time.into_iter().map(|(value, _)| value).collect();
        let n = values.len() as u64;
        let in_effect = n as f64 / strong_inflation(&in_time).unwrap_or(1.0);
        let reach = Moments::of(&in_time).and_then(|moments| moments.std()).map(|std| {
            let freedom = (in_effect - 1.0).max(1.0);
            student_upper_quantile(TAIL, freedom) * std / in_effect.sqrt()
        });
        let at = |rank: u64| values.get(rank as usize).map(|(value, _)| *value);
        for stat in stats.iter_mut().filter(|stat| stat.metric == *metric) {
            let ranks = |p: f64| {
                let (low, high) = ranks_in_effect(n, p, in_effect, TAIL);
                (low.and_then(at), high.and_then(at))
            };
            let (low, high) = match stat.statistic {
                Statistic::Median => ranks(50.0),
                Statistic::Percentile(p) => ranks(p),
                Statistic::Mean => reach.map_or((None, None), |reach| {
                    (Some(stat.value - reach), Some(stat.value + reach))
                }),
                _ => continue,
            };
            let holds = low.is_none_or(|low| low <= stat.value)
                && high.is_none_or(|high| stat.value <= high);
            if holds {
                (stat.low, stat.high) = (low, high);
            }
        }
    }
}

/// Whether a mean or median that is stated is that of these values, rising.
fn is_of(stated: &Stat, values: &[(f64, u32)]) -> bool {
    let sorted: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
    match stated.statistic {
        Statistic::Mean => is_near(stated, sorted.iter().sum::<f64>() / sorted.len() as f64),
        // By nearest rank it is one of the two in the middle.
        _ => {
            let middle = [(sorted.len() - 1) / 2, sorted.len() / 2];
            let ranks = middle.into_iter().filter_map(|rank| sorted.get(rank).copied());
            let mut all = ranks.chain(percentile_of_sorted(&sorted, 50.0));
            all.any(|median| is_near(stated, median))
        }
    }
}

pub fn is_near(stated: &Stat, value: f64) -> bool {
    // A number that was printed is rounded: half of its last digit, at most a hundredth of it.
    let rounded = if stated.printed.is_some() { 0.005 * value.abs().max(1.0) } else { 0.0 };
    (stated.value - value).abs() <= APART * value.abs() + rounded + 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::Place;
    use ifm_core::sheet::RowRole;

    /// TTFTs of 1 to `n` ms in an order without memory.
    fn row(n: u32) -> Row {
        let mut row = Row::new(RowRole::Measured, Place::default());
        row.requests = (0..n)
            .map(|at| SheetRequest {
                ttft_ms: Some(f64::from((at * 7919) % n + 1)),
                ..SheetRequest::default()
            })
            .collect();
        row
    }

    fn ttft(statistic: Statistic, value: f64) -> Stat {
        Stat::new(Metric::Ttft, statistic, value)
    }

    #[test]
    fn percentiles_and_means_of_single_requests_have_intervals() {
        let mut stats = vec![
            ttft(Statistic::Mean, 500.5),
            ttft(Statistic::Median, 500.5),
            ttft(Statistic::Percentile(99.0), 990.0),
        ];
        add_bounds(&mut stats, &row(1_000));
        let bounds: Vec<_> = stats.iter().map(|stat| (stat.low, stat.high)).collect();
        let ((mean_low, mean_high), (p99_low, p99_high)) = (bounds[0], bounds[2]);
        // 1.96 times 289 over the root of 1,000.
        assert!((mean_high.unwrap() - mean_low.unwrap() - 35.8).abs() < 0.2, "{bounds:?}");
        // Ranks by the binomial distribution, 2.5 % on each side.
        assert_eq!(bounds[1], (Some(469.0), Some(532.0)));
        assert_eq!((p99_low, p99_high), (Some(983.0), Some(997.0)));
    }

    #[test]
    fn requests_that_do_not_give_the_figure_bound_nothing() {
        let mut stats = vec![ttft(Statistic::Mean, 40.0), ttft(Statistic::Percentile(99.0), 990.0)];
        add_bounds(&mut stats, &row(1_000));
        assert!(stats.iter().all(|stat| stat.low.is_none()), "{stats:?}");
        let mut few = vec![ttft(Statistic::Mean, 5.5), ttft(Statistic::Percentile(99.0), 9.9)];
        add_bounds(&mut few, &row(10));
        assert_eq!(few[1].high, None, "ten requests have no upper bound of a P99");
    }
}
