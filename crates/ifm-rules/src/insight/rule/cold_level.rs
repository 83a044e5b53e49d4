//! A level that is worse than a heavier one, and what fits without it.

use super::{at_load, told_by};
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic};
use ifm_metrics::answer::UsersState;
use ifm_metrics::slo;
use ifm_results::say;
use ifm_results::{Cold, Fitting, Miss, Pool};

pub(super) const RULE: InsightRule = InsightRule {
    id: "cold_level",
    title: "a level whose tail is more than twice that of the next heavier one, and what fits without it",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let by = told_by(question);
    let names: Vec<&str> = by.iter().map(String::as_str).collect();
    let cold = pool.cold(&names);
    let mut found: Vec<Insight> = cold.iter().filter_map(told).collect();
    if !cold.is_empty() {
        found.extend(without(question, &pool.without(&cold), &names));
    }
    found
}

fn told(cold: &Cold) -> Option<Insight> {
    let name = match (&cold.metric, cold.tail.statistic) {
        (Metric::Itl, Statistic::Percentile(p)) => format!("ITL p{p}"),
        (_, Statistic::Percentile(p)) => format!("TTFT p{p}"),
        _ => return None,
    };
    let ratio = cold.tail.value / cold.tail_beside.value;
    let reason = match cold.is_before {
        true => {
            "It came before the heavier one; something cold, prompts that the later level \
             sent again, or a disturbance would explain it; the figures do not tell which."
        }
        false => "Something other than the load slowed it.",
    };
    let sentence = say!(
        "At {} the {} is {}, {} as long as at the heavier load of {} ({}); a lighter load should \
         not be slower. {} Measure it again.";
        at_load(cold.cell.load()?), name, cold.tail.value => Ms, ratio => Times,
        at_load(cold.beside.load()?), cold.tail_beside.value => Ms, reason
    );
    Some(Insight::new(RULE.id, Topic::Itl, Tone::Warn, sentence).weighing(ratio.ln()))
}

/// What fits without the outlying levels.
fn without(question: &Question, pool: &Pool, names: &[&str]) -> Vec<Insight> {
    let target = match question.slo.terms.is_empty() {
        false => question.slo.clone(),
        true => match slo::parse(slo::PRESETS[0].name) {
            Ok(target) => target,
            Err(_) => return Vec::new(),
        },
    };
    let tell = |fitting: &Fitting| {
        let fits = fitting.load().filter(|_| fitting.state == UsersState::Found)?.value();
        let (next, misses) = fitting.next.as_ref()?;
        let Some(Miss::Term(term, Some(ms))) = misses.first() else { return None };
        let (name, over) = term.asked();
        let found = super::shown(term.shown(*ms), true);
        let sentence = say!(
            "Without the outlying level, {} would fit inside {}, and {} would fail: {} {} {}.";
            fits => Load, super::target(&target), next.load()?.value() => Load,
            name, over, found
        );
        Some(Insight::new(RULE.id, Topic::Capacity, Tone::Note, sentence))
    };
    pool.fittings(names, &target).iter().filter_map(tell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use ifm_metrics::level::Load;
    use ifm_results::testing::batch;
    use ifm_results::{Results, Stat};

    /// P99 of ITL and TTFT of a published sweep.
    fn results(levels: &[(u32, f64, f64)]) -> Results {
        let p99 = Statistic::Percentile(99.0);
        let mut points = Vec::new();
        for (part, (users, itl, ttft)) in levels.iter().enumerate() {
            let mut point = batch("m", (1, 100, 100), 1, 1.0);
            point.kind = PartKind::Serving;
            point.part = part;
            point.load = Some(Load::Users(*users));
            point.stats =
                vec![Stat::new(Metric::Itl, p99, *itl), Stat::new(Metric::Ttft, p99, *ttft)];
            points.push(point);
        }
        Results { sources: Vec::new(), points }
    }

    fn found(results: &Results) -> Vec<Vec<f64>> {
        let all = insights(&Question::new(results));
        let of_rule = all.iter().filter(|insight| insight.rule == RULE.id);
        of_rule.map(|one| one.sentence.numbers().map(|(number, _)| number).collect()).collect()
    }

    #[test]
    fn a_light_level_with_a_long_tail_is_set_aside() {
        let levels = [
            (32, 84.66, 135.56),
            (64, 32.06, 126.5),
            (128, 38.51, 217.02),
            (256, 67.17, 380.03),
            (512, 139.67, 733.46),
        ];
        let found = found(&results(&levels));
        let [cold, fits] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((cold[0], cold[1], cold[3], cold[4]), (32.0, 84.66, 64.0, 32.06));
        assert_eq!(fits.as_slice(), [128.0, 500.0, 50.0, 256.0, 67.17]);
    }

    #[test]
    fn ignores_tails_that_grow_with_the_load() {
        assert!(found(&results(&[(1, 10.0, 50.0), (2, 12.0, 60.0), (4, 11.0, 70.0)])).is_empty());
    }
}
