//! Files written from a random model, loaded again: the same model.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use ifm_kernels::{Format, Stored};
use ifm_tokenizer::Tokenizer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    decoder::Row,
    kv::{KvCache, KvPool},
    load_error::LoadError,
    model::{Model, ModelSource},
    quantization::Quantization,
    random::RandomWeights,
    shape::{ModelShape, Preset},
    weights::{LayerTensor, TensorName, WeightSource, matrices},
};

const SEED: u64 = 11;

pub(super) fn memory(quantization: Quantization) -> Model {
    let source = ModelSource::Preset { preset: Preset::Nano, quantization, seed: SEED };
    Model::load(&source, Some(256)).expect("a preset loads")
}

pub(super) fn logits(model: &Model) -> Vec<f32> {
    let tokens = [5, 77, 4000, 8191, 12, 1];
    let mut pool = KvPool::new(model.decoder.shape(), tokens.len());
    let mut cache = KvCache::default();
    pool.extend(&mut cache, tokens.len()).expect("room");
    let row = Row { cache: &mut cache, tokens: &tokens, wants_logits: true };
    model.decoder.step(&mut [row]).expect("step").data.to_vec()
}

pub(super) fn assert_close(got: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(got.len(), expected.len());
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!((got - expected).abs() <= tolerance, "{index}: {got} instead of {expected}");
    }
}

fn norms(shape: &ModelShape) -> Vec<TensorName> {
    let mut names = vec![TensorName::FinalNorm];
    for layer in 0..shape.layers {
        names.push(TensorName::Layer(layer, LayerTensor::AttentionNorm));
        names.push(TensorName::Layer(layer, LayerTensor::FeedForwardNorm));
    }
    names
}

pub(super) fn nano_matrices(quantization: Quantization) -> Vec<(TensorName, Stored)> {
    let shape = Preset::Nano.shape();
    let mut weights = RandomWeights::new(&shape, quantization, SEED);
    let matrices = matrices(&shape).into_iter();
    matrices
        .map(|(name, rows, columns)| {
            (name, weights.matrix(name, rows, columns).expect("made").stored)
        })
        .collect()
}

/// Rows of heads as llama.cpp stores them: neighbours paired.
fn pair_neighbours(stored: &Stored, head_width: usize) -> Stored {
    let row_bytes = stored.bytes().len() / stored.rows();
    let half = head_width / 2;
    let mut bytes = Vec::new();
    for row in 0..stored.rows() {
        let within = row % head_width;
        let source = row - within + within % 2 * half + within / 2;
        bytes.extend_from_slice(&stored.bytes()[source * row_bytes..][..row_bytes]);
    }
    Stored::new(stored.format(), stored.rows(), stored.columns(), bytes).expect("a matrix")
}

/// A value of a key, as this file's writer takes it.
#[derive(Clone)]
pub(super) enum Entry {
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    String(String),
    Array(Vec<Entry>),
}

impl Entry {
    fn kind(&self) -> u32 {
        match self {
            Self::U32(_) => 4,
            Self::I32(_) => 5,
            Self::F32(_) => 6,
            Self::Bool(_) => 7,
            Self::String(_) => 8,
            Self::Array(_) => 9,
        }
    }

    fn write(&self, file: &mut Vec<u8>) {
        match self {
            Self::U32(number) => file.extend(number.to_le_bytes()),
            Self::I32(number) => file.extend(number.to_le_bytes()),
            Self::F32(number) => file.extend(number.to_le_bytes()),
            Self::Bool(flag) => file.push(u8::from(*flag)),
            Self::String(text) => write_text(text, file),
            Self::Array(entries) => {
                file.extend(entries.first().map_or(4, Self::kind).to_le_bytes());
                file.extend((entries.len() as u64).to_le_bytes());
                entries.iter().for_each(|entry| entry.write(file));
            }
        }
    }
}

fn write_text(text: &str, file: &mut Vec<u8>) {
    file.extend((text.len() as u64).to_le_bytes());
    file.extend(text.as_bytes());
}

pub(super) type Metadata = BTreeMap<String, Entry>;

