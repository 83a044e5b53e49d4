//! What a report costs: time, memory and size, from one level to a hundred of ten thousand.
//!
//! The runs are synthetic: a stored answer is repeated with another seed of its times. The benchmark
//! measures the program that reads and reports, not the one that measured.

use super::lab::Lab;
use super::statistics::median;
use super::table::{Table, number, verdict};
use anyhow::{Context as _, Result, ensure};
use ifm_core::{LevelInfo, Manifest, RequestRecord, RunState};
use ifm_store::Store;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Levels, requests of each, tokens of each.
const SIZES: [(u16, u32, usize); 3] = [(1, 100, 128), (10, 1_000, 128), (100, 10_000, 16)];
const TARGET_S: f64 = 3.0;
const TARGET_BYTES: f64 = 5e6;
const GAP_NS: u64 = 10_000_000;
/// A run that is kept with the tests of the store.
const PATTERN: &str = "v1.2";

const NOTE: &str = "Wall time of inferometer report RUN -o x.html, from start to end of the \
    process. Requests of 16 tokens in the largest.";

/// Runs the benchmark.
///
/// # Errors
/// When a run cannot be made or reported.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let folder = tempfile::tempdir().context("a folder for the runs")?;
    let store = Store::at(folder.path());
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/ifm-store/tests/golden");
    let kept = Store::at(&golden);
    let pattern = kept.open(&kept.find(PATTERN)?)?.data;
    let answer = pattern.requests.iter().find(|record| record.outcome.is_ok());
    let answer = answer.context("the kept run has no complete answer")?;
    let heads =
        ["levels x requests", "read and told, s", "target", "HTML, MB", "target", "run, MB"];
    let mut table = Table::new("Report", NOTE, &heads);
    for (levels, requests, tokens) in SIZES {
        let id = format!("made-{levels}-{requests}");
        let stored = make(&store, &id, &pattern.manifest, answer, (levels, requests, tokens))?;
        let page = folder.path().join("page.html");
        let mut seconds = Vec::new();
        for repeat in 1..=lab.repeats {
            let began = Instant::now();
            let done = Command::new(lab.binary())
                .args(["report", &id, "--store"])
                .arg(folder.path())
                .arg("--out")
                .arg(&page)
                .output()?;
            ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            seconds.push(began.elapsed().as_secs_f64());
            say(&format!("{id}, run {repeat}: {:.2} s", seconds.last().unwrap_or(&f64::NAN)));
        }
        let size = std::fs::metadata(&page)?.len() as f64;
        table.push(vec![
            format!("{levels} x {requests}"),
            number(median(&seconds), 2),
            verdict(median(&seconds), TARGET_S, "3"),
            number(Some(size / 1e6), 2),
            verdict(Some(size), TARGET_BYTES, "5"),
            number(Some(stored as f64 / 1e6), 1),
        ]);
    }
    Ok(vec![table])
}

/// Stores a run of these levels, requests and tokens; returns its size in bytes.
fn make(
    store: &Store,
    id: &str,
    pattern: &Manifest,
    answer: &RequestRecord,
    (levels, requests, tokens): (u16, u32, usize),
) -> Result<u64> {
    let mut manifest = pattern.clone();
    manifest.run_id = id.to_owned();
    manifest.state = RunState::Complete;
    let load = manifest.spec.levels.first().cloned().context("the kept run has no level")?;
    manifest.spec.levels = (0..levels)
        .map(|level| {
            let mut load = load.clone();
            load.arrivals = None;
            load.concurrency = u32::from(level) + 1;
            load
        })
        .collect();
    let mut writer = store.create(&manifest)?;
    let mut infos = Vec::new();
    let mut now_ns = 0;
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    for level in 0..levels {
        let start_ns = now_ns;
        for seq in 0..requests {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let slot = seq % (u32::from(level) + 1);
            let begin = start_ns + u64::from(seq / (u32::from(level) + 1)) * GAP_NS * 20;
            let record = moved(answer, (level, seq, slot), begin, tokens, noise >> 44);
            now_ns = now_ns.max(record.end_ns);
            writer.append(&record)?;
        }
        infos.push(LevelInfo {
            level,
            start_ns,
            send_end_ns: now_ns,
            end_ns: now_ns,
            complete: true,
            ended_by: None,
            measured_again: None,
        });
    }
    manifest.levels = infos;
    Ok(writer.seal(manifest, &[])?.bytes)
}

/// The answer as another request: elsewhere, at another time, with other gaps.
fn moved(
    answer: &RequestRecord,
    (level, seq, slot): (u16, u32, u32),
    start_ns: u64,
    tokens: usize,
    noise: u64,
) -> RequestRecord {
    let mut record = answer.clone();
    (record.level, record.seq, record.slot, record.item) = (level, seq, slot, seq);
    (record.due_ns, record.start_ns, record.sent_ns) = (start_ns, start_ns, Some(start_ns));
    let at_ns = (0..tokens as u64).map(|token| start_ns + GAP_NS * (token + 1) + noise);
    record.events.at_ns = at_ns.collect();
    record.events.tokens.clear();
    record.events.choice.clear();
    record.end_ns = record.events.at_ns.last().copied().unwrap_or(start_ns) + 1;
    let first = record.events.at_ns.first().copied();
    (record.head_ns, record.first_event_ns, record.first_answer_ns) = (first, first, first);
    record.stream_end_ns = Some(record.end_ns);
    record
}
