//! What a lower power limit costs and saves.

use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_core::Metric;
use ifm_results::say;
use ifm_results::{PowerPoint, PowerSeries};

pub(super) const RULE: InsightRule = InsightRule {
    id: "power",
    title: "the lowest power limit that keeps the speed, and the ones with the most tokens per joule",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let series = question.results.power_series();
    // Generation takes most of the time; prompts are reported only if there is nothing else.
    let is_prompt = |series: &&PowerSeries| series.metric == Metric::PrefillRate;
    let all_prompts = series.iter().all(|series| is_prompt(&series));
    series
        .iter()
        .filter(|series| all_prompts || !is_prompt(series))
        .flat_map(|series| [keeping(series), saving(series)])
        .flatten()
        .collect()
}

fn keeping(series: &PowerSeries) -> Option<Insight> {
    let (highest, keeping) = (series.highest()?, series.keeping()?);
    if keeping.limit_w >= highest.limit_w || highest.rate <= 0.0 {
        return None;
    }
    let saved = 1.0 - keeping.limit_w / highest.limit_w;
    let sentence = say!(
        "{}: {} keeps {} of the speed at {} ({}).";
        series.name, keeping.limit_w => W, (keeping.rate / highest.rate).min(1.0) => Share,
        highest.limit_w => W, keeping.rate => TokPerS
    );
    Some(Insight::new("power", Topic::Power, Tone::Good, sentence).weighing(saved))
}

/// The limits with the most tokens per joule: one, or several that are a tie.
fn saving(series: &PowerSeries) -> Option<Insight> {
    let (highest, best) = (series.highest()?, series.best());
    let (first, last) = (*best.first()?, *best.last()?);
    if last.limit_w >= highest.limit_w || highest.per_joule <= 0.0 {
        return None;
    }
    let unit = match series.is_told {
        true => " tokens per joule",
        false => " tok/s per watt of limit",
    };
    // `a`, `a and b`, `a, b and c`.
    let listed = |each: &dyn Fn(&PowerPoint) -> Sentence| {
        Sentence::list(best.iter().map(|point| each(point)), ", ", " and ")
    };
    let give = match best.len() {
        1 => "gives the most for its power",
        _ => "give the most for their power, a tie within their ±",
    };
    let sentence = say!(
        "{}: {} {}: {}{} against {} at {}, for {} speed.";
        series.name, listed(&|point| say!("{}"; point.limit_w => W)), give,
        listed(&|point| match point.per_joule_std() {
            Some(std) => say!("{} ± {}"; point.per_joule => Plain, std => Plain),
            None => say!("{}"; point.per_joule => Plain),
        }),
        unit, highest.per_joule => Plain, highest.limit_w => W,
        listed(&|point| say!("{}"; point.rate / highest.rate - 1.0 => Change))
    );
    let gain = (first.per_joule.max(last.per_joule) / highest.per_joule).ln();
    let insight = Insight::new("power", Topic::Power, Tone::Note, sentence);
    Some(insight.weighing(gain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use ifm_results::Results;
    use ifm_results::testing::engine;

    fn found(limits: &[(u32, f64)]) -> Vec<Vec<f64>> {
        let points = limits.iter().map(|(limit, rate)| engine(*limit, *rate)).collect();
        let results = Results { sources: Vec::new(), points };
        let all = insights(&Question::new(&results));
        let of_rule = all.iter().filter(|insight| insight.rule == RULE.id);
        of_rule.map(|one| one.sentence.numbers().map(|(number, _)| number).collect()).collect()
    }

    #[test]
    fn what_a_limit_costs_and_saves() {
        let found =
            found(&[(600, 278.95), (400, 279.04), (350, 274.81), (250, 236.88), (200, 189.82)]);
        let [keeps, saves] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(keeps.as_slice(), [400.0, 1.0, 600.0, 279.04]);
        // 200 W and 250 W tie: limits, efficiencies with deviations, that at 600 W, changes.
        let expect = [200.0, 250.0, 0.9491, 0.0025, 0.9475, 0.002, 0.4649, 600.0, -0.3195, -0.1508];
        assert_eq!(saves.len(), expect.len(), "{saves:?}");
        for (found, expect) in saves.iter().zip(expect) {
            assert!((found - expect).abs() < 1e-3, "{saves:?}");
        }
    }

    #[test]
    fn one_limit_or_a_speed_that_follows_it_gives_no_insight() {
        assert!(found(&[(600, 278.95)]).is_empty());
        assert!(found(&[(600, 600.0), (300, 200.0)]).is_empty());
    }
}
