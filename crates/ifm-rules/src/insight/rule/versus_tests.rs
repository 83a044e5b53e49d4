//! The rules of a baseline against others, on the figures of a published comparison of a model
//! with its 8-bit twin: mean requests in flight, median ITL in ms, output in tok/s.

use super::super::{Insight, Piece, Question, Versus, insights};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, PartKind, Statistic, key};
use ifm_metrics::level::Load;
use ifm_results::{Point, Results, Stat};

const BASE: [(f64, f64, f64); 10] = [
    (1.0, 22.2, 44.8),
    (100.5, 55.7, 885.0),
    (3.2, 24.3, 135.9),
    (5.7, 25.6, 227.9),
    (8.6, 27.1, 318.9),
    (11.5, 28.6, 408.1),
    (15.5, 32.0, 491.6),
    (19.3, 33.9, 576.5),
    (23.4, 36.0, 658.7),
    (28.5, 39.6, 734.0),
];
const INT8: [(f64, f64, f64); 10] = [
    (1.0, 14.7, 67.6),
    (152.8, 63.9, 1369.8),
    (3.3, 16.1, 209.7),
    (6.1, 17.2, 353.9),
    (9.3, 18.8, 495.3),
    (12.8, 20.4, 634.7),
    (17.3, 22.7, 770.0),
    (22.0, 24.7, 901.6),
    (32.4, 31.1, 1110.9),
    (37.5, 34.5, 1123.5),
];
/// Median requests in flight of the highest rate step, and of all requests at once.
const MEDIANS: [(f64, f64); 2] = [(34.0, 125.0), (44.0, 194.0)];

fn point(model: &str, load: Option<Load>, stats: Vec<Stat>) -> Point {
    Point {
        load,
        ..ifm_results::testing::point(
            PartKind::Serving,
            Factors::default().with(key::MODEL, model),
            stats,
        )
    }
}

fn twin(model: &str, rows: &[(f64, f64, f64)], (held, at_once): (f64, f64)) -> Vec<Point> {
    let row = |(index, (in_flight, itl, output)): (usize, &(f64, f64, f64))| {
        let median = if index == 1 { at_once } else { held.min(*in_flight * 1.2) };
        let stats = vec![
            Stat::new(Metric::InFlight, Statistic::Mean, *in_flight),
            Stat::new(Metric::InFlight, Statistic::Median, median),
            Stat::new(Metric::Itl, Statistic::Median, *itl),
            Stat::new(Metric::OutputRate, Statistic::Mean, *output),
        ];
        let mut point = point(model, None, stats);
        point.setting.set(key::STRATEGY, if index == 1 { "throughput" } else { "constant" });
        point
    };
    rows.iter().enumerate().map(row).collect()
}

fn results() -> Results {
    let mut points = twin("m-8B", &BASE, MEDIANS[0]);
    points.extend(twin("m-8B-int8-dynamic", &INT8, MEDIANS[1]));
    Results { sources: Vec::new(), points }
}

fn of_rule(results: &Results, rule: &str) -> Vec<Insight> {
    let all = insights(&Question::new(results));
    all.into_iter().filter(|insight| insight.rule == rule).collect()
}

fn numbers(insight: &Insight) -> Vec<f64> {
    insight.sentence.numbers().map(|(value, _)| value).collect()
}

fn assert_near(found: &[f64], expect: &[f64]) {
    assert_eq!(found.len(), expect.len(), "{found:?}");
    for (found, expect) in found.iter().zip(expect) {
        assert!((found - expect).abs() < 0.006 * expect, "{found} is not {expect}");
    }
}

#[test]
fn distinguishes_twins_and_uses_the_shorter_name_as_baseline() {
    let results = results();
    let all = Versus::all(&Question::new(&results));
    let [versus] = all.as_slice() else { panic!("{}", all.len()) };
    assert_eq!((versus.by.as_str(), versus.base.name.as_str()), ("model", "m-8B"));
    assert_eq!(versus.others[0].short, "int8-dynamic");
    let question = Question { baseline: Some("m-8b-INT8".to_owned()), ..Question::new(&results) };
    assert_eq!(Versus::all(&question)[0].base.name, "m-8B-int8-dynamic");
    let question = Question { baseline: Some("other".to_owned()), ..Question::new(&results) };
    assert!(Versus::all(&question).is_empty());
}

