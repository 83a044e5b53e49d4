//! Output that is highest at a load in the middle and falls after it.

use super::{curves, told_by};
use crate::insight::{Delta, Insight, InsightRule, Question, Tone, Topic};
use ifm_compare::comparison::{Doubt, Settings, Verdict};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic};
use ifm_results::say;
use ifm_results::{Curve, CurvePoint};

pub(super) const RULE: InsightRule = InsightRule {
    id: "output_peak",
    title: "the load with the most output, where more load is shown to bring less",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let value = [Statistic::Value, Statistic::Mean, Statistic::Median];
    let output = curves(&pool, &told_by(question), Metric::OutputRate, &value);
    let ends: Vec<(&Curve, &CurvePoint, &CurvePoint)> = output.iter().filter_map(ends).collect();
    let pairs = ends.iter().map(|(_, peak, last)| (&peak.cell, &last.cell));
    let deltas = question.deltas(pairs, Metric::OutputRate, &value);
    ends.iter().zip(deltas).filter_map(|(ends, delta)| told(ends, &delta?)).collect()
}

/// The point with the most output, and the last one where that is another.
fn ends<'c, 'a>(
    curve: &'c Curve<'a>,
) -> Option<(&'c Curve<'a>, &'c CurvePoint<'a>, &'c CurvePoint<'a>)> {
    let last = curve.points.last()?;
    let peak = curve.points.iter().max_by(|a, b| a.stat.value.total_cmp(&b.stat.value))?;
    (last.stat.value < peak.stat.value).then_some((curve, peak, last))
}

/// The fall, where it is shown; of single numbers what was measured.
fn told((curve, peak, last): &(&Curve, &CurvePoint, &CurvePoint), fall: &Delta) -> Option<Insight> {
    let is_alone = matches!(fall.doubt, Some(Doubt::OneNumber { .. }));
    let is_large = fall.change <= -Settings::default().threshold;
    let (tone, words) = match fall.verdict {
        Verdict::Worse => (Tone::Warn, fall.with_interval()),
        _ if is_alone && is_large => (Tone::Note, fall.undecided()),
        _ => return None,
    };
    let name = curve.name();
    let head = if name.is_empty() { "Output".to_owned() } else { format!("{name}: output") };
    let sentence = say!(
        "{} is highest at {} ({}); at the highest load, {}, it is {}: {}.";
        head, peak.at => Load, peak.stat.value => TokPerS, last.at => Load,
        last.stat.value => TokPerS, words
    );
    let insight = Insight::new(RULE.id, Topic::Throughput, tone, sentence);
    Some(insight.weighing(1.0 - fall.change))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use ifm_results::Results;
    use ifm_results::Stat;
    use ifm_results::testing::level;

    /// Output at 4, 16 and 32 users.
    fn numbers(output: [f64; 3]) -> Option<Vec<f64>> {
        let mut points: Vec<_> =
            [4, 16, 32].map(|users| level((users, 10.0, 100.0, 10.0, 9e4))).to_vec();
        for (point, rate) in points.iter_mut().zip(output) {
            point.stats.push(Stat::new(Metric::OutputRate, Statistic::Value, rate));
        }
        let results = Results { sources: Vec::new(), points };
        let all = insights(&Question::new(&results));
        let found = all.iter().find(|insight| insight.rule == RULE.id)?;
        Some(found.sentence.numbers().map(|(number, _)| number).collect())
    }

    #[test]
    fn reports_a_peak_in_the_middle_but_not_a_flat_end() {
        let found = numbers([1855.0, 1771.0, 1745.0]).expect("it falls");
        assert_eq!((found[0], found[1], found[2], found[3]), (4.0, 1855.0, 32.0, 1745.0));
        assert!((found[4] + 0.0593).abs() < 1e-3, "{found:?}");
        assert_eq!(numbers([1700.0, 1855.0, 1830.0]), None);
        assert_eq!(numbers([1000.0, 1500.0, 1855.0]), None);
    }
}
