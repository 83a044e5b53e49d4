//! Whether a search with scouts and five minutes finds what a search that measures every load in
//! full finds, and what both cost.
//!
//! The released binary searches simulated servers in virtual time, so the results depend on the seeds
//! and not on the host.

use super::lab::Lab;
use super::table::Table;
use anyhow::{Context as _, Result};
use serde_json::Value;

/// Server, target, workload and other flags of each try.
#[rustfmt::skip]
const TRIES: [(&str, &str, &str, &[&str]); 22] = [
    ("h100-sxm/llama-3.1-8b?jitter=0.05", "ttft:p95<1s,speed:p5>20", "chat", &[]),
    ("h100-sxm/llama-3.1-8b?jitter=0.05", "ttft:p99<500ms,itl:p99<50ms", "1024/128-384", &[]),
    ("h100-sxm/llama-3.1-8b?quant=fp8&jitter=0.05", "ttft:p90<300ms", "512/64-192", &[]),
    ("h100-sxm/llama-3.1-8b?jitter=0.1", "itl:p50<15ms", "256/64-192", &[]),
    ("h100-sxm/llama-3.1-8b?jitter=0.05", "e2e:p95<4s", "512-1024/128-256", &[]),
    ("l40s/llama-3.1-8b?jitter=0.05", "speed:p10>20", "512/64-192", &[]),
    ("l40s/llama-3.1-8b?jitter=0.05", "ttft:p50<300ms,itl:p50<30ms", "128/16-48", &[]),
    ("l40s/llama-3.1-8b?quant=fp8&jitter=0.05", "ttft:p95<1s,speed:p5>20", "512/64-192", &[]),
    ("l40s/llama-3.1-8b?jitter=0.1", "e2e:p90<8s", "256-768/64-192", &[]),
    ("a100-80g-sxm/llama-3.1-8b?jitter=0.05", "ttft:p95<500ms,tpot:p95<40ms", "1024/64-192", &[]),
    ("a100-80g-sxm/llama-3.1-8b?jitter=0.05", "itl:p99<60ms", "512/64-192", &[]),
    ("h100-sxm/llama-3.1-70b?quant=fp8&tp=4&jitter=0.05", "ttft:p90<1s,itl:p90<50ms", "512/64-192", &[]),
    ("h100-sxm/llama-3.1-8b?max-num-seqs=16&jitter=0.05", "ttft:p75<200ms", "256/64-192", &[]),
    ("h100-sxm/llama-3.1-8b?max-num-seqs=48&jitter=0.05", "ttft:p95<400ms", "256/64-192", &[]),
    ("l4/llama-3.1-8b?quant=fp8&jitter=0.05", "ttft:p90<2s,itl:p90<80ms", "512/32-96", &[]),
    ("h100-sxm/llama-3.1-8b?jitter=0.05", "ttft:p95<500ms", "512/64-192", &["--by=rate"]),
    ("h100-sxm/llama-3.1-8b?jitter=0.05", "ttft:p75<200ms,itl:p75<30ms", "256-768/64-192", &["--by=rate"]),
    ("l40s/llama-3.1-8b?jitter=0.05", "itl:p50<40ms", "512/64-192", &["--by=rate"]),
    ("l40s/llama-3.1-8b?quant=fp8&jitter=0.05", "ttft:p90<1s,itl:p90<60ms", "256/32-96", &["--by=rate"]),
    ("a100-80g-sxm/llama-3.1-8b?jitter=0.05", "ttft:p75<300ms", "512/64-192", &["--by=rate", "--arrivals=constant"]),
    ("h100-sxm/llama-3.1-8b?jitter=0.05&policy=prefill-first", "ttft:p95<300ms,itl:p95<40ms", "512/64-192", &[]),
    ("h100-sxm/llama-3.1-8b?replicas=2&jitter=0.05", "ttft:p90<400ms", "1024/64-192", &[]),
];

/// Precision of a search: the step in which answers are compared; at least one user.
const PRECISION: f64 = 0.05;
/// Distance between the seeds of the two searches without scouts.
const OTHER_SEED: usize = 1000;

const NOTE: &str = "Simulated servers in virtual time. Long: `capacity --no-scouts`, which measures \
    every load in full and has no time limit, with two seeds: where its two answers differ, the \
    target does not determine the capacity better. Short: the default, with scouts and at most 5 \
    minutes, with the first seed. Each answer is the largest load inside and the smallest outside. \
    The short answer agrees when its largest load inside lies within the answers of the long \
    searches, or at most one step (5 %, at least one user) below them. Seconds and requests are \
    those of the whole run, warm-up and confirmation included.";

/// What a search found, and what it cost.
struct Answer {
    inside: Option<f64>,
    outside: Option<f64>,
    seconds: f64,
    requests: f64,
}

