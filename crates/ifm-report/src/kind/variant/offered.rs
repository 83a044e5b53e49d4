//! What comes out against what was asked for: where the server keeps up, both are the same.

use super::super::common::{ends, point};
use super::drawing::{chart, lines};
use crate::format::{count, meant};
use ifm_chart::{Axis, Cartesian, Chart, Dash, Guide, Point, Series};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Statistic, key};
use ifm_metrics::level::Load;
use ifm_results::Pooled;
use ifm_rules::insight::{Meant, OUTPUT, Party, Versus};

/// Why a comparison of rates has no such chart.
pub(super) const ABSENT_BECAUSE: &str = "Output against offered load is not drawn: the document \
                                         does not say which rates were requested.";

/// Output in tokens per second against the offered rate, with the line on which everything offered
/// is served; in requests per second where answer lengths are unknown. Absent where loads are not
/// rates.
pub(super) fn against_offered(versus: &Versus) -> Option<Chart> {
    tokens(versus).or_else(|| requests(versus))
}

/// Whether rates were asked for and are not told: their rows are called `constant` or `poisson`.
pub(super) fn is_untold(versus: &Versus) -> bool {
    const RATES: [&str; 2] = ["constant", "poisson"];
    let is_rate = |cell: &Pooled| {
        cell.load().is_none()
            && cell.factor(key::STRATEGY).is_some_and(|word| {
                RATES.iter().any(|rate| word.to_ascii_lowercase().starts_with(rate))
            })
    };
    versus.parties().any(|party| party.cells.iter().any(is_rate))
}

/// The rate that was asked for at a measurement.
fn rate(cell: &Pooled) -> Option<f64> {
    match cell.load() {
        Some(Load::ReqPerS(rate)) => Some(rate),
        _ => None,
    }
}

/// A rate of every party against the offered one; absent where one party has none.
fn against(versus: &Versus, quantity: Metric, how: Meant) -> Option<Vec<Series>> {
    let series = lines(versus, |party| {
        let at = |cell: &Pooled| Some(point(rate(cell)?, &cell.first_of(quantity, OUTPUT)?, how));
        let mut points: Vec<Point> = party.cells.iter().filter_map(at).collect();
        points.order_by(|a, b| a.x.total_cmp(&b.x));
        Some(points)
    });
    (series.len() == versus.others.len() + 1).then_some(series)
}

/// Output tokens of a request: as they were counted, else as they were asked for.
fn tokens_per_request(party: &Party) -> Option<f64> {
    let mut all = Vec::new();
    for cell in party.cells.iter().filter(|cell| rate(cell).is_some()) {
        let value = |quantity| Some(cell.stat(quantity, Statistic::Value)?.value);
        let counted = value(Metric::OutputTokens)
            .zip(value(Metric::RequestsOk).filter(|ok| *ok > 0.0))
            .map(|(tokens, ok)| tokens / ok);
        all.push(counted.or_else(|| cell.setting()?.number(key::OUTPUT_TOKENS))?);
    }
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

fn tokens(versus: &Versus) -> Option<Chart> {
    let mut series = against(versus, Metric::OutputRate, Meant::TokPerS)?;
    let each: Vec<f64> = versus.parties().map(tokens_per_request).collect::<Option<_>>()?;
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    let rates = || series.iter().flat_map(|series| &series.points).map(|point| point.x);
    let ends_of = [rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max)];
    let description = format!(
        "{} Where everything offered is served, the output is the rate times {} tokens.",
        ends(&series, "req/s offered"),
        count(mean.round() as u64)
    );
    let place = |rate: f64| Point::at(rate, rate * mean).told(meant(rate * mean, Meant::TokPerS));
    let served = Series::reference("served = offered", ends_of.map(place));
    series.push(Series { dash: Dash::Dotted, ..served });
    let (x, y) = (Axis::new("requests offered", "req/s"), Axis::new("output", "tok/s"));
    chart("served", TITLE, description, Cartesian::new(x, y, series))
}

const TITLE: &str = "Is everything offered also served?";

fn requests(versus: &Versus) -> Option<Chart> {
    let series = against(versus, Metric::RequestRate, Meant::ReqPerS)?;
    let description = ends(&series, "req/s offered");
    let guide = Guide::Diagonal { name: "served = offered".to_owned() };
    let [x, y] = ["requests offered", "requests served"].map(|name| Axis::new(name, "req/s"));
    chart("served", TITLE, description, Cartesian::new(x, y, series).guided([guide]))
}
