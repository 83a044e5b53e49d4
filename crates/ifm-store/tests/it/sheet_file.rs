//! A document in one file: its table, which any reader opens, and the document whole.

use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Figure, Part, PartKind, Place, Row, RowRole, Statistic, Unit};
use ifm_store::{
    TableCells, TableColumn, read_sheet_file, read_single_file, write_sheet_file, write_table_file,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::fs::File;

fn document() -> Sheet {
    let mut row = Row::new(RowRole::Measured, Place::line(3));
    row.figures.push(Figure::new(Metric::Ttft, Statistic::Mean, 0.1 + 0.2, Unit::Ms));
    let part = Part { rows: vec![row], ..Part::new(PartKind::Serving, Place::line(1)) };
    Sheet { parts: vec![part], ..Sheet::default() }
}

fn columns() -> Vec<TableColumn> {
    let texts = vec![Some("red".to_owned()), None, Some(String::new())];
    let numbers = vec![None, Some(0.1 + 0.2), Some(0.0)];
    vec![
        TableColumn { name: "label".to_owned(), cells: TableCells::Texts(texts) },
        TableColumn { name: "hits (p99.9, count)".to_owned(), cells: TableCells::Numbers(numbers) },
    ]
}

#[test]
fn a_table_alone_holds_its_cells_and_no_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    write_table_file(&path, &columns()).unwrap();
    assert_eq!(read_sheet_file(&path).unwrap(), None);
    assert!(read_single_file(&path).unwrap().is_none(), "it holds no run");
    let table = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let numbers: Vec<Field> = table
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().into_columns().remove(1).1)
        .collect();
    assert_eq!(numbers, [Field::Null, Field::Double(0.1 + 0.2), Field::Double(0.0)]);
}

#[test]
fn the_table_and_the_document_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.parquet");
    write_sheet_file(&path, &columns(), &document()).unwrap();
    assert_eq!(read_sheet_file(&path).unwrap(), Some(document()));
    assert!(read_single_file(&path).unwrap().is_none(), "it holds no run");
    let table = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let rows: Vec<Vec<(String, Field)>> =
        table.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns()).collect();
    let cell = |text: Option<&str>, number: Option<f64>| {
        vec![
            ("label".to_owned(), text.map_or(Field::Null, |text| Field::Str(text.to_owned()))),
            ("hits (p99.9, count)".to_owned(), number.map_or(Field::Null, Field::Double)),
        ]
    };
    let expected =
        [cell(Some("red"), None), cell(None, Some(0.1 + 0.2)), cell(Some(""), Some(0.0))];
    assert_eq!(rows, expected);
}

#[test]
fn reports_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.parquet");
    write_sheet_file(&path, &columns(), &document()).unwrap();
    let sound = std::fs::read(&path).unwrap();
    let text = b"0.30000000000000004";
    let at = sound.windows(text.len()).position(|window| window == text).expect("the figure");
    let mut changed = sound.clone();
    changed[at] = b'1';
    for (what, bytes) in [("changed", &changed[..]), ("cut", &sound[..sound.len() - 20])] {
        std::fs::write(&path, bytes).unwrap();
        assert!(read_sheet_file(&path).is_err(), "{what}");
    }
}
