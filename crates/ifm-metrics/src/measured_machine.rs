//! The measured ceilings of a machine, from stored results of `inferometer kernel`.
//!
//! Rows of products give a rate of arithmetic for each type, rows of moved arrays the bandwidth of
//! the memory; an array that may fit in caches says nothing about memory. For each type, and for
//! the memory, the newest document with such a result counts, and in it the best row: a ceiling is
//! what was reached once and can be reached again, which is why a row is a median of runs.
//!
//! Not here: where documents are kept and which machine this is (the binary), what a ceiling means
//! for a model (`ifm-roofline`).

use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, PartKind, Row, RowRole, Statistic, key};
use ifm_roofline::Machine;

/// The tool whose parts count.
const TOOL: &str = "inferometer kernel";
/// Device of rows that the processor computed.
const CPU: &str = "cpu";
/// The kernel of products.
const GEMM: &str = "gemm";
/// Kernels that move arrays.
const MOTIONS: [&str; 4] = ["read", "write", "copy", "triad"];
/// Arrays of this many last-level caches are read from memory, nearly all of them (STREAM's rule).
pub const CACHES: f64 = 4.0;
const BYTES_PER_MIB: f64 = (1_u64 << 20) as f64;

/// Types of products, by the figure of a [`Machine`] that they tell. 16-bit numbers can be widened, and
/// GGUF's blocks are multiplied as bytes.
const WIDE: [&str; 3] = ["bf16", "f32", "tf32"];
const HALF: [&str; 2] = ["f16", "fp16"];
const BYTES: [&str; 3] = ["int8", "q8_0", "q4_0"];
const FP8: [&str; 3] = ["fp8", "fp8_e4m3", "fp8_e5m2"];
const FP4: [&str; 3] = ["fp4", "nvfp4", "mxfp4"];

/// Documents that were stored together.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    /// By what the user finds them.
    pub id: &'a str,
    /// When they were stored: UTC, such as `2026-11-25`.
    pub date: &'a str,
    /// The documents.
    pub sheets: &'a [Sheet],
}

/// A device whose ceilings are requested.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Device {
    /// Name of the processor or GPU.
    pub name: String,
    /// Whether it is the processor of the host.
    pub is_cpu: bool,
    /// Last-level cache, bytes; absent where it is not known: then only the largest arrays count.
    pub cache_bytes: Option<f64>,
    /// Its memory, bytes.
    pub memory_bytes: Option<f64>,
    /// Logical processors: rows of more threads are of another machine with processors of the same name.
    pub threads: Option<u32>,
}

/// One ceiling, and where it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// Type of the product, or what was done to arrays.
    pub of: String,
    /// Operations or bytes per second.
    pub per_s: f64,
    /// Size of the product, or bytes of an array, as in the document.
    pub size: String,
    /// Who computed it, and on how many threads, if stated.
    pub by: String,
    /// The documents.
    pub document: String,
    /// When they were stored.
    pub date: String,
}

/// A device with its ceilings.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredMachine {
    /// The device.
    pub device: Device,
    /// For each type of products the best rate, operations per second.
    pub arithmetic: Vec<Ceiling>,
    /// The memory, bytes per second.
    pub bandwidth: Ceiling,
}

/// Why there are no ceilings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCeilings {
    /// One or both results are not there.
    #[error("no {what} result of {device} is in the store; run `inferometer kernel {run}`")]
    Missing {
        /// Which.
        what: &'static str,
        /// The device.
        device: String,
        /// The command, or two joined by words, that makes them.
        run: &'static str,
    },
    /// Arrays were moved, and all of them may have fit in caches.
    #[error(
        "the arrays of every `kernel bandwidth` result of {device} are smaller than {needed_mib} MiB, \
         four times its last-level cache; run `kernel bandwidth` with larger ones"
    )]
    OnlyCaches {
        /// The device.
        device: String,
        /// Minimum size of arrays that measure memory, MiB.
        needed_mib: u64,
    },
    /// Products of types that match no figure of a machine.
    #[error(
        "no `kernel gemm` result of {device} is of a type that a limit needs, such as bf16 or f32"
    )]
    NoKnownType {
        /// The device.
        device: String,
    },
}

/// A row that counts: its factors with the factors of its part, and its figure per second.
struct Found<'a> {
    stored: Stored<'a>,
    factors: Factors,
    per_s: f64,
}

