//! Reading a run while it is written.

use crate::fixtures::{full_record, manifest};
use ifm_store::{JOURNAL_FILE, RunFollower, Store};
use std::io::Write;

#[test]
fn a_follower_sees_what_is_added_and_outlives_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&manifest("live")).unwrap();
    let run = store.entry("live").unwrap().unwrap();
    let mut follower = RunFollower::open(&run).unwrap();
    assert!(follower.next_requests(10).unwrap().is_empty());
    for seq in 0..5 {
        writer.append(&full_record(seq)).unwrap();
    }
    writer.tick(0).unwrap();
    let seqs = |found: Vec<ifm_core::RequestRecord>| -> Vec<u32> {
        found.iter().map(|record| record.seq).collect()
    };
    assert_eq!(seqs(follower.next_requests(3).unwrap()), [0, 1, 2]);
    assert_eq!(seqs(follower.next_requests(3).unwrap()), [3, 4]);
    assert!(run.is_live().unwrap(), "the writer keeps its lock");
    writer.append(&full_record(5)).unwrap();
    writer.seal(manifest("live"), &[]).unwrap();
    assert_eq!(seqs(follower.next_requests(3).unwrap()), [5]);
    assert!(RunFollower::open(&run).is_err(), "a sealed run has no journal");
}

#[test]
fn a_torn_end_is_waited_for_and_damage_is_stepped_over() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&manifest("live")).unwrap();
    let run = store.entry("live").unwrap().unwrap();
    let path = run.path.join(JOURNAL_FILE);
    let size = || std::fs::metadata(&path).unwrap().len() as usize;
    let mut ends = vec![size()];
    for seq in 0..3 {
        writer.append(&full_record(seq)).unwrap();
        writer.tick(0).unwrap();
        ends.push(size());
    }
    drop(writer);
    let mut whole = std::fs::read(&path).unwrap();
    // A byte of the second request changes.
    whole[ends[1] + 20] ^= 0xff;
    for cut in [0, ends[0] - 1, ends[0] + 3, ends[1] + 9, ends[2] - 1, ends[2], ends[3] - 1] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let mut follower = RunFollower::open(&run).unwrap();
        let before = follower.next_requests(10).unwrap().len();
        assert!(before <= 1, "{cut}");
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&whole[cut..]).unwrap();
        let after = follower.next_requests(10).unwrap();
        assert_eq!(before + after.len(), 2, "{cut}");
        assert_eq!(after.last(), Some(&full_record(2)), "{cut}");
    }
    std::fs::write(&path, "not a journal of ours, but long").unwrap();
    assert!(RunFollower::open(&run).unwrap().next_requests(1).is_err());
}
