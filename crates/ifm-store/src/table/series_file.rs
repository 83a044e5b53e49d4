//! `series.parquet`: one row per sampled quantity, its times and values as two lists.

use super::lists::{ListLevels, element_level};
use super::{TableError, base_properties, bounds};
use ifm_core::Series;
use ifm_core::manifest::SCHEMA_VERSION;
use parquet::basic::Encoding;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

const SCHEMA: &str = "message series {
    required binary name (STRING);
    required binary unit (STRING);
    required binary source (STRING);
    required group at_ns (LIST) { repeated group list { required int64 element; } }
    required group value (LIST) { repeated group list { required double element; } }
}";

/// Paths of the columns, in the order of the schema.
const PATHS: [&str; 5] = ["name", "unit", "source", "at_ns.list.element", "value.list.element"];

/// Writes all series in one row group; the sink comes back.
pub(crate) fn write_series<W: Write + Send>(sink: W, all: &[Series]) -> Result<W, TableError> {
    let at_ns = ColumnPath::from(vec!["at_ns".into(), "list".into(), "element".into()]);
    let properties = base_properties(WriterProperties::builder(), SCHEMA_VERSION)?
        .set_column_encoding(at_ns, Encoding::DELTA_BINARY_PACKED)
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut file = SerializedFileWriter::new(sink, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    write_texts(&mut group, all, |series| &series.name)?;
    write_texts(&mut group, all, |series| &series.unit)?;
    write_texts(&mut group, all, |series| &series.source)?;
    write_lists::<Int64Type, W>(&mut group, all, |series, cells| {
        cells.extend(series.at_ns.iter().map(|&at_ns| at_ns as i64));
    })?;
    write_lists::<DoubleType, W>(&mut group, all, |series, cells| cells.extend(&series.value))?;
    group.close()?;
    Ok(file.into_inner()?)
}

fn write_texts<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    all: &[Series],
    text: fn(&Series) -> &str,
) -> Result<(), TableError> {
    let cells: Vec<ByteArray> = all.iter().map(|series| ByteArray::from(text(series))).collect();
    write_cells::<ByteArrayType, W>(group, &cells, None)
}

fn write_lists<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    all: &[Series],
    add: fn(&Series, &mut Vec<T::T>),
) -> Result<(), TableError> {
    let mut cells = Vec::new();
    let mut levels = ListLevels::default();
    for series in all {
        let before = cells.len();
        add(series, &mut cells);
        levels.add_row(cells.len() - before, true);
    }
    write_cells::<T, W>(group, &cells, Some(&levels))
}

fn write_cells<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: &[T::T],
    levels: Option<&ListLevels>,
) -> Result<(), TableError> {
    let Some(mut column) = group.next_column()? else {
        return Err(TableError::Content("the schema lacks a column".to_string()));
    };
    let definition = levels.map(|levels| levels.definition.as_slice());
    let repetition = levels.map(|levels| levels.repetition.as_slice());
    column.typed::<T>().write_batch(cells, definition, repetition)?;
    Ok(column.close()?)
}

/// Reads all series of a file.
pub(crate) fn read_series(file: File) -> Result<Vec<Series>, TableError> {
    bounds::guarded(|| all_series(file))
}

fn all_series(file: File) -> Result<Vec<Series>, TableError> {
    let file = bounds::open(file)?;
    check_schema(&file)?;
    let mut all = Vec::new();
    for index in 0..file.num_row_groups() {
        let group = file.get_row_group(index)?;
        let [names, units, sources] =
            [read_texts(&*group, 0)?, read_texts(&*group, 1)?, read_texts(&*group, 2)?];
        let (times, values) =
            (read_lists::<Int64Type>(&*group, 3)?, read_lists::<DoubleType>(&*group, 4)?);
        let rows = names.len();
        let counts = [units.len(), sources.len(), times.len(), values.len()];
        if counts.iter().any(|count| *count != rows) {
            return Err(TableError::Content("its columns differ in length".to_string()));
        }
        let texts = names.into_iter().zip(units).zip(sources);
        for (((name, unit), source), (times, value)) in texts.zip(times.into_iter().zip(values)) {
            let at_ns: Result<Vec<u64>, _> = times.into_iter().map(u64::try_from).collect();
            match at_ns {
                Ok(at_ns) if at_ns.len() == value.len() => {
                    all.push(Series { name, unit, source, at_ns, value });
                }
                _ => return Err(TableError::Content(format!("series {name} makes no sense"))),
            }
        }
    }
    Ok(all)
}

fn check_schema(file: &SerializedFileReader<File>) -> Result<(), TableError> {
    let expected = Arc::new(parse_message_type(SCHEMA)?);
    let expected = parquet::schema::types::SchemaDescriptor::new(expected);
    let found = file.metadata().file_metadata().schema_descr();
    for (index, path) in PATHS.iter().enumerate() {
        let (Some(expected), Some(found)) =
            (expected.columns().get(index), found.columns().get(index))
        else {
            return Err(TableError::Content(format!("it lacks the column {path}")));
        };
        let same = found.path().string() == *path
            && found.physical_type() == expected.physical_type()
            && found.max_def_level() == expected.max_def_level()
            && found.max_rep_level() == expected.max_rep_level();
        if !same {
            return Err(TableError::Content(format!("column {path} is not as it should be")));
        }
    }
    Ok(())
}

fn read_texts(group: &dyn RowGroupReader, place: usize) -> Result<Vec<String>, TableError> {
    let (cells, _) = read_cells::<ByteArrayType>(group, place)?;
    let as_text = |cell: ByteArray| String::from_utf8(cell.data().to_vec());
    cells
        .into_iter()
        .map(as_text)
        .collect::<Result<_, _>>()
        .map_err(|_| TableError::Content("a text of it is not UTF-8".to_string()))
}

fn read_lists<T: DataType>(
    group: &dyn RowGroupReader,
    place: usize,
) -> Result<Vec<Vec<T::T>>, TableError> {
    let (cells, levels) = read_cells::<T>(group, place)?;
    let mut cells = cells.into_iter();
    let lengths = levels.row_lengths(element_level(true));
    Ok(lengths.map(|length| cells.by_ref().take(length).collect()).collect())
}

fn read_cells<T: DataType>(
    group: &dyn RowGroupReader,
    place: usize,
) -> Result<(Vec<T::T>, ListLevels), TableError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let mut reader = get_typed_column_reader::<T>(bounds::column(group, place)?);
    let mut cells = Vec::new();
    let mut levels = ListLevels::default();
    reader.read_records(
        rows,
        Some(&mut levels.definition),
        Some(&mut levels.repetition),
        &mut cells,
    )?;
    Ok((cells, levels))
}
