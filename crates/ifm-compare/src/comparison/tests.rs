//! Comparisons of synthetic runs whose differences are known.

use super::Metric;
use super::*;
use ifm_core::RunData;
use ifm_core::sheet::{PartKind, Statistic};
use ifm_metrics::level::Load;
use ifm_metrics::slo;
use ifm_metrics::testing::{NoisyLoop, failed, noisy_run, run};
use ifm_results::Results;

const NOISY: NoisyLoop = NoisyLoop {
    users: 4,
    rounds: 40,
    ttft_ms: 100.0,
    itl_ms: 10.0,
    tokens: 12,
    spread: 0.1,
    memory: 0.0,
    seed: 0,
};

fn settings() -> Settings {
    Settings { resamples: 400, ..Settings::default() }
}

fn member(run: &RunData, settings: &Settings) -> Member {
    Member::of(run, &settings.measures, &settings.slo)
}

fn side(label: &str, runs: &[RunData], settings: &Settings) -> Side {
    let members = runs.iter().map(|run| member(run, settings)).collect();
    Side { label: label.to_owned(), members }
}

/// One run against one run.
fn two(a: &RunData, b: &RunData, settings: &Settings) -> Pair {
    let (a, b) = (
        side("a", std::slice::from_ref(a), settings),
        side("b", std::slice::from_ref(b), settings),
    );
    compare(&a, &[b], settings).pairs.remove(0)
}

fn row<'a>(pair: &'a Pair, users: u32, word: &str) -> &'a Row {
    let measure = Measure::parse(word).expect(word);
    let found = pair
        .rows
        .iter()
        .find(|row| row.at.load == Some(Load::Users(users)) && row.measure == measure);
    found.unwrap_or_else(|| panic!("no row {word} at {users}"))
}

fn is_alarm(row: &Row) -> bool {
    matches!(row.verdict, Verdict::Better | Verdict::Worse)
}

/// A prediction that is 40 % off is not faster than what it predicts, whichever comes first.
#[test]
fn a_prediction_is_above_or_below_what_was_measured_and_never_better() {
    let settings = settings();
    let of = |seed, itl_ms| noisy_run(&[NoisyLoop { seed, itl_ms, rounds: 60, ..NOISY }]);
    let (measured, computed) = (of(1, 10.0), ifm_metrics::testing::predicted(of(2, 6.0)));
    let verdict = |pair: &Pair, word: &str| row(pair, 4, word).verdict;
    for pair in [two(&measured, &computed, &settings), two(&computed, &measured, &settings)] {
        assert!(!pair.rows.iter().any(is_alarm), "{:?}", pair.rows);
        assert_eq!(verdict(&pair, "itl.p50"), Verdict::PredictedBelow);
        assert_eq!(verdict(&pair, "out_tok_s"), Verdict::PredictedAbove);
    }
    // Its API says nothing of what it predicts.
    let mut other = measured.clone();
    other.manifest.spec.target.stream = !other.manifest.spec.target.stream;
    assert_eq!(two(&other, &computed, &settings).unlike().count(), 0);
    assert_eq!(two(&other, &measured, &settings).unlike().count(), 1);
    // Two predictions, such as of two machines, are in competition.
    let slow = ifm_metrics::testing::predicted(of(3, 10.0));
    assert_eq!(verdict(&two(&slow, &computed, &settings), "itl.p50"), Verdict::Better);
    // And a prediction has no rank among measurements.
    let measure = Measure::parse("itl.p50").expect("a measure");
    let sides = [("slow", of(4, 12.0)), ("computed", computed), ("fast", measured)];
    let sides = sides.map(|(label, run)| {
        let run = RunData {
            manifest: ifm_core::Manifest { run_id: label.to_owned(), ..run.manifest },
            ..run
        };
        side(label, &[run], &settings)
    });
    let ranking = rank(&sides, measure, &Load::Users(4).into(), &settings);
    let found: Vec<_> =
        ranking.order.iter().map(|ranked| (ranked.side.label.as_str(), ranked.rank)).collect();
    assert_eq!(found, [("fast", Some(1)), ("slow", Some(2)), ("computed", None)]);
    let of_predictions = rank(&sides[1..2], measure, &Load::Users(4).into(), &settings);
    assert_eq!(of_predictions.order[0].rank, Some(1));
}

