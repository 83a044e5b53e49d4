//! The page of a matrix, from made-up batches and from runs.

use super::super::KINDS;
use super::super::testing::{self, Shown};
use crate::page::{Page, Pictures, markdown};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, PartKind, Statistic, key};
use ifm_metrics::testing::{closed_loop, run};
use ifm_results::{Point, Results, Stat};

/// Repeats of a batch: model, size with lengths, output rates. The second label occurs twice.
fn repeats(model: &str, (size, input, output): (u32, u32, u32), rates: &[f64]) -> Vec<Point> {
    let point = |(index, rate): (usize, &f64)| {
        let setting = Factors::default()
            .with(key::MODEL, model)
            .with(key::BATCH_SIZE, size)
            .with(key::INPUT_TOKENS, input)
            .with(key::OUTPUT_TOKENS, output);
        let all = rate * f64::from(input + output) / f64::from(output);
        let e2e_ms = f64::from(size * output) / rate * 1e3;
        let stats = vec![
            Stat::new(Metric::OutputRate, Statistic::Value, *rate),
            Stat::new(Metric::TotalRate, Statistic::Value, all),
            Stat::new(Metric::E2e, Statistic::Value, e2e_ms),
        ];
        // As in common reports: the second label occurs twice.
        let label = Some(format!("{model}_run{}", index.max(1)));
        Point { label, ..ifm_results::testing::point(PartKind::StaticBatch, setting, stats) }
    };
    rates.iter().enumerate().map(point).collect()
}

fn results(points: Vec<Point>) -> Results {
    testing::results("result.jsonl", points)
}

fn small() -> Results {
    let (alone, long, many) = ((1, 128, 64), (1, 2048, 32), (64, 256, 128));
    let mut points = repeats("original_chat", alone, &[138.0, 132.9, 137.3]);
    points.extend(repeats("w8a8_chat", alone, &[201.4, 192.2, 196.0]));
    points.extend(repeats("w8a16_chat", alone, &[185.8, 188.8, 190.8]));
    points.extend(repeats("original_long", long, &[137.5, 132.6, 135.0]));
    points.extend(repeats("w8a8_long", long, &[179.8, 181.0, 180.3]));
    points.extend(repeats("w8a16_long", long, &[60.0, 192.0, 190.0]));
    points.extend(repeats("original_many", many, &[6293.2, 6288.1, 6332.5]));
    points.extend(repeats("w8a8_many", many, &[7551.9, 7604.5, 7511.3]));
    points.extend(repeats("w8a16_many", many, &[5233.5, 5242.7, 5240.7]));
    results(points)
}

fn draw(results: &Results, kind: Option<&'static str>) -> (&'static str, Page) {
    Shown { points: results.clone(), kind, ..Shown::default() }.draw(|_| {})
}

fn page(results: &Results) -> Page {
    draw(results, Some("matrix")).1
}

fn recognised(results: &Results) -> Option<&'static str> {
    Some(draw(results, None).0)
}

#[test]
fn the_page_of_a_matrix() {
    let results = small();
    assert_eq!(recognised(&results), Some("matrix"));
    let page = page(&results);
    insta::assert_snapshot!(markdown(&page, Pictures::None));
    crate::page::agreement_tests::check(&page);
}

/// Three builds of a model, three times each, at two loads of fixed lengths.
#[test]
fn runs_with_tags_are_a_matrix() {
    let mut results = Results::default();
    for (quant, gap_ms) in [("original", 10.0), ("int8", 8.0), ("int4", 5.0)] {
        for repeat in 0..3u32 {
            let pace = (50.0 + f64::from(repeat), gap_ms, 20);
            let mut requests = closed_loop((0, 0), (1, 20), 0.0, pace);
            requests.extend(closed_loop((100, 1), (4, 20), 60_000.0, pace));
            let mut run = run(&[1, 4], requests);
            run.manifest.tags.insert("quant".to_owned(), quant.to_owned());
            run.manifest.run_id = format!("{quant}-{repeat}");
            results.extend(Results::of_run(&run.manifest, &ifm_metrics::summarize(&run)));
        }
    }
    assert_eq!(recognised(&results), Some("matrix"));
    let text = markdown(&page(&results), Pictures::None);
    for expect in [
        "## Configuration: users=1, input\\_len=100, output\\_len=20",
        "baseline original",
        "int4 is the fastest",
        "int8-2/levels/1",
    ] {
        assert!(text.contains(expect), "{expect} in {text}");
    }
}

