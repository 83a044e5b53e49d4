//! Speed against the power limit, one series for each thing that was measured at several limits.

use super::{Pooled, Results};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Factors, PartKind, Statistic, StdKind, key};
use ifm_core::words::counted;

/// A setting keeps the speed if it has at least this share of the largest one.
const KEEPS_MIN: f64 = 0.995;
/// Where the document gives no deviation, efficiencies within this share of the best are a tie with
/// it.
const TIE_WITHIN: f64 = 0.01;

/// What was measured at one limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerPoint {
    /// Power limit, watts.
    pub limit_w: f64,
    /// Tokens per second.
    pub rate: f64,
    /// Standard deviation of the rate over its repeats.
    pub std: Option<f64>,
    /// Tokens per joule: of the known power, measured or stated; else per joule of the limit, which
    /// is tokens per second and watt of limit.
    pub per_joule: f64,
}

impl PowerPoint {
    /// Standard deviation of the tokens per joule: that of the rate, the energy taken as exact.
    pub fn per_joule_std(&self) -> Option<f64> {
        let share = self.std? / self.rate;
        share.is_finite().then_some(share * self.per_joule)
    }

    /// Whether the deviations of the two efficiencies reach each other.
    fn is_tie_with(&self, best: &PowerPoint) -> bool {
        let gap = best.per_joule - self.per_joule;
        match self.per_joule_std().zip(best.per_joule_std()) {
            Some((own, other)) => gap <= own + other,
            None => gap <= TIE_WITHIN * best.per_joule,
        }
    }
}

/// A series of one subject at several limits.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerSeries {
    /// What was measured: model, test, load.
    pub name: String,
    /// Which rate: prompt, generation, output.
    pub metric: Metric,
    /// Whether the power is known, by measurement or from the user; otherwise the limit is used.
    pub is_told: bool,
    /// The points, rising in the limit.
    pub points: Vec<PowerPoint>,
}

impl PowerSeries {
    /// The point at the highest limit.
    pub fn highest(&self) -> Option<&PowerPoint> {
        self.points.last()
    }

    /// The lowest limit that keeps the speed of the highest one (99.5 % of it).
    pub fn keeping(&self) -> Option<&PowerPoint> {
        let rate = self.highest()?.rate;
        self.points.iter().find(|point| point.rate >= KEEPS_MIN * rate)
    }

    /// The most tokens per joule, rising in the limit: the best point and every one that is a tie
    /// with it, because their deviations reach each other. Empty where nothing was measured.
    pub fn best(&self) -> Vec<&PowerPoint> {
        let best = self.points.iter().max_by(|a, b| a.per_joule.total_cmp(&b.per_joule));
        let Some(best) = best.filter(|best| best.per_joule > 0.0) else { return Vec::new() };
        self.points.iter().filter(|point| point.is_tie_with(best)).collect()
    }
}

impl Results {
    /// Series of prompt, generation and output rates against the power limit; those with a single
    /// limit are left out.
    pub fn power_series(&self) -> Vec<PowerSeries> {
        let mut all: Vec<(Factors, PowerSeries)> = Vec::new();
        for kind in [PartKind::Engine, PartKind::Serving] {
            for cell in self.pool(kind).cells {
                for metric in [Metric::DecodeRate, Metric::OutputRate, Metric::PrefillRate] {
                    let Some((point, is_told)) = point(&cell, metric) else { continue };
                    let of = others(&cell);
                    let is = |(known, series): &&mut (Factors, PowerSeries)| {
                        *known == of && series.metric == metric
                    };
                    match all.iter_mut().find(is) {
                        Some((_, series)) => {
                            series.is_told &= is_told;
                            series.points.push(point);
                        }
                        None => {
                            let name = name(&cell);
                            let points = vec![point];
                            all.push((of, PowerSeries { name, metric, is_told, points }));
                        }
                    }
                }
            }
        }
        let series = all.into_iter().map(|(_, series)| series);
        series
            .filter_map(|mut series| {
                series.points.order_by(|a, b| a.limit_w.total_cmp(&b.limit_w));
                series.points.dedup_by(|a, b| a.limit_w == b.limit_w);
                if !series.is_told {
                    for point in &mut series.points {
                        point.per_joule = point.rate / point.limit_w;
                    }
                }
                (series.points.len() > 1).then_some(series)
            })
            .collect()
    }
}

/// A point, and whether its energy was measured.
fn point(cell: &Pooled, metric: Metric) -> Option<(PowerPoint, bool)> {
    let limit_w = cell.setting()?.number(key::POWER_LIMIT_W).filter(|limit| *limit > 0.0)?;
    let rate = cell.central(metric)?.value;
    let std = match cell.points.as_slice() {
        [only] => [StdKind::Sample, StdKind::Unknown, StdKind::Population]
            .into_iter()
            .find_map(|kind| only.value(metric, Statistic::Std(kind))),
        _ => ifm_metrics::stat::welch::Moments::of(
            &cell
                .points
                .iter()
                .filter_map(|point| Some(point.central(metric)?.value))
                .collect::<Vec<_>>(),
        )
        .and_then(|moments| moments.std()),
    };
    let value =
        |metric: Metric| cell.central(metric).map(|found| found.value).filter(|value| *value > 0.0);
    let energy = value(Metric::EnergyPerToken).map(|joules| 1.0 / joules);
    let measured = energy.or_else(|| value(Metric::Power).map(|watts| rate / watts));
    let per_joule = measured.unwrap_or(rate / limit_w);
    Some((PowerPoint { limit_w, rate, std, per_joule }, measured.is_some()))
}

