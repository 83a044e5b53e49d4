//! How often histories and their gates are wrong: synthetic months of nights, without a change and with
//! one. `IFM_CASES=200 cargo test -p ifm-compare history::proof -- --nocapture` prints the figures of
//! 200 months of each kind.

use super::*;
use crate::gate::{Against, Bound, GateState, band_thresholds, judge};
use ifm_metrics::stat::random::RandomStream;
use ifm_metrics::testing::{NoisyLoop, noisy_run};

const NIGHTS: usize = 30;
/// Place of the first night that is slower.
const BAD: usize = 19;
/// The first night that a gate is asked in.
const FIRST: usize = 8;
const SLOWER: f64 = 1.05;
/// Standard deviation of the requests of a night, as a share: small compared with the variation
/// between nights.
const OWN: f64 = 0.005;
const WORDS: [&str; 3] = ["itl.p50", "ttft.p50", "out_tok_s"];

fn cases(few: u64) -> u64 {
    std::env::var("IFM_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(few)
}

fn measures() -> Vec<Measure> {
    WORDS.iter().map(|word| Measure::parse(word).expect(word)).collect()
}

/// Months of one server: each night is a level of its own, a share of `noise` around the usual.
struct Months {
    settings: HistorySettings,
}

impl Months {
    fn new() -> Months {
        let comparison = Settings { measures: measures(), resamples: 8, ..Settings::default() };
        Months { settings: HistorySettings { comparison, by: Vec::new(), per: Per::Run } }
    }

    /// A month; `factor` is how much slower a night is.
    fn month(&self, seed: u64, noise: f64, factor: impl Fn(usize) -> f64) -> Vec<Dated> {
        let mut stream = RandomStream::named(seed, "months");
        (0..NIGHTS)
            .map(|night| {
                let slower = factor(night) * (noise * stream.normal()).exp();
                let wait = (noise * stream.normal()).exp();
                let run = noisy_run(&[NoisyLoop {
                    users: 4,
                    rounds: 6,
                    ttft_ms: 20.0 * wait,
                    itl_ms: 10.0 * slower,
                    tokens: 6,
                    spread: OWN,
                    memory: 0.0,
                    seed: seed * NIGHTS as u64 + night as u64,
                }]);
                let Settings { measures, slo, .. } = &self.settings.comparison;
                let member = Member::of(&run, measures, slo);
                Dated { member, at_utc: None, tags: Vec::new() }
            })
            .collect()
    }
}

/// What became of months.
#[derive(Debug, Default, PartialEq)]
struct Figures {
    months: u64,
    /// Months in which any series is reported as worse or better.
    told: u64,
    /// Months in which the gap's series is reported as worse.
    found: u64,
    /// Of these, those with the right first night, and within two nights of it.
    right: u64,
    near: u64,
    /// Of these, those whose range holds the right night.
    held: u64,
    /// Of these, those reported as a drift.
    drifts: u64,
}

fn looked_at(months: &Months, noise: f64, cases: u64, factor: impl Fn(usize) -> f64) -> Figures {
    let mut figures = Figures { months: cases, ..Figures::default() };
    for seed in 0..cases {
        let found = history(&months.month(seed, noise, &factor), &months.settings);
        let is_told =
            |series: &&Series| matches!(series.state, SeriesState::Worse | SeriesState::Better);
        figures.told += u64::from(found.series.iter().any(|series| is_told(&series)));
        let gap = &found.series[0];
        let Some(change) = gap.latest().filter(|_| gap.state == SeriesState::Worse) else {
            continue;
        };
        figures.found += 1;
        figures.drifts += u64::from(change.kind == ChangeKind::Drift);
        figures.right += u64::from(change.first_after == BAD);
        figures.near += u64::from(change.first_after.abs_diff(BAD) <= 2);
        figures.held += u64::from((change.earliest..=change.latest).contains(&BAD));
    }
    figures
}

#[test]
fn steps_and_drifts_are_found_and_noise_is_not() {
    let months = Months::new();
    let cases = cases(8);
    for noise in [0.01, 0.02, 0.03] {
        let none = looked_at(&months, noise, cases, |_| 1.0);
        println!("noise {noise}, no change: {none:?}");
        let step = looked_at(&months, noise, cases, |night| if night < BAD { 1.0 } else { SLOWER });
        println!("noise {noise}, +5 % at night 20: {step:?}");
        let drift = looked_at(&months, noise, cases, |night| 1.005f64.powi(night as i32));
        println!("noise {noise}, +0.5 % a night: {drift:?}");
        let share = |count: u64| count as f64 / cases as f64;
        assert!(share(none.told) <= 0.13, "{none:?}");
        if noise < 0.015 {
            assert!(share(step.found) > 0.95 && share(step.near) > 0.85, "{step:?}");
            assert!(share(drift.found) > 0.95 && share(drift.drifts) > 0.8, "{drift:?}");
        }
    }
}

/// Nights of a month on which a gate over the last twenty of them is asked.
fn gated(months: &Months, month: &[Dated]) -> Vec<(usize, GateState)> {
    let settings = &months.settings.comparison;
    let side = |of: &[Dated]| Side {
        label: "history".to_owned(),
        members: of.iter().map(|night| night.member.clone()).collect(),
    };
    (FIRST..NIGHTS)
        .map(|night| {
            let before = side(&month[night.saturating_sub(20)..night]);
            let run = side(&month[night..=night]);
            let thresholds = band_thresholds(&run, settings);
            assert_eq!(thresholds.len(), 3);
            assert_eq!(thresholds[2].bound, Bound::Min);
            let found = judge(&run, Against::History(&before), &thresholds, settings);
            (night, found.expect("a gate").state)
        })
        .collect()
}

#[test]
fn a_gate_over_history_rarely_cries_and_soon_finds() {
    let months = Months::new();
    let cases = cases(4);
    for noise in [0.01, 0.02, 0.03] {
        let (mut nights, mut alarms, mut open) = (0, 0, 0);
        let (mut first, mut third, mut ever, mut silent) = (0, 0, 0, 0);
        for seed in 0..cases {
            let quiet = gated(&months, &months.month(seed, noise, |_| 1.0));
            nights += quiet.len();
            alarms += quiet.iter().filter(|(_, state)| *state == GateState::Fail).count();
            open += quiet.iter().filter(|(_, state)| *state == GateState::Inconclusive).count();
            let step = |night: usize| if night < BAD { 1.0 } else { SLOWER };
            let slow = gated(&months, &months.month(seed, noise, step));
            let alarm = |from: usize, to: usize| {
                slow.iter()
                    .any(|(night, state)| (from..to).contains(night) && *state == GateState::Fail)
            };
            first += u64::from(alarm(BAD, BAD + 1));
            third += u64::from(alarm(BAD, BAD + 3));
            ever += u64::from(alarm(BAD, NIGHTS));
            // A regression that was found stays found.
            silent += u64::from(slow.last().is_some_and(|(_, state)| *state != GateState::Fail));
        }
        println!(
            "noise {noise}: without a change {alarms} alarms and {open} open of {nights} nights; \
             +5 %: alarm in the first night {first}, by the third {third}, by the eleventh {ever}, \
             the last night not an alarm {silent}, of {cases} months"
        );
        assert!(alarms as f64 <= 0.01 * nights as f64 + 1.0, "{noise}: {alarms} of {nights}");
        if noise < 0.015 {
            assert!(third as f64 >= 0.75 * cases as f64 && ever == cases, "{noise}: {third}");
        }
    }
}