#[test]
fn a_run_against_its_like_raises_few_alarms() {
    let settings = settings();
    let mut alarms = 0;
    let mut raw = [0usize; 9];
    const PAIRS: u64 = 200;
    for seed in 0..PAIRS {
        let of = |seed| noisy_run(&[NoisyLoop { seed, ..NOISY }]);
        let pair = two(&of(2 * seed), &of(2 * seed + 1), &settings);
        alarms += usize::from(pair.rows.iter().any(is_alarm));
        for (raw, row) in raw.iter_mut().zip(&pair.rows) {
            *raw += usize::from(row.p.is_some_and(|p| p < 0.05));
        }
        assert!(pair.unlike().next().is_none(), "{:?}", pair.differences);
    }
    assert!(alarms * 20 <= PAIRS as usize, "{alarms} of {PAIRS} pairs");
    // Row by row and without the correction, about 5 % are below 5 %: 10 of 200, and by chance
    // hardly ever more than 22.
    assert!(raw.iter().all(|raw| *raw <= 22), "{raw:?}");
    assert!(raw.iter().sum::<usize>() >= 20, "the tests do test: {raw:?}");
}

#[test]
fn requests_that_depend_on_each_other_raise_few_alarms_too() {
    let settings = settings();
    let mut alarms = 0;
    const PAIRS: u64 = 100;
    for seed in 0..PAIRS {
        let of =
            |seed| noisy_run(&[NoisyLoop { seed, memory: 0.8, rounds: 100, spread: 0.3, ..NOISY }]);
        let pair = two(&of(2 * seed), &of(2 * seed + 1), &settings);
        alarms += usize::from(pair.rows.iter().any(is_alarm));
    }
    assert!(alarms * 20 <= PAIRS as usize, "{alarms} of {PAIRS} pairs");
}

#[test]
fn a_shift_of_three_detectable_differences_is_found() {
    let settings = settings();
    let of = |seed, ttft_ms| noisy_run(&[NoisyLoop { seed, ttft_ms, ..NOISY }]);
    let same = two(&of(1_000, 100.0), &of(1_001, 100.0), &settings);
    let detectable = row(&same, 4, "ttft.p50").detectable.expect("a spread");
    assert!((0.02..0.10).contains(&detectable), "{detectable}");
    let mut found = 0;
    const PAIRS: u64 = 200;
    for seed in 0..PAIRS {
        let slower = 100.0 * (1.0 + 3.0 * detectable);
        let pair = two(&of(2 * seed, 100.0), &of(2 * seed + 1, slower), &settings);
        let row = row(&pair, 4, "ttft.p50");
        assert_ne!(row.verdict, Verdict::Better);
        found += usize::from(row.verdict == Verdict::Worse);
    }
    assert!(found * 5 >= 4 * PAIRS as usize, "{found} of {PAIRS}");
}

#[test]
fn ten_percent_are_found_and_one_percent_never_has_the_wrong_sign() {
    let settings = settings();
    let of = |seed, factor: f64| {
        let (ttft_ms, itl_ms) = (100.0 * factor, 10.0 * factor);
        noisy_run(&[NoisyLoop { seed, rounds: 60, ttft_ms, itl_ms, ..NOISY }])
    };
    let (mut found, mut alarms) = (0, 0);
    for seed in 0..40 {
        let faster = two(&of(2 * seed, 1.0), &of(2 * seed + 1, 0.9), &settings);
        let rate = row(&faster, 4, "out_tok_s");
        found += u32::from(rate.verdict == Verdict::Better);
        let little = two(&of(2 * seed, 1.0), &of(2 * seed + 1, 1.01), &settings);
        // All that is 1 % slower is slower: to be called better would be the wrong sign.
        assert!(little.rows.iter().all(|row| row.verdict != Verdict::Better), "{little:?}");
        alarms += little.rows.iter().filter(|row| is_alarm(row)).count();
    }
    assert!(found >= 39, "{found} of 40");
    // Chance alone says it of some of 40 comparisons.
    assert!(alarms <= 2, "{alarms} in 40 comparisons");
}

