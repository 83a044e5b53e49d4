//! Integers of quantised checkpoints, brought into the layouts that products take.
//!
//! - compressed-tensors: `weight` (signed bytes) or `weight_packed` (32-bit words along
//!   the inputs, the lowest bits first, 2^(bits-1) added), `weight_scale` of outputs by
//!   groups, `weight_zero_point` packed down the outputs, `input_scale`.
//! - AWQ: `qweight` of inputs by outputs / 8, where eight nibbles hold the outputs
//!   0 2 4 6 1 3 5 7 (AutoAWQ, `gemm`); `qzeros` of groups by outputs / 8 likewise;
//!   `scales` of groups by outputs.
//! - GPTQ: `qweight` of inputs / (32 / bits) by outputs; `qzeros` of groups by outputs /
//!   (32 / bits), less one each (AutoGPTQ); `scales` of groups by outputs; `g_idx`, the
//!   group of each input.
//!
//! A weight is `(q - zero) * scale`. Four bits become `Int4`. Eight bits become `Int8`
//! where a row has one scale, else `Q8_0`, whose blocks of 32 repeat the scale.
//!
//! Not here: what a configuration promises (`scheme`).

use ifm_kernels::{Activations, Format, Stored};

use super::{
    LoadError,
    safetensors::{Checkpoint, Kind},
    scheme::{Inputs, Packing, Scheme, module},
};
use crate::weights::{TensorName, Weight};

/// Where AWQ keeps the nibble of output `i` of eight, counted from the lowest.
const AWQ_PLACES: [usize; 8] = [0, 4, 1, 5, 2, 6, 3, 7];
/// Values of a block of `Q8_0`.
const Q8_0_BLOCK: usize = 32;
/// The largest relative error of a scale that is rounded to 16 bits; larger ones are out
/// of the range of those floats.
const SCALE_ERROR_MAX: f32 = 1.0 / 1024.0;

/// The format that [`read`] gives for rows of this length.
pub(super) fn format(scheme: &Scheme, columns: usize) -> Result<Format, LoadError> {
    let group = scheme.group.unwrap_or(columns);
    if !columns.is_multiple_of(group) {
        return Err(LoadError::Unsupported {
            what: format!("rows of {columns} weights in groups of {group}"),
        });
    }
    if scheme.bits == 4 {
        return Ok(Format::Int4 { group, zeros: scheme.zeros });
    }
    if scheme.group.is_none() {
        return Ok(Format::Int8);
    }
    if group.is_multiple_of(Q8_0_BLOCK) {
        return Ok(Format::Q8_0);
    }
    Err(LoadError::Unsupported { what: format!("8-bit weights in groups of {group}") })
}

/// Reads a matrix.
pub(super) fn read(
    checkpoint: &Checkpoint,
    scheme: &Scheme,
    name: TensorName,
    rows: usize,
    columns: usize,
) -> Result<Weight, LoadError> {
    let format = format(scheme, columns)?;
    let group = scheme.group.unwrap_or(columns);
    let reader = Reader { checkpoint, scheme, name, rows, columns, groups: columns / group };
    let integers = reader.integers()?;
    let is_middle = integers.zeros.iter().all(|zero| *zero == reader.middle());
    if !scheme.zeros && !is_middle {
        return Err(LoadError::Unsupported {
            what: format!("zero points of {name} where quantization_config says there are none"),
        });
    }
    let stored = match format {
        Format::Int4 { .. } => reader.int4(&integers, group)?,
        Format::Int8 => reader.int8(&integers)?,
        _ => reader.q8_0(&integers, group)?,
    };
    Ok(Weight { stored, activations: reader.activations()? })
}

struct Reader<'a> {
    checkpoint: &'a Checkpoint,
    scheme: &'a Scheme,
    name: TensorName,
    rows: usize,
    columns: usize,
    groups: usize,
}

/// The integers of a matrix.
struct Integers {
    /// Outputs by inputs: from 0 up, 8 bits as 4 bits.
    levels: Vec<u8>,
    /// Outputs by groups: the level that represents 0.
    zeros: Vec<u8>,
    /// Outputs by groups.
    scales: Vec<f32>,
}

