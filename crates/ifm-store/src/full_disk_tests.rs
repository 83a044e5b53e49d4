//! What a disk that fills up does to a run: nothing that was finished is lost, whatever the moment.

use crate::disk::test_disks::{SmallDisk, SmallDiskFile};
use crate::error::StoreError;
use crate::journal::{JournalReader, JournalWriter};
use crate::manifest_file::is_sealed;
use crate::seal::seal_folder;
use crate::{JOURNAL_FILE, MANIFEST_FILE, Store};
use ifm_core::{Manifest, RequestRecord, Series};
use std::fs::File;
use std::path::Path;

fn record(seq: u32) -> RequestRecord {
    let mut record = RequestRecord::blank();
    record.seq = seq;
    record.end_ns = u64::from(seq) * 60_000_000;
    record.events.at_ns = (0..40).map(|event| u64::from(seq) * 1000 + event * 20_000_000).collect();
    record
}

fn head() -> Manifest {
    serde_json::from_str(include_str!("../tests/golden/v1/manifest.json")).unwrap()
}

fn samples() -> Vec<Series> {
    let (name, unit, source) = ("power_w".to_string(), "W".to_string(), "nvml".to_string());
    vec![Series { name, unit, source, at_ns: vec![1, 2], value: vec![70.0, 71.0] }]
}

fn journal_on(disk: &SmallDisk, path: &Path) -> JournalWriter<SmallDiskFile> {
    JournalWriter::start(disk.file(File::create(path).unwrap()), path).unwrap()
}

fn seqs(path: &Path) -> (Vec<u32>, u64) {
    let mut reader = JournalReader::open(path).unwrap();
    let mut seqs = Vec::new();
    while let Some(record) = reader.next_request().unwrap() {
        seqs.push(record.seq);
    }
    (seqs, reader.loss().map_or(0, |loss| loss.bytes_dropped))
}

/// For every size of the disk: the journal is whole after the failure, and complete once there is
/// space again.
#[test]
fn a_journal_on_a_full_disk_stays_whole_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(JOURNAL_FILE);
    let mut failures = 0;
    for room in 16..700 {
        let disk = SmallDisk::with_bytes(room);
        let mut writer = journal_on(&disk, &path);
        for seq in 0..5 {
            if let Err(error) = writer.append(&record(seq)) {
                failures += 1;
                assert!(error.is_storage_full(), "{error}");
                let (on_disk, dropped) = seqs(&path);
                assert_eq!(dropped, 0, "room {room}");
                let told = format!("{} finished requests are safe", on_disk.len());
                assert!(error.to_string().contains(&told), "{error}");
                let told = format!("{} are not in it yet", seq as usize + 1 - on_disk.len());
                assert!(error.to_string().contains(&told), "{error}");
            }
        }
        disk.free(10_000);
        writer.flush().unwrap();
        assert_eq!(seqs(&path), ((0..5).collect(), 0), "room {room}");
    }
    assert!(failures > 500, "{failures}");
}

#[test]
fn too_much_that_waits_is_refused_rather_than_held() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(JOURNAL_FILE);
    let disk = SmallDisk::with_bytes(16);
    let mut writer = journal_on(&disk, &path);
    let mut large = record(0);
    large.text = Some("x".repeat(1 << 20));
    for _ in 0..64 {
        assert!(writer.append(&large).unwrap_err().is_storage_full());
    }
    let taken = writer.requests();
    assert!((16..20).contains(&taken), "{taken} MiB wait");
    disk.free(64 << 20);
    writer.sync().unwrap();
    assert_eq!(seqs(&path).0.len() as u64, taken);
}

/// For every disk size up to the one that suffices: sealing fails, leaves the journal unchanged and
/// no other file, and succeeds later.
#[test]
fn sealing_on_a_full_disk_leaves_the_journal_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&head()).unwrap();
    for seq in 0..50 {
        writer.append(&record(seq)).unwrap();
    }
    writer.tick(0).unwrap();
    drop(writer);
    let run = store.find("last").unwrap();
    let before = std::fs::read(run.path.join(JOURNAL_FILE)).unwrap();
    let mut room = 0;
    loop {
        match seal_folder(&mut SmallDisk::with_bytes(room), &run.path, head(), &samples()) {
            Ok(sealed) => {
                assert_eq!(sealed.requests, 50);
                break;
            }
            Err(error) => {
                assert!(error.is_storage_full(), "room {room}: {error}");
                assert!(error.to_string().contains("free space"), "{error}");
                assert_eq!(std::fs::read(run.path.join(JOURNAL_FILE)).unwrap(), before);
                assert!(!is_sealed_on_disk(&run.path), "room {room}");
                assert_eq!(temporary_files(&run.path), 0, "room {room}");
                room += 97;
            }
        }
    }
    assert!(room > 2_000, "{room}");
    assert_eq!(store.open(&run).unwrap().data.requests.len(), 50);
}

fn temporary_files(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with('.')).count()
}

fn is_sealed_on_disk(folder: &Path) -> bool {
    let content = std::fs::read(folder.join(MANIFEST_FILE)).unwrap();
    is_sealed(&serde_json::from_slice(&content).unwrap())
}

#[test]
fn other_errors_of_the_disk_are_not_called_full() {
    let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let error = StoreError::from_io("write", Path::new("there"), denied, String::new);
    assert!(!error.is_storage_full());
    assert!(error.to_string().starts_with("cannot write there: "), "{error}");
}
