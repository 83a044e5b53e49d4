//! How far apart the scenarios are at the highest load that they share.

use super::{told_by, user_speed_curves};
use crate::insight::delta::user_speed;
use crate::insight::{Bands, Insight, InsightRule, Question, Tone, Topic};
use ifm_core::sheet::PartKind;
use ifm_results::say;
use ifm_results::{Curve, Pooled};

pub(super) const RULE: InsightRule = InsightRule {
    id: "speed_spread",
    title: "spread of the speeds for one user at the highest load that several curves share",
    look,
};

/// The highest load at which at least two curves have a point.
pub(super) fn shared_load(curves: &[Curve], is_better: impl Fn(f64, f64) -> bool) -> Option<f64> {
    let mut best: Option<f64> = None;
    for point in curves.iter().flat_map(|curve| &curve.points) {
        let is_shared = curves.iter().filter(|curve| curve.at(point.at).is_some()).count() > 1;
        if is_shared && best.is_none_or(|best| is_better(point.at, best)) {
            best = Some(point.at);
        }
    }
    best
}

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let curves = user_speed_curves(&pool, &told_by(question));
    let Some(at) = shared_load(&curves, |a, b| a > b) else { return Vec::new() };
    let here: Vec<(String, f64, &Pooled)> = curves
        .iter()
        .filter_map(|curve| {
            let point = curve.at(at)?;
            Some((curve.name(), point.stat.value, &point.cell))
        })
        .collect();
    let best = here.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let worst = here.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(best), Some(worst)) = (best, worst) else { return Vec::new() };
    if worst.1 <= 0.0 || best.1 <= worst.1 {
        return Vec::new();
    }
    let delta = user_speed(question, worst.2, best.2);
    let Some(sure) = delta.and_then(|delta| delta.as_measured()) else { return Vec::new() };
    let ratio = best.1 / worst.1;
    let band = &Bands::get().speed_spread;
    let tone = if band.is_poor(ratio) { Tone::Warn } else { Tone::Note };
    let sentence = say!(
        "At {} users the speed for one of them runs from {} ({}) to {} ({}): {}{}, a {} band.";
        at => Load, best.1 => TokPerS, best.0, worst.1 => TokPerS, worst.0, ratio => Times, sure,
        band.word(ratio)
    );
    vec![Insight::new(RULE.id, Topic::Range, tone, sentence).weighing(ratio - 1.0)]
}
