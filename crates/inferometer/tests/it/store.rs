//! What is kept when a run ends in another way than planned.

use crate::support::{Running, assert_measured, paced, program, run, stderr, stdout};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Starts a long run that prints a line per request, and waits for the first few lines.
fn start(folder: &std::path::Path, url: &str, lines: usize) -> Running {
    let child = program(folder)
        .args(["run", url, "-c", "4", "-z", "60s", "-W", "16/4", "-w", "0", "--json=requests"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let mut output = BufReader::new(running.0.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..lines {
        output.read_line(&mut line).unwrap();
    }
    // The pipe must stay open and be read, or the run would wait for its reader.
    std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    running
}

fn signal(process: &Running, name: &str) {
    let status = Command::new("kill").args([name, &process.0.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn ctrl_c_keeps_what_was_finished_and_says_130() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let mut running = start(folder.path(), &format!("http://{}", server.address()), 8);
    signal(&running, "-INT");
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    let list = stdout(&run(folder.path(), &["runs", "list"]));
    assert!(list.contains("partial"), "{list}");
    let shown = run(folder.path(), &["runs", "show", "last"]);
    let shown = stdout(&shown);
    assert!(shown.contains("partial: stopped by the user"), "{shown}");
    assert!(shown.contains("requests   ") && !shown.contains(" 0 sent"), "{shown}");
}

#[test]
fn a_terminated_run_is_sealed_and_says_143() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let mut running = start(folder.path(), &format!("http://{}", server.address()), 8);
    signal(&running, "-TERM");
    assert_eq!(running.0.wait().unwrap().code(), Some(143));
    assert!(stdout(&run(folder.path(), &["runs", "list"])).contains("partial"));
}

#[test]
fn a_killed_run_opens_and_can_be_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let mut running = start(folder.path(), &format!("http://{}", server.address()), 40);
    let live = stdout(&run(folder.path(), &["runs", "list"]));
    assert!(live.contains("running"), "{live}");
    let shown = stdout(&run(folder.path(), &["runs", "show", "last"]));
    assert!(shown.contains("still running") && !shown.contains("not sealed"), "{shown}");
    let refused = run(folder.path(), &["runs", "seal", "last"]);
    assert_eq!(refused.status.code(), Some(74), "a live run is not to be sealed by others");
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    assert!(stdout(&run(folder.path(), &["runs", "list"])).contains("unsealed"));
    let shown = run(folder.path(), &["runs", "show", "last"]);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    assert!(stdout(&shown).contains("not sealed"), "{}", stdout(&shown));
    let sealed = run(folder.path(), &["runs", "seal", "last"]);
    assert_eq!(sealed.status.code(), Some(0), "{}", stderr(&sealed));
    let text = stdout(&sealed);
    let words: Vec<&str> = text.split_whitespace().collect();
    let requests: u32 = words[words.len() - 2].parse().unwrap();
    // What was printed more than 50 ms before the kill is in the journal.
    assert!(requests >= 20, "{text}");
    assert!(stdout(&run(folder.path(), &["runs", "list"])).contains("partial"));
}

#[test]
fn a_stored_run_is_written_again_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let first = run(folder.path(), &["run", &url, "-n", "5", "-W", "16/4", "--json"]);
    assert_measured(&first);
    let again = run(folder.path(), &["report", "last", "--format", "json"]);
    assert_eq!(stdout(&again), stdout(&first), "a stored run gives the same numbers");
    for format in ["text", "vllm", "md"] {
        let output = run(folder.path(), &["report", "last", "--format", format]);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).len() > 200, "{format}");
    }
    let lines = run(folder.path(), &["report", "last", "--format", "requests"]);
    assert_eq!(stdout(&lines).lines().count(), 6, "5 measured and 1 to warm up");
    let removed = run(folder.path(), &["runs", "rm", "last"]);
    assert_eq!(removed.status.code(), Some(0), "{}", stderr(&removed));
    let list = || stdout(&run(folder.path(), &["runs", "list"]));
    assert!(list().is_empty());
    let bin = stdout(&run(folder.path(), &["runs", "restore"]));
    let id = bin.trim();
    assert_eq!(run(folder.path(), &["runs", "restore", id]).status.code(), Some(0));
    assert!(list().contains(id), "{}", list());
    let deleted = run(folder.path(), &["runs", "rm", "--permanent", id]);
    assert_eq!(stdout(&deleted), format!("deleted {id}\n"));
    assert!(list().is_empty());
    assert!(stdout(&run(folder.path(), &["runs", "restore"])).is_empty(), "the bin is empty");
}

#[test]
fn rerun_repeats_a_run_with_flags_changed() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let words = ["run", &url, "-n", "5", "-W", "16/4", "--name", "first", "--json"];
    assert_measured(&run(folder.path(), &words));
    let again = run(folder.path(), &["rerun", "first", "-c", "2", "--name", "second"]);
    assert_measured(&again);
    assert!(stderr(&again).contains("--requests=5"), "{}", stderr(&again));
    let list = stdout(&run(folder.path(), &["runs", "list"]));
    let rows: Vec<&str> = list.lines().filter(|line| line.starts_with("20")).collect();
    assert!(rows.len() == 2 && rows[0].contains("second"), "newest first: {list}");
    assert!(list.contains("2 users") && list.contains("1 user"), "{list}");
    assert!(rows.iter().all(|row| row.contains(" tok/s output")), "{list}");
}
