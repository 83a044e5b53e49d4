//! The page of a note, from made-up rows.

use super::super::testing::{self, Shown};
use crate::page::{Page, Pictures, html, markdown};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, PartKind, Statistic, StdKind, key};
use ifm_metrics::level::Load;
use ifm_results::{Point, Results, Stat};

fn point(kind: PartKind, part: usize, setting: Factors, stats: Vec<Stat>) -> Point {
    Point { part, ..ifm_results::testing::point(kind, setting, stats) }
}

fn reading(quantity: Metric, statistic: Statistic, value: f64) -> Stat {
    Stat::new(quantity, statistic, value)
}

/// A row of llama-bench, as its importer reads it.
fn engine(part: usize, (model, power): (&str, u32), test: &str, (mean, std): (f64, f64)) -> Point {
    let setting = Factors::default()
        .with(key::MODEL, model)
        .with(key::POWER_LIMIT_W, power)
        .with(key::TEST, test)
        .with("backends", "CUDA")
        .with("n_gpu_layers", 99)
        .with("flash_attn", 1);
    let rate = if test.starts_with("pp") { Metric::PrefillRate } else { Metric::DecodeRate };
    let size = Metric::other("model_size");
    let stats = vec![
        reading(size, Statistic::Value, 3.56 * (1u64 << 30) as f64),
        reading(Metric::Parameters, Statistic::Value, 6.74e9),
        reading(rate, Statistic::Mean, mean),
        reading(rate, Statistic::Std(StdKind::Sample), std),
    ];
    let headings = vec!["llama.cpp".to_owned(), "llama2-7b".to_owned(), format!("{power}W")];
    Point { headings, ..point(PartKind::Engine, part, setting, stats) }
}

fn kernel(part: usize, mask: &str, name: &str, pass: &str, (ms, tflops): (f64, f64)) -> Point {
    let setting = Factors::default().with("mask", mask).with("kernel", name).with("pass", pass);
    let stats = vec![
        reading(Metric::Kernel, Statistic::Value, ms),
        reading(Metric::FlopRate, Statistic::Value, tflops * 1e12),
    ];
    point(PartKind::Kernel, part, setting, stats)
}

fn level(part: usize, users: u32, output: f64, (ttft, itl): (f64, f64)) -> Point {
    let p99 = Statistic::Percentile(99.0);
    let stats = vec![
        reading(Metric::RequestsOk, Statistic::Value, 1000.0),
        reading(Metric::OutputRate, Statistic::Value, output),
        reading(Metric::Ttft, Statistic::Mean, ttft / 2.0),
        reading(Metric::Ttft, p99, ttft),
        reading(Metric::Itl, Statistic::Mean, itl / 2.0),
        reading(Metric::Itl, p99, itl),
    ];
    let setting = Factors::default().with(key::MODEL, "m");
    Point { load: Some(Load::Users(users)), ..point(PartKind::Serving, part, setting, stats) }
}

/// Rows show the settings that distinguish them, as in llama-bench.
#[test]
fn rows_of_several_threads_and_depths_are_told_apart() {
    let row = |threads: u32, depth: u32, rate: f64| {
        let mut point = engine(0, ("m", 600), "pp64", (rate, 1.0));
        point.setting = point
            .setting
            .with("n_threads", threads)
            .with(key::DEPTH_TOKENS, depth)
            .with("n_batch", 64);
        point
    };
    let rows = [row(1, 0, 10.0), row(1, 16, 9.0), row(2, 0, 20.0), row(2, 16, 18.0)];
    let table = super::blocks::llama_bench(&rows.each_ref(), None);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].contains("| threads |") && !lines[0].contains("n_batch"), "{table}");
    for (line, words) in
        lines[2..].iter().zip(["1 | pp64", "1 | pp64 @ d16", "2 | pp64", "2 | pp64 @ d16"])
    {
        let squeezed = line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed.contains(&format!("| {words} |")), "{table}");
    }
}

