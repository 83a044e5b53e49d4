//! Prompts of 50,000 tokens: what the upload does to TTFT, and to memory.

use super::error::{Errors, Figure, spread};
use super::lab::{Lab, Load};
use super::pair::pair;
use super::statistics::median;
use super::table::{Table, number, verdict};
use anyhow::{Context as _, Result};

const LOAD: Load<'static> = Load {
    pace: "ttft_ms=200,itl_ms=20",
    streams: 32,
    requests: 64,
    prompt_tokens: 50_000,
    tokens: 16,
    options: "",
};
const ERROR_TARGET_MS: f64 = 0.1;
const MEMORY_TARGET_MB: f64 = 100.0;

const NOTE: &str = "32 streams, 64 requests with random prompts of 50,000 tokens, TTFT 200 ms. True \
    TTFT runs from the arrival of the request's last byte. The error beyond the upload is that of \
    TTFT less the stored time of the upload.";

/// Runs the benchmark.
///
/// # Errors
/// When a run fails, or its two sides do not fit.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let (mut errors, mut bodies, mut peaks, mut firsts) = (vec![], vec![], vec![], vec![]);
    for repeat in 1..=lab.repeats {
        let server = lab.serve(true)?;
        let loaded = lab.load(&server, &LOAD)?;
        let log = server.stop()?;
        let first_ns = log.iter().map(|served| served.first_byte_ns).min();
        let first_ns = first_ns.context("the server saw no request")?;
        let sent: u64 = loaded.run.requests.iter().map(|record| record.sent_bytes).sum();
        errors.push(Errors::of(&pair(&loaded.run, &log)?)?);
        bodies.push(sent as f64 / f64::from(LOAD.requests) / 1e3);
        peaks.push(loaded.cost.peak_memory_bytes as f64 / 1e6);
        firsts.push(first_ns.saturating_sub(loaded.cost.spawn_ns) as f64 / 1e6);
        say(&format!("run {repeat}: peak {:.0} MB", peaks.last().copied().unwrap_or(0.0)));
    }
    let mut table = Table::new("Long prompts", NOTE, &["figure", "value", "p99", "target"]);
    let mut push_error = |name: &str, figure: Figure, target: Option<f64>| {
        let spread = spread(&errors, figure);
        let mean = spread.map(|spread| spread.mean);
        table.push(vec![
            name.to_owned(),
            number(mean, 3),
            number(spread.map(|spread| spread.p99_size), 3),
            target.map_or_else(String::new, |target| verdict(mean, target, "0.1")),
        ]);
    };
    push_error(
        "error of TTFT beyond the upload, ms",
        |e| &e.ttft_less_upload,
        Some(ERROR_TARGET_MS),
    );
    push_error("error of TTFT, upload included, ms", |e| &e.ttft, None);
    push_error("upload as stored, ms", |e| &e.upload, None);
    push_error("start to last byte at the server, ms", |e| &e.sending, None);
    push_error("write to the client's stamp, ms", |e| &e.receiving, None);
    let peak = median(&peaks);
    let no = String::new;
    table.push(vec![
        "peak memory, MB".to_owned(),
        number(peak, 0),
        no(),
        verdict(peak, MEMORY_TARGET_MB, "100"),
    ]);
    table.push(vec!["process start to first request, ms".to_owned(), number(median(&firsts), 1)]);
    table.push(vec!["size of a request, kB".to_owned(), number(median(&bodies), 0)]);
    Ok(vec![table])
}
