//! The cost of a condition: by model, by load, by length, in the tail, and where it was not
//! measured.

use crate::insight::grid::{Grid, median_change};
use crate::insight::{Bands, Delta, Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_compare::comparison::Verdict;
use ifm_core::sheet::Statistic;
use ifm_core::words::plural;
use ifm_metrics::level::Load;
use ifm_metrics::stat::rank_correlation::spearman;
use ifm_metrics::stat::special::student_two_sided;
use ifm_results::say;

/// From this rank correlation on there is a trend.
const TREND_MIN: f64 = 0.7;
/// Fewest cells of a trend: the ranks of fewer agree too often by chance.
const CELLS_MIN: usize = 5;
/// Largest chance that ranks in no order look like the trend.
const CHANCE_MAX: f64 = 0.05;
/// A sentence names the tail separately where it changes this many times as much as the mean, or as little.
const TAIL_RATIO: f64 = 1.5;
const MEAN: Statistic = Statistic::Mean;
const P99: Statistic = Statistic::Percentile(99.0);

pub(super) const MODEL: InsightRule = InsightRule {
    id: "condition_model",
    title: "what a condition costs each model in end-to-end latency",
    look: by_model,
};

pub(super) const TREND: InsightRule = InsightRule {
    id: "condition_trend",
    title: "whether the cost of a condition rises or falls with the load or the length of answers",
    look: trends,
};

pub(super) const TAIL: InsightRule = InsightRule {
    id: "condition_tail",
    title: "whether a condition affects the tail more than the mean",
    look: tail,
};

pub(super) const TIE: InsightRule = InsightRule {
    id: "condition_tie",
    title: "number of pairs of cells in which a condition shows no difference",
    look: ties,
};

pub(super) const MISSING: InsightRule = InsightRule {
    id: "condition_missing",
    title: "number of figures of a grid that were not measured",
    look: missing,
};

fn by_model(question: &Question) -> Vec<Insight> {
    let Some(grid) = Grid::of(question) else { return Vec::new() };
    let deltas = grid.deltas(MEAN);
    let of_model = |index: usize| -> Vec<&Delta> {
        let own = deltas.iter().filter(move |(cell, _)| cell.model == index);
        own.map(|(_, delta)| *delta).collect()
    };
    let models = grid.models.iter().enumerate();
    models.filter_map(|(index, model)| cost(&grid, model, &of_model(index))).collect()
}

/// What the condition costs a model, where that is shown; else that it is not, with what was
/// measured.
fn cost(grid: &Grid, model: &str, own: &[&Delta]) -> Option<Insight> {
    let changes: Vec<f64> = own.iter().map(|delta| delta.change).collect();
    let (median, _) = median_change(&changes)?;
    let (all, pairs) = (own.len() as f64, plural(own.len() as u64, "pair"));
    let of = |verdict: Verdict| own.iter().filter(|delta| delta.verdict == verdict).count();
    let (slower, faster) = (of(Verdict::Worse), of(Verdict::Better));
    let note = |sentence| Insight::new(MODEL.id, Topic::Condition, Tone::Note, sentence).of(model);
    if slower + faster == 0 {
        let is_excluded = own.iter().all(|delta| delta.is_tie());
        let open = own.iter().filter(|delta| !delta.is_tie());
        let open = open.max_by(|a, b| a.change.abs().total_cmp(&b.change.abs()));
        let sentence = match (is_excluded, open) {
            (true, _) | (_, None) => say!(
                "{}: no cost of {} in end-to-end latency (means of {} {} of cells, a relevant \
                 difference is ruled out).";
                model, grid.other, all => Count, pairs
            ),
            (_, Some(delta)) if own.len() == 1 => say!(
                "{}: no cost of {} in end-to-end latency is shown (means): {}.";
                model, grid.other, delta.undecided()
            ),
            (_, Some(delta)) => say!(
                "{}: no cost of {} in end-to-end latency is shown (means of {} {} of cells, median change \
                 {}); the largest: {}.";
                model, grid.other, all => Count, pairs, median => Change, delta.undecided()
            ),
        };
        return Some(note(sentence));
    }
    if slower > 0 && faster > 0 {
        return Some(note(say!(
            "{}: {} is shown to cost end-to-end latency in {} of {} {} of cells and to save some in \
             {} (means).";
            model, grid.other, slower as f64 => Count, all => Count, pairs, faster as f64 => Count
        )));
    }
    let band = &Bands::get().overhead;
    let of_all = match own {
        [only] => say!("{} of end-to-end latency ({}, mean)"; only.with_interval(), word(median)),
        _ => say!(
            "{} of end-to-end latency ({}; median of {} {} of cells, means; shown in {})";
            median => Change, word(median), all => Count, pairs, (slower + faster) as f64 => Count
        ),
    };
    let tone = if faster == 0 && band.is_poor(median) { Tone::Warn } else { Tone::Note };
    let sentence = match faster {
        0 => say!("{}: {} costs {}."; model, grid.other, of_all),
        _ => say!("{}: {} changes the latency by {}."; model, grid.other, of_all),
    };
    let insight = Insight::new(MODEL.id, Topic::Condition, tone, sentence).of(model);
    Some(insight.weighing(median))
}

/// The word for a change: faster is not small.
fn word(change: f64) -> &'static str {
    let band = &Bands::get().overhead;
    if change < 0.0 && !band.is_good(-change) { "faster" } else { band.word(change.abs()) }
}

