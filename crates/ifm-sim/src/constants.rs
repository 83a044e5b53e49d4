//! What a server loses relative to the peaks of its machine, as a few numbers.
//!
//! Defaults were chosen once on published measurements (`docs/concepts/prediction.md` names them);
//! a calibration replaces them with constants of one deployment.
//!
//! Not here: how a step follows from them (`step`), and how they are found (`fit`).

use ifm_roofline::{Arithmetic, Setup};
use serde::{Deserialize, Serialize};

/// What kind of server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// vLLM, as it is since its version 1.
    Vllm,
    /// SGLang.
    Sglang,
    /// llama.cpp's server.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// The embedded engine of this program, on a CPU.
    Inferometer,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::Vllm, Kind::Sglang, Kind::LlamaCpp, Kind::Inferometer];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Vllm => "vllm",
            Kind::Sglang => "sglang",
            Kind::LlamaCpp => "llama.cpp",
            Kind::Inferometer => "inferometer",
        }
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        let named = Kind::ALL.into_iter().find(|kind| kind.word().eq_ignore_ascii_case(text));
        named.ok_or_else(|| {
            let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
            format!("\"{text}\" is not a kind of server: {}", known.join(", "))
        })
    }
}

/// What a deployment loses relative to the peaks of its machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Constants {
    /// Share of the peak bandwidth at which weights are read.
    pub bandwidth_share: f64,
    /// Share of the peak bandwidth at which keys and values are read.
    pub kv_share: f64,
    /// Share of the peak rate at which matrices are multiplied.
    pub arithmetic_share: f64,
    /// Share of the peak 16-bit rate at which attention over a prompt is computed.
    pub attention_share: f64,
    /// Time of the host for each step, seconds.
    pub step_host_s: f64,
    /// Time of the host for each layer of a step, seconds.
    pub layer_host_s: f64,
    /// Time of the host for each sequence in a step, seconds.
    pub sequence_host_s: f64,
    /// What lies between a client and the scheduler for a request, both ways together, seconds.
    pub frontend_s: f64,
    /// Time for which each new request keeps the front end busy, one after another, seconds.
    pub request_serial_s: f64,
    /// Time of one exchange between GPUs that share a layer, transfer excluded, seconds.
    pub exchange_s: f64,
    /// Time for which the first request of each form of answers waits until its grammar is compiled,
    /// as do later requests of the same form meanwhile, seconds. Nothing else waits for it. Absent if
    /// unknown: then no request waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grammar_compile_s: Option<f64>,
}

/// The name of the one constant that has no default and is never fitted: a grammar is not part of what
/// other requests show.
const GRAMMAR_COMPILE_MS: &str = "grammar_compile_ms";

/// A constant: its name with the unit, and what it means.
#[derive(Debug, Clone, Copy)]
pub struct ConstantName {
    /// Name with the unit.
    pub name: &'static str,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// Units of the name in one unit of the constant: 1000 for milliseconds.
    pub scale: f64,
    /// The value.
    pub value: fn(&mut Constants) -> &mut f64,
}

/// All constants, in the order in which they are shown.
pub const CONSTANTS: &[ConstantName] = &[
    ConstantName {
        name: "bandwidth_share",
        meaning: "of the peak bandwidth, while weights are read",
        scale: 1.0,
        value: |constants| &mut constants.bandwidth_share,
    },
    ConstantName {
        name: "kv_share",
        meaning: "of the peak bandwidth, while keys and values are read",
        scale: 1.0,
        value: |constants| &mut constants.kv_share,
    },
    ConstantName {
        name: "arithmetic_share",
        meaning: "of the peak arithmetic, in the layers' products",
        scale: 1.0,
        value: |constants| &mut constants.arithmetic_share,
    },
    ConstantName {
        name: "attention_share",
        meaning: "of the peak 16-bit arithmetic, in attention over prompts",
        scale: 1.0,
        value: |constants| &mut constants.attention_share,
    },
    ConstantName {
        name: "step_host_ms",
        meaning: "of the host, for each step",
        scale: 1e3,
        value: |constants| &mut constants.step_host_s,
    },
    ConstantName {
        name: "layer_host_us",
        meaning: "of the host, for each layer of a step",
        scale: 1e6,
        value: |constants| &mut constants.layer_host_s,
    },
    ConstantName {
        name: "sequence_host_us",
        meaning: "of the host, for each sequence of a step",
        scale: 1e6,
        value: |constants| &mut constants.sequence_host_s,
    },
    ConstantName {
        name: "frontend_ms",
        meaning: "between client and scheduler, for a request",
        scale: 1e3,
        value: |constants| &mut constants.frontend_s,
    },
    ConstantName {
        name: "request_serial_ms",
        meaning: "of the front end, for each request, one after another",
        scale: 1e3,
        value: |constants| &mut constants.request_serial_s,
    },
    ConstantName {
        name: "exchange_us",
        meaning: "for each exchange between GPUs, transfer excluded",
        scale: 1e6,
        value: |constants| &mut constants.exchange_s,
    },
];

/// Machines whose cards reach so much less of the sheet's arithmetic than others: L4 and L40S, by
/// published runs of both in 16 and 8 bits.
const DERATED: &[(&str, f64)] = &[("l40s", 0.62), ("l4", 0.62)];

/// Time between two requests that reach a scheduler, at least: requests that are sent at once do not
/// arrive at once, and the first of them begins a step alone.
const SERIAL_S: f64 = 20e-6;

