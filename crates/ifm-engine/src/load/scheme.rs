//! What `quantization_config` of a checkpoint says, and which parts of it can be computed.
//!
//! compressed-tensors (`int-quantized`: `w8a8`; `pack-quantized`: `w4a16`, `w8a16`), AWQ
//! and GPTQ. Whatever else a writer may have done is refused by its name: a model that is
//! computed otherwise than it was made for has another speed and other answers.
//!
//! Not here: how the integers are packed (`integers`).

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use super::{LoadError, safetensors::Checkpoint};
use crate::{
    shape::ModelShape,
    weights::{TensorName, matrices},
};

/// Who packed the integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// compressed-tensors: signed bytes in a tensor of their own.
    Bytes,
    /// compressed-tensors: 32-bit words along the inputs.
    Words,
    /// AWQ: 32-bit words along the outputs, in an order of its own.
    Awq,
    /// GPTQ: 32-bit words down the inputs.
    Gptq {
        /// What is added to a stored zero point: 1, and 0 in `gptq_v2`.
        zero_offset: u8,
    },
}

/// How activations are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inputs {
    /// As floats.
    Floats,
    /// As signed bytes with a scale for each token.
    Dynamic,
    /// As signed bytes with a scale that is stored.
    Static,
}

/// How matrices of a checkpoint are quantised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scheme {
    pub(super) packing: Packing,
    /// Bits of a weight: 4 or 8.
    pub(super) bits: u32,
    /// Columns that share a scale; `None` for all of a row.
    pub(super) group: Option<usize>,
    /// Whether a group has a zero point of its own.
    pub(super) zeros: bool,
    pub(super) inputs: Inputs,
    /// Matrices that are stored so.
    covered: BTreeSet<String>,
}

impl Scheme {
    /// Understands the `quantization_config` of a checkpoint.
    pub(super) fn read(
        config: &Value,
        checkpoint: &Checkpoint,
        shape: &ModelShape,
    ) -> Result<Self, LoadError> {
        let mut scheme = Self::parse(config)?;
        scheme.covered = scheme.find(checkpoint, shape);
        scheme.check_ignored(config, shape)?;
        Ok(scheme)
    }

    /// What a configuration says, before the matrices are known.
    pub(super) fn parse(config: &Value) -> Result<Self, LoadError> {
        match config["quant_method"].as_str().unwrap_or("a writer without a quant_method") {
            "compressed-tensors" => compressed_tensors(config),
            "awq" => awq(config),
            "gptq" => gptq(config),
            other => refuse(format!(
                "a checkpoint quantised by {other}; hint: compressed-tensors, awq and gptq are, \
                 or take the one in bf16 and quantise it while loading"
            )),
        }
    }

    /// Whether a matrix is stored so; the others are floats.
    pub(super) fn covers(&self, name: TensorName) -> bool {
        self.covered.contains(&name.hugging_face())
    }

    /// The suffix of the tensor with the integers, after the name of the module.
    pub(super) fn suffix(&self) -> &'static str {
        match self.packing {
            Packing::Bytes => "weight",
            Packing::Words => "weight_packed",
            Packing::Awq | Packing::Gptq { .. } => "qweight",
        }
    }

    /// In words, for tables.
    pub(super) fn label(&self) -> String {
        let by = match self.packing {
            Packing::Bytes | Packing::Words => "compressed-tensors",
            Packing::Awq => "awq",
            Packing::Gptq { .. } => "gptq",
        };
        let bits = self.bits;
        match self.inputs {
            Inputs::Floats if self.zeros => {
                format!("w{bits}a16-asym (int{bits} weights with zero points x floats, {by})")
            }
            Inputs::Floats => format!("w{bits}a16 (int{bits} weights x floats, {by})"),
            Inputs::Dynamic => format!("w8a8 (int8 x int8, dynamic per token, {by})"),
            Inputs::Static => {
                format!("w8a8-static (int8 x int8, one scale for all tokens, {by})")
            }
        }
    }

    /// The matrices whose integers are there.
    fn find(&self, checkpoint: &Checkpoint, shape: &ModelShape) -> BTreeSet<String> {
        let names = matrices(shape).into_iter().map(|(name, _, _)| name.hugging_face());
        let is_covered = |name: &String| {
            let tensor = format!("{}.{}", module(name), self.suffix());
            let is_there = checkpoint.contains(&tensor);
            let is_float = || checkpoint.float_format(&tensor).is_ok();
            is_there && (self.packing != Packing::Bytes || !is_float())
        };
        names.filter(is_covered).collect()
    }

    /// Refuses where the matrices in floats are others than those that the configuration
    /// leaves out: either a name there means something else than it does here, or the
    /// checkpoint is not whole.
    fn check_ignored(&self, config: &Value, shape: &ModelShape) -> Result<(), LoadError> {
        let by_part = config["modules_to_not_convert"].as_array();
        let list = by_part.or(config["ignore"].as_array());
        let entries: Vec<&str> = list.into_iter().flatten().filter_map(Value::as_str).collect();
        let names = |entry: &str, module: &str| match by_part {
            Some(_) => Ok(module.contains(entry)),
            None => names(entry, module),
        };
        let mut is_used = vec![false; entries.len()];
        for (name, _, _) in matrices(shape) {
            let tensor = name.hugging_face();
            let mut is_ignored = matches!(name, TensorName::Embedding);
            for (entry, used) in entries.iter().zip(&mut is_used) {
                if names(entry, module(&tensor))? {
                    (is_ignored, *used) = (true, true);
                }
            }
            // AWQ and GPTQ leave the last layer out without saying so.
            let is_optional = name == TensorName::Head && !self.covers(name);
            if is_ignored == self.covers(name) && !is_optional {
                let (said, found) =
                    if is_ignored { ("floats", "integers") } else { ("integers", "floats") };
                return refuse(format!(
                    "a checkpoint whose quantization_config says that {} is in {said}, and it is \
                     in {found}",
                    module(&tensor),
                ));
            }
        }
        // A tied head is not a matrix of its own, but is named anyway.
        let unused = entries
            .iter()
            .zip(&is_used)
            .find(|(entry, used)| !**used && !names(entry, "lm_head").unwrap_or(false));
        match unused {
            Some((entry, _)) => {
                refuse(format!("a list of what is not quantised with {entry}, which names nothing"))
            }
            None => Ok(()),
        }
    }
}