/// Rows without a requested load, or with different ones, are not compared.
#[test]
fn rows_that_were_not_asked_for_the_same_are_not_compared() {
    let results = results();
    for rule in ["versus_speed", "versus_crossover", "versus_tie"] {
        assert_eq!(of_rule(&results, rule), [], "{rule}");
    }
    let mut points = levels("m", &[(1, 100.0), (8, 700.0)]);
    points.extend(levels("m-b", &[(2, 100.0), (4, 900.0)]));
    let results = Results { sources: Vec::new(), points };
    assert_eq!(of_rule(&results, "versus_speed"), []);
}

#[test]
fn what_both_carry_at_the_same_itl() {
    let results = results();
    let [found] = of_rule(&results, "equal_latency").try_into().expect("one");
    // Of each the largest measured place below the limit, and the next one.
    let loads = [30.0, 11.5, 15.5, 22.0, 32.4, 25.0, 3.2, 5.7, 22.0, 32.4];
    let output = [30.0, 408.1, 901.6];
    assert_near(&numbers(&found), &[&loads[..], &output].concat());
}

#[test]
fn the_growth_with_both_loads() {
    let results = results();
    let [found] = of_rule(&results, "itl_growth").try_into().expect("one");
    let first = [14.7, 1.0, 34.5, 37.5, 2.35];
    let second = [22.2, 1.0, 39.6, 28.5, 1.78];
    assert_near(&numbers(&found), &[&first[..], &second].concat());
}

#[test]
fn medians_of_rows_are_not_a_limit_of_the_server() {
    let results = results();
    let [found] = of_rule(&results, "in_flight_words").try_into().expect("one");
    assert_near(&numbers(&found), &[34.0, 28.5, 44.0, 37.5, 125.0, 100.5, 194.0, 152.8]);
}

#[test]
fn a_reason_is_a_hypothesis_and_asks_for_a_difference_that_is_shown() {
    assert_eq!(of_rule(&results(), "scheme_reason"), [], "nothing is compared");
    let itl = |model: &str, itl: f64| {
        let level = |(users, times): (u32, f64)| {
            [0.999, 1.0, 1.001].map(|factor| {
                let value = itl * times * factor;
                let reading = Stat::new(Metric::Itl, Statistic::Median, value);
                point(model, Some(Load::Users(users)), vec![reading])
            })
        };
        [(1, 1.0), (8, 2.0)].map(level).into_iter().flatten()
    };
    let mut points: Vec<Point> = itl("m-8B", 20.0).collect();
    points.extend(itl("m-8B-int8-dynamic", 12.0));
    let results = Results { sources: Vec::new(), points };
    let found = of_rule(&results, "scheme_reason");
    assert!(!found.is_empty() && found.iter().all(|insight| insight.is_hypothesis), "{found:?}");
}

#[test]
fn one_side_or_one_load_gives_no_insight() {
    for points in [twin("m", &BASE, MEDIANS[0]), Vec::new()] {
        let results = Results { sources: Vec::new(), points };
        assert!(Versus::all(&Question::new(&results)).is_empty());
    }
    let mut points = twin("m", &BASE[..1], MEDIANS[0]);
    points.extend(twin("m-int8", &INT8[4..5], MEDIANS[1]));
    let results = Results { sources: Vec::new(), points };
    for rule in ["versus_speed", "equal_latency", "itl_growth", "versus_crossover"] {
        assert_eq!(of_rule(&results, rule), [], "{rule}");
    }
}

/// Levels of users with their output, each measured once.
fn levels(model: &str, rows: &[(u32, f64)]) -> Vec<Point> {
    let reading = |output| Stat::new(Metric::OutputRate, Statistic::Value, output);
    let level = |(users, output): &(u32, f64)| {
        point(model, Some(Load::Users(*users)), vec![reading(*output)])
    };
    rows.iter().map(level).collect()
}

