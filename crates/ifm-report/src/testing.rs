//! Runs for the tests of this crate.

use crate::ReportModel;
use ifm_compare::comparison::{
    Comparison, Measure, Member, Metric, Ranking, Settings, Side, compare, rank,
};
use ifm_compare::gate::{
    Against, Bound, GateResult, Suggestion, Threshold, judge, measures, suggest,
};
use ifm_core::RunData;
use ifm_metrics::level::Load;
use ifm_metrics::slo;
use ifm_metrics::testing::{NoisyLoop, closed_loop, failed, noisy_run, run};

/// Three levels: 1 and 4 users inside the target, 8 outside with one failed request.
pub(crate) fn sweep() -> RunData {
    let mut requests = closed_loop((0, 0), (1, 60), 0.0, (91.0, 6.3, 16));
    requests.extend(closed_loop((60, 1), (4, 300), 20_000.0, (104.25, 7.8, 16)));
    requests.extend(closed_loop((1260, 2), (8, 20), 90_000.0, (1150.0, 48.8, 16)));
    requests.push(failed(1420, 2, 0, 128_000.0, 12.0));
    run(&[1, 4, 8], requests)
}

/// One level of 4 users.
pub(crate) fn single() -> RunData {
    run(&[4], closed_loop((0, 0), (4, 300), 0.0, (104.25, 7.8, 16)))
}

/// One level of 32 users whose first requests, which begin together, wait `first_wait_ms` for their
/// first token; all others wait 80 ms. The target is 500 ms.
pub(crate) fn burst(first_wait_ms: u64) -> RunData {
    let mut requests = closed_loop((0, 0), (32, 8), 0.0, (80.0, 10.0, 16));
    for record in requests.iter_mut().take(32) {
        record.events.at_ns[0] = record.start_ns + first_wait_ms * 1_000_000;
    }
    run(&[32], requests)
}

/// One level without an answer.
pub(crate) fn all_failed() -> RunData {
    run(&[2], (0..4).map(|seq| failed(seq, 0, seq % 2, f64::from(seq), 5.0)).collect())
}

pub(crate) fn model(run: &RunData) -> ReportModel {
    ReportModel::new(run, ifm_metrics::summarize(run))
}

/// Levels with the given users and ITL in milliseconds.
pub(crate) fn noisy(seed: u64, levels: &[(u32, f64)]) -> RunData {
    let level = |(users, itl_ms): &(u32, f64)| NoisyLoop {
        users: *users,
        rounds: 400 / users,
        ttft_ms: 100.0,
        itl_ms: *itl_ms,
        tokens: 12,
        spread: 0.1,
        memory: 0.0,
        seed: seed + u64::from(*users),
    };
    noisy_run(&levels.iter().map(level).collect::<Vec<_>>())
}

pub(crate) fn settings() -> Settings {
    let slo = slo::parse("itl:p50<30ms").expect("a target");
    Settings { resamples: 400, slo, ..Settings::default() }
}

pub(crate) fn side(label: &str, run: &RunData, measures: &[Measure]) -> Side {
    let settings = settings();
    Side { label: label.to_owned(), members: vec![Member::of(run, measures, &settings.slo)] }
}

/// Two sweeps: the second is faster for one user, slower for sixteen, and between them only the
/// first was measured. Its seed and its number of processors differ.
pub(crate) fn compared() -> Comparison {
    let measures = Measure::DEFAULT;
    let base = noisy(1, &[(1, 10.0), (4, 14.0), (16, 20.0)]);
    let mut other = noisy(50, &[(1, 8.0), (16, 40.0)]);
    other.manifest.spec.workload.seed = 9;
    other.manifest.run_id = "8812cafe".to_owned();
    other.manifest.host.cpus = 4;
    let (a, b) = (side("base", &base, &measures), side("other", &other, &measures));
    compare(&a, &[b], &settings())
}

/// Three runs by output, of which two are alike.
pub(crate) fn ranked() -> Ranking {
    let runs = [("slow", 1, 20.0), ("fast", 2, 10.0), ("fast too", 3, 10.0)];
    let sides = runs.map(|(label, seed, itl_ms)| {
        let mut run = noisy(seed, &[(4, itl_ms)]);
        run.manifest.run_id = format!("made-up-{seed}");
        side(label, &run, &[Measure::value_of(Metric::OutputRate)])
    });
    rank(&sides, Measure::value_of(Metric::OutputRate), &Load::Users(4).into(), &settings())
}

/// Four thresholds: one passes, two fail, one is left open.
pub(crate) fn gated() -> GateResult {
    let max = |text: &str| Threshold::parse(text, Bound::Max).expect(text);
    let thresholds = [
        max("itl.p50@4=50ms"),
        max("itl.p50@4=9ms"),
        max("ttft.p99@4=1s"),
        Threshold::parse("out_tok_s@4=-3%", Bound::Min).expect("a threshold"),
    ];
    let measures = measures(&thresholds);
    let few = NoisyLoop {
        users: 4,
        rounds: 60,
        ttft_ms: 100.0,
        itl_ms: 14.0,
        tokens: 12,
        spread: 0.1,
        memory: 0.0,
        seed: 7,
    };
    let run = side("new", &noisy_run(&[few]), &measures);
    let mut base = noisy(1, &[(4, 10.0)]);
    base.manifest.run_id = "made-up-1".to_owned();
    let base = side("main", &base, &measures);
    judge(&run, Against::Side(&base), &thresholds, &settings()).expect("a gate")
}

/// A thresholds file to begin with.
pub(crate) fn template() -> String {
    let run = side("main", &noisy(1, &[(1, 8.0), (4, 10.0), (16, 20.0)]), &Suggestion::measures());
    crate::gate_template(&suggest(&run, &settings()).expect("levels"))
}
