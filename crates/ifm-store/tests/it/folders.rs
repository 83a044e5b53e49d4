//! Listing, finding, sealing what was abandoned, changing and removing.

use crate::fixtures::{IDLE_TIMEOUT, full_record, manifest, records};
use ifm_core::manifest::RunState;
use ifm_store::{
    FindError, JOURNAL_FILE, MANIFEST_FILE, REQUESTS_FILE, Store, StoreError, new_run_id,
};
use std::path::Path;

/// Makes a sealed run with one request.
fn sealed(store: &Store, id: &str, name: Option<&str>) {
    let mut head = manifest(id);
    head.name = name.map(str::to_string);
    let mut writer = store.create(&head).unwrap();
    writer.append(&full_record(0)).unwrap();
    writer.seal(head, &[]).unwrap();
}

#[test]
fn a_store_that_does_not_exist_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("none"));
    assert!(store.list().unwrap().is_empty());
    assert!(matches!(store.find("last"), Err(FindError::NotFound { .. })));
    assert!(!store.root().exists());
}

#[test]
fn the_list_is_newest_first_and_survives_broken_folders() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let ids = [1, 2, 3, 4].map(|day| new_run_id(day * 86_400_000_000_000, 0xabcd));
    for id in &ids {
        sealed(&store, id, None);
    }
    std::fs::write(folder.path().join(&ids[1]).join(MANIFEST_FILE), "{ half").unwrap();
    std::fs::remove_file(folder.path().join(&ids[2]).join(MANIFEST_FILE)).unwrap();
    std::fs::create_dir(folder.path().join(".hidden")).unwrap();
    std::fs::write(folder.path().join("a file"), "").unwrap();

    let runs = store.list().unwrap();
    let found: Vec<(&str, bool)> = runs.iter().map(|run| (run.id.as_str(), run.sealed)).collect();
    let expect = [(&*ids[3], true), (&*ids[2], false), (&*ids[1], false), (&*ids[0], true)];
    assert_eq!(found, expect);
    let reason = runs[2].manifest.as_ref().unwrap_err().to_string();
    assert!(reason.contains("damaged: not JSON"), "{reason}");
    assert!(runs[1].manifest.is_err());
    assert!(store.open(&runs[2]).is_err());
    store.remove(&runs[2]).unwrap();
    assert_eq!(store.list().unwrap().len(), 3);
}

#[test]
fn runs_are_found_by_id_name_part_path_and_last() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    sealed(&store, "20261120-121427-7f3a", Some("base"));
    sealed(&store, "20261120-121500-7fbb", Some("base"));
    sealed(&store, "20261121-090000-1234", Some("20261120"));
    let id_of = |key: &str| store.find(key).map(|run| run.id);
    let check = |key: &str, expect: &str| assert_eq!(id_of(key).unwrap(), expect, "{key}");
    check("last", "20261121-090000-1234");
    check("20261120-121427-7f3a", "20261120-121427-7f3a");
    check("7f3a", "20261120-121427-7f3a");
    check("7fb", "20261120-121500-7fbb");
    check("20261121", "20261121-090000-1234");
    // A name goes before the start of an id.
    check("20261120", "20261121-090000-1234");
    let path = folder.path().join("20261120-121427-7f3a");
    check(path.to_str().unwrap(), "20261120-121427-7f3a");
    check(path.join(MANIFEST_FILE).to_str().unwrap(), "20261120-121427-7f3a");
    check(path.join("../20261121-090000-1234/.").to_str().unwrap(), "20261121-090000-1234");

    for (key, newest_first) in [
        ("base", vec!["20261120-121500-7fbb", "20261120-121427-7f3a"]),
        ("7f", vec!["20261120-121500-7fbb", "20261120-121427-7f3a"]),
    ] {
        match store.find(key) {
            Err(FindError::Ambiguous { candidates, .. }) => assert_eq!(candidates, newest_first),
            other => panic!("{key}: {other:?}"),
        }
    }
    for key in ["", "7f3a0", "nowhere", "./nowhere", "/"] {
        assert!(matches!(store.find(key), Err(FindError::NotFound { .. })), "{key}");
    }
}

#[test]
fn ids_are_checked_and_taken_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("runs"));
    for id in ["", "..", "../escape", "a/b"] {
        assert!(matches!(store.create(&manifest(id)), Err(StoreError::BadRunId { .. })), "{id}");
    }
    let first = store.create(&manifest("one")).unwrap();
    assert!(matches!(store.create(&manifest("one")), Err(StoreError::RunExists { .. })));
    drop(first);
    assert!(matches!(store.create(&manifest("one")), Err(StoreError::RunExists { .. })));
    assert_eq!(store.list().unwrap().len(), 1);
    assert_eq!(std::fs::read_dir(store.root()).unwrap().count(), 1);
}

