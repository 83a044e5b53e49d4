//! The machine of a server: facts of this host from GPUs, kernel and process, and documents of facts that
//! were created elsewhere.
//!
//! Not here: what the facts are (`ifm-core`), their sources (`ifm-telemetry`), and their text
//! (`ifm-metrics`).

mod document;
mod process;

pub use document::{FactsDocument, read, settings_text, text};
pub use process::of_process;

use ifm_core::Facts;
use ifm_core::facts::{Confidential, ServerProcess};
use ifm_probe::server::{Inspection, PageReader};
use ifm_telemetry::{Page, engine_facts, gpu_facts, host};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The variable with a file to use instead of NVIDIA's library.
const LIBRARY_VARIABLE: &str = "INFEROMETER_NVML";

/// The library of the GPU's driver, if it is not at its usual place.
pub fn library() -> Option<PathBuf> {
    std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The facts of this host, without a server; and why no GPU is among them, if so.
pub fn of_host() -> (Facts, Option<String>) {
    let root = Path::new(host::ROOT);
    let (gpus, mut confidential, why) = match gpu_facts::read(library().as_deref()) {
        Ok((gpus, confidential)) => (gpus, confidential, None),
        Err(why) => (Vec::new(), None, Some(why)),
    };
    if let Some(guest) = host::confidential_guest(root) {
        let told = confidential.get_or_insert_with(Confidential::default);
        told.cpu_guest = Some(guest);
    }
    let facts = Facts {
        taken_utc: Some(now_utc()),
        gpus,
        confidential,
        host: Some(host::read(root)),
        server: None,
    };
    (facts, why)
}

/// The time, UTC, to the second.
pub fn now_utc() -> String {
    format!("{:.0}", jiff::Timestamp::now())
}

/// The compute device: its GPUs, or the processor if it has none.
pub fn machine_name(facts: &Facts) -> Option<String> {
    let gpus: Vec<&str> = facts.gpus.iter().filter_map(|gpu| gpu.name.as_deref()).collect();
    let cpu = || facts.host.as_ref()?.cpu.as_ref()?.name.clone();
    match gpus.first() {
        Some(first) if gpus.len() > 1 => Some(format!("{} x {first}", gpus.len())),
        Some(first) => Some((*first).to_owned()),
        None => cpu(),
    }
}

/// `on` or `off`: this host's state of confidential computing; absent if no source reports it.
pub fn confidential_state() -> Option<&'static str> {
    of_host().0.confidential_word()
}

/// A server as a run knows it.
pub struct Known<'a> {
    /// Its addresses.
    pub addresses: &'a [SocketAddr],
    /// What it reported.
    pub inspection: &'a Inspection,
    /// Whether its metrics are read.
    pub reads_metrics: bool,
    /// Its metrics page, requested with the key.
    pub page: PageReader,
}

/// The facts for a run, from a document, or from this host if the server is on loopback; absent
/// without a source. The server's own report fills the gaps.
pub fn of_run(attached: Option<Facts>, known: &Known<'_>) -> Option<Facts> {
    let is_here = known.addresses.iter().all(|address| address.ip().is_loopback());
    let is_attached = attached.is_some();
    let mut facts = attached.or_else(|| is_here.then(|| of_host().0))?;
    let port = known.addresses.first().map(SocketAddr::port);
    let found = || port.filter(|_| is_here && !is_attached).and_then(process::listening_on);
    let mut server = facts.server.take().or_else(found).unwrap_or_default();
    let info = &known.inspection.info;
    server.kind = server.kind.or_else(|| info.kind.clone());
    server.version = server.version.or_else(|| info.version.clone());
    server.model = server.model.or_else(|| Some(known.inspection.model.clone()));
    if server.kv_capacity_tokens.is_none() {
        add_cache(&mut server, known);
    }
    facts.server = Some(server);
    Some(facts)
}

/// The names under which servers report the size of their caches, tokens.
const CAPACITY_NOTES: [&str; 2] = ["max_total_num_tokens", "max_batch_total_tokens"];

fn add_cache(server: &mut ServerProcess, known: &Known<'_>) {
    let notes = &known.inspection.info.notes;
    let noted = CAPACITY_NOTES.iter().find_map(|name| notes.get(*name)?.parse().ok());
    server.kv_capacity_tokens = noted;
    if noted.is_some() || !known.reads_metrics {
        return;
    }
    let Ok(text) = known.page.read() else { return };
    let told = engine_facts::read(&Page::read(&text));
    server.kv_capacity_tokens = told.capacity_tokens;
    for (name, value) in told.notes {
        server.notes.entry(name).or_insert(value);
    }
}
