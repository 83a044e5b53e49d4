//! Tests of the rules about matrices, on figures of a published static-batch report.

use super::super::{Insight, Meant, Piece, Question, Topic, insights};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic, StdKind, key};
use ifm_results::testing::{batch, repeats, results, timed};
use ifm_results::{Point, Results, Stat};

/// Two models at the smallest and the largest batch of the report.
fn published() -> Results {
    let mut points = Vec::new();
    for (name, small, large) in [
        ("original", [138.03, 122.90, 137.33], [6293.15, 6288.05, 6332.49]),
        ("w8a16_awq", [177.15, 177.29, 179.36], [5270.77, 5229.0, 5232.81]),
        ("w8a8_gptq", [183.69, 199.68, 193.62], [7625.43, 7512.86, 7606.41]),
    ] {
        points.extend(repeats(&format!("{name}_interactive"), (1, 128, 64), &small));
        points.extend(repeats(&format!("{name}_high"), (64, 256, 128), &large));
    }
    results(&points)
}

fn of_rule(results: &Results, rule: &str) -> Vec<Insight> {
    let all = insights(&Question::new(results));
    all.into_iter().filter(|insight| insight.rule == rule).collect()
}

fn numbers(insight: &Insight) -> Vec<f64> {
    insight.sentence.numbers().map(|(number, _)| number).collect()
}

#[test]
fn reports_a_row_that_is_faster_alone_and_slower_in_a_large_batch() {
    let found = of_rule(&published(), "crossover");
    let [only] = found.as_slice() else { panic!("{found:?}") };
    let numbers = numbers(only);
    // Of the geometric means: 177.93 / 132.57 and 5244.16 / 6304.53.
    assert_eq!((numbers[0], numbers[2]), (1.0, 64.0));
    assert!((numbers[1] - 1.3421).abs() < 1e-3 && (numbers[3] - 0.8318).abs() < 1e-3);
    assert_eq!(numbers.len(), 4);
}

fn text(insight: &Insight) -> String {
    let word = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Number(value, _) => format!("{value:.2}"),
    };
    insight.sentence.pieces().iter().map(word).collect()
}

/// Published figures of a batch of one and of eight: short prompts gain, long ones lose, and a mean
/// over both would say "faster at batch 1".
#[test]
fn distinguishes_configurations_of_one_size() {
    let mut points = Vec::new();
    for (asked, original, awq) in [
        ((1, 256, 512), [136.42, 136.51, 136.47], [186.96, 188.07, 187.44]),
        ((1, 512, 512), [118.46, 118.97, 118.25], [98.49, 98.20, 99.43]),
        ((8, 256, 128), [1072.64, 1074.11, 1069.67], [1416.80, 1375.82, 1389.26]),
    ] {
        points.extend(repeats("original", asked, &original));
        points.extend(repeats("awq", asked, &awq));
    }
    let found = of_rule(&results(&points), "crossover");
    let [only] = found.as_slice() else { panic!("{found:?}") };
    // 187.49 / 136.467, 1393.96 / 1072.14; 98.7067 / 118.56.
    assert_eq!(
        text(only),
        "awq is faster than original at batch 1.00 (256→512) and 8.00 (1.30 to 1.37) and slower at \
         batch 1.00 (512→512) (0.83)."
    );
    let [winner] = of_rule(&results(&points), "overall_winner").try_into().expect("one");
    assert_eq!(
        text(&winner),
        "Over 3.00 configurations nothing is faster than original throughout: awq runs from 0.83 to \
         1.37 original, by configuration."
    );
}

