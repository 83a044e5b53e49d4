//! Six published runs of `vllm bench serve`, one after the other against one server: from the
//! second on they find prompts in its cache, and that alone explains their speed.
//!
//! Not here: the measurements (`rows`), and what has no cache (`published`).

use crate::rows::{SERVE, SERVE_P99_S, SERVE_TOKENS};
use crate::support::{closed, last_ns, setup};
use ifm_sim::{Ask, Constants, Deployment, Finished, Kind, Settings, Simulation};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

/// 1 000 conversations of the totals that were printed: prompts log-normal, answers by W. Weibull's
/// law, as that data set is. The same one has the same blocks in every run.
fn conversations(seed: u64) -> Vec<Ask> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = || random.random::<f64>();
    let (mut prompts, mut outputs) = (Vec::new(), Vec::new());
    for _ in 0..1000 {
        let normal = (-2.0 * (1.0 - draw()).ln()).sqrt() * (std::f64::consts::TAU * draw()).cos();
        prompts.push((1.15 * normal).exp());
        outputs.push((-(1.0 - draw()).ln()).powf(1.0 / 0.65));
    }
    let scaled = |values: &[f64], most: f64, total: u64| -> Vec<u32> {
        let at = |by: f64| values.iter().map(move |value| (value * by).clamp(4.0, most) as u32);
        let (mut low, mut high) = (0.0, 1e4);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            let sum: u64 = at(middle).map(u64::from).sum();
            if sum < total { low = middle } else { high = middle }
        }
        at(high).collect()
    };
    let prompts = scaled(&prompts, 1024.0, SERVE_TOKENS.0);
    let outputs = scaled(&outputs, 900.0, SERVE_TOKENS.1);
    let asks = prompts.into_iter().zip(outputs).zip(0_u64..);
    asks.map(|((prompt_tokens, output_tokens), number)| Ask {
        prompt_tokens,
        output_tokens,
        blocks: (0..u64::from(prompt_tokens + output_tokens) / 16)
            .map(|block| number << 32 | block)
            .collect(),
    })
    .collect()
}

/// A run of the series: errors of duration and of tokens a second, the share of prompts that were
/// found, and the 99th percentiles of first tokens and gaps, seconds.
struct Run {
    duration: f64,
    speed: f64,
    found: f64,
    ttft_p99_s: f64,
    itl_p99_s: f64,
}

fn series(kv_tokens: u64, prefix_cache: bool, seed: u64) -> Vec<Run> {
    let setup = setup("rtx-pro-6000-ws", "phi-4", "bf16");
    let constants = Constants::defaults(Kind::Vllm, &setup);
    let defaults = Settings::defaults(Kind::Vllm, &setup);
    let settings = Settings { kv_tokens: Some(kv_tokens), prefix_cache, ..defaults };
    let deployment = Deployment::new(setup, constants, settings).expect("a deployment");
    let mut simulation = Simulation::new(deployment);
    let run = |run: &crate::rows::Serve| {
        simulation.restart_stats();
        let start_ns = simulation.now_ns();
        let asks = conversations(seed).into_iter();
        let finished = closed(&mut simulation, run.concurrency.unwrap_or(1000), asks);
        let stats = simulation.stats();
        let end_ns = finished.iter().map(last_ns).max().expect("requests");
        let seconds = (end_ns - start_ns) as f64 / 1e9;
        let ttft = |one: &Finished| one.stamps[0] - one.sent_ns;
        let gaps = |one: &Finished| -> Vec<u64> {
            one.stamps.windows(2).map(|pair| pair[1] - pair[0]).collect()
        };
        Run {
            duration: seconds / run.duration_s - 1.0,
            speed: stats.generated_tokens as f64 / seconds / run.output_tok_per_s - 1.0,
            found: stats.cached_tokens as f64 / stats.prompt_tokens as f64,
            ttft_p99_s: p99_s(finished.iter().map(ttft).collect()),
            itl_p99_s: p99_s(finished.iter().flat_map(gaps).collect()),
        }
    };
    SERVE.iter().map(run).collect()
}

fn p99_s(mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    values[values.len() * 99 / 100] as f64 / 1e9
}

#[test]
fn six_runs_against_one_cache_are_met_whatever_the_lengths() {
    for seed in 1..=3 {
        let runs = series(318_000, true, seed);
        for (run, published) in runs.iter().zip(SERVE) {
            let (users, errors) = (published.concurrency, (run.duration, run.speed));
            assert!(errors.0.abs() < 0.1 && errors.1.abs() < 0.1, "{seed} {users:?} {errors:?}");
        }
        let found: Vec<f64> = runs.iter().map(|run| run.found).collect();
        assert_eq!(found[0], 0.0);
        assert!((0.3..0.6).contains(&found[1]), "{seed} {found:?}");
        assert!(found[2..].iter().all(|found| *found >= 0.9), "{seed} {found:?}");
        let (ttft, itl) = (runs[0].ttft_p99_s / SERVE_P99_S.0, runs[0].itl_p99_s / SERVE_P99_S.1);
        assert!((ttft - 1.0).abs() < 0.05 && (itl - 1.0).abs() < 0.05, "{seed} {ttft} {itl}");
    }
}

/// With room for a little less than the whole series each run drops what the next one needs first.
#[test]
fn a_little_less_room_and_the_cache_is_of_no_use() {
    let found = series(300_000, true, 1)[2].found;
    assert!(found < 0.3, "{found}");
}

#[test]
fn without_a_cache_the_series_cannot_be_explained() {
    let durations: Vec<f64> =
        series(318_000, false, 1)[2..].iter().map(|run| run.duration).collect();
    assert!(durations.iter().all(|error| *error > 0.2), "{durations:?}");
}
