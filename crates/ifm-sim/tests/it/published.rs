//! Published measurements that a forecast has to meet: with the defaults, and after a calibration
//! on one row or a few.
//!
//! Not here: the measurements (`rows`).

use crate::rows::{Level, ONE_BATCH, OneBatch, SWEEP_BF16, SWEEP_TOKENS, SWEEP_W8A8, SWEEP_WINDOW_S};
use crate::support::setup;
use ifm_sim::{
    Constants, Deployment, Kind, Load, Observation, Predicted, Settings, Span, Statistic, fit,
    free_by_default, predict,
};

fn deployment(kind: Kind, machine: &str, model: &str, format: &str) -> Deployment {
    let setup = setup(machine, model, format);
    let constants = Constants::defaults(kind, &setup);
    let settings = Settings::defaults(kind, &setup);
    Deployment::new(setup, constants, settings).expect("a deployment")
}

/// Mean of absolute relative errors.
fn mape(pairs: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let errors: Vec<f64> =
        pairs.into_iter().map(|(got, measured)| (got / measured - 1.0).abs()).collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

fn sweep_row(level: &Level) -> Observation {
    let load = match level.rate > 0.0 {
        true => Load::Open {
            req_per_s: level.rate,
            span: Span::Seconds(SWEEP_WINDOW_S),
            is_random: false,
        },
        false => Load::Closed { users: 1 },
    };
    Observation {
        statistic: Statistic::Median,
        ttft_s: Some(level.ttft_ms / 1e3),
        itl_s: Some(level.itl_ms / 1e3),
        ..Observation::of(load, SWEEP_TOKENS.0, SWEEP_TOKENS.1)
    }
}

/// Errors over the levels: of gaps, first tokens, rates and numbers under way.
fn sweep_errors(deployment: &Deployment, levels: &[&Level]) -> [f64; 4] {
    let got: Vec<Predicted> = levels
        .iter()
        .map(|level| predict(deployment, &sweep_row(level)).expect("a forecast"))
        .collect();
    for (l, p) in levels.iter().zip(&got) {
        eprintln!("{:.3}: itl {:.1} {:.1} ttft {:.0} {:.0} tok {:.0} {:.0} conc {:.1} {:.1}", l.rate, p.itl_s.unwrap()*1e3, l.itl_ms, p.ttft_s*1e3, l.ttft_ms, p.output_tok_per_s, l.output_tok_per_s, p.in_flight, l.concurrency);
    }
    let pairs = |of: fn(&Predicted) -> f64, measured: fn(&Level) -> f64| {
        mape(got.iter().zip(levels).map(|(got, level)| (of(got), measured(level))))
    };
    [
        pairs(|got| got.itl_s.expect("gaps"), |level| level.itl_ms / 1e3),
        pairs(|got| got.ttft_s, |level| level.ttft_ms / 1e3),
        pairs(|got| got.output_tok_per_s, |level| level.output_tok_per_s),
        pairs(|got| got.in_flight, |level| level.concurrency),
    ]
}

#[test]
fn sweep() {
    for (format, levels, second) in [("bf16", SWEEP_BF16, 4), ("w8a8", SWEEP_W8A8, 4)] {
        let deployment = deployment(Kind::Vllm, "l40s", "llama-3.1-8b", format);
        let all: Vec<&Level> = levels.iter().collect();
        let free = free_by_default(&deployment);
        eprintln!("{format} defaults {:.3?}", sweep_errors(&deployment, &all));
        for number in [vec![0], vec![0, second], vec![0, 8]] {
            let rows: Vec<Observation> = number.iter().map(|n| sweep_row(all[*n])).collect();
            let t = std::time::Instant::now();
            let fit = fit(&deployment, &rows, &free).expect("a fit");
            eprintln!("{:?} {:.2}", t.elapsed(), fit.scatter);
            for e in &fit.estimates { eprintln!("  {e:?}"); }
            let held: Vec<&Level> = all.iter().enumerate().filter(|(n, _)| !number.contains(n)).map(|(_, l)| *l).collect();
            eprintln!("{format} {number:?} {:.3?}", sweep_errors(&deployment.with_constants(fit.constants), &held));
        }
    }
}

fn batch_row(row: &OneBatch) -> Observation {
    Observation {
        ttft_s: Some(row.ttft_s),
        itl_s: Some(row.itl_ms / 1e3),
        ..Observation::of(Load::Batch { sequences: row.batch }, row.prompt, row.output)
    }
}

#[test]
fn one_batch() {
    let mut errors = [Vec::new(), Vec::new(), Vec::new()];
    let mut held = [Vec::new(), Vec::new(), Vec::new()];
    for format in ["bf16", "w8a16", "w8a8"] {
        let deployment = deployment(Kind::Sglang, "a100-80g-sxm", "qwen3-4b", format);
        let rows: Vec<&OneBatch> = ONE_BATCH.iter().filter(|row| row.format == format).collect();
        let calibration = [(1, 256.0), (1, 16384.0), (64, 256.0)];
        let is_in = |row: &&&OneBatch| calibration.contains(&(row.batch, row.prompt));
        let cal: Vec<Observation> = rows.iter().filter(is_in).map(|row| batch_row(row)).collect();
        let t = std::time::Instant::now();
        let fit = fit(&deployment, &cal, &free_by_default(&deployment)).expect("a fit");
        eprintln!("{format} {:?} {:.2}", t.elapsed(), fit.scatter);
        for e in &fit.estimates { eprintln!("  {e:?}"); }
        let calibrated = deployment.with_constants(fit.constants);
        for row in rows {
            let mut put = |deployment: &Deployment, errors: &mut [Vec<(f64, f64)>; 3]| {
                let got = predict(deployment, &batch_row(row)).expect("a forecast");
                errors[0].push((got.e2e_s, row.latency_s));
                errors[1].push((got.itl_s.expect("gaps"), row.itl_ms / 1e3));
                errors[2].push((got.ttft_s, row.ttft_s));
                eprintln!("{} {} {} {}: lat {:.4} {:.4} itl {:.3} {:.3} ttft {:.4} {:.4}", row.format, row.batch, row.prompt, row.output, got.e2e_s, row.latency_s, got.itl_s.unwrap()*1e3, row.itl_ms, got.ttft_s, row.ttft_s);
            };
            put(&deployment, &mut errors);
            if !is_in(&&row) { put(&calibrated, &mut held); }
        }
    }
    eprintln!("default lat {:.4} itl {:.4} ttft {:.4}", mape(errors[0].clone()), mape(errors[1].clone()), mape(errors[2].clone()));
    eprintln!("held lat {:.4} itl {:.4} ttft {:.4}", mape(held[0].clone()), mape(held[1].clone()), mape(held[2].clone()));
}

use crate::rows::*;
use crate::support::{closed, last_ns};
use ifm_sim::{Ask, Finished, Simulation};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

fn conversations(seed: u64) -> Vec<Ask> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = || random.random::<f64>();
    let mut prompts = Vec::new();
    let mut outputs = Vec::new();
    for _ in 0..1000 {
        let normal = (-2.0 * (1.0 - draw()).ln()).sqrt() * (std::f64::consts::TAU * draw()).cos();
        prompts.push((1.15 * normal).exp());
        outputs.push((-(1.0 - draw()).ln()).powf(1.0 / 0.65));
    }
    let scaled = |values: &[f64], most: f64, total: u64| -> Vec<u32> {
        let (mut low, mut high) = (0.0, 1e4);
        let at = |by: f64| values.iter().map(move |value| (value * by).clamp(4.0, most) as u32);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            let sum: u64 = at(middle).map(u64::from).sum();
            if sum < total { low = middle } else { high = middle }
        }
        at(high).collect()
    };
    let prompts = scaled(&prompts, 1024.0, SERVE_TOKENS.0);
    let outputs = scaled(&outputs, 900.0, SERVE_TOKENS.1);
    prompts.into_iter().zip(outputs).enumerate().map(|(n, (prompt_tokens, output_tokens))| Ask {
        prompt_tokens, output_tokens,
        blocks: (0..u64::from(prompt_tokens + output_tokens) / 16).map(|b| (n as u64) << 32 | b).collect(),
    }).collect()
}

