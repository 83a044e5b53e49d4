//! As many tokens as server and client can move: what one token costs the client.

use super::lab::{Drained, Lab, Load, Loaded};
use super::statistics::median;
use super::table::{Table, number, verdict};
use anyhow::Result;

const STREAMS: u32 = 64;
const REQUESTS: u32 = 64 * STREAMS;
const PROMPT_TOKENS: u32 = 32;
const TOKENS: u32 = 256;
/// Most bytes on disk for a token.
const DISK_BYTES_TARGET: f64 = 6.0;

/// How the server sends, and what the client may cost then, CPU seconds per million tokens.
const CASES: [(&str, &str, Option<f64>); 3] = [
    ("coalesced in sends of 16 KB", "coalesce=true", Some(0.25)),
    ("one send per event, 64 in a row", "burst=64", Some(1.4)),
    ("one send per event, round robin", "burst=1", None),
];

const NOTE: &str = "64 streams, 64 requests each, 256 tokens per answer, no pacing. CPU is that of \
    the whole process, decoding and storing included, less that of the same command with one \
    request. Where each event is a send of its own, the server is the slower side, and the simplest \
    client wakes up for whatever is there; inferometer lets arrivals gather for a tenth of a \
    millisecond while they come fast, so it can cost less than that limit.";

/// What one run says.
struct Figures {
    tokens_per_s: f64,
    cpu_ns_per_token: f64,
    tokens_per_read: f64,
    disk_bytes_per_token: f64,
    peak_mb: f64,
}

/// Runs the benchmark.
///
/// # Errors
/// When a run fails.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let columns = [
        "server",
        "client",
        "token events/s",
        "CPU s per 1M tokens",
        "target",
        "CPU ns per token",
        "times the limit",
        "tokens per read",
        "bytes per token on disk",
        "peak MB",
    ];
    let mut table = Table::new("Ceiling", NOTE, &columns);
    for (what, pace, target) in CASES {
        let (mut ours, mut limits) = (Vec::new(), Vec::new());
        for repeat in 1..=lab.repeats {
            let load = Load {
                pace,
                streams: STREAMS,
                requests: REQUESTS,
                prompt_tokens: PROMPT_TOKENS,
                tokens: TOKENS,
                options: "",
            };
            let server = lab.serve(false)?;
            let limit = lab.drain(&server, &load)?;
            let idle = lab.load(&server, &Load { requests: 1, ..load })?;
            let busy = lab.load(&server, &load)?;
            server.stop()?;
            let figures = figures(&load, &idle, &busy);
            say(&format!(
                "{what}, run {repeat}: {:.0} ns per token, limit {:.0} ns",
                figures.cpu_ns_per_token,
                limit.cpu_ns_per_token()
            ));
            ours.push(figures);
            limits.push(limit);
        }
        push_rows(&mut table, what, target, &ours, &limits);
    }
    Ok(vec![table])
}

fn figures(load: &Load<'_>, idle: &Loaded, busy: &Loaded) -> Figures {
    let tokens = load.tokens_total() as f64;
    let requests = &busy.run.requests;
    let start_ns = requests.iter().map(|record| record.start_ns).min().unwrap_or(0);
    let end_ns = requests.iter().map(|record| record.end_ns).max().unwrap_or(0);
    let reads: u64 = requests.iter().map(|record| u64::from(record.reads)).sum();
    let cpu_ns = busy.cost.cpu_ns as f64 - idle.cost.cpu_ns as f64;
    Figures {
        tokens_per_s: tokens * 1e9 / end_ns.saturating_sub(start_ns).max(1) as f64,
        cpu_ns_per_token: cpu_ns / (tokens - f64::from(load.tokens)),
        tokens_per_read: tokens / reads.max(1) as f64,
        disk_bytes_per_token: busy.disk_bytes as f64 / tokens,
        peak_mb: busy.cost.peak_memory_bytes as f64 / 1e6,
    }
}

fn push_rows(
    table: &mut Table,
    what: &str,
    target: Option<f64>,
    ours: &[Figures],
    limits: &[Drained],
) {
    let of = |figure: fn(&Figures) -> f64| median(&ours.iter().map(figure).collect::<Vec<_>>());
    let limit =
        |figure: fn(&Drained) -> f64| median(&limits.iter().map(figure).collect::<Vec<_>>());
    let cpu_ns = of(|figures| figures.cpu_ns_per_token);
    let limit_ns = limit(|drained| drained.cpu_ns_per_token());
    // Runs that were made in turn are compared with each other.
    let ratios: Vec<f64> = ours
        .iter()
        .zip(limits)
        .map(|(ours, limit)| ours.cpu_ns_per_token / limit.cpu_ns_per_token())
        .collect();
    let seconds = |ns: Option<f64>| ns.map(|ns| ns / 1e3);
    let disk = of(|figures| figures.disk_bytes_per_token);
    table.push(vec![
        what.to_owned(),
        "inferometer".to_owned(),
        number(of(|figures| figures.tokens_per_s), 0),
        number(seconds(cpu_ns), 3),
        target.map_or_else(String::new, |target| {
            verdict(seconds(cpu_ns), target, &number(Some(target), 2))
        }),
        number(cpu_ns, 0),
        number(median(&ratios), 2),
        number(of(|figures| figures.tokens_per_read), 2),
        format!("{} ({})", number(disk, 2), verdict(disk, DISK_BYTES_TARGET, "6")),
        number(of(|figures| figures.peak_mb), 0),
    ]);
    table.push(vec![
        what.to_owned(),
        "drain --parse".to_owned(),
        number(limit(|drained| drained.tokens_per_s), 0),
        number(seconds(limit_ns), 3),
        String::new(),
        number(limit_ns, 0),
        "1".to_owned(),
        number(limit(|drained| drained.tokens_per_read), 2),
    ]);
}
