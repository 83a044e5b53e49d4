//! A run in one file: it holds the run, any reader of Parquet opens it, and damage of its columns
//! is detected.

use crate::fixtures::{manifest, records, series};
use ifm_store::{REQUESTS_FILE, RunEntry, Store, read_single_file, write_single_file};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::path::PathBuf;

struct Scene {
    folder: tempfile::TempDir,
    store: Store,
}

impl Scene {
    /// A sealed run, and one file of it.
    fn new() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("runs"));
        let mut writer = store.create(&manifest("one")).unwrap();
        for record in records() {
            writer.append(&record).unwrap();
        }
        writer.seal(manifest("one"), &series()).unwrap();
        let scene = Scene { folder, store };
        write_single_file(&scene.run(), &scene.file()).unwrap();
        scene
    }

    fn run(&self) -> RunEntry {
        self.store.find("one").unwrap()
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("one.parquet")
    }
}

#[test]
fn it_holds_the_run_and_is_a_table_for_everybody() {
    let scene = Scene::new();
    let stored = scene.store.open(&scene.run()).unwrap().data;
    let back = read_single_file(&scene.file()).unwrap().expect("a run");
    assert_eq!(back.manifest, stored.manifest);
    assert_eq!(back.requests, stored.requests);
    let table = SerializedFileReader::new(File::open(scene.file()).unwrap()).unwrap();
    assert_eq!(table.metadata().file_metadata().num_rows(), records().len() as i64);
    assert_eq!(table.get_row_iter(None).unwrap().count(), records().len());
}

#[test]
fn rejects_a_table_without_a_run() {
    let scene = Scene::new();
    let stored = scene.run().path.join(REQUESTS_FILE);
    assert!(read_single_file(&stored).unwrap().is_none());
}

/// Bytes before the metadata of a Parquet file.
fn column_bytes(file: &[u8]) -> usize {
    let tail = file.len() - 8;
    tail - u32::from_le_bytes(file[tail..tail + 4].try_into().unwrap()) as usize
}

#[test]
fn reports_any_changed_byte_of_the_columns_and_a_truncation() {
    let scene = Scene::new();
    let bytes = std::fs::read(scene.file()).unwrap();
    let columns = column_bytes(&bytes);
    let damaged = scene.folder.path().join("damaged.parquet");
    for at in (0..columns).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x20;
        std::fs::write(&damaged, &changed).unwrap();
        assert!(read_single_file(&damaged).is_err(), "at {at} of {columns}");
        std::fs::write(&damaged, &bytes[..at]).unwrap();
        assert!(read_single_file(&damaged).is_err(), "cut at {at}");
    }
}

#[test]
fn a_run_that_is_not_sealed_is_refused_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("runs"));
    let mut writer = store.create(&manifest("two")).unwrap();
    writer.append(&records()[0]).unwrap();
    let out = folder.path().join("two.parquet");
    assert!(write_single_file(&store.find("two").unwrap(), &out).is_err());
    assert!(!out.exists());
}