fn p99(mut v: Vec<f64>) -> f64 { v.sort_by(f64::total_cmp); v[(v.len() as f64 * 0.99) as usize] }

#[test]
fn serve() {
    let setup = setup("rtx-pro-6000-blackwell", "phi-4", "bf16");
    let constants = Constants::defaults(Kind::Vllm, &setup);
    for (kv, cache, seed) in [(318_000, true, 1), (318_000, true, 2), (318_000, true, 3), (300_000, true, 1), (318_000, false, 1)] {
        let settings = Settings { kv_tokens: Some(kv), prefix_cache: cache, ..Settings::defaults(Kind::Vllm, &setup) };
        eprintln!("{kv} {cache} {seed} budget {} {}", settings.step_tokens, settings.sequences);
        let mut simulation = Simulation::new(Deployment::new(setup.clone(), constants, settings).unwrap());
        for run in SERVE {
            simulation.restart_stats();
            let start = simulation.now_ns();
            let finished: Vec<Finished> = closed(&mut simulation, run.concurrency.unwrap_or(1000), conversations(seed).into_iter());
            let stats = simulation.stats();
            let duration = (finished.iter().map(last_ns).max().unwrap() - start) as f64 / 1e9;
            let gaps: Vec<f64> = finished.iter().flat_map(|o| o.stamps.windows(2).map(|p| (p[1] - p[0]) as f64 / 1e9)).collect();
            let ttft: Vec<f64> = finished.iter().map(|o| (o.stamps[0] - o.sent_ns) as f64 / 1e9).collect();
            eprintln!("{:?}: hit {:.2} dur {:+.3} tok {:+.3} p99 ttft {:.3} itl {:.4} mean itl {:.4} ttft {:.3}", run.concurrency, stats.cached_tokens as f64 / stats.prompt_tokens as f64, duration / run.duration_s - 1.0,
                stats.generated_tokens as f64 / duration / run.output_tok_per_s - 1.0, p99(ttft.clone()), p99(gaps.clone()), gaps.iter().sum::<f64>() / gaps.len() as f64, ttft.iter().sum::<f64>() / 1000.0);
        }
    }
}

