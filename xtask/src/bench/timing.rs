//! How far TTFT, E2E and ITL are from the truth, from one stream to a thousand.

use super::error::{Errors, Figure, spread};
use super::lab::{Lab, Load};
use super::pair::pair;
use super::statistics::{Spread, median};
use super::table::{Table, number, verdict};
use anyhow::Result;

/// Two sends in a row where two are due: the closing events follow the last token at once, in a
/// send of their own.
const PACE: &str = "ttft_ms=200,itl_ms=20,burst=2";
/// The closing events come after the tokens of everybody else that are due.
const PACE_LATE_CLOSING: &str = "ttft_ms=200,itl_ms=20,burst=1";
const PROMPT_TOKENS: u32 = 32;
const TOKENS: u32 = 128;
/// Streams, rounds of requests (a request takes 2.74 s), and how the server sends.
const LEVELS: [(u32, u32, &str); 5] =
    [(1, 4, PACE), (64, 3, PACE), (256, 2, PACE), (1024, 2, PACE), (1024, 2, PACE_LATE_CLOSING)];
/// Largest mean error and largest 99th percentile, milliseconds.
const MEAN_TARGET_MS: f64 = 0.2;
const P99_TARGET_MS: f64 = 1.0;

const NOTE: &str = "TTFT 200 ms, ITL 20 ms, 128 tokens. What the client says minus what the server \
    logged, milliseconds: TTFT and E2E for each request, ITL for each gap. True times run from the \
    kernel's stamp of the request's arrival to the server's stamp before each write, so that a \
    late server adds no error. Below them, where the error comes from: start to \
    arrival, and write to the client's stamp of a token. Mean and median are signed, p99 and \
    largest are sizes. In the rows called late closing, thousand streams end at once and the \
    server sends each one's closing events milliseconds after its last token: where both wait in \
    one socket, the kernel keeps the later stamp, and nothing that a client can do brings back \
    the earlier one. Such an E2E is too long by up to the pause between the two.";

const COST_NOTE: &str = "The same runs: CPU of the whole client process, start-up included, for one \
    token event, next to that of the simplest client.";

/// A row: its name, what it is of, and whether it has a target.
const ROWS: [(&str, Figure, bool); 5] = [
    ("TTFT", |errors| &errors.ttft, true),
    ("E2E", |errors| &errors.e2e, true),
    ("ITL", |errors| &errors.itl, true),
    ("of it: sending", |errors| &errors.sending, false),
    ("of it: receiving", |errors| &errors.receiving, false),
];

/// Runs the benchmark.
///
/// # Errors
/// When a run fails, or its two sides do not fit.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let columns =
        ["error of", "streams", "mean", "p50", "p99", "largest", "mean below 0.2", "p99 below 1"];
    let mut table = Table::new("Timing error", NOTE, &columns);
    let columns = ["streams", "ns per token", "limit", "times the limit", "largest read delay, ms"];
    let mut costs = Table::new("Cost of paced streams", COST_NOTE, &columns);
    for (streams, rounds, pace) in LEVELS {
        let late_closing = pace == PACE_LATE_CLOSING;
        let requests = streams * rounds;
        let load = Load {
            pace,
            streams,
            requests,
            prompt_tokens: PROMPT_TOKENS,
            tokens: TOKENS,
            options: "",
        };
        let (mut errors, mut ours, mut limits, mut lags) = (vec![], vec![], vec![], vec![]);
        for repeat in 1..=lab.repeats {
            let server = lab.serve(false)?;
            limits.push(lab.drain(&server, &load)?.cpu_ns_per_token());
            server.stop()?;
            let server = lab.serve(true)?;
            let loaded = lab.load(&server, &load)?;
            let log = server.stop()?;
            let found = Errors::of(&pair(&loaded.run, &log)?)?;
            say(&format!("{streams} streams, run {repeat}: {}", in_short(&found)));
            errors.push(found);
            ours.push(loaded.cost.cpu_ns as f64 / load.tokens_total() as f64);
            let lag_ns = loaded.run.requests.iter().filter_map(|record| record.reader_lag_ns_max);
            lags.extend(lag_ns.max().map(|ns| ns as f64 / 1e6));
        }
        for (name, figure, has_target) in ROWS {
            let name = if late_closing { &format!("{name}, late closing") } else { name };
            push_row(&mut table, name, streams, spread(&errors, figure), has_target);
        }
        if late_closing {
            continue;
        }
        let ratios: Vec<f64> = ours.iter().zip(&limits).map(|(ours, limit)| ours / limit).collect();
        costs.push(vec![
            streams.to_string(),
            number(median(&ours), 0),
            number(median(&limits), 0),
            number(median(&ratios), 2),
            number(median(&lags), 3),
        ]);
    }
    Ok(vec![table, costs])
}

fn in_short(errors: &Errors) -> String {
    let parts = ROWS.iter().filter_map(|(name, figure, _)| {
        let spread = Spread::of(figure(errors))?;
        Some(format!("{name} {:+.3} / {:.3}", spread.mean, spread.p99_size))
    });
    format!("mean / p99 ms: {}", parts.collect::<Vec<_>>().join(", "))
}

fn push_row(table: &mut Table, name: &str, streams: u32, spread: Option<Spread>, has_target: bool) {
    let figure = |figure: fn(Spread) -> f64| number(spread.map(figure), 4);
    let target = |value: Option<f64>, target: f64| match has_target {
        true => verdict(value, target, "").trim_start_matches([':', ' ']).to_owned(),
        false => String::new(),
    };
    table.push(vec![
        name.to_owned(),
        streams.to_string(),
        figure(|spread| spread.mean),
        figure(|spread| spread.p50),
        figure(|spread| spread.p99_size),
        figure(|spread| spread.max_size),
        target(spread.map(|spread| spread.mean), MEAN_TARGET_MS),
        target(spread.map(|spread| spread.p99_size), P99_TARGET_MS),
    ]);
}
