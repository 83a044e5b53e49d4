//! Which words of quality the gaps between tokens deserve.

use super::{CENTER, curves, measured_at, told_by};
use crate::insight::{Bands, Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use crate::survey::{Curve, CurvePoint};
use ifm_core::sheet::{PartKind, Quantity, Statistic};

/// A mean that is so many times as long as the median says what the median hides: gaps in which
/// the server reads the prompts of others.
const WORTH: f64 = 1.25;

pub(super) const RULE: InsightRule = InsightRule {
    id: "itl_band",
    title: "the best and the worst gap between tokens, in words",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.survey.pool(PartKind::Serving);
    let curves = curves(&pool, &told_by(question), &Quantity::Itl, CENTER);
    let band = &Bands::get().itl_ms;
    let all =
        || curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    let value = |point: &(&Curve, &CurvePoint)| point.1.reading.value;
    let best = all().min_by(|a, b| value(a).total_cmp(&value(b)));
    let worst = all().max_by(|a, b| value(a).total_cmp(&value(b)));
    let (Some(best), Some(worst)) = (best, worst) else { return Vec::new() };
    if value(&best) >= value(&worst) {
        return Vec::new();
    }
    let tone = if band.is_poor(value(&worst)) { Tone::Warn } else { Tone::Note };
    let sentence = Sentence::new("Best ITL ")
        .number(value(&best), Meant::Ms)
        .text(format!(" ({}) is {}; worst ", measured_at(best.0, best.1), band.word(value(&best))))
        .number(value(&worst), Meant::Ms)
        .text(format!(" ({}", measured_at(worst.0, worst.1)));
    let sentence = match mean_beside(worst.1) {
        None => sentence,
        Some(mean) => sentence.text("; mean ").number(mean, Meant::Ms),
    };
    let sentence = sentence.text(format!(") is {}.", band.word(value(&worst))));
    vec![Insight::new(RULE.id, Topic::Itl, tone, sentence)]
}

/// The mean beside a median that it exceeds clearly.
fn mean_beside(point: &CurvePoint) -> Option<f64> {
    if point.reading.statistic != Statistic::Median {
        return None;
    }
    let mean = point.cell.reading(&Quantity::Itl, Statistic::Mean)?.value;
    (mean > WORTH * point.reading.value).then_some(mean)
}
