//! What a simulated server says of its own requests, and what a client measures of the same ones.
//!
//! Not here: the simulation's own speed (`simulation`).

use super::lab::Lab;
use super::statistics::{Spread, median};
use super::table::{Table, number, verdict};
use anyhow::{Context as _, Result, ensure};
use ifm_core::RequestRecord;

/// From the client to the scheduler and back, as the simulation has it, milliseconds: the server does
/// not report these.
const FRONTEND_MS: f64 = 9.0;
const DEPLOYMENT: [&str; 8] = [
    "--sim",
    "--gpu",
    "h100-sxm",
    "--model",
    "llama-3.1-8b",
    "--enable-per-request-metrics",
    "--constant",
    "frontend_ms=9",
];
const WORKLOAD: &str = "random:64/64";
/// How the load comes, its flags, requests, and wall time of a second of the simulation, seconds.
const LOADS: [(&str, [&str; 2], u32, u32); 8] = [
    ("1 user", ["--concurrency", "1"], 12, 1),
    ("20 a second", ["--rate", "20"], 200, 1),
    ("100 a second", ["--rate", "100"], 600, 1),
    ("64 users", ["--concurrency", "64"], 256, 1),
    ("500 users", ["--concurrency", "500"], 1_500, 1),
    ("500 users, slowed 10 times", ["--concurrency", "500"], 1_500, 10),
    ("2,000 users", ["--concurrency", "2000"], 4_000, 1),
    ("2,000 users, slowed 10 times", ["--concurrency", "2000"], 4_000, 10),
];
/// How far a time may be off: the larger of the two.
const SHARE_TARGET: f64 = 0.01;
const MS_TARGET: f64 = 1.0;
/// How many requests are to be that near, percent: server and client share processors, and one of some
/// thousand requests may wait for its turn on them.
const NEAR_TARGET: f64 = 99.0;

const NOTE: &str = "An H100 with Llama 3.1 8B, 64 tokens in and out, in real time unless a row says that it \
    is slowed; server and client on the same processors. What the client measured less what the simulation \
    made of the same request: TTFT in ms, and the mean gap of an answer in percent. Means are signed, p99 is \
    a size. A request is near where its TTFT is within 1 % or 1 ms and its mean gap too.";

/// Runs the benchmark.
///
/// # Errors
/// When a run fails, or the server does not report its times.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let columns =
        ["load", "TTFT ms", "error ms", "p99 ms", "gap ms", "error %", "p99 %", "near %", "near"];
    let mut table = Table::new("Simulated server", NOTE, &columns);
    for (name, load, requests, scale) in LOADS {
        let frontend_ms = FRONTEND_MS * f64::from(scale);
        let slowed = [format!("--time-scale={scale}")];
        let deployment = DEPLOYMENT.into_iter().chain(slowed.iter().map(String::as_str));
        let deployment: Vec<&str> = deployment.collect();
        let mut found: [Vec<f64>; 7] = Default::default();
        for repeat in 1..=lab.repeats {
            let server = lab.serving(&deployment)?;
            let mut flags: Vec<String> = load.map(str::to_owned).to_vec();
            flags.extend([format!("--workload={WORKLOAD}"), format!("--requests={requests}")]);
            flags.push("--warmup=0".to_owned());
            let loaded = lab.run_on_url(&server.url, &flags)?;
            let pairs: Vec<Pair> = loaded
                .run
                .requests
                .iter()
                .filter_map(|record| Pair::of(record, frontend_ms))
                .collect();
            ensure!(
                pairs.len() == loaded.run.requests.len() && !pairs.is_empty(),
                "{} of {} answers tell their times",
                pairs.len(),
                loaded.run.requests.len()
            );
            let of = |value: fn(&Pair) -> f64| pairs.iter().map(value).collect::<Vec<f64>>();
            let ttft = Spread::of(&of(Pair::ttft_error_ms)).context("no answers")?;
            let gap = Spread::of(&of(Pair::gap_error_percent)).context("no answers")?;
            let near = pairs.iter().filter(|pair| pair.is_near()).count();
            let near_percent = near as f64 / pairs.len() as f64 * 100.0;
            let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
            let figures = [
                mean(of(|pair| pair.ttft_ms[0])),
                ttft.mean,
                ttft.p99_size,
                mean(of(|pair| pair.gap_ms[0])),
                gap.mean,
                gap.p99_size,
                near_percent,
            ];
            found.iter_mut().zip(figures).for_each(|(all, one)| all.push(one));
            say(&format!(
                "{name}, run {repeat}: TTFT {:+.2} ms, {near_percent:.1} % near",
                ttft.mean
            ));
        }
        let near = median(&found[6]);
        let mut row = vec![name.to_owned()];
        row.extend(
            found
                .iter()
                .zip([1, 2, 2, 2, 2, 2, 1])
                .map(|(all, places)| number(median(all), places)),
        );
        row.push(verdict(near.map(|near| 100.0 - near), 100.0 - NEAR_TARGET, "99 %"));
        table.push(row);
    }
    Ok(vec![table])
}

/// Times of one request: as the simulation has them, and as they were measured, milliseconds.
struct Pair {
    ttft_ms: [f64; 2],
    gap_ms: [f64; 2],
}

impl Pair {
    fn of(record: &RequestRecord, frontend_ms: f64) -> Option<Pair> {
        let ms = |ns: u64| ns as f64 / 1e6;
        let (first_ns, last_ns) = (record.first_token_ns()?, record.last_token_ns()?);
        let gaps = record.output_tokens?.tokens.checked_sub(1).filter(|gaps| *gaps > 0)?;
        let told_ms = ms(record.server_queue_ns? + record.server_first_token_ns?) + frontend_ms;
        let gap_ms = |ns: u64| ms(ns) / f64::from(gaps);
        Some(Pair {
            ttft_ms: [told_ms, ms(first_ns.saturating_sub(record.start_ns))],
            gap_ms: [gap_ms(record.server_decode_ns?), gap_ms(last_ns.saturating_sub(first_ns))],
        })
    }

    fn ttft_error_ms(&self) -> f64 {
        self.ttft_ms[1] - self.ttft_ms[0]
    }

    fn gap_error_percent(&self) -> f64 {
        (self.gap_ms[1] / self.gap_ms[0] - 1.0) * 100.0
    }

    fn is_near(&self) -> bool {
        [self.ttft_ms, self.gap_ms]
            .iter()
            .all(|[told, measured]| (measured - told).abs() <= (SHARE_TARGET * told).max(MS_TARGET))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_is_within_a_hundredth_or_a_millisecond() {
        let is_near = |ttft_ms, gap_ms| Pair { ttft_ms, gap_ms }.is_near();
        assert!(is_near([20.0, 20.9], [8.0, 8.1]));
        assert!(!is_near([20.0, 21.1], [8.0, 8.1]));
        assert!(is_near([500.0, 496.0], [8.0, 8.1]));
        assert!(!is_near([500.0, 494.0], [8.0, 8.1]));
    }
}
