//! What the reader takes of good and of damaged JSON.

use super::*;
use serde_json::json;

/// What a reader returns for a text that arrives in pieces of this many bytes.
fn objects(text: &str, piece: usize) -> (Vec<Value>, Vec<(u32, String)>) {
    struct Pieces<'a>(&'a [u8], usize);
    impl std::io::Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let bytes = self.0.len().min(self.1).min(out.len());
            let (now, later) = self.0.split_at(bytes);
            out[..bytes].copy_from_slice(now);
            self.0 = later;
            Ok(bytes)
        }
    }
    let mut source = Pieces(text.as_bytes(), piece);
    let mut reader = Reader::new(&mut source);
    let (mut values, mut faults) = (Vec::new(), Vec::new());
    let end = reader.objects(|reader| match reader.value(1 << 20) {
        Ok(value) => {
            values.push(value.unwrap_or(Value::Null));
            Ok(())
        }
        Err(fault) => {
            faults.push((fault.line, fault.to_string()));
            Err(fault)
        }
    });
    end.unwrap();
    (values, faults)
}

#[test]
fn values_are_the_same_however_they_come_in() {
    let text = concat!(
        "{\"a\": [1, -2.5e3, NaN, Infinity, -Infinity, true, null, {}], \"b\\u00e4\\ud83d\\ude00\": ",
        "\"x\\n\\\"\\\\\"}\n{\"a\": 18446744073709551615, \"c\": []}"
    );
    let expected = vec![
        json!({"a": [1, -2500.0, null, null, null, true, null, {}], "bä😀": "x\n\"\\"}),
        json!({"a": 18446744073709551615_u64, "c": []}),
    ];
    for piece in 1..text.len() {
        assert_eq!(objects(text, piece), (expected.clone(), Vec::new()), "pieces of {piece}");
    }
}

#[test]
fn a_list_of_objects_is_as_good_as_objects_in_a_row() {
    assert_eq!(objects("[\n  {\"a\": 1},\n  {\"a\": 2}\n]\n", 3).0.len(), 2);
    assert_eq!(objects("{\"a\": 1}{\"a\": 2} {\"a\": 3}", 3).0.len(), 3);
}

#[test]
fn a_damaged_object_costs_no_other() {
    let good = r#"{"tag": 1, "list": [1, 2], "text": "x"}"#;
    for at in 2..good.len() {
        let cut = &good[..at];
        let text = format!("{good}\n{cut}\n{good}\n");
        let (values, faults) = objects(&text, 7);
        assert_eq!(values.len(), 2, "cut at {at}: {faults:?}");
        assert_eq!(faults.len(), 1, "cut at {at}");
        assert!((2..=3).contains(&faults[0].0), "cut at {at}: {faults:?}");
    }
    // Of an array, the lines of an element are as long as they like.
    let element = "  {\n    \"tag\": 1,\n    \"list\": [ 1, 2 ]\n  }";
    let broken = element.replace("1,\n", "1 x,\n");
    let (values, faults) = objects(&format!("[\n{element},\n{broken},\n{element}\n]\n"), 5);
    assert_eq!((values.len(), faults[0].0), (2, 7), "{faults:?}");
}

#[test]
fn a_number_that_the_file_cuts_is_none() {
    let (values, faults) = objects("{\"a\": 12", 100);
    assert_eq!((values.len(), faults.len()), (0, 1));
    let mut source = "{\"a\": 12\n{\"a\": 128}".as_bytes();
    let mut reader = Reader::new(&mut source);
    let mut numbers = Vec::new();
    let taken = reader.object(|_, reader| {
        numbers.extend(reader.number_or(|_| {})?);
        Ok(())
    });
    assert!(taken.is_err() && numbers.is_empty());
}

#[test]
fn nothing_grows_without_bound() {
    let deep = "{\"a\":".to_owned() + &"[".repeat(100_000);
    assert!(objects(&deep, 4096).1[0].1.contains("deep"));
    let long = format!("{{\"a\": {}}}", "1".repeat(100_000));
    assert_eq!(objects(&long, 4096).0.len(), 0);
    let mut source = "{\"a\": [1, 2, 3], \"b\": 4}".as_bytes();
    let mut reader = Reader::new(&mut source);
    let mut values = Vec::new();
    let taken = reader.object(|_, reader| {
        values.push(reader.value(8)?);
        Ok(())
    });
    assert!(taken.is_ok());
    assert_eq!(values, [None, Some(json!(4))]);
}

#[test]
fn numbers_as_tools_write_them() {
    assert_eq!(number(Some(&json!("inf"))), None);
    assert_eq!(number(Some(&json!("2.5"))), Some(2.5));
    assert_eq!(number(Some(&json!(null))), None);
    assert_eq!(count(Some(&json!(12.0))), Some(12));
    assert_eq!(count(Some(&json!(-1))), None);
}

#[test]
fn bare_words_become_null_outside_of_strings() {
    let text = r#"{"a": NaN, "b": [-Infinity, Infinity], "c": "NaN \" Infinity"}"#;
    let value: Value = serde_json::from_str(&without_bare_words(text)).unwrap();
    assert_eq!(value, json!({"a": null, "b": [null, null], "c": "NaN \" Infinity"}));
}
