//! GGUF files of the llama family (the format of llama.cpp).
//!
//! Quantised tensors stay as they are stored. Supported architectures: `llama`
//! (which Mistral, TinyLlama and SmolLM files are too), `qwen2` and `qwen3`; without
//! mixtures of experts. The file is read tensor by tensor, so no more than the model
//! and one tensor are in memory.
//!
//! Not here: the tokenizer in the file (`ifm-tokenizer`).

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use candle_core::{
    Device,
    quantized::{
        QTensor,
        gguf_file::{Content, Value},
    },
};
use ifm_tokenizer::Tokenizer;

use super::{LoadError, LoadedParts, choose_context, rope_scaling};
use crate::{
    decoder::Decoder,
    info::describe,
    parallel::Compute,
    shape::ModelShape,
    weights::{LayerTensor, TensorName, WeightSource, tensor_from_bytes},
};

/// The architectures that the decoder covers.
const ARCHITECTURES: [&str; 3] = ["llama", "qwen2", "qwen3"];

/// Loads a model and its tokenizer from a file.
pub(crate) fn load(
    path: &Path,
    context: Option<usize>,
    compute: Compute,
) -> Result<LoadedParts, LoadError> {
    let file =
        File::open(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let content = Content::read(&mut reader).map_err(|error| explain(path, &error))?;
    let metadata = Metadata { content: &content, path };
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
    let divisors = metadata.rope_divisors(&architecture, &shape, &mut reader)?;
    let mut source = GgufWeights {
        path: path.to_owned(),
        content: &content,
        // llama.cpp stores the rows of this family with neighbours paired.
        paired_neighbours: architecture == "llama",
        head_width: shape.head_width,
        reader,
    };
    let decoder = Decoder::load(shape, &divisors, &mut source, compute)?;
    let tokenizer = load_tokenizer(path)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut info = describe(&decoder, &name, &architecture);
    info.eos_ids = metadata.eos_ids();
    if info.eos_ids.is_empty() {
        info.eos_ids.extend(tokenizer.eos_id());
    }
    if metadata.adds_bos() {
        info.bos_id = metadata.token_id("tokenizer.ggml.bos_token_id").or(tokenizer.bos_id());
    }
    Ok(LoadedParts { info, decoder, tokenizer })
}

/// A `tokenizer.json` beside the file is what the model's makers published; what the
/// file itself holds comes second.
fn load_tokenizer(path: &Path) -> Result<Tokenizer, LoadError> {
    let beside = path.with_file_name("tokenizer.json");
    Ok(Tokenizer::from_file(if beside.is_file() { &beside } else { path })?)
}

fn explain(path: &Path, error: &candle_core::Error) -> LoadError {
    let reason = error.to_string();
    if reason.contains("unknown dtype") {
        let what = format!(
            "a tensor format in {} ({reason}); hint: use a q8_0, q4_k or q6_k file",
            path.display()
        );
        return LoadError::Unsupported { what };
    }
    LoadError::Damaged { path: path.to_owned(), reason }
}

/// The key and value pairs of a file.
struct Metadata<'a> {
    content: &'a Content,
    path: &'a Path,
}

