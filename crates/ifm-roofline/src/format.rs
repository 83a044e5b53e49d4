//! Number formats: how many bits a weight has, and which arithmetic it allows.
//!
//! Bits count the stored blocks, scales included: a GGUF `Q4_0` block holds 32 weights in 18 bytes,
//! 4.5 bits each. Where a format mixes kinds ("Q4_K_M"), the mixture of the program that makes it is
//! used, or else the smallest kind, which keeps a bound a bound.
//!
//! Not here: what a format does to answers.

use crate::error::RooflineError;
use crate::machine::Machine;
use serde::Serialize;

/// Which arithmetic the products of a format may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// 16 bits with 32-bit accumulation.
    Bf16,
    /// 16 bits with 16-bit accumulation where that is faster.
    Fp16,
    /// 8-bit integers.
    Int8,
    /// 8-bit floating point.
    Fp8,
    /// 4-bit floating point.
    Fp4,
}

impl Arithmetic {
    /// Operations a second: the fastest that the format may use on this machine. Narrow numbers can
    /// always be widened, so that it is never below the rate of 16 bits.
    pub fn rate(self, machine: &Machine) -> f64 {
        let narrow = match self {
            Arithmetic::Bf16 => None,
            Arithmetic::Fp16 => machine.fp16_tflops,
            Arithmetic::Int8 => max(machine.int8_tops, machine.fp16_tflops),
            Arithmetic::Fp8 => max(machine.fp8_tflops, machine.fp16_tflops),
            Arithmetic::Fp4 => {
                max(machine.fp4_tflops, max(machine.fp8_tflops, machine.fp16_tflops))
            }
        };
        1e12 * narrow.map_or(machine.bf16_tflops, |rate| rate.max(machine.bf16_tflops))
    }
}

fn max(left: Option<f64>, right: Option<f64>) -> Option<f64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.max(right)),
        (one, other) => one.or(other),
    }
}

/// A wider kind that some layers get.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wider {
    /// Bits per weight there.
    pub bits: f64,
    /// Which layers of `down` and `value` matrices.
    pub layers: WiderLayers,
}

/// Which layers get the wider kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WiderLayers {
    /// First eighth, last eighth, and every third between: llama.cpp's rule for "M" mixtures.
    EdgesAndThirds,
    /// First eighth: its rule for "S" mixtures.
    FirstEighth,
}

impl WiderLayers {
    /// Share of this many layers.
    pub fn share(self, layers: u64) -> f64 {
        let eighth = layers / 8;
        let wider = (0..layers).filter(|layer| match self {
            WiderLayers::FirstEighth => *layer < eighth,
            WiderLayers::EdgesAndThirds => {
                *layer < eighth || *layer >= 7 * layers / 8 || layer.saturating_sub(eighth) % 3 == 2
            }
        });
        wider.count() as f64 / layers.max(1) as f64
    }
}

/// How weights are stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WeightFormat {
    /// Short name.
    pub id: &'static str,
    /// Bits per weight of the layers' matrices.
    pub bits: f64,
    /// Bits of attention matrices and shared parts of a mixture of experts, where they differ.
    pub unquantized_bits: Option<f64>,
    /// Bits of the output matrix.
    pub head_bits: f64,
    /// Bits of the input embedding, where it is a matrix of its own.
    pub embedding_bits: f64,
    /// Bits of routers.
    pub router_bits: f64,
    /// Kinds that some layers get.
    pub wider: Option<Wider>,
    /// Arithmetic of the layers' products.
    pub arithmetic: Arithmetic,
    /// Whether real files of that name are larger, because some tensors get wider kinds.
    pub is_floor: bool,
}

const PLAIN: WeightFormat = WeightFormat {
    id: "bf16",
    bits: 16.0,
    unquantized_bits: None,
    head_bits: 16.0,
    embedding_bits: 16.0,
    router_bits: 16.0,
    wider: None,
    arithmetic: Arithmetic::Bf16,
    is_floor: false,
};

const fn server(id: &'static str, bits: f64, arithmetic: Arithmetic) -> WeightFormat {
    WeightFormat { id, bits, arithmetic, ..PLAIN }
}

/// A GGUF kind: products may run on 8-bit integers; routers are 32-bit.
const fn gguf(id: &'static str, bits: f64, head_bits: f64, wider: Option<Wider>) -> WeightFormat {
    WeightFormat {
        id,
        bits,
        unquantized_bits: None,
        head_bits,
        embedding_bits: bits,
        router_bits: 32.0,
        wider,
        arithmetic: Arithmetic::Int8,
        is_floor: false,
    }
}

const fn gguf_floor(id: &'static str, bits: f64) -> WeightFormat {
    WeightFormat { is_floor: true, ..gguf(id, bits, bits, None) }
}

/// Bits of ggml's block kinds: bytes of a block over its weights.
const Q4_0: f64 = 18.0 * 8.0 / 32.0;
const Q8_0: f64 = 34.0 * 8.0 / 32.0;
const Q4_K: f64 = 144.0 * 8.0 / 256.0;
const Q5_K: f64 = 176.0 * 8.0 / 256.0;
const Q6_K: f64 = 210.0 * 8.0 / 256.0;

