//! Folders as published on Hugging Face: `config.json`, `*.safetensors`, and a
//! tokenizer: `tokenizer.json`, or else `tokenizer.model`.
//!
//! Supported: `llama`, `mistral` (up to its sliding window), `qwen2` and `qwen3`, in
//! 16-bit or 32-bit floats, of which variants can be made while loading, or quantised
//! already (`scheme`).
//!
//! Not here: the weights (`checkpoint`).

use std::path::{Path, PathBuf};

use ifm_tokenizer::Tokenizer;
use serde_json::Value;

use super::{
    LoadError, Prepared, checkpoint::CheckpointWeights, choose_context, read_bounded, rope_scaling,
    safetensors::Checkpoint, scheme::Scheme,
};
use crate::{
    kv_format::KvFormat, quantization::Quantization, shape::ModelShape, weights::TensorName,
};

/// The longest `config.json` and its like, bytes.
const CONFIG_BYTES_MAX: u64 = 16 << 20;
/// The longest `tokenizer.json`, bytes.
const TOKENIZER_BYTES_MAX: u64 = 256 << 20;

/// The values of `model_type` that the decoder covers.
const MODEL_TYPES: [&str; 4] = ["llama", "mistral", "qwen2", "qwen3"];

/// Reads everything except the weights.
pub(super) fn prepare(
    folder: &Path,
    quantization: Option<Quantization>,
    context: Option<usize>,
) -> Result<Prepared, LoadError> {
    let config = Config { path: folder.join("config.json"), json: Value::Null }.read()?;
    let architecture = config.check()?;
    let checkpoint = Checkpoint::open(folder)?;
    let shape = config.shape(context, &checkpoint)?;
    let rope_divisors = config.rope_divisors(&shape)?;
    let scheme = config.scheme(&checkpoint, &shape)?;
    if let (Some(quantization), Some(_)) = (quantization, &scheme) {
        return Err(LoadError::Unsupported {
            what: format!(
                "{quantization} of a checkpoint that is quantised already; hint: leave it as it \
                 is, or take the one in floats"
            ),
        });
    }
    let tokenizer = Tokenizer::from_file(folder)?;
    let folder_name = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut eos_ids = config.eos_ids(folder);
    if eos_ids.is_empty() {
        eos_ids.extend(tokenizer.eos_id());
    }
    let variant = match (quantization, &scheme) {
        (Some(quantization), _) => quantization.label(),
        (None, Some(scheme)) => scheme.label(),
        (None, None) => String::new(),
    };
    Ok(Prepared {
        name: folder_name.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        architecture,
        shape,
        rope_divisors,
        source: Box::new(CheckpointWeights::new(checkpoint, quantization, scheme)),
        bos_id: if adds_bos(folder) { tokenizer.bos_id() } else { None },
        eos_ids,
        random_seed: None,
        variant,
        tokenizer,
    })
}

/// A `config.json`.
struct Config {
    path: PathBuf,
    json: Value,
}

impl Config {
    fn read(self) -> Result<Self, LoadError> {
        let text = read_bounded(&self.path, CONFIG_BYTES_MAX)?;
        let json =
            serde_json::from_slice(&text).map_err(|error| self.damaged(error.to_string()))?;
        Ok(Self { json, ..self })
    }

    fn damaged(&self, reason: String) -> LoadError {
        LoadError::Damaged { path: self.path.clone(), reason }
    }

    /// Refuses what the decoder would compute wrongly; gives the architecture.
    fn check(&self) -> Result<String, LoadError> {
        let unsupported = |what: String| Err(LoadError::Unsupported { what });
        let architecture = self.json["model_type"].as_str().unwrap_or("unknown").to_owned();
        if !MODEL_TYPES.contains(&architecture.as_str()) {
            return unsupported(format!(
                "the architecture {architecture}; hint: use one of {}",
                MODEL_TYPES.join(", ")
            ));
        }
        let activation = self.json["hidden_act"].as_str().unwrap_or("silu");
        if activation != "silu" {
            return unsupported(format!("the activation {activation}"));
        }
        for key in ["mlp_bias", "use_sliding_window"] {
            if self.json[key] == true {
                return unsupported(format!("{key} in {}", self.path.display()));
            }
        }
        // The output projection would have one as well.
        if self.json["attention_bias"] == true && architecture != "qwen2" {
            return unsupported(format!("attention_bias in {}", self.path.display()));
        }
        Ok(architecture)
    }

    fn number(&self, key: &str) -> Option<usize> {
        usize::try_from(self.json[key].as_u64()?).ok()
    }

    fn required(&self, key: &str) -> Result<usize, LoadError> {
        self.number(key).ok_or_else(|| self.damaged(format!("no number under {key}")))
    }

