//! How many requests in flight both stand at the same ITL.

use crate::insight::versus::{CENTER, OUTPUT, Versus};
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use crate::say;
use crate::survey::Curve;
use ifm_core::Metric;
use ifm_core::sheet::Quantity;

/// Distances of round limits, ms, the finest first.
const STEPS_MS: [f64; 7] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
/// Limits that are looked at, at most.
const LIMITS_MAX: usize = 4;

pub(super) const RULE: InsightRule = InsightRule {
    id: "equal_latency",
    title: "what the baseline and the other carry at the same median ITL",
    look,
};

/// Limits of ITL, ms, that all of these curves cross: those that were asked for, else round ones.
/// Rising.
pub fn itl_limits(question: &Question, curves: &[&Curve]) -> Vec<f64> {
    let crossed = |limit: &f64| curves.iter().all(|curve| curve.reaches(*limit).is_some());
    let asked = question.slo.terms.iter().filter(|term| term.metric == Metric::Itl);
    let mut limits: Vec<f64> = asked.map(|term| term.limit_ms).filter(crossed).collect();
    if limits.is_empty() {
        let first = |curve: &&Curve| curve.points.first().map(|point| point.reading.value);
        let last = |curve: &&Curve| curve.points.last().map(|point| point.reading.value);
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

fn look(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    for versus in &Versus::all(question) {
        let base = versus.curve(&versus.base, &Quantity::Itl, CENTER);
        for party in &versus.others {
            let other = versus.curve(party, &Quantity::Itl, CENTER);
            let limits = itl_limits(question, &[&base, &other]);
            let carried =
                |limit: &f64| Some((*limit, base.reaches(*limit)?, other.reaches(*limit)?));
            // Where a curve reaches a limit is read, unless a measured point stands there.
            let exact = |limit: f64| (base.has_value(limit), other.has_value(limit));
            let all: Vec<(f64, f64, f64)> = limits.iter().rev().filter_map(carried).collect();
            let Some((limit, before, after)) = all.first().copied() else { continue };
            let scene = versus.scene.as_ref().map(|scene| format!("{scene}: ")).unwrap_or_default();
            let mut sentence = say!(
                "{}At median ITL ≤ {}: {} {}, {} {}{} ({})";
                scene, limit => LimitMs, versus.base.short_as_base(),
                before => Load if exact(limit).0, party.short, after => Load if exact(limit).1,
                versus.counted(after), after / before => Times if exact(limit) == (true, true)
            );
            if let Some((limit, before, after)) = all.last().copied().filter(|_| all.len() > 1) {
                sentence = say!(
                    "{}; at ≤ {} {} against {} ({})";
                    sentence, limit => LimitMs, before => Load if exact(limit).0,
                    after => Load if exact(limit).1,
                    after / before => Times if exact(limit) == (true, true)
                );
            }
            let [of_base, of_other] =
                [&versus.base, party].map(|side| versus.curve(side, &Quantity::OutputRate, OUTPUT));
            if let (Some(from), Some(to)) = (of_base.between(before), of_other.between(after)) {
                // The loads are read, so what comes out there is read too, unless both stand on
                // measured points.
                let is_exact = [
                    exact(limit).0 && of_base.at(before).is_some(),
                    exact(limit).1 && of_other.at(after).is_some(),
                ];
                sentence = say!(
                    "{}; output at ≤ {} {} against {} ({})";
                    sentence, limit => LimitMs, from => TokPerS if is_exact[0],
                    to => TokPerS if is_exact[1], to / from => Times if is_exact == [true, true]
                );
            }
            let tone = if after >= before { Tone::Good } else { Tone::Warn };
            let insight = Insight::new(RULE.id, Topic::Capacity, tone, say!("{}."; sentence));
            found.push(insight.weighing((after / before).ln()));
        }
    }
    found
}
