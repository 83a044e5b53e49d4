//! Rows of a Parquet file; only the columns that are wanted are read.
//!
//! Not here: other formats; writing (`ifm-store`).

use std::fs::File;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ifm_core::contained::contained;
use ifm_core::parquet_bounds::{check_footer, check_pages};
use parquet::{
    errors::ParquetError,
    file::reader::{FileReader as _, SerializedFileReader},
    record::{Field, Row, reader::RowIter},
    schema::types::Type,
};
use serde_json::{Map, Number, Value};

use super::{Columns, Given, RowFile};
use crate::error::WorkloadError;

/// The rows of one file.
pub(super) struct ParquetRows {
    name: String,
    rows: RowIter<'static>,
    header: Vec<String>,
    row: u64,
    /// Whether the reader panicked: what it holds is not used again.
    is_broken: bool,
}

/// Rows that need no bytes, and rows for each byte of a larger file. Equal rows take next to none, but a few bytes
/// can claim billions.
const ROWS_FREE: u64 = 1 << 20;
const ROWS_PER_BYTE: u64 = 16;

/// Runs the reader of Parquet; its panic becomes an error of the file.
fn guarded<T>(
    name: &str,
    read: impl FnOnce() -> Result<T, WorkloadError>,
) -> Result<T, WorkloadError> {
    contained(read).unwrap_or_else(|panicked| {
        let reason = format!("is not Parquet that can be read: the reader failed ({panicked})");
        Err(WorkloadError::File { file: name.to_owned(), reason })
    })
}

impl ParquetRows {
    /// Reads the file's own description.
    ///
    /// # Errors
    /// [`WorkloadError::File`] for what is not Parquet, or is compressed in a way that is
    /// not known here.
    pub(super) fn open(name: String, file: File, columns: &Columns) -> Result<Self, WorkloadError> {
        guarded(&name.clone(), || Self::open_inner(name, file, columns))
    }

    fn open_inner(name: String, file: File, columns: &Columns) -> Result<Self, WorkloadError> {
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        let unreadable = |error: std::io::Error| wrong(&name, &ParquetError::from(error));
        let damaged = |reason: String| WorkloadError::File {
            file: name.clone(),
            reason: format!("is damaged: {reason}"),
        };
        let heads = file.try_clone().map_err(unreadable)?;
        check_footer(&heads).map_err(unreadable)?.map_err(damaged)?;
        let reader = SerializedFileReader::new(file).map_err(|error| wrong(&name, &error))?;
        let rows = reader.metadata().row_groups().iter().map(|group| group.num_rows());
        let rows = rows
            .fold(0, |all: u64, rows| all.saturating_add(u64::try_from(rows).unwrap_or(u64::MAX)));
        if rows > ROWS_FREE.saturating_add(bytes.saturating_mul(ROWS_PER_BYTE)) {
            let reason = format!("is damaged: it claims {rows} rows in {bytes} bytes");
            return Err(WorkloadError::File { file: name, reason });
        }
        for chunk in reader.metadata().row_groups().iter().flat_map(|group| group.columns()) {
            let (start, length) = chunk.byte_range();
            check_pages(&heads, start, length).map_err(unreadable)?.map_err(damaged)?;
        }
        let schema = reader.metadata().file_metadata().schema();
        let header = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
        let wanted = columns.wanted();
        let is_wanted = |name: &str| columns.is_whole() || wanted.contains(name);
        let fields = schema.get_fields().iter().filter(|field| is_wanted(field.name()));
        let projection = Type::group_type_builder(schema.name())
            .with_fields(fields.cloned().collect())
            .build()
            .map_err(|error| wrong(&name, &error))?;
        let rows = RowIter::from_file_into(Box::new(reader))
            .project(Some(projection))
            .map_err(|error| wrong(&name, &error))?;
        Ok(Self { name, rows, header, row: 0, is_broken: false })
    }
}

impl RowFile for ParquetRows {
    fn next(&mut self) -> Result<Given, WorkloadError> {
        if self.is_broken {
            return Ok(None);
        }
        self.is_broken = true;
        let (name, rows) = (&self.name, &mut self.rows);
        let row = guarded(name, || {
            let row = rows.next().transpose().map_err(|error| wrong(name, &error))?;
            Ok(row.map(|row| fields(&row)))
        })?;
        self.is_broken = false;
        let Some(row) = row else { return Ok(None) };
        self.row += 1;
        Ok(Some((self.row, Ok(row))))
    }

    fn header(&self) -> Option<&[String]> {
        Some(&self.header)
    }
}

fn wrong(name: &str, error: &ParquetError) -> WorkloadError {
    let text = error.to_string();
    let reason = match text.contains("feature") {
        true => format!("{text}; save it again with snappy or without compression"),
        false => format!("is not Parquet that can be read: {text}"),
    };
    WorkloadError::File { file: name.to_owned(), reason }
}

fn fields(row: &Row) -> Map<String, Value> {
    row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
}

fn value(field: &Field) -> Value {
    let float = |number: f64| Number::from_f64(number).map_or(Value::Null, Value::Number);
    match field {
        Field::Null => Value::Null,
        Field::Bool(flag) => Value::Bool(*flag),
        Field::Byte(number) => (*number).into(),
        Field::Short(number) => (*number).into(),
        Field::Int(number) => (*number).into(),
        Field::Long(number) => (*number).into(),
        Field::UByte(number) => (*number).into(),
        Field::UShort(number) => (*number).into(),
        Field::UInt(number) => (*number).into(),
        Field::ULong(number) => (*number).into(),
        Field::Float(number) => float(f64::from(*number)),
        Field::Double(number) => float(*number),
        Field::Str(text) => Value::String(text.clone()),
        // What is no text, such as an image, becomes a data URL.
        Field::Bytes(bytes) => match std::str::from_utf8(bytes.data()) {
            Ok(text) => Value::String(text.to_owned()),
            Err(_) => {
                let base64 = STANDARD.encode(bytes.data());
                Value::String(format!("data:application/octet-stream;base64,{base64}"))
            }
        },
        Field::TimestampMillis(number) | Field::TimestampMicros(number) => (*number).into(),
        Field::Group(row) => Value::Object(fields(row)),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        other => Value::String(other.to_string()),
    }
}