#[test]
fn known_differences_have_their_ratio_and_their_interval() {
    let settings = settings();
    let of = |seed, itl_ms| noisy_run(&[NoisyLoop { seed, itl_ms, rounds: 100, ..NOISY }]);
    let pair = two(&of(1, 10.0), &of(2, 7.0), &settings);
    for word in ["itl.p50", "tpot.p50"] {
        let row = row(&pair, 4, word);
        assert_eq!((row.verdict, row.basis), (Verdict::Better, Some(Basis::Requests)), "{word}");
        let change = row.change.expect("a ratio");
        assert!((change.value - 0.7).abs() < 0.02 && change.low < 0.7 && change.high > 0.69);
        assert!(row.p_corrected >= row.p && row.p_corrected.is_some_and(|p| p < 1e-6));
    }
    let p99 = row(&pair, 4, "itl.p99");
    assert_eq!(p99.verdict, Verdict::Better, "{p99:?}");
    // 400 requests, without the first of each user, are not enough for the P99 of one value each.
    let ttft = row(&pair, 4, "ttft.p99");
    let short = Doubt::Short(Shortage::Values { n: 396, needed: 1_000 });
    assert_eq!((ttft.verdict, ttft.doubt.clone()), (Verdict::Inconclusive, Some(short)));
    let ttft = row(&pair, 4, "ttft.p50");
    assert_ne!(ttft.verdict, Verdict::Better);
    // No failure among 400 requests does not rule out half a point.
    let errors = row(&pair, 4, "error_rate");
    assert_eq!((errors.verdict, errors.doubt.clone()), (Verdict::Inconclusive, Some(Doubt::Wide)));
    assert!(errors.detectable.is_some_and(|least| (0.015..0.025).contains(&least)), "{errors:?}");
}

#[test]
fn repeats_are_compared_between_runs() {
    let settings = settings();
    // Runs that differ more among themselves than their requests tell.
    let of = |seed, itl_ms| noisy_run(&[NoisyLoop { seed, itl_ms, ..NOISY }]);
    let a = [of(1, 10.0), of(2, 10.4), of(3, 9.7)];
    let b = [of(4, 10.2), of(5, 9.8), of(6, 10.3)];
    let sides = (side("a", &a, &settings), side("b", &b, &settings));
    let pair = compare(&sides.0, &[sides.1], &settings).pairs.remove(0);
    let between = row(&pair, 4, "itl.p50");
    assert_eq!(between.basis, Some(Basis::Runs));
    assert_eq!(between.a.map(|cell| cell.runs), Some(3));
    assert!(!is_alarm(between), "{between:?}");
    let alone = two(&a[1], &b[1], &settings);
    assert_eq!(row(&alone, 4, "itl.p50").verdict, Verdict::Better, "the two alone look different");
    // A level that a run holds twice is a repeat as well.
    let twice = noisy_run(&[NoisyLoop { seed: 7, ..NOISY }, NoisyLoop { seed: 8, ..NOISY }]);
    let pair = two(&twice, &a[0], &settings);
    let mixed = row(&pair, 4, "itl.p50");
    assert_eq!((mixed.basis, mixed.a.map(|cell| cell.runs)), (Some(Basis::Runs), Some(2)));
}

/// Three repeats, one of them slow: a report, the table of a run and a comparison show one value.
#[test]
fn repeats_have_one_value_in_every_output() {
    let settings = settings();
    let of = |seed, ttft_ms| NoisyLoop { seed, ttft_ms, ..NOISY };
    let levels = [of(1, 100.0), of(2, 150.0), of(3, 400.0)];
    let runs = levels.map(|level| noisy_run(&[level]));
    let sides = (side("a", &runs, &settings), side("b", &runs[..1], &settings));
    let pair = compare(&sides.0, &[sides.1], &settings).pairs.remove(0);
    let mut results = Results::default();
    for run in &runs {
        results.extend(Results::of_run(&run.manifest, &ifm_metrics::summarize(run)));
    }
    let pool = results.pool(PartKind::Serving);
    let [report] = pool.cells.as_slice() else { panic!("{} cells", pool.cells.len()) };
    let together = ifm_metrics::summarize(&noisy_run(&levels)).repeats.remove(0);
    for (word, statistic, of_run) in [
        ("ttft.p50", Statistic::Median, together.ttft_ns_p50),
        ("ttft.p99", Statistic::Percentile(99.0), together.ttft_ns_p99),
    ] {
        let cell = row(&pair, 4, word).a.expect("a value");
        let reading = report.stat(Metric::Ttft, statistic).expect("a value");
        let of_run = of_run.expect("a value");
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(near(cell.value, reading.value * 1e6), "{word}: {cell:?} {reading:?}");
        assert!(near(cell.value, of_run.mean), "{word}: {cell:?} {of_run:?}");
        let each = report.values(Metric::Ttft, statistic);
        let arithmetic = 1e6 * each.iter().sum::<f64>() / 3.0;
        assert!(cell.value < 0.9 * arithmetic, "{word}: {cell:?} {arithmetic}");
    }
    let (low, high) = together.ttft_ns_p50.and_then(|of| of.interval).expect("three repeats");
    let reading = report.stat(Metric::Ttft, Statistic::Median).expect("a value");
    assert_eq!(reading.low.map(|low| (low * 1e6).round()), Some(low.round()));
    assert_eq!(reading.high.map(|high| (high * 1e6).round()), Some(high.round()));
}

