//! Which words of quality the gaps between tokens deserve.

use super::{CENTER, curves, measured_at, told_by};
use crate::insight::delta::if_open;
use crate::insight::{Bands, Insight, InsightRule, Question, Tone, Topic};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic};
use ifm_results::say;
use ifm_results::{Curve, CurvePoint};

/// A mean that exceeds the median by this factor shows what the median hides: gaps in which the
/// server computes the prompts of other requests.
const WORTH: f64 = 1.25;

pub(super) const RULE: InsightRule = InsightRule {
    id: "itl_band",
    title: "the best and the worst gap between tokens, in words",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let curves = curves(&pool, &told_by(question), Metric::Itl, CENTER);
    let band = &Bands::get().itl_ms;
    let all =
        || curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    let value = |point: &(&Curve, &CurvePoint)| point.1.stat.value;
    let best = all().min_by(|a, b| value(a).total_cmp(&value(b)));
    let worst = all().max_by(|a, b| value(a).total_cmp(&value(b)));
    let (Some(best), Some(worst)) = (best, worst) else { return Vec::new() };
    if value(&best) >= value(&worst) {
        return Vec::new();
    }
    let tone = if band.is_poor(value(&worst)) { Tone::Warn } else { Tone::Note };
    let mean = mean_beside(worst.1).map(|mean| say!("; mean {}"; mean => Ms)).unwrap_or_default();
    let [low, high] = [&best, &worst].map(|(curve, point)| measured_at(curve, point));
    let open = if_open(question.delta(&best.1.cell, &worst.1.cell, Metric::Itl, CENTER));
    let (shortest, longest) = (value(&best), value(&worst));
    let sentence = match (band.word(shortest), band.word(longest)) {
        (word, same) if word == same => say!(
            "ITL stays {}: {} ({}) to {} ({}{}){}.";
            word, shortest => Ms, low, longest => Ms, high, mean, open
        ),
        (good, poor) => say!(
            "Best ITL {} ({}) is {}; worst {} ({}{}) is {}{}.";
            shortest => Ms, low, good, longest => Ms, high, mean, poor, open
        ),
    };
    vec![Insight::new(RULE.id, Topic::Itl, tone, sentence)]
}

/// The mean next to a median that it exceeds clearly.
fn mean_beside(point: &CurvePoint) -> Option<f64> {
    if point.stat.statistic != Statistic::Median {
        return None;
    }
    let mean = point.cell.stat(Metric::Itl, Statistic::Mean)?.value;
    (mean > WORTH * point.stat.value).then_some(mean)
}
