//! Between which measured loads each reaches the same ITL.

use crate::insight::versus::{CENTER, OUTPUT, Versus};
use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_core::Metric;
use ifm_results::Curve;
use ifm_results::say;

/// Distances of round limits, ms, the finest first.
const STEPS_MS: [f64; 7] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
/// Maximum number of limits.
const LIMITS_MAX: usize = 4;

pub(super) const RULE: InsightRule = InsightRule {
    id: "equal_latency",
    title: "largest measured load of the baseline and of the other below the same median ITL",
    look,
};

/// Limits of ITL, ms, that all of these curves cross: the requested ones, else round ones. Rising.
pub fn itl_limits(question: &Question, curves: &[&Curve]) -> Vec<f64> {
    let crossed = |limit: &f64| curves.iter().all(|curve| curve.crossing(*limit).is_some());
    let asked = question.slo.terms.iter().filter(|term| term.metric == Metric::Itl);
    let mut limits: Vec<f64> = asked.map(|term| term.limit_ms).filter(crossed).collect();
    if limits.is_empty() {
        let first = |curve: &&Curve| curve.points.first().map(|point| point.stat.value);
        let last = |curve: &&Curve| curve.points.last().map(|point| point.stat.value);
        let low = curves.iter().filter_map(first).fold(0.0, f64::max);
        let high = curves.iter().filter_map(last).fold(f64::INFINITY, f64::min);
        let round = |step: f64| -> Vec<f64> {
            // Above the lower end, which the curve that begins there does not cross.
            let steps = (low / step).floor() as u64 + 1..=(high / step).floor().max(0.0) as u64;
            steps.take(LIMITS_MAX + 1).map(|n| n as f64 * step).collect()
        };
        if low < high && high.is_finite() {
            limits = STEPS_MS
                .iter()
                .map(|step| round(*step))
                .find(|all| all.len() <= LIMITS_MAX)
                .unwrap_or_default();
            limits.retain(crossed);
        }
    }
    limits.sort_unstable_by(f64::total_cmp);
    limits.dedup();
    limits
}

/// `base 11.5 (above it from 15.5)`
fn carried(name: &str, curve: &Curve, limit: f64) -> Option<Sentence> {
    let [inside, above] = curve.crossing(limit)?;
    Some(say!("{} {} (above it from {})"; name, inside.at => Load, above.at => Load))
}

fn look(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    for versus in &Versus::all(question) {
        let base = versus.curve(&versus.base, Metric::Itl, CENTER);
        for party in &versus.others {
            let other = versus.curve(party, Metric::Itl, CENTER);
            let limits = itl_limits(question, &[&base, &other]);
            let names = [versus.base.short_as_base(), &party.short];
            let at_limit = |limit: f64| {
                let each = names.iter().zip([&base, &other]);
                let each: Option<Vec<Sentence>> =
                    each.map(|(name, curve)| carried(name, curve, limit)).collect();
                Some(say!("≤ {}: {}"; limit => LimitMs, Sentence::list(each?, ", ", ", ")))
            };
            let mut ends = vec![limits.last().copied(), limits.first().copied()];
            ends.dedup();
            let ends: Vec<Sentence> = ends.into_iter().flatten().filter_map(at_limit).collect();
            let Some(limit) = limits.last().copied() else { continue };
            let scene = versus.scene.as_ref().map(|scene| format!("{scene}: ")).unwrap_or_default();
            let mut sentence = say!(
                "{}Largest measured load ({}) with a median ITL {}";
                scene, versus.axis.words(), Sentence::list(ends, "; ", "; ")
            );
            let output = |party, curve: &Curve| {
                let at = curve.crossing(limit)?[0].at;
                let output = versus.curve(party, Metric::OutputRate, OUTPUT);
                Some(output.at(at)?.stat.value)
            };
            if let Some((from, to)) = output(&versus.base, &base).zip(output(party, &other)) {
                sentence = say!(
                    "{}; output there at ≤ {}: {} and {}";
                    sentence, limit => LimitMs, from => TokPerS, to => TokPerS
                );
            }
            found.push(Insight::new(RULE.id, Topic::Capacity, Tone::Note, say!("{}."; sentence)));
        }
    }
    found
}