const WIDER_M: Option<Wider> = Some(Wider { bits: Q6_K, layers: WiderLayers::EdgesAndThirds });
const WIDER_S: Option<Wider> = Some(Wider { bits: Q5_K, layers: WiderLayers::FirstEighth });

/// Every format that is known, with the names it goes by.
const FORMATS: &[(WeightFormat, &[&str])] = &[
    (PLAIN, &["bf16", "bfloat16", "16bit"]),
    (server("fp16", 16.0, Arithmetic::Fp16), &["fp16", "f16", "float16", "half"]),
    (
        WeightFormat {
            head_bits: 32.0,
            embedding_bits: 32.0,
            ..server("fp32", 32.0, Arithmetic::Bf16)
        },
        &["fp32", "f32", "float32"],
    ),
    (
        server("fp8", 8.0, Arithmetic::Fp8),
        &["fp8", "fp8_dynamic", "fp8-dynamic", "w8a8-fp8", "e4m3"],
    ),
    (server("w8a8", 8.0, Arithmetic::Int8), &["w8a8", "int8", "int8-w8a8", "smoothquant"]),
    (server("w8a16", 8.0, Arithmetic::Fp16), &["w8a16", "gptq-int8", "8bit"]),
    (
        server("w4a16", 4.125, Arithmetic::Fp16),
        &["w4a16", "awq", "gptq", "int4", "gptq-int4", "awq-int4", "4bit"],
    ),
    (server("w4a8", 4.125, Arithmetic::Fp8), &["w4a8"]),
    (server("nvfp4", 4.5, Arithmetic::Fp4), &["nvfp4", "fp4"]),
    (
        WeightFormat { unquantized_bits: Some(16.0), ..server("mxfp4", 4.25, Arithmetic::Fp4) },
        &["mxfp4", "mxfp4-moe"],
    ),
    (gguf("q8_0", Q8_0, Q8_0, None), &["q8_0"]),
    (gguf("q6_k", Q6_K, Q6_K, None), &["q6_k"]),
    (gguf("q5_k_m", Q5_K, Q6_K, WIDER_M), &["q5_k_m", "q5_k"]),
    (gguf("q5_k_s", Q5_K, Q6_K, None), &["q5_k_s"]),
    (gguf("q4_k_m", Q4_K, Q6_K, WIDER_M), &["q4_k_m", "q4_k"]),
    (gguf("q4_k_s", Q4_K, Q6_K, WIDER_S), &["q4_k_s"]),
    (gguf("q4_0", Q4_0, Q6_K, None), &["q4_0"]),
    (gguf("q4_1", 5.0, Q6_K, None), &["q4_1"]),
    (gguf("q5_0", 5.5, Q6_K, None), &["q5_0"]),
    (gguf("q5_1", 6.0, Q6_K, None), &["q5_1"]),
    (gguf_floor("q3_k", 3.4375), &["q3_k", "q3_k_s", "q3_k_m", "q3_k_l"]),
    (gguf_floor("q2_k", 2.625), &["q2_k", "q2_k_s"]),
    (gguf_floor("iq4_nl", 4.5), &["iq4_nl"]),
    (gguf_floor("iq4_xs", 4.25), &["iq4_xs"]),
    (gguf_floor("iq3_s", 3.4375), &["iq3_s", "iq3_m"]),
    (gguf_floor("iq3_xxs", 3.0625), &["iq3_xxs", "iq3_xs"]),
    (gguf_floor("iq2_s", 2.5625), &["iq2_s", "iq2_m"]),
    (gguf_floor("iq2_xs", 2.3125), &["iq2_xs"]),
    (gguf_floor("iq2_xxs", 2.0625), &["iq2_xxs"]),
    (gguf_floor("iq1_m", 1.75), &["iq1_m"]),
    (gguf_floor("iq1_s", 1.5625), &["iq1_s"]),
];

impl WeightFormat {
    /// All formats, in the order of the table.
    pub fn all() -> impl Iterator<Item = &'static WeightFormat> {
        FORMATS.iter().map(|(format, _)| format)
    }

    /// The format of this name: "w8a8", "fp8", "Q4_K - Medium", "IQ2_XXS - 2.0625 bpw".
    ///
    /// # Errors
    /// [`RooflineError::Unknown`] if no format has that name.
    pub fn find(name: &str) -> Result<WeightFormat, RooflineError> {
        let asked = normalize(name);
        FORMATS
            .iter()
            .find(|(_, names)| names.iter().any(|known| normalize(known) == asked))
            .map(|(format, _)| format.clone())
            .ok_or_else(|| RooflineError::Unknown {
                what: "number format",
                asked: name.to_owned(),
                nearest: nearest(&asked),
            })
    }

    /// The format that a model's name mentions ("…-quantized.w4a16", "llama 7B Q4_0",
    /// "Llama-3.1-8B-Instruct-int8-dynamic"). The longest name wins; `None` where the name says
    /// nothing, which does not mean 16 bits.
    pub fn named_in(text: &str) -> Option<WeightFormat> {
        let text = format!("_{}_", normalize(text));
        FORMATS
            .iter()
            .flat_map(|(format, names)| names.iter().map(move |name| (normalize(name), format)))
            .filter(|(name, _)| name != "half" && text.contains(&format!("_{name}_")))
            .max_by_key(|(name, _)| name.len())
            .map(|(_, format)| format.clone())
    }

    /// Whether a word of a name belongs to a number format rather than to a model.
    pub(crate) fn is_word(word: &str) -> bool {
        let word = normalize(word);
        FORMATS.iter().any(|(_, names)| names.iter().any(|name| normalize(name) == word))
    }
}