fn trends(question: &Question) -> Vec<Insight> {
    let Some(grid) = Grid::of(question) else { return Vec::new() };
    let deltas = grid.deltas(MEAN);
    if grid.shown(MEAN) == 0 {
        return Vec::new();
    }
    let row = |index: usize| grid.rows.get(index);
    let along = |place: &dyn Fn(usize) -> Option<f64>| -> Vec<(f64, f64)> {
        let pair = |(cell, delta): &(&crate::insight::GridCell, &Delta)| {
            Some((place(cell.row)?, delta.change))
        };
        deltas.iter().filter_map(pair).collect()
    };
    let load = |index: usize| row(index)?.load.map(Load::value);
    let output = |index: usize| row(index)?.workload.output_tokens;
    let mut found = Vec::new();
    for (what, pairs) in [("the load", along(&load)), ("the length of the answers", along(&output))]
    {
        let rho = spearman(&pairs).filter(|_| pairs.len() >= CELLS_MIN);
        let is_trend =
            |rho: &f64| rho.abs() > TREND_MIN && chance(*rho, pairs.len() as f64) < CHANCE_MAX;
        let Some(rho) = rho.filter(is_trend) else { continue };
        let way = if rho > 0.0 { "rises" } else { "falls" };
        let sentence = say!(
            "The cost of {} {} with {} (Spearman ρ {}, {} pairs of cells).";
            grid.other, way, what, rho => Plain, pairs.len() as f64 => Count
        );
        found.push(Insight::new(TREND.id, Topic::Condition, Tone::Note, sentence).weighing(rho));
    }
    found
}

/// The chance of so strong a rank correlation of `n` pairs in no order, by Student's t with n - 2
/// degrees of freedom. Source: Kendall and Stuart, "The Advanced Theory of Statistics" (1973).
fn chance(rho: f64, n: f64) -> f64 {
    let left = 1.0 - rho * rho;
    match left > 0.0 {
        true => student_two_sided(rho * ((n - 2.0) / left).sqrt(), n - 2.0),
        false => 0.0,
    }
}

fn tail(question: &Question) -> Vec<Insight> {
    let Some(grid) = Grid::of(question) else { return Vec::new() };
    if grid.shown(P99) == 0 {
        return Vec::new();
    }
    let both: Vec<(f64, f64)> = grid
        .cells
        .iter()
        .filter_map(|cell| Some((cell.delta(MEAN)?.change, cell.delta(P99)?.change)))
        .collect();
    let median = |pick: fn(&(f64, f64)) -> f64| {
        median_change(&both.iter().map(pick).collect::<Vec<_>>()).map(|(median, _)| median)
    };
    let (Some(mean), Some(p99)) = (median(|pair| pair.0), median(|pair| pair.1)) else {
        return Vec::new();
    };
    let band = &Bands::get().overhead;
    let is_small = band.is_good(mean.abs()) && band.is_good(p99.abs());
    let ratio = p99 / mean;
    let is_alike = mean > 0.0 && (1.0 / TAIL_RATIO..=TAIL_RATIO).contains(&ratio);
    if is_small || is_alike {
        return Vec::new();
    }
    let times = match mean > 0.0 && ratio > 0.0 {
        true => say!(": {} as much"; ratio => Times),
        false => Sentence::default(),
    };
    let sentence = say!(
        "{}: P99 of end-to-end latency changes by {}, the mean by {} (medians over {} pairs of \
         cells){}.";
        grid.other, p99 => Change, mean => Change, both.len() as f64 => Count, times
    );
    let tone = if p99 > mean { Tone::Warn } else { Tone::Note };
    vec![Insight::new(TAIL.id, Topic::Condition, tone, sentence).weighing(p99 - mean)]
}

fn ties(question: &Question) -> Vec<Insight> {
    let Some(grid) = Grid::of(question) else { return Vec::new() };
    let (ties, all) = (grid.ties(MEAN), grid.deltas(MEAN).len());
    if all == 0 {
        return Vec::new();
    }
    let open = all - ties - grid.shown(MEAN);
    let tied = (ties > 0).then(|| say!("shows no difference in {}"; ties as f64 => Count));
    let open = (open > 0).then(|| say!("is undecided in {}"; open as f64 => Count));
    let parts: Vec<Sentence> = tied.into_iter().chain(open).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let sentence = say!(
        "{}: mean end-to-end latency {} of {} measured pairs of cells."; grid.other,
        Sentence::list(parts, " and ", " and "), all as f64 => Count
    );
    vec![Insight::new(TIE.id, Topic::Condition, Tone::Note, sentence)]
}

