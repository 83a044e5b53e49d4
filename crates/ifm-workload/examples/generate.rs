//! How fast prompts are made, and in how much memory.
//!
//! `cargo run --release -p ifm-workload --example generate -- random:1000/1 1000000` makes a
//! million prompts one after the other on one thread, and tells the time that its processor worked
//! and the largest memory that it had.
use std::{env, error::Error, fs, io::Write as _};

use ifm_tokenizer::Tokenizer;
use ifm_workload::{WorkloadRequest, open};

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

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "random:1000/1".to_owned());
    let count = arguments.next().map_or(Ok(100_000), |text| text.parse::<u32>())?;
    let opened = open(&WorkloadRequest::new(name.as_str(), 1), &Tokenizer::embedded()?)?;
    let start = cpu_seconds();
    let mut bytes = 0;
    for id in 0..count {
        let item = opened.dataset.item(id)?;
        bytes += item.turns.iter().map(|turn| turn.prompt.canonical_bytes().len()).sum::<usize>();
    }
    let megabytes = bytes as f64 / 1e6;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{name}: {count} items, {megabytes:.1} MB of text")?;
    if let (Some(start), Some(end)) = (start, cpu_seconds()) {
        let seconds = end - start;
        writeln!(out, "{seconds:.2} s of one processor, {:.1} MB/s", megabytes / seconds)?;
    }
    if let Some(peak) = memory_peak_mb() {
        writeln!(out, "{peak:.1} MB of memory at most")?;
    }
    Ok(())
}