fn gguf_metadata(shape: &ModelShape) -> Metadata {
    let number = |value: usize| Entry::U32(value as u32);
    let text = |value: &str| Entry::String(value.to_owned());
    let tokenizer: Value =
        serde_json::from_str(&Tokenizer::embedded().expect("embedded").to_json().expect("JSON"))
            .expect("valid");
    let vocabulary = tokenizer["model"]["vocab"].as_object().expect("a vocabulary");
    let mut tokens = vec![String::new(); shape.vocabulary];
    for (token, id) in vocabulary {
        tokens[id.as_u64().expect("an id") as usize].clone_from(token);
    }
    let mut kinds = vec![1; shape.vocabulary];
    for added in tokenizer["added_tokens"].as_array().expect("special tokens") {
        let id = added["id"].as_u64().expect("an id") as usize;
        added["content"].as_str().expect("text").clone_into(&mut tokens[id]);
        kinds[id] = 3;
    }
    let merges = tokenizer["model"]["merges"].as_array().expect("merges").iter().map(|merge| {
        let pair = merge
            .as_array()
            .map(|pair| pair.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "));
        Entry::String(pair.or(merge.as_str().map(str::to_owned)).expect("a merge"))
    });
    let entries = [
        ("general.architecture", text("llama")),
        ("llama.block_count", number(shape.layers)),
        ("llama.embedding_length", number(shape.embedding)),
        ("llama.attention.head_count", number(shape.heads)),
        ("llama.attention.head_count_kv", number(shape.kv_heads)),
        ("llama.rope.dimension_count", number(shape.head_width)),
        ("llama.feed_forward_length", number(shape.feed_forward)),
        ("llama.context_length", number(shape.context_max)),
        ("llama.rope.freq_base", Entry::F32(shape.rope_base)),
        ("llama.attention.layer_norm_rms_epsilon", Entry::F32(shape.norm_epsilon)),
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text("gpt-2")),
        ("tokenizer.ggml.tokens", Entry::Array(tokens.into_iter().map(Entry::String).collect())),
        ("tokenizer.ggml.token_type", Entry::Array(kinds.into_iter().map(Entry::I32).collect())),
        ("tokenizer.ggml.merges", Entry::Array(merges.collect())),
        ("tokenizer.ggml.bos_token_id", number(0)),
        ("tokenizer.ggml.eos_token_id", number(1)),
        ("tokenizer.ggml.add_bos_token", Entry::Bool(true)),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn gguf_tensors(quantization: Quantization) -> Tensors {
    let shape = Preset::Nano.shape();
    let mut tensors: Tensors = nano_matrices(quantization)
        .into_iter()
        .map(|(name, tensor)| {
            let tensor = match name {
                TensorName::Layer(_, LayerTensor::Query | LayerTensor::Key) => {
                    pair_neighbours(&tensor, shape.head_width)
                }
                _ => tensor,
            };
            (name.gguf(), tensor)
        })
        .collect();
    for name in norms(&shape) {
        let ones = vec![1.0; shape.embedding];
        let tensor = Stored::encode(Format::F32, 1, shape.embedding, &ones).expect("a row");
        tensors.push((name.gguf(), tensor));
    }
    tensors
}

type Tensors = Vec<(String, Stored)>;

/// Formats by their numbers in a file.
const NUMBERS: [(Format, u32); 7] = [
    (Format::F32, 0),
    (Format::F16, 1),
    (Format::Q4_0, 2),
    (Format::Q8_0, 8),
    (Format::Q4K, 12),
    (Format::Q6K, 14),
    (Format::BF16, 30),
];

fn write_gguf(path: &Path, metadata: &Metadata, tensors: &[(String, Stored)]) {
    fs::write(path, gguf_bytes(3, metadata, tensors)).expect("written");
}

pub(super) fn gguf_bytes(
    version: u32,
    metadata: &Metadata,
    tensors: &[(String, Stored)],
) -> Vec<u8> {
    const ALIGNMENT: usize = 32;
    let mut file = b"GGUF".to_vec();
    file.extend(version.to_le_bytes());
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend((metadata.len() as u64).to_le_bytes());
    for (key, entry) in metadata {
        write_text(key, &mut file);
        file.extend(entry.kind().to_le_bytes());
        entry.write(&mut file);
    }
    let mut data: Vec<u8> = Vec::new();
    for (name, tensor) in tensors {
        write_text(name, &mut file);
        let (rows, columns) = (tensor.rows() as u64, tensor.columns() as u64);
        let dimensions = if rows == 1 { vec![columns] } else { vec![columns, rows] };
        file.extend((dimensions.len() as u32).to_le_bytes());
        file.extend(dimensions.iter().flat_map(|size| size.to_le_bytes()));
        let number = NUMBERS.iter().find(|(format, _)| *format == tensor.format());
        file.extend(number.expect("a format that is written here").1.to_le_bytes());
        data.resize(data.len().next_multiple_of(ALIGNMENT), 0);
        file.extend((data.len() as u64).to_le_bytes());
        data.extend_from_slice(tensor.bytes());
    }
    file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
    file.extend(data);
    file
}

fn load_gguf(path: PathBuf) -> Result<Model, LoadError> {
    Model::load(&ModelSource::Gguf { path }, Some(256))
}

#[test]
fn a_gguf_file_is_the_model_it_was_written_from() {
    let folder = TempDir::new().expect("a folder");
    let kinds = [Quantization::Q8_0, Quantization::Q4K, Quantization::F32, Quantization::BF16];
    for quantization in kinds {
        let path = folder.path().join(format!("nano-{quantization}.gguf"));
        write_gguf(&path, &gguf_metadata(&Preset::Nano.shape()), &gguf_tensors(quantization));
        let loaded = load_gguf(path).expect("loads");
        let expected = memory(quantization);
        assert_close(&logits(&loaded), &logits(&expected), 1e-4);
        let info = loaded.info();
        assert_eq!(info.name, format!("nano-{quantization}"));
        assert_eq!((&info.eos_ids[..], info.bos_id), (&[1][..], Some(0)));
        assert_eq!(info.random_seed, None);
        assert_eq!(info.stored_dtype, quantization.name());
        assert_eq!(info.shape, expected.info().shape);
        assert_eq!(info.parameters, expected.info().parameters);
    }
}

#[test]
fn the_tokenizer_in_a_gguf_file_makes_the_same_tokens() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("nano.gguf");
    write_gguf(&path, &gguf_metadata(&Preset::Nano.shape()), &gguf_tensors(Quantization::Q8_0));
    let loaded = load_gguf(path).expect("loads");
    let embedded = Tokenizer::embedded().expect("embedded");
    for text in ["fn main() { println!(\"{}\", 42); }", "<|user|>Où est-ce ?<|end|>", " a  b\n\n"]
    {
        let ids = loaded.tokenizer().encode(text).expect("ids");
        assert_eq!(ids, embedded.encode(text).expect("ids"), "{text}");
        assert_eq!(loaded.tokenizer().decode(&ids).ok(), embedded.decode(&ids).ok());
    }
}

#[test]
fn a_tokenizer_beside_the_file_comes_first() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("nano.gguf");
    let mut metadata = gguf_metadata(&Preset::Nano.shape());
    metadata.insert("tokenizer.ggml.pre".to_owned(), Entry::String("strange".to_owned()));
    write_gguf(&path, &metadata, &gguf_tensors(Quantization::Q8_0));
    let error = load_gguf(path.clone()).expect_err("a strange tokenizer").to_string();
    assert!(error.contains("strange") && error.contains("tokenizer.json"), "{error}");
    let json = Tokenizer::embedded().expect("embedded").to_json().expect("JSON");
    fs::write(folder.path().join("tokenizer.json"), json).expect("written");
    assert!(load_gguf(path).is_ok());
}

