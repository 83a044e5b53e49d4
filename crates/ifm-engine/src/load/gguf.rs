//! GGUF files of the llama family (the format of llama.cpp).
//!
//! Quantised tensors stay as they are stored. Supported architectures: `llama`
//! (which Mistral, TinyLlama and SmolLM files are too), `qwen2` and `qwen3`; without
//! mixtures of experts. The file is read tensor by tensor, so no more than the model
//! and one tensor are in memory.
//!
//! Not here: the layout of the file (`gguf_file`), the tokenizer in it (`ifm-tokenizer`).

use std::path::Path;

use ifm_kernels::{Format, Stored};
use ifm_tokenizer::{Tokenizer, gguf::Value};

use super::{
    LoadError, Prepared, choose_context,
    gguf_file::{GgufFile, to_number},
    rope_scaling,
};
use crate::{
    kv_format::KvFormat,
    shape::ModelShape,
    weights::{LayerTensor, TensorName, Weight, WeightSource},
};

/// The architectures that the decoder covers.
const ARCHITECTURES: [&str; 3] = ["llama", "qwen2", "qwen3"];

/// The tensor with the divisors of the rotation, where there is one.
const ROPE_DIVISORS: &str = "rope_freqs.weight";

/// Reads everything except the weights.
pub(super) fn prepare(path: &Path, context: Option<usize>) -> Result<Prepared, LoadError> {
    let mut file = GgufFile::open(path)?;
    let metadata = Metadata { file: &file };
    let architecture = metadata.string("general.architecture")?.to_owned();
    if !ARCHITECTURES.contains(&architecture.as_str()) {
        return Err(LoadError::Unsupported {
            what: format!(
                "the architecture {architecture}; hint: use one of {}",
                ARCHITECTURES.join(", ")
            ),
        });
    }
    let shape = metadata.shape(&architecture, context)?;
    let mut eos_ids = metadata.eos_ids();
    let (adds_bos, bos_id) =
        (metadata.adds_bos(), metadata.token_id("tokenizer.ggml.bos_token_id"));
    let rope_divisors = match metadata.rope_divisors(&architecture, &shape)? {
        Some(divisors) => divisors,
        None => vector(&mut file, ROPE_DIVISORS, shape.head_width / 2)?,
    };
    let tokenizer = load_tokenizer(path)?;
    if eos_ids.is_empty() {
        eos_ids.extend(tokenizer.eos_id());
    }
    Ok(Prepared {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        source: Box::new(GgufWeights {
            file,
            // llama.cpp stores the rows of this family with neighbours paired.
            paired_neighbours: architecture == "llama",
            head_width: shape.head_width,
        }),
        architecture,
        shape,
        rope_divisors,
        bos_id: bos_id.or(tokenizer.bos_id()).filter(|_| adds_bos),
        eos_ids,
        random_seed: None,
        variant: String::new(),
        tokenizer,
    })
}

/// A `tokenizer.json` next to the file is what the model's authors published; it takes
/// precedence over the file's own vocabulary.
fn load_tokenizer(path: &Path) -> Result<Tokenizer, LoadError> {
    let sibling = path.with_file_name("tokenizer.json");
    Ok(Tokenizer::from_file(if sibling.is_file() { &sibling } else { path })?)
}

/// The keys of a file.
struct Metadata<'a> {
    file: &'a GgufFile,
}

