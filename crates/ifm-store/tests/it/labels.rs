//! Names, tags, and what is taken out of sight.

use crate::fixtures::{full_record, manifest};
use ifm_core::manifest::RunState;
use ifm_core::sheet::{Factors, Part, PartKind, Place, Row, RowRole, SHEET_VERSION};
use ifm_core::{Manifest, Sheet};
use ifm_store::{Import, NAME_LENGTH_MAX, Store, StoreError, TAGS_FILE, TAGS_MAX};
use std::collections::BTreeMap;

fn store_of_one() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("runs"));
    let mut writer = store.create(&manifest("one")).unwrap();
    writer.append(&full_record(0)).unwrap();
    let mut head = manifest("one");
    head.state = RunState::Complete;
    writer.seal(head, &[]).unwrap();
    let import = Import {
        sheet_version: SHEET_VERSION,
        id: "theirs".to_string(),
        name: None,
        tool_version: "0".to_string(),
        plan: None,
        sheets: Vec::new(),
    };
    store.keep_import(&import).unwrap();
    (folder, store)
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_string(), value.to_string())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_string()).collect()
}

#[test]
fn tags_are_kept_next_to_runs_and_imports() {
    let (_folder, store) = store_of_one();
    let run = store.entry("one").unwrap().unwrap();
    assert_eq!(run.tags().unwrap(), words(&[]));
    let kept = store.tag(&run, &words(&[" nightly ", "fp8", "nightly"])).unwrap();
    assert_eq!(kept, words(&["nightly", "fp8"]));
    assert_eq!(run.tags().unwrap(), kept);
    store.tag_import("theirs", &words(&["web"])).unwrap();
    assert_eq!(store.import_tags("theirs").unwrap(), words(&["web"]));
    let many: Vec<String> = (0..=TAGS_MAX).map(|n| n.to_string()).collect();
    for bad in [words(&[""]), words(&["a,b"]), words(&["a\nb"]), vec!["x".repeat(41)], many] {
        assert!(matches!(store.tag(&run, &bad), Err(StoreError::BadTag { .. })), "{bad:?}");
    }
    assert_eq!(run.tags().unwrap(), kept, "what is refused changes nothing");
    std::fs::write(run.path.join(TAGS_FILE), "{").unwrap();
    assert!(matches!(run.tags(), Err(StoreError::Damaged { .. })));
    assert!(store.open(&run).is_ok(), "a run is more than its tags");
}

#[test]
fn values_that_are_added_later_are_read_with_the_run() {
    let (folder, store) = store_of_one();
    let run = store.entry("one").unwrap().unwrap();
    store.tag(&run, &words(&["cc=off", "nightly", "gpu=L40S", "cc=on", "no name=x"])).unwrap();
    assert_eq!(run.tags().unwrap(), words(&["nightly", "gpu=L40S", "cc=on", "no name=x"]));
    let expected = BTreeMap::from([("cc", "on"), ("gpu", "L40S")].map(owned));
    let tags = |manifest: &Manifest| manifest.tags.clone();
    assert_eq!(tags(store.find("one").unwrap().manifest.as_ref().unwrap()), expected);
    assert_eq!(tags(&store.open(&run).unwrap().data.manifest), expected);
    assert_eq!(tags(&store.read_requests(&run).unwrap().0), expected);
    let file = folder.path().join("one.parquet");
    ifm_store::write_single_file(&run, &file).unwrap();
    assert_eq!(tags(&ifm_store::read_single_file(&file).unwrap().unwrap().manifest), expected);
    // The manifest itself has the tags of the measurement: what is removed later is gone.
    store.rename(&run, Some("calm")).unwrap();
    store.tag(&run, &[]).unwrap();
    assert_eq!(tags(&store.open(&run).unwrap().data.manifest), BTreeMap::new());
}