/// The same, three times, a thousandth apart.
fn repeated(model: &str, rows: &[(u32, f64)]) -> Vec<Point> {
    let each = [0.999, 1.0, 1.001].map(|factor| {
        let rows: Vec<(u32, f64)> = rows.iter().map(|row| (row.0, row.1 * factor)).collect();
        levels(model, &rows)
    });
    each.into_iter().flatten().collect()
}

#[test]
fn finds_where_the_faster_becomes_slower_and_where_nothing_differs() {
    let mut points = repeated("m", &[(1, 100.0), (8, 700.0), (64, 6305.0)]);
    points.extend(repeated("m-w8a16", &[(1, 140.0), (8, 910.0), (64, 5240.0)]));
    let results = Results { sources: Vec::new(), points };
    let [found] = of_rule(&results, "versus_crossover").try_into().expect("one");
    let numbers = numbers(&found);
    assert_near(&[numbers[0], numbers[3], numbers[4], numbers[7]], &[1.3, 8.0, 1.203, 64.0]);
    assert_eq!(of_rule(&results, "versus_tie"), []);
    let mut points = repeated("m", &[(1, 100.0), (8, 700.0)]);
    points.extend(repeated("m-b", &[(1, 100.5), (8, 900.0)]));
    let results = Results { sources: Vec::new(), points };
    let [found] = of_rule(&results, "versus_tie").try_into().expect("one");
    assert_near(&self::numbers(&found), &[1.0, 2.0]);
    assert_eq!(of_rule(&results, "versus_crossover"), []);
}

fn text(insight: &Insight) -> String {
    let word = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Number(value, _) => format!("{value:.3}"),
    };
    insight.sentence.pieces().iter().map(word).collect()
}

/// One number on each side shows no difference, however far the two are apart.
#[test]
fn one_number_each_is_neither_faster_nor_slower() {
    let mut points = levels("m", &[(1, 100.0)]);
    points.extend(levels("m-b", &[(1, 300.0)]));
    let results = Results { sources: Vec::new(), points };
    let [found] = of_rule(&results, "versus_speed").try_into().expect("one");
    let text = text(&found);
    assert!(text.contains("one number on a side cannot show a difference"), "{text}");
    assert!(!text.contains("faster") && found.tone == super::super::Tone::Note, "{text}");
}

/// Two repeats ten percent apart on each side say nothing of a difference of four percent.
#[test]
fn a_wide_interval_gives_the_number_first_and_says_what_would_show() {
    let noisy = |model: &str, output: f64| -> Vec<Point> {
        [0.95, 1.0, 1.05].iter().flat_map(|by| levels(model, &[(8, output * by)])).collect()
    };
    let mut points = noisy("m", 100.0);
    points.extend(noisy("m-b", 104.0));
    let results = Results { sources: Vec::new(), points };
    let [found] = of_rule(&results, "versus_speed").try_into().expect("one");
    let text = text(&found);
    assert!(
        text.starts_with("b: output throughput at 8.000 users: measured 0.040 (95% CI")
            && text.contains("or more would probably show"),
        "{text}"
    );
    assert_eq!(of_rule(&results, "versus_tie"), []);
}

/// A user and forty requests per second are not two loads of one curve.
#[test]
fn closed_and_open_loops_are_two_comparisons() {
    let mut points = Vec::new();
    for model in ["m", "m-w8a8"] {
        points.extend(repeated(model, &[(1, 100.0)]));
        for point in repeated(model, &[(1, 50.0), (1, 20.0)]) {
            let load = if point.stats[0].value > 30.0 { 8.0 } else { 40.0 };
            points.push(Point { load: Some(Load::ReqPerS(load)), ..point });
        }
    }
    let results = Results { sources: Vec::new(), points };
    let all = Versus::all(&Question::new(&results));
    let scenes: Vec<Option<&str>> = all.iter().map(|versus| versus.scene.as_deref()).collect();
    assert_eq!(scenes, [Some("closed loop"), Some("open loop")]);
    let found = of_rule(&results, "output_peak");
    assert!(found.iter().all(|insight| text(insight).contains("open loop")), "{found:?}");
    assert_eq!(found.len(), 2, "each model falls from 8 to 40 req/s: {found:?}");
}
