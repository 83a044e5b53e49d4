//! Rules on figures of published reports.

use super::super::{Meant, Question, Topic, insights};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, PartKind, Statistic, key};
use ifm_metrics::level::Load;
use ifm_results::{Point, Results, Stat};

/// Levels of one scenario: users, ITL in ms, output in tok/s.
fn levels(scenario: &str, levels: &[(u32, f64, f64)]) -> Vec<Point> {
    let point = |(users, itl, output): &(u32, f64, f64)| Point {
        load: Some(Load::Users(*users)),
        ..ifm_results::testing::point(
            PartKind::Serving,
            Factors::default().with(key::WORKLOAD, scenario),
            vec![
                Stat::new(Metric::Itl, Statistic::Mean, *itl),
                Stat::new(Metric::OutputRate, Statistic::Value, *output),
            ],
        )
    };
    levels.iter().map(point).collect()
}

fn numbers(results: &Results, rule: &str, topic: Topic) -> Vec<Vec<(f64, Meant)>> {
    let all = insights(&Question::new(results));
    let of = |insight: &&super::super::Insight| insight.rule == rule && insight.topic == topic;
    all.iter().filter(of).map(|insight| insight.sentence.numbers().collect()).collect()
}

/// Figures of a published scenario report: 172.5 tok/s alone and 70.6 of 32 users at short
/// contexts, 13.2 at long ones; 5.8 and 75.8 ms.
#[test]
fn the_scenarios_of_a_published_report() {
    let mut points = levels("chat", &[(1, 5.797, 172.5), (32, 14.164, 2259.2)]);
    points.extend(levels("tools", &[(1, 6.0606, 165.0), (32, 75.757, 422.4)]));
    let results = Results { sources: Vec::new(), points };
    let [range] = numbers(&results, "speed_range", Topic::DecodeSpeed).try_into().expect("one");
    assert!((range[0].0 - 172.5).abs() < 0.01 && (range[1].0 - 13.2).abs() < 0.01, "{range:?}");
    let shares = numbers(&results, "efficiency", Topic::Scaling);
    let shares: Vec<f64> = shares.iter().map(|numbers| numbers[1].0).collect();
    // The larger loss first.
    assert!((shares[0] - 0.08).abs() < 0.001 && (shares[1] - 0.409).abs() < 0.001, "{shares:?}");
    let band = numbers(&results, "itl_band", Topic::Itl);
    assert_eq!((band[0][0].0, band[0][1].0), (5.797, 75.757));
    let [crossing] = numbers(&results, "first_crossing", Topic::Itl).try_into().expect("one");
    let crossing: Vec<f64> = crossing.iter().map(|(number, _)| *number).collect();
    assert_eq!(crossing, [20.0, 1.0, 32.0, 75.757], "tools leaves the best band, chat does not");
    let [spread] = numbers(&results, "speed_spread", Topic::Range).try_into().expect("one");
    assert!((spread[3].0 - 5.348).abs() < 0.001, "{spread:?}");
    assert_eq!(numbers(&results, "context_penalty", Topic::DecodeSpeed).len(), 0, "no lengths");
}

#[test]
fn a_flat_end_is_a_knee_and_a_line_is_not() {
    let rising = levels("a", &[(1, 10.0, 100.0), (2, 10.0, 200.0), (4, 10.0, 400.0)]);
    let results = Results { sources: Vec::new(), points: rising };
    assert!(numbers(&results, "knee", Topic::Throughput).is_empty());
    let bent = levels("a", &[(128, 53.9, 3004.0), (256, 75.8, 3451.0)]);
    let results = Results { sources: Vec::new(), points: bent };
    let [knee] = numbers(&results, "knee", Topic::Throughput).try_into().expect("one");
    assert_eq!((knee[0].0, knee[1].0), (128.0, 256.0));
    assert!((knee[2].0 - 0.1488).abs() < 1e-4, "{knee:?}");
}

#[test]
fn one_point_gives_no_range() {
    let results = Results { sources: Vec::new(), points: levels("a", &[(4, 10.0, 100.0)]) };
    assert_eq!(insights(&Question::new(&results)), []);
    assert_eq!(insights(&Question::new(&Results::default())), []);
}

fn with(mut points: Vec<Point>, factors: &[(&str, &str)]) -> Vec<Point> {
    for point in &mut points {
        for (name, value) in factors {
            point.setting.set(*name, value);
        }
    }
    points
}