/// However many requests there are, a P99 needs the same number for a verdict: a few or many of one
/// run, and all repeats together.
#[test]
fn p99_needs_one_number_of_requests() {
    let settings = settings();
    let of = |seed, rounds| noisy_run(&[NoisyLoop { seed, rounds, ..NOISY }]);
    let doubt = |a: &[RunData], b: &[RunData]| {
        let sides = (side("a", a, &settings), side("b", b, &settings));
        let pair = compare(&sides.0, &[sides.1], &settings).pairs.remove(0);
        row(&pair, 4, "ttft.p99").doubt.clone()
    };
    let short = |n| Some(Doubt::Short(Shortage::Values { n, needed: 1_000 }));
    assert_eq!(doubt(&[of(1, 4)], &[of(2, 4)]), short(12));
    assert_eq!(doubt(&[of(1, 100)], &[of(2, 100)]), short(396));
    let three = |rounds| [of(3, rounds), of(4, rounds), of(5, rounds)];
    assert_eq!(doubt(&three(60), &three(60)), short(708));
    // All of them are enough, but none has bounds by itself.
    let found = doubt(&three(90), &three(90));
    let alone = Shortage::Bounds { p: 99.0, n: 356, needed: 368 };
    assert_eq!(found, Some(Doubt::Short(alone)));
    assert_ne!(doubt(&three(120), &three(120)), short(1_428));
}

#[test]
fn reports_an_outlying_repeat() {
    let settings = settings();
    let of = |seed, itl_ms| noisy_run(&[NoisyLoop { seed, itl_ms, ..NOISY }]);
    let mut runs: Vec<RunData> = (0..5).map(|seed| of(seed, 10.0)).collect();
    let sides = (side("a", &runs, &settings), side("b", &[of(9, 10.0)], &settings));
    let pair = compare(&sides.0, std::slice::from_ref(&sides.1), &settings).pairs.remove(0);
    assert_eq!(pair.apart, []);
    runs[3] = of(3, 20.0);
    runs[3].manifest.run_id = "slow".to_owned();
    let apart = compare(&side("a", &runs, &settings), &[sides.1], &settings).pairs.remove(0).apart;
    assert!(apart.iter().all(|apart| apart.run == "slow" && apart.side == "a"), "{apart:?}");
    assert!(apart.iter().any(|apart| apart.measure.to_string() == "itl.p50"), "{apart:?}");
}

#[test]
fn loads_of_one_side_are_read_between_those_of_the_other_if_asked() {
    let settings = Settings { interpolates: true, ..settings() };
    let of = |seed, loads: &[(u32, f64)]| {
        let levels: Vec<NoisyLoop> = loads
            .iter()
            .map(|(users, itl_ms)| NoisyLoop {
                users: *users,
                itl_ms: *itl_ms,
                rounds: 200 / users,
                seed: seed + u64::from(*users),
                ..NOISY
            })
            .collect();
        noisy_run(&levels)
    };
    // ITL 10 ms at 2 users and 40 ms at 8: 20 ms at 4, by a power of the load.
    let a = of(1, &[(2, 10.0), (8, 40.0)]);
    let b = of(50, &[(1, 5.0), (4, 5.0), (16, 5.0)]);
    let pair = two(&a, &b, &settings);
    let loads: Vec<Load> = pair.rows.iter().filter_map(|row| row.at.load).collect();
    assert!(!loads.contains(&Load::Users(1)) && !loads.contains(&Load::Users(16)));
    let itl = row(&pair, 4, "itl.p50");
    assert!(itl.is_interpolated() && itl.a.is_some_and(|cell| cell.is_interpolated));
    assert!((itl.a.expect("between").value / 20e6 - 1.0).abs() < 0.02, "{itl:?}");
    let change = itl.change.expect("a ratio");
    assert!((change.value - 0.25).abs() < 0.01, "{change:?}");
    assert!(change.low < 0.13 && change.high > 0.49, "no surer than both ends: {change:?}");
    assert_eq!(itl.verdict, Verdict::Better);
    // Without being asked only what was requested of both is compared.
    let matched = two(&a, &b, &Settings { interpolates: false, ..settings.clone() });
    assert!(matched.rows.is_empty() && matched.unlike().next().is_some(), "{matched:?}");
    // A verdict against one neighbor only is not reported.
    let b = of(50, &[(4, 20.0)]);
    let pair = two(&a, &b, &settings);
    assert_eq!(row(&pair, 4, "itl.p50").verdict, Verdict::Inconclusive);
    // Nothing is read beyond what was measured.
    let far = two(&a, &of(70, &[(16, 5.0)]), &settings);
    assert!(far.rows.is_empty() && far.unlike().any(|d| d.what == "no common load"), "{far:?}");
}

