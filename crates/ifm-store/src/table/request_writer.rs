//! Writing `requests.parquet` as a stream: memory is bounded by one row group.

use super::columns::{COLUMNS, Cells, Column, leaf_path, schema_text};
use super::lists::ListLevels;
use super::{TableError, base_properties};
use ifm_core::RequestRecord;
use ifm_core::manifest::SCHEMA_VERSION;
use parquet::basic::Encoding;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::io::Write;
use std::sync::Arc;

/// Token events in a row group, unless one request has more.
pub(crate) const GROUP_EVENTS: usize = 256 << 10;
/// Requests in a row group.
pub(crate) const GROUP_REQUESTS: usize = 16 << 10;
/// Bytes of kept text in a row group, unless one request has more.
const GROUP_TEXT_BYTES: usize = 16 << 20;

/// Writes rows to a sink, group by group.
pub(crate) struct RequestWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    group: Vec<RequestRecord>,
    group_events: usize,
    group_text_bytes: usize,
    rows: u64,
    events: u64,
    numbers: Vec<i64>,
    levels: ListLevels,
}

impl<W: Write + Send> RequestWriter<W> {
    pub(crate) fn start(sink: W) -> Result<RequestWriter<W>, TableError> {
        let schema = Arc::new(parse_message_type(&schema_text())?);
        let file = SerializedFileWriter::new(sink, schema, Arc::new(properties()?))?;
        Ok(RequestWriter {
            file,
            group: Vec::new(),
            group_events: 0,
            group_text_bytes: 0,
            rows: 0,
            events: 0,
            numbers: Vec::new(),
            levels: ListLevels::default(),
        })
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, record: RequestRecord) -> Result<(), TableError> {
        self.group_events += record.events.len();
        self.group_text_bytes += record.text.as_ref().map_or(0, String::len);
        self.group.push(record);
        let full = self.group_events >= GROUP_EVENTS
            || self.group.len() >= GROUP_REQUESTS
            || self.group_text_bytes >= GROUP_TEXT_BYTES;
        if full { self.write_group() } else { Ok(()) }
    }

    /// Ends the file: the sink, the number of rows, and the number of token events in them.
    pub(crate) fn finish(mut self) -> Result<(W, u64, u64), TableError> {
        self.write_group()?;
        Ok((self.file.into_inner()?, self.rows, self.events))
    }

    fn write_group(&mut self) -> Result<(), TableError> {
        if self.group.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for column in COLUMNS {
            let Some(mut writer) = group.next_column()? else {
                return Err(TableError::Content("the schema lacks a column".to_string()));
            };
            write_column(column, &self.group, &mut writer, &mut self.numbers, &mut self.levels)?;
            writer.close()?;
        }
        group.close()?;
        self.rows += self.group.len() as u64;
        self.events += self.group_events as u64;
        self.group.clear();
        self.group_events = 0;
        self.group_text_bytes = 0;
        Ok(())
    }
}

/// Numbers are packed as differences. Words go by dictionary, and so do texts that repeat.
fn properties() -> Result<WriterProperties, TableError> {
    let mut builder = base_properties(WriterProperties::builder(), SCHEMA_VERSION)?;
    for column in COLUMNS {
        let path =
            ColumnPath::from(leaf_path(column).split('.').map(str::to_string).collect::<Vec<_>>());
        builder = match column.cells {
            Cells::Number { .. } | Cells::OptionalNumber { .. } | Cells::Numbers { .. } => {
                builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
            Cells::Flag { .. } => builder,
            Cells::Word { .. } | Cells::OptionalText { repeats: true, .. } => {
                builder.set_column_dictionary_enabled(path, true)
            }
            Cells::OptionalText { repeats: false, .. } => {
                builder.set_column_encoding(path, Encoding::DELTA_LENGTH_BYTE_ARRAY)
            }
        };
    }
    Ok(builder.build())
}

fn write_column(
    column: &Column,
    rows: &[RequestRecord],
    writer: &mut SerializedColumnWriter<'_>,
    numbers: &mut Vec<i64>,
    levels: &mut ListLevels,
) -> Result<(), TableError> {
    numbers.clear();
    levels.clear();
    let definition = &mut levels.definition;
    match &column.cells {
        Cells::Number { get, .. } => {
            numbers.extend(rows.iter().map(get));
            writer.typed::<Int64Type>().write_batch(numbers, None, None)?;
        }
        Cells::OptionalNumber { get, .. } => {
            definition.extend(rows.iter().map(|row| i16::from(get(row).is_some())));
            numbers.extend(rows.iter().filter_map(get));
            writer.typed::<Int64Type>().write_batch(numbers, Some(definition), None)?;
        }
        Cells::Flag { get, .. } => {
            let flags: Vec<bool> = rows.iter().map(get).collect();
            writer.typed::<BoolType>().write_batch(&flags, None, None)?;
        }
        Cells::Word { get, .. } => {
            let words: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(get(row))).collect();
            writer.typed::<ByteArrayType>().write_batch(&words, None, None)?;
        }
        Cells::OptionalText { get, .. } => {
            definition.extend(rows.iter().map(|row| i16::from(get(row).is_some())));
            let texts: Vec<ByteArray> = rows.iter().filter_map(get).map(ByteArray::from).collect();
            writer.typed::<ByteArrayType>().write_batch(&texts, Some(definition), None)?;
        }
        Cells::Numbers { required, count, get, .. } => {
            for row in rows {
                levels.add_row(count(&row.events), *required);
                get(&row.events, numbers);
            }
            writer.typed::<Int64Type>().write_batch(
                numbers,
                Some(&levels.definition),
                Some(&levels.repetition),
            )?;
        }
    }
    Ok(())
}
