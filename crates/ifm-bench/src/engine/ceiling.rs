//! The limit next to each row: the shortest time that a case can take on this machine, from what was
//! measured on it with the same threads.
//!
//! A step reads all weights of the layers and of the head, and the keys and values of every sequence;
//! a prompt takes two operations for each weight and token. The longer of the two is the limit, as in
//! a roofline. Attention's own arithmetic is left out, so that the true limit is no better.
//!
//! Small models fit into caches, which feed faster than memory does: then a share above 1 says that
//! memory was not what the weights came from, and nothing is wrong.

use super::Repeat;
use super::course::Done;
use super::protocol::Ceilings;
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Figure, Statistic, Unit};

const ROOFLINE: &str = "at most, by this machine's measured memory bandwidth and arithmetic rate: the slower of \
    reading weights, keys and values, and two operations for each weight and token; attention's arithmetic \
    left out";
const BANDWIDTH: &str = "reading weights that no cache holds, with the same threads";
const SHARE: &str = "roofline over measured time; above 1 where caches hold the weights";

/// The least time of a test, seconds.
fn limit_s(done: &Done) -> Option<f64> {
    let of = done.about.as_ref()?.ceilings?;
    let case = done.test.case();
    let (batch, depth) = (f64::from(case.batch), f64::from(case.depth));
    let (prompt, steps) = (f64::from(case.prompt), f64::from(case.steps));
    let prompts = match case.prompt {
        0 => 0.0,
        // The weights are read once at least.
        _ => arithmetic_s(&of, batch * prompt).max(reading_s(&of, 0.0)),
    };
    // The context grows by a token a step: on average half of them are there.
    let context = depth + prompt.max(1.0) + steps / 2.0;
    let step = arithmetic_s(&of, batch).max(reading_s(&of, batch * context));
    let whole = prompts + steps * step;
    (whole.is_finite() && whole > 0.0).then_some(whole)
}

fn arithmetic_s(of: &Ceilings, tokens: f64) -> f64 {
    tokens * of.ops_per_token as f64 / of.ops_per_s
}

fn reading_s(of: &Ceilings, context_tokens: f64) -> f64 {
    let bytes = of.step_bytes as f64 + context_tokens * of.kv_bytes_per_token as f64;
    bytes / of.read_bytes_per_s
}

/// Limit over measured time of a repeat; absent where either is not known.
pub fn share(done: &Done, repeat: &Repeat) -> Option<f64> {
    let ns = repeat.prompt_ns.unwrap_or_default() + repeat.steps_ns.unwrap_or_default();
    (ns > 0).then_some(())?;
    Some(limit_s(done)? * 1e9 / ns as f64)
}

/// The limit of a test, as figures: tokens per second, and the bandwidth that it rests on.
pub fn of_test(done: &Done) -> Vec<Figure> {
    let case = done.test.case();
    let tokens = f64::from(case.batch) * (f64::from(case.prompt) + f64::from(case.steps));
    let bandwidth =
        done.about.as_ref().and_then(|about| about.ceilings).map(|of| of.read_bytes_per_s);
    let both = limit_s(done).zip(bandwidth);
    both.map_or_else(Vec::new, |(limit, bandwidth)| {
        vec![
            figure(other("roofline rate"), tokens / limit, Unit::PerS, ROOFLINE),
            figure(Metric::Bandwidth, bandwidth / 1e9, Unit::GbPerS, BANDWIDTH),
        ]
    })
}

/// The share of the limit that a repeat reached, as figures.
pub fn of_repeat(done: &Done, repeat: &Repeat) -> Vec<Figure> {
    let share = share(done, repeat);
    share
        .map(|share| figure(other("share of the roofline"), share, Unit::One, SHARE))
        .into_iter()
        .collect()
}

fn other(name: &str) -> Metric {
    Metric::other(name)
}

fn figure(quantity: Metric, value: f64, unit: Unit, meant: &str) -> Figure {
    Figure::new(quantity, Statistic::Value, value, unit)
        .defined(Definition::Different(meant.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::case::{Shape, Test};
    use super::super::protocol::About;
    use super::*;

    /// 10 GB/s, 1 Tflop/s; a model that reads 1 GB a step and takes 2 G operations a token.
    fn done(test: Test) -> Done {
        let ceilings = Ceilings {
            read_bytes_per_s: 10e9,
            ops_per_s: 1e12,
            step_bytes: 1_000_000_000,
            kv_bytes_per_token: 100_000,
            ops_per_token: 2_000_000_000,
        };
        let about = About { ceilings: Some(ceilings), ..About::default() };
        Done { about: Some(about), ..Done::new(0, test) }
    }

    #[test]
    fn prompts_are_bound_by_arithmetic_and_steps_by_memory() {
        let bench = |prompt, generated, depth| {
            limit_s(&done(Test { shape: Shape::Bench, prompt, generated, depth })).expect("a limit")
        };
        // 512 x 2 G / 1 T.
        assert!((bench(512, 0, 0) - 1.024).abs() < 1e-9);
        // One token takes as long as the weights: 1 GB / 10 GB/s.
        assert!((bench(1, 0, 0) - 0.1).abs() < 1e-9);
        // 100 steps of 1 GB and of (1000 + 1 + 50) x 100 kB.
        assert!((bench(0, 100, 1000) - 100.0 * 1.1051e9 / 10e9).abs() < 1e-9);
        let repeat = Repeat { prompt_ns: Some(2_048_000_000), ..Repeat::default() };
        let test = Test { shape: Shape::Bench, prompt: 512, generated: 0, depth: 0 };
        assert!(share(&done(test), &repeat).is_some_and(|share| (share - 0.5).abs() < 1e-9));
        assert_eq!(of_repeat(&Done::new(0, test), &repeat), []);
        assert_eq!(of_test(&Done::new(0, test)), []);
        let rate = of_test(&done(test))[0].value;
        assert!(rate.is_some_and(|rate| (rate - 500.0).abs() < 1e-9), "{rate:?}");
    }
}
