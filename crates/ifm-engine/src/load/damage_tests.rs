//! Damaged copies of model files: an error or a model, never a panic. `MUTANTS` sets the number of copies.

use std::{fs, path::Path};

use ifm_kernels::Format;
use ifm_made::mutants::{Mutants, Pace};
use serde_json::json;
use tempfile::TempDir;

use super::{
    LoadError, Prepared,
    gguf_file::GgufFile,
    gguf_file_tests::{COLUMNS, file},
    guarded,
    safetensors::Checkpoint,
    tests::{Entry, Folder},
};

/// Copies of each file.
const COPIES: usize = 300;

/// Reads damaged copies of a file.
fn check(name: &str, path: &Path, mut read: impl FnMut() -> Result<(), LoadError>) {
    let sound = fs::read(path).expect("written");
    let copies = Mutants::count(COPIES);
    let (mut refused, mut panicked) = (0, Vec::new());
    let mut pace = Pace::of_sound(&mut read);
    let mut mutants = Mutants::new(50);
    for _ in 0..copies {
        fs::write(path, mutants.damage(&sound)).expect("written");
        if let Err(error) = pace.read(&mut read) {
            refused += 1;
            let error = error.to_string();
            if error.contains("internal error") {
                panicked.push(error);
            }
        }
    }
    fs::write(path, &sound).expect("written");
    read().unwrap_or_else(|error| panic!("{name}: {error}"));
    let slowest = pace.slowest();
    println!("{name}: {copies} copies, {refused} refused, slowest {slowest:?}, {panicked:?}");
    assert!(refused * 10 >= copies, "{name}: {refused} of {copies} refused");
    assert_eq!(panicked, [""; 0], "{name}");
    assert!(!pace.is_slow(), "{name}: {pace:?}");
}

#[test]
fn damaged_gguf_is_an_error_and_no_panic() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("model.gguf");
    let texts = |texts: &[&str]| {
        Entry::Array(texts.iter().map(|text| Entry::String((*text).to_owned())).collect())
    };
    let metadata = [
        ("general.architecture", Entry::String("llama".to_owned())),
        ("general.alignment", Entry::U32(32)),
        ("llama.context_length", Entry::U32(256)),
        ("llama.rope.freq_base", Entry::F32(10_000.0)),
        ("tokenizer.ggml.model", Entry::String("gpt2".to_owned())),
        ("tokenizer.ggml.tokens", texts(&["a", "b", "ab", "<s>"])),
        ("tokenizer.ggml.merges", texts(&["a b"])),
    ];
    fs::write(&path, file(3, &metadata)).expect("written");
    check("GGUF", &path, || {
        guarded(&path, || {
            let mut file = GgufFile::open(&path)?;
            file.read("matrix", &[2, COLUMNS])?;
            file.read("vector", &[COLUMNS]).map(drop)
        })
    });
    // The whole way; a model of two tensors is refused in the end.
    for seed in 0..Mutants::count(COPIES) {
        let copy = Mutants::new(seed as u64 * 2 + 1).damage(&file(3, &metadata));
        fs::write(&path, copy).expect("written");
        let error = Prepared::gguf(&path, Some(64)).err().expect("no model").to_string();
        assert!(!error.contains("internal error"), "{seed}: {error}");
    }
}

#[test]
fn damaged_safetensors_are_an_error_and_no_panic() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("model.safetensors");
    let header = json!({
        "__metadata__": {"format": "pt"},
        "matrix": {"dtype": "BF16", "shape": [2, 8], "data_offsets": [0, 32]},
        "vector": {"dtype": "F32", "shape": [8], "data_offsets": [32, 64]},
    });
    let header = header.to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([0; 64]);
    fs::write(&path, bytes).expect("written");
    check("safetensors", &path, || {
        guarded(&path, || {
            let checkpoint = Checkpoint::open(folder.path())?;
            checkpoint.read_stored("matrix", 2, 8)?;
            checkpoint.read_floats("vector").map(drop)
        })
    });
}

#[test]
fn damaged_config_is_an_error_and_no_panic() {
    let folder = Folder::new(Format::F32, 1);
    // Nothing of the tokenizer is of interest here, and a small one loads fast.
    let tokenizer = json!({
        "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": null,
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    });
    fs::write(folder.path("tokenizer.json"), tokenizer.to_string()).expect("written");
    let root = folder.path("config.json");
    let root = root.parent().expect("a folder");
    check("config.json", &folder.path("config.json"), || {
        let prepared = Prepared::hugging_face(root, None, None)?;
        prepared.stored_bytes().map(drop)
    });
}

#[test]
fn a_header_with_an_entry_without_end_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("model.safetensors");
    let dimensions = vec!["1"; 1 << 20].join(",");
    let header =
        format!(r#"{{"x":{{"dtype":"F32","shape":[{dimensions}],"data_offsets":[0,4]}}}}"#);
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([0; 4]);
    fs::write(&path, bytes).expect("written");
    let error = Checkpoint::open(folder.path()).expect_err("too long").to_string();
    assert!(error.contains("the entry of tensor x is invalid"), "{error}");
}

#[test]
fn a_device_in_the_place_of_a_file_is_an_error_at_once() {
    let folder = Folder::new(Format::F32, 1);
    let root = folder.path("config.json");
    let root = root.parent().expect("a folder");
    for name in ["model.safetensors", "config.json"] {
        let (path, aside) = (folder.path(name), folder.path("aside"));
        fs::rename(&path, &aside).expect("moved");
        std::os::unix::fs::symlink("/dev/zero", &path).expect("linked");
        let error = Prepared::hugging_face(root, None, None).err().expect(name).to_string();
        assert!(error.contains("it is not a regular file"), "{name}: {error}");
        fs::remove_file(&path).expect("removed");
        fs::rename(&aside, &path).expect("moved back");
    }
    let error = Prepared::gguf(Path::new("/dev/zero"), None).err().expect("a device").to_string();
    assert!(error.contains("it is not a regular file"), "{error}");
}

#[test]
fn a_panic_of_a_reader_is_damage_of_its_file() {
    let read = || -> Result<(), LoadError> { panic!("a reader failed") };
    let error = guarded(Path::new("model.gguf"), read).expect_err("a panic").to_string();
    assert_eq!(error, "cannot understand model.gguf: internal error: a reader failed");
}
