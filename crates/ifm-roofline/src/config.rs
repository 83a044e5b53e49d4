//! A model's shape from its `config.json`, as Hugging Face writes it.
//!
//! One rule for each architecture says which matrices and vectors a layer has; the rows of the built-in
//! table are such configurations too, so that both ways give the same counts. An architecture that
//! is not known is refused: a guess would be a wrong number.
//!
//! Not here: weights, tokenizers, and towers for images and sound (their language part is read).

use crate::error::RooflineError;
use crate::model::{Attention, Block, FeedForward, Model};
use serde::Deserialize;
use serde_json::Value;

/// Largest value of a field that is believed; products of three still fit 64 bits.
const FIELD_MAX: u64 = 1 << 20;
/// Most layers.
const LAYERS_MAX: u64 = 4096;

/// The fields that matter. What is absent has the architecture's own default or is an error.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Config {
    model_type: Option<String>,
    hidden_size: Option<u64>,
    num_hidden_layers: Option<u64>,
    num_attention_heads: Option<u64>,
    num_key_value_heads: Option<u64>,
    head_dim: Option<u64>,
    intermediate_size: Option<u64>,
    vocab_size: Option<u64>,
    max_position_embeddings: Option<u64>,
    tie_word_embeddings: Option<bool>,
    attention_bias: Option<bool>,
    mlp_bias: Option<bool>,
    use_qk_norm: Option<bool>,
    sliding_window: Option<u64>,
    use_sliding_window: Option<bool>,
    max_window_layers: Option<u64>,
    sliding_window_pattern: Option<u64>,
    layer_types: Option<Vec<String>>,
    full_attention_interval: Option<u64>,
    #[serde(alias = "num_local_experts", alias = "n_routed_experts")]
    num_experts: Option<u64>,
    num_experts_per_tok: Option<u64>,
    moe_intermediate_size: Option<u64>,
    shared_expert_intermediate_size: Option<u64>,
    n_shared_experts: Option<u64>,
    first_k_dense_replace: Option<u64>,
    mlp_only_layers: Option<Vec<u64>>,
    decoder_sparse_step: Option<u64>,
    q_lora_rank: Option<u64>,
    kv_lora_rank: Option<u64>,
    qk_nope_head_dim: Option<u64>,
    qk_rope_head_dim: Option<u64>,
    v_head_dim: Option<u64>,
    linear_num_key_heads: Option<u64>,
    linear_num_value_heads: Option<u64>,
    linear_key_head_dim: Option<u64>,
    linear_value_head_dim: Option<u64>,
    linear_conv_kernel_dim: Option<u64>,
}

/// What the architectures differ in.
#[derive(Debug, Clone, Copy)]
struct Rules {
    /// Norms over the whole width, per layer.
    norms: u64,
    /// Norms of queries and keys.
    has_head_norms: bool,
    /// Biases of queries, keys and values.
    has_qkv_bias: bool,
    /// Bias of the attention's output.
    has_output_bias: bool,
    /// One learned sink for each head.
    has_sinks: bool,
    /// Biases of the router and of every expert.
    has_expert_bias: bool,
    /// A correction for each expert, added when experts are chosen.
    has_expert_correction: bool,
    /// A gate on the shared expert.
    has_shared_gate: bool,
    /// Queries come with a gate of their size.
    has_query_gate: bool,
    /// Whether embeddings are shared where the file does not say.
    is_tied: bool,
    window: Window,
}

/// Which layers look back no further than a window.
#[derive(Debug, Clone, Copy)]
enum Window {
    /// None.
    Never,
    /// All, where a window is given.
    Always,
    /// Those from `max_window_layers` on, where `use_sliding_window` is set.
    Asked,
    /// All but each n-th.
    AllBut(u64),
}

const LLAMA: Rules = Rules {
    norms: 2,
    has_head_norms: false,
    has_qkv_bias: false,
    has_output_bias: false,
    has_sinks: false,
    has_expert_bias: false,
    has_expert_correction: false,
    has_shared_gate: false,
    has_query_gate: false,
    is_tied: false,
    window: Window::Never,
};
const MISTRAL: Rules = Rules { window: Window::Always, ..LLAMA };
const QWEN2: Rules = Rules { has_qkv_bias: true, window: Window::Asked, ..LLAMA };
const QWEN3: Rules = Rules { has_head_norms: true, window: Window::Asked, ..LLAMA };
const GEMMA: Rules = Rules { is_tied: true, ..LLAMA };
const GEMMA2: Rules = Rules { norms: 4, window: Window::AllBut(2), ..GEMMA };
const GEMMA3: Rules = Rules { has_head_norms: true, window: Window::AllBut(6), ..GEMMA2 };
const GPT_OSS: Rules = Rules {
    has_qkv_bias: true,
    has_output_bias: true,
    has_sinks: true,
    has_expert_bias: true,
    window: Window::AllBut(2),
    ..LLAMA
};
const DEEPSEEK3: Rules = Rules { has_expert_correction: true, ..LLAMA };
const QWEN_NEXT: Rules =
    Rules { has_head_norms: true, has_shared_gate: true, has_query_gate: true, ..LLAMA };

