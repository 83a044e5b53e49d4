//! Reading `requests.parquet`, one row group at a time.
//!
//! Columns are found by name: those that this build does not know are passed over, and an optional
//! column that the file lacks reads as unknown throughout.

use super::columns::{COLUMNS, Cells, Column, leaf_path};
use super::lists::{ListLevels, element_level};
use super::request_writer::GROUP_REQUESTS;
use super::{TableError, bounds};
use ifm_core::RequestRecord;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::fs::File;

/// Most rows of one group that are read: four times what is written, and a bound on memory.
const GROUP_ROWS_MAX: usize = 4 * GROUP_REQUESTS;

/// An open table of requests.
pub(crate) struct RequestTable {
    file: SerializedFileReader<File>,
    /// For each of [`COLUMNS`], its place in the file.
    places: Vec<Option<usize>>,
}

impl RequestTable {
    /// Opens the table and checks its columns.
    pub(crate) fn open(file: File) -> Result<RequestTable, TableError> {
        bounds::guarded(|| RequestTable::checked(file))
    }

    fn checked(file: File) -> Result<RequestTable, TableError> {
        let file = bounds::open(file)?;
        let schema = file.metadata().file_metadata().schema_descr();
        let mut places = Vec::with_capacity(COLUMNS.len());
        for column in COLUMNS {
            let path = leaf_path(column);
            let place = schema.columns().iter().position(|found| found.path().string() == path);
            if let Some(found) = place.and_then(|place| schema.columns().get(place)) {
                let shape = (found.physical_type(), found.max_def_level(), found.max_rep_level());
                if shape != expected_shape(column) {
                    let detail = format!("column {} has another type than it should", column.name);
                    return Err(TableError::Content(detail));
                }
            } else if !may_lack(column) {
                return Err(TableError::Content(format!("it lacks the column {}", column.name)));
            }
            places.push(place);
        }
        Ok(RequestTable { file, places })
    }

    /// Number of row groups.
    pub(crate) fn groups(&self) -> usize {
        self.file.num_row_groups()
    }

    /// Number of rows of one group, as recorded in the file.
    pub(crate) fn rows(&self, index: usize) -> usize {
        let group = self.file.metadata().row_groups().get(index);
        group.map_or(0, |group| usize::try_from(group.num_rows()).unwrap_or(usize::MAX))
    }

    /// All rows of one group, in the order of the file.
    pub(crate) fn read_group(&self, index: usize) -> Result<Vec<RequestRecord>, TableError> {
        bounds::guarded(|| self.records(index))
    }

    fn records(&self, index: usize) -> Result<Vec<RequestRecord>, TableError> {
        let group = self.file.get_row_group(index)?;
        let rows = self.rows(index);
        if rows > GROUP_ROWS_MAX {
            return Err(TableError::Content(format!("row group {index} claims {rows} rows")));
        }
        let mut records: Vec<RequestRecord> = (0..rows).map(|_| RequestRecord::blank()).collect();
        for (column, place) in COLUMNS.iter().zip(&self.places) {
            if let Some(place) = place {
                read_column(column, &*group, *place, &mut records)?;
            }
        }
        Ok(records)
    }
}

/// Physical type, definition and repetition of a column.
fn expected_shape(column: &Column) -> (Type, i16, i16) {
    match column.cells {
        Cells::Number { .. } => (Type::INT64, 0, 0),
        Cells::OptionalNumber { .. } => (Type::INT64, 1, 0),
        Cells::Flag { .. } => (Type::BOOLEAN, 0, 0),
        Cells::Word { .. } => (Type::BYTE_ARRAY, 0, 0),
        Cells::OptionalText { .. } => (Type::BYTE_ARRAY, 1, 0),
        Cells::Numbers { required, .. } => (Type::INT64, element_level(required), 1),
    }
}

