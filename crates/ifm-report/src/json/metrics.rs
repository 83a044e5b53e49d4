//! The metrics of requests as fields, by their names in the table of metrics.
//!
//! Not here: what has no row there, such as counts and labels.

use super::load::Distribution;
use ifm_core::metric::MetricUnit;
use ifm_core::{Metric, RequestRecord};
use ifm_metrics::RequestMetrics;
use ifm_metrics::level::Latencies;
use std::collections::BTreeMap;

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;
/// At the end of the name of a metric whose values are estimates.
const ESTIMATED: &str = "_estimated";

/// A distribution for each metric that a level has, times in seconds: `ttft_s`, `user_tok_per_s`.
#[derive(serde::Serialize)]
pub(super) struct LevelMetrics(BTreeMap<String, Distribution>);

impl From<&Latencies> for LevelMetrics {
    fn from(latencies: &Latencies) -> LevelMetrics {
        let field = |found: &ifm_metrics::level::MetricValues| {
            let estimated = if found.is_estimated { ESTIMATED } else { "" };
            let scale = if found.metric.unit() == MetricUnit::Ns { NS_PER_S } else { 1.0 };
            let name = format!("{}{estimated}", found.metric.key("s")?);
            Some((name, Distribution::from((&found.values, scale))))
        };
        LevelMetrics(latencies.populations().filter_map(field).collect())
    }
}

/// The value of each metric of which a request has one, times in milliseconds: `ttft_ms`, `rtf`.
#[derive(serde::Serialize)]
pub(super) struct LineMetrics(BTreeMap<String, f64>);

impl From<(&RequestRecord, &RequestMetrics)> for LineMetrics {
    fn from((record, metrics): (&RequestRecord, &RequestMetrics)) -> LineMetrics {
        let is_open_loop = record.due_ns != record.start_ns;
        let field = |metric: Metric| {
            let value = metrics.value(record, metric)?;
            let scale = if metric.unit() == MetricUnit::Ns { NS_PER_MS } else { 1.0 };
            Some((metric.key("ms")?, value / scale))
        };
        let of_lines = of_lines().filter(|metric| is_open_loop || !metric.is_from_due());
        LineMetrics(of_lines.filter_map(field).collect())
    }
}

/// Metrics of which a request has one value.
fn of_lines() -> impl Iterator<Item = Metric> {
    Metric::of_requests().filter(|metric| !metric.has_several_for_each_request())
}

#[cfg(feature = "schema")]
mod schema {
    use super::*;
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde_json::{Map, Value};
    use std::borrow::Cow;

    /// The definition of a metric with the unit of a field.
    fn about(metric: Metric, unit: &str) -> String {
        let definition = metric.definition().trim_end_matches('.');
        match metric.unit() {
            MetricUnit::Ns => format!("{definition}; {unit}."),
            MetricUnit::TokPerS => format!("{definition}; tokens per second."),
            _ => format!("{definition}."),
        }
    }

    fn object(fields: impl Iterator<Item = (String, Value)>) -> Schema {
        json_schema!({"type": "object", "properties": fields.collect::<Map<String, Value>>()})
    }

    impl JsonSchema for LevelMetrics {
        fn schema_name() -> Cow<'static, str> {
            "LevelMetrics".into()
        }

        fn inline_schema() -> bool {
            true
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let mut of = |metric: Metric, estimated: &str, but: &str| {
                let mut field = generator.subschema_for::<Distribution>();
                let about = about(metric, "seconds");
                field.insert("description".to_owned(), format!("{about}{but}").into());
                let name = metric.key("s").unwrap_or_default();
                (format!("{name}{estimated}"), Value::from(field))
            };
            let but =
                " Estimated: the number of tokens is not known of more than 1 % of the values.";
            let fields: Vec<(String, Value)> = Metric::of_requests()
                .flat_map(|metric| {
                    let estimated = metric.may_be_estimated().then(|| of(metric, ESTIMATED, but));
                    [Some(of(metric, "", "")), estimated]
                })
                .flatten()
                .collect();
            object(fields.into_iter())
        }
    }

    impl JsonSchema for LineMetrics {
        fn schema_name() -> Cow<'static, str> {
            "LineMetrics".into()
        }

        fn inline_schema() -> bool {
            true
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let mut of = |metric: Metric| {
                let mut field = generator.subschema_for::<f64>();
                field.insert("description".to_owned(), about(metric, "milliseconds").into());
                (metric.key("ms").unwrap_or_default(), Value::from(field))
            };
            let fields: Vec<(String, Value)> = of_lines().map(&mut of).collect();
            object(fields.into_iter())
        }
    }
}