#[test]
fn decode() {
    let machine = "rtx-pro-6000-blackwell";
    let of = |n: usize| deployment(Kind::LlamaCpp, machine, DECODE[n].0, DECODE[n].1);
    let speed = |d: &Deployment, c: Constants| 1.0 / d.with_constants(c).step.decode_s(1.0, 64.0);
    for n in 0..5 { let d = of(n); eprintln!("{} {:.1} {:.1} GiB {:.2}", DECODE[n].0, speed(&d, *d.step.constants()), DECODE[n].2, d.setup.weight_bytes() / 1024f64.powi(3)); }
    let (small, large) = (of(0), of(1));
    let mut c = *small.step.constants();
    let (mut lo, mut hi) = (0.3, 1.5);
    for _ in 0..50 {
        c.bandwidth_share = f64::midpoint(lo, hi); c.kv_share = c.bandwidth_share;
        let (mut l, mut h) = (0.0, 1e-3);
        for _ in 0..50 { c.layer_host_s = f64::midpoint(l, h); if speed(&small, c) > DECODE[0].2 { l = c.layer_host_s } else { h = c.layer_host_s } }
        if speed(&large, c) < DECODE[1].2 { lo = c.bandwidth_share } else { hi = c.bandwidth_share }
    }
    eprintln!("{:.4} {:.1} us: nemo {:.2}", c.bandwidth_share, c.layer_host_s * 1e6, speed(&of(2), c) / DECODE[2].2 - 1.0);
    let (mut l, mut h) = (0.0, 1e-3);
    for _ in 0..50 { c.layer_host_s = f64::midpoint(l, h); if speed(&of(3), c) > DECODE[3].2 { l = c.layer_host_s } else { h = c.layer_host_s } }
    eprintln!("moe {:.1} us: gpt-oss {:.3}", c.layer_host_s * 1e6, speed(&of(4), c) / DECODE[4].2 - 1.0);

    use ifm_sim::power::*;
    let steady = |r: &(f64, f64, f64, f64)| r.1 - r.2 * 0.2 / 0.2f64.sqrt();
    for triple in [[400.0, 300.0, 200.0], [500.0, 350.0, 200.0], [600.0, 300.0, 200.0], [600.0, 300.0, 250.0], [600.0, 350.0, 200.0], [500.0, 300.0, 200.0], [450., 300., 200.]] {
        let dec: Vec<Limited> = LIMITED.iter().filter(|r| triple.contains(&r.0)).map(|r| Limited { limit_w: r.0, speed: r.3 }).collect();
        let pre: Vec<Limited> = LIMITED.iter().filter(|r| triple.contains(&r.0)).map(|r| Limited { limit_w: r.0, speed: steady(r) }).collect();
        let (d, p) = (PowerLaw::fit(&dec).unwrap(), PowerLaw::fit(&pre).unwrap());
        let held: Vec<_> = LIMITED.iter().filter(|r| !triple.contains(&r.0)).collect();
        eprintln!("{triple:?} dec {:.4} pre {:.4} {d:?} {p:?}", mape(held.iter().map(|r| (d.speed(r.0), r.3))), mape(held.iter().map(|r| (p.speed(r.0), steady(r)))));
    }
    let chat = deployment(Kind::Vllm, "h100-sxm", "qwen3.5-35b-a3b", "fp8");
    for context in [256.0, 1000.0, 2000.0, 4000.0] {
    let mut c = *chat.step.constants();
    let (mut l, mut h) = (0.0, 1e-3);
    for _ in 0..50 { c.layer_host_s = f64::midpoint(l, h); if 1.0/chat.with_constants(c).step.decode_s(1.0, context) > CHAT.0 { l = c.layer_host_s } else { h = c.layer_host_s } }
    let many = 1.0/chat.with_constants(c).step.decode_s(32.0, context);
    eprintln!("chat {context} {:.1} us: {:.2} {:.2} eff {:.3} {:.3}", c.layer_host_s*1e6, many, CHAT.1, many/CHAT.0, CHAT.1/CHAT.0);
    }
    for (f, levels) in [("bf16", SWEEP_BF16), ("w8a8", SWEEP_W8A8)] {
        let d = deployment(Kind::Vllm, "l40s", "llama-3.1-8b", f);
        let v1 = Constants { bandwidth_share: 0.8, kv_share: 0.8, attention_share: 0.45, step_host_s: 1e-3, layer_host_s: 15e-6, sequence_host_s: 10e-6, frontend_s: 8e-3, ..*d.step.constants() };
        for kv in [0.8, 0.85] {
        let d = d.with_constants(Constants { kv_share: kv, ..v1 });
        let fit = fit(&d, &[sweep_row(&levels[0])], &free_by_default(&d)).unwrap();
        let held: Vec<&Level> = levels[1..].iter().collect();
        eprintln!("V1 {:?}", sweep_errors(&d.with_constants(fit.constants), &held));
        }
    }
}
