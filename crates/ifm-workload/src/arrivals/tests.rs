//! Schedules against what their laws say.

use super::*;
use ifm_core::spec::{RateCurve, RateStretch};

fn flat(rate: f64, seconds: Option<f64>) -> RateStretch {
    let curve = RateCurve::Linear;
    RateStretch { from_req_per_s: rate, to_req_per_s: rate, curve, seconds }
}

fn arrivals(law: ArrivalLaw, stretches: &[RateStretch], seed: u64) -> Arrivals {
    Arrivals::new(&ArrivalSpec { law, stretches: stretches.to_vec(), seed }).unwrap()
}

fn gaps(law: ArrivalLaw, rate: f64, count: usize, seed: u64) -> Vec<f64> {
    let times: Vec<u64> = arrivals(law, &[flat(rate, None)], seed).take(count + 1).collect();
    times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect()
}

/// Mean and coefficient of variation.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, variance.sqrt() / mean)
}

#[test]
fn constant_arrivals_are_exact() {
    let times: Vec<u64> = arrivals(ArrivalLaw::Constant, &[flat(3.0, None)], 0).take(4).collect();
    assert_eq!(times, [0, 333_333_333, 666_666_667, 1_000_000_000]);
    let late = arrivals(ArrivalLaw::Constant, &[flat(500.0, None)], 0).nth(10_000_000).unwrap();
    assert_eq!(late, 20_000 * 1_000_000_000, "no error adds up");
    let ends = arrivals(ArrivalLaw::Constant, &[flat(10.0, Some(2.0))], 0).count();
    assert_eq!(ends, 20);
}

#[test]
fn poisson_gaps_are_exponential() {
    for seed in [1, 2, 3] {
        let mut gaps = gaps(ArrivalLaw::Poisson, 500.0, 20_000, seed);
        let (mean, cv) = moments(&gaps);
        // Five standard errors: 1/sqrt(n) of the mean, and as much of the variation.
        assert!((mean * 500.0 - 1.0).abs() < 5.0 / 20_000_f64.sqrt(), "{seed}: {mean}");
        assert!((cv - 1.0).abs() < 5.0 / 20_000_f64.sqrt(), "{seed}: {cv}");
        // Kolmogorov and Smirnov: 1.95/sqrt(n) is passed by 99.9 % of seeds.
        gaps.sort_unstable_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps.iter().enumerate().map(|(place, gap)| {
            let law = 1.0 - (-gap * 500.0).exp();
            (law - place as f64 / n).abs().max(((place + 1) as f64 / n - law).abs())
        });
        assert!(distance.fold(0.0, f64::max) < 1.95 / n.sqrt(), "{seed}");
    }
}

#[test]
fn gamma_gaps_have_the_variation_of_their_shape() {
    for shape in [0.25, 0.5, 1.0, 4.0, 100.0] {
        let gaps = gaps(ArrivalLaw::Gamma(shape), 10.0, 40_000, 7);
        let (mean, cv) = moments(&gaps);
        let expect = 1.0 / shape.sqrt();
        assert!((mean * 10.0 - 1.0).abs() < 5.0 * expect / 200.0, "{shape}: {mean}");
        assert!((cv / expect - 1.0).abs() < 0.05, "{shape}: {cv}");
    }
}

#[test]
fn bursts_come_at_once_and_keep_the_rate() {
    let times: Vec<u64> = arrivals(ArrivalLaw::Burst(4), &[flat(8.0, Some(1.5))], 0)
        .map(|ns| ns / 1_000_000)
        .collect();
    assert_eq!(times, [0, 0, 0, 0, 500, 500, 500, 500, 1000, 1000, 1000, 1000]);
}

#[test]
fn a_ramp_has_the_rate_that_it_should_have_at_every_time() {
    for (curve, halfway) in
        [(RateCurve::Linear, 55.0), (RateCurve::Exponential, 10_f64.sqrt() * 10.0)]
    {
        let ramp =
            RateStretch { from_req_per_s: 10.0, to_req_per_s: 100.0, curve, seconds: Some(60.0) };
        let times: Vec<f64> =
            arrivals(ArrivalLaw::Constant, &[ramp], 0).map(|ns| ns as f64 / 1e9).collect();
        let around = |at: f64| times.iter().filter(|time| (*time - at).abs() < 0.5).count() as f64;
        assert!((around(30.0) - halfway).abs() <= 1.0, "{curve:?}: {}", around(30.0));
        assert!((around(1.0) - 10.0).abs() <= 2.0 && (around(59.0) - 100.0).abs() <= 5.0);
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]) && times.last() < Some(&60.0));
        let down = RateStretch { from_req_per_s: 100.0, to_req_per_s: 10.0, ..ramp };
        assert_eq!(arrivals(ArrivalLaw::Constant, &[down], 0).count(), times.len());
    }
}

#[test]
fn stretches_follow_each_other() {
    let steps = [flat(1.0, Some(10.0)), flat(5.0, Some(10.0)), flat(2.0, None)];
    let times: Vec<u64> = arrivals(ArrivalLaw::Constant, &steps, 0).take(64).collect();
    let within = |from: u64, to: u64| {
        times.iter().filter(|ns| (from..to).contains(&(**ns / 1_000_000_000))).count()
    };
    assert_eq!((within(0, 10), within(10, 20), within(20, 22)), (10, 50, 4));
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let times = |seed| {
        arrivals(ArrivalLaw::Poisson, &[flat(10.0, None)], seed).take(50).collect::<Vec<_>>()
    };
    assert_eq!(times(5), times(5));
    assert_ne!(times(5), times(6));
}

#[test]
fn what_is_not_possible_is_said() {
    let error = |law, stretches: &[RateStretch]| {
        let spec = ArrivalSpec { law, stretches: stretches.to_vec(), seed: 0 };
        Arrivals::new(&spec).unwrap_err()
    };
    use ArrivalLaw::{Burst, Constant, Gamma};
    assert_eq!(error(Constant, &[]), ArrivalError::Empty);
    assert_eq!(error(Constant, &[flat(0.0, None)]), ArrivalError::Rate(0.0));
    assert!(matches!(error(Constant, &[flat(f64::NAN, None)]), ArrivalError::Rate(_)));
    assert_eq!(error(Constant, &[flat(1.0, Some(0.0))]), ArrivalError::Seconds(0.0));
    assert_eq!(error(Constant, &[flat(1.0, None), flat(1.0, None)]), ArrivalError::Endless);
    assert_eq!(error(Gamma(0.0), &[flat(1.0, None)]), ArrivalError::Shape(0.0));
    assert_eq!(error(Burst(0), &[flat(1.0, None)]), ArrivalError::Burst);
}
