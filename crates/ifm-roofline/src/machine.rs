//! Machines: peak bandwidth, peak arithmetic and memory, as published.
//!
//! A bound has to hold, so every figure is the largest that is published for the thing itself, and
//! dense: rates with 2:4 sparsity are twice as large and no inference reaches them with ordinary
//! weights.
//!
//! Not here: what share of a peak is reached in practice.

use crate::error::RooflineError;
use crate::words::{self, Names, Search, stated_gigabytes};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// How well a row is founded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Confidence {
    /// The vendor's own sheet.
    A,
    /// Derived from a vendor's sheet.
    B,
    /// A secondary source.
    C,
    /// Given by the user.
    User,
    /// Measured on the machine itself: what was sustained, and may be exceeded.
    Measured,
}

impl Confidence {
    /// In words.
    pub fn label(self) -> &'static str {
        match self {
            Confidence::A => "vendor's sheet",
            Confidence::B => "derived from a vendor's sheet",
            Confidence::C => "secondary source",
            Confidence::User => "set by the user",
            Confidence::Measured => "measured",
        }
    }
}

/// One accelerator. Rates are dense, in units of 1e12 operations a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Short name, unique in the table.
    pub id: String,
    /// Name in full.
    pub name: String,
    /// Common names of the machine.
    #[serde(default, skip_serializing)]
    names: Vec<String>,
    /// Memory bandwidth in GB/s (1e9 bytes).
    #[serde(rename(deserialize = "bw"))]
    pub bandwidth_gb_s: f64,
    /// Memory in GiB.
    #[serde(rename(deserialize = "mem"))]
    pub memory_gib: Option<f64>,
    /// Whether the thing is sold with other sizes of memory too.
    #[serde(default, skip_serializing)]
    mem_varies: bool,
    /// 16-bit arithmetic with 32-bit accumulation.
    #[serde(rename(deserialize = "bf16"))]
    pub bf16_tflops: f64,
    /// 16-bit arithmetic with 16-bit accumulation, where that is faster.
    #[serde(rename(deserialize = "fp16"))]
    pub fp16_tflops: Option<f64>,
    /// 8-bit integers.
    #[serde(rename(deserialize = "int8"))]
    pub int8_tops: Option<f64>,
    /// 8-bit floating point.
    #[serde(rename(deserialize = "fp8"))]
    pub fp8_tflops: Option<f64>,
    /// 4-bit floating point.
    #[serde(rename(deserialize = "fp4"))]
    pub fp4_tflops: Option<f64>,
    /// To the other GPUs of a server, one direction, GB/s.
    #[serde(rename(deserialize = "link"))]
    pub link_gb_s: Option<f64>,
    /// Last-level cache in MiB.
    #[serde(rename(deserialize = "cache"))]
    pub cache_mib: Option<f64>,
    /// Power limit as sold, W.
    #[serde(rename(deserialize = "tdp"))]
    pub tdp_w: Option<f64>,
    /// How well the row is founded.
    #[serde(rename(deserialize = "conf"))]
    pub confidence: Confidence,
    /// Where the figures come from.
    #[serde(rename(deserialize = "src"))]
    pub source: String,
}

#[derive(Deserialize)]
struct Table {
    machine: Vec<Machine>,
}

/// The table is part of the program; a test reads it, so that it cannot be malformed here.
static MACHINES: LazyLock<Vec<Machine>> = LazyLock::new(|| {
    toml::from_str::<Table>(include_str!("../data/hardware.toml"))
        .map(|table| table.machine)
        .unwrap_or_default()
});

/// Words that make another product of the same name.
const VARIANTS: &[&str] = &[
    "ada",
    "d",
    "hbm",
    "hgx",
    "dgx",
    "laptop",
    "lite",
    "max",
    "mig",
    "mobile",
    "nvl",
    "pcie",
    "pro",
    "q",
    "server",
    "super",
    "sxm",
    "ti",
    "ultra",
    "vgpu",
    "workstation",
    "ws",
];
/// Words that say nothing about which product it is.
const NOISE: &[&str] = &[
    "accelerator",
    "amd",
    "apple",
    "blackwell",
    "card",
    "core",
    "edition",
    "geforce",
    "generation",
    "google",
    "gpu",
    "gpus",
    "graphics",
    "instinct",
    "nvidia",
    "one",
    "single",
    "tensor",
    "tesla",
    "the",
    "x",
];
/// How far a size of memory in a name may be from the row's: sold as 48 GB, reported as 44.99 GiB.
const MEMORY_TOLERANCE: f64 = 0.12;

