//! Other results at the load that a search found: media per second, and the load's effect on a
//! bystander.
//!
//! Not here: output tokens (`capacity_answer`), and the background probe itself.

use super::{fact, levels_at};
use crate::level_planner::Judged;
use ifm_core::Metric;
use ifm_metrics::LevelSummary;
use ifm_metrics::level::WindowSummary;
use ifm_metrics::stat::{Scale, center};
use ifm_report::{ReportModel, bystander, media_rate};
use ifm_results::MEDIA_RATES;
use serde_json::{Map, Value, json};

/// Whether answers at the load are tokens, so that their rate is meaningful.
pub(super) fn has_tokens(inside: Option<&Judged>) -> bool {
    inside.is_none_or(|judged| judged.summary.generates)
}

/// Media per second at a load: the mean over its measurements, without metrics that one of them
/// lacks.
fn rates(inside: Option<&Judged>, model: &ReportModel) -> Vec<(Metric, f64)> {
    let Some(judged) = inside else { return Vec::new() };
    let windows: Vec<&WindowSummary> =
        levels_at(judged.load, model).filter_map(LevelSummary::window).collect();
    let mean = |metric: Metric| {
        let each: Option<Vec<f64>> =
            windows.iter().map(|window| window.media.as_ref()?.of(metric)).collect();
        Some((metric, center(&each?, Scale::Ratio)?))
    };
    MEDIA_RATES.into_iter().filter_map(mean).collect()
}

/// The measurement of a load that has the most probe requests.
fn probed<'m>(inside: Option<&Judged>, model: &'m ReportModel) -> Option<&'m LevelSummary> {
    let levels = levels_at(inside?.load, model).filter(|level| level.probe.is_some());
    levels.max_by_key(|level| level.probe.as_ref().map_or(0, |probe| probe.beside.sent))
}

/// Both as lines of the answer.
pub(super) fn lines(inside: Option<&Judged>, model: &ReportModel) -> Vec<String> {
    let rates = rates(inside, model);
    let words: Vec<String> =
        rates.into_iter().map(|(metric, value)| media_rate(metric, value)).collect();
    let media = (!words.is_empty()).then(|| fact("Media", &words.join(", ")));
    let bystander = probed(inside, model).and_then(bystander);
    media.into_iter().chain(bystander.map(|words| fact("Bystander", &words))).collect()
}

/// Media per second as JSON, by the names of the metrics; absent without media.
pub(super) fn document(inside: Option<&Judged>, model: &ReportModel) -> Option<Value> {
    let rates = rates(inside, model);
    let object: Map<String, Value> =
        rates.into_iter().map(|(metric, value)| (metric.word().to_owned(), value.into())).collect();
    (!object.is_empty()).then_some(Value::Object(object))
}

/// The effect on the bystander as JSON; absent without a probe.
pub(super) fn bystander_document(inside: Option<&Judged>, model: &ReportModel) -> Option<Value> {
    let probe = probed(inside, model)?.probe.as_ref()?;
    let mut object = json!({"workload": probe.workload, "requests": probe.beside.sent});
    for (name, times) in [("ttft_times", probe.ttft_times), ("e2e_times", probe.e2e_times)] {
        if let Some(times) = times {
            object[name] = json!({"value": times.value, "low": times.low, "high": times.high});
        }
    }
    Some(object)
}