/// Everything that was set but the limit, the load among it.
fn others(cell: &Pooled) -> Factors {
    let mut factors = Factors::default();
    for (name, value) in cell.setting().into_iter().flat_map(Factors::iter) {
        if name != key::POWER_LIMIT_W {
            factors.set(name, value);
        }
    }
    if let Some(load) = cell.load() {
        factors.set("load", load.value());
    }
    factors
}

fn name(cell: &Pooled) -> String {
    let names = [key::MODEL, key::TEST].into_iter().filter_map(|name| cell.factor(name));
    let load = cell.load().map(|load| match load {
        ifm_metrics::level::Load::Users(users) => counted(users.into(), "user"),
        ifm_metrics::level::Load::ReqPerS(rate) => format!("{rate} req/s"),
    });
    names.chain(load).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::{Point, Stat};
    use super::*;
    use crate::testing::engine;
    use ifm_core::sheet::RowRole;

    #[test]
    fn a_test_of_an_engine_is_one_point() {
        let repeat = |number, rate| {
            let value = Stat::new(Metric::DecodeRate, Statistic::Value, rate);
            Point { repeat: Some(number), stats: vec![value], ..engine(600, rate) }
        };
        let head = Point { role: RowRole::Summary, ..engine(600, 200.0) };
        let alone = engine(400, 150.0);
        let points = vec![head, repeat(1, 100.0), repeat(2, 300.0), alone];
        let results = Results { sources: Vec::new(), points };
        let rates = |points: &mut dyn Iterator<Item = &Point>| -> Vec<f64> {
            points.filter_map(|point| Some(point.central(Metric::DecodeRate)?.value)).collect()
        };
        assert_eq!(rates(&mut results.engine_tests()), [200.0, 150.0]);
        assert_eq!(rates(&mut results.measured(PartKind::Engine)), [100.0, 300.0, 150.0]);
    }

    #[test]
    fn a_lower_limit_keeps_the_speed_or_saves_most() {
        let limits = [
            (600, 278.95),
            (400, 279.04),
            (350, 274.81),
            (300, 260.42),
            (250, 236.88),
            (200, 189.82),
        ];
        let points: Vec<Point> = limits.map(|(limit, rate)| engine(limit, rate)).into();
        let results = Results { sources: Vec::new(), points };
        let [series] = results.power_series().try_into().expect("one");
        assert_eq!(series.name, "llama 7B Q4_0, tg128");
        assert_eq!(series.keeping().map(|point| point.limit_w), Some(400.0));
        // 0.9491 ± 0.0025 at 200 W and 0.94752 ± 0.002 at 250 W reach each other.
        let best: Vec<f64> = series.best().iter().map(|point| point.limit_w).collect();
        assert_eq!((best, series.is_told), (vec![200.0, 250.0], false));
        assert!((series.points[1].per_joule - 0.947_52).abs() < 1e-6);
        assert!((series.points[1].per_joule_std().expect("a deviation") - 0.002).abs() < 1e-9);
    }

    /// The same two efficiencies are not tied once the deviations are too small for it.
    #[test]
    fn a_tie_is_a_matter_of_the_deviations() {
        let mut points = vec![engine(250, 236.88), engine(200, 189.82)];
        let best = |points: &[Point]| -> Vec<f64> {
            let results = Results { sources: Vec::new(), points: points.to_vec() };
            let series = results.power_series();
            series[0].best().iter().map(|point| point.limit_w).collect()
        };
        for point in &mut points {
            point.stats[1].value = 0.1;
        }
        assert_eq!(best(&points), [200.0]);
        points[0].stats.truncate(1);
        assert_eq!(best(&points), [200.0, 250.0], "without a deviation within 1 %");
    }

    #[test]
    fn measured_energy_goes_before_the_limit() {
        let with_power = |limit_w, rate, watts| {
            let mut point = engine(limit_w, rate);
            point.stats.push(Stat::new(Metric::Power, Statistic::Value, watts));
            point
        };
        let points = vec![with_power(600, 280.0, 400.0), with_power(300, 260.0, 260.0)];
        let results = Results { sources: Vec::new(), points: points.clone() };
        let [series] = results.power_series().try_into().expect("one");
        assert!(series.is_told);
        assert_eq!(series.points[0].per_joule, 1.0);
        let results = Results { sources: Vec::new(), points: points[..1].to_vec() };
        assert!(results.power_series().is_empty());
    }
}