/// Maximum digits of a count: the 300 of a name is not a count.
const COUNT_DIGITS_MAX: usize = 2;

/// The words of a machine's name, without noise and without a count ("8x H100", "8xH100", "x8").
fn machine_words(name: &str) -> Vec<String> {
    words::words(name)
        .into_iter()
        .filter_map(|word| {
            let digits = word.chars().take_while(char::is_ascii_digit).count();
            match word[digits..].strip_prefix('x') {
                Some(rest) if (1..=COUNT_DIGITS_MAX).contains(&digits) => Some(rest.to_owned()),
                Some(rest) if digits == 0 && rest.chars().all(|c| c.is_ascii_digit()) => None,
                _ => Some(word),
            }
        })
        .filter(|word| !word.is_empty() && !NOISE.contains(&word.as_str()))
        .collect()
}

impl Machine {
    /// All rows of the table, in its order.
    pub fn all() -> &'static [Machine] {
        &MACHINES
    }

    /// The machine of this id or name ("l40s", "NVIDIA H100 80GB HBM3").
    ///
    /// A size of memory in the name has to fit the row, and words that make another product
    /// ("Laptop", "NVL", "Ti") have to belong to the row's name.
    ///
    /// # Errors
    /// [`RooflineError::Ambiguous`] where several rows fit ("H100"), [`RooflineError::Unknown`]
    /// with the nearest names where none does.
    pub fn find(name: &str) -> Result<Machine, RooflineError> {
        let asked = machine_words(name);
        let machines = Machine::all();
        let rows: Vec<Names<'_>> = machines
            .iter()
            .enumerate()
            .map(|(place, machine)| Names {
                place,
                id: &machine.id,
                title: &machine.name,
                aliases: machine
                    .names
                    .iter()
                    .chain([&machine.name, &machine.id])
                    .map(|alias| machine_words(alias))
                    .collect(),
            })
            .collect();
        let is_other = |place: usize, alias: &[String]| {
            machines.get(place).is_none_or(|machine| machine.is_other(&asked, alias))
        };
        match words::search(name, &asked, &rows, is_other) {
            Search::Found(place) => machines.get(place).cloned().ok_or_else(|| unknown(name, &[])),
            Search::Several(candidates) => Err(RooflineError::Ambiguous {
                what: "machine",
                asked: name.to_owned(),
                candidates,
            }),
            Search::Nothing(nearest) => Err(unknown(name, &nearest)),
        }
    }

    /// The GPUs that such a name counts: 8 of "8xl40s", "8x NVIDIA L40S", "l40s:8" or "Eight H100";
    /// `None` where it has no count. It still describes one machine.
    pub fn count_in(name: &str) -> Option<u32> {
        let pieces: Vec<&str> = name.split(',').filter(|piece| !piece.contains('=')).collect();
        crate::count::count(&pieces.join(","))
    }

    /// Whether the words name another product than this one, which the alias fits.
    fn is_other(&self, asked: &[String], alias: &[String]) -> bool {
        let own = |word: &String| {
            alias.contains(word) || self.names.iter().any(|name| words::words(name).contains(word))
        };
        asked.iter().any(|word| {
            if own(word) {
                return false;
            }
            match (stated_gigabytes(word), self.memory_gib) {
                (Some(stated), Some(memory)) if !self.mem_varies => {
                    (stated / memory - 1.0).abs() > MEMORY_TOLERANCE
                }
                _ => VARIANTS.contains(&word.as_str()),
            }
        })
    }

    /// The machine that a user describes: an id or name of the table, or figures
    /// (`bw=864,bf16=362,mem=45`), or a row with figures replaced (`l40s,bw=900`). Keys: `bw`
    /// (GB/s), `mem` (GiB), `bf16`, `fp16`, `int8`, `fp8`, `fp4` (1e12 a second, dense), `link`
    /// (GB/s in one direction), `cache` (MiB), `name`; `measured` says when and by what the figures
    /// were measured, and `id` which row of the table the machine is one of.
    ///
    /// # Errors
    /// As for [`Machine::find`], and [`RooflineError::Machine`] for a key or number that is not
    /// understood, and for a count of 0.
    pub fn parse(text: &str) -> Result<Machine, RooflineError> {
        let wrong = |reason: String| RooflineError::Machine { text: text.to_owned(), reason };
        let base = text.split(',').next().unwrap_or_default();
        if crate::count::is_zero(base) {
            return Err(wrong("the number of GPUs is 0: give 1 or more".to_owned()));
        }
        if !text.contains('=') {
            return Machine::find(text);
        }
        let mut pieces =
            text.split(',').map(str::trim).filter(|piece| !piece.is_empty()).peekable();
        let mut machine = match pieces.next_if(|piece| !piece.contains('=')) {
            Some(base) => {
                let row = Machine::find(base)?;
                Machine { name: format!("{}, changed", row.name), ..row }
            }
            None => Machine::blank(text),
        };
        machine.confidence = Confidence::User;
        machine.source = text.to_owned();
        for piece in pieces {
            let (key, value) = piece.split_once('=').ok_or_else(|| {
                wrong(format!("\"{piece}\" is not key=value; write bw=864,bf16=362,mem=45"))
            })?;
            let words = value.trim().to_owned();
            match key.trim() {
                "name" => machine.name = words,
                "id" => machine.id = words,
                "measured" => {
                    machine.confidence = Confidence::Measured;
                    machine.source = words;
                }
                _ => machine.set(key.trim(), number(key, value).map_err(wrong)?).map_err(wrong)?,
            }
        }
        if machine.bandwidth_gb_s <= 0.0 || machine.bf16_tflops <= 0.0 {
            return Err(wrong("bw (GB/s) and bf16 (1e12 a second, dense) are required".to_owned()));
        }
        Ok(machine)
    }

    fn blank(text: &str) -> Machine {
        Machine {
            id: "custom".to_owned(),
            name: "custom machine".to_owned(),
            names: Vec::new(),
            bandwidth_gb_s: 0.0,
            memory_gib: None,
            mem_varies: false,
            bf16_tflops: 0.0,
            fp16_tflops: None,
            int8_tops: None,
            fp8_tflops: None,
            fp4_tflops: None,
            link_gb_s: None,
            cache_mib: None,
            tdp_w: None,
            confidence: Confidence::User,
            source: text.to_owned(),
        }
    }

    fn set(&mut self, key: &str, number: f64) -> Result<(), String> {
        match key {
            "bw" => self.bandwidth_gb_s = number,
            "bf16" => self.bf16_tflops = number,
            "mem" => self.memory_gib = Some(number),
            "fp16" => self.fp16_tflops = Some(number),
            "int8" => self.int8_tops = Some(number),
            "fp8" => self.fp8_tflops = Some(number),
            "fp4" => self.fp4_tflops = Some(number),
            "link" => self.link_gb_s = Some(number),
            "cache" => self.cache_mib = Some(number),
            _ => {
                return Err(format!(
                    "\"{key}\" is not a key; known are bw, mem, bf16, fp16, int8, fp8, fp4, link, \
                     cache and name"
                ));
            }
        }
        Ok(())
    }

    /// Bytes a second from memory.
    pub fn bytes_per_s(&self) -> f64 {
        self.bandwidth_gb_s * 1e9
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> Option<f64> {
        self.memory_gib.map(|gib| gib * f64::from(1_u32 << 30))
    }
}

fn number(key: &str, value: &str) -> Result<f64, String> {
    let number = value.trim().parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("{key}={value}: give a number above 0"))
}

fn unknown(name: &str, nearest: &[String]) -> RooflineError {
    RooflineError::Unknown { what: "machine", asked: name.to_owned(), nearest: nearest.to_vec() }
}