fn texts(question: &Question, rule: &str) -> Vec<String> {
    let word = |piece: &super::super::Piece| match piece {
        super::super::Piece::Text(text) => text.clone(),
        super::super::Piece::Number(value, _) => format!("{value:.2}"),
    };
    let all = insights(question);
    let of = all.iter().filter(|insight| insight.rule == rule);
    of.map(|insight| insight.sentence.pieces().iter().map(word).collect()).collect()
}

/// The same report with lengths: 1K and 32K of context.
#[test]
fn a_long_context_costs_by_sharing() {
    let short = levels("chat", &[(1, 5.797, 172.5), (32, 14.164, 2259.2)]);
    let long = levels("tools", &[(1, 6.0606, 165.0), (32, 75.757, 422.4)]);
    let mut points = with(short, &[(key::INPUT_TOKENS, "1024")]);
    points.extend(with(long, &[(key::INPUT_TOKENS, "32768")]));
    let results = Results { sources: Vec::new(), points };
    let question = Question::new(&results);
    assert_eq!(super::told_by(&question), [key::WORKLOAD]);
    assert_eq!(
        texts(&question, "context_penalty"),
        [
            "32768.00 tokens of context cost 5.35 speed against 1024.00 at 32.00 (single numbers, which \
          cannot show a difference); at 1.00 it is 1.05: the loss comes from sharing, not from length alone."
        ]
    );
    let [guess] = texts(&question, "bottleneck").try_into().expect("one");
    assert!(guess.contains("efficiency is 0.08 with 32768.00 tokens and 0.41 with"), "{guess}");
    assert!(insights(&question).iter().all(|it| it.is_hypothesis == (it.rule == "bottleneck")));
}

#[test]
fn prompts_are_guessed_where_only_the_first_token_waits() {
    let add = |points: &mut Vec<Point>, ttft: &[f64]| {
        for (point, ms) in points.iter_mut().zip(ttft) {
            point.stats.push(Stat::new(Metric::Ttft, Statistic::Median, *ms));
        }
    };
    let mut waits = levels("a", &[(1, 10.0, 100.0), (8, 11.0, 600.0)]);
    add(&mut waits, &[100.0, 780.0]);
    let results = Results { sources: Vec::new(), points: waits };
    let [guess] = texts(&Question::new(&results), "bottleneck").try_into().expect("one");
    assert!(guess.starts_with("reading prompts likely limits: TTFT grows 7.80"), "{guess}");
    let mut flat = levels("a", &[(1, 10.0, 100.0), (8, 10.0, 130.0)]);
    add(&mut flat, &[100.0, 105.0]);
    let results = Results { sources: Vec::new(), points: flat };
    let [guess] = texts(&Question::new(&results), "bottleneck").try_into().expect("one");
    assert!(guess.contains("limit of rate or the client"), "{guess}");
    let mut even = levels("a", &[(1, 10.0, 100.0), (8, 20.0, 400.0)]);
    add(&mut even, &[100.0, 150.0]);
    let results = Results { sources: Vec::new(), points: even };
    assert_eq!(texts(&Question::new(&results), "bottleneck").len(), 0);
}

#[test]
fn a_configuration_that_another_is_shown_to_beat_everywhere_is_named() {
    let pareto = |repeats: &[f64]| {
        let of = |model: &str, of: &[(u32, f64, f64)]| -> Vec<Point> {
            let times = |by: &f64| {
                let of: Vec<_> = of.iter().map(|(n, itl, out)| (*n, itl * by, out * by)).collect();
                with(levels("w", &of), &[(key::MODEL, model)])
            };
            repeats.iter().flat_map(times).collect()
        };
        let mut points = of("fast", &[(1, 5.0, 200.0), (8, 10.0, 800.0)]);
        points.extend(of("slow", &[(1, 6.0, 160.0), (8, 12.0, 600.0)]));
        points.extend(of("wide", &[(1, 8.0, 120.0), (8, 11.0, 900.0)]));
        let results = Results { sources: Vec::new(), points };
        texts(&Question::new(&results), "pareto")
    };
    let frontier =
        "2.00 of 3.00 configurations are on the measured frontier of output against speed";
    let shown = format!("{frontier}; slow is shown to be dominated by fast everywhere.");
    assert_eq!(pareto(&[0.999, 1.0, 1.001]), [shown]);
    assert_eq!(pareto(&[1.0]), [format!("{frontier}.")], "single numbers show nothing");
    // Different workloads do not compete.
    let mut points = levels("short", &[(1, 5.0, 200.0)]);
    points.extend(levels("long", &[(1, 6.0, 100.0)]));
    let results = Results { sources: Vec::new(), points };
    assert_eq!(texts(&Question::new(&results), "pareto").len(), 0);
}