#[test]
fn what_is_missing_is_not_zero() {
    let mut points = repeats("original", (1, 8, 8), &[10.0]);
    points.extend(repeats("نموذج-a-very-long-name-that-goes-on-and-on", (2, 8, 8), &[20.0]));
    let results = results(points);
    let text = markdown(&page(&results), Pictures::None);
    assert!(text.contains("2 cells are missing") && text.contains("n/a"), "{text}");
    assert!(text.contains("One number of everything") && !text.contains("| 0.00"), "{text}");
}

#[test]
fn without_a_batch_the_page_says_so() {
    let empty = Results::default();
    assert_eq!(recognised(&empty), Some("sweep"));
    let page = page(&empty);
    assert!(page.sections.is_empty() && page.banners.len() == 1);
    assert!(KINDS.iter().any(|kind| kind.word == "matrix"));
}

#[test]
fn fifty_models_are_a_page() {
    let mut points = Vec::new();
    for model in 0..50u32 {
        for size in [1, 8] {
            // 5 % apart, which is relevant.
            let rate = 100.0 * 1.05_f64.powi(model as i32);
            let name = format!("model-{model}");
            points.extend(repeats(&name, (size, 64, 64), &[rate, rate + 0.1, rate - 0.1]));
        }
    }
    let page = page(&results(points));
    let text = markdown(&page, Pictures::None);
    assert!(text.contains("model-49 is the fastest"), "{text}");
    // 49 lines are split into charts of six.
    let lines = page.charts().iter().filter(|chart| chart.id.starts_with("speed-up-size")).count();
    assert_eq!(lines, 9);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    assert!(page.charts().iter().all(|chart| chart.id.chars().all(is_plain)));
}

/// Repeats with labels of their own.
fn labelled(model: &str, asked: (u32, u32, u32), rates: &[f64]) -> Vec<Point> {
    let mut points = repeats(model, asked, rates);
    for (index, point) in points.iter_mut().enumerate() {
        point.label = Some(format!("{model}_run{index}"));
    }
    points
}

/// Two batches of three models; in the second batch those that are named have a label twice.
fn doubled(of: &[&str], second: [[f64; 3]; 3]) -> Results {
    let mut points = Vec::new();
    let names = ["original", "fast", "slow"];
    let first = [[100.0, 100.5, 101.0], [150.0, 150.5, 151.0], [120.0, 120.5, 121.0]];
    for (name, rates) in names.iter().zip(&first) {
        points.extend(labelled(name, (1, 128, 64), rates));
    }
    for (name, rates) in names.iter().zip(&second) {
        let make = if of.contains(name) { repeats } else { labelled };
        points.extend(make(name, (8, 128, 64), rates));
    }
    results(points)
}

#[test]
fn an_answer_that_rests_on_doubled_labels_stands_where_it_is_the_same_without_them() {
    let alike = [[200.0, 200.5, 201.0], [300.0, 300.5, 301.0], [240.0, 240.5, 241.0]];
    let tiles = page(&doubled(&["slow"], alike)).tiles;
    let [overall, alone, many, agree] = tiles.as_slice() else { panic!("{tiles:?}") };
    assert!(
        overall.detail.contains("1 group of repeats of these configurations uses a label twice"),
        "{overall:?}"
    );
    assert!(overall.not_valid.is_none() && many.not_valid.is_none(), "{tiles:?}");
    assert!(!alone.detail.contains("label"), "it rests on none of them: {alone:?}");
    assert!(
        agree.value == "5 of 5" && agree.detail.contains("1 group with a repeated label left out"),
        "{agree:?}"
    );
}