/// Architectures by the name in `model_type`.
const ARCHITECTURES: &[(&str, Rules)] = &[
    ("deepseek_v2", LLAMA),
    ("deepseek_v3", DEEPSEEK3),
    ("gemma", GEMMA),
    ("gemma2", GEMMA2),
    ("gemma3", GEMMA3),
    ("gemma3_text", GEMMA3),
    ("glm4_moe", DEEPSEEK3),
    ("gpt_oss", GPT_OSS),
    ("kimi_k2", DEEPSEEK3),
    ("llama", LLAMA),
    ("mistral", MISTRAL),
    ("mixtral", MISTRAL),
    ("phi3", MISTRAL),
    ("qwen2", QWEN2),
    ("qwen2_moe", Rules { has_shared_gate: true, ..QWEN2 }),
    ("qwen3", QWEN3),
    ("qwen3_moe", QWEN3),
    ("qwen3_next", QWEN_NEXT),
    ("qwen3_5_moe", QWEN_NEXT),
    ("qwen3_5_moe_text", QWEN_NEXT),
];

/// The names of all architectures that are known, as `model_type` says them.
pub fn architectures() -> impl Iterator<Item = &'static str> {
    ARCHITECTURES.iter().map(|(name, _)| *name)
}

/// Reads a configuration.
///
/// # Errors
/// [`RooflineError::Config`] for text that is not a JSON object, an architecture that is not known,
/// and fields that are missing or absurd.
pub(crate) fn read(value: &Value) -> Result<Model, RooflineError> {
    let outer: Config = parse(value)?;
    let inner = match value.get("text_config") {
        Some(text) => {
            let inner: Config = parse(text)?;
            Config {
                model_type: inner.model_type.clone().or(outer.model_type.clone()),
                tie_word_embeddings: inner.tie_word_embeddings.or(outer.tie_word_embeddings),
                ..inner
            }
        }
        None => outer,
    };
    let name = inner
        .model_type
        .clone()
        .ok_or_else(|| wrong("model_type is missing: is this the config.json of a model?"))?;
    let rules = ARCHITECTURES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, rules)| *rules)
        .ok_or_else(|| {
            let known: Vec<&str> = architectures().collect();
            wrong(format!("model_type \"{name}\" is not known; known are {}", known.join(", ")))
        })?;
    Reader { config: &inner, rules, name: &name }.model(native_format(value))
}

fn parse(value: &Value) -> Result<Config, RooflineError> {
    if !value.is_object() {
        return Err(wrong("is not a JSON object: is this the config.json of a model?"));
    }
    Config::deserialize(value).map_err(|error| wrong(error.to_string()))
}

fn wrong(reason: impl Into<String>) -> RooflineError {
    RooflineError::Config { reason: reason.into() }
}

/// The number format that the configuration says its weights have.
fn native_format(value: &Value) -> Option<String> {
    let text = value.get("text_config").unwrap_or(value);
    let quantization = value.get("quantization_config").or_else(|| text.get("quantization_config"));
    if let Some(quantization) = quantization {
        let method = quantization.get("quant_method").and_then(Value::as_str)?;
        let bits = quantization.get("bits").and_then(Value::as_u64);
        return match (method, bits) {
            ("mxfp4" | "fp8", _) => Some(method.to_owned()),
            ("awq" | "gptq", Some(8)) => Some("w8a16".to_owned()),
            ("awq" | "gptq", Some(4) | None) => Some("w4a16".to_owned()),
            ("compressed-tensors", _) => compressed(quantization),
            _ => None,
        };
    }
    let dtype = ["torch_dtype", "dtype"]
        .iter()
        .find_map(|key| text.get(key).or_else(|| value.get(key)))
        .and_then(Value::as_str)?;
    match dtype {
        "bfloat16" => Some("bf16".to_owned()),
        "float16" => Some("fp16".to_owned()),
        "float32" => Some("fp32".to_owned()),
        _ => None,
    }
}

