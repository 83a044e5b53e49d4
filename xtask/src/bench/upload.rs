//! Long requests to a server that reads them slowly: how near the stored time of the last byte is to
//! the server's log, how much memory the client needs, and how much processor time, compared with
//! `curl`.

use super::child::run_on;
use super::lab::{Lab, Load, Loaded, Served};
use super::pair::pair;
use super::statistics::{Spread, median};
use super::table::{Table, number, verdict};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::Path;

const STREAMS: u32 = 64;
const TOKENS: u32 = 2;

/// What is sent.
struct Case {
    name: &'static str,
    prompt_tokens: u32,
    /// Enough that the start of two programs does not decide.
    requests: u32,
    /// Media of each request, all different.
    options: &'static str,
    /// The same where the processor's time counts: to make an image is not to send it.
    options_ready: &'static str,
    /// kB that the server reads of each connection in a second.
    read_kb_s: u32,
}

const CASES: [Case; 3] = [
    Case {
        name: "50,000 tokens",
        prompt_tokens: 50_000,
        requests: 1024,
        options: "",
        options_ready: "",
        read_kb_s: 1_000,
    },
    Case {
        name: "500,000 tokens",
        prompt_tokens: 500_000,
        requests: 256,
        options: "",
        options_ready: "",
        read_kb_s: 10_000,
    },
    // Noise does not get smaller: three bytes a pixel, 8 MB.
    Case {
        name: "an image of 8 MB",
        prompt_tokens: 16,
        requests: 256,
        options: "?image=1635x1635&image_kind=noise&image_format=png",
        options_ready: "?image=1635x1635&image_kind=noise&image_format=png&media_pool=1",
        read_kb_s: 10_000,
    },
];

const PACE: &str = "ttft_ms=200,itl_ms=20";
const ERROR_TARGET_MS: f64 = 1.0;
/// Memory in addition to the bodies in flight.
const MEMORY_EXTRA_MB: f64 = 60.0;
/// Processor time as a multiple of curl's.
const CPU_RATIO_TARGET: f64 = 1.3;

const NOTE: &str = "64 users, 1,024 requests of 50,000 tokens and 256 of the others, a server that reads \
    each connection slowly. The error is that of TTFT from the last byte: the stored time at which the \
    server's machine had it, less the kernel's stamp in the server's log. The memory target is 64 bodies \
    and 60 MB. Processor time is that of the whole client, its prompts included and images made once, to a \
    server that reads at once, next to that of curl, which sends one file of the same size as often, and \
    says that it did.";

/// Runs the benchmark.
///
/// # Errors
/// When a run fails, or its two sides do not fit.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let columns = [
        "prompt",
        "body MB",
        "error ms",
        "p99 ms",
        "target",
        "peak MB",
        "target",
        "CPU s",
        "CPU s of curl",
        "ratio",
        "target",
    ];
    let mut table = Table::new("Uploads", NOTE, &columns);
    for case in CASES {
        let load = Load {
            pace: PACE,
            streams: STREAMS,
            requests: case.requests,
            prompt_tokens: case.prompt_tokens,
            tokens: TOKENS,
            options: case.options,
        };
        let (mut errors, mut peaks, mut cpu, mut curl) = (vec![], vec![], vec![], vec![]);
        let mut body_mb = 0.0;
        for repeat in 1..=lab.repeats {
            let flags = ["--read-kb-s".to_owned(), case.read_kb_s.to_string()];
            let server = lab.serve_with(true, &flags)?;
            let loaded = lab.load(&server, &load)?;
            let log = server.stop()?;
            errors.extend(Spread::of(&arrival_errors(&loaded, &log)?));
            let sent: u64 = loaded.run.requests.iter().map(|record| record.sent_bytes).sum();
            body_mb = sent as f64 / f64::from(case.requests) / 1e6;
            peaks.push(loaded.cost.peak_memory_bytes as f64 / 1e6);
            let server = lab.serve(false)?;
            let ready = Load { options: case.options_ready, ..load };
            let quick = lab.load(&server, &ready)?;
            cpu.push(quick.cost.cpu_ns as f64 / 1e9);
            let body_bytes = sent / u64::from(case.requests);
            curl.push(curl_cpu_s(lab, &server.address, case.requests, body_bytes)?);
            server.stop()?;
            say(&format!("{}, run {repeat}: {body_mb:.1} MB a request", case.name));
        }
        let spread = Spread::median(&errors);
        let error = spread.map(|spread| spread.mean);
        let (peak, most) = (median(&peaks), f64::from(STREAMS) * body_mb + MEMORY_EXTRA_MB);
        let ratio = median(&cpu).zip(median(&curl)).map(|(own, curl)| own / curl);
        table.push(vec![
            case.name.to_owned(),
            number(Some(body_mb), 2),
            number(error, 3),
            number(spread.map(|spread| spread.p99_size), 3),
            verdict(spread.map(|spread| spread.p99_size), ERROR_TARGET_MS, "1"),
            number(peak, 0),
            verdict(peak, most, &format!("{most:.0}")),
            number(median(&cpu), 2),
            number(median(&curl), 2),
            number(ratio, 2),
            verdict(ratio, CPU_RATIO_TARGET, "1.3"),
        ]);
    }
    Ok(vec![table])
}

/// Stored less logged time of the last byte, milliseconds, for each request.
fn arrival_errors(loaded: &Loaded, log: &[Served]) -> Result<Vec<f64>> {
    let pairs = pair(&loaded.run, log)?;
    let error_ms = |pair: &super::pair::Pair<'_>| {
        let acked_ns = pair.said.acked_ns.context("the kernel does not report what was sent")?;
        let acked_ns = pair.on_server_clock(acked_ns);
        Ok((acked_ns as i64 - pair.truth.arrival_ns as i64) as f64 / 1e6)
    };
    pairs.iter().map(error_ms).collect()
}

/// Processor time of curl for as many bodies of the same size, as many at once.
fn curl_cpu_s(lab: &Lab, address: &str, requests: u32, body_bytes: u64) -> Result<f64> {
    let folder = tempfile::tempdir().context("no temporary folder can be made")?;
    let file = folder.path().join("body.json");
    let head = "{\"stream\":true,\"max_tokens\":2,\"messages\":[{\"role\":\"user\",\"content\":\"";
    let text = "x".repeat(body_bytes as usize);
    fs::write(&file, format!("{head}{text}\"}}]}}")).context("the body cannot be written")?;
    let url = format!("http://{address}/pace/{PACE}/v1/chat/completions");
    let mut words: Vec<String> =
        ["-s", "--parallel", "--parallel-max", "64"].map(str::to_owned).to_vec();
    for _ in 0..requests {
        let data = format!("@{}", file.display());
        let told = ["-w", "%{http_code} %{size_upload}\n", "-o", "/dev/null", &url, "--next"];
        let one = ["-H", "Expect:", "--data-binary", &data].into_iter().chain(told);
        words.extend(one.map(str::to_owned));
    }
    words.pop();
    let (said, cost) = run_on(lab.client_cpu(), Path::new("curl"), &words)?;
    let bytes = fs::metadata(&file).context("the body is gone")?.len();
    let told = format!("200 {bytes}");
    let sent = said.lines().filter(|line| *line == told).count();
    ensure!(sent == requests as usize, "curl sent {sent} of {requests} bodies");
    Ok(cost.cpu_ns as f64 / 1e9)
}
