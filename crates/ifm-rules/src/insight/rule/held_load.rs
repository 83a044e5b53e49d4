//! Levels whose limit on requests in flight was not reached on average.

use super::{at_load, told_by};
use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic};
use ifm_results::say;
use ifm_results::{Pooled, name_of};

/// Levels that one sentence names, at most.
const NAMED_MAX: usize = 4;

pub(super) const RULE: InsightRule = InsightRule {
    id: "held_load",
    title: "levels with clearly fewer requests in flight on average than requested users",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let by = told_by(question);
    let names: Vec<&str> = by.iter().map(String::as_str).collect();
    let curves = pool.curves_against(&names, |cell| {
        let first = cell.first()?;
        Some((cell.load()?.value(), first.stats.first()?.clone()))
    });
    let tell = |curve: &ifm_results::Curve| {
        let held = curve.points.iter().map(|point| &point.cell).filter(|cell| is_derived(cell));
        let held = held.filter_map(|cell| Some((cell, cell.held_less()?)));
        told(&name_of(&curve.of), &held.collect::<Vec<_>>())
    };
    curves.iter().filter_map(tell).collect()
}

/// Whether the requests in flight were not reported, so that they follow from Little's law.
fn is_derived(cell: &Pooled) -> bool {
    cell.stat(Metric::InFlight, Statistic::Mean).is_none()
}

fn told(name: &str, held: &[(&Pooled, f64)]) -> Option<Insight> {
    let (last, _) = held.last()?;
    let named = held.get(held.len().saturating_sub(NAMED_MAX)..).unwrap_or_default();
    let words = |(cell, mean): &(&Pooled, f64)| {
        Some(say!("{} were in flight at {}"; *mean => Plain, at_load(cell.load()?)))
    };
    let named: Option<Vec<Sentence>> = named.iter().map(words).collect();
    let mut sentence = say!(
        "{}A load is the client's limit here. On average {} (Little's law)";
        if name.is_empty() { String::new() } else { format!("{name}: ") },
        Sentence::list(named?, ", ", " and ")
    );
    let waves = last.requests_ok().zip(last.load()).map(|(all, load)| (all, all / load.value()));
    if let Some((all, waves)) = waves {
        sentence = say!(
            "{}: {} requests are {} for each user at the highest of these, so ramp and drain are \
             much of it";
            sentence, all => Count, waves => Plain
        );
    }
    let insight = Insight::new(RULE.id, Topic::Capacity, Tone::Warn, say!("{}."; sentence));
    Some(insight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use ifm_results::Results;
    use ifm_results::testing::sweep;

    fn numbers(results: &Results) -> Option<Vec<f64>> {
        let all = insights(&Question::new(results));
        let found = all.iter().find(|insight| insight.rule == RULE.id)?;
        Some(found.sentence.numbers().map(|(number, _)| number).collect())
    }

    #[test]
    fn names_only_the_levels_that_were_not_reached() {
        let mut results = sweep();
        let found = numbers(&results).expect("128 and 512 were not held");
        assert!((found[0] - 83.39).abs() < 0.05 && (found[2] - 178.95).abs() < 0.05, "{found:?}");
        assert_eq!((found[1], found[3], found[4], found.len()), (128.0, 512.0, 1000.0, 6));
        assert!((found[5] - 1.953).abs() < 1e-3, "{found:?}");
        results.points.truncate(1);
        assert_eq!(numbers(&results), None);
    }
}
