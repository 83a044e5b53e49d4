//! A matrix as it is stored.

use std::fmt;

use crate::format::Format;

/// A matrix of `rows` outputs by `columns` inputs, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    format: Format,
    rows: usize,
    columns: usize,
    bytes: Vec<u8>,
}

/// Why there is no such matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredError {
    /// Bytes or values that are not a matrix of the given size.
    Size {
        /// The format.
        format: Format,
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
        /// Bytes given, or values given to be encoded.
        length: usize,
    },
    /// A format that is read and never made.
    OnlyRead {
        /// The format.
        format: Format,
    },
}

impl fmt::Display for StoredError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { format, rows, columns, length } => {
                let name = format.name();
                write!(
                    formatter,
                    "{length} bytes or values are not a {rows} x {columns} matrix of {name}"
                )
            }
            Self::OnlyRead { format } => {
                write!(formatter, "weights in {} are read, not made", format.name())
            }
        }
    }
}

impl std::error::Error for StoredError {}

impl Stored {
    /// Takes the bytes of a matrix.
    ///
    /// # Errors
    /// [`StoredError`] when the columns are not a multiple of the format's block, or the
    /// length is not that of the matrix.
    pub fn new(
        format: Format,
        rows: usize,
        columns: usize,
        bytes: Vec<u8>,
    ) -> Result<Self, StoredError> {
        if !fits(format, columns) || bytes.len() != format.bytes(rows, columns) {
            return Err(StoredError::Size { format, rows, columns, length: bytes.len() });
        }
        Ok(Self { format, rows, columns, bytes })
    }

    /// Rounds floats, row by row, to the nearest values of the format.
    ///
    /// # Errors
    /// [`StoredError`] when the columns are not a multiple of the format's block, or the
    /// number of values is not `rows * columns`.
    pub fn encode(
        format: Format,
        rows: usize,
        columns: usize,
        values: &[f32],
    ) -> Result<Self, StoredError> {
        if !fits(format, columns) || values.len() != rows * columns {
            return Err(StoredError::Size { format, rows, columns, length: values.len() });
        }
        let bytes = format.encode(rows, columns, values).ok_or(StoredError::OnlyRead { format })?;
        Self::new(format, rows, columns, bytes)
    }

    /// One matrix of the rows of several.
    ///
    /// # Errors
    /// [`StoredError`] when there are none, or their formats or columns differ.
    pub fn join(parts: &[Self]) -> Result<Self, StoredError> {
        let rows = parts.iter().map(|part| part.rows).sum();
        let (format, columns) =
            parts.first().map_or((Format::F32, 0), |part| (part.format, part.columns));
        if parts.iter().any(|part| (part.format, part.columns) != (format, columns)) {
            return Err(StoredError::Size { format, rows, columns, length: 0 });
        }
        let mut bytes = Vec::with_capacity(format.bytes(rows, columns));
        let mut done = vec![0; parts.len()];
        for width in format.sections(columns) {
            for (part, done) in parts.iter().zip(&mut done) {
                bytes.extend_from_slice(&part.bytes[*done..][..width * part.rows]);
                *done += width * part.rows;
            }
        }
        Self::new(format, rows, columns, bytes)
    }

    /// The values of one row.
    ///
    /// # Panics
    /// When there is no such row, or `out` is shorter than the columns.
    pub fn decode_row(&self, row: usize, out: &mut [f32]) {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let out = &mut out[..self.columns];
        self.format.decode_row(&self.bytes, self.rows, row, out);
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Number of outputs.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of inputs.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The bytes, as the format lays them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn fits(format: Format, columns: usize) -> bool {
    let block = format.block();
    block > 0 && columns > 0 && columns.is_multiple_of(block)
}
