//! Up to which load each curve keeps its words of quality.

use super::{CENTER, curves, subject, told_by};
use crate::insight::{Band, Bands, Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_core::Metric;
use ifm_core::sheet::PartKind;
use ifm_results::say;
use ifm_results::{Curve, CurvePoint};

pub(super) const RULE: InsightRule = InsightRule {
    id: "first_crossing",
    title: "loads up to which ITL and TTFT keep their quality words",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let by = told_by(question);
    let bands = Bands::get();
    let mut found = Vec::new();
    for (quantity, name, topic, band) in [
        (Metric::Itl, "ITL", Topic::Itl, &bands.itl_ms),
        (Metric::Ttft, "TTFT", Topic::Ttft, &bands.ttft_ms),
    ] {
        for curve in curves(&pool, &by, quantity, CENTER) {
            found.extend(crossing(&curve, name, topic, band));
        }
    }
    found
}

/// The last point before the first one on which `holds` is not true.
fn last<'c>(curve: &'c Curve, holds: impl Fn(f64) -> bool) -> Option<&'c CurvePoint<'c>> {
    curve.points.iter().take_while(|point| holds(point.stat.value)).last()
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
    let stays = |word: &str, bound: Option<f64>, at: f64| match bound {
        Some(bound) => say!("{} (below {}) up to {}"; word, bound => Ms, at => Load),
        None => say!("{} up to {}"; word, at => Load),
    };
    let stays = match (good, fair) {
        (Some(good), fair) => {
            let further = fair.filter(|fair| fair.at > good.at);
            let further = further.map(|fair| stays(fair_word, fair_bound, fair.at));
            let all = [stays(good_word, good_bound, good.at)].into_iter().chain(further);
            Sentence::list(all, ", ", ", ")
        }
        (None, Some(fair)) if fair.at < end.at => stays(fair_word, fair_bound, fair.at),
        _ => return None,
    };
    let mut sentence = say!("{} stays {}"; subject(curve, name), stays);
    let reached = fair.or(good)?.at;
    let next = curve.points.iter().find(|point| point.at > reached);
    let mut tone = Tone::Note;
    if let Some(next) = next {
        let is_poor = band.is_poor(next.stat.value);
        tone = if is_poor { Tone::Warn } else { tone };
        let word = if is_poor { format!(" ({poor_word})") } else { String::new() };
        sentence = say!(
            "{}; at {} it is {}{}";
            sentence, next.at => Load, next.stat.value => Ms, word
        );
    }
    Some(Insight::new(RULE.id, topic, tone, say!("{}."; sentence)))
}
