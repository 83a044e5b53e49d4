//! Up to which load each curve keeps its words of quality.

use super::{CENTER, curves, subject, told_by};
use crate::insight::{Band, Bands, Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use crate::survey::{Curve, CurvePoint};
use ifm_core::sheet::{PartKind, Quantity};

pub(super) const RULE: InsightRule = InsightRule {
    id: "first_crossing",
    title: "up to which load ITL and TTFT keep their words of quality",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.survey.pool(PartKind::Serving);
    let by = told_by(question);
    let bands = Bands::get();
    let mut found = Vec::new();
    for (quantity, name, topic, band) in [
        (Quantity::Itl, "ITL", Topic::Itl, &bands.itl_ms),
        (Quantity::Ttft, "TTFT", Topic::Ttft, &bands.ttft_ms),
    ] {
        for curve in curves(&pool, &by, &quantity, CENTER) {
            found.extend(crossing(&curve, name, topic, band));
        }
    }
    found
}

/// The last point before the first one on which `holds` is not true.
fn last<'c>(curve: &'c Curve, holds: impl Fn(f64) -> bool) -> Option<&'c CurvePoint<'c>> {
    curve.points.iter().take_while(|point| holds(point.reading.value)).last()
}

fn crossing(curve: &Curve, name: &str, topic: Topic, band: &Band) -> Option<Insight> {
    let good = last(curve, |value| band.is_good(value));
    let fair = last(curve, |value| !band.is_poor(value));
    let end = curve.points.last()?;
    let [good_bound, fair_bound] = band.bounds();
    let [good_word, fair_word, poor_word] = band.words();
    let leaves_good = good.is_none_or(|good| good.at < end.at);
    if curve.points.len() < 2 || !leaves_good {
        return None;
    }
    let stays = |sentence: Sentence, word: &str, bound: Option<f64>, at: f64| {
        let sentence = sentence.text(word);
        let sentence = match bound {
            Some(bound) => sentence.text(" (below ").number(bound, Meant::Ms).text(")"),
            None => sentence,
        };
        sentence.text(" up to ").number(at, Meant::Load)
    };
    let mut sentence = Sentence::new(format!("{} stays ", subject(curve, name)));
    match (good, fair) {
        (Some(good), fair) => {
            sentence = stays(sentence, good_word, good_bound, good.at);
            if let Some(fair) = fair.filter(|fair| fair.at > good.at) {
                sentence = stays(sentence.text(", "), fair_word, fair_bound, fair.at);
            }
        }
        (None, Some(fair)) if fair.at < end.at => {
            sentence = stays(sentence, fair_word, fair_bound, fair.at);
        }
        _ => return None,
    }
    let reached = fair.or(good)?.at;
    let next = curve.points.iter().find(|point| point.at > reached);
    let mut tone = Tone::Note;
    if let Some(next) = next {
        tone = if band.is_poor(next.reading.value) { Tone::Warn } else { tone };
        sentence = sentence
            .text("; at ")
            .number(next.at, Meant::Load)
            .text(" it is ")
            .number(next.reading.value, Meant::Ms)
            .text(if band.is_poor(next.reading.value) {
                format!(" ({poor_word})")
            } else {
                String::new()
            });
    }
    Some(Insight::new(RULE.id, topic, tone, sentence.text(".")))
}
