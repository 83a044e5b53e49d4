//! Where more load stops to bring more output.

use super::{curves, told_by};
use crate::insight::{Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use crate::survey::{Curve, CurvePoint};
use ifm_core::sheet::{PartKind, Quantity, Statistic};

/// Output has to grow by this share of what the load grows by, or the step is past the knee.
const GAIN_MIN: f64 = 0.2;

pub(super) const RULE: InsightRule = InsightRule {
    id: "knee",
    title: "the first step of the load that brings less than a fifth of its growth as output, and its price in latency",
    look,
};

/// The load from which on more of it hardly brings more; absent where output grows to the end.
pub fn knee_at(output: &Curve) -> Option<f64> {
    past(output).map(|(low, ..)| low.at)
}

/// The first step that brings too little, and what it brings.
fn past<'c, 'a>(curve: &'c Curve<'a>) -> Option<(&'c CurvePoint<'a>, &'c CurvePoint<'a>, f64)> {
    curve.points.windows(2).find_map(|pair| match pair {
        [low, high] if low.at > 0.0 && low.reading.value > 0.0 => {
            let load = high.at / low.at - 1.0;
            let gain = high.reading.value / low.reading.value - 1.0;
            (gain < GAIN_MIN * load).then_some((low, high, gain))
        }
        _ => None,
    })
}

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.survey.pool(PartKind::Serving);
    let by = told_by(question);
    let value = [Statistic::Value, Statistic::Mean, Statistic::Median];
    let output = curves(&pool, &by, &Quantity::OutputRate, &value);
    let center = [Statistic::Median, Statistic::Mean, Statistic::Value];
    let mut found = Vec::new();
    for curve in &output {
        let Some((low, high, gain)) = past(curve) else { continue };
        let name = curve.name();
        let mut sentence = Sentence::new(if name.is_empty() {
            "Output hardly grows beyond ".to_owned()
        } else {
            format!("{name}: output hardly grows beyond ")
        })
        .number(low.at, Meant::Load)
        .text(": going to ")
        .number(high.at, Meant::Load)
        .text(" brings ")
        .number(gain, Meant::Change)
        .text(" output");
        let latency = |cell: &crate::survey::Pooled, quantity: &Quantity| {
            center.iter().find_map(|statistic| cell.reading(quantity, *statistic))
        };
        for (quantity, word) in [(Quantity::Tpot, "TPOT"), (Quantity::Ttft, "TTFT")] {
            let pair = latency(&low.cell, &quantity).zip(latency(&high.cell, &quantity));
            if let Some((before, after)) = pair.filter(|(before, _)| before.value > 0.0) {
                sentence = sentence
                    .text(", ")
                    .number(after.value / before.value - 1.0, Meant::Change)
                    .text(format!(" {word}"));
            }
        }
        let insight = Insight::new(RULE.id, Topic::Throughput, Tone::Note, sentence.text("."));
        found.push(insight.weighing(1.0 - gain));
    }
    found
}
