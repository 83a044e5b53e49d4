//! The process that undoes what another has set up: as the program starts it, and what it outlives.

use super::support::program;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

#[test]
fn it_outlives_signals_and_undoes_what_is_still_held() {
    let folder = tempfile::tempdir().unwrap();
    let mut guard = program(folder.path())
        .arg("guard")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(guard.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "guarding");
    let mut stdin = guard.stdin.take().unwrap();
    let id = guard.id().to_string();
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        let told = Command::new("kill").args(["-s", signal, &id]).status().unwrap();
        assert!(told.success());
    }
    for (id, name) in [(1, "held"), (2, "released"), (3, "held too")] {
        let undo = serde_json::json!({"undo": "command", "words": ["touch", name]});
        writeln!(stdin, "{}", serde_json::json!({"hold": {"id": id, "undo": undo}})).unwrap();
    }
    write!(stdin, "{{\"release\": {{\"id\": 2}}}}\n{{\"release\": {{\"id\":").unwrap();
    drop(stdin);
    assert!(guard.wait().unwrap().success());
    let exists = |name: &str| folder.path().join(name).exists();
    assert!(exists("held") && exists("held too") && !exists("released"));
}
