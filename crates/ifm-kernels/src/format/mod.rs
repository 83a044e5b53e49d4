//! How weights are stored: the formats, their sizes, and their values as floats.
//!
//! Blocks of quantised formats lie as in GGUF files.
//!
//! Not here: products (`packed`), the readers of files.

mod blocks;
mod float;
mod integers;
mod rounding;
mod search;
mod superblocks;
#[cfg(test)]
mod tests;

/// A storage format of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// 32-bit floats, little-endian.
    F32,
    /// 16-bit floats of IEEE 754.
    F16,
    /// The upper halves of 32-bit floats.
    BF16,
    /// 32 nibbles with a 16-bit scale.
    Q4_0,
    /// 32 nibbles with a 16-bit scale and minimum.
    Q4_1,
    /// 32 values of five bits with a 16-bit scale.
    Q5_0,
    /// 32 values of five bits with a 16-bit scale and minimum.
    Q5_1,
    /// 32 signed bytes with a 16-bit scale.
    Q8_0,
    /// 256 values of two bits in 16 groups.
    Q2K,
    /// 256 values of three bits in 16 groups.
    Q3K,
    /// 256 nibbles in eight groups with scale and minimum.
    Q4K,
    /// 256 values of five bits in eight groups with scale and minimum.
    Q5K,
    /// 256 values of six bits in 16 groups.
    Q6K,
    /// `rows * columns` signed bytes, then a 32-bit scale for each row.
    Int8,
    /// `rows * columns / 2` bytes of nibbles, the low one first, unsigned; then 16-bit
    /// scales `rows * groups`; then, with `zeros`, bytes `rows * groups`. A value is
    /// `(q - zero) * scale`; the zero is 8 where none is stored.
    Int4 {
        /// Columns that share a scale.
        group: usize,
        /// Whether zero points are stored.
        zeros: bool,
    },
}

impl Format {
    /// The usual lower-case name, such as `q6_k`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::Q4_0 => "q4_0",
            Self::Q4_1 => "q4_1",
            Self::Q5_0 => "q5_0",
            Self::Q5_1 => "q5_1",
            Self::Q8_0 => "q8_0",
            Self::Q2K => "q2_k",
            Self::Q3K => "q3_k",
            Self::Q4K => "q4_k",
            Self::Q5K => "q5_k",
            Self::Q6K => "q6_k",
            Self::Int8 => "int8",
            Self::Int4 { .. } => "int4",
        }
    }

    /// Values in a block: the number of columns is a multiple of it.
    pub fn block(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::BF16 | Self::Int8 => 1,
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 => 32,
            Self::Q2K | Self::Q3K | Self::Q4K | Self::Q5K | Self::Q6K => 256,
            Self::Int4 { group, .. } => group,
        }
    }

    /// Bytes of a block; for `Int8` and `Int4`, whose scales are stored separately, of the values alone.
    pub fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
            Self::Q2K => 84,
            Self::Q3K => 110,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
            Self::Int8 => 1,
            Self::Int4 { group, .. } => group / 2,
        }
    }

    /// Bytes of a row; without the scales for `Int8` and `Int4`.
    pub fn row_bytes(self, columns: usize) -> usize {
        columns / self.block().max(1) * self.block_bytes()
    }

    /// Bytes of a matrix, everything included.
    pub fn bytes(self, rows: usize, columns: usize) -> usize {
        rows * self.sections(columns).iter().sum::<usize>()
    }

    /// The parts of a matrix that lie one after another, each with this many bytes for
    /// each row: values, scales, zero points.
    pub(crate) fn sections(self, columns: usize) -> [usize; 3] {
        let (scales, zeros) = match self {
            Self::Int8 => (size_of::<f32>(), 0),
            Self::Int4 { group, zeros } => {
                let groups = columns / group.max(1);
                (groups * 2, if zeros { groups } else { 0 })
            }
            _ => (0, 0),
        };
        [self.row_bytes(columns), scales, zeros]
    }

    /// Decodes one row of a matrix of `rows` rows; `out` has as many values as there are
    /// columns.
    pub(crate) fn decode_row(self, bytes: &[u8], rows: usize, row: usize, out: &mut [f32]) {
        let columns = out.len();
        let width = self.row_bytes(columns);
        let blocks = &bytes[row * width..][..width];
        let each = |decode: fn(&[u8], &mut [f32]), out: &mut [f32]| {
            let blocks = blocks.chunks_exact(self.block_bytes());
            out.chunks_exact_mut(self.block()).zip(blocks).for_each(|(out, block)| {
                decode(block, out);
            });
        };
        match self {
            Self::F32 => float::decode_f32(blocks, out),
            Self::F16 => float::decode_f16(blocks, out),
            Self::BF16 => float::decode_bf16(blocks, out),
            Self::Q4_0 => each(blocks::decode_q4_0, out),
            Self::Q4_1 => each(blocks::decode_q4_1, out),
            Self::Q5_0 => each(blocks::decode_q5_0, out),
            Self::Q5_1 => each(blocks::decode_q5_1, out),
            Self::Q8_0 => each(blocks::decode_q8_0, out),
            Self::Q2K => each(superblocks::decode_q2_k, out),
            Self::Q3K => each(superblocks::decode_q3_k, out),
            Self::Q4K => each(superblocks::decode_q4_k, out),
            Self::Q5K => each(superblocks::decode_q5_k, out),
            Self::Q6K => each(superblocks::decode_q6_k, out),
            Self::Int8 => integers::decode_int8_row(bytes, rows, row, out),
            Self::Int4 { group, zeros } => {
                integers::Int4 { rows, columns, group, zeros }.decode_row(bytes, row, out);
            }
        }
    }

    /// Encodes a matrix of whole blocks; `None` for formats that are only read.
    pub(crate) fn encode(self, rows: usize, columns: usize, values: &[f32]) -> Option<Vec<u8>> {
        let mut bytes = vec![0; self.bytes(rows, columns)];
        let each = |encode: fn(&[f32], &mut [u8]), bytes: &mut [u8]| {
            let blocks = bytes.chunks_exact_mut(self.block_bytes());
            values.chunks_exact(self.block()).zip(blocks).for_each(|(values, block)| {
                encode(values, block);
            });
        };
        match self {
            Self::F32 => float::encode_f32(values, &mut bytes),
            Self::F16 => float::encode_f16(values, &mut bytes),
            Self::BF16 => float::encode_bf16(values, &mut bytes),
            Self::Q4_0 => each(blocks::encode_q4_0, &mut bytes),
            Self::Q4_1 => each(blocks::encode_q4_1, &mut bytes),
            Self::Q8_0 => each(blocks::encode_q8_0, &mut bytes),
            Self::Q4K => each(superblocks::encode_q4_k, &mut bytes),
            Self::Q6K => each(superblocks::encode_q6_k, &mut bytes),
            Self::Int8 => integers::encode_int8(columns, values, &mut bytes),
            Self::Int4 { group, zeros } => {
                integers::Int4 { rows, columns, group, zeros }.encode(values, &mut bytes);
            }
            Self::Q5_0 | Self::Q5_1 | Self::Q2K | Self::Q3K | Self::Q5K => return None,
        }
        Some(bytes)
    }
}
