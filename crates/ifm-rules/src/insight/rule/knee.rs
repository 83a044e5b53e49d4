//! Where more load stops to bring more output.

use super::{CENTER, curves, headed, told_by};
use crate::insight::{Bands, Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic};
use ifm_results::say;
use ifm_results::{Curve, CurvePoint, Pooled, Stat};

pub(super) const RULE: InsightRule = InsightRule {
    id: "knee",
    title: "the first step at which output grows less than a fifth as fast as the load, and its price in latency",
    look,
};

/// A mean that differs from the median by this share shows that the values are not spread evenly.
const UNEVEN: f64 = 0.05;

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
    /// The word for that growth, compared with the growth of the load.
    word: &'static str,
}

/// The first step that brings too little.
fn past<'c, 'a>(curve: &'c Curve<'a>) -> Option<Step<'c, 'a>> {
    let band = &Bands::get().output_growth;
    curve.points.windows(2).find_map(|pair| match pair {
        [low, high] if low.at > 0.0 && low.at < high.at && low.stat.value > 0.0 => {
            let load = high.at / low.at - 1.0;
            let gain = high.stat.value / low.stat.value - 1.0;
            let word = band.word(gain / load);
            (!band.is_good(gain / load)).then_some(Step { low, high, gain, word })
        }
        _ => None,
    })
}

/// The middle of a latency.
fn middle(cell: &Pooled, quantity: Metric) -> Option<Stat> {
    CENTER.iter().find_map(|statistic| cell.stat(quantity, *statistic))
}

/// Added to a median between two clusters of values: the mean and the range. Such a median jumps
/// from one cluster to the other, so its change says little.
fn spread(cell: &Pooled, quantity: Metric, middle: &Stat) -> Option<Sentence> {
    let of = |statistic| Some(cell.stat(quantity, statistic)?.value);
    let (mean, min, max) = (of(Statistic::Mean)?, of(Statistic::Min)?, of(Statistic::Max)?);
    let is_uneven = (mean / middle.value - 1.0).abs() >= UNEVEN;
    (is_uneven && middle.statistic == Statistic::Median)
        .then(|| say!(" (unevenly spread: mean {}, {} to {})"; mean => Ms, min => Ms, max => Ms))
}

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let by = told_by(question);
    let value = [Statistic::Value, Statistic::Mean, Statistic::Median];
    let output = curves(&pool, &by, Metric::OutputRate, &value);
    let mut found = Vec::new();
    for curve in &output {
        let Some(Step { low, high, gain, word }) = past(curve) else { continue };
        let mut sentence = say!(
            "{} {} beyond {}: going to {} brings {} output";
            headed(&curve.name(), "output"), word, low.at => Load, high.at => Load, gain => Change
        );
        for (quantity, word) in [(Metric::Tpot, "TPOT"), (Metric::Ttft, "TTFT")] {
            let pair = middle(&low.cell, quantity).zip(middle(&high.cell, quantity));
            let is_alike = |(before, after): &(Stat, Stat)| {
                before.value > 0.0 && before.statistic == after.statistic
            };
            let Some((before, after)) = pair.filter(is_alike) else { continue };
            let of = match after.statistic {
                Statistic::Median => "median ",
                Statistic::Mean => "mean ",
                _ => "",
            };
            sentence = say!(
                "{}, {} {}{}{}";
                sentence, after.value / before.value - 1.0 => Change, of, word,
                spread(&high.cell, quantity, &after).unwrap_or_default()
            );
        }
        let insight = Insight::new(RULE.id, Topic::Throughput, Tone::Note, say!("{}."; sentence));
        found.push(insight.weighing(1.0 - gain));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::{Piece, insights};
    use ifm_results::Results;
    use ifm_results::testing::level;

    /// Medians of the TTFT at 2 and 4 users; at 4 the mean lies so far from the median.
    fn text(mean: f64) -> String {
        let reading = |quantity, statistic, value| Stat::new(quantity, statistic, value);
        let mut points = Vec::new();
        for (users, output, median, mean) in [(2, 1593.0, 36.3, 36.5), (4, 1855.0, 49.7, mean)] {
            let mut point = level((users, 10.0, 100.0, 10.0, 9e4));
            let ttft = Metric::Ttft;
            point.stats = vec![
                reading(Metric::OutputRate, Statistic::Value, output),
                reading(ttft, Statistic::Median, median),
                reading(ttft, Statistic::Mean, mean),
                reading(ttft, Statistic::Min, 18.0),
                reading(ttft, Statistic::Max, 73.9),
            ];
            points.push(point);
        }
        let results = Results { sources: Vec::new(), points };
        let all = insights(&Question::new(&results));
        let found = all.iter().find(|insight| insight.rule == RULE.id).expect("a knee");
        let word = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Number(value, _) => format!("{value:.2}"),
        };
        found.sentence.pieces().iter().map(word).collect()
    }

    #[test]
    fn a_median_between_two_heaps_says_so() {
        let uneven = text(46.5);
        let told = "0.37 median TTFT (unevenly spread: mean 46.50, 18.00 to 73.90)";
        assert!(uneven.contains(told), "{uneven}");
        assert!(!text(49.0).contains("unevenly"), "{}", text(49.0));
    }
}