#[test]
fn capacity_is_the_largest_measured_load_as_for_one_run() {
    let slo = slo::parse("itl:p50<20ms").expect("a target");
    let settings = Settings { slo, ..settings() };
    let of = |seed, loads: &[(u32, f64)]| {
        let level = |(users, itl_ms): &(u32, f64)| NoisyLoop {
            users: *users,
            itl_ms: *itl_ms,
            rounds: 160 / users,
            seed: seed + u64::from(*users),
            ..NOISY
        };
        noisy_run(&loads.iter().map(level).collect::<Vec<_>>())
    };
    let a = of(1, &[(1, 8.0), (2, 10.0), (8, 40.0)]);
    let b = of(50, &[(2, 5.0), (8, 10.0), (32, 40.0)]);
    let found = two(&a, &b, &settings).capacity.expect("a target");
    assert_eq!((found.a.state, found.a.between), (CapacityState::Found, Some((2.0, 8.0))));
    assert_eq!((found.a.load, found.b.load), (Some(2.0), Some(8.0)));
    assert_eq!((found.ratio, found.ratio_between), (Some(4.0), Some((1.0, 16.0))));
    assert_eq!((found.a.low, found.a.high), (Some(2.0), Some(2.0)));
    // The same as the run says of itself, also by a target that it was not measured with.
    let alone = ifm_metrics::summarize_for(&a, &settings.slo).answers.expect("levels").users;
    assert_eq!(alone.load.map(Load::value), found.a.load);
    assert_ne!(a.manifest.spec.slo.terms, settings.slo.terms);
    // What a search found holds for the target that it searched with, and for no other.
    let mut searched = a.clone();
    searched.manifest.capacity = Some(ifm_core::CapacityFound {
        inside: Some(1.0),
        outside: Some(2.0),
        outside_looks: Vec::new(),
        unsettled: None,
        contradicted: Vec::new(),
        is_over: true,
        usd_per_hour: None,
        gpus: None,
    });
    let by_levels = two(&searched, &b, &settings).capacity.expect("a target").a;
    assert_eq!(by_levels.load, Some(2.0));
    let own = Settings { slo: searched.manifest.spec.slo.clone(), ..settings.clone() };
    assert_eq!(two(&searched, &b, &own).capacity.expect("a target").a.load, Some(1.0));
    assert_eq!(found.a.limited_by.map(|measure| measure.to_string()).as_deref(), Some("itl.p50"));
    let inside = two(&of(1, &[(1, 8.0)]), &of(9, &[(1, 30.0)]), &settings).capacity.expect("both");
    assert_eq!((inside.a.state, inside.a.load), (CapacityState::AtLeast, Some(1.0)));
    assert_eq!((inside.b.state, inside.b.load), (CapacityState::Below, Some(1.0)));
    assert_eq!(inside.ratio, None);
    let none = Settings { slo: SloSpec::none(), ..settings };
    assert_eq!(two(&a, &b, &none).capacity, None);
}

