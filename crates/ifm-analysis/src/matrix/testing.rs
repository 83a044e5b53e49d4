//! Synthetic batches for tests.

use crate::survey::{Point, Reading, Survey};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, PartKind, Statistic, key};

/// One repeat of a batch of `size` sequences with `input` and `output` tokens each: output rate,
/// and the total rate that goes with it.
pub(crate) fn batch(
    name: &str,
    (size, input, output): (u32, u32, u32),
    repeat: u32,
    rate: f64,
) -> Point {
    let total = rate * f64::from(input + output) / f64::from(output);
    let reading = |quantity, value| Reading::new(quantity, Statistic::Value, value);
    Point {
        label: Some(format!("{name}_run{repeat}")),
        repeat: Some(repeat),
        ..crate::testing::point(
            PartKind::StaticBatch,
            Factors::default()
                .with(key::MODEL, name)
                .with(key::BATCH_SIZE, size)
                .with(key::INPUT_TOKENS, input)
                .with(key::OUTPUT_TOKENS, output),
            vec![reading(Metric::OutputRate, rate), reading(Metric::TotalRate, total)],
        )
    }
}

/// Repeats of a batch.
pub(crate) fn repeats(name: &str, asked: (u32, u32, u32), rates: &[f64]) -> Vec<Point> {
    (1..).zip(rates).map(|(repeat, rate)| batch(name, asked, repeat, *rate)).collect()
}

/// The survey of points.
pub(crate) fn survey(points: &[Point]) -> Survey {
    Survey { origins: Vec::new(), points: points.to_vec() }
}

/// Repeats of a batch with output rate and latency, s; the total rate follows from the latency.
pub(crate) fn timed(
    name: &str,
    (size, input, output): (u32, u32, u32),
    rows: &[(f64, f64)],
) -> Vec<Point> {
    let point = |(repeat, (rate, latency_s)): (u32, &(f64, f64))| {
        let mut point = batch(name, (size, input, output), repeat, *rate);
        let total = f64::from(size * (input + output)) / latency_s;
        let reading = |quantity, value| Reading::new(quantity, Statistic::Value, value);
        point.readings = vec![
            reading(Metric::OutputRate, *rate),
            reading(Metric::TotalRate, total),
            reading(Metric::E2e, latency_s * 1e3),
        ];
        point
    };
    (1..).zip(rows).map(point).collect()
}
