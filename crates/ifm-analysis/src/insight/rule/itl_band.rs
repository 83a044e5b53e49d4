//! Which words of quality the gaps between tokens deserve.

use super::{curves, place_words, told_by};
use crate::insight::{Bands, Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use ifm_core::sheet::{PartKind, Quantity, Statistic};

pub(super) const RULE: InsightRule = InsightRule {
    id: "itl_band",
    title: "the best and the worst gap between tokens, in words, and up to which load it stays instant",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.survey.pool(PartKind::Serving);
    let by = told_by(question);
    let statistics = [Statistic::Median, Statistic::Mean, Statistic::Value];
    let curves = curves(&pool, &by, &Quantity::Itl, &statistics);
    let band = &Bands::get().itl_ms;
    let all =
        || curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    let value = |point: &(&crate::survey::Curve, &crate::survey::CurvePoint)| point.1.reading.value;
    let best = all().min_by(|a, b| value(a).total_cmp(&value(b)));
    let worst = all().max_by(|a, b| value(a).total_cmp(&value(b)));
    let (Some(best), Some(worst)) = (best, worst) else { return Vec::new() };
    let mut found = Vec::new();
    if value(&best) < value(&worst) {
        let tone = if band.is_poor(value(&worst)) { Tone::Warn } else { Tone::Note };
        let sentence = Sentence::new("Best ITL ")
            .number(value(&best), Meant::Ms)
            .text(format!(
                " ({}) is {}; worst ",
                place_words(best.0, &best.1.cell),
                band.word(value(&best))
            ))
            .number(value(&worst), Meant::Ms)
            .text(format!(
                " ({}) is {}.",
                place_words(worst.0, &worst.1.cell),
                band.word(value(&worst))
            ));
        found.push(Insight::new(RULE.id, Topic::Itl, tone, sentence));
    }
    for curve in &curves {
        let good: Vec<_> =
            curve.points.iter().take_while(|point| band.is_good(point.reading.value)).collect();
        let (Some(last), true) = (good.last(), good.len() < curve.points.len()) else { continue };
        let next = &curve.points[good.len()];
        let sentence =
            Sentence::new(format!("{} stays {} (below ", subject(&curve.name()), band.words()[0]))
                .number(band.bounds()[0].unwrap_or_default(), Meant::Ms)
                .text(") up to ")
                .number(last.at, Meant::Load)
                .text(" and is not at ")
                .number(next.at, Meant::Load)
                .text(": ")
                .number(next.reading.value, Meant::Ms)
                .text(".");
        found.push(Insight::new(RULE.id, Topic::Itl, Tone::Note, sentence));
    }
    found
}

fn subject(name: &str) -> String {
    if name.is_empty() { "ITL".to_owned() } else { name.to_owned() }
}
