//! Files that no reader knows, read by a map of columns.

use super::{import_text, one_row};
use ifm_core::Metric;
use ifm_core::sheet::{RemarkKind, Statistic, Unit, key};
use ifm_interop::{ColumnMap, Input, MapError, read_mapped};

const MAP: &str = "ttft_ms=first_tok,p99_e2e_s=slow,users=conc,label=name";

fn map(text: &str) -> ColumnMap {
    ColumnMap::parse(text).expect("a map")
}

#[test]
fn the_same_rows_as_csv_tsv_and_json() {
    let csv = "name,conc,first_tok,slow,note\na,4,52.5,\"1,200.5\",x\n\nb,8,n/a,2.5 s,\nc,9\n";
    let tsv = csv.replace("\"1,200.5\"", "1200.5").replace(',', "\t");
    let array = r#"[{"name":"a","conc":4,"first_tok":52.5,"slow":1200.5,"note":"x"},
        {"name":"b","conc":8,"first_tok":"n/a","slow":"2.5 s","note":""}, 7]"#;
    let lines = "{\"name\":\"a\",\"conc\":4,\"first_tok\":52.5,\"slow\":1200.5,\"note\":\"x\"}\n\
        {\"name\":\"b\",\"conc\":8,\"first_tok\":\"n/a\",\"slow\":\"2.5 s\",\"note\":\"\"}\n{\"cut\n";
    for text in [csv, &tsv, array, lines] {
        let sheet = read_mapped(Input::new("x", text.as_bytes()), &map(MAP)).unwrap();
        let rows = &sheet.parts[0].rows;
        assert_eq!(rows.len(), 2, "{text}");
        assert_eq!(rows[0].label.as_deref(), Some("a"));
        assert_eq!(rows[0].factors.get(key::CONCURRENCY), Some("4"));
        assert_eq!(rows[0].value(Metric::Ttft, Statistic::Value), Some(52.5));
        let slow = rows[0].figure(Metric::E2e, Statistic::Percentile(99.0)).unwrap();
        assert_eq!((slow.value, &slow.unit), (Some(1200.5), &Unit::S));
        assert_eq!(rows[0].unknown["note"], "x");
        assert_eq!(rows[1].value(Metric::Ttft, Statistic::Value), None);
        assert_eq!(rows[1].value(Metric::E2e, Statistic::Percentile(99.0)), Some(2500.0));
        let kinds: Vec<RemarkKind> = sheet.remarks.iter().map(|remark| remark.kind).collect();
        assert_eq!(kinds, [RemarkKind::Skipped, RemarkKind::Missing], "{text}");
        assert!(sheet.remarks.iter().all(|remark| remark.place.line.is_some()));
    }
}

#[test]
fn columns_of_inner_objects_have_names_with_dots() {
    let at = |text: &str| {
        let map = map("median_ttft_ms=first.p50,users=config.conc");
        let sheet = read_mapped(Input::new("x.json", text.as_bytes()), &map).unwrap();
        let rows = sheet.parts[0].rows.iter();
        let value = |row: &ifm_core::sheet::Row| row.value(Metric::Ttft, Statistic::Median);
        let of = rows.map(|row| (value(row), row.factors.number(key::CONCURRENCY)));
        (of.collect::<Vec<_>>(), sheet.remarks.len())
    };
    let one = "{\n  \"config\": {\"conc\": 8},\n  \"first\": {\"p50\": 45.5}\n}\n";
    assert_eq!(at(one), (vec![(Some(45.5), Some(8.0))], 0));
    let several = one.repeat(2);
    assert_eq!(at(&several).0.len(), 2);
    let with_requests = "{\"config\": {\"conc\": 8}, \"first\": {\"p50\": 45.5},\n\
         \"requests\": [{\"e2e\": 1}, {\"e2e\": 2}]}";
    assert_eq!(at(with_requests).0, [(Some(45.5), Some(8.0))]);
    let in_a_list = "{\"config\": {\"conc\": 8}, \"runs\": [\n{\"first\": {\"p50\": 1}},\n\
         {\"first\": {\"p50\": 2}, \"config\": {\"conc\": 9}}]}";
    assert_eq!(at(in_a_list), (vec![(Some(1.0), Some(8.0)), (Some(2.0), Some(9.0))], 0));
    let deep =
        "{\"all\": {\"of\": [{\"config\": {\"conc\": 4}, \"x\": [{\"first\": {\"p50\": 3}}]}]}}";
    assert_eq!(at(deep).0, [(Some(3.0), Some(4.0))]);
}

#[test]
fn what_is_missing_is_told_with_what_there_is() {
    let text = "name,concurrency,first_tok\na,4,52\n";
    let error = |map_text: &str| {
        read_mapped(Input::new("x.csv", text.as_bytes()), &map(map_text)).unwrap_err()
    };
    let told = error("ttft_ms=first_token").to_string();
    assert_eq!(
        told,
        "x.csv: no column \"first_token\" (did you mean \"first_tok\"?); columns: concurrency, \
         first_tok, name"
    );
    let empty = read_mapped(Input::new("x", "".as_bytes()), &map("users=a")).unwrap_err();
    assert!(matches!(empty, MapError::NoRows { .. }));
    let name = ColumnMap::parse("concurency=a").unwrap_err().to_string();
    assert!(name.contains("did you mean \"concurrency\"?") && name.contains("ttft_ms"), "{name}");
    let sheet = read_mapped(Input::new("x", text.as_bytes()), &map("users=concurrency")).unwrap();
    assert_eq!(one_row(&sheet).factors.get(key::CONCURRENCY), Some("4"));
}

#[test]
fn rows_that_nobody_knows_tell_their_columns() {
    let hints = |text: &str| match import_text("rows", text) {
        Err(error) => error.hints().join("; "),
        Ok(sheet) => panic!("{sheet:?}"),
    };
    for text in ["a;b b\n1;2\n", "a\tb b\n1\t2\n", "[{\"a\": 1, \"b b\": 2}]"] {
        let hint = hints(text);
        assert!(hint.contains("its columns: a, b b;"), "{text}: {hint}");
        assert!(hint.contains("--map \"NAME=a\""), "{text}: {hint}");
    }
    for text in ["", "words, and more\n", "one\ntwo\n", "a,b\n1,2,3\n", ",\n,\n"] {
        assert_eq!(hints(text), "", "{text:?}");
    }
}
