//! A process that is killed outright loses no request that it had carried to the kernel.

use crate::fixtures::{full_record, manifest};
use ifm_core::manifest::RunState;
use ifm_store::Store;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const FOLDER_VARIABLE: &str = "IFM_STORE_TEST_FOLDER";
const REQUESTS: u32 = 1_000;
const READY: &str = "the writer is ready to be killed";

/// The child of the test below: writes a run and waits for its end.
#[test]
#[ignore = "not a test: the process that the test below kills"]
fn child_that_waits_to_be_killed() {
    let folder = std::env::var_os(FOLDER_VARIABLE).unwrap();
    let mut writer = Store::at(folder).create(&manifest("killed")).unwrap();
    for seq in 0..REQUESTS {
        writer.append(&full_record(seq)).unwrap();
    }
    writer.tick(0).unwrap();
    println!("{READY}");
    // The parent keeps this pipe open until it has killed us.
    let _ = std::io::stdin().lines().next();
}

#[test]
fn a_killed_writer_loses_nothing_and_its_run_can_be_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "killed::child_that_waits_to_be_killed", "--nocapture"])
        .env(FOLDER_VARIABLE, folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    assert!(output.lines().any(|line| line.unwrap().contains(READY)));

    let store = Store::at(folder.path());
    let run = store.find("last").unwrap();
    assert!(run.is_live().unwrap(), "another process holds the lock");
    assert!(store.seal_abandoned(&run).is_err());

    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!run.is_live().unwrap());
    let loaded = store.open(&run).unwrap();
    assert_eq!(loaded.loss, None);
    let expect: Vec<_> = (0..REQUESTS).map(full_record).collect();
    assert_eq!(loaded.data.requests, expect);

    store.seal_abandoned(&run).unwrap();
    let sealed = store.open(&run).unwrap();
    assert_eq!(sealed.data.manifest.state, RunState::Partial);
    assert_eq!(sealed.data.requests, expect);
}
