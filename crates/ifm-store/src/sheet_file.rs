//! A document of another tool in one file, to be handed on: its rows as a table in Parquet, which
//! any reader opens, with the document whole in the metadata at the end.
//!
//! Reading it back gives the document with every place, printed digit and single request; a
//! checksum next to it detects damage. Not here: which columns a document has (`ifm-interop`).

use crate::disk::{SummedWriter, discard, open_file};
use crate::error::StoreError;
use crate::table::{TableError, base_properties, read_metadata};
use ifm_core::Sheet;
use ifm_core::manifest::SCHEMA_VERSION;
use ifm_core::sheet::SHEET_VERSION;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Name of the metadata that holds the document as JSON.
const SHEET_KEY: &str = "inferometer.sheet";
/// Name of the metadata that holds the version of the document's format.
const VERSION_KEY: &str = "inferometer.sheet_version";
/// Name of the metadata that holds the CRC-32 of the document.
const SUM_KEY: &str = "inferometer.sheet_crc32";
/// Largest document that is written, bytes: the metadata of a Parquet file has to be below 2 GiB.
const SHEET_BYTES_MAX: usize = 1 << 30;

/// Cells of a column, one for each row; what was not measured or set has none.
#[derive(Debug, Clone, PartialEq)]
pub enum TableCells {
    /// Texts.
    Texts(Vec<Option<String>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    /// Its name, which no other column of the table has.
    pub name: String,
    /// Its cells.
    pub cells: TableCells,
}

/// Writes a document as one file, in the place of any file at `out`. `columns` are its rows as a
/// table, all of one length.
///
/// # Errors
/// The document is larger than the metadata of a file can be, or the disk's; nothing is left at
/// `out` then.
pub fn write_sheet_file(
    out: &Path,
    columns: &[TableColumn],
    sheet: &Sheet,
) -> Result<(), StoreError> {
    put(out, columns, Some(sheet))
}

/// Writes a table alone as one file, in the place of any file at `out`. The columns are all of one
/// length.
///
/// # Errors
/// The disk's; nothing is left at `out` then.
pub fn write_table_file(out: &Path, columns: &[TableColumn]) -> Result<(), StoreError> {
    put(out, columns, None)
}

fn put(out: &Path, columns: &[TableColumn], sheet: Option<&Sheet>) -> Result<(), StoreError> {
    let kept = || "what it is made of is kept as it is: free space and retry".to_string();
    let sink = File::create(out).map_err(|error| StoreError::io("write", out, error))?;
    write(BufWriter::new(sink), columns, sheet)
        .map_err(|error| error.writing(out, kept))
        .inspect_err(|_| discard(out))
}

/// Reads a document from one file; absent where a Parquet file holds none.
///
/// # Errors
/// The file is damaged or of another version, or the disk's.
pub fn read_sheet_file(path: &Path) -> Result<Option<Sheet>, StoreError> {
    let file = open_file(path).map_err(|error| StoreError::io("open", path, error))?;
    let metadata = read_metadata(&file).map_err(|error| error.reading(path))?;
    let values = metadata.file_metadata().key_value_metadata();
    let value = |key: &str| values?.iter().find(|pair| pair.key == key)?.value.as_ref();
    let Some(text) = value(SHEET_KEY) else { return Ok(None) };
    let version = value(VERSION_KEY).map_or("none", String::as_str);
    if version != SHEET_VERSION.to_string() {
        return Err(StoreError::Version {
            path: path.to_owned(),
            found: version.to_owned(),
            supported: SHEET_VERSION.to_string(),
        });
    }
    if value(SUM_KEY) != Some(&sum(text).map_err(|error| StoreError::io("read", path, error))?) {
        return Err(StoreError::damaged(path, "its checksum does not match the recorded one"));
    }
    let sheet = serde_json::from_str(text)
        .map_err(|error| StoreError::damaged(path, format!("not a document: {error}")))?;
    Ok(Some(sheet))
}

fn sum(text: &str) -> io::Result<String> {
    let mut summed = SummedWriter::new(io::sink());
    summed.write_all(text.as_bytes())?;
    Ok(format!("{:08x}", summed.finish().2))
}

fn write(
    sink: impl Write + Send,
    columns: &[TableColumn],
    sheet: Option<&Sheet>,
) -> Result<(), TableError> {
    let metadata = sheet.map(metadata).transpose()?;
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.cells {
            TableCells::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            TableCells::Numbers(_) => (Physical::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
    let properties = base_properties(WriterProperties::builder(), SCHEMA_VERSION)?.build();
    let mut file = SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties))?;
    for (key, value) in metadata.into_iter().flatten() {
        file.append_key_value_metadata(KeyValue::new(key.to_string(), value));
    }
    let mut group = file.next_row_group()?;
    for column in columns {
        match &column.cells {
            TableCells::Texts(cells) => {
                let of = |text: &String| ByteArray::from(text.as_str());
                write_cells::<ByteArrayType, _>(&mut group, cells.iter().map(Option::as_ref), of)?;
            }
            TableCells::Numbers(cells) => {
                let of = |number: &f64| *number;
                write_cells::<DoubleType, _>(&mut group, cells.iter().map(Option::as_ref), of)?;
            }
        }
    }
    group.close()?;
    let mut sink = file.into_inner()?;
    sink.flush().map_err(ParquetError::from)?;
    Ok(())
}

/// The document whole, as metadata of its file.
fn metadata(sheet: &Sheet) -> Result<[(&'static str, String); 3], TableError> {
    let text =
        serde_json::to_string(sheet).map_err(|error| TableError::Content(error.to_string()))?;
    if text.len() > SHEET_BYTES_MAX {
        let reason = "the document is larger than 1 GiB: the metadata of a file has no room for it";
        return Err(TableError::Content(reason.to_string()));
    }
    let sum = sum(&text).map_err(ParquetError::from)?;
    Ok([(SHEET_KEY, text), (VERSION_KEY, SHEET_VERSION.to_string()), (SUM_KEY, sum)])
}

fn write_cells<'c, T: DataType, C: 'c>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    cells: impl Iterator<Item = Option<&'c C>>,
    of: impl Fn(&C) -> T::T,
) -> Result<(), TableError> {
    let Some(mut column) = group.next_column()? else {
        return Err(TableError::Content("the schema lacks a column".to_string()));
    };
    let mut values = Vec::new();
    let mut levels = Vec::new();
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell.map(&of));
    }
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    Ok(column.close()?)
}
