//! Files that are torn, flipped or foreign: reported, never trusted, never a panic.

use crate::fixtures::{full_record, manifest, records, series};
use ifm_core::manifest::RunState;
use ifm_core::sheet::{Factors, Part, PartKind, Place, Row, RowRole, SHEET_VERSION};
use ifm_core::{RequestRecord, Sheet};
use ifm_store::{
    IMPORT_FILE, Import, JOURNAL_FILE, MANIFEST_FILE, REQUESTS_FILE, RunEntry, SERIES_FILE, Store,
    StoreError, TAGS_FILE,
};
use proptest::prelude::*;
use std::path::PathBuf;

const HEADER_BYTES: usize = 16;

struct Scene {
    _folder: tempfile::TempDir,
    store: Store,
    path: PathBuf,
}

impl Scene {
    /// A run of several requests, sealed or abandoned.
    fn new(sealed: bool) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        let mut writer = store.create(&manifest("one")).unwrap();
        for record in records() {
            writer.append(&record).unwrap();
        }
        let path = writer.path().to_path_buf();
        if sealed {
            writer.seal(manifest("one"), &series()).unwrap();
        }
        Scene { _folder: folder, store, path }
    }

    fn run(&self) -> RunEntry {
        self.store.find("one").unwrap()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path.join(name)).unwrap()
    }

    fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.path.join(name), content).unwrap();
    }

    /// Writes a file whose length and checksum the manifest confirms.
    fn forge(&self, name: &str, content: &[u8]) {
        self.write(name, content);
        let mut head: serde_json::Value =
            serde_json::from_slice(&self.read(MANIFEST_FILE)).unwrap();
        let files = head["files"].as_array_mut().unwrap();
        let file = files.iter_mut().find(|file| file["name"] == name).unwrap();
        file["bytes"] = content.len().into();
        head["file_crc32"][name] = format!("{:08x}", crc32(content)).into();
        self.write(MANIFEST_FILE, &serde_json::to_vec(&head).unwrap());
    }

    fn open_error(&self) -> String {
        self.store.open(&self.run()).unwrap_err().to_string()
    }
}

/// Ends of the frames of a journal.
fn frame_ends(journal: &[u8]) -> Vec<usize> {
    let mut ends = vec![HEADER_BYTES];
    let mut at = HEADER_BYTES;
    while at < journal.len() {
        at += 8 + u32::from_le_bytes(journal[at..at + 4].try_into().unwrap()) as usize;
        ends.push(at);
    }
    ends
}

#[test]
fn a_journal_cut_anywhere_gives_its_whole_records_and_reports_the_rest() {
    let scene = Scene::new(false);
    let journal = scene.read(JOURNAL_FILE);
    let ends = frame_ends(&journal);
    assert_eq!(ends.len(), records().len() + 1);
    for cut in HEADER_BYTES..=journal.len() {
        scene.write(JOURNAL_FILE, &journal[..cut]);
        let loaded = scene.store.open(&scene.run()).unwrap();
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        assert_eq!(loaded.data.requests, records()[..whole], "cut at {cut}");
        let dropped = (cut - ends[whole]) as u64;
        assert_eq!(loaded.loss.map_or(0, |loss| loss.bytes_dropped), dropped, "cut at {cut}");
        assert_eq!(loaded.loss.map_or(0, |loss| loss.damaged_frames), 0, "cut at {cut}");
    }
}

#[test]
fn a_torn_journal_is_sealed_and_its_loss_reported() {
    let scene = Scene::new(false);
    let journal = scene.read(JOURNAL_FILE);
    scene.write(JOURNAL_FILE, &journal[..journal.len() - 3]);
    let sealed = scene.store.seal_abandoned(&scene.run()).unwrap();
    assert_eq!(sealed.requests, records().len() as u64 - 1);
    let loss = sealed.loss.unwrap();
    let stored = scene.store.open(&scene.run()).unwrap().data;
    assert_eq!(stored.manifest.state, RunState::Partial);
    let reason = stored.manifest.stop_reason.unwrap();
    assert!(reason.contains(&format!("the last {} bytes", loss.bytes_dropped)), "{reason}");
    assert_eq!(stored.requests, records()[..records().len() - 1]);
}

