//! How long the first token takes, best and worst.

use super::{CENTER, curves, measured_at, told_by};
use crate::insight::delta::if_open;
use crate::insight::{Bands, Insight, InsightRule, Question, Tone, Topic, is_burst};
use ifm_core::Metric;
use ifm_core::sheet::PartKind;
use ifm_core::words::plural;
use ifm_metrics::level::Load;
use ifm_results::say;
use ifm_results::{Pool, Pooled};

pub(super) const RULE: InsightRule = InsightRule {
    id: "ttft_range",
    title: "the shortest and the longest time to first token, and where",
    look,
};

/// The middle of the TTFT of measurements with an unknown load, ms.
fn unknown_load(pool: &Pool) -> Vec<f64> {
    let cells = pool.cells.iter().filter(|cell| cell.load().is_none() && !is_burst(cell));
    let middle = |cell: &Pooled| CENTER.iter().find_map(|of| cell.stat(Metric::Ttft, *of));
    cells.filter_map(|cell| Some(middle(cell)?.value)).collect()
}

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let by = told_by(question);
    let mut curves = curves(&pool, &by, Metric::Ttft, CENTER);
    let mut unplaced = unknown_load(&pool);
    if curves.iter().map(|curve| curve.points.len()).sum::<usize>() < 2 {
        unplaced.clear();
        // A sentence may say the best and the worst, and the load of one of them alone.
        let names: Vec<&str> = by.iter().map(String::as_str).collect();
        curves = pool.curves_against(&names, |cell| {
            let reading =
                CENTER.iter().find_map(|statistic| cell.stat(Metric::Ttft, *statistic))?;
            Some((cell.load().map_or(0.0, Load::value), reading))
        });
    }
    // With all requests at once a first token waits for its turn, which no load explains.
    let all = || {
        curves
            .iter()
            .flat_map(|curve| curve.points.iter().map(move |point| (curve, point)))
            .filter(|(_, point)| !is_burst(&point.cell))
    };
    let best = all().min_by(|a, b| a.1.stat.value.total_cmp(&b.1.stat.value));
    let worst = all().max_by(|a, b| a.1.stat.value.total_cmp(&b.1.stat.value));
    let (Some(best), Some(worst)) = (best, worst) else { return Vec::new() };
    if best.1.stat.value >= worst.1.stat.value {
        return Vec::new();
    }
    let band = &Bands::get().ttft_ms;
    let tone = if band.is_poor(worst.1.stat.value) { Tone::Warn } else { Tone::Note };
    let longest = unplaced.iter().copied().max_by(f64::total_cmp);
    let left_out = longest.filter(|longest| *longest > worst.1.stat.value).map(|longest| {
        let (count, levels) = (unplaced.len(), plural(unplaced.len() as u64, "level"));
        say!(
            "; left out: {} {} without a known load, up to {}";
            count as f64 => Count, levels, longest => Ms
        )
    });
    let sentence = say!(
        "Best TTFT {} ({}), worst {} ({}){}{}.";
        best.1.stat.value => Ms, measured_at(best.0, best.1), worst.1.stat.value => Ms,
        measured_at(worst.0, worst.1),
        if_open(question.delta(&best.1.cell, &worst.1.cell, Metric::Ttft, CENTER)),
        left_out.unwrap_or_default()
    );
    vec![Insight::new(RULE.id, Topic::Ttft, tone, sentence)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use ifm_results::Results;
    use ifm_results::testing::sweep;

    fn numbers(results: &Results) -> Vec<f64> {
        let all = insights(&Question::new(results));
        let found = all.iter().find(|insight| insight.rule == RULE.id).expect("two levels");
        found.sentence.numbers().map(|(number, _)| number).collect()
    }

    #[test]
    fn lists_a_level_without_a_load_separately() {
        let mut results = sweep();
        assert_eq!(numbers(&results), [62.26, 430.01]);
        results.points[2].load = None;
        assert_eq!(numbers(&results), [62.26, 84.11, 1.0, 430.01]);
    }
}