/// The module of a tensor's name.
pub(super) fn module(tensor: &str) -> &str {
    tensor.strip_suffix(".weight").unwrap_or(tensor)
}

/// Whether an entry of a list names a module: `re:` and an expression for the beginning,
/// or a name or the end of one.
fn names(entry: &str, module: &str) -> Result<bool, LoadError> {
    if let Some(expression) = entry.strip_prefix("re:") {
        return match Regex::new(&format!("^(?:{expression})")) {
            Ok(regex) => Ok(regex.is_match(module)),
            Err(_) => refuse(format!("the expression {expression} in a quantization_config")),
        };
    }
    let is_end = module.strip_suffix(entry).is_some_and(|before| before.ends_with('.'));
    Ok(module == entry || is_end)
}

fn refuse<T>(what: String) -> Result<T, LoadError> {
    Err(LoadError::Unsupported { what })
}

/// A whole number under a key.
fn number(config: &Value, key: &str) -> Option<u64> {
    config[key].as_u64()
}

/// The columns of a group; -1 and null mean whole rows.
fn group(value: &Value) -> Result<Option<usize>, LoadError> {
    match (value.as_i64(), value) {
        (_, Value::Null) | (Some(-1), _) => Ok(None),
        (Some(size), _) if size > 0 && size % 2 == 0 => Ok(usize::try_from(size).ok()),
        _ => refuse(format!("groups of {value} weights")),
    }
}

/// compressed-tensors, the format of llm-compressor and vLLM.
fn compressed_tensors(config: &Value) -> Result<Scheme, LoadError> {
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::Object(entries) => !entries.is_empty(),
        _ => true,
    };
    let sparse = config["sparsity_config"]["format"].as_str().unwrap_or("dense");
    if sparse != "dense" {
        return refuse(format!("sparse weights ({sparse}) of compressed-tensors"));
    }
    for key in ["kv_cache_scheme", "transform_config"] {
        if is_set(&config[key]) {
            return refuse(format!("{key} of compressed-tensors"));
        }
    }
    let status = config["quantization_status"].as_str().unwrap_or("compressed");
    if status != "compressed" {
        return refuse(format!("weights of compressed-tensors that are {status}, not compressed"));
    }
    let groups = config["config_groups"].as_object();
    let groups: Vec<&Value> = groups.into_iter().flat_map(|groups| groups.values()).collect();
    let [only] = groups[..] else {
        return refuse(format!("{} groups of layers of compressed-tensors", groups.len()));
    };
    let format = only["format"].as_str().or(config["format"].as_str()).unwrap_or("no format");
    let packing = match format {
        "int-quantized" => Packing::Bytes,
        "pack-quantized" => Packing::Words,
        other => return refuse(format!("the format {other} of compressed-tensors")),
    };
    if is_set(&only["output_activations"]) {
        return refuse("output_activations of compressed-tensors".to_owned());
    }
    let targets: Vec<&str> =
        only["targets"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if targets != ["Linear"] {
        return refuse(format!("the targets {} of compressed-tensors", targets.join(", ")));
    }
    let weights = &only["weights"];
    let kind = weights["type"].as_str().unwrap_or("int");
    let bits = number(weights, "num_bits").unwrap_or(0);
    let is_known = matches!((packing, bits), (Packing::Bytes, 8) | (Packing::Words, 4 | 8));
    if kind != "int" || !is_known {
        return refuse(format!("{kind}{bits} weights in {format}"));
    }
    if is_set(&weights["actorder"]) && weights["actorder"] != "weight" {
        return refuse(format!("weights in the order of activations ({})", weights["actorder"]));
    }
    let strategy = weights["strategy"].as_str().unwrap_or("tensor");
    let group = match (packing, strategy) {
        (_, "channel" | "tensor") => None,
        (Packing::Words, "group") => group(&weights["group_size"])?,
        _ => return refuse(format!("scales for each {strategy} of weights in {format}")),
    };
    let zeros = !weights["symmetric"].as_bool().unwrap_or(true);
    let inputs = inputs(&only["input_activations"], format)?;
    check_zeros(Scheme {
        packing,
        bits: bits as u32,
        group,
        zeros,
        inputs,
        covered: BTreeSet::new(),
    })
}

