//! How fast one user is served, best and worst.

use super::{place_words, told_by, user_speed_curves};
use crate::insight::delta::{if_open, user_speed};
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use ifm_core::sheet::PartKind;
use ifm_results::say;

pub(super) const RULE: InsightRule = InsightRule {
    id: "speed_range",
    title: "the best and the worst speed for one user, and where",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let curves = user_speed_curves(&pool, &told_by(question));
    let all =
        || curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    let by = |a: &f64, b: &f64| a.total_cmp(b);
    let best = all().max_by(|a, b| by(&a.1.stat.value, &b.1.stat.value));
    let worst = all().min_by(|a, b| by(&a.1.stat.value, &b.1.stat.value));
    let (Some(best), Some(worst)) = (best, worst) else { return Vec::new() };
    if best.1.stat.value <= worst.1.stat.value {
        return Vec::new();
    }
    let sentence = say!(
        "Decode speed for one user ranges from {} ({}) to {} ({}){}.";
        best.1.stat.value => TokPerS, place_words(best.0, &best.1.cell),
        worst.1.stat.value => TokPerS, place_words(worst.0, &worst.1.cell),
        if_open(user_speed(question, &worst.1.cell, &best.1.cell))
    );
    vec![Insight::new(RULE.id, Topic::DecodeSpeed, Tone::Note, sentence)]
}