#[test]
fn errors_are_counted_and_end_a_capacity() {
    let slo = slo::parse("itl:p50<20ms").expect("a target");
    let settings = Settings { slo, ..settings() };
    let sound = noisy_run(&[NoisyLoop { seed: 1, ..NOISY }]);
    let mut requests = sound.requests.clone();
    let from = requests.len() as u32;
    requests.extend((0..20).map(|i| failed(from + i, 0, 0, 90_000.0 + f64::from(i), 5.0)));
    let broken = run(&[4], requests);
    let pair = two(&sound, &broken, &settings);
    let row = row(&pair, 4, "error_rate");
    assert_eq!((row.verdict, row.basis), (Verdict::Worse, Some(Basis::Counts)));
    assert!((row.change.expect("points").value - 20.0 / 180.0).abs() < 1e-12);
    let capacity = pair.capacity.expect("a target");
    assert_eq!((capacity.b.state, capacity.b.limited_by), (CapacityState::Below, None));
    assert!(pair.differences.iter().any(|difference| difference.what == "warnings of checks"));
}

#[test]
fn compares_machines_if_both_are_known() {
    use ifm_core::facts::{Facts, Gpu, Host};
    let settings = settings();
    let told = |limit_w: Option<f64>, load_average: f64| {
        let gpu = Gpu { power_limit_w: limit_w, ecc: Some(true), ..Gpu::default() };
        let host = Host { load_average: Some(load_average), ..Host::default() };
        Some(Facts { gpus: vec![gpu], host: Some(host), ..Facts::default() })
    };
    let of = |facts: Option<Facts>, seed| {
        let mut run = noisy_run(&[NoisyLoop { seed, ..NOISY }]);
        run.manifest.facts = facts;
        run
    };
    let found = |a, b, what: &str| {
        let pair = two(&of(a, 0), &of(b, 1), &settings);
        assert!(pair.unlike().next().is_none(), "numbers of two machines do compare");
        pair.differences.into_iter().find(|difference| difference.what == what)
    };
    let a = told(Some(700.0), 0.1);
    let limit = found(a.clone(), told(Some(500.0), 9.0), "power limit").expect("a difference");
    assert_eq!((limit.kind, limit.is_of_machine), (DifferenceKind::Warning, true));
    assert_eq!((limit.a.as_deref(), limit.b.as_deref()), (Some("700 W"), Some("500 W")));
    let same = found(a.clone(), told(Some(700.0), 0.1), "power limit").expect("looked at");
    assert_eq!(same.kind, DifferenceKind::Same);
    let untold = found(a.clone(), told(None, 0.1), "power limit").expect("a difference");
    assert_eq!((untold.kind, untold.b), (DifferenceKind::Warning, None));
    assert!(found(a.clone(), told(Some(700.0), 9.0), "load average when read").is_none());
    assert!(found(a.clone(), told(Some(700.0), 0.1), "MIG").is_none(), "unknown on both sides");
    assert!(found(a.clone(), None, "power limit").is_none());
    let silent = found(a, None, "facts of the machine").expect("one side has no facts");
    assert_eq!((silent.kind, silent.is_of_machine), (DifferenceKind::Warning, false));
    assert!(found(None, None, "facts of the machine").is_none());
}

/// Lengths drawn by another seed differ by chance; others were requested so.
#[test]
fn lengths_of_one_workload_may_differ_by_their_seed() {
    let made = |seed: u64, tokens: u32| {
        let mut run = noisy_run(&[NOISY]);
        run.manifest.spec.workload.text = Some("agents:200/30".to_owned());
        run.manifest.spec.workload.seed = seed;
        if let Some(sent) = run.manifest.workload.as_mut() {
            sent.prompt_tokens = vec![(tokens, 160)];
        }
        run
    };
    let kind = |b: &RunData| {
        let pair = two(&made(1, 100), b, &settings());
        let found = pair.differences.iter().find(|it| it.what == "prompt tokens asked for");
        found.map(|found| found.kind)
    };
    assert_eq!(kind(&made(2, 110)), Some(DifferenceKind::Warning));
    assert_eq!(kind(&made(1, 110)), Some(DifferenceKind::Unlike));
    let mut other = made(2, 110);
    other.manifest.spec.workload.text = Some("agents:210/30".to_owned());
    assert_eq!(kind(&other), Some(DifferenceKind::Unlike));
}