/// Compares both searches on every server.
///
/// # Errors
/// When a search fails, or its document lacks a field.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Table> {
    let columns = [
        "server",
        "load",
        "target",
        "long",
        "long, other seed",
        "short",
        "agrees",
        "long s",
        "short s",
        "long requests",
        "short requests",
    ];
    let mut table = Table::new("Short search against the long one", NOTE, &columns);
    let (mut agreed, mut cost) = (0, [0.0; 4]);
    for (place, (server, target, workload, flags)) in TRIES.iter().enumerate() {
        let search = |seed: usize, extra: &[&str]| {
            let mut words = vec![format!("-W={workload}"), format!("--slo={target}")];
            words.push(format!("--seed={seed}"));
            words.extend(flags.iter().chain(extra).map(|flag| (*flag).to_owned()));
            answer(&lab.search(&format!("simulated://{server}"), &words)?)
        };
        let long = search(place + 1, &["--no-scouts"])?;
        let other = search(place + 1 + OTHER_SEED, &["--no-scouts"])?;
        let short = search(place + 1, &[])?;
        let by_rate = !flags.is_empty();
        let agrees = agrees(&short, &[&long, &other], by_rate);
        agreed += usize::from(agrees);
        for (sum, value) in
            cost.iter_mut().zip([long.seconds, short.seconds, long.requests, short.requests])
        {
            *sum += value;
        }
        let row = vec![
            (*server).to_owned(),
            format!("{workload}{}", if by_rate { ", by rate" } else { "" }),
            (*target).to_owned(),
            ends(&long),
            ends(&other),
            ends(&short),
            if agrees { "yes" } else { "no" }.to_owned(),
            format!("{:.0}", long.seconds),
            format!("{:.0}", short.seconds),
            format!("{:.0}", long.requests),
            format!("{:.0}", short.requests),
        ];
        say(&row.join(" | "));
        table.push(row);
    }
    let total = |value: f64| format!("{value:.0}");
    let [long_s, short_s, long_requests, short_requests] = cost.map(total);
    let all = format!("{agreed} of {}", TRIES.len());
    let empty = String::new;
    table.push(vec![
        "all".to_owned(),
        empty(),
        empty(),
        empty(),
        empty(),
        empty(),
        all,
        long_s,
        short_s,
        long_requests,
        short_requests,
    ]);
    Ok(table)
}

/// Reads the answer of a search.
fn answer(document: &Value) -> Result<Answer> {
    let load = |name: &str| {
        let keys = [format!("users_{name}"), format!("req_per_s_{name}")];
        keys.iter().find_map(|key| document.get(key)?.as_f64())
    };
    let number = |name: &str| {
        document[name].as_f64().with_context(|| format!("an answer without {name}: {document}"))
    };
    Ok(Answer {
        inside: load("inside"),
        outside: load("outside"),
        seconds: number("seconds_total")?,
        requests: number("requests_total")?,
    })
}

/// Whether the short answer lies within the answers of the long searches, or one step below them.
fn agrees(short: &Answer, long: &[&Answer], by_rate: bool) -> bool {
    let Some(inside) = short.inside else { return false };
    let lowest = long.iter().map(|long| long.inside.unwrap_or(0.0)).fold(f64::INFINITY, f64::min);
    let highest = long.iter().map(|long| long.outside.unwrap_or(f64::INFINITY)).fold(0.0, f64::max);
    let step =
        PRECISION * long.first().and_then(|long| long.outside.or(long.inside)).unwrap_or(1.0);
    let step = if by_rate { step } else { step.max(1.0) };
    (lowest - step - 1e-9..=highest + 1e-9).contains(&inside)
}

/// `14 to 15`.
fn ends(answer: &Answer) -> String {
    let load = |load: Option<f64>| match load {
        Some(load) if load.fract() == 0.0 => format!("{load:.0}"),
        Some(load) => format!("{load:.1}"),
        None => "?".to_owned(),
    };
    format!("{} to {}", load(answer.inside), load(answer.outside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_agrees_within_a_step_below_and_not_above() {
        let found = |inside: f64, outside: f64| Answer {
            inside: Some(inside),
            outside: Some(outside),
            seconds: 1.0,
            requests: 1.0,
        };
        let (long, other) = (found(40.0, 42.0), found(44.0, 46.0));
        for (inside, expect) in
            [(37.0, false), (38.0, true), (43.0, true), (46.0, true), (47.0, false)]
        {
            assert_eq!(agrees(&found(inside, 99.0), &[&long, &other], false), expect, "{inside}");
        }
        let nothing = Answer { inside: None, ..found(1.0, 2.0) };
        assert!(!agrees(&nothing, &[&long, &other], false));
        assert_eq!((ends(&long), ends(&nothing)), ("40 to 42".to_owned(), "? to 2".to_owned()));
    }
}