fn may_lack(column: &Column) -> bool {
    matches!(
        column.cells,
        Cells::OptionalNumber { .. }
            | Cells::OptionalText { .. }
            | Cells::Numbers { required: false, .. }
    )
}

fn read_column(
    column: &Column,
    group: &dyn RowGroupReader,
    place: usize,
    records: &mut [RequestRecord],
) -> Result<(), TableError> {
    let reader = bounds::column(group, place)?;
    let rows = records.len();
    let senseless =
        || Err(TableError::Content(format!("column {} holds a value out of bounds", column.name)));
    let all_set = match &column.cells {
        Cells::Number { set, .. } => {
            let (values, _) = read_values::<Int64Type>(reader, rows)?;
            all_rows(records, values.len())? && set_each(records, values, set)
        }
        Cells::OptionalNumber { set, .. } => {
            let (values, levels) = read_values::<Int64Type>(reader, rows)?;
            all_rows(records, levels.definition.len())?
                && set_each(records, with_gaps(values, &levels), set)
        }
        Cells::Flag { set, .. } => {
            let (values, _) = read_values::<BoolType>(reader, rows)?;
            all_rows(records, values.len())?
                && set_each(records, values, |r, v| {
                    set(r, v);
                    true
                })
        }
        Cells::Word { set, .. } => {
            let (values, _) = read_values::<ByteArrayType>(reader, rows)?;
            all_rows(records, values.len())?
                && set_each(records, values, |r, v| as_text(&v).is_some_and(|text| set(r, text)))
        }
        Cells::OptionalText { set, .. } => {
            let (values, levels) = read_values::<ByteArrayType>(reader, rows)?;
            all_rows(records, levels.definition.len())?
                && set_each(records, with_gaps(values, &levels), |r, v| match &v {
                    Some(value) => as_text(value).is_some_and(|text| set(r, Some(text))),
                    None => set(r, None),
                })
        }
        Cells::Numbers { required, set, .. } => {
            let (values, levels) = read_values::<Int64Type>(reader, rows)?;
            let lengths: Vec<usize> = levels.row_lengths(element_level(*required)).collect();
            all_rows(records, lengths.len())? && {
                let mut rest = values.as_slice();
                set_each(records, lengths, |record, length| {
                    let Some((row, after)) = rest.split_at_checked(length) else { return false };
                    rest = after;
                    set(&mut record.events, row)
                })
            }
        }
    };
    if all_set { Ok(()) } else { senseless() }
}

/// All values of a column within a group, and their levels where it has any.
fn read_values<T: DataType>(
    reader: ColumnReader,
    rows: usize,
) -> Result<(Vec<T::T>, ListLevels), TableError> {
    let mut reader = get_typed_column_reader::<T>(reader);
    let mut values = Vec::new();
    let mut levels = ListLevels::default();
    reader.read_records(
        rows,
        Some(&mut levels.definition),
        Some(&mut levels.repetition),
        &mut values,
    )?;
    Ok((values, levels))
}

/// The values of an optional column, with `None` for each level without a value.
fn with_gaps<T>(values: Vec<T>, levels: &ListLevels) -> impl Iterator<Item = Option<T>> {
    let mut values = values.into_iter();
    levels.definition.iter().map(move |level| if *level == 1 { values.next() } else { None })
}

fn all_rows(records: &[RequestRecord], found: usize) -> Result<bool, TableError> {
    if found == records.len() {
        Ok(true)
    } else {
        let expected = records.len();
        Err(TableError::Content(format!("a column has {found} rows instead of {expected}")))
    }
}

/// Whether every record took its value.
fn set_each<T>(
    records: &mut [RequestRecord],
    values: impl IntoIterator<Item = T>,
    mut set: impl FnMut(&mut RequestRecord, T) -> bool,
) -> bool {
    records.iter_mut().zip(values).all(|(record, value)| set(record, value))
}

fn as_text(value: &ByteArray) -> Option<&str> {
    std::str::from_utf8(value.data()).ok()
}