#[test]
fn values_that_are_added_later_are_read_with_the_import() {
    let (_folder, store) = store_of_one();
    let mut part = Part::new(PartKind::Serving, Place::default());
    part.factors = Factors::default().with("cc", "off").with("model", "m");
    let mut row = Row::new(RowRole::Measured, Place::default());
    row.factors = Factors::default().with("cc", "off");
    part.rows = vec![row];
    let mut import = store.import("theirs").unwrap();
    import.sheets = vec![Sheet { parts: vec![part], ..Sheet::default() }];
    store.replace_import(&import).unwrap();
    store.tag_import("theirs", &words(&["cc=on", "web"])).unwrap();
    store.rename_import("theirs", Some("seed")).unwrap();
    let read = store.find_import("seed").unwrap();
    let part = &read.sheets[0].parts[0];
    assert_eq!((part.factors.get("cc"), part.rows[0].factors.get("cc")), (Some("on"), Some("on")));
    assert_eq!(part.factors.get("model"), Some("m"));
    store.tag_import("theirs", &[]).unwrap();
    assert_eq!(store.import("theirs").unwrap().sheets, import.sheets);
}

#[test]
fn a_name_is_the_one_of_the_document() {
    let (_folder, store) = store_of_one();
    let run = store.entry("one").unwrap().unwrap();
    store.rename(&run, Some(" calm ")).unwrap();
    assert_eq!(store.find("calm").unwrap().id, "one");
    store.rename(&run, None).unwrap();
    assert!(store.find("calm").is_err());
    store.rename_import("theirs", Some("seed")).unwrap();
    assert_eq!(store.find_import("seed").unwrap().id, "theirs");
    for bad in ["", "  ", "a\u{7}", &"x".repeat(NAME_LENGTH_MAX + 1)] {
        assert!(matches!(store.rename(&run, Some(bad)), Err(StoreError::BadName { .. })), "{bad}");
    }
    assert!(matches!(store.rename_import("one", None), Err(StoreError::NotThere { .. })));
}

#[test]
fn what_is_set_aside_comes_back_or_goes_for_good() {
    let (_folder, store) = store_of_one();
    for id in ["one", "theirs"] {
        store.set_aside(id).unwrap();
        assert!(matches!(store.set_aside(id), Err(StoreError::NotThere { .. })));
    }
    assert!(store.list().unwrap().is_empty() && store.import_ids().unwrap().is_empty());
    assert_eq!(store.set_aside_ids().unwrap(), words(&["theirs", "one"]));
    store.restore("one").unwrap();
    assert_eq!(store.open(&store.entry("one").unwrap().unwrap()).unwrap().data.requests.len(), 1);
    store.erase("theirs").unwrap();
    assert!(store.set_aside_ids().unwrap().is_empty());
    assert!(matches!(store.restore("theirs"), Err(StoreError::NotThere { .. })));
}

#[test]
fn a_live_run_is_not_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let writer = store.create(&manifest("live")).unwrap();
    assert!(matches!(store.set_aside("live"), Err(StoreError::Live { .. })));
    let run = store.entry("live").unwrap().unwrap();
    store.tag(&run, &words(&["now"])).unwrap();
    drop(writer);
    store.seal_abandoned(&run).unwrap();
    assert_eq!(run.tags().unwrap(), words(&["now"]), "sealing leaves tags where they are");
}

#[test]
fn an_id_is_no_path() {
    let (folder, store) = store_of_one();
    std::fs::create_dir(folder.path().join("outside")).unwrap();
    std::fs::write(folder.path().join("outside").join("manifest.json"), "{}").unwrap();
    for id in ["../outside", "..", ".", "", "/", "one/../one", "one/", "./one", ".removed"] {
        assert!(store.entry(id).unwrap().is_none(), "{id}");
        for refused in [store.set_aside(id), store.restore(id), store.erase(id)] {
            assert!(matches!(refused, Err(StoreError::NotThere { .. })), "{id}");
        }
        assert!(store.tag_import(id, &[]).is_err(), "{id}");
    }
}
