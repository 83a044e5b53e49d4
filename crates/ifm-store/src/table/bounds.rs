//! Bounds on what a Parquet file may make its reader do.
//!
//! A few bytes of a damaged or hostile file can claim billions of values, and the library panics on some
//! metadata. Here the values of a column are counted against its bytes before they are decoded, and a panic
//! becomes an error of the file. Not here: what columns mean.

use super::TableError;
use ifm_core::contained::contained;
use ifm_core::parquet_bounds::{check_footer, check_pages};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::fs::File;

/// Values of a column that need no bytes: as many as a row group of this program usually has, and more.
const VALUES_FREE: u64 = 1 << 20;
/// Values that one byte may hold. Stamps that are packed as differences take a byte and more; a column in which
/// all values are equal takes 50 bytes for a thousand.
const VALUES_PER_BYTE: u64 = 64;
/// Rows that need no bytes. Requests that were never sent, due at equal distances, take next to none.
const ROWS_FREE: u64 = 1 << 20;
/// Fewest bytes of a row in a large file. Every request that was answered has times of its own.
const ROW_BYTES_MIN: u64 = 4;

/// Runs a reader of Parquet; its panic becomes an error.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T, TableError>) -> Result<T, TableError> {
    contained(read).unwrap_or_else(|panicked| {
        Err(TableError::Content(format!("the Parquet reader failed on it ({panicked})")))
    })
}

/// What a file says about itself, without its rows.
pub(crate) fn read_metadata(file: &File) -> Result<ParquetMetaData, TableError> {
    check_footer(file).map_err(ParquetError::from)?.map_err(TableError::Content)?;
    guarded(|| Ok(ParquetMetaDataReader::new().parse_and_finish(file)?))
}

/// Opens a file whose rows fit its length.
pub(super) fn open(file: File) -> Result<SerializedFileReader<File>, TableError> {
    let bytes = file.metadata().map_err(ParquetError::from)?.len();
    let heads = file.try_clone().map_err(ParquetError::from)?;
    check_footer(&heads).map_err(ParquetError::from)?.map_err(TableError::Content)?;
    let reader = SerializedFileReader::new(file)?;
    check_rows(reader.metadata(), bytes)?;
    for chunk in reader.metadata().row_groups().iter().flat_map(|group| group.columns()) {
        let (start, length) = chunk.byte_range();
        let checked = check_pages(&heads, start, length).map_err(ParquetError::from)?;
        checked.map_err(TableError::Content)?;
    }
    Ok(reader)
}

fn check_rows(metadata: &ParquetMetaData, bytes: u64) -> Result<(), TableError> {
    let mut rows = 0_u64;
    for group in metadata.row_groups() {
        let of_group = u64::try_from(group.num_rows())
            .map_err(|_| TableError::Content("a row group has fewer than no rows".to_string()))?;
        rows = rows.saturating_add(of_group);
    }
    match rows_fit(rows, bytes) {
        true => Ok(()),
        false => Err(TableError::Content(format!("it claims {rows} rows in {bytes} bytes"))),
    }
}

fn rows_fit(rows: u64, bytes: u64) -> bool {
    rows <= ROWS_FREE.saturating_add(bytes / ROW_BYTES_MIN)
}

/// The reader of a column, which ends with an error where the column holds more values than its bytes can.
pub(super) fn column(group: &dyn RowGroupReader, place: usize) -> Result<ColumnReader, TableError> {
    let metadata = group.metadata();
    let chunk = metadata.columns().get(place);
    let bytes = chunk.map_or(0, |chunk| u64::try_from(chunk.compressed_size()).unwrap_or(0));
    let inner = group.get_column_page_reader(place)?;
    let left = VALUES_FREE.saturating_add(bytes.saturating_mul(VALUES_PER_BYTE));
    let description = metadata.schema_descr().column(place);
    Ok(get_column_reader(description, Box::new(Pages { inner, left })))
}

/// Pages that together hold at most `left` values.
struct Pages {
    inner: Box<dyn PageReader>,
    left: u64,
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let page = self.inner.get_next_page()?;
        let values = page.as_ref().map_or(0, |page| u64::from(page.num_values()));
        match self.left.checked_sub(values) {
            Some(left) => self.left = left,
            None => {
                let text = "a column claims more values than its bytes can hold";
                return Err(ParquetError::General(text.to_string()));
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.inner.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<ParquetResult<Page>> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::Encoding;

    /// Pages that claim these numbers of values.
    struct Claims(Vec<u32>);

    impl PageReader for Claims {
        fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
            Ok(self.0.pop().map(|num_values| Page::DataPage {
                buf: vec![0; 4].into(),
                num_values,
                encoding: Encoding::PLAIN,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            }))
        }

        fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
            Ok(None)
        }

        fn skip_next_page(&mut self) -> ParquetResult<()> {
            Ok(())
        }
    }

    impl Iterator for Claims {
        type Item = ParquetResult<Page>;

        fn next(&mut self) -> Option<ParquetResult<Page>> {
            self.get_next_page().transpose()
        }
    }

    #[test]
    fn a_column_ends_where_it_claims_too_many_values() {
        let mut pages = Pages { inner: Box::new(Claims(vec![u32::MAX, 50, 50])), left: 120 };
        assert!(pages.get_next_page().is_ok() && pages.get_next_page().is_ok());
        let error = pages.get_next_page().expect_err("too many").to_string();
        assert!(error.contains("more values than its bytes"), "{error}");
    }

    #[test]
    fn rows_of_a_large_file_take_bytes() {
        assert!(rows_fit(1_000_000, 600_000));
        assert!(rows_fit(10_000_000, 300_000_000));
        assert!(!rows_fit(16_777_216, 15_000));
        assert!(!rows_fit(u64::MAX, 1 << 30));
    }

    #[test]
    fn a_panic_is_an_error_of_the_file() {
        let failed = guarded(|| -> Result<(), TableError> { panic!("range end out of bounds") });
        let error = failed.expect_err("it panicked").reading(std::path::Path::new("x"));
        assert!(error.to_string().contains("range end out of bounds"), "{error}");
    }
}