impl Metadata<'_> {
    fn value(&self, key: &str) -> Option<&Value> {
        self.file.value(key)
    }

    fn string(&self, key: &str) -> Result<&str, LoadError> {
        self.text(key).ok_or_else(|| self.damaged(format!("no text under {key}")))
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.value(key)? {
            Value::Text(text) => std::str::from_utf8(text).ok(),
            _ => None,
        }
    }

    fn damaged(&self, reason: String) -> LoadError {
        LoadError::Damaged { path: self.file.path().to_owned(), reason }
    }

    fn token_id(&self, key: &str) -> Option<u32> {
        u32::try_from(to_number(self.value(key)?)?).ok()
    }

    fn number(&self, key: &str) -> Result<Option<usize>, LoadError> {
        match self.value(key) {
            None => Ok(None),
            // Some files say the same number for each layer.
            Some(Value::Numbers(numbers)) => match numbers.split_first() {
                Some((first, rest)) if rest.iter().all(|number| number == first) => {
                    Ok(usize::try_from(*first).ok())
                }
                _ => Err(LoadError::Unsupported { what: format!("layers that differ in {key}") }),
            },
            Some(value) => Ok(to_number(value).and_then(|number| usize::try_from(number).ok())),
        }
    }

    fn required(&self, key: &str) -> Result<usize, LoadError> {
        self.number(key)?.ok_or_else(|| self.damaged(format!("no number under {key}")))
    }

    fn float(&self, key: &str) -> Option<f32> {
        match self.value(key)? {
            Value::Float(number) => Some(*number as f32),
            _ => None,
        }
    }

    fn shape(&self, architecture: &str, context: Option<usize>) -> Result<ModelShape, LoadError> {
        let key = |name: &str| format!("{architecture}.{name}");
        if self.number(&key("expert_count"))?.is_some_and(|experts| experts > 0) {
            return Err(LoadError::Unsupported { what: "mixtures of experts".to_owned() });
        }
        let embedding = self.required(&key("embedding_length"))?;
        let heads = self.required(&key("attention.head_count"))?;
        let head_width = match self.number(&key("attention.key_length"))? {
            Some(width) => width,
            None => embedding / heads.max(1),
        };
        let turned = self.number(&key("rope.dimension_count"))?.unwrap_or(head_width);
        if turned != head_width {
            return Err(LoadError::Unsupported {
                what: format!("heads of {head_width} of which only {turned} are rotated"),
            });
        }
        let vocabulary = self
            .file
            .dimensions(&TensorName::Embedding.gguf())
            .and_then(|dimensions| dimensions.first().copied())
            .ok_or_else(|| self.damaged("no embedding".to_owned()))?;
        let trained = self.number(&key("context_length"))?.unwrap_or(4096);
        Ok(ModelShape {
            layers: self.required(&key("block_count"))?,
            embedding,
            heads,
            kv_heads: self.number(&key("attention.head_count_kv"))?.unwrap_or(heads),
            head_width,
            feed_forward: self.required(&key("feed_forward_length"))?,
            vocabulary,
            context_max: choose_context(context, trained),
            rope_base: self.float(&key("rope.freq_base")).unwrap_or(10_000.0),
            norm_epsilon: self.float(&key("attention.layer_norm_rms_epsilon")).unwrap_or(1e-5),
            tied_head: self.file.dimensions(&TensorName::Head.gguf()).is_none(),
            kv: KvFormat::default(),
        })
    }

    /// What slows pairs of the rotation down; `None` where a tensor says it.
    fn rope_divisors(
        &self,
        architecture: &str,
        shape: &ModelShape,
    ) -> Result<Option<Vec<f32>>, LoadError> {
        if self.file.dimensions(ROPE_DIVISORS).is_some() {
            return Ok(None);
        }
        let key = format!("{architecture}.rope.scaling.type");
        match (self.value(&key), self.text(&key)) {
            (None, _) | (_, Some("none")) => Ok(Some(Vec::new())),
            (_, Some("linear")) => {
                let factor = self.float(&format!("{architecture}.rope.scaling.factor"));
                Ok(Some(rope_scaling::linear(shape.head_width / 2, factor.unwrap_or(1.0))))
            }
            (_, other) => Err(LoadError::Unsupported {
                what: format!(
                    "rotary scaling {}; hint: none, linear and llama3 are supported",
                    other.unwrap_or("without a name")
                ),
            }),
        }
    }

    fn eos_ids(&self) -> Vec<u32> {
        let keys = ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"];
        let mut ids: Vec<u32> = keys.iter().filter_map(|key| self.token_id(key)).collect();
        ids.dedup();
        ids
    }

    /// Whether a prompt starts with the token of the start: as the file says, else as
    /// the makers of its kind of tokenizer do.
    fn adds_bos(&self) -> bool {
        match self.value("tokenizer.ggml.add_bos_token") {
            Some(Value::Bool(adds)) => *adds,
            _ => self.text("tokenizer.ggml.model") == Some("llama"),
        }
    }
}

/// Reads a vector.
fn vector(file: &mut GgufFile, name: &str, length: usize) -> Result<Vec<f32>, LoadError> {
    let mut values = vec![0.0; length];
    file.read(name, &[length])?.decode_row(0, &mut values);
    Ok(values)
}

/// The tensors of a file.
struct GgufWeights {
    file: GgufFile,
    paired_neighbours: bool,
    head_width: usize,
}

impl WeightSource for GgufWeights {
    fn format(&self, name: TensorName, rows: usize, columns: usize) -> Result<Format, LoadError> {
        self.file.format(&name.gguf(), &[rows, columns])
    }

    fn matrix(
        &mut self,
        name: TensorName,
        rows: usize,
        columns: usize,
    ) -> Result<Weight, LoadError> {
        let stored = self.file.read(&name.gguf(), &[rows, columns])?;
        let is_paired = matches!(name, TensorName::Layer(_, LayerTensor::Query | LayerTensor::Key));
        if is_paired && self.paired_neighbours {
            return Ok(pair_halves(&stored, self.head_width)?.into());
        }
        Ok(stored.into())
    }

    fn vector(&mut self, name: TensorName, length: usize) -> Result<Option<Vec<f32>>, LoadError> {
        let name = name.gguf();
        match self.file.dimensions(&name) {
            None => Ok(None),
            Some(_) => vector(&mut self.file, &name, length).map(Some),
        }
    }
}

/// Reorders the rows of heads from neighbours paired to halves paired: row `2i + j` of
/// a head becomes row `j * width / 2 + i`. Rows keep their bytes, so any format does.
fn pair_halves(stored: &Stored, head_width: usize) -> Result<Stored, LoadError> {
    let (rows, columns) = (stored.rows(), stored.columns());
    let row_bytes = stored.format().row_bytes(columns);
    let half = head_width / 2;
    let mut bytes = Vec::with_capacity(stored.bytes().len());
    for row in 0..rows {
        let (head, within) = (row / head_width, row % head_width);
        let from = head * head_width + 2 * (within % half) + within / half;
        bytes.extend_from_slice(&stored.bytes()[from * row_bytes..][..row_bytes]);
    }
    Ok(Stored::new(stored.format(), rows, columns, bytes)?)
}