#[test]
fn tags_are_compared() {
    let tagged = |seed, tags: &[(&str, &str)]| {
        let mut run = noisy_run(&[NoisyLoop { seed, ..NOISY }]);
        for (name, value) in tags {
            run.manifest.tags.insert((*name).to_owned(), (*value).to_owned());
        }
        run
    };
    let a = tagged(1, &[("max-num-seqs", "2"), ("gpu", "L40S")]);
    let b = tagged(2, &[("max-num-seqs", "8"), ("gpu", "L40S"), ("tp", "2")]);
    let pair = two(&a, &b, &settings());
    let tag = |name: &str| {
        let found = pair.differences.iter().find(|found| found.what == format!("tag {name}"));
        let found = found.unwrap_or_else(|| panic!("no difference of {name}"));
        (found.kind, found.a.as_deref(), found.b.as_deref())
    };
    assert_eq!(tag("max-num-seqs"), (DifferenceKind::Expected, Some("2"), Some("8")));
    assert_eq!(tag("tp"), (DifferenceKind::Expected, None, Some("2")));
    assert_eq!(tag("gpu").0, DifferenceKind::Same);
}

#[test]
fn reports_unlike_sides() {
    let settings = settings();
    let a = noisy_run(&[NOISY]);
    use DifferenceKind::{Expected, Same, Unlike, Warning};
    let check = |corrupt: &dyn Fn(&mut RunData), what: &str, kind: DifferenceKind| {
        let mut b = noisy_run(&[NoisyLoop { seed: 1, ..NOISY }]);
        corrupt(&mut b);
        let pair = two(&a, &b, &settings);
        let found = pair.differences.iter().find(|difference| difference.what == what);
        let found = found.unwrap_or_else(|| panic!("{what}: {:?}", pair.differences));
        assert_eq!(found.kind, kind, "{found:?}");
        assert_eq!(pair.unlike().next().is_some(), kind == Unlike, "{what}");
    };
    check(&|_| {}, "model", Same);
    // Of what a server reports about itself, only the differences are shown.
    let noted = |bits: &str| {
        let mut run = noisy_run(&[NOISY]);
        let notes = [("gpus", "1"), ("stored_dtype", bits), ("replicas", "1")];
        let notes = notes.map(|(name, value)| (name.to_owned(), value.to_owned()));
        run.manifest.server.notes = notes.into();
        run
    };
    let pair = two(&noted("bf16"), &noted("fp8"), &settings);
    let account =
        pair.differences.iter().find(|one| one.what == "settings reported by the server").unwrap();
    let told = (account.a.as_deref(), account.b.as_deref());
    assert_eq!(told, (Some("stored_dtype=bf16"), Some("stored_dtype=fp8")));
    check(&|run| run.manifest.spec.target.model = "other".to_owned(), "model", Expected);
    check(&|run| run.manifest.server.version = Some("9".to_owned()), "server", Expected);
    check(&|run| run.manifest.spec.target.stream = false, "streaming", Unlike);
    check(&|run| run.manifest.spec.workload.kind = "sharegpt".to_owned(), "workload", Unlike);
    check(&|run| run.manifest.spec.workload.seed = 9, "seed of the prompts", Expected);
    check(&|run| run.manifest.host.cpus = 64, "client's processor", Warning);
    check(
        &|run| run.manifest.state = ifm_core::RunState::Partial,
        "why the run is not complete",
        Warning,
    );
    let lengths = |tokens: u32| {
        move |run: &mut RunData| {
            if let Some(sent) = run.manifest.workload.as_mut() {
                sent.prompt_tokens = vec![(tokens, 160)];
            }
        }
    };
    check(&|_| {}, "where the numbers come from", Same);
    let prediction = |run: &mut RunData| *run = ifm_metrics::testing::predicted(run.clone());
    check(&prediction, "where the numbers come from", Warning);
    check(&prediction, "predicted from", Expected);
    // The measurement settings of a prediction do not matter.
    let mut b = a.clone();
    prediction(&mut b);
    let pair = two(&a, &b, &settings);
    assert!(!pair.differences.iter().any(|found| found.what == "kernel receive stamps"));
    check(&lengths(101), "prompt tokens asked for", Same);
    check(&lengths(110), "prompt tokens asked for", Unlike);
    let sums = |run: &mut RunData| run.manifest.prompts_blake3 = Some("ab".to_owned());
    check(&sums, "digest of the prompts", Warning);
    // Digests of two kinds say nothing of each other.
    let (mut old, mut new) = (a.clone(), a.clone());
    old.manifest.prompts_sha256 = Some("cd".to_owned());
    sums(&mut new);
    let pair = two(&old, &new, &settings);
    assert!(!pair.differences.iter().any(|found| found.what == "digest of the prompts"));
    let other_seed = |run: &mut RunData| {
        sums(run);
        run.manifest.spec.workload.seed = 9;
    };
    check(&other_seed, "digest of the prompts", Expected);
    let longer = noisy_run(&[NoisyLoop { tokens: 24, ..NOISY }]);
    let pair = two(&a, &longer, &settings);
    assert!(pair.unlike().any(|d| d.what == "mean output tokens at 4 users"), "{pair:?}");
}