#[test]
fn a_sentence_piece_vocabulary_joins_the_best_pair_first() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("nano.gguf");
    let mut metadata = gguf_metadata(&Preset::Nano.shape());
    let pieces = ["<unk>", "<s>", "</s>", "<0xC3>", "<0xBC>", "▁", "a", "b", "ab", "▁ab", "ba"];
    let scores = [0.0, 0.0, 0.0, 0.0, 0.0, -9.0, -9.0, -9.0, -1.0, -3.0, -2.0];
    let kinds = [2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1];
    let strings = pieces.map(|piece| Entry::String(piece.to_owned()));
    let entries = [
        ("tokenizer.ggml.model", Entry::String("llama".to_owned())),
        ("tokenizer.ggml.tokens", Entry::Array(strings.to_vec())),
        ("tokenizer.ggml.scores", Entry::Array(scores.map(Entry::F32).to_vec())),
        ("tokenizer.ggml.token_type", Entry::Array(kinds.map(Entry::I32).to_vec())),
        ("tokenizer.ggml.unknown_token_id", Entry::U32(0)),
    ];
    metadata.extend(entries.map(|(key, value)| (key.to_owned(), value)));
    write_gguf(&path, &metadata, &gguf_tensors(Quantization::Q8_0));
    let tokenizer = load_gguf(path).expect("loads").tokenizer().clone();
    // "ab" is better than "ba": ▁ab ab, not ▁a ba b. Unknown characters become bytes.
    assert_eq!(tokenizer.encode("abab").expect("ids"), [9, 8]);
    assert_eq!(tokenizer.encode("bü").expect("ids"), [5, 7, 3, 4]);
    assert_eq!(tokenizer.decode(&[9, 8, 3, 4]).expect("text"), "ababü");
}