#[test]
fn an_abandoned_run_is_sealed_as_partial_but_a_live_one_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&manifest("one")).unwrap();
    for record in records() {
        writer.append(&record).unwrap();
    }
    let run = store.find("one").unwrap();
    assert!(run.is_live().unwrap());
    assert!(matches!(store.seal_abandoned(&run), Err(StoreError::Live { .. })));
    assert!(matches!(store.remove(&run), Err(StoreError::Live { .. })));
    assert!(matches!(store.change_manifest(&run, |_| {}), Err(StoreError::NotSealed { .. })));

    drop(writer);
    assert!(!run.is_live().unwrap());
    let sealed = store.seal_abandoned(&run).unwrap();
    assert_eq!(sealed.manifest.state, RunState::Partial);
    assert!(sealed.manifest.stop_reason.unwrap().contains("without sealing"));
    assert!(matches!(store.seal_abandoned(&run), Err(StoreError::AlreadySealed { .. })));
    assert_eq!(store.open(&run).unwrap().data.requests, records());
}

/// A crash between naming the final files and removing the journal leaves both.
#[test]
fn a_journal_left_next_to_a_sealed_run_is_not_read_but_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&manifest("one")).unwrap();
    writer.append(&full_record(0)).unwrap();
    writer.tick(0).unwrap();
    let journal = writer.path().join(JOURNAL_FILE);
    let content = std::fs::read(&journal).unwrap();
    writer.seal(manifest("one"), &[]).unwrap();
    std::fs::write(&journal, &content[..content.len() - 1]).unwrap();
    let run = store.find("one").unwrap();
    assert!(run.sealed);
    assert_eq!(store.open(&run).unwrap().loss, None);
    assert!(matches!(store.seal_abandoned(&run), Err(StoreError::AlreadySealed { .. })));
    assert!(!journal.exists());
    assert_eq!(store.open(&run).unwrap().data.requests, [full_record(0)]);
}

/// A crash after the final file was in place, before the manifest named it: the journal counts.
#[test]
fn a_final_file_that_the_manifest_does_not_name_is_built_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&manifest("one")).unwrap();
    writer.append(&full_record(0)).unwrap();
    std::fs::write(writer.path().join(REQUESTS_FILE), "half of a file").unwrap();
    drop(writer);
    let run = store.find("one").unwrap();
    assert_eq!(store.open(&run).unwrap().data.requests, [full_record(0)]);
    store.seal_abandoned(&run).unwrap();
    assert_eq!(store.open(&run).unwrap().data.requests, [full_record(0)]);
}

#[test]
fn changing_a_manifest_keeps_what_a_newer_build_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut head = manifest("one");
    head.extra.insert("future".to_string(), serde_json::json!({ "field": [1, 2] }));
    let mut writer = store.create(&head).unwrap();
    let mut failed = full_record(0);
    failed.outcome = IDLE_TIMEOUT;
    writer.append(&failed).unwrap();
    writer.seal(head, &[]).unwrap();
    let run = store.find("one").unwrap();
    store.change_manifest(&run, |manifest| manifest.name = Some("renamed".to_string())).unwrap();
    let loaded = store.open(&store.find("renamed").unwrap()).unwrap();
    assert_eq!(loaded.data.manifest.extra["future"]["field"][1], 2);
    assert_eq!(loaded.data.requests, [failed]);
}

#[test]
fn removing_takes_the_folder_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    sealed(&store, "one", None);
    sealed(&store, "two", None);
    store.remove(&store.find("one").unwrap()).unwrap();
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|item| item.unwrap()).collect();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].file_name(), "two");

    let mut elsewhere = store.find("two").unwrap();
    let innocent = folder.path().join("two").join("innocent");
    std::fs::create_dir(&innocent).unwrap();
    elsewhere.path = innocent.clone();
    assert!(store.remove(&elsewhere).is_err());
    assert!(Path::new(&innocent).exists());
}

#[test]
fn texts_of_answers_are_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    for keeps in [true, false] {
        let mut head = manifest(if keeps { "texts" } else { "none" });
        head.spec.keep_text = keeps;
        let mut writer = store.create(&head).unwrap();
        let path = writer.path().to_path_buf();
        writer.append(&full_record(0)).unwrap();
        let mode =
            |name: &str| std::fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
        let is_private = |name: &str| mode(name) == 0o600;
        assert_eq!([JOURNAL_FILE, MANIFEST_FILE].map(is_private), [keeps; 2]);
        writer.seal(head, &[]).unwrap();
        assert_eq!([REQUESTS_FILE, MANIFEST_FILE].map(is_private), [keeps; 2]);
    }
}