impl Constants {
    /// The defaults of a kind of server for a model on a machine.
    pub fn defaults(kind: Kind, setup: &Setup) -> Constants {
        let (model, format) = (setup.model(), &setup.precision().weights);
        let is_wide = matches!(format.arithmetic, Arithmetic::Bf16 | Arithmetic::Fp16);
        let products = match format.arithmetic {
            Arithmetic::Bf16 | Arithmetic::Fp16 => 0.65,
            Arithmetic::Int8 | Arithmetic::Fp8 => 0.42,
            Arithmetic::Fp4 => 0.35,
        };
        // Narrow weights that are widened before they are multiplied.
        let widening = if is_wide && format.bits < 16.0 { 0.65 } else { 1.0 };
        let id = setup.machine().id.as_str();
        let derated = DERATED.iter().find(|(name, _)| *name == id).map_or(1.0, |(_, by)| *by);
        let work = setup.work();
        let layer_us = match kind {
            Kind::Vllm | Kind::Sglang if work.has_experts && work.has_states => 87.0,
            Kind::Vllm | Kind::Sglang => 65.0 + if work.has_experts { 20.0 } else { 0.0 },
            Kind::LlamaCpp => 37.7 + if work.has_experts { 20.8 } else { 0.0 },
            Kind::Inferometer => 5.0,
        };
        let (step_ms, sequence_us, frontend_ms) = match kind {
            Kind::Vllm => (0.3, 15.0, 9.0),
            Kind::Sglang if widening < 1.0 => (0.3, 66.0, 35.0),
            Kind::Sglang => (0.3, 20.0, 35.0),
            Kind::LlamaCpp => (0.0, 10.0, 1.0),
            Kind::Inferometer => (0.05, 10.0, 0.5),
        };
        let streamed = if kind == Kind::LlamaCpp { 0.888 } else { 0.90 };
        Constants {
            bandwidth_share: streamed,
            kv_share: streamed,
            arithmetic_share: products * widening * derated,
            attention_share: if model.layers() > 0 && id.starts_with("a100") { 0.70 } else { 0.60 },
            step_host_s: step_ms / 1e3,
            layer_host_s: layer_us / 1e6,
            sequence_host_s: sequence_us / 1e6,
            frontend_s: frontend_ms / 1e3,
            request_serial_s: SERIAL_S,
            exchange_s: 8e-6,
            grammar_compile_s: None,
        }
    }

    /// Nothing is lost: the serial bound of the machine.
    pub const NONE_LOST: Constants = Constants {
        bandwidth_share: 1.0,
        kv_share: 1.0,
        arithmetic_share: 1.0,
        attention_share: 1.0,
        step_host_s: 0.0,
        layer_host_s: 0.0,
        sequence_host_s: 0.0,
        frontend_s: 0.0,
        request_serial_s: 0.0,
        exchange_s: 0.0,
        grammar_compile_s: None,
    };

    /// Name with the unit, and value in that unit, of each that is known.
    pub fn named(mut self) -> Vec<(&'static str, f64)> {
        let compile_s = self.grammar_compile_s;
        CONSTANTS
            .iter()
            .map(|constant| (constant.name, *(constant.value)(&mut self) * constant.scale))
            .chain(compile_s.map(|seconds| (GRAMMAR_COMPILE_MS, seconds * 1e3)))
            .collect()
    }

    /// Sets a constant by its name with the unit.
    ///
    /// # Errors
    /// An unknown name, or a value that it cannot have: a sentence.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        let constant = CONSTANTS.iter().find(|constant| constant.name == name);
        if constant.is_none() && name != GRAMMAR_COMPILE_MS {
            let known = CONSTANTS.iter().map(|constant| constant.name).chain([GRAMMAR_COMPILE_MS]);
            let known: Vec<&str> = known.collect();
            return Err(format!("\"{name}\" is no constant: {}", known.join(", ")));
        }
        let is_share = name.ends_with("_share");
        if !value.is_finite() || value < 0.0 || (is_share && value == 0.0) {
            let least = if is_share { "above 0" } else { "0 or more" };
            return Err(format!("{name} is {least}, not {value}"));
        }
        match constant {
            Some(constant) => *(constant.value)(self) = value / constant.scale,
            None => self.grammar_compile_s = Some(value / 1e3),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_roofline::{Machine, Model, Precision};

    #[test]
    fn names_carry_units_and_read_back() {
        let mut constants = Constants::NONE_LOST;
        constants.set("sequence_host_us", 15.0).expect("a constant");
        assert_eq!(constants.sequence_host_s, 15e-6);
        assert_eq!(constants.named().len(), CONSTANTS.len(), "unknown constants have no name");
        constants.set(GRAMMAR_COMPILE_MS, 400.0).expect("a constant");
        assert_eq!(constants.grammar_compile_s, Some(0.4));
        for (name, value) in constants.named() {
            let mut other = Constants::NONE_LOST;
            other.set(name, value).expect("a constant");
        }
        for (name, value) in [
            ("speed", 1.0),
            ("kv_share", 0.0),
            ("frontend_ms", -1.0),
            (GRAMMAR_COMPILE_MS, f64::NAN),
        ] {
            assert!(constants.set(name, value).is_err(), "{name} {value}");
        }
    }

    #[test]
    fn widened_weights_and_derated_cards_compute_slower() {
        let of = |machine: &str, format: &str| {
            let setup = Setup::new(
                Machine::find(machine).expect("a machine"),
                Model::find("llama-3.1-8b").expect("a model"),
                Precision::find(format).expect("a format"),
                1,
            );
            Constants::defaults(Kind::Vllm, &setup.expect("a setup")).arithmetic_share
        };
        assert_eq!(of("A100 80GB SXM", "bf16"), 0.65);
        assert_eq!(of("A100 80GB SXM", "w8a16"), 0.65 * 0.65);
        assert_eq!(of("L40S", "w8a8"), 0.42 * 0.62);
    }
}