#[test]
fn an_answer_that_is_another_one_without_doubled_labels_is_struck() {
    let turned = [[200.0, 200.5, 201.0], [205.0, 205.5, 206.0], [390.0, 390.5, 391.0]];
    let tiles = page(&doubled(&["slow"], turned)).tiles;
    let [overall, alone, many, _] = tiles.as_slice() else { panic!("{tiles:?}") };
    assert_eq!(overall.who.as_deref(), Some("slow"));
    for struck in [overall, many] {
        let why = struck.not_valid.as_deref().expect("struck");
        assert!(why.contains("1 group of repeats that it rests on uses a label twice"), "{why}");
    }
    assert!(alone.not_valid.is_none(), "{alone:?}");
}

/// Two models that no test distinguishes are both named, and only the first place has a medal.
#[test]
fn all_that_lead_are_named() {
    let mut points = labelled("original", (1, 128, 64), &[100.0, 100.5, 101.0]);
    points.extend(labelled("red", (1, 128, 64), &[149.0, 150.5, 152.0]));
    points.extend(labelled("slow", (1, 128, 64), &[80.0, 80.5, 81.0]));
    let page_with = |blue: &[f64]| {
        let mut points = points.clone();
        points.extend(labelled("blue", (1, 128, 64), blue));
        page(&results(points))
    };
    let equal = page_with(&[150.0, 150.6, 151.0]);
    assert_eq!(equal.tiles[0].who.as_deref(), Some("blue, red"));
    assert!(equal.tiles[0].detail.starts_with("no difference is shown between these 2"));
    let text = markdown(&equal, Pictures::None);
    assert!(text.contains("🥇 blue 151 tok/s, red 151 tok/s (tie of 2)"), "{text}");
    assert!(text.contains("- 3. original") && !text.contains('🥈'), "{text}");
    // As near by their means, and yet 3 % may lie between them: no place is shared.
    let open = page_with(&[142.0, 150.5, 159.0]);
    assert!(
        open.tiles[0].detail.starts_with("these 2 cannot be distinguished"),
        "{:?}",
        open.tiles
    );
    let text = markdown(&open, Pictures::None);
    let line = "- 1-2. red 151 tok/s, blue 151 tok/s (cannot be distinguished; the interval is too \
                wide: only ";
    assert!(text.contains(line) && !text.contains('🥇'), "{text}");
}

/// Batches of other lengths are other work: no line joins them.
#[test]
fn lines_join_batches_of_the_same_lengths_alone() {
    let drawn = |second: (u32, u32, u32)| {
        let mut points = Vec::new();
        for asked in [(1, 128, 64), second] {
            points.extend(labelled("original", asked, &[100.0, 100.5, 101.0]));
            points.extend(labelled("fast", asked, &[150.0, 150.5, 151.0]));
        }
        let page = page(&results(points));
        page.charts().iter().filter(|chart| chart.id.starts_with("speed-up-size")).count()
    };
    assert_eq!(drawn((8, 128, 64)), 1);
    assert_eq!(drawn((8, 256, 64)), 0);
}

/// The rate of the tokens says 1.45 times as fast, the whole time of a batch 0.8 times.
#[test]
fn the_whole_time_of_a_batch_has_a_picture_of_its_own() {
    let mut results = small();
    let cells = |results: &Results, id: &str| {
        let charts = page(results);
        let charts = charts.charts();
        let chart = charts.into_iter().find(|chart| chart.id == id)?.clone();
        let ifm_chart::Plot::Heatmap(map) = chart.plot else { panic!("{id} is not a heat map") };
        Some(map.cells)
    };
    assert!(cells(&results, "speed-up").is_some());
    let slow =
        |point: &&mut Point| point.label.as_deref().is_some_and(|l| l.starts_with("w8a8_chat"));
    for point in results.points.iter_mut().filter(slow) {
        let e2e = point.stats.iter_mut().find(|reading| reading.metric == Metric::E2e);
        e2e.expect("timed").value = 64.0 / 135.0 * 1e3 / 0.8;
    }
    let whole = cells(&results, "speed-up-whole").expect("drawn");
    let value =
        |cell: &&ifm_chart::Cell| cell.value.is_some_and(|value| (value - 0.794).abs() < 0.005);
    assert_eq!(whole.iter().filter(value).count(), 1, "{whole:?}");
    for point in &mut results.points {
        point.stats.retain(|reading| reading.metric != Metric::E2e);
    }
    assert!(cells(&results, "speed-up-whole").is_none(), "it was not timed");
}
