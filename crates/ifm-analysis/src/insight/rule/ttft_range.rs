//! How long the first token takes, best and worst.

use super::{CENTER, curves, measured_at, told_by};
use crate::insight::{
    Bands, Insight, InsightRule, Meant, Question, Sentence, Tone, Topic, is_burst,
};
use crate::level::Load;
use ifm_core::sheet::{PartKind, Quantity};

pub(super) const RULE: InsightRule = InsightRule {
    id: "ttft_range",
    title: "the shortest and the longest time to first token, and where",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.survey.pool(PartKind::Serving);
    let by = told_by(question);
    let mut curves = curves(&pool, &by, &Quantity::Ttft, CENTER);
    if curves.iter().map(|curve| curve.points.len()).sum::<usize>() < 2 {
        // A sentence may say the best and the worst, and the load of one of them alone.
        let names: Vec<&str> = by.iter().map(String::as_str).collect();
        curves = pool.curves_against(&names, |cell| {
            let reading =
                CENTER.iter().find_map(|statistic| cell.reading(&Quantity::Ttft, *statistic))?;
            Some((cell.load().map_or(0.0, Load::value), reading))
        });
    }
    // With all requests at once a first token waits for its turn, which no load explains.
    let all = || {
        curves
            .iter()
            .flat_map(|curve| curve.points.iter().map(move |point| (curve, point)))
            .filter(|(_, point)| !is_burst(&point.cell))
    };
    let best = all().min_by(|a, b| a.1.reading.value.total_cmp(&b.1.reading.value));
    let worst = all().max_by(|a, b| a.1.reading.value.total_cmp(&b.1.reading.value));
    let (Some(best), Some(worst)) = (best, worst) else { return Vec::new() };
    if best.1.reading.value >= worst.1.reading.value {
        return Vec::new();
    }
    let band = &Bands::get().ttft_ms;
    let tone = if band.is_poor(worst.1.reading.value) { Tone::Warn } else { Tone::Note };
    let sentence = Sentence::new("Best TTFT ")
        .number(best.1.reading.value, Meant::Ms)
        .text(format!(" ({}), worst ", measured_at(best.0, best.1)))
        .number(worst.1.reading.value, Meant::Ms)
        .text(format!(" ({}).", measured_at(worst.0, worst.1)));
    vec![Insight::new(RULE.id, Topic::Ttft, tone, sentence)]
}
