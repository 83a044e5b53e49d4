//! A GGUF file: its keys, and its tensors read one at a time.
//!
//! After the keys comes a description of each tensor: name, number of dimensions, the
//! dimensions from the innermost out, the number of its type, and where its bytes begin
//! after the descriptions, in steps of `general.alignment`. Only that is kept; nothing in
//! it is believed beyond what the file's length allows.
//!
//! Not here: the keys' own reader (`ifm-tokenizer`), what tensors are for (`gguf`).

use std::{
    collections::HashMap,
    fs::File,
    io::{BufReader, Read, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use ifm_core::regular::open_regular;
use ifm_kernels::{Format, Stored};
use ifm_tokenizer::{
    Problem,
    gguf::{Value, read_head},
};

use super::LoadError;

/// Bytes of the shortest description: a name of one letter, one dimension.
const DESCRIPTION_BYTES_MIN: u64 = 8 + 1 + 4 + 8 + 4 + 8;
/// Bytes of a name at most; the format allows 64.
const NAME_BYTES_MAX: u64 = 1024;
/// Dimensions at most.
const DIMENSIONS_MAX: u32 = 4;
/// Steps in which tensors begin, where the file does not say, bytes.
const ALIGNMENT_DEFAULT: u64 = 32;
/// The largest step that is believed, bytes.
const ALIGNMENT_MAX: u64 = 1 << 20;

/// Numbers of types, with the format or the name of what is not read.
const TYPES: [(u32, Result<Format, &str>); 34] = [
    (0, Ok(Format::F32)),
    (1, Ok(Format::F16)),
    (2, Ok(Format::Q4_0)),
    (3, Ok(Format::Q4_1)),
    (6, Ok(Format::Q5_0)),
    (7, Ok(Format::Q5_1)),
    (8, Ok(Format::Q8_0)),
    (9, Err("q8_1")),
    (10, Ok(Format::Q2K)),
    (11, Ok(Format::Q3K)),
    (12, Ok(Format::Q4K)),
    (13, Ok(Format::Q5K)),
    (14, Ok(Format::Q6K)),
    (15, Err("q8_k")),
    (16, Err("iq2_xxs")),
    (17, Err("iq2_xs")),
    (18, Err("iq3_xxs")),
    (19, Err("iq1_s")),
    (20, Err("iq4_nl")),
    (21, Err("iq3_s")),
    (22, Err("iq2_s")),
    (23, Err("iq4_xs")),
    (24, Err("i8")),
    (25, Err("i16")),
    (26, Err("i32")),
    (27, Err("i64")),
    (28, Err("f64")),
    (29, Err("iq1_m")),
    (30, Ok(Format::BF16)),
    (34, Err("tq1_0")),
    (35, Err("tq2_0")),
    (39, Err("mxfp4")),
    (40, Err("nvfp4")),
    (41, Err("q1_0")),
];

/// A file that is open.
#[derive(Debug)]
pub(super) struct GgufFile {
    path: PathBuf,
    file: File,
    pairs: HashMap<String, Value>,
    tensors: HashMap<String, Place>,
}

#[derive(Debug)]
struct Place {
    kind: u32,
    /// From the outermost in.
    dimensions: Vec<usize>,
    start: u64,
}

impl GgufFile {
    /// Reads the keys and the descriptions of the tensors.
    pub(super) fn open(path: &Path) -> Result<Self, LoadError> {
        let read_error = |source| LoadError::Read { path: path.to_owned(), source };
        let damaged = |reason: String| LoadError::Damaged { path: path.to_owned(), reason };
        let file = open_regular(path).map_err(read_error)?;
        let file_bytes = file.metadata().map_err(read_error)?.len();
        let mut reader = BufReader::with_capacity(1 << 18, file);
        // The vocabulary is large, and its own reader reads it.
        let is_wanted = |key: &str| {
            let lists = ["tokens", "token_type", "scores", "merges"];
            !key.strip_prefix("tokenizer.ggml.").is_some_and(|rest| lists.contains(&rest))
        };
        let head = read_head(&mut reader, is_wanted).map_err(|problem| match problem {
            Problem::Damaged(reason) => damaged(reason),
            Problem::Unsupported(what) => LoadError::Unsupported { what },
        })?;
        let most = file_bytes.saturating_sub(head.bytes) / DESCRIPTION_BYTES_MIN;
        if head.tensors > most {
            return Err(damaged(format!(
                "it claims to have {} tensors, and its {file_bytes} bytes can contain at most {most}",
                head.tensors
            )));
        }
        let alignment = match head.pairs.get("general.alignment") {
            None => ALIGNMENT_DEFAULT,
            Some(value) => to_number(value)
                .filter(|step| (1..=ALIGNMENT_MAX).contains(step) && step.is_power_of_two())
                .ok_or_else(|| damaged(format!("general.alignment is {value:?}")))?,
        };
        let mut tensors = HashMap::new();
        let mut descriptions = Descriptions { reader, bytes: head.bytes };
        for index in 0..head.tensors {
            let (name, place) = descriptions
                .next()
                .ok_or_else(|| damaged(format!("the description of tensor {index} is damaged")))?;
            if tensors.insert(name.clone(), place).is_some() {
                return Err(damaged(format!("there are two tensors {name}")));
            }
        }
        let data_start = descriptions.bytes.next_multiple_of(alignment);
        for (name, place) in &mut tensors {
            if !place.start.is_multiple_of(alignment) {
                return Err(damaged(format!(
                    "tensor {name} begins at {}, which is not a multiple of {alignment}",
                    place.start
                )));
            }
            place.start = place.start.saturating_add(data_start);
            // How long an unknown type is cannot be known; it is refused when it is needed.
            let bytes = match place.format() {
                Ok(format) => place.bytes(format).ok_or_else(|| {
                    damaged(format!(
                        "tensor {name} of {:?} is not of whole blocks of {}",
                        place.dimensions,
                        format.name()
                    ))
                })?,
                Err(_) => 0,
            };
            if place.start.saturating_add(bytes) > file_bytes {
                return Err(damaged(format!(
                    "tensor {name} ends beyond the end of the file; the download may be incomplete"
                )));
            }
        }
        let file = descriptions.reader.into_inner();
        Ok(Self { path: path.to_owned(), file, pairs: head.pairs, tensors })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.pairs.get(key)
    }

    /// The dimensions of a tensor, from the outermost in.
    pub(super) fn dimensions(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|place| place.dimensions.as_slice())
    }

    /// The format of a tensor with these dimensions.
    pub(super) fn format(&self, name: &str, expected: &[usize]) -> Result<Format, LoadError> {
        let tensor = || name.to_owned();
        let place = self.tensors.get(name);
        let place = place.ok_or_else(|| LoadError::MissingTensor { tensor: tensor() })?;
        if place.dimensions != expected {
            return Err(LoadError::TensorShape {
                tensor: tensor(),
                got: place.dimensions.clone(),
                expected: expected.to_vec(),
            });
        }
        place.format().map_err(|kind| LoadError::Unsupported {
            what: format!("tensor {name} of type {kind}; hint: use a q8_0, q4_k or q6_k file"),
        })
    }

    /// Reads a tensor with these dimensions; a vector becomes a matrix of one row.
    pub(super) fn read(&mut self, name: &str, expected: &[usize]) -> Result<Stored, LoadError> {
        let format = self.format(name, expected)?;
        let place = &self.tensors[name];
        let (rows, columns) = match *expected {
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            _ => {
                return Err(LoadError::Unsupported {
                    what: format!("tensor {name} of the dimensions {expected:?}"),
                });
            }
        };
        let read_error = |source| LoadError::Read { path: self.path.clone(), source };
        let mut bytes = vec![0; format.bytes(rows, columns)];
        self.file.seek(SeekFrom::Start(place.start)).map_err(read_error)?;
        self.file.read_exact(&mut bytes).map_err(read_error)?;
        Ok(Stored::new(format, rows, columns, bytes)?)
    }
}

impl Place {
    /// The format, or the name of a type that is not read.
    fn format(&self) -> Result<Format, String> {
        match TYPES.iter().find(|(number, _)| *number == self.kind) {
            Some((_, Ok(format))) => Ok(*format),
            Some((_, Err(name))) => Err((*name).to_owned()),
            None => Err(self.kind.to_string()),
        }
    }

    /// Bytes in a format; `None` for rows that are not of whole blocks, and for more than
    /// there are numbers for.
    fn bytes(&self, format: Format) -> Option<u64> {
        let (columns, outer) = self.dimensions.split_last()?;
        if !columns.is_multiple_of(format.block()) {
            return None;
        }
        let blocks = outer.iter().try_fold((columns / format.block()) as u64, |blocks, size| {
            blocks.checked_mul(*size as u64)
        })?;
        blocks.checked_mul(format.block_bytes() as u64)
    }
}

/// Reads descriptions one after another.
struct Descriptions {
    reader: BufReader<File>,
    /// Where the reader is in the file.
    bytes: u64,
}

impl Descriptions {
    fn array<const BYTES: usize>(&mut self) -> Option<[u8; BYTES]> {
        let mut bytes = [0; BYTES];
        self.reader.read_exact(&mut bytes).ok()?;
        self.bytes += BYTES as u64;
        Some(bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn short(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next one; `None` where the file ends or makes no sense.
    fn next(&mut self) -> Option<(String, Place)> {
        let length = self.long().filter(|length| *length <= NAME_BYTES_MAX)?;
        let mut name = vec![0; length as usize];
        self.reader.read_exact(&mut name).ok()?;
        self.bytes += length;
        let count = self.short().filter(|count| (1..=DIMENSIONS_MAX).contains(count))?;
        let mut dimensions = Vec::new();
        for _ in 0..count {
            dimensions.push(usize::try_from(self.long()?).ok()?);
        }
        dimensions.reverse();
        let (kind, start) = (self.short()?, self.long()?);
        Some((String::from_utf8(name).ok()?, Place { kind, dimensions, start }))
    }
}

/// A value that is a whole number from 0 up.
pub(super) fn to_number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => u64::try_from(*number).ok(),
        Value::Bool(flag) => Some(u64::from(*flag)),
        _ => None,
    }
}