    fn shape(
        &self,
        context: Option<usize>,
        checkpoint: &Checkpoint,
    ) -> Result<ModelShape, LoadError> {
        let embedding = self.required("hidden_size")?;
        let heads = self.required("num_attention_heads")?;
        let trained = self.number("max_position_embeddings").unwrap_or(4096);
        // Within the window a sliding attention sees all there is. Others than Mistral
        // name a window and say elsewhere that it is not used.
        let window = self.number("sliding_window").filter(|_| self.json["model_type"] == "mistral");
        let most = window.map_or(trained, |window| window.min(trained));
        let head = TensorName::Head.hugging_face();
        Ok(ModelShape {
            layers: self.required("num_hidden_layers")?,
            embedding,
            heads,
            kv_heads: self.number("num_key_value_heads").unwrap_or(heads),
            head_width: self.number("head_dim").unwrap_or(embedding / heads.max(1)),
            feed_forward: self.required("intermediate_size")?,
            vocabulary: self.required("vocab_size")?,
            context_max: choose_context(context, most),
            rope_base: self.rope("rope_theta").unwrap_or(10_000.0) as f32,
            norm_epsilon: self.json["rms_norm_eps"].as_f64().unwrap_or(1e-6) as f32,
            tied_head: self.json["tie_word_embeddings"] == true || !checkpoint.contains(&head),
            kv: KvFormat::default(),
        })
    }

    /// How the checkpoint is quantised, if it is.
    fn scheme(
        &self,
        checkpoint: &Checkpoint,
        shape: &ModelShape,
    ) -> Result<Option<Scheme>, LoadError> {
        match &self.json["quantization_config"] {
            Value::Null => Ok(None),
            config => Scheme::read(config, checkpoint, shape).map(Some),
        }
    }

    /// A number of the rotation: in `rope_parameters` (Transformers 5), in
    /// `rope_scaling`, or at the top.
    fn rope(&self, key: &str) -> Option<f64> {
        ["rope_parameters", "rope_scaling"]
            .iter()
            .find_map(|group| self.json[group][key].as_f64())
            .or_else(|| self.json[key].as_f64())
    }

    fn rope_divisors(&self, shape: &ModelShape) -> Result<Vec<f32>, LoadError> {
        let kind = ["rope_parameters", "rope_scaling"].iter().find_map(|group| {
            let group = &self.json[group];
            group["rope_type"].as_str().or_else(|| group["type"].as_str())
        });
        let required = |key: &str| {
            self.rope(key).ok_or_else(|| self.damaged(format!("no number under {key}")))
        };
        match kind {
            None | Some("default") => Ok(Vec::new()),
            Some("linear") => {
                Ok(rope_scaling::linear(shape.head_width / 2, required("factor")? as f32))
            }
            Some("llama3") => {
                let scheme = rope_scaling::Llama3 {
                    factor: required("factor")?,
                    low_frequency_factor: required("low_freq_factor")?,
                    high_frequency_factor: required("high_freq_factor")?,
                    original_context: required("original_max_position_embeddings")?,
                };
                Ok(scheme.divisors(shape.head_width, shape.rope_base))
            }
            Some(other) => Err(LoadError::Unsupported {
                what: format!(
                    "rotary scaling {other}; hint: default, linear and llama3 are supported"
                ),
            }),
        }
    }

    /// Ends of an answer, from `generation_config.json` and `config.json`.
    fn eos_ids(&self, folder: &Path) -> Vec<u32> {
        let generation = read_json(&folder.join("generation_config.json"), CONFIG_BYTES_MAX);
        let mut ids: Vec<u32> = [&generation, &self.json]
            .into_iter()
            .flat_map(|json| match &json["eos_token_id"] {
                Value::Array(ids) => ids.clone(),
                id => vec![id.clone()],
            })
            .filter_map(|id| u32::try_from(id.as_u64()?).ok())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// A file that may be missing or of no use; `Null` then.
fn read_json(path: &Path, limit_bytes: u64) -> Value {
    read_bounded(path, limit_bytes)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or(Value::Null)
}

/// Whether a prompt starts with the token of the start: as `tokenizer_config.json`
/// says, else as the template in `tokenizer.json` does.
fn adds_bos(folder: &Path) -> bool {
    if let Some(adds) =
        read_json(&folder.join("tokenizer_config.json"), CONFIG_BYTES_MAX)["add_bos_token"]
            .as_bool()
    {
        return adds;
    }
    let tokenizer = read_json(&folder.join("tokenizer.json"), TOKENIZER_BYTES_MAX);
    let processor = &tokenizer["post_processor"];
    let nested = processor["processors"].as_array().map_or(&[][..], Vec::as_slice);
    std::iter::once(processor)
        .chain(nested)
        .any(|processor| processor["single"][0].get("SpecialToken").is_some())
}
