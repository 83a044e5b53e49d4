//! Tensors in `*.safetensors` files, read one at a time.
//!
//! A file is eight bytes with the length of a header, the header in JSON, and the
//! bytes of the tensors. Only the header is kept; a tensor is read when it is asked
//! for, so a checkpoint of any size needs one tensor of memory beside the model.
//!
//! Not here: what the tensors are for (`hugging_face`).

use std::{
    collections::HashMap,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use candle_core::{DType, Device, Tensor};
use serde_json::Value;

use super::LoadError;

/// The longest header that is read, in bytes; the format's own limit.
const HEADER_BYTES_MAX: u64 = 100_000_000;
/// The index of a checkpoint that is split over several files.
const INDEX_FILE: &str = "model.safetensors.index.json";
/// A checkpoint in one file.
const SINGLE_FILE: &str = "model.safetensors";

/// The tensors of a checkpoint, by name.
#[derive(Debug)]
pub(super) struct Checkpoint {
    files: Vec<PathBuf>,
    tensors: HashMap<String, Place>,
}

#[derive(Debug, Clone)]
struct Place {
    file: usize,
    dtype: DType,
    shape: Vec<usize>,
    start: u64,
    bytes: u64,
}

impl Checkpoint {
    /// Reads the headers of all files of a folder.
    pub(super) fn open(folder: &Path) -> Result<Self, LoadError> {
        let mut checkpoint = Self { files: Vec::new(), tensors: HashMap::new() };
        let index = folder.join(INDEX_FILE);
        let names =
            if index.is_file() { file_names(&index)? } else { vec![SINGLE_FILE.to_owned()] };
        for name in names {
            checkpoint.add_file(folder.join(name))?;
        }
        Ok(checkpoint)
    }

    fn add_file(&mut self, path: PathBuf) -> Result<(), LoadError> {
        let read_error = |source| LoadError::Read { path: path.clone(), source };
        let damaged = |reason: String| LoadError::Damaged { path: path.clone(), reason };
        let mut file = File::open(&path).map_err(read_error)?;
        let file_bytes = file.metadata().map_err(read_error)?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(|_| damaged("shorter than a header".to_owned()))?;
        let header_bytes = u64::from_le_bytes(length);
        if header_bytes > HEADER_BYTES_MAX || header_bytes + 8 > file_bytes {
            return Err(damaged(format!(
                "its header of {header_bytes} bytes does not fit the {file_bytes} of the file"
            )));
        }
        let mut header = vec![0; header_bytes as usize];
        file.read_exact(&mut header).map_err(read_error)?;
        let header: HashMap<String, Value> =
            serde_json::from_slice(&header).map_err(|error| damaged(error.to_string()))?;
        let data_start = header_bytes + 8;
        for (name, entry) in header {
            if name == "__metadata__" {
                continue;
            }
            // Formats of other kinds may lie in the file: only those asked for matter.
            let Some(place) = read_place(&entry, self.files.len(), data_start) else { continue };
            if place.start + place.bytes > file_bytes {
                return Err(damaged(format!(
                    "tensor {name} ends beyond the end of the file; the download may be incomplete"
                )));
            }
            self.tensors.insert(name, place);
        }
        self.files.push(path);
        Ok(())
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The format of a tensor, and its dimensions.
    pub(super) fn describe(&self, name: &str) -> Option<(DType, &[usize])> {
        self.tensors.get(name).map(|place| (place.dtype, place.shape.as_slice()))
    }

    /// Reads a tensor, widened to 32-bit floats.
    pub(super) fn read(&self, name: &str) -> Result<Tensor, LoadError> {
        let place = self
            .tensors
            .get(name)
            .ok_or_else(|| LoadError::MissingTensor { tensor: name.to_owned() })?;
        let path = &self.files[place.file];
        let read_error = |source| LoadError::Read { path: path.clone(), source };
        let mut file = File::open(path).map_err(read_error)?;
        file.seek(SeekFrom::Start(place.start)).map_err(read_error)?;
        let mut bytes = vec![0; place.bytes as usize];
        file.read_exact(&mut bytes).map_err(read_error)?;
        let shape = place.shape.as_slice();
        Ok(Tensor::from_raw_buffer(&bytes, place.dtype, shape, &Device::Cpu)?
            .to_dtype(DType::F32)?)
    }
}

fn file_names(index: &Path) -> Result<Vec<String>, LoadError> {
    let text = std::fs::read(index)
        .map_err(|source| LoadError::Read { path: index.to_owned(), source })?;
    let damaged = |reason: String| LoadError::Damaged { path: index.to_owned(), reason };
    let json: Value = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    let map = json.get("weight_map").and_then(Value::as_object);
    let map = map.ok_or_else(|| damaged("no weight_map".to_owned()))?;
    let mut names: Vec<String> =
        map.values().filter_map(Value::as_str).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    // A name is a file of the folder, nothing else.
    if names.iter().any(|name| Path::new(name).components().count() != 1 || name.starts_with('.')) {
        return Err(damaged("a file of weight_map is outside the folder".to_owned()));
    }
    Ok(names)
}

/// Where a tensor is; `None` for a format that no model of this crate uses.
fn read_place(entry: &Value, file: usize, data_start: u64) -> Option<Place> {
    let dtype = match entry.get("dtype")?.as_str()? {
        "F32" => DType::F32,
        "F16" => DType::F16,
        "BF16" => DType::BF16,
        _ => return None,
    };
    let numbers = |key: &str| -> Option<Vec<u64>> {
        entry.get(key)?.as_array()?.iter().map(Value::as_u64).collect()
    };
    let offsets = numbers("data_offsets")?;
    let [from, to] = offsets[..] else { return None };
    let shape: Vec<usize> =
        numbers("shape")?.into_iter().map(usize::try_from).collect::<Result<_, _>>().ok()?;
    let elements = shape.iter().try_fold(1_usize, |product, size| product.checked_mul(*size))?;
    let bytes = to.checked_sub(from)?;
    let start = data_start.checked_add(from)?;
    start.checked_add(bytes)?;
    (elements.checked_mul(dtype.size_in_bytes())? as u64 == bytes).then_some(Place {
        file,
        dtype,
        shape,
        start,
        bytes,
    })
}