/// Refuses what has no layout here.
fn check_zeros(scheme: Scheme) -> Result<Scheme, LoadError> {
    if scheme.zeros && scheme.bits == 8 {
        return refuse(
            "8-bit weights with zero points; hint: symmetric ones are supported".to_owned(),
        );
    }
    Ok(scheme)
}

/// How compressed-tensors takes activations.
fn inputs(config: &Value, format: &str) -> Result<Inputs, LoadError> {
    if config.is_null() {
        return Ok(Inputs::Floats);
    }
    let kind = config["type"].as_str().unwrap_or("int");
    let bits = number(config, "num_bits").unwrap_or(0);
    let strategy = config["strategy"].as_str().unwrap_or("tensor");
    if kind != "int" || bits != 8 || format != "int-quantized" {
        return refuse(format!("{kind}{bits} activations with weights in {format}"));
    }
    if !config["symmetric"].as_bool().unwrap_or(true) {
        return refuse("activations with zero points".to_owned());
    }
    match (config["dynamic"].as_bool(), strategy) {
        (Some(true), "token") => Ok(Inputs::Dynamic),
        (Some(false) | None, "tensor") => Ok(Inputs::Static),
        _ => refuse(format!("{} scales for each {strategy} of activations", config["dynamic"])),
    }
}

/// AWQ, the layout of AutoAWQ called `gemm`.
fn awq(config: &Value) -> Result<Scheme, LoadError> {
    let version = config["version"].as_str().unwrap_or("gemm").to_ascii_lowercase();
    if version != "gemm" {
        return refuse(format!("the version {version} of AWQ; hint: gemm is supported"));
    }
    let bits = number(config, "bits").or(number(config, "w_bit")).unwrap_or(0);
    if bits != 4 {
        return refuse(format!("AWQ of {bits} bits; hint: 4 is supported"));
    }
    let size = if config["group_size"].is_null() {
        &config["q_group_size"]
    } else {
        &config["group_size"]
    };
    Ok(Scheme {
        packing: Packing::Awq,
        bits: 4,
        group: group(size)?,
        zeros: config["zero_point"].as_bool().unwrap_or(true),
        inputs: Inputs::Floats,
        covered: BTreeSet::new(),
    })
}

/// GPTQ, the layouts of AutoGPTQ (`gptq`) and GPTQModel (`gptq_v2`).
fn gptq(config: &Value) -> Result<Scheme, LoadError> {
    let layout = config["checkpoint_format"].as_str().unwrap_or("gptq");
    let zero_offset = match layout {
        "gptq" => 1,
        "gptq_v2" => 0,
        other => {
            return refuse(format!("GPTQ packed as {other}; hint: gptq and gptq_v2 are supported"));
        }
    };
    if config["is_marlin_format"] == true {
        return refuse("GPTQ packed as marlin; hint: gptq and gptq_v2 are supported".to_owned());
    }
    let bits = number(config, "bits").unwrap_or(0);
    if !matches!(bits, 4 | 8) {
        return refuse(format!("GPTQ of {bits} bits; hint: 4 and 8 are supported"));
    }
    if config["dynamic"].as_object().is_some_and(|rules| !rules.is_empty()) {
        return refuse("GPTQ whose modules differ (dynamic)".to_owned());
    }
    check_zeros(Scheme {
        packing: Packing::Gptq { zero_offset },
        bits: bits as u32,
        group: group(&config["group_size"])?,
        zeros: !config["sym"].as_bool().unwrap_or(true),
        inputs: Inputs::Floats,
        covered: BTreeSet::new(),
    })
}