/// The format of `compressed-tensors`: bits of weights and of activations in its first group.
fn compressed(quantization: &Value) -> Option<String> {
    let group = quantization.get("config_groups")?.as_object()?.values().next()?;
    let bits = |what: &str| group.get(what).and_then(|side| side.get("num_bits")?.as_u64());
    let kind = group.get("weights").and_then(|side| side.get("type")?.as_str());
    match (bits("weights")?, bits("input_activations"), kind) {
        (8, Some(8), Some("float")) => Some("fp8".to_owned()),
        (8, Some(8), _) => Some("w8a8".to_owned()),
        (8, None, _) => Some("w8a16".to_owned()),
        (4, Some(4), Some("float")) => Some("nvfp4".to_owned()),
        (4, Some(8), _) => Some("w4a8".to_owned()),
        (4, None, _) => Some("w4a16".to_owned()),
        _ => None,
    }
}

struct Reader<'a> {
    config: &'a Config,
    rules: Rules,
    name: &'a str,
}

impl Reader<'_> {
    fn model(&self, native: Option<String>) -> Result<Model, RooflineError> {
        let config = self.config;
        let hidden = need("hidden_size", config.hidden_size)?;
        let vocabulary = need("vocab_size", config.vocab_size)?;
        let layers = need("num_hidden_layers", config.num_hidden_layers)?;
        if layers > LAYERS_MAX {
            return Err(wrong(format!("num_hidden_layers {layers} is above {LAYERS_MAX}")));
        }
        let mut blocks: Vec<Block> = Vec::new();
        for layer in 0..layers {
            let attention = self.attention(layer)?;
            let feed_forward = self.feed_forward(layer)?;
            let vectors = self.vectors(hidden, &attention, &feed_forward);
            match blocks
                .iter_mut()
                .find(|block| block.attention == attention && block.feed_forward == feed_forward)
            {
                Some(block) => block.layers += 1,
                None => blocks.push(Block { layers: 1, attention, feed_forward, vectors }),
            }
        }
        Ok(Model {
            id: "custom".to_owned(),
            name: self.name.to_owned(),
            hidden,
            vocabulary,
            context_tokens: config.max_position_embeddings,
            is_tied: config.tie_word_embeddings.unwrap_or(self.rules.is_tied),
            blocks,
            final_vectors: hidden,
            native_format: native,
            published_parameters: None,
            confidence: crate::machine::Confidence::User,
            source: format!("configuration of architecture {}", self.name),
        })
    }

    fn attention(&self, layer: u64) -> Result<Attention, RooflineError> {
        let config = self.config;
        if self.is_linear(layer) {
            return Ok(Attention::Delta {
                key_heads: need("linear_num_key_heads", config.linear_num_key_heads)?,
                value_heads: need("linear_num_value_heads", config.linear_num_value_heads)?,
                key_dim: need("linear_key_head_dim", config.linear_key_head_dim)?,
                value_dim: need("linear_value_head_dim", config.linear_value_head_dim)?,
                convolution: need("linear_conv_kernel_dim", config.linear_conv_kernel_dim)?,
            });
        }
        let heads = need("num_attention_heads", config.num_attention_heads)?;
        if let Some(kv_rank) = config.kv_lora_rank {
            return Ok(Attention::Latent {
                heads,
                query_rank: config
                    .q_lora_rank
                    .map(|rank| limit("q_lora_rank", rank))
                    .transpose()?,
                kv_rank: limit("kv_lora_rank", kv_rank)?,
                rope_dim: need("qk_rope_head_dim", config.qk_rope_head_dim)?,
                nope_dim: need("qk_nope_head_dim", config.qk_nope_head_dim)?,
                value_dim: need("v_head_dim", config.v_head_dim)?,
            });
        }
        let head_dim = match config.head_dim {
            Some(dim) => limit("head_dim", dim)?,
            None if self.name.starts_with("gemma") => {
                return Err(wrong("head_dim is missing"));
            }
            None => need("hidden_size", config.hidden_size)? / heads,
        };
        Ok(Attention::Grouped {
            heads,
            kv_heads: limit("num_key_value_heads", config.num_key_value_heads.unwrap_or(heads))?,
            head_dim,
            has_query_gate: self.rules.has_query_gate,
            window: self.window(layer)?,
        })
    }

    /// Whether a layer has a state of constant size instead of keys and values.
    fn is_linear(&self, layer: u64) -> bool {
        match (&self.config.layer_types, self.config.full_attention_interval) {
            (Some(types), _) => self.type_of(types, layer) == Some("linear_attention"),
            (None, Some(interval)) => !(layer + 1).is_multiple_of(interval.max(1)),
            (None, None) => false,
        }
    }

    fn type_of<'a>(&self, types: &'a [String], layer: u64) -> Option<&'a str> {
        types.get(usize::try_from(layer).ok()?).map(String::as_str)
    }

    fn window(&self, layer: u64) -> Result<Option<u64>, RooflineError> {
        let config = self.config;
        let Some(window) = config.sliding_window else { return Ok(None) };
        let window = limit("sliding_window", window)?;
        let is_windowed = match (&config.layer_types, self.rules.window) {
            (_, Window::Never) => false,
            (_, Window::Asked) if config.use_sliding_window != Some(true) => false,
            (Some(types), _) => self.type_of(types, layer) == Some("sliding_attention"),
            (None, Window::Always) => true,
            (None, Window::Asked) => layer >= config.max_window_layers.unwrap_or(0),
            (None, Window::AllBut(every)) => {
                !(layer + 1).is_multiple_of(config.sliding_window_pattern.unwrap_or(every).max(1))
            }
        };
        Ok(is_windowed.then_some(window))
    }

    fn feed_forward(&self, layer: u64) -> Result<FeedForward, RooflineError> {
        let config = self.config;
        let is_dense = match config.num_experts {
            None | Some(0) => true,
            Some(_) => {
                layer < config.first_k_dense_replace.unwrap_or(0)
                    || config.mlp_only_layers.as_ref().is_some_and(|list| list.contains(&layer))
                    || !(layer + 1).is_multiple_of(config.decoder_sparse_step.unwrap_or(1).max(1))
            }
        };
        if is_dense {
            return Ok(FeedForward::Dense {
                width: need("intermediate_size", config.intermediate_size)?,
                has_bias: config.mlp_bias.unwrap_or(false),
            });
        }
        let experts = need("num_experts", config.num_experts)?;
        let active = need("num_experts_per_tok", config.num_experts_per_tok)?;
        if active > experts {
            return Err(wrong(format!("num_experts_per_tok {active} is above {experts} experts")));
        }
        let width = match config.moe_intermediate_size {
            Some(width) => limit("moe_intermediate_size", width)?,
            None => need("intermediate_size", config.intermediate_size)?,
        };
        let shared_width = match (config.shared_expert_intermediate_size, config.n_shared_experts) {
            (Some(width), _) => limit("shared_expert_intermediate_size", width)?,
            (None, Some(count)) => limit("n_shared_experts", count.max(1))? * width * count.min(1),
            (None, None) => 0,
        };
        Ok(FeedForward::Experts {
            experts,
            active,
            width,
            shared_width,
            has_shared_gate: self.rules.has_shared_gate,
            has_bias: self.rules.has_expert_bias,
        })
    }

    /// Elements of norms and biases of one layer.
    fn vectors(&self, hidden: u64, attention: &Attention, feed_forward: &FeedForward) -> u64 {
        let rules = self.rules;
        let mut vectors = rules.norms * hidden;
        match *attention {
            Attention::Grouped { heads, kv_heads, head_dim, .. } => {
                let has_bias = self.config.attention_bias.unwrap_or(false);
                if rules.has_head_norms || self.config.use_qk_norm == Some(true) {
                    vectors += 2 * head_dim;
                }
                if rules.has_qkv_bias || has_bias {
                    vectors += (heads + 2 * kv_heads) * head_dim;
                }
                // GLM's attention_bias is that of queries, keys and values alone.
                if rules.has_output_bias || (has_bias && !rules.has_expert_correction) {
                    vectors += hidden;
                }
                vectors += if rules.has_sinks { heads } else { 0 };
            }
            Attention::Latent { query_rank, kv_rank, .. } => {
                vectors += query_rank.unwrap_or(0) + kv_rank;
            }
            Attention::Delta { key_heads, value_heads, key_dim, value_dim, convolution } => {
                let channels = 2 * key_heads * key_dim + value_heads * value_dim;
                vectors += channels * convolution + 2 * value_heads + value_dim;
            }
        }
        match *feed_forward {
            FeedForward::Experts { experts, .. } => {
                let per_expert =
                    u64::from(rules.has_expert_bias) + u64::from(rules.has_expert_correction);
                vectors += per_expert * experts;
            }
            FeedForward::Dense { width, has_bias } => {
                vectors += if has_bias { 2 * width + hidden } else { 0 };
            }
        }
        vectors
    }
}

fn need(field: &str, value: Option<u64>) -> Result<u64, RooflineError> {
    limit(field, value.ok_or_else(|| wrong(format!("{field} is missing")))?)
}

fn limit(field: &str, value: u64) -> Result<u64, RooflineError> {
    if value == 0 || value > FIELD_MAX {
        return Err(wrong(format!("{field} {value} is not between 1 and {FIELD_MAX}")));
    }
    Ok(value)
}
