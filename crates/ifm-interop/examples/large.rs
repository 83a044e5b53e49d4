//! How fast a large file is imported, and in how much memory.
//!
//! `cargo run --release -p ifm-interop --example large -- vllm 1000` writes a result of
//! `vllm bench serve --save-detailed` of 1000 MB to a temporary folder, imports it on one thread,
//! and tells the time that its processor worked and the largest memory that it had. `sglang`
//! writes lines of `bench_serving`, of 500 requests each; `guidellm` a benchmark whose requests
//! stand deep inside of it; `rows` results of vLLM without requests, a line each, of which a sheet
//! keeps every figure.
use ifm_interop::Input;
use std::io::{BufWriter, Write};
use std::{env, error::Error, fs};

/// Tokens of an answer.
const TOKENS: usize = 200;
/// Requests on a line of SGLang's.
const REQUESTS_A_LINE: u64 = 500;
/// Requests of GuideLLM that are as long as one of the others.
const GAPS_A_RECORD: u64 = 2;
/// Bytes of a result without requests.
const ROW_BYTES: u64 = 1_100;
/// Bytes of a gap, a comma and a blank.
const GAP_BYTES: u64 = 22;

/// Seconds that a processor has worked for this thread.
fn cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// The largest resident memory so far, in megabytes.
fn memory_peak_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? * 1024.0 / 1e6)
}

/// Gaps of about 10 ms, with as many digits as Python writes.
struct Gaps(u64);

impl Gaps {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        0.005 + (self.0 >> 11) as f64 / (1_u64 << 53) as f64 * 0.01
    }
}

/// A list with one element for each request.
fn list(
    out: &mut impl Write,
    name: &str,
    requests: u64,
    mut element: impl FnMut(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    write!(out, ", \"{name}\": [")?;
    for request in 0..requests {
        out.write_all(if request == 0 { b"" } else { b", " })?;
        element(out)?;
    }
    write!(out, "]")
}

fn details(out: &mut impl Write, requests: u64, gaps: &mut Gaps) -> std::io::Result<()> {
    list(out, "input_lens", requests, |out| write!(out, "512"))?;
    list(out, "output_lens", requests, |out| write!(out, "{TOKENS}"))?;
    list(out, "ttfts", requests, |out| write!(out, "{}", gaps.next() * 10.0))?;
    list(out, "itls", requests, |out| {
        write!(out, "[{}", gaps.next())?;
        for _ in 2..TOKENS {
            write!(out, ", {}", gaps.next())?;
        }
        write!(out, "]")
    })?;
    list(out, "generated_texts", requests, |out| write!(out, "\"a b c d e f g h i j\""))?;
    list(out, "errors", requests, |out| write!(out, "\"\""))
}

/// A request as GuideLLM keeps it, with the text that it sent.
fn guidellm(out: &mut dyn Write, gaps: &mut Gaps) -> std::io::Result<()> {
    let start = 1.7e9 + gaps.next();
    let first = start + gaps.next() * 10.0;
    write!(
        out,
        "{{\"request_id\": \"0\", \"request_args\": \"{}\", \"output\": \"a b c d e f\", \
         \"info\": {{\"status\": \"completed\", \"timings\": {{\"request_start\": {start}, \
         \"first_token_iteration\": {first}, \"last_token_iteration\": {}, \"request_end\": {}}}}}, \
         \"prompt_tokens\": 512, \"output_tokens\": {TOKENS}, \"request_latency\": {}, \
         \"time_to_first_token_ms\": {}}}",
        "word ".repeat(300),
        first + 2.0,
        first + 2.1,
        first + 2.1 - start,
        (first - start) * 1e3,
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let tool = arguments.next().unwrap_or_else(|| "vllm".to_owned());
    let megabytes = arguments.next().map_or(Ok(100), |text| text.parse::<u64>())?;
    let requests = (megabytes * 1_000_000 / (GAP_BYTES * TOKENS as u64)).max(1);
    let file = tempfile::NamedTempFile::new()?;
    let mut out = BufWriter::new(file.as_file());
    let mut gaps = Gaps(1);
    match tool.as_str() {
        "vllm" => {
            write!(out, "{{\"endpoint_type\": \"openai\", \"burstiness\": 1.0, \"completed\": 1")?;
            details(&mut out, requests, &mut gaps)?;
            writeln!(out, ", \"mean_itl_ms\": 10.0}}")?;
        }
        "rows" => {
            for _ in 0..megabytes * 1_000_000 / ROW_BYTES {
                write!(
                    out,
                    "{{\"endpoint_type\": \"openai\", \"burstiness\": 1.0, \"completed\": 1"
                )?;
                for name in ["duration", "request_throughput", "output_throughput"] {
                    write!(out, ", \"{name}\": {}", gaps.next())?;
                }
                for metric in ["ttft", "tpot", "itl", "e2el"] {
                    for statistic in ["mean", "median", "std", "p50", "p90", "p99"] {
                        write!(out, ", \"{statistic}_{metric}_ms\": {}", gaps.next())?;
                    }
                }
                writeln!(out, "}}")?;
            }
        }
        "sglang" => {
            for _ in 0..requests.div_ceil(REQUESTS_A_LINE) {
                write!(
                    out,
                    "{{\"tag\": null, \"backend\": \"sglang\", \"dataset_name\": \"random\", \
                     \"request_rate\": Infinity, \"completed\": 1, \"total_output_tokens\": 1, \
                     \"total_throughput\": 5.0"
                )?;
                details(&mut out, REQUESTS_A_LINE, &mut gaps)?;
                writeln!(out, "}}")?;
            }
        }
        "guidellm" => {
            write!(out, "{{\"metadata\": {{\"guidellm_version\": \"0.8.1\"}}, \"config\": {{}}, ")?;
            write!(
                out,
                "\"benchmarks\": [{{\"type_\": \"generative\", \"scheduler_metrics\": {{}}, "
            )?;
            write!(
                out,
                "\"metrics\": {{\"request_totals\": {{\"successful\": 1}}}}, \"requests\": {{"
            )?;
            write!(out, "\"errored\": []")?;
            let times = requests * GAPS_A_RECORD;
            list(&mut out, "successful", times, |out| guidellm(out, &mut gaps))?;
            writeln!(out, "}}}}]}}")?;
        }
        other => return Err(format!("{other}: vllm, sglang, guidellm or rows").into()),
    }
    out.flush()?;
    drop(out);
    let before_mb = memory_peak_mb();
    let start = cpu_seconds();
    let sheet = ifm_interop::read(Input::new("large", fs::File::open(file.path())?))?;
    let worked = start.zip(cpu_seconds()).map(|(start, end)| end - start);
    let rows: Vec<_> = sheet.parts.iter().flat_map(|part| &part.rows).collect();
    let kept: usize = rows.iter().map(|row| row.requests.len()).sum();
    let mb = sheet.source.bytes as f64 / 1e6;
    let mut told = std::io::stdout().lock();
    write!(told, "{mb:.0} MB, {} rows, {kept} requests", rows.len())?;
    if let Some(seconds) = worked {
        write!(told, ", {seconds:.2} CPU s, {:.0} MB/s", mb / seconds)?;
    }
    if let Some((before, peak)) = before_mb.zip(memory_peak_mb()) {
        write!(told, ", peak {peak:.0} MB, {before:.0} before")?;
    }
    writeln!(told)?;
    Ok(())
}