#[test]
fn ranks_are_shared_where_no_difference_is_shown() {
    let settings = settings();
    let of = |label: &str, seed, itl_ms| {
        side(label, &[noisy_run(&[NoisyLoop { seed, itl_ms, ..NOISY }])], &settings)
    };
    let sides =
        [of("slow", 1, 20.0), of("fast", 2, 10.0), of("fast too", 3, 10.0), of("middle", 4, 14.0)];
    let common = rank::common_conditions(&sides, Measure::value_of(Metric::OutputRate));
    let at = common.last().expect("one load");
    let ranking = rank(&sides, Measure::value_of(Metric::OutputRate), at, &settings);
    let found: Vec<(&str, Option<usize>)> =
        ranking.order.iter().map(|ranked| (ranked.side.label.as_str(), ranked.rank)).collect();
    assert_eq!(found[2..], [("middle", Some(3)), ("slow", Some(4))]);
    assert!(found[..2].iter().all(|(label, rank)| label.starts_with("fast") && *rank == Some(1)));
    assert_eq!((&ranking.order[0].equal, ranking.order[0].last_rank), (&vec![1], Some(1)));
    assert!(ranking.order[2].equal.is_empty() && ranking.order[2].undecided.is_empty());
    let latency = rank(&sides, Measure::parse("itl.p50").expect("a measure"), at, &settings);
    assert_eq!(latency.order[3].side.label, "slow");
    let nowhere =
        rank(&sides, Measure::value_of(Metric::OutputRate), &Load::Users(99).into(), &settings);
    assert!(nowhere.order.iter().all(|ranked| ranked.rank.is_none() && ranked.cell.is_none()));
}

/// 30 requests each: 5 % between the servers is not settled, and equal ranks would say "no
/// difference".
#[test]
fn ranks_are_ranges_where_the_data_do_not_decide() {
    let measure = Measure::parse("itl.mean").expect("a measure");
    let settings = Settings { measures: vec![measure], ..settings() };
    let of = |label: &str, seed, itl_ms| {
        let noisy = NoisyLoop { users: 1, rounds: 30, spread: 0.3, seed, itl_ms, ..NOISY };
        side(label, &[noisy_run(&[noisy])], &settings)
    };
    let sides = [of("a", 1, 10.0), of("b", 2, 10.5), of("far", 3, 40.0)];
    let ranking = rank(&sides, measure, &Load::Users(1).into(), &settings);
    let places: Vec<_> =
        ranking.order.iter().map(|ranked| (ranked.rank, ranked.last_rank)).collect();
    assert_eq!(places, [(Some(1), Some(2)), (Some(1), Some(2)), (Some(3), Some(3))]);
    let open = &ranking.order[0].undecided;
    assert_eq!((open.len(), open[0].other), (1, 1));
    assert!(matches!(open[0].doubt, Some(Doubt::Wide | Doubt::Correction)), "{open:?}");
    assert!(open[0].detectable.is_some_and(|least| least > 0.03), "{open:?}");
    assert!(ranking.order.iter().all(|ranked| ranked.equal.is_empty()));
}

#[test]
fn the_same_seed_gives_the_same_comparison() {
    let settings = settings();
    let runs = [noisy_run(&[NOISY]), noisy_run(&[NoisyLoop { seed: 1, ..NOISY }])];
    let sides = [side("a", &runs[..1], &settings), side("b", &runs[1..], &settings)];
    let once = compare(&sides[0], &sides[1..], &settings);
    assert_eq!(once, compare(&sides[0], &sides[1..], &settings));
    let other = compare(&sides[0], &sides[1..], &Settings { seed: 1, ..settings });
    assert_ne!(once.pairs[0].rows, other.pairs[0].rows);
}