fn missing(question: &Question) -> Vec<Insight> {
    let Some(grid) = Grid::of(question) else { return Vec::new() };
    let (missing, wanted) = (grid.missing(), grid.wanted());
    if missing == 0 {
        return Vec::new();
    }
    let tone = if missing == wanted { Tone::Bad } else { Tone::Warn };
    let sentence = say!(
        "{} of {} figures of the grid are missing{}";
        missing as f64 => Count, wanted as f64 => Count,
        if missing == wanted { ": nothing can be concluded." } else { "." }
    );
    let insight = Insight::new(MISSING.id, Topic::Condition, tone, sentence);
    vec![insight.weighing(missing as f64 / wanted as f64)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use ifm_core::Metric;
    use ifm_core::sheet::{Factors, PartKind, RowRole, key};
    use ifm_results::{Point, Results, Stat};

    /// One measured or announced cell: mean and P99 in ms, three repeats that differ by a
    /// thousandth.
    fn cell(model: &str, users: u32, condition: &str, times: Option<(f64, f64)>) -> Vec<Point> {
        let point = |factor: f64| Point {
            role: if times.is_some() { RowRole::Measured } else { RowRole::Planned },
            load: Some(Load::Users(users)),
            ..ifm_results::testing::point(
                PartKind::Serving,
                Factors::default()
                    .with(key::MODEL, model)
                    .with(key::WORKLOAD, "sharegpt")
                    .with("cc", condition),
                times
                    .iter()
                    .flat_map(|(mean, p99)| {
                        [(MEAN, mean), (P99, p99)]
                            .map(|(of, value)| Stat::new(Metric::E2e, of, value * factor))
                    })
                    .collect(),
            )
        };
        [0.999, 1.0, 1.001].map(point).into_iter().collect()
    }

    fn numbers(results: &Results, rule: &str) -> Vec<Vec<f64>> {
        let all = insights(&Question::new(results));
        let of_rule = all.iter().filter(|insight| insight.rule == rule);
        of_rule.map(|one| one.sentence.numbers().map(|(value, _)| value).collect()).collect()
    }

    #[test]
    fn a_condition_that_costs_more_under_load() {
        let mut points = Vec::new();
        for (users, mean, p99) in [(1, 1.01, 1.02), (50, 1.05, 1.12), (100, 1.097, 1.24)] {
            for model in ["a", "b"] {
                points.extend(cell(model, users, "off", Some((1_000.0, 2_000.0))));
                let times = (1_000.0 * mean, 2_000.0 * p99);
                points.extend(cell(model, users, "on", Some(times)));
            }
        }
        points.extend(cell("c", 1, "off", Some((1_000.0, 2_000.0))));
        let results = Results { sources: Vec::new(), points };
        let grid = Grid::of(&Question::new(&results)).expect("a grid");
        assert_eq!(
            (grid.by.as_str(), grid.base.as_str(), grid.other.as_str()),
            ("cc", "cc off", "cc on")
        );
        let loads: Vec<Option<Load>> = grid.rows.iter().map(|row| row.load).collect();
        assert_eq!(loads, [100, 50, 1].map(|users| Some(Load::Users(users))));
        let models = numbers(&results, "condition_model");
        assert!((models[0][0] - 0.05).abs() < 1e-9 && models.len() == 2, "{models:?}");
        let [trend] = numbers(&results, "condition_trend").try_into().expect("one");
        assert!((trend[0] - 1.0).abs() < 1e-9 && trend[1] == 6.0, "{trend:?}");
        let [tail] = numbers(&results, "condition_tail").try_into().expect("one");
        assert!((tail[2] - 6.0).abs() < 1e-9 && (tail[3] - 2.4).abs() < 1e-6, "{tail:?}");
        assert_eq!(numbers(&results, "condition_tie"), [[2.0, 6.0]]);
        // Of c only one side of one cell was measured: 3 models, 3 loads, 2 sides, 2 statistics.
        assert_eq!(numbers(&results, "condition_missing"), [[10.0, 36.0]]);
    }

    #[test]
    fn reports_only_that_announced_cells_are_missing() {
        let mut points = Vec::new();
        for condition in ["CC", "No CC"] {
            points.extend(cell("a", 1, condition, None));
        }
        for point in &mut points {
            let condition = point.setting.get("cc").unwrap_or_default().to_owned();
            point.setting.set(key::CONDITION, condition);
        }
        let results = Results { sources: Vec::new(), points };
        let grid = Grid::of(&Question::new(&results)).expect("announced");
        assert_eq!((grid.base.as_str(), grid.other.as_str()), ("No CC", "CC"));
        assert_eq!(numbers(&results, "condition_missing"), [[4.0, 4.0]]);
        for rule in ["condition_model", "condition_trend", "condition_tail", "condition_tie"] {
            assert!(numbers(&results, rule).is_empty(), "{rule}");
        }
        assert!(Grid::of(&Question::new(&Results::default())).is_none());
    }
}
