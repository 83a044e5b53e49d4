//! GGUF files that lie about themselves.

use std::{fs, path::Path};

use ifm_kernels::{Format, Stored};
use tempfile::TempDir;

use super::{
    LoadError,
    gguf_file::GgufFile,
    tests::{Entry, Metadata, gguf_bytes},
};

pub(super) const COLUMNS: usize = 64;

/// A file of two tensors, 2 by 64 in q8_0 and 64 floats.
pub(super) fn file(version: u32, metadata: &[(&str, Entry)]) -> Vec<u8> {
    let values: Vec<f32> = (0..2 * COLUMNS).map(|index| index as f32).collect();
    let stored = |format, rows: usize| {
        Stored::encode(format, rows, COLUMNS, &values[..rows * COLUMNS]).expect("encoded")
    };
    let tensors = [
        ("matrix".to_owned(), stored(Format::Q8_0, 2)),
        ("vector".to_owned(), stored(Format::F32, 1)),
    ];
    let metadata: Metadata =
        metadata.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    gguf_bytes(version, &metadata, &tensors)
}

fn open(bytes: &[u8]) -> Result<GgufFile, LoadError> {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("model.gguf");
    fs::write(&path, bytes).expect("written");
    GgufFile::open(Path::new(&path))
}

/// Where the description of a tensor goes on after its name.
fn after_name(bytes: &[u8], name: &str) -> usize {
    let found = bytes.windows(name.len()).position(|window| window == name.as_bytes());
    found.expect("the name") + name.len()
}

#[test]
fn versions_2_and_3_are_read_the_same() {
    for version in [2, 3] {
        let mut file = open(&file(version, &[])).expect("opens");
        let matrix = file.read("matrix", &[2, COLUMNS]).expect("reads");
        assert_eq!((matrix.format(), matrix.rows()), (Format::Q8_0, 2));
        let mut row = [0.0; COLUMNS];
        matrix.decode_row(1, &mut row);
        assert!((row[63] - 127.0).abs() < 0.1 && (row[0] - 64.0).abs() < 0.5, "{row:?}");
        let mut values = [0.0; COLUMNS];
        file.read("vector", &[COLUMNS]).expect("reads").decode_row(0, &mut values);
        assert_eq!(values[..3], [0.0, 1.0, 2.0]);
        let error = file.read("vector", &[1, COLUMNS]).expect_err("a vector");
        assert!(matches!(error, LoadError::TensorShape { .. }), "{error}");
    }
}

#[test]
fn files_that_lie_are_refused_with_one_sentence() {
    let good = file(3, &[]);
    let dimensions = after_name(&good, "matrix");
    let (columns, rows) = (dimensions + 4, dimensions + 12);
    let (kind, offset) = (dimensions + 20, dimensions + 24);
    let huge = (u64::MAX / 2).to_le_bytes();
    let lies: [(usize, &[u8], &str); 12] = [
        (0, b"GGML", "does not begin with GGUF"),
        (4, &[9, 0, 0, 0], "version 9"),
        (4, &[0, 0, 0, 3], "big-endian"),
        (8, &huge, "tensors, and its"),
        (8, &[99, 0], "claims to have 99 tensors"),
        (16, &huge, "keys"),
        (dimensions - 14, &huge, "tensor 0 is damaged"),
        (dimensions, &[5], "tensor 0 is damaged"),
        (columns, &[65], "not of whole blocks of q8_0"),
        (rows, &huge, "tensor matrix"),
        (offset, &[8], "not a multiple of 32"),
        (offset, &huge[..4], "tensor matrix"),
    ];
    for (place, bytes, words) in lies {
        let mut lie = good.clone();
        lie[place..][..bytes.len()].copy_from_slice(bytes);
        let error = open(&lie).expect_err(words).to_string();
        assert!(error.contains(words), "{words} is not in: {error}");
        assert!(!error.contains('\n') && !error.ends_with('.'), "{error}");
    }
    // A type that is not read matters where the tensor is needed.
    let mut other = good.clone();
    other[kind] = 16;
    let error = open(&other).expect("opens").read("matrix", &[2, COLUMNS]).expect_err("iq2");
    assert!(error.to_string().contains("tensor matrix of type iq2_xxs"), "{error}");
    let twice: Vec<u8> = {
        let mut twice = good.clone();
        let place = after_name(&good, "vector");
        twice[place - 6..place].copy_from_slice(b"matrix");
        twice
    };
    let error = open(&twice).expect_err("twice").to_string();
    assert!(error.contains("two tensors matrix"), "{error}");
    let error = open(&file(3, &[("general.alignment", Entry::U32(12))])).expect_err("12");
    assert!(error.to_string().contains("alignment"), "{error}");
    assert!(open(&file(3, &[("general.alignment", Entry::U32(16))])).is_ok());
    for length in 0..good.len() {
        assert!(open(&good[..length]).is_err(), "{length} of {} bytes", good.len());
    }
}
