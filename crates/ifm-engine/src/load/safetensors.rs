//! Tensors in `*.safetensors` files, read one at a time.
//!
//! A file is eight bytes with the length of a header, the header in JSON, and the
//! bytes of the tensors. Only the header is kept; a tensor is read on demand, so a
//! checkpoint of any size needs memory for one tensor in addition to the model.
//!
//! Not here: what the tensors are for (`checkpoint`), and integers that encode weights
//! (`integers`).

use std::{
    collections::HashMap,
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use ifm_core::regular::open_regular;
use ifm_kernels::{Format, Stored};
use serde_json::{Value, value::RawValue};

use super::{LoadError, read_bounded};

/// The longest header that is read, in bytes; the format's own limit.
const HEADER_BYTES_MAX: u64 = 100_000_000;
/// The longest entry of a tensor in a header, bytes: a kind, a few dimensions and two offsets.
const ENTRY_BYTES_MAX: usize = 4096;
/// The longest index, in bytes.
const INDEX_BYTES_MAX: u64 = 64 << 20;
/// The index of a checkpoint that is split over several files.
const INDEX_FILE: &str = "model.safetensors.index.json";
/// A checkpoint in one file.
const SINGLE_FILE: &str = "model.safetensors";

/// What the numbers of a tensor are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    F32,
    F16,
    BF16,
    I8,
    I32,
    I64,
}

impl Kind {
    /// Kinds by the names in a header.
    const NAMES: [(&str, Self); 6] = [
        ("F32", Self::F32),
        ("F16", Self::F16),
        ("BF16", Self::BF16),
        ("I8", Self::I8),
        ("I32", Self::I32),
        ("I64", Self::I64),
    ];

    fn bytes(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::F16 | Self::BF16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::I64 => 8,
        }
    }

    /// The format of weights of this kind; `None` for integers.
    pub(super) fn format(self) -> Option<Format> {
        match self {
            Self::F32 => Some(Format::F32),
            Self::F16 => Some(Format::F16),
            Self::BF16 => Some(Format::BF16),
            Self::I8 | Self::I32 | Self::I64 => None,
        }
    }
}

/// The tensors of a checkpoint, by name.
#[derive(Debug)]
pub(super) struct Checkpoint {
    files: Vec<PathBuf>,
    tensors: HashMap<String, Place>,
}

#[derive(Debug, Clone)]
struct Place {
    file: usize,
    /// `None` for a kind that no model of this crate uses.
    kind: Option<Kind>,
    /// The name of the kind in the header.
    kind_name: String,
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
        let mut file = open_regular(&path).map_err(read_error)?;
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
        let header: HashMap<String, Box<RawValue>> =
            serde_json::from_slice(&header).map_err(|error| damaged(error.to_string()))?;
        let data_start = header_bytes + 8;
        for (name, entry) in header {
            if name == "__metadata__" {
                continue;
            }
            let place = read_place(entry.get(), self.files.len(), data_start)
                .ok_or_else(|| damaged(format!("the entry of tensor {name} is invalid")))?;
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

    /// The kind of a tensor.
    ///
    /// # Errors
    /// No tensor has that name, or its kind is not supported.
    pub(super) fn kind(&self, name: &str) -> Result<Kind, LoadError> {
        let place = self.place(name)?;
        place.kind.ok_or_else(|| LoadError::Unsupported {
            what: format!("tensor {name} of {}", place.kind_name),
        })
    }

    /// The dimensions of a tensor, from the outermost in.
    pub(super) fn shape(&self, name: &str) -> Result<&[usize], LoadError> {
        Ok(&self.place(name)?.shape)
    }

    /// Refuses a tensor of other dimensions.
    pub(super) fn check_shape(&self, name: &str, expected: &[usize]) -> Result<(), LoadError> {
        let got = self.shape(name)?;
        if got == expected {
            return Ok(());
        }
        Err(LoadError::TensorShape {
            tensor: name.to_owned(),
            got: got.to_vec(),
            expected: expected.to_vec(),
        })
    }

    /// Reads the bytes of a tensor: little-endian numbers, the last dimension innermost.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, LoadError> {
        let place = self.place(name)?;
        let path = &self.files[place.file];
        let read_error = |source| LoadError::Read { path: path.clone(), source };
        let mut file = open_regular(path).map_err(read_error)?;
        file.seek(SeekFrom::Start(place.start)).map_err(read_error)?;
        let mut bytes = vec![0; place.bytes as usize];
        file.read_exact(&mut bytes).map_err(read_error)?;
        Ok(bytes)
    }

    /// Reads a tensor of floats as a matrix, in the format that it is stored in.
    pub(super) fn read_stored(
        &self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Stored, LoadError> {
        Ok(Stored::new(self.float_format(name)?, rows, columns, self.read(name)?)?)
    }

    /// Reads a tensor of floats, widened to 32 bits.
    pub(super) fn read_floats(&self, name: &str) -> Result<Vec<f32>, LoadError> {
        let elements = self.shape(name)?.iter().product();
        let mut floats = vec![0.0; elements];
        self.read_stored(name, 1, elements)?.decode_row(0, &mut floats);
        Ok(floats)
    }

    /// The format of a tensor of floats.
    pub(super) fn float_format(&self, name: &str) -> Result<Format, LoadError> {
        let kind = self.kind(name)?;
        kind.format().ok_or_else(|| LoadError::Unsupported {
            what: format!("tensor {name} of {kind:?} without a quantization_config"),
        })
    }

    fn place(&self, name: &str) -> Result<&Place, LoadError> {
        let missing = || LoadError::MissingTensor { tensor: name.to_owned() };
        self.tensors.get(name).ok_or_else(missing)
    }
}

fn file_names(index: &Path) -> Result<Vec<String>, LoadError> {
    let text = read_bounded(index, INDEX_BYTES_MAX)?;
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

/// Where a tensor is; `None` for an entry at odds with itself.
fn read_place(entry: &str, file: usize, data_start: u64) -> Option<Place> {
    if entry.len() > ENTRY_BYTES_MAX {
        return None;
    }
    let entry: Value = serde_json::from_str(entry).ok()?;
    let kind_name = entry.get("dtype")?.as_str()?.to_owned();
    let kind = Kind::NAMES.iter().find(|(name, _)| *name == kind_name).map(|(_, kind)| *kind);
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
    let is_whole =
        kind.is_none_or(|kind| elements.checked_mul(kind.bytes()).map(|n| n as u64) == Some(bytes));
    is_whole.then_some(Place { file, kind, kind_name, shape, start, bytes })
}