impl Metadata<'_> {
    fn value(&self, key: &str) -> Option<&Value> {
        self.content.metadata.get(key)
    }

    fn string(&self, key: &str) -> Result<&str, LoadError> {
        match self.value(key) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(self.damaged(format!("no text under {key}"))),
        }
    }

    fn damaged(&self, reason: String) -> LoadError {
        LoadError::Damaged { path: self.path.to_owned(), reason }
    }

    fn token_id(&self, key: &str) -> Option<u32> {
        u32::try_from(to_number(self.value(key)?)?).ok()
    }

    fn number(&self, key: &str) -> Result<Option<usize>, LoadError> {
        match self.value(key) {
            None => Ok(None),
            // Some files say the same number for each layer.
            Some(Value::Array(values)) if !values.is_empty() => {
                let numbers: Vec<_> = values.iter().map(to_number).collect();
                match numbers[0] {
                    Some(first) if numbers.iter().all(|number| *number == Some(first)) => {
                        Ok(usize::try_from(first).ok())
                    }
                    _ => {
                        Err(LoadError::Unsupported { what: format!("layers that differ in {key}") })
                    }
                }
            }
            Some(value) => Ok(to_number(value).and_then(|number| usize::try_from(number).ok())),
        }
    }

    fn required(&self, key: &str) -> Result<usize, LoadError> {
        self.number(key)?.ok_or_else(|| self.damaged(format!("no number under {key}")))
    }

    fn float(&self, key: &str) -> Option<f32> {
        match self.value(key)? {
            Value::F32(number) => Some(*number),
            Value::F64(number) => Some(*number as f32),
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
            .content
            .tensor_infos
            .get(&TensorName::Embedding.gguf())
            .and_then(|info| info.shape.dims().first().copied())
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
            tied_head: !self.content.tensor_infos.contains_key(&TensorName::Head.gguf()),
        })
    }

    fn rope_divisors(
        &self,
        architecture: &str,
        shape: &ModelShape,
        reader: &mut BufReader<File>,
    ) -> Result<Vec<f32>, LoadError> {
        let half = shape.head_width / 2;
        if self.content.tensor_infos.contains_key("rope_freqs.weight") {
            let tensor = self
                .content
                .tensor(reader, "rope_freqs.weight", &Device::Cpu)
                .map_err(|error| explain(self.path, &error))?;
            return to_vector(&tensor, "rope_freqs.weight", half);
        }
        let kind = format!("{architecture}.rope.scaling.type");
        match self.value(&kind) {
            None => Ok(Vec::new()),
            Some(Value::String(kind)) if kind == "none" => Ok(Vec::new()),
            Some(Value::String(kind)) if kind == "linear" => {
                let factor = self.float(&format!("{architecture}.rope.scaling.factor"));
                Ok(rope_scaling::linear(half, factor.unwrap_or(1.0)))
            }
            Some(other) => Err(LoadError::Unsupported {
                what: format!("rotary scaling {other:?}; hint: none, linear and llama3 are"),
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
            _ => matches!(self.string("tokenizer.ggml.model"), Ok("llama")),
        }
    }
}

fn to_number(value: &Value) -> Option<u64> {
    match value {
        Value::I8(number) => u64::try_from(*number).ok(),
        Value::I16(number) => u64::try_from(*number).ok(),
        Value::I32(number) => u64::try_from(*number).ok(),
        Value::I64(number) => u64::try_from(*number).ok(),
        other => other.to_u64().ok(),
    }
}

fn to_vector(tensor: &QTensor, name: &str, length: usize) -> Result<Vec<f32>, LoadError> {
    let values: Vec<f32> = tensor.dequantize(&Device::Cpu)?.flatten_all()?.to_vec1()?;
    if values.len() != length {
        return Err(LoadError::TensorShape {
            tensor: name.to_owned(),
            got: vec![values.len()],
            expected: vec![length],
        });
    }
    Ok(values)
}

/// The tensors of a file.
struct GgufWeights<'a> {
    path: PathBuf,
    content: &'a Content,
    reader: BufReader<File>,
    paired_neighbours: bool,
    head_width: usize,
}

impl GgufWeights<'_> {
    fn read(&mut self, name: &str) -> Result<QTensor, LoadError> {
        self.content
            .tensor(&mut self.reader, name, &Device::Cpu)
            .map_err(|error| explain(&self.path, &error))
    }
}

impl WeightSource for GgufWeights<'_> {
    fn matrix(
        &mut self,
        name: TensorName,
        rows: usize,
        columns: usize,
    ) -> Result<QTensor, LoadError> {
        let file_name = name.gguf();
        let Some(info) = self.content.tensor_infos.get(&file_name) else {
            return Err(LoadError::MissingTensor { tensor: file_name });
        };
        if info.shape.dims() != [rows, columns] {
            return Err(LoadError::TensorShape {
                tensor: file_name,
                got: info.shape.dims().to_vec(),
                expected: vec![rows, columns],
            });
        }
        let tensor = self.read(&file_name)?;
        match name {
            TensorName::Layer(_, LayerTensor::Query | LayerTensor::Key)
                if self.paired_neighbours =>
            {
                pair_halves(&tensor, self.head_width)
            }
            _ => Ok(tensor),
        }
    }

    fn vector(&mut self, name: TensorName, length: usize) -> Result<Option<Vec<f32>>, LoadError> {
        let file_name = name.gguf();
        if !self.content.tensor_infos.contains_key(&file_name) {
            return Ok(None);
        }
        let tensor = self.read(&file_name)?;
        to_vector(&tensor, &file_name, length).map(Some)
    }
}

/// Reorders the rows of heads from neighbours paired to halves paired: row `2i + j` of
/// a head becomes row `j * width / 2 + i`. Rows keep their bytes, so any format does.
fn pair_halves(tensor: &QTensor, head_width: usize) -> Result<QTensor, LoadError> {
    let (rows, columns) = tensor.shape().dims2()?;
    let data = tensor.data()?;
    let row_bytes = data.len() / rows.max(1);
    let half = head_width / 2;
    let mut bytes = Vec::with_capacity(data.len());
    for row in 0..rows {
        let (head, within) = (row / head_width, row % head_width);
        let stored = head * head_width + 2 * (within % half) + within / half;
        bytes.extend_from_slice(&data[stored * row_bytes..][..row_bytes]);
    }
    tensor_from_bytes(bytes, tensor.dtype(), rows, columns)
}