#[test]
fn capacity_and_price_are_those_of_measured_loads() {
    let mut points = levels("a", &[(128, 53.9, 2553.0), (256, 75.8, 3451.0)]);
    for (point, ms) in points.iter_mut().zip([32.1, 67.2]) {
        point.stats.push(Stat::new(Metric::Itl, Statistic::Percentile(99.0), ms));
    }
    let results = Results { sources: Vec::new(), points };
    let slo = ifm_metrics::slo::parse("itl:p99<50ms").expect("a target");
    let question = Question { slo, usd_per_hour: Some(1.8), ..Question::new(&results) };
    assert_eq!(
        texts(&question, "capacity"),
        ["Inside ITL p99 ≤ 50.00 up to 128.00; 256.00 fails: ITL p99 67.20 \
          (not certain: too few requests, or numbers without an interval)."]
    );
    assert_eq!(
        texts(&question, "cheapest"),
        ["Cheapest inside the target at 128.00: 0.20 for a million output tokens."]
    );
    let silent = Question::new(&results);
    assert_eq!(texts(&silent, "capacity").len() + texts(&silent, "cheapest").len(), 0);
}

/// L40S, Llama-3.1-8B in 16 bits, 22.2 ms between tokens: a published comparison. The limit of one
/// sequence of 1314 tokens is 17.57 ms (the example of `ifm-roofline`).
#[test]
fn compares_decode_with_the_limit_of_its_machine() {
    let points = with(
        levels("a", &[(1, 22.2, 45.0)]),
        &[(key::INPUT_TOKENS, "1186"), (key::OUTPUT_TOKENS, "256"), (key::QUANTIZATION, "bf16")],
    );
    let results = Results { sources: Vec::new(), points };
    let question = Question {
        gpu: Some("L40S".to_owned()),
        model: Some("Llama-3.1-8B-Instruct".to_owned()),
        ..Question::new(&results)
    };
    assert_eq!(
        texts(&question, "headroom"),
        ["decode reaches 0.79 of the memory bandwidth limit at 1.00: 45.05 of at most 56.91."]
    );
    assert_eq!(texts(&Question::new(&results), "headroom").len(), 0);
}

/// The same report: "best TTFT is 211 ms (Chatbot), worst 6.18 s (Tool calling, 32)".
#[test]
fn the_best_wait_may_come_without_its_load() {
    let mut points = levels("chat", &[(1, 5.8, 172.5)]);
    points.extend(levels("tools", &[(32, 75.8, 422.4)]));
    for (point, ms) in points.iter_mut().zip([211.0, 6180.0]) {
        point.stats = vec![Stat::new(Metric::Ttft, Statistic::Value, ms)];
    }
    points[0].load = None;
    let results = Results { sources: Vec::new(), points };
    assert_eq!(
        texts(&Question::new(&results), "ttft_range"),
        ["Best TTFT 211.00 (chat, load not given), worst 6180.00 (tools, 32 users)."]
    );
}

/// A page begins with its numbers: a doubt about them follows.
#[test]
fn a_range_of_one_word_is_one_statement() {
    let text = |levels_of: &[(u32, f64, f64)]| {
        let results = Results { sources: Vec::new(), points: levels("chat", levels_of) };
        texts(&Question::new(&results), "itl_band").join("")
    };
    assert_eq!(
        text(&[(1, 1.8, 500.0), (8, 5.7, 700.0)]),
        "ITL stays instant: 1.80 (1 user, mean) to 5.70 (8 users, mean)."
    );
    assert_eq!(
        text(&[(1, 21.7, 46.0), (64, 25.7, 700.0)]),
        "ITL stays acceptable: 21.70 (1 user, mean) to 25.70 (64 users, mean)."
    );
    assert_eq!(
        text(&[(1, 1.8, 500.0), (8, 75.0, 700.0)]),
        "Best ITL 1.80 (1 user, mean) is instant; worst 75.00 (8 users, mean) is sluggish."
    );
}