#[test]
fn zeros_after_a_loss_of_power_are_a_torn_end() {
    let scene = Scene::new(false);
    let mut journal = scene.read(JOURNAL_FILE);
    journal.extend_from_slice(&[0; 4096]);
    scene.write(JOURNAL_FILE, &journal);
    let loaded = scene.store.open(&scene.run()).unwrap();
    assert_eq!(loaded.data.requests, records());
    assert_eq!(loaded.loss.unwrap().bytes_dropped, 4096);
}

#[test]
fn one_damaged_record_does_not_cost_those_after_it() {
    let scene = Scene::new(false);
    let mut journal = scene.read(JOURNAL_FILE);
    let ends = frame_ends(&journal);
    journal[ends[2] + 20] ^= 4;
    scene.write(JOURNAL_FILE, &journal);
    let loaded = scene.store.open(&scene.run()).unwrap();
    let expect: Vec<RequestRecord> =
        records().into_iter().filter(|record| record.seq != 2).collect();
    assert_eq!(loaded.data.requests, expect);
    let loss = loaded.loss.unwrap();
    assert_eq!((loss.damaged_frames, loss.bytes_dropped), (1, (ends[3] - ends[2]) as u64));
    assert!(loss.to_string().contains("1 damaged record"), "{loss}");
}

#[test]
fn distinguishes_foreign_and_future_files() {
    let scene = Scene::new(false);
    let journal = scene.read(JOURNAL_FILE);
    let check = |content: &[u8], expect: &str| {
        scene.write(JOURNAL_FILE, content);
        let error = scene.open_error();
        assert!(error.contains(expect), "{error}");
        assert!(scene.store.seal_abandoned(&scene.run()).is_err());
    };
    check(b"", "shorter than the header");
    check(b"PAR1 is not a journal at all", "does not start as a journal does");
    let mut flipped = journal.clone();
    flipped[9] ^= 1;
    check(&flipped, "checksum of its header");
    let mut future = journal.clone();
    future[8..12].copy_from_slice(&5_u32.to_le_bytes());
    let sum = crc32(&future[..12]);
    future[12..16].copy_from_slice(&sum.to_le_bytes());
    check(&future, "format version 5, this build reads 1 to 4");

    let head = String::from_utf8(scene.read(MANIFEST_FILE)).unwrap();
    scene.write(MANIFEST_FILE, head.replace("\"1.3\"", "\"2.3\"").as_bytes());
    let error = scene.open_error();
    assert!(error.contains("format version 2.3, this build reads 1.x"), "{error}");
    scene.write(MANIFEST_FILE, head.replace("\"1.3\"", "\"1.9\"").as_bytes());
    assert!(scene.run().manifest.is_ok());
    scene.write(MANIFEST_FILE, b"{}");
    assert!(scene.open_error().contains("no field schema_version"));
}

/// CRC-32 as zlib has it, so that the test does not lean on the code under test.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 }
        })
    })
}