#[test]
fn damaged_gguf_files_say_what_is_wrong() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("nano.gguf");
    let shape = Preset::Nano.shape();
    let tensors = gguf_tensors(Quantization::Q8_0);
    let check = |metadata: &Metadata, tensors: &[(String, Stored)], words: &[&str]| {
        write_gguf(&path, metadata, tensors);
        let error = load_gguf(path.clone()).expect_err("cannot load").to_string();
        for word in words {
            assert!(error.contains(word), "{word} is not in: {error}");
        }
    };
    let with = |key: &str, value: Entry| {
        let mut metadata = gguf_metadata(&shape);
        metadata.insert(key.to_owned(), value);
        metadata
    };
    let other = Entry::String("mamba".to_owned());
    check(&with("general.architecture", other), &tensors, &["mamba", "llama, qwen2, qwen3"]);
    check(&with("llama.expert_count", Entry::U32(8)), &tensors, &["experts"]);
    let yarn = Entry::String("yarn".to_owned());
    check(&with("llama.rope.scaling.type", yarn), &tensors, &["yarn"]);
    let wrong = with("llama.feed_forward_length", Entry::U32(512));
    check(&wrong, &tensors, &["ffn_gate", "[256, 256]", "[512, 256]"]);
    check(&with("llama.attention.head_count_kv", Entry::U32(3)), &tensors, &["4 heads over 3"]);
    check(&gguf_metadata(&shape), &tensors[..5], &["missing"]);
    let mut without = gguf_metadata(&shape);
    without.remove("llama.block_count");
    check(&without, &tensors, &["llama.block_count"]);
    write_gguf(&path, &gguf_metadata(&shape), &tensors);
    let whole = fs::read(&path).expect("written");
    for length in [0, 3, 100, whole.len() / 10, whole.len() - 5000] {
        fs::write(&path, &whole[..length]).expect("written");
        let error = load_gguf(path.clone()).expect_err("cut short");
        assert!(matches!(error, LoadError::Damaged { .. }), "{length}: {error}");
    }
    let absent = load_gguf(folder.path().join("absent.gguf")).expect_err("no file");
    assert!(matches!(absent, LoadError::Read { .. }), "{absent}");
}

/// A Hugging Face folder with the nano model in a format of floats, split over files.
pub(super) struct Folder {
    folder: TempDir,
}

impl Folder {
    pub(super) fn new(format: Format, files: usize) -> Self {
        let folder = TempDir::new().expect("a folder");
        let written = Self { folder };
        let json = Tokenizer::embedded().expect("embedded").to_json().expect("JSON");
        fs::write(written.path("tokenizer.json"), json).expect("written");
        written.write_config(&json!({}));
        let tensors = Self::tensors(format);
        let share = tensors.len().div_ceil(files);
        let mut places = serde_json::Map::new();
        for (index, tensors) in tensors.chunks(share).enumerate() {
            let name = match files {
                1 => "model.safetensors".to_owned(),
                _ => format!("model-{index}.safetensors"),
            };
            for (tensor, ..) in tensors {
                places.insert(tensor.clone(), json!(name));
            }
            write_safetensors(&written.path(&name), tensors);
        }
        if files > 1 {
            let index = json!({"metadata": {}, "weight_map": places}).to_string();
            fs::write(written.path("model.safetensors.index.json"), index).expect("written");
        }
        written
    }

