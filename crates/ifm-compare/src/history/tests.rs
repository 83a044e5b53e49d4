//! Histories of synthetic runs whose changes are known.

use super::*;
use ifm_core::RunData;
use ifm_metrics::testing::{NoisyLoop, noisy_run};
use ifm_results::fact::ACCOUNT;

const NIGHTS: u64 = 12;
/// The first night of the change.
const BAD: u64 = 8;

/// A night: the gap is `itl_ms`, the server has a version.
fn run_of(night: u64, itl_ms: f64, rounds: u32) -> RunData {
    let noisy = NoisyLoop {
        users: 4,
        rounds,
        ttft_ms: 100.0,
        itl_ms,
        tokens: 12,
        spread: 0.1,
        memory: 0.0,
        seed: night,
    };
    let mut run = noisy_run(&[noisy]);
    run.manifest.run_id = format!("night-{night}");
    run.manifest.spec.workload.seed = night;
    run.manifest.server.kind = Some("vllm".to_owned());
    run.manifest.server.version = Some(if night < BAD { "0.9.1" } else { "0.9.2" }.to_owned());
    run
}

fn settings(words: &[&str]) -> HistorySettings {
    let measures = words.iter().map(|word| Measure::parse(word).expect(word)).collect();
    let comparison = Settings { measures, resamples: 100, ..Settings::default() };
    HistorySettings { comparison, by: Vec::new(), per: Per::Run }
}

fn dated(run: &RunData, night: u64, settings: &HistorySettings) -> Dated {
    let Settings { measures, slo, .. } = &settings.comparison;
    Dated {
        member: Member::of(run, measures, slo),
        at_utc: Some(format!("2026-03-{:02}T02:00:00Z", night + 1)),
        tags: vec!["nightly".to_owned(), format!("commit=c{night}")],
    }
}

fn nights(settings: &HistorySettings, itl_ms: impl Fn(u64) -> f64, rounds: u32) -> Vec<Dated> {
    let one = |night| {
        let mut run = run_of(night, itl_ms(night), rounds);
        run.manifest.tags.insert("commit".to_owned(), format!("c{night}"));
        dated(&run, night, settings)
    };
    (0..NIGHTS).map(one).collect()
}

/// Slower by 8 % from a night on, and each night by itself by 1 %.
fn slower(night: u64) -> f64 {
    let own = [0.3, -1.0, 0.8, 0.1, -0.4, 1.2, -0.9, 0.2, 0.5, -0.7, 0.9, -0.2];
    let own = 1.0 + 0.01 * own[night as usize];
    own * if night < BAD { 10.0 } else { 10.8 }
}

#[test]
fn a_step_names_its_first_run_and_what_it_came_with() {
    let settings = settings(&["itl.p50", "out_tok_s", "ttft.p50", "error_rate"]);
    let found = history(&nights(&settings, slower, 60), &settings);
    assert_eq!((found.cells.len(), found.runs.len(), found.tested), (1, 12, 4));
    let of = |word: &str| {
        let measure = Measure::parse(word).expect(word);
        found.series.iter().find(|series| series.measure == measure).expect(word)
    };
    let itl = of("itl.p50");
    assert_eq!(itl.state, SeriesState::Worse, "{itl:?}");
    let change = itl.latest().expect("a change");
    assert_eq!((change.kind, change.verdict), (ChangeKind::Step, Verdict::Worse));
    assert_eq!((change.last_before, change.first_after), (7, 8));
    assert!((change.size.value - 1.08).abs() < 0.02 && change.size.low > 1.05, "{change:?}");
    let came: Vec<(&str, Option<&str>, Option<&str>)> = change
        .came_with
        .iter()
        .map(|found| (found.what.as_str(), found.a.as_deref(), found.b.as_deref()))
        .collect();
    assert!(came.contains(&("commit", Some("c7"), Some("c8"))), "{came:?}");
    assert_eq!(came.iter().filter(|(what, ..)| what.contains("commit")).count(), 1, "{came:?}");
    assert!(came.contains(&("server", Some("vllm 0.9.1"), Some("vllm 0.9.2"))), "{came:?}");
    assert!(!came.iter().any(|(what, ..)| what.contains("seed") || what.contains("SHA")));
    assert_eq!(of("out_tok_s").state, SeriesState::Worse);
    assert_eq!(of("ttft.p50").state, SeriesState::Steady);
    assert_eq!(of("error_rate").state, SeriesState::Steady);
    let band = itl.stretches[0].band.expect("a band");
    assert!(band.low < 10e6 && band.high > 10e6 && band.high < 10.8e6, "{band:?}");
    assert!(itl.noise.is_some_and(|noise| (0.004..0.03).contains(&noise)), "{:?}", itl.noise);
}