impl Found<'_> {
    fn factor(&self, name: &str) -> &str {
        self.factors.get(name).unwrap_or_default().trim()
    }

    fn array_bytes(&self) -> f64 {
        self.factors.number("size").unwrap_or(0.0)
    }

    fn ceiling(&self, of: &str) -> Ceiling {
        let threads = self.factors.get("threads").map(|count| match count.trim() {
            "1" => "1 thread".to_owned(),
            count => format!("{count} threads"),
        });
        let provider = Some(self.factor("provider")).filter(|name| !name.is_empty());
        let by: Vec<String> = provider.map(str::to_owned).into_iter().chain(threads).collect();
        Ceiling {
            of: of.to_owned(),
            per_s: self.per_s,
            size: self.factor("size").to_owned(),
            by: by.join(" on "),
            document: self.stored.id.to_owned(),
            date: self.stored.date.to_owned(),
        }
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.trim().eq_ignore_ascii_case(other.trim())
}

impl Device {
    /// Whether a row with these factors was computed on it.
    fn is_of(&self, factors: &Factors) -> bool {
        let told = |name: &str| factors.get(name).unwrap_or_default();
        match self.is_cpu {
            true => {
                let threads = factors.number("threads");
                let fits = threads.zip(self.threads).is_none_or(|(n, most)| n <= f64::from(most));
                fits && is_same(told("device"), CPU) && is_same(told(key::HARDWARE), &self.name)
            }
            false => is_same(told("device"), &self.name),
        }
    }
}

/// The rows of all documents that tell a quantity, each with its factors.
fn rows<'a>(stored: &[Stored<'a>], quantity: Metric) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    for stored in stored {
        for sheet in stored.sheets {
            for part in &sheet.parts {
                let tool = part.tool.as_ref().or(sheet.source.tool.as_ref());
                if part.kind != PartKind::Kernel || tool.is_none_or(|tool| tool != TOOL) {
                    continue;
                }
                let measured = part.rows.iter().filter(|row| row.role == RowRole::Measured);
                found.extend(measured.filter_map(|row: &Row| {
                    let per_s = row.value(quantity, Statistic::Median)?;
                    let factors = row.factors.within(&part.factors);
                    let is_number = per_s.is_finite() && per_s > 0.0;
                    is_number.then_some(Found { stored: *stored, factors, per_s })
                }));
            }
        }
    }
    found
}

/// The best row of the newest document; `found` has the newest first.
fn best<'f, 'a>(found: &[&'f Found<'a>]) -> Option<&'f Found<'a>> {
    let newest = found.first()?.stored.id;
    let of_newest = found.iter().filter(|one| one.stored.id == newest);
    of_newest.max_by(|a, b| a.per_s.total_cmp(&b.per_s)).copied()
}