fn note() -> Results {
    let llama = "llama 7B Q4_0";
    let mut points = vec![
        engine(0, (llama, 600), "pp512", (16634.04, 97.98)),
        engine(0, (llama, 600), "tg128", (278.95, 0.23)),
        engine(1, (llama, 250), "pp512", (10619.58, 3539.91)),
        engine(1, (llama, 250), "tg128", (236.88, 0.21)),
    ];
    for (name, forward, backward) in [
        ("causal FA2", (6.899, 318.75), (20.765, 264.75)),
        ("F.sdpa + mask", (34.3567, 16.88), (99.5174, 14.57)),
        ("flexattention", (3.3248, 174.39), (9.8839, 146.66)),
    ] {
        points.push(kernel(2, "Sliding Window 1024", name, "forward", forward));
        points.push(kernel(2, "Sliding Window 1024", name, "backward", backward));
    }
    let mask = Factors::default().with("mask", "Sliding Window 1024");
    let sparsity = vec![reading(Metric::Sparsity, Statistic::Value, 0.8682)];
    let drawn = point(PartKind::Kernel, 2, mask, sparsity);
    points.push(Point { text: Some("░░\n██░░\n  ██░░".to_owned()), ..drawn });
    points.push(level(3, 32, 1090.59, (135.56, 84.66)));
    points.push(level(4, 64, 1801.67, (126.5, 32.06)));
    points.push(level(5, 128, 2553.3, (217.02, 38.51)));
    points.push(level(6, 256, 3004.18, (380.03, 67.17)));
    let training = vec![
        reading(Metric::Memory, Statistic::Min, 85e9),
        reading(Metric::Memory, Statistic::Max, 88e9),
        reading(Metric::Duration, Statistic::Min, 180.0 * 60e3),
        reading(Metric::Duration, Statistic::Max, 200.0 * 60e3),
    ];
    let setting = Factors::default().with(key::MODEL, "llama-3.2-1b").with(key::BATCH_SIZE, 32);
    points.push(point(PartKind::Training, 7, setting, training));
    testing::results("note.md", points)
}

/// The kind that is recognised, and the page of this one.
fn page(results: &Results) -> (&'static str, Page) {
    let draw = |kind| {
        let results = Shown { points: results.clone(), kind, ..Shown::default() };
        results.draw(|question| {
            question.usd_per_hour = Some(1.8);
            question.slo = ifm_metrics::slo::parse("chat").expect("a preset");
        })
    };
    (draw(None).0, draw(Some("note")).1)
}

#[test]
fn the_page_of_a_note() {
    let results = note();
    let (word, page) = page(&results);
    assert_eq!(word, "note");
    insta::assert_snapshot!(markdown(&page, Pictures::None));
    crate::page::agreement_tests::check(&page);
}

/// A command that reported no step is not a training run.
#[test]
fn the_chapter_is_headed_by_what_was_measured() {
    let run = |part, command: Option<&str>, quantity| {
        let mut setting = Factors::default();
        if let Some(command) = command {
            setting.set(key::COMMAND, command);
        }
        point(PartKind::Training, part, setting, vec![reading(quantity, Statistic::Value, 1000.0)])
    };
    let sleep = || run(0, Some("sleep 1"), Metric::Duration);
    let steps = || run(1, Some("python train.py"), Metric::StepRate);
    let noted = || run(2, None, Metric::Duration);
    for (points, heading, counts) in [
        (vec![sleep()], "## Command\n", "1 run of a command"),
        (
            vec![sleep(), run(3, Some("make"), Metric::Duration)],
            "## Commands\n",
            "2 runs of commands",
        ),
        (vec![steps(), noted()], "## Training\n", "2 training runs"),
        (vec![sleep(), noted()], "## Training and other commands\n", "1 training run"),
    ] {
        let text = markdown(&page(&testing::results("x", points)).1, Pictures::None);
        assert!(text.contains(heading) && text.contains(counts), "{heading} {text}");
    }
}

