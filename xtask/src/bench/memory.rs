//! Peak memory of the client at a thousand streams.

use super::lab::{Lab, Load};
use super::statistics::median;
use super::table::{Table, number, verdict};
use anyhow::Result;

const STREAMS: u32 = 1_000;
const TOKENS: u32 = 1_000;
const PROMPT_TOKENS: u32 = 32;
const TARGET_MB: f64 = 400.0;

/// How the server sends.
const CASES: [(&str, &str); 2] =
    [("ITL 20 ms", "ttft_ms=200,itl_ms=20"), ("no pacing, coalesced", "coalesce=true")];

const NOTE: &str = "1,000 streams with one request of 1,000 tokens each, from start to stored run. \
    Without pacing the decoder falls behind and its bounded queue fills.";

/// Runs the benchmark.
///
/// # Errors
/// When a run fails.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let columns = ["server", "peak MB", "target", "bytes per token on disk", "CPU ns per token"];
    let mut table = Table::new("Memory", NOTE, &columns);
    for (what, pace) in CASES {
        let load = Load {
            pace,
            streams: STREAMS,
            requests: STREAMS,
            prompt_tokens: PROMPT_TOKENS,
            tokens: TOKENS,
            options: "",
        };
        let tokens = load.tokens_total() as f64;
        let (mut peaks, mut disk, mut cpu) = (vec![], vec![], vec![]);
        for repeat in 1..=lab.repeats {
            let server = lab.serve(false)?;
            let loaded = lab.load(&server, &load)?;
            server.stop()?;
            let peak_mb = loaded.cost.peak_memory_bytes as f64 / 1e6;
            say(&format!("{what}, run {repeat}: peak {peak_mb:.0} MB"));
            peaks.push(peak_mb);
            disk.push(loaded.disk_bytes as f64 / tokens);
            cpu.push(loaded.cost.cpu_ns as f64 / tokens);
        }
        let peak = median(&peaks);
        table.push(vec![
            what.to_owned(),
            number(peak, 0),
            verdict(peak, TARGET_MB, "400"),
            number(median(&disk), 2),
            number(median(&cpu), 0),
        ]);
    }
    Ok(vec![table])
}
