//! `--gpu measured`: this machine, from its own stored results of `inferometer kernel`.
//!
//! Not here: what a ceiling is (`ifm-metrics`), and what it means for a model (`ifm-roofline`).

use crate::facts;
use ifm_core::Facts;
use ifm_metrics::measured_machine::{Device, NoCeilings, Stored, devices, measured_machine};
use ifm_roofline::Machine;
use ifm_store::{Import, Store};
use ifm_terminal::exit::Failure;
use std::fs;

/// The word of the flag.
const WORD: &str = "measured";
/// Where the kernel reports the caches of the first processor.
const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";
const BYTES_PER_MIB: f64 = (1_u64 << 20) as f64;

/// Resolves a machine to the notation of [`Machine::parse`]: `measured` is this machine by the newest
/// results in the store, its GPU before its processor, and `measured:ID` is the device of one result.
///
/// # Errors
/// There are no such results, or the store cannot be read.
pub fn resolve(gpu: &str, store: &Store) -> Result<String, Failure> {
    let (imports, all) = match gpu.trim().split_once(':') {
        _ if gpu.trim() == WORD => (kept(store)?, false),
        Some((WORD, id)) => {
            let found = store.find_import(id.trim());
            (vec![found.map_err(|error| Failure::usage(error.to_string()))?], true)
        }
        _ => return Ok(gpu.to_owned()),
    };
    let dates: Vec<String> = imports.iter().map(|import| date(&import.id)).collect();
    let stored: Vec<Stored<'_>> = imports
        .iter()
        .zip(&dates)
        .map(|(import, date)| Stored { id: &import.id, date, sheets: &import.sheets })
        .collect();
    let asked = if all { devices(&stored) } else { of_host() };
    if asked.is_empty() {
        let why = format!("{gpu} has no result of `kernel gemm` or `kernel bandwidth`");
        return Err(Failure::usage(why)
            .hint("run `inferometer kernel gemm` and `inferometer kernel bandwidth`"));
    }
    let mut failed = Vec::new();
    for device in asked {
        match measured_machine(&stored, &device).and_then(|found| found.description()) {
            Ok(description) => return Ok(description),
            Err(error) => failed.push(error),
        }
    }
    let reason = most_telling(&failed).map_or_else(String::new, ToString::to_string);
    Err(Failure::usage(reason))
}

/// Why no device has ceilings: that of one with results, if there is one, else that of the first.
fn most_telling(failed: &[NoCeilings]) -> Option<&NoCeilings> {
    let is_missing = |error: &&NoCeilings| matches!(error, NoCeilings::Missing { .. });
    failed.iter().find(|error| !is_missing(error)).or(failed.first())
}

/// The measured ceilings of the machines with these names, from results in the store, as text; none without
/// measurements, or if the store cannot be read.
pub fn beside(names: &[&str], store: &Store) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let imports = kept(store).ok()?;
    let dates: Vec<String> = imports.iter().map(|import| date(&import.id)).collect();
    let stored: Vec<Stored<'_>> = imports
        .iter()
        .zip(&dates)
        .map(|(import, date)| Stored { id: &import.id, date, sheets: &import.sheets })
        .collect();
    let named = devices(&stored).into_iter().filter(|device| names.contains(&device.name.as_str()));
    let here = processor(&facts::of_host().0);
    let told = named.filter_map(|device| {
        // More is known about this host than a document contains.
        let own = here.clone().filter(|own| own.name == device.name && device.is_cpu);
        measured_machine(&stored, &own.unwrap_or(device)).ok().map(|found| found.words())
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// All imports, newest first; unreadable ones are skipped.
fn kept(store: &Store) -> Result<Vec<Import>, Failure> {
    let ids = store.import_ids().map_err(|error| Failure::files(error.to_string()))?;
    Ok(ids.iter().filter_map(|id| store.import(id).ok()).collect())
}

/// `2026-11-25` from an ID that begins with `20261125-`.
fn date(id: &str) -> String {
    match (id.get(..4), id.get(4..6), id.get(6..8)) {
        (Some(year), Some(month), Some(day)) => format!("{year}-{month}-{day}"),
        _ => id.to_owned(),
    }
}

/// The devices of this host, GPUs first.
fn of_host() -> Vec<Device> {
    let (facts, _) = facts::of_host();
    let mut devices: Vec<Device> = facts.gpus.iter().filter_map(gpu).collect();
    devices.dedup();
    devices.extend(processor(&facts));
    devices
}

fn gpu(of: &ifm_core::facts::Gpu) -> Option<Device> {
    let name = of.name.clone()?;
    let cache_mib = Machine::find(&name).ok().and_then(|known| known.cache_mib);
    Some(Device {
        name,
        is_cpu: false,
        cache_bytes: cache_mib.map(|mebibytes| mebibytes * BYTES_PER_MIB),
        memory_bytes: of.memory_bytes.map(|bytes| bytes as f64),
        threads: None,
    })
}

fn processor(facts: &Facts) -> Option<Device> {
    let host = facts.host.as_ref()?;
    Some(Device {
        name: ifm_sys::host::cpu_name()?,
        is_cpu: true,
        cache_bytes: last_cache_bytes(),
        memory_bytes: host.memory_bytes.map(|bytes| bytes as f64),
        threads: host.cpu.as_ref().and_then(|cpu| cpu.threads),
    })
}

/// The largest cache of the first processor, bytes.
pub fn last_cache_bytes() -> Option<f64> {
    let sizes = fs::read_dir(CACHES).ok()?.filter_map(|entry| {
        let text = fs::read_to_string(entry.ok()?.path().join("size")).ok()?;
        let kib: f64 = text.trim().strip_suffix('K')?.parse().ok()?;
        Some(kib * 1024.0)
    });
    sizes.max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_measured_gpu_comes_before_that_of_an_unmeasured_processor() {
        let missing = |device: &str| NoCeilings::Missing {
            what: "`kernel gemm`",
            device: device.to_owned(),
            run: "gemm",
        };
        let small = NoCeilings::OnlyCaches { device: "H200".to_owned(), needed_mib: 240 };
        assert_eq!(most_telling(&[missing("EPYC"), small.clone()]), Some(&small));
        assert_eq!(most_telling(&[missing("H200"), missing("EPYC")]), Some(&missing("H200")));
    }

    #[test]
    fn other_words_are_left_alone_and_an_empty_store_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::at(folder.path());
        assert_eq!(resolve("l40s,bw=900", &store).ok().as_deref(), Some("l40s,bw=900"));
        assert!(resolve("measured", &store).is_err() && resolve("measured:x", &store).is_err());
        assert_eq!(beside(&["EPYC"], &store), None);
        assert_eq!(date("20261125-101500-ab12"), "2026-11-25");
    }
}
