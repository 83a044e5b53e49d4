//! Points made up for tests.

use crate::{Point, Results, Stat};
use ifm_core::Metric;
use ifm_core::sheet::kernel::{KERNEL, MASK, PASS};
use ifm_core::sheet::{Factors, PartKind, Place, RowRole, Statistic, StdKind, key};
use ifm_metrics::level::Load;
use ifm_metrics::slo::VerdictState;

/// A row of a document, without anything that it need not have.
pub fn point(kind: PartKind, setting: Factors, stats: Vec<Stat>) -> Point {
    Point {
        source: 0,
        part: 0,
        kind,
        role: RowRole::Measured,
        headings: Vec::new(),
        label: None,
        setting,
        load: None,
        repeat: None,
        stats,
        verdict: VerdictState::Unknown,
        searched: None,
        gpus: None,
        place: Place::default(),
        text: None,
    }
}

/// One repeat of a load, with its output rate.
pub fn repeat(users: u32, repeat: u32, output: f64) -> Point {
    Point {
        load: Some(Load::Users(users)),
        repeat: Some(repeat),
        ..point(
            PartKind::StaticBatch,
            Factors::default().with(key::MODEL, "m"),
            vec![Stat::new(Metric::OutputRate, Statistic::Value, output)],
        )
    }
}

/// A level of a published sweep of 1,000 requests: limit, requests per second, mean TTFT, mean
/// ITL (ms), output tokens of all.
pub fn level((users, rate, ttft, itl, tokens): (u32, f64, f64, f64, f64)) -> Point {
    let value = Statistic::Value;
    let mut point = Point {
        kind: PartKind::Serving,
        stats: vec![
            Stat::new(Metric::RequestsOk, value, 1000.0),
            Stat::new(Metric::InputTokens, value, 214_316.0),
            Stat::new(Metric::OutputTokens, value, tokens),
            Stat::new(Metric::RequestRate, value, rate),
            Stat::new(Metric::Ttft, Statistic::Mean, ttft),
            Stat::new(Metric::Itl, Statistic::Mean, itl),
        ],
        ..repeat(users, 1, 0.0)
    };
    point.load = Some(Load::Users(users));
    point
}

/// Three levels of that sweep.
pub fn sweep() -> Results {
    let levels = [
        (32, 11.86, 62.26, 26.17, 91_928.0),
        (128, 28.09, 84.11, 32.09, 90_886.0),
        (512, 37.30, 430.01, 47.72, 92_521.0),
    ];
    Results { sources: Vec::new(), points: levels.map(level).to_vec() }
}

/// Forward times in ms of a mask, and its sparsity: figures of a published note.
pub fn mask(part: usize, name: &str, sparsity: f64, times: [f64; 3]) -> Vec<Point> {
    let kernels = ["causal FA2", "F.sdpa + mask", "flexattention"];
    let setting = Factors::default().with(MASK, name);
    let time = |(kernel, ms): (&str, f64)| Point {
        kind: PartKind::Kernel,
        part,
        load: None,
        setting: setting.clone().with(KERNEL, kernel).with(PASS, "forward"),
        stats: vec![Stat::new(Metric::Kernel, Statistic::Value, ms)],
        ..repeat(1, 1, 0.0)
    };
    let mut points: Vec<Point> = kernels.into_iter().zip(times).map(time).collect();
    points.push(Point {
        stats: vec![Stat::new(Metric::Sparsity, Statistic::Value, sparsity)],
        text: Some("██░░\n  ██".to_owned()),
        setting: setting.clone(),
        ..time(("", 0.0))
    });
    points
}

/// Figures of a published note: tokens per second at each limit.
pub fn engine(limit_w: u32, rate: f64) -> Point {
    Point {
        kind: PartKind::Engine,
        load: None,
        headings: vec![format!("{limit_w}W")],
        setting: Factors::default()
            .with(key::MODEL, "llama 7B Q4_0")
            .with(key::TEST, "tg128")
            .with(key::POWER_LIMIT_W, limit_w),
        stats: vec![
            Stat::new(Metric::DecodeRate, Statistic::Mean, rate),
            Stat::new(Metric::DecodeRate, Statistic::Std(StdKind::Sample), 0.5),
        ],
        ..repeat(1, 1, 0.0)
    }
}

/// One repeat of a batch of `size` sequences with `input` and `output` tokens each: output rate,
/// and the total rate that goes with it.
pub fn batch(name: &str, (size, input, output): (u32, u32, u32), repeat: u32, rate: f64) -> Point {
    let total = rate * f64::from(input + output) / f64::from(output);
    let stat = |metric, value| Stat::new(metric, Statistic::Value, value);
    Point {
        label: Some(format!("{name}_run{repeat}")),
        repeat: Some(repeat),
        ..point(
            PartKind::StaticBatch,
            Factors::default()
                .with(key::MODEL, name)
                .with(key::BATCH_SIZE, size)
                .with(key::INPUT_TOKENS, input)
                .with(key::OUTPUT_TOKENS, output),
            vec![stat(Metric::OutputRate, rate), stat(Metric::TotalRate, total)],
        )
    }
}

/// Repeats of a batch.
pub fn repeats(name: &str, asked: (u32, u32, u32), rates: &[f64]) -> Vec<Point> {
    (1..).zip(rates).map(|(repeat, rate)| batch(name, asked, repeat, *rate)).collect()
}

/// The results of points.
pub fn results(points: &[Point]) -> Results {
    Results { sources: Vec::new(), points: points.to_vec() }
}

/// Repeats of a batch with output rate and latency, s; the total rate follows from the latency.
pub fn timed(
    name: &str,
    (size, input, output): (u32, u32, u32),
    rows: &[(f64, f64)],
) -> Vec<Point> {
    let point = |(repeat, (rate, latency_s)): (u32, &(f64, f64))| {
        let mut point = batch(name, (size, input, output), repeat, *rate);
        let total = f64::from(size * (input + output)) / latency_s;
        let stat = |metric, value| Stat::new(metric, Statistic::Value, value);
        point.stats = vec![
            stat(Metric::OutputRate, *rate),
            stat(Metric::TotalRate, total),
            stat(Metric::E2e, latency_s * 1e3),
        ];
        point
    };
    (1..).zip(rows).map(point).collect()
}