/// Processors and GPUs on which results were computed, in the order of the documents: the processor by
/// the name of the machine.
pub fn devices(stored: &[Stored<'_>]) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    let quantities = [Metric::FlopRate, Metric::Bandwidth];
    for row in quantities.iter().flat_map(|quantity| rows(stored, *quantity)) {
        let is_cpu = is_same(row.factor("device"), CPU);
        let name = row.factor(if is_cpu { key::HARDWARE } else { "device" }).to_owned();
        let is_new = devices.iter().all(|known| known.name != name || known.is_cpu != is_cpu);
        if is_new && !name.is_empty() {
            devices.push(Device { name, is_cpu, ..Device::default() });
        }
    }
    devices
}

/// The ceilings of a device; documents with the newest first.
///
/// # Errors
/// [`NoCeilings`].
pub fn measured_machine(
    stored: &[Stored<'_>],
    device: &Device,
) -> Result<MeasuredMachine, NoCeilings> {
    let of_device = |quantity: Metric, kernels: &[&str]| -> Vec<Found<'_>> {
        let mut all = rows(stored, quantity);
        all.retain(|row| device.is_of(&row.factors) && kernels.contains(&row.factor("kernel")));
        all
    };
    let products = of_device(Metric::FlopRate, &[GEMM]);
    let moved = of_device(Metric::Bandwidth, &MOTIONS);
    let (what, run) = match (products.is_empty(), moved.is_empty()) {
        (true, true) => {
            ("`kernel gemm` and `kernel bandwidth`", "gemm` and `inferometer kernel bandwidth")
        }
        (true, false) => ("`kernel gemm`", "gemm"),
        (false, true) => ("`kernel bandwidth`", "bandwidth"),
        (false, false) => ("", ""),
    };
    if !run.is_empty() {
        return Err(NoCeilings::Missing { what, device: device.name.clone(), run });
    }
    let mut types: Vec<&str> = products.iter().map(|row| row.factor("type")).collect();
    types.sort_unstable();
    types.dedup();
    let arithmetic = types.iter().filter_map(|of| {
        let of_type: Vec<&Found<'_>> =
            products.iter().filter(|row| row.factor("type") == *of).collect();
        Some(best(&of_type)?.ceiling(of))
    });
    let arithmetic: Vec<Ceiling> = arithmetic.collect();
    let bandwidth = memory(&moved, device)?;
    Ok(MeasuredMachine { device: device.clone(), arithmetic, bandwidth })
}

/// The best of the newest rows whose arrays no cache holds.
fn memory(moved: &[Found<'_>], device: &Device) -> Result<Ceiling, NoCeilings> {
    let large: Vec<&Found<'_>> = match device.cache_bytes {
        Some(cache) => moved.iter().filter(|row| row.array_bytes() >= CACHES * cache).collect(),
        None => {
            let newest = moved.first().map(|row| row.stored.id);
            let of_newest = || moved.iter().filter(|row| Some(row.stored.id) == newest);
            let largest = of_newest().map(Found::array_bytes).fold(0.0, f64::max);
            of_newest().filter(|row| row.array_bytes() >= largest).collect()
        }
    };
    let found = best(&large).ok_or_else(|| NoCeilings::OnlyCaches {
        device: device.name.clone(),
        needed_mib: (CACHES * device.cache_bytes.unwrap_or(0.0) / BYTES_PER_MIB).ceil() as u64,
    })?;
    Ok(found.ceiling(found.factor("kernel")))
}

impl MeasuredMachine {
    /// The best rate of these types.
    fn rate(&self, types: &[&str]) -> Option<&Ceiling> {
        let of = self.arithmetic.iter().filter(|ceiling| types.contains(&ceiling.of.as_str()));
        of.max_by(|a, b| a.per_s.total_cmp(&b.per_s))
    }

    /// What it reaches, as text: `EPYC, measured: f32 202 GFLOPS, memory 29.0 GB/s (2026-11-25)`.
    pub fn words(&self) -> String {
        let rates = self.arithmetic.iter().map(|ceiling| {
            let (rate, unit) = match ceiling.per_s {
                per_s if per_s < 1e12 => (per_s / 1e9, "GFLOPS"),
                per_s => (per_s / 1e12, "TFLOPS"),
            };
            format!("{} {rate:.0} {unit}", ceiling.of)
        });
        let rates: Vec<String> = rates.collect();
        let bandwidth = &self.bandwidth;
        format!(
            "{}, measured: {}, memory {:.1} GB/s ({})",
            self.device.name,
            rates.join(", "),
            bandwidth.per_s / 1e9,
            bandwidth.date
        )
    }

    /// The machine in the words of [`Machine::parse`], with its provenance.
    ///
    /// # Errors
    /// [`NoCeilings::NoKnownType`].
    pub fn description(&self) -> Result<String, NoCeilings> {
        let plain = |text: &str| text.replace([',', '='], " ");
        let name = || self.device.name.clone();
        let wide = self.rate(&WIDE).or_else(|| self.rate(&HALF));
        let wide = wide.ok_or_else(|| NoCeilings::NoKnownType { device: name() })?;
        let tera = |ceiling: &Ceiling| ceiling.per_s / 1e12;
        let (bandwidth, mut used) = (&self.bandwidth, vec![wide, &self.bandwidth]);
        let mut text = format!("bw={},bf16={}", short(bandwidth.per_s / 1e9), short(tera(wide)));
        for (key, types) in [("fp16", &HALF[..]), ("int8", &BYTES), ("fp8", &FP8), ("fp4", &FP4)] {
            if let Some(ceiling) = self.rate(types) {
                text.push_str(&format!(",{key}={}", short(tera(ceiling))));
                used.push(ceiling);
            }
        }
        let sizes =
            [("cache", self.device.cache_bytes, 1.0), ("mem", self.device.memory_bytes, 1024.0)];
        for (key, bytes, mebibytes) in sizes {
            if let Some(bytes) = bytes.filter(|bytes| *bytes > 0.0) {
                text.push_str(&format!(",{key}={:.2}", bytes / BYTES_PER_MIB / mebibytes));
            }
        }
        // Results of the GPU that a table knows are still results of that GPU.
        if let Some(known) = Machine::find(&self.device.name).ok().filter(|_| !self.device.is_cpu) {
            text.push_str(&format!(",id={}", known.id));
        }
        let mut from: Vec<String> = Vec::new();
        for ceiling in used {
            let one = format!("on {} by {}", ceiling.date, ceiling.document);
            if !from.contains(&one) {
                from.push(one);
            }
        }
        let from = plain(&from.join(" and "));
        Ok(format!("{text},name={},measured=here {from}", plain(&name())))
    }
}

/// Four digits: more were not measured.
fn short(value: f64) -> String {
    let decimals = (3.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
#[path = "measured_machine_tests.rs"]
mod tests;
