//! What a lower power limit costs and saves.

use crate::insight::{Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use crate::survey::PowerSeries;
use ifm_core::sheet::Quantity;

pub(super) const RULE: InsightRule = InsightRule {
    id: "power",
    title: "the lowest power limit that keeps the speed, and the one with the most tokens per joule",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let series = question.survey.power_series();
    // Generation is what lasts; prompts are told only where there is nothing else.
    let is_prompt = |series: &&PowerSeries| series.quantity == Quantity::PrefillRate;
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
    let sentence = Sentence::new(format!("{}: ", series.name))
        .number(keeping.limit_w, Meant::W)
        .text(" keeps ")
        .number((keeping.rate / highest.rate).min(1.0), Meant::Share)
        .text(" of the speed at ")
        .number(highest.limit_w, Meant::W)
        .text(" (")
        .number(keeping.rate, Meant::TokPerS)
        .text(").");
    Some(Insight::new("power", Topic::Power, Tone::Good, sentence).weighing(saved))
}

fn saving(series: &PowerSeries) -> Option<Insight> {
    let (highest, best) = (series.highest()?, series.best()?);
    if best.limit_w >= highest.limit_w || highest.per_joule <= 0.0 {
        return None;
    }
    let unit = match series.is_measured {
        true => " tokens per measured joule",
        false => " tok/s per watt of limit",
    };
    let sentence = Sentence::new(format!("{}: ", series.name))
        .number(best.limit_w, Meant::W)
        .text(" gives the most for its power: ")
        .number(best.per_joule, Meant::Plain)
        .text(format!("{unit} against "))
        .number(highest.per_joule, Meant::Plain)
        .text(" at ")
        .number(highest.limit_w, Meant::W)
        .text(", for ")
        .number(best.rate / highest.rate - 1.0, Meant::Change)
        .text(" speed.");
    let gain = (best.per_joule / highest.per_joule).ln();
    Some(Insight::new("power", Topic::Power, Tone::Note, sentence).weighing(gain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use crate::survey::{Survey, power_tests::engine};

    fn found(limits: &[(u32, f64)]) -> Vec<Vec<f64>> {
        let points = limits.iter().map(|(limit, rate)| engine(*limit, *rate)).collect();
        let survey = Survey { origins: Vec::new(), points };
        let all = insights(&Question::new(&survey));
        let of_rule = all.iter().filter(|insight| insight.rule == RULE.id);
        of_rule.map(|one| one.sentence.numbers().map(|(number, _)| number).collect()).collect()
    }

    #[test]
    fn what_a_limit_costs_and_saves() {
        let found =
            found(&[(600, 278.95), (400, 279.04), (350, 274.81), (250, 236.88), (200, 189.82)]);
        let [keeps, saves] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(keeps.as_slice(), [400.0, 1.0, 600.0, 279.04]);
        assert_eq!((saves[0], saves[3]), (250.0, 600.0));
        assert!((saves[1] - 0.9475).abs() < 1e-3 && (saves[2] - 0.4649).abs() < 1e-3);
        assert!((saves[4] + 0.1508).abs() < 1e-3, "{saves:?}");
    }

    #[test]
    fn one_limit_or_a_speed_that_follows_it_says_nothing() {
        assert!(found(&[(600, 278.95)]).is_empty());
        assert!(found(&[(600, 600.0), (300, 200.0)]).is_empty());
    }
}
