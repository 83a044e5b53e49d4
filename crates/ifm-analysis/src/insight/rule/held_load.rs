//! Levels whose limit on requests in flight was not reached on average.

use super::{at_load, told_by};
use crate::insight::{Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use crate::survey::{Pooled, name_of};
use ifm_core::sheet::{PartKind, Quantity, Statistic};

/// Levels that one sentence names, at most.
const NAMED_MAX: usize = 4;

pub(super) const RULE: InsightRule = InsightRule {
    id: "held_load",
    title: "levels at which clearly fewer requests were in flight on average than the users that were asked for",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.survey.pool(PartKind::Serving);
    let by = told_by(question);
    let names: Vec<&str> = by.iter().map(String::as_str).collect();
    let curves = pool.curves_against(&names, |cell| {
        let first = cell.first()?;
        Some((cell.load()?.value(), first.readings.first()?.clone()))
    });
    let tell = |curve: &crate::survey::Curve| {
        let held = curve.points.iter().map(|point| &point.cell).filter(|cell| is_derived(cell));
        let held = held.filter_map(|cell| Some((cell, cell.held_less()?)));
        told(&name_of(&curve.of), &held.collect::<Vec<_>>())
    };
    curves.iter().filter_map(tell).collect()
}

/// Whether nobody told how many were in flight, so that it follows from Little's law.
fn is_derived(cell: &Pooled) -> bool {
    cell.reading(&Quantity::InFlight, Statistic::Mean).is_none()
}

fn told(name: &str, held: &[(&Pooled, f64)]) -> Option<Insight> {
    let (last, _) = held.last()?;
    let head = if name.is_empty() { String::new() } else { format!("{name}: ") };
    let mut sentence =
        Sentence::new(format!("{head}A load is the client's limit here. On average "));
    let named = held.get(held.len().saturating_sub(NAMED_MAX)..).unwrap_or_default();
    for (index, (cell, mean)) in named.iter().enumerate() {
        sentence = sentence.text(match index {
            0 => "",
            index if index + 1 == named.len() => " and ",
            _ => ", ",
        });
        sentence = sentence.number(*mean, Meant::Plain).text(" were in flight at ");
        sentence = at_load(sentence, cell.load()?);
    }
    sentence = sentence.text(" (Little's law)");
    let waves = last.requests_ok().zip(last.load()).map(|(all, load)| (all, all / load.value()));
    if let Some((all, waves)) = waves {
        sentence = sentence
            .text(": ")
            .number(all, Meant::Count)
            .text(" requests are ")
            .number(waves, Meant::Plain)
            .text(" for each user at the highest of these, so ramp and drain are much of it");
    }
    let insight = Insight::new(RULE.id, Topic::Capacity, Tone::Warn, sentence.text("."));
    Some(insight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use crate::survey::{Survey, held_tests::sweep};

    fn numbers(survey: &Survey) -> Option<Vec<f64>> {
        let all = insights(&Question::new(survey));
        let found = all.iter().find(|insight| insight.rule == RULE.id)?;
        Some(found.sentence.numbers().map(|(number, _)| number).collect())
    }

    #[test]
    fn names_the_levels_that_were_not_held_and_no_other() {
        let mut survey = sweep();
        let found = numbers(&survey).expect("128 and 512 were not held");
        assert!((found[0] - 83.39).abs() < 0.05 && (found[2] - 178.95).abs() < 0.05, "{found:?}");
        assert_eq!((found[1], found[3], found[4], found.len()), (128.0, 512.0, 1000.0, 6));
        assert!((found[5] - 1.953).abs() < 1e-3, "{found:?}");
        survey.points.truncate(1);
        assert_eq!(numbers(&survey), None);
    }
}