/// A published batch of 32: the decode is faster, the whole batch takes longer.
#[test]
fn reports_both_of_two_contradicting_measures() {
    let rows = [
        ("original", [(3755.92, 0.64), (3789.70, 0.62), (3805.71, 0.60)]),
        ("w8a16", [(4048.26, 0.74), (4009.73, 0.72), (3923.16, 0.75)]),
    ];
    let points: Vec<Point> =
        rows.iter().flat_map(|(name, rows)| timed(name, (32, 256, 32), rows)).collect();
    let found = of_rule(&results(&points), "measures_disagree");
    let [only] = found.as_slice() else { panic!("{found:?}") };
    // 3993.717 / 3783.777; 1.86 / 2.21 for the latency; 1 024 / 3993.717 of 0.736667 s.
    assert_eq!(
        text(only),
        "At batch_size=32, input_len=256, output_len=32, w8a16 is slower than original by overall \
         throughput, the measure of the ranking (0.84), and faster by output throughput (1.06). At that \
         output throughput the tokens take 0.35 of the latency: the rest, most likely the time to first \
         token, counts in latency and overall throughput alone."
    );
    assert_eq!(only.of.as_deref(), Some("batch_size=32, input_len=256, output_len=32"));
}

#[test]
fn the_first_of_each_configuration_and_of_all() {
    let results = published();
    let best = of_rule(&results, "configuration_best");
    let large = best.iter().find(|one| one.of.as_deref().is_some_and(|of| of.contains("=64,")));
    let large = numbers(large.expect("two configurations"));
    assert!((large[0] - 7581.57).abs() < 0.01 && (large[1] - 1.2026).abs() < 1e-3, "{large:?}");
    let [winner] = of_rule(&results, "overall_winner").try_into().expect("one");
    let winner = numbers(&winner);
    // √(192.33/132.75 · 7581.57/6304.56) = √(1.4488 · 1.2026).
    assert!((winner[0] - 2.0).abs() < 1e-9 && (winner[1] - 1.3199).abs() < 2e-3, "{winner:?}");
    assert!(winner[2] < winner[1] && winner[1] < winner[3]);
}

/// 3196 ± 1444 tok/s, and pp512 at 200 W.
#[test]
fn reports_noisy_repeats() {
    let asked = (32, 256, 32);
    let mut points = repeats("w8a16_sparse_awq", asked, &[1530.0, 3990.0, 4067.0]);
    points.extend(repeats("original", asked, &[3780.0, 3790.0, 3781.0]));
    let mut engine: Point = batch("llama 7B", (1, 512, 1), 1, 0.0);
    engine.kind = PartKind::Engine;
    engine.setting.set(key::TEST, "pp512");
    engine.setting.set(key::POWER_LIMIT_W, 200);
    let rate = |statistic, value| Stat::new(Metric::PrefillRate, statistic, value);
    engine.stats =
        vec![rate(Statistic::Mean, 9115.39), rate(Statistic::Std(StdKind::Sample), 4243.14)];
    points.push(engine);
    let found = of_rule(&results(&points), "repeat_noise");
    let [first, second] = found.as_slice() else { panic!("{found:?}") };
    assert!((numbers(first)[0] - 0.4655).abs() < 1e-3 && first.topic == Topic::Power);
    assert!((numbers(second)[0] - 0.4516).abs() < 1e-3 && second.topic == Topic::Ranking);
    assert_eq!(second.sentence.numbers().nth(1).map(|(_, how)| how), Some(Meant::TokPerS));
}

#[test]
fn calm_repeats_and_a_single_row_give_no_insight() {
    let calm = results(&repeats("original", (1, 128, 64), &[100.0, 101.0, 100.5]));
    for rule in
        ["crossover", "measures_disagree", "configuration_best", "overall_winner", "repeat_noise"]
    {
        assert_eq!(of_rule(&calm, rule), [], "{rule}");
    }
    // Faster everywhere is not a crossing.
    let mut points = repeats("original", (1, 128, 64), &[100.0, 101.0, 100.5]);
    points.extend(repeats("fast", (1, 128, 64), &[200.0, 201.0, 200.5]));
    points.extend(repeats("original", (64, 128, 64), &[1000.0, 1001.0, 1000.5]));
    points.extend(repeats("fast", (64, 128, 64), &[1200.0, 1201.0, 1200.5]));
    assert_eq!(of_rule(&results(&points), "crossover"), []);
}
