//! Distributions as most tools write them: an object of statistics, by names that mean the same.

use super::json;
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Figure, Place, Statistic, StdKind, Unit};
use serde_json::{Map, Value};

/// What a distribution measures.
pub(crate) struct Measure<'a> {
    /// What.
    pub quantity: Metric,
    /// In which unit.
    pub unit: Unit,
    /// What the tool means by it; percentiles may be defined apart.
    pub definition: &'a dyn Fn(Statistic) -> Definition,
    /// By what the tool divides a sum of squares.
    pub std: StdKind,
    /// Path of the distribution.
    pub pointer: String,
}

impl Measure<'_> {
    /// Moves the statistics of an object into figures. Other fields stay.
    pub fn take(&self, statistics: &mut Map<String, Value>, figures: &mut Vec<Figure>) {
        let names: Vec<String> = statistics.keys().cloned().collect();
        for name in names {
            let Some(statistic) = statistic(&name, self.std) else { continue };
            let Some(value) = json::number(statistics.get(&name)) else { continue };
            statistics.remove(&name);
            let mut figure = self.figure(statistic, value);
            figure.place = Some(Place::pointer(format!("{}/{name}", self.pointer)));
            // The median is listed twice if there are also percentiles.
            let twice = |other: &Figure| {
                (&other.quantity, other.statistic) == (&figure.quantity, statistic)
                    && other.value == figure.value
            };
            if !figures.iter().any(twice) {
                figures.push(figure);
            }
        }
    }

    /// One number of the distribution.
    pub fn figure(&self, statistic: Statistic, value: f64) -> Figure {
        let unit = match statistic {
            Statistic::Count => Unit::Count,
            _ => self.unit.clone(),
        };
        Figure::new(self.quantity, statistic, value, unit).defined((self.definition)(statistic))
    }
}

/// The statistic of a name such as `p99`, `avg`, `stddev`, `99%`.
pub(crate) fn statistic(name: &str, std: StdKind) -> Option<Statistic> {
    Some(match name.trim().to_ascii_lowercase().as_str() {
        "mean" | "avg" | "average" => Statistic::Mean,
        "median" | "med" | "mdn" => Statistic::Median,
        "std" | "stddev" | "std_dev" | "std dev" | "stdev" => Statistic::Std(std),
        "min" | "fastest" => Statistic::Min,
        "max" | "slowest" => Statistic::Max,
        "sum" | "total_sum" => Statistic::Sum,
        "count" | "n" => Statistic::Count,
        // GuideLLM leaves the point out.
        "p001" => Statistic::Percentile(0.1),
        "p999" => Statistic::Percentile(99.9),
        other => {
            let percent = other.strip_prefix('p').and_then(|rest| {
                rest.strip_prefix('(').map_or(
                    Some(rest),
                    // k6 writes `p(95)`.
                    |inner| inner.strip_suffix(')'),
                )
            });
            // llm-d writes `p99p9`.
            let percent = percent.or(other.strip_suffix('%'))?.replace('p', ".");
            let percent: f64 = percent.parse().ok()?;
            (0.0..=100.0).contains(&percent).then(|| Statistic::percentile(percent))?
        }
    })
}

/// A definition that differs, in words.
pub(crate) fn different(text: &str) -> Definition {
    Definition::Different(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_of_many_tools() {
        let of = |name| statistic(name, StdKind::Sample);
        assert_eq!(of("p50"), Some(Statistic::Median));
        assert_eq!(of("p001"), Some(Statistic::Percentile(0.1)));
        assert_eq!(of("p99.9"), Some(Statistic::Percentile(99.9)));
        assert_eq!(of("p99p9"), Some(Statistic::Percentile(99.9)));
        assert_eq!(of("p(95)"), Some(Statistic::Percentile(95.0)));
        assert_eq!(of("std dev"), Some(Statistic::Std(StdKind::Sample)));
        assert_eq!((of("p"), of("pace"), of("p101"), of("mode")), (None, None, None, None));
    }

    #[test]
    fn what_is_no_statistic_stays() {
        let Value::Object(mut map) = json!({"mean": 1.5, "count": 3, "p50": 1, "mode": 2}) else {
            panic!("an object");
        };
        let measure = Measure {
            quantity: Metric::Ttft,
            unit: Unit::S,
            definition: &|_| Definition::Same,
            std: StdKind::Unknown,
            pointer: "/x".to_owned(),
        };
        let mut figures = Vec::new();
        measure.take(&mut map, &mut figures);
        assert_eq!(map.keys().collect::<Vec<_>>(), ["mode"]);
        assert_eq!(figures[0].unit, Unit::Count);
        assert_eq!(figures[1].place, Some(Place::pointer("/x/mean")));
        assert_eq!(figures.len(), 3);
    }
}