/// Lower case, every separator one underscore; llama.cpp's "- Medium" as its files say it.
fn normalize(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    // "IQ2_XXS - 2.0625 bpw": the bits after the name are not part of it.
    let lower = match lower.split_once(" - ") {
        Some((kind, bits)) if bits.starts_with(|c: char| c.is_ascii_digit()) => kind,
        _ => lower.as_str(),
    };
    let spelled =
        lower.replace(" - medium", "_m").replace(" - small", "_s").replace(" - large", "_l");
    let mut out = String::with_capacity(spelled.len());
    for c in spelled.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        if c != '_' || !out.ends_with('_') {
            out.push(c);
        }
    }
    out.trim_matches('_').to_owned()
}

fn nearest(asked: &str) -> Vec<String> {
    let mut alike: Vec<(f64, &str)> = FORMATS
        .iter()
        .map(|(format, names)| {
            let likeness = names.iter().map(|name| crate::words::likeness(asked, name));
            (likeness.fold(0.0, f64::max), format.id)
        })
        .filter(|(likeness, _)| *likeness > 0.3)
        .collect();
    alike.sort_by(|left, right| right.0.total_cmp(&left.0));
    alike.into_iter().take(3).map(|(_, id)| id.to_owned()).collect()
}

/// How keys and values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KvFormat {
    /// Short name.
    pub id: &'static str,
    /// Bits per element.
    pub bits: f64,
    /// Arithmetic that attention may use.
    pub arithmetic: Arithmetic,
}

const KV_FORMATS: &[KvFormat] = &[
    KvFormat { id: "f32", bits: 32.0, arithmetic: Arithmetic::Bf16 },
    KvFormat { id: "bf16", bits: 16.0, arithmetic: Arithmetic::Bf16 },
    KvFormat { id: "fp16", bits: 16.0, arithmetic: Arithmetic::Fp16 },
    KvFormat { id: "fp8", bits: 8.0, arithmetic: Arithmetic::Fp8 },
    KvFormat { id: "int8", bits: 8.0, arithmetic: Arithmetic::Int8 },
    KvFormat { id: "q8_0", bits: Q8_0, arithmetic: Arithmetic::Int8 },
    KvFormat { id: "q4_0", bits: Q4_0, arithmetic: Arithmetic::Int8 },
    KvFormat { id: "fp4", bits: 4.5, arithmetic: Arithmetic::Fp4 },
];

impl KvFormat {
    /// 16 bits.
    pub const BF16: KvFormat = KvFormat { id: "bf16", bits: 16.0, arithmetic: Arithmetic::Bf16 };

    /// All formats.
    pub fn all() -> &'static [KvFormat] {
        KV_FORMATS
    }

    /// The format of this name; vLLM's `fp8_e4m3` and `fp8_e5m2` are `fp8`.
    ///
    /// # Errors
    /// [`RooflineError::Unknown`] if no format has that name.
    pub fn find(name: &str) -> Result<KvFormat, RooflineError> {
        let asked = normalize(name);
        let asked = match asked.as_str() {
            "auto" | "bfloat16" => "bf16",
            "f16" | "float16" => "fp16",
            "fp32" | "float32" => "f32",
            "fp8_e4m3" | "fp8_e5m2" => "fp8",
            other => other,
        };
        KV_FORMATS.iter().find(|format| format.id == asked).copied().ok_or_else(|| {
            RooflineError::Unknown {
                what: "number format of keys and values",
                asked: name.to_owned(),
                nearest: KV_FORMATS.iter().map(|format| format.id.to_owned()).collect(),
            }
        })
    }
}

/// How a model is stored and computed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Precision {
    /// Weights.
    pub weights: WeightFormat,
    /// Keys and values.
    pub kv: KvFormat,
    /// Bytes of all weights where they are known (the size of the file); the format's bits are
    /// scaled to it.
    pub weight_bytes: Option<f64>,
}

impl Precision {
    /// Weights of this format, 16-bit keys and values.
    pub fn new(weights: WeightFormat) -> Precision {
        Precision { weights, kv: KvFormat::BF16, weight_bytes: None }
    }

    /// The format of this name, with 16-bit keys and values.
    ///
    /// # Errors
    /// [`RooflineError::Unknown`] if no format has that name.
    pub fn find(name: &str) -> Result<Precision, RooflineError> {
        Ok(Precision::new(WeightFormat::find(name)?))
    }
}
