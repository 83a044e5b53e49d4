//! The Parquet files of a sealed run.
//!
//! `requests.parquet` has one row per request, `series.parquet` one row per sampled quantity. The
//! columns are listed once, in `columns`, for both ways. The files use no compression codec: delta
//! packing of the stamps does the work, and every Parquet reader has it.

mod bounds;
mod columns;
mod lists;
mod request_reader;
mod request_writer;
mod series_file;

pub(crate) use bounds::read_metadata;
pub use columns::column_names;
pub(crate) use request_reader::RequestTable;
pub(crate) use request_writer::{GROUP_EVENTS, GROUP_REQUESTS, RequestWriter};
pub(crate) use series_file::{read_series, write_series};

use crate::error::StoreError;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{
    DeltaBinaryPackedEncoderOptions, EnabledStatistics, WriterPropertiesBuilder,
};
use std::io;
use std::path::Path;

/// Values in a block of delta packing and parts of it with a width of their own.
///
/// The smallest block that Parquet allows: the step from one request's last stamp to the first of
/// the next is large and negative, and it widens every value of its block.
const DELTA_BLOCK: (usize, usize) = (128, 4);

/// What went wrong below a table, before the path is known.
#[derive(Debug)]
pub(crate) enum TableError {
    /// Parquet, or the disk under it.
    Parquet(ParquetError),
    /// The file holds what this schema does not allow.
    Content(String),
}

impl From<ParquetError> for TableError {
    fn from(error: ParquetError) -> TableError {
        TableError::Parquet(error)
    }
}

impl TableError {
    /// As an error of reading `path`.
    pub(crate) fn reading(self, path: &Path) -> StoreError {
        match self {
            TableError::Content(detail) => StoreError::damaged(path, detail),
            TableError::Parquet(error) => match into_io(error) {
                Ok(source) => StoreError::io("read", path, source),
                Err(error) => StoreError::damaged(path, error.to_string()),
            },
        }
    }

    /// As an error of writing `path`; `kept` says what is safe if storage is used up.
    pub(crate) fn writing(self, path: &Path, kept: impl FnOnce() -> String) -> StoreError {
        match self {
            TableError::Content(detail) => StoreError::damaged(path, detail),
            TableError::Parquet(error) => match into_io(error) {
                Ok(source) => StoreError::from_io("write", path, source, kept),
                Err(error) => StoreError::damaged(path, error.to_string()),
            },
        }
    }
}

/// The input or output error that Parquet wraps, if it does.
fn into_io(error: ParquetError) -> Result<io::Error, ParquetError> {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => Ok(*error),
            Err(inner) => Err(ParquetError::External(inner)),
        },
        other => Err(other),
    }
}

/// Settings that all tables share.
pub(crate) fn base_properties(
    builder: WriterPropertiesBuilder,
    schema_version: &str,
) -> Result<WriterPropertiesBuilder, TableError> {
    let (block, parts) = DELTA_BLOCK;
    let version =
        KeyValue::new("inferometer.schema_version".to_string(), schema_version.to_string());
    Ok(builder
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_delta_binary_packed_encoder_options(DeltaBinaryPackedEncoderOptions::try_new(
            block, parts,
        )?)
        .set_key_value_metadata(Some(vec![version])))
}