/// An engine names the architecture; a document names the model, in the heading above its rows.
#[test]
fn models_have_the_names_that_headings_give_them() {
    let mut results = note();
    let mut nemo = engine(8, ("llama 13B Q4_K - Medium", 600), "tg128", (163.31, 0.05));
    nemo.headings = vec!["llama.cpp".to_owned(), "Mistral Nemo 12B".to_owned()];
    results.points.push(nemo);
    let told = |results: &Results| markdown(&page(results).1, Pictures::None);
    let text = told(&results);
    assert!(text.contains("| llama 13B Q4\\_K - Medium | Mistral Nemo 12B |"), "{text}");
    assert!(text.contains("| llama 7B Q4\\_0 | llama2-7b |"), "{text}");
    // Every row has the same GPU: it moves to the caption.
    for point in &mut results.points {
        point.setting.set(key::GPU, "RTX PRO 6000");
    }
    let text = told(&results);
    assert!(text.contains(" All on RTX PRO 6000.") && !text.contains("of limit | GPU |"), "{text}");
    results.points.last_mut().expect("a row").setting.set(key::GPU, "L40S");
    let text = told(&results);
    assert!(text.contains("of limit | GPU |") && !text.contains("All on"), "{text}");
}

#[test]
fn blocks_are_those_of_their_tools() {
    let results = note();
    let text = markdown(&page(&results).1, Pictures::None);
    for expect in [
        "| model                          |       size |     params | backend    | ngl | fa |            test |                  t/s |",
        "| ------------------------------ | ---------: | ---------: | ---------- | --: | -: | --------------: | -------------------: |",
        "| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA       |  99 |  1 |           pp512 |     16634.04 ± 97.98 |",
        "| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA       |  99 |  1 |           tg128 |        278.95 ± 0.23 |",
        "║                                   Sliding Window 1024                                   ║",
        "| Operation     |   FW Time (ms) |   FW FLOPS (TF/s) |   BW Time (ms) |   BW FLOPS (TF/s) |",
        "| causal FA2    |         6.899  |            318.75 |        20.765  |            264.75 |",
        "| F.sdpa + mask |        34.3567 |             16.88 |        99.5174 |             14.57 |",
        "============ Serving Benchmark Result ============",
        "Maximum request concurrency:             128",
        "Output token throughput (tok/s):         2553.30",
        "P99 ITL (ms):                            38.51",
    ] {
        assert!(text.contains(expect), "{expect}\n{text}");
    }
}

/// 1,000 requests at a limit of 128, 2.97 s each in the mean: 83 in flight.
#[test]
fn a_limit_of_the_client_is_told_beside_the_answer() {
    let mut results = note();
    let of_serving = |point: &&mut Point| point.kind == PartKind::Serving;
    for point in results.points.iter_mut().filter(of_serving) {
        point.stats.push(reading(Metric::RequestRate, Statistic::Value, 28.09));
        point.stats.push(reading(Metric::E2e, Statistic::Mean, 2968.7));
    }
    let mut no_limit = level(8, 1, 2096.79, (19349.72, 733.29));
    no_limit.load = None;
    no_limit.setting.set(key::CONCURRENCY, "max");
    results.points.insert(0, no_limit);
    let told = page(&results).1;
    let capacity = told.tiles.first().expect("capacity");
    assert!(capacity.detail.contains("a limit of the client: 83.4 in flight"), "{capacity:?}");
    let text = markdown(&told, Pictures::None);
    assert!(text.contains("| load | in flight | req/s |"), "{text}");
    // Rows with a limit come before rows without one.
    let place = |row: &str| text.find(row).unwrap_or_else(|| panic!("{row}\n{text}"));
    assert!(place("| 256 | 83.4 |") < place("| no limit |"));
    assert!(text.contains("Served: m."), "{text}");
    let calm = markdown(&page(&note()).1, Pictures::None);
    assert!(!calm.contains("a limit of the client"), "{calm}");
}

#[test]
fn one_row_alone_is_a_page_and_nothing_says_so() {
    let mut results = note();
    results.points.truncate(1);
    let (word, one) = page(&results);
    assert_eq!(word, "note");
    assert!(html(&one).contains("pp512"));
    let empty = Results::default();
    let (word, nothing) = page(&empty);
    assert_eq!((word, nothing.sections.len(), nothing.banners.len()), ("sweep", 0, 1));
}