#[test]
fn reports_a_missing_or_exchanged_file() {
    let scene = Scene::new(true);
    let requests = scene.read(REQUESTS_FILE);
    scene.write(REQUESTS_FILE, &requests[..requests.len() / 2]);
    assert!(scene.open_error().contains("the manifest says"));
    std::fs::remove_file(scene.path.join(REQUESTS_FILE)).unwrap();
    assert!(scene.open_error().starts_with("cannot open"));
    scene.write(REQUESTS_FILE, &requests);
    let head = String::from_utf8(scene.read(MANIFEST_FILE)).unwrap();
    scene.write(MANIFEST_FILE, head.replace("file_crc32", "other").as_bytes());
    assert!(scene.open_error().contains("no size and checksum"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn flipped_bits_of_sealed_files_are_found(place: usize, bit in 0_u8..8, in_series: bool) {
        let scene = Scene::new(true);
        let name = if in_series { SERIES_FILE } else { REQUESTS_FILE };
        let mut content = scene.read(name);
        let place = place % content.len();
        content[place] ^= 1 << bit;
        scene.write(name, &content);
        let error = scene.store.open(&scene.run()).unwrap_err();
        prop_assert!(matches!(error, StoreError::Damaged { .. }), "{}", error);
    }

    #[test]
    fn flipped_bits_of_a_journal_give_no_false_record(
        flips in proptest::collection::vec((any::<usize>(), 0_u8..8), 1..6),
    ) {
        let scene = Scene::new(false);
        let mut journal = scene.read(JOURNAL_FILE);
        for (place, bit) in flips {
            let place = place % journal.len();
            journal[place] ^= 1 << bit;
        }
        scene.write(JOURNAL_FILE, &journal);
        if let Ok(loaded) = scene.store.open(&scene.run()) {
            let known = records();
            prop_assert!(loaded.data.requests.iter().all(|record| known.contains(record)));
            let complete = loaded.data.requests.len() == known.len();
            prop_assert_eq!(complete, loaded.loss.is_none());
        }
    }

    #[test]
    fn a_manifest_of_any_bytes_is_no_panic(content: Vec<u8>, place: usize, byte: u8) {
        let scene = Scene::new(true);
        let mut head = scene.read(MANIFEST_FILE);
        let place = place % head.len();
        head[place] = byte;
        scene.write(MANIFEST_FILE, &head);
        prop_assert_eq!(scene.store.list().unwrap().len(), 1);
        let _ = scene.store.open(&scene.store.list().unwrap()[0]);
        scene.write(MANIFEST_FILE, &content);
        prop_assert!(scene.store.list().unwrap()[0].manifest.is_err());
    }
}

/// Whoever writes a file with a sound checksum can still write nonsense into it.
#[test]
fn reports_a_sound_file_with_another_schema() {
    let scene = Scene::new(true);
    let series = scene.read(SERIES_FILE);
    scene.forge(REQUESTS_FILE, &series);
    let error = scene.open_error();
    assert!(error.contains("it lacks the column seq"), "{error}");
    assert_eq!(full_record(0), records()[0]);
}

/// The checksum of a file that was made to do harm is right. `MUTANTS` sets the number of files.
#[test]
fn damaged_parquet_with_a_right_checksum_is_an_error_and_no_panic() {
    let mutants = std::env::var("MUTANTS").ok().and_then(|text| text.parse().ok());
    let scene = Scene::new(true);
    let sound = [REQUESTS_FILE, SERIES_FILE].map(|name| (name, scene.read(name)));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut refused = 0;
    let count = mutants.unwrap_or(400);
    for number in 0..count {
        let (name, content) = &sound[usize::from(number % 4 == 3)];
        let mut content = content.clone();
        // Most of what a reader believes is in the metadata at the end.
        let from = if number % 2 == 0 { content.len() * 3 / 4 } else { 0 };
        for _ in 0..=next(4) {
            let place = from + next(content.len() - from);
            content[place] = [0, 0xff, 0x7f, 0x80, next(256) as u8][next(5)];
        }
        scene.forge(name, &content);
        match scene.store.open(&scene.run()) {
            Ok(_) => {}
            Err(StoreError::Damaged { .. } | StoreError::Io { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
        scene.forge(name, &sound[usize::from(number % 4 == 3)].1);
    }
    assert!(refused > count / 4, "{refused} of {count}");
    assert!(scene.store.open(&scene.run()).is_ok());
}

#[cfg(unix)]
#[test]
fn pipes_in_the_place_of_files_do_not_wait() {
    for name in [MANIFEST_FILE, REQUESTS_FILE] {
        let scene = Scene::new(true);
        std::fs::remove_file(scene.path.join(name)).unwrap();
        let made = std::process::Command::new("mkfifo").arg(scene.path.join(name)).status();
        assert!(made.unwrap().success());
        let run = &scene.store.list().unwrap()[0];
        let error = scene.store.open(run).unwrap_err().to_string();
        assert!(error.contains("it is not a regular file"), "{error}");
    }
}

/// Reads damaged copies of a file; `MUTANTS` sets their number.
#[expect(clippy::print_stdout, reason = "counts of a long run with MUTANTS")]
fn damage(name: &str, path: &std::path::Path, mut is_read: impl FnMut() -> bool) {
    use ifm_made::mutants::{Mutants, Pace};
    let sound = std::fs::read(path).unwrap();
    let copies = Mutants::count(300);
    let (mut mutants, mut refused) = (Mutants::new(50), 0);
    assert!(is_read(), "{name}");
    let mut pace = Pace::of_sound(&mut is_read);
    for _ in 0..copies {
        std::fs::write(path, mutants.damage(&sound)).unwrap();
        refused += usize::from(!pace.read(&mut is_read));
    }
    println!("{name}: {copies} copies, {refused} refused, slowest {:?}", pace.slowest());
    assert!(refused * 10 >= copies, "{name}: {refused} of {copies} refused");
    assert!(!pace.is_slow(), "{name}: {pace:?}");
    std::fs::write(path, &sound).unwrap();
    assert!(is_read(), "{name}");
}

#[test]
fn damaged_manifests_are_an_error_or_an_answer_and_no_panic() {
    let scene = Scene::new(true);
    damage("manifest", &scene.path.join(MANIFEST_FILE), || {
        let opened = scene.store.find("one").map(|run| scene.store.open(&run).map(drop));
        matches!(opened, Ok(Ok(())))
    });
}

/// A copy counts as refused if a record is lost.
#[test]
fn damaged_journals_are_an_error_or_an_answer_and_no_panic() {
    let scene = Scene::new(false);
    damage(
        "journal",
        &scene.path.join(JOURNAL_FILE),
        || matches!(scene.store.open(&scene.run()), Ok(run) if run.loss.is_none()),
    );
}

#[test]
fn damaged_tags_are_an_error_or_an_answer_and_no_panic() {
    let scene = Scene::new(true);
    let entry = scene.run();
    scene.store.tag(&entry, &["gpu=l40s".to_owned(), "warm".to_owned()]).unwrap();
    damage("tags", &scene.path.join(TAGS_FILE), || {
        scene.store.open(&scene.run()).is_ok() && entry.tags().is_ok()
    });
}

#[test]
fn damaged_imports_are_an_error_or_an_answer_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut part = Part::new(PartKind::Serving, Place::default());
    part.factors = Factors::default().with("model", "m");
    part.rows = vec![Row::new(RowRole::Measured, Place::default())];
    let import = Import {
        sheet_version: SHEET_VERSION,
        id: "20261120-121427-7f3a".to_owned(),
        name: Some("theirs".to_owned()),
        tool_version: "0".to_owned(),
        plan: None,
        sheets: vec![Sheet { parts: vec![part], ..Sheet::default() }],
    };
    store.keep_import(&import).unwrap();
    let path = folder.path().join(&import.id).join(IMPORT_FILE);
    damage("import", &path, || store.find_import("theirs").is_ok());
}

/// Two billion elements that take no bytes: the library counts through them.
#[test]
fn lists_that_are_longer_than_the_file_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    let footer = [0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0];
    let length = (footer.len() as u32).to_le_bytes();
    std::fs::write(&path, [b"PAR1", &footer[..], &length, b"PAR1"].concat()).unwrap();
    for error in [
        ifm_store::read_single_file(&path).unwrap_err(),
        ifm_store::read_sheet_file(&path).unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(error.contains("its description claims more than its bytes can hold"), "{error}");
    }
}