#[test]
fn a_cell_with_too_few_runs_or_requests_is_undecided() {
    let settings = settings(&["itl.p50", "ttft.p99"]);
    // Twelve requests a night, and twice the time: still no regression.
    let found =
        history(&nights(&settings, |night| if night < 8 { 10.0 } else { 20.0 }, 3), &settings);
    for series in &found.series {
        assert_eq!(series.state, SeriesState::Undecided, "{series:?}");
        assert!(series.changes.is_empty());
        assert!(matches!(series.doubt, Some(Doubt::Short(Shortage::Values { .. }))));
    }
    let all = nights(&settings, slower, 60);
    let found = history(&all[..4], &settings);
    let doubt = found.series[0].doubt.as_ref().map(ToString::to_string);
    assert_eq!(doubt.as_deref(), Some("4 runs, 5 are needed"));
}

#[test]
fn cells_are_what_answers_one_question() {
    let mut settings = settings(&["itl.p50"]);
    let mut all = nights(&settings, |_| 10.0, 20);
    let mut other = run_of(20, 10.0, 20);
    other.manifest.spec.target.model = "another".to_owned();
    all.push(dated(&other, 20, &settings));
    let mut api = run_of(21, 10.0, 20);
    api.manifest.spec.workload.ignore_eos = !api.manifest.spec.workload.ignore_eos;
    all.push(dated(&api, 21, &settings));
    let found = history(&all, &settings);
    assert_eq!(found.cells.len(), 3, "{:?}", found.cells);
    assert!(found.cells[2].contains("end-of-text"), "{:?}", found.cells);
    // A version does not make a cell, unless requested.
    settings.by = vec!["server".to_owned()];
    assert_eq!(history(&all[..12], &settings).cells.len(), 2);
    settings.by = vec!["commit".to_owned()];
    assert_eq!(history(&all[..12], &settings).cells.len(), 12);
    assert!(names(&all).iter().any(|name| name == "commit"));
    assert_eq!(comparable(&all[0], &all[1..], &[]).len(), 11);
}

#[test]
fn runs_of_a_day_or_a_commit_become_one_value() {
    let mut settings = settings(&["itl.p50"]);
    let mut all = nights(&settings, slower, 20);
    for (place, of) in all.iter_mut().enumerate() {
        of.at_utc = Some(format!("2026-03-{:02}T0{}:00:00Z", place / 2 + 1, place % 2));
        of.tags = vec![format!("commit={}", place / 3)];
    }
    settings.per = Per::Day;
    let points = |settings: &HistorySettings| history(&all, settings).series[0].points.clone();
    let days = points(&settings);
    assert_eq!(days.len(), 6);
    assert_eq!((days[0].runs.as_slice(), days[0].cell.runs), ([0, 1].as_slice(), 2));
    settings.per = Per::Tag("commit".to_owned());
    assert_eq!(points(&settings).len(), 4);
}

#[test]
fn the_last_run_alone_is_outside_and_no_regression() {
    let settings = settings(&["itl.p50"]);
    let last = |night: u64| if night < 11 { slower(night.min(6)) } else { 12.0 };
    let found = history(&nights(&settings, last, 60), &settings);
    assert_eq!(found.series[0].state, SeriesState::Outside, "{:?}", found.series[0]);
    // A night in between is an outlier.
    let between = |night: u64| if night == 6 { 13.0 } else { slower(night.min(5)) };
    let found = history(&nights(&settings, between, 60), &settings);
    assert_eq!(found.series[0].state, SeriesState::Steady, "{:?}", found.series[0]);
    assert_eq!(found.series[0].points[6].standing, Standing::Apart);
}

/// Two variants of a model under one name, night after night in turn, are two series.
#[test]
fn what_a_server_reports_keeps_series_apart() {
    let settings = settings(&["itl.p50"]);
    let account = |all: &mut [Dated], of: &dyn Fn(usize) -> String| {
        for (night, dated) in all.iter_mut().enumerate() {
            let fact = dated.member.facts.iter_mut().find(|fact| fact.what == ACCOUNT);
            fact.expect("an account").value = Some(of(night));
        }
    };
    let mut all = nights(&settings, |night| if night % 2 == 0 { 10.0 } else { 6.0 }, 40);
    let dtype = |night: usize| if night.is_multiple_of(2) { "bf16" } else { "fp8" };
    account(&mut all, &|night| format!("gpus=1, stored_dtype={}, kv_tokens={night}", dtype(night)));
    let found = history(&all, &settings);
    let ends: Vec<&str> = found.cells.iter().filter_map(|cell| cell.rsplit(" · ").next()).collect();
    assert_eq!(ends, ["bf16", "fp8"], "{:?}", found.cells);
    assert!(found.series.iter().all(|series| series.points.len() == 6), "{:?}", found.series);
    assert!(found.series.iter().all(|series| series.noise.is_some_and(|noise| noise < 0.1)));
    // What moves with a version or with the free memory keeps nothing apart.
    account(&mut all, &|night| format!("version=0.{night}, kv_tokens={night}, stored_dtype=bf16"));
    assert_eq!(history(&all, &settings).cells.len(), 1);
}
