//! What the fuzz targets do with files of models: they are loaded, within bounds of memory that a hostile file must not
//! exceed.

use ifm_engine::{Compute, Model, ModelSource, Quantization};
use std::fs;
use std::path::Path;

/// Context that is asked for, tokens.
const CONTEXT: usize = 64;
/// Memory limit of the model, bytes.
const AVAILABLE_BYTES: u64 = 256 << 20;
/// A vocabulary of few tokens, so that a model of a few kilobytes fits it.
const TOKENIZER: &str = include_str!("../../../../fuzz/seeds/tokenizer/bpe.json");

fn load(source: &ModelSource) -> Result<(), String> {
    let limits = (CONTEXT, AVAILABLE_BYTES);
    let model = Model::load_within(source, Some(CONTEXT), Compute::default(), limits)
        .map_err(|error| error.to_string())?;
    assert!(model.info().parameters > 0, "{:?}", model.info());
    Ok(())
}

/// A GGUF file.
pub fn gguf(folder: &Path, bytes: &[u8]) -> Result<(), String> {
    let path = folder.join("model.gguf");
    fs::write(&path, bytes).expect("written");
    load(&ModelSource::Gguf { path })
}

/// A Hugging Face folder: the first line of the bytes is `config.json`, the rest is `model.safetensors`.
pub fn hugging_face(folder: &Path, bytes: &[u8]) -> Result<(), String> {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    let end = end.ok_or("the input has no line break")?;
    fs::write(folder.join("tokenizer.json"), TOKENIZER).expect("written");
    fs::write(folder.join("config.json"), &bytes[..end]).expect("written");
    fs::write(folder.join("model.safetensors"), &bytes[end + 1..]).expect("written");
    let quantizations = [None, Some(Quantization::Q8_0)];
    let loaded = quantizations.map(|quantization| {
        load(&ModelSource::HuggingFace { path: folder.to_owned(), quantization })
    });
    loaded.into_iter().collect()
}