impl Reader<'_> {
    fn part(&self, suffix: &str) -> String {
        format!("{}.{suffix}", module(&self.name.hugging_face()))
    }

    /// Levels in a word.
    fn per_word(&self) -> usize {
        32 / self.scheme.bits as usize
    }

    /// The level of zero where none is stored.
    fn middle(&self) -> u8 {
        1 << (self.scheme.bits - 1)
    }

    fn words(&self, suffix: &str, shape: [usize; 2]) -> Result<Vec<u32>, LoadError> {
        let name = self.part(suffix);
        self.checkpoint.check_shape(&name, &shape)?;
        self.expect_kind(&name, Kind::I32)?;
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Ok(self.checkpoint.read(&name)?.chunks_exact(4).map(word).collect())
    }

    fn expect_kind(&self, name: &str, expected: Kind) -> Result<(), LoadError> {
        let kind = self.checkpoint.kind(name)?;
        if kind == expected {
            return Ok(());
        }
        Err(LoadError::Unsupported {
            what: format!("tensor {name} of {kind:?} instead of {expected:?}"),
        })
    }

    /// Takes a level out of a word.
    fn level(&self, word: u32, place: usize) -> u8 {
        ((word >> (self.scheme.bits as usize * place)) & ((1 << self.scheme.bits) - 1)) as u8
    }

    fn integers(&self) -> Result<Integers, LoadError> {
        match self.scheme.packing {
            Packing::Bytes => self.bytes(),
            Packing::Words => self.words_of_rows(),
            Packing::Awq => self.awq(),
            Packing::Gptq { zero_offset } => self.gptq(zero_offset),
        }
    }

    /// Scales of outputs by groups, or one for all.
    fn scales_of_rows(&self) -> Result<Vec<f32>, LoadError> {
        let name = self.part("weight_scale");
        let scales = self.checkpoint.read_floats(&name)?;
        if scales.len() == 1 {
            return Ok(vec![scales[0]; self.rows * self.groups]);
        }
        let shape = self.checkpoint.shape(&name)?;
        if shape != [self.rows] || self.groups != 1 {
            self.checkpoint.check_shape(&name, &[self.rows, self.groups])?;
        }
        Ok(scales)
    }

    fn bytes(&self) -> Result<Integers, LoadError> {
        let name = self.part("weight");
        self.checkpoint.check_shape(&name, &[self.rows, self.columns])?;
        self.expect_kind(&name, Kind::I8)?;
        let mut levels = self.checkpoint.read(&name)?;
        levels.iter_mut().for_each(|level| *level ^= 0x80);
        Ok(Integers { levels, zeros: self.middles(), scales: self.scales_of_rows()? })
    }

    fn middles(&self) -> Vec<u8> {
        vec![self.middle(); self.rows * self.groups]
    }

    fn words_of_rows(&self) -> Result<Integers, LoadError> {
        let (rows, columns, per_word) = (self.rows, self.columns, self.per_word());
        let width = columns.div_ceil(per_word);
        let words = self.words("weight_packed", [rows, width])?;
        let mut levels = Vec::with_capacity(rows * columns);
        for row in words.chunks_exact(width.max(1)) {
            levels.extend((0..columns).map(|c| self.level(row[c / per_word], c % per_word)));
        }
        let mut zeros = self.middles();
        if self.scheme.zeros {
            let words = self.words("weight_zero_point", [rows.div_ceil(per_word), self.groups])?;
            for (index, zero) in zeros.iter_mut().enumerate() {
                let (row, group) = (index / self.groups, index % self.groups);
                let word = words[row / per_word * self.groups + group];
                *zero = self.level(word, row % per_word);
            }
        }
        Ok(Integers { levels, zeros, scales: self.scales_of_rows()? })
    }

    fn awq(&self) -> Result<Integers, LoadError> {
        let (rows, columns, width) = (self.rows, self.columns, self.rows / 8);
        let words = self.words("qweight", [columns, width])?;
        let zeros = self.words("qzeros", [self.groups, width])?;
        let nibble = |words: &[u32], line: usize, row: usize| {
            self.level(words[line * width + row / 8], AWQ_PLACES[row % 8])
        };
        Ok(Integers {
            levels: by_rows(rows, columns, |row, column| nibble(&words, column, row)),
            zeros: by_rows(rows, self.groups, |row, group| nibble(&zeros, group, row)),
            scales: self.scales_of_groups()?,
        })
    }

    fn gptq(&self, zero_offset: u8) -> Result<Integers, LoadError> {
        let (rows, columns, per_word) = (self.rows, self.columns, self.per_word());
        self.check_order()?;
        let words = self.words("qweight", [columns / per_word, rows])?;
        let width = rows / per_word;
        let zeros = self.words("qzeros", [self.groups, width])?;
        let mask = ((1_u32 << self.scheme.bits) - 1) as u8;
        let level = |row: usize, column: usize| {
            self.level(words[column / per_word * rows + row], column % per_word)
        };
        let zero = |row: usize, group: usize| {
            let stored = self.level(zeros[group * width + row / per_word], row % per_word);
            stored.wrapping_add(zero_offset) & mask
        };
        Ok(Integers {
            levels: by_rows(rows, columns, level),
            zeros: by_rows(rows, self.groups, zero),
            scales: self.scales_of_groups()?,
        })
    }

    /// Refuses groups that are not of neighbours.
    fn check_order(&self) -> Result<(), LoadError> {
        let name = self.part("g_idx");
        if !self.checkpoint.contains(&name) {
            return Ok(());
        }
        self.checkpoint.check_shape(&name, &[self.columns])?;
        self.expect_kind(&name, Kind::I32)?;
        let bytes = self.checkpoint.read(&name)?;
        let group = self.columns / self.groups;
        let in_order = bytes.chunks_exact(4).enumerate().all(|(column, bytes)| {
            let index = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            index as usize == column / group
        });
        if in_order {
            return Ok(());
        }
        Err(LoadError::Unsupported {
            what: format!("GPTQ with desc_act: the groups of {name} are not of neighbours"),
        })
    }

    /// Scales of groups by outputs.
    fn scales_of_groups(&self) -> Result<Vec<f32>, LoadError> {
        let name = self.part("scales");
        self.checkpoint.check_shape(&name, &[self.groups, self.rows])?;
        let scales = self.checkpoint.read_floats(&name)?;
        let scale = |row: usize, group: usize| scales[group * self.rows + row];
        Ok(by_rows(self.rows, self.groups, scale))
    }

    /// How activations are taken.
    fn activations(&self) -> Result<Activations, LoadError> {
        match self.scheme.inputs {
            Inputs::Floats => Ok(Activations::Float),
            Inputs::Dynamic => Ok(Activations::Token8),
            Inputs::Static => {
                let name = self.part("input_scale");
                match self.checkpoint.read_floats(&name)?[..] {
                    [scale] if scale > 0.0 && scale.is_finite() => {
                        Ok(Activations::Static8 { scale })
                    }
                    _ => Err(LoadError::Unsupported {
                        what: format!("tensor {name}, which is not one positive number"),
                    }),
                }
            }
        }
    }

    fn int4(&self, integers: &Integers, group: usize) -> Result<Stored, LoadError> {
        let zeros = self.scheme.zeros;
        let pairs = integers.levels.chunks_exact(2);
        let mut bytes: Vec<u8> = pairs.map(|pair| pair[0] | (pair[1] << 4)).collect();
        for scale in &integers.scales {
            bytes.extend(self.half(*scale)?);
        }
        if zeros {
            bytes.extend_from_slice(&integers.zeros);
        }
        Ok(Stored::new(Format::Int4 { group, zeros }, self.rows, self.columns, bytes)?)
    }

    fn int8(&self, integers: &Integers) -> Result<Stored, LoadError> {
        let mut bytes = signed(integers);
        bytes.extend(integers.scales.iter().flat_map(|scale| scale.to_le_bytes()));
        Ok(Stored::new(Format::Int8, self.rows, self.columns, bytes)?)
    }

    fn q8_0(&self, integers: &Integers, group: usize) -> Result<Stored, LoadError> {
        let signed = signed(integers);
        let mut bytes = Vec::with_capacity(Format::Q8_0.bytes(self.rows, self.columns));
        for (values, scale) in signed.chunks_exact(group).zip(&integers.scales) {
            let scale = self.half(*scale)?;
            for block in values.chunks_exact(Q8_0_BLOCK) {
                bytes.extend(scale);
                bytes.extend_from_slice(block);
            }
        }
        Ok(Stored::new(Format::Q8_0, self.rows, self.columns, bytes)?)
    }

    /// The bytes of a scale in 16 bits.
    fn half(&self, scale: f32) -> Result<[u8; 2], LoadError> {
        let stored = Stored::encode(Format::F16, 1, 1, &[scale])?;
        let mut rounded = [0.0];
        stored.decode_row(0, &mut rounded);
        let is_near = (rounded[0] - scale).abs() <= scale.abs() * SCALE_ERROR_MAX;
        match stored.bytes() {
            [low, high] if is_near => Ok([*low, *high]),
            _ => Err(LoadError::Unsupported {
                what: format!("the scale {scale:e} of {}, out of 16-bit floats", self.name),
            }),
        }
    }
}

/// Levels of eight bits as signed bytes around 0.
fn signed(integers: &Integers) -> Vec<u8> {
    integers.levels.iter().map(|level| level ^ 0x80).collect()
}

/// A matrix by rows.
fn by_rows<T>(rows: usize, columns: usize, value: impl Fn(usize, usize) -> T) -> Vec<T> {
    (0..rows)
        .flat_map(|row| (0..columns).map(move |c| (row, c)))
        .map(|(r, c)| value(r, c))
        .collect()
}
