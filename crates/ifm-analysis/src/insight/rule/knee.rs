//! Where more load stops to bring more output.

use super::{curves, told_by};
use crate::insight::{Bands, Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use crate::survey::{Curve, CurvePoint};
use ifm_core::sheet::{PartKind, Quantity, Statistic};

pub(super) const RULE: InsightRule = InsightRule {
    id: "knee",
    title: "the first step of the load that brings less than a fifth of its growth as output, and its price in latency",
    look,
};

/// The load from which on more of it brings little more; absent where output grows to the end.
pub fn knee_at(output: &Curve) -> Option<f64> {
    past(output).map(|step| step.low.at)
}

/// A step of the load that brings too little.
struct Step<'c, 'a> {
    low: &'c CurvePoint<'a>,
    high: &'c CurvePoint<'a>,
    /// Growth of the output, as a share.
    gain: f64,
    /// What that is called beside the growth of the load.
    word: &'static str,
}

/// The first step that brings too little.
fn past<'c, 'a>(curve: &'c Curve<'a>) -> Option<Step<'c, 'a>> {
    let band = &Bands::get().output_growth;
    curve.points.windows(2).find_map(|pair| match pair {
        [low, high] if low.at > 0.0 && low.at < high.at && low.reading.value > 0.0 => {
            let load = high.at / low.at - 1.0;
            let gain = high.reading.value / low.reading.value - 1.0;
            let word = band.word(gain / load);
            (!band.is_good(gain / load)).then_some(Step { low, high, gain, word })
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
        let Some(Step { low, high, gain, word }) = past(curve) else { continue };
        let name = curve.name();
        let mut sentence = Sentence::new(if name.is_empty() {
            format!("Output {word} beyond ")
        } else {
            format!("{name}: output {word} beyond ")
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