    pub(super) fn tensors(format: Format) -> Vec<Tensor> {
        let shape = Preset::Nano.shape();
        let kind = if format == Format::F32 { "F32" } else { "BF16" };
        let tensor = |name: TensorName, shape: Vec<usize>, floats: &[f32]| {
            let stored = Stored::encode(format, 1, floats.len(), floats).expect("encoded");
            (name.hugging_face(), kind, shape, stored.bytes().to_vec())
        };
        let mut tensors = Vec::new();
        for (name, stored) in nano_matrices(Quantization::F32) {
            tensors.push(tensor(name, vec![stored.rows(), stored.columns()], &decode(&stored)));
        }
        for name in norms(&shape) {
            tensors.push(tensor(name, vec![shape.embedding], &vec![1.0; shape.embedding]));
        }
        tensors
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write_config(&self, changes: &Value) {
        let shape = Preset::Nano.shape();
        let mut config = json!({
            "model_type": "llama",
            "hidden_size": shape.embedding,
            "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.kv_heads,
            "intermediate_size": shape.feed_forward,
            "vocab_size": shape.vocabulary,
            "max_position_embeddings": shape.context_max,
            "rope_theta": shape.rope_base,
            "rms_norm_eps": shape.norm_epsilon,
            "hidden_act": "silu",
            "tie_word_embeddings": true,
            "eos_token_id": [1, 5],
        });
        for (key, value) in changes.as_object().expect("an object") {
            config[key] = value.clone();
        }
        fs::write(self.path("config.json"), config.to_string()).expect("written");
    }

    pub(super) fn load(&self, quantization: Option<Quantization>) -> Result<Model, LoadError> {
        let path = self.folder.path().to_owned();
        Model::load(&ModelSource::HuggingFace { path, quantization }, Some(256))
    }
}

/// Name, kind, dimensions, bytes.
pub(super) type Tensor = (String, &'static str, Vec<usize>, Vec<u8>);

pub(super) fn decode(stored: &Stored) -> Vec<f32> {
    let mut floats = vec![0.0; stored.rows() * stored.columns()];
    for (row, floats) in floats.chunks_exact_mut(stored.columns()).enumerate() {
        stored.decode_row(row, floats);
    }
    floats
}

pub(super) fn write_safetensors(path: &Path, tensors: &[Tensor]) {
    let mut header = json!({"__metadata__": {"format": "pt"}});
    let mut data = Vec::new();
    for (tensor, kind, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        header[tensor] = json!({"dtype": kind, "shape": shape, "data_offsets": offsets});
        data.extend_from_slice(bytes);
    }
    let header = header.to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(&data);
    fs::write(path, file).expect("written");
}

#[test]
fn a_hugging_face_folder_is_the_model_it_was_written_from() {
    let expected = logits(&memory(Quantization::F32));
    for (format, files, tolerance) in [(Format::F32, 1, 1e-3), (Format::BF16, 3, 0.3)] {
        let folder = Folder::new(format, files);
        let loaded = folder.load(None).expect("loads");
        assert_close(&logits(&loaded), &expected, tolerance);
        let info = loaded.info();
        assert_eq!(info.stored_dtype, format.name());
        assert_eq!(info.eos_ids, [1, 5]);
        assert_eq!(info.bos_id, None);
        assert!(info.shape.tied_head);
    }
}

#[test]
fn weights_can_be_quantised_while_loading() {
    let expected = logits(&memory(Quantization::F32));
    let folder = Folder::new(Format::BF16, 1);
    for (quantization, tolerance) in [(Quantization::Q8_0, 1.0), (Quantization::Q4K, 8.0)] {
        let loaded = folder.load(Some(quantization)).expect("loads");
        assert_eq!(loaded.info().stored_dtype, quantization.name());
        let got = logits(&loaded);
        assert_close(&got, &expected, tolerance);
        let product: f32 = got.iter().zip(&expected).map(|(a, b)| a * b).sum();
        let squares = |values: &[f32]| values.iter().map(|x| x * x).sum::<f32>().sqrt();
        let similarity = product / (squares(&got) * squares(&expected));
        assert!(similarity > 0.95, "{quantization}: {similarity}");
    }
}

#[test]
fn a_missing_head_is_a_tied_one_and_bos_comes_from_the_template() {
    let folder = Folder::new(Format::F32, 1);
    folder.write_config(&json!({"tie_word_embeddings": false}));
    assert!(folder.load(None).expect("loads").info().shape.tied_head);
    fs::write(folder.path("tokenizer_config.json"), r#"{"add_bos_token": true}"#).expect("written");
    assert_eq!(folder.load(None).expect("loads").info().bos_id, Some(0));
    let path = folder.path("tokenizer.json");
    fs::remove_file(folder.path("tokenizer_config.json")).expect("removed");
    let mut json: Value = serde_json::from_slice(&fs::read(&path).expect("read")).expect("JSON");
    json["post_processor"] = json!({
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<|bos|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<|bos|>": {"id": "<|bos|>", "ids": [0], "tokens": ["<|bos|>"]}},
    });
    fs::write(&path, json.to_string()).expect("written");
    assert_eq!(folder.load(None).expect("loads").info().bos_id, Some(0));
}

#[test]
fn rotary_scaling_changes_the_model() {
    let plain = logits(&memory(Quantization::F32));
    let folder = Folder::new(Format::F32, 1);
    let scaled = |scaling: Value| {
        folder.write_config(&json!({"rope_scaling": scaling}));
        folder.load(None).map(|model| logits(&model))
    };
    assert_close(&scaled(json!({"rope_type": "default"})).expect("loads"), &plain, 1e-3);
    assert_close(&scaled(json!({"type": "linear", "factor": 1.0})).expect("loads"), &plain, 1e-3);
    assert_ne!(scaled(json!({"type": "linear", "factor": 4.0})).expect("loads"), plain);
    let llama3 = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 64});
    assert_ne!(scaled(llama3).expect("loads"), plain);
    assert!(scaled(json!({"rope_type": "yarn"})).expect_err("yarn").to_string().contains("yarn"));
}

#[test]
fn folders_that_cannot_be_loaded_say_why() {
    let folder = Folder::new(Format::F32, 1);
    let check = |changes: Value, words: &[&str]| {
        folder.write_config(&changes);
        let error = folder.load(None).expect_err("cannot load").to_string();
        for word in words {
            assert!(error.contains(word), "{word} is not in: {error}");
        }
    };
    check(json!({"model_type": "gemma3"}), &["gemma3", "llama, mistral, qwen2, qwen3"]);
    check(json!({"quantization_config": {"quant_method": "bitsandbytes"}}), &["bitsandbytes"]);
    check(json!({"hidden_act": "gelu"}), &["gelu"]);
    check(json!({"attention_bias": true}), &["attention_bias"]);
    check(json!({"num_hidden_layers": 3}), &["model.layers.2", "missing"]);
    check(json!({"intermediate_size": 512}), &["[256, 256]", "[512, 256]"]);
    check(json!({"num_hidden_layers": "two"}), &["num_hidden_layers"]);
    check(json!({"hidden_size": 0}), &["embedding width is 0"]);
    let mut tensors = Folder::tensors(Format::F32);
    let whole = fs::read(folder.path("model.safetensors")).expect("written");
    tensors[1].1 = "F8_E4M3";
    write_safetensors(&folder.path("model.safetensors"), &tensors);
    check(json!({}), &["q_proj.weight of F8_E4M3"]);
    let path = folder.path("model.safetensors");
    for length in [0, 7, 200, whole.len() - 1] {
        fs::write(&path, &whole[..length]).expect("written");
        let error = folder.load(None).expect_err("cut short");
        assert!(matches!(error, LoadError::Damaged { .. }), "{length}: {error}");
    }
    fs::write(folder.path("config.json"), "{").expect("written");
    assert!(matches!(folder.load(None), Err(LoadError::Damaged { .. })));
    fs::remove_file(folder.path("config.json")).expect("removed");
    assert!(matches!(folder.load(None), Err(LoadError::Read { .. })));
}

#[test]
fn an_index_cannot_lead_out_of_its_folder() {
    let folder = Folder::new(Format::F32, 1);
    let index = json!({"weight_map": {"model.norm.weight": "../model.safetensors"}}).to_string();
    fs::write(folder.path("model.safetensors.index.json"), index).expect("written");
    let error = folder.load(None).expect_err("outside").to_string();
    assert!(error.contains("outside the folder"), "{error}");
}
