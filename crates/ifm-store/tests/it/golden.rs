//! Runs written by earlier versions of the format still load.
//!
//! `golden/v1` to `golden/v1.3` are sealed runs; the suffix `-open` marks abandoned ones. A new
//! version of the format gets new folders next to these; these are never written again.

use crate::fixtures::{manifest, records, series};
use ifm_core::RequestRecord;
use ifm_core::manifest::RunState;
use ifm_store::{JOURNAL_FILE, MANIFEST_FILE, Store};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What runs of format 1.0 hold of [`records`]: they knew no conversations.
fn records_v1() -> Vec<RequestRecord> {
    let mut records = records_before_v1_3();
    for record in &mut records {
        (record.session, record.turn) = (None, None);
    }
    records
}

/// What runs before format 1.3 hold of [`records`]: no agents, no classes, no times of the
/// server, no media.
fn records_before_v1_3() -> Vec<RequestRecord> {
    let of = |record: RequestRecord| RequestRecord {
        agent: None,
        agent_turns: None,
        class: None,
        known_tokens: None,
        draft_steps: None,
        server_queue_ns: None,
        server_first_token_ns: None,
        server_decode_ns: None,
        server_processing_ns: None,
        acked_ns: None,
        media: None,
        text_tokens: None,
        image_tokens: None,
        audio_tokens: None,
        video_tokens: None,
        made_audio: None,
        form: None,
        validity: None,
        ..record
    };
    records_v1_3().into_iter().map(of).collect()
}

/// What the stored runs of format 1.3 hold of [`records`]: no time on dead connections and no bytes of text.
fn records_v1_3() -> Vec<RequestRecord> {
    let of = |record| RequestRecord {
        dead_connection_ns: None,
        text_bytes: None,
        first_text_bytes: None,
        ..record
    };
    records().into_iter().map(of).collect()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("golden")
}

/// The versions, and what their runs hold of [`records`].
fn versions() -> [(&'static str, Vec<RequestRecord>); 4] {
    let before = records_before_v1_3();
    [("v1", records_v1()), ("v1.1", before.clone()), ("v1.2", before), ("v1.3", records_v1_3())]
}

/// That a head says all that the file says, in the same words. A field that came later says nothing.
fn says_all(head: &Value, file: &Value, place: &str) {
    match (head, file) {
        (Value::Object(head), Value::Object(file)) => {
            for (name, value) in file {
                let place = format!("{place}/{name}");
                says_all(
                    head.get(name).unwrap_or_else(|| panic!("{place} is lost")),
                    value,
                    &place,
                );
            }
            let later = head.iter().filter(|(name, _)| !file.contains_key(*name));
            let is_silent = |value: &Value| [Value::Null, false.into(), 0.into()].contains(value);
            assert!(later.into_iter().all(|(_, value)| is_silent(value)), "{place}: {head:?}");
        }
        (Value::Array(head), Value::Array(file)) => {
            assert_eq!(head.len(), file.len(), "{place}");
            head.iter().zip(file).for_each(|(head, file)| says_all(head, file, place));
        }
        _ => assert_eq!(head, file, "{place}"),
    }
}

#[test]
fn sealed_runs_of_every_version_load() {
    let store = Store::at(golden());
    for (version, records) in versions() {
        let loaded = store.open(&store.find(version).unwrap()).unwrap();
        assert_eq!(loaded.data.requests, records, "{version}");
        assert_eq!(loaded.data.series, series(), "{version}");
        let head = loaded.data.manifest;
        assert_eq!((head.state, head.files.len()), (RunState::Complete, 2), "{version}");
        assert_eq!(head.extra["later"], "kept", "{version}");
        let file = std::fs::read(golden().join(version).join(MANIFEST_FILE)).unwrap();
        let file = serde_json::from_slice(&file).unwrap();
        says_all(&serde_json::to_value(&head).unwrap(), &file, version);
    }
}

#[test]
fn open_runs_of_every_version_load_and_seal() {
    for (version, records) in versions() {
        let name = format!("{version}-open");
        let store = Store::at(golden());
        let loaded = store.open(&store.find(&name).unwrap()).unwrap();
        assert_eq!(loaded.data.requests, records, "{version}");
        assert_eq!(loaded.data.series, series(), "{version}");
        assert_eq!(loaded.data.manifest.state, RunState::Open, "{version}");

        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join(&name);
        std::fs::create_dir(&copy).unwrap();
        for file in [MANIFEST_FILE, JOURNAL_FILE] {
            std::fs::copy(golden().join(&name).join(file), copy.join(file)).unwrap();
        }
        let store = Store::at(folder.path());
        let run = store.find(&name).unwrap();
        store.seal_abandoned(&run).unwrap();
        assert_eq!(store.open(&run).unwrap().data.requests, records, "{version}");
    }
}

/// Writes the folders of a version; run manually, once, after which they are history.
#[test]
#[ignore = "not a test: writes golden runs for a new version of the format; run it manually"]
fn write_golden_runs() {
    let store = Store::at(golden());
    for id in ["v1.3", "v1.3-open"] {
        let mut head = manifest(id);
        head.extra.insert("later".to_string(), "kept".into());
        let mut writer = store.create(&head).unwrap();
        for record in records() {
            writer.append(&record).unwrap();
        }
        if id == "v1.3" {
            writer.seal(head, &series()).unwrap();
        } else {
            for samples in series() {
                writer.append_series(&samples).unwrap();
            }
        }
    }
}
