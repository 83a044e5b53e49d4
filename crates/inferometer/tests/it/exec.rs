//! `exec`: commands that end well, badly, not at all, or print something unexpected.

use crate::support::{Running, program, run, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Bytes that a process of these tests fills.
const FILLED: usize = 96 << 20;

/// Measures a command of the shell; the document, if it was kept.
fn exec(folder: &Path, flags: &[&str], script: &str) -> (Output, Value) {
    let words: Vec<&str> = ["exec", "--json"]
        .iter()
        .chain(flags)
        .chain(&["--", "sh", "-c", script])
        .copied()
        .collect();
    let output = run(folder, &words);
    let document = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output, document)
}

fn rows(document: &Value) -> &[Value] {
    document["import"]["sheets"][0]["parts"][0]["rows"].as_array().map_or(&[], Vec::as_slice)
}

/// The figure of a row.
fn figure(row: &Value, quantity: &str) -> Option<f64> {
    let figures = row["figures"].as_array()?;
    let is =
        |figure: &&Value| figure["quantity"] == quantity || figure["quantity"]["other"] == quantity;
    figures.iter().find(is)?["value"].as_f64()
}

fn remarks(document: &Value) -> String {
    document["import"]["sheets"][0]["remarks"].to_string()
}

#[test]
fn output_passes_through_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let script = r"printf 'a\000\377\r\n\033[1mb'; printf 'c\377' >&2";
    let words = ["exec", "--quiet", "--", "sh", "-c", script];
    let output = run(folder.path(), &words);
    assert_eq!(output.stdout, b"a\x00\xff\r\n\x1b[1mb");
    assert_eq!((output.stderr, output.status.code()), (b"c\xff".to_vec(), Some(0)));
    // A flood, of which the record keeps the end.
    let (output, document) = exec(folder.path(), &[], "seq 200000; printf 'last'");
    let row = &rows(&document)[0];
    assert_eq!(row["unknown"]["output"]["lines"], 200_001);
    let text = row["text"].as_str().unwrap();
    assert!(text.ends_with("200000\nlast") && text.lines().count() == 30, "{text}");
    assert!(stderr(&output).contains("\n199999\n"), "what it prints goes to standard error");
    // A reader that goes away ends the reading, not the command.
    let mut child = program(folder.path())
        .args(["exec", "--quiet", "--name", "piped", "--", "sh", "-c", "seq 300000; exit 0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let shown = run(folder.path(), &["report", "piped", "--json"]);
    assert!(stdout(&shown).contains("300000"), "{}", stderr(&shown));
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, script, code, ended) in [
        (&[][..], "exit 0", 0, None),
        (&[], "exit 7", 7, Some("exit code 7")),
        (&["--repeat", "3"], "test -e once || { touch once; exit 9; }", 9, Some("exit code 9")),
        (&[], "kill -SEGV $$", 139, Some("signal 11")),
        (&["--warmup", "1"], "exit 3", 3, Some("exit code 3")),
        (&["--timeout", "10ms"], "sleep 60", 124, Some("its time was over")),
    ] {
        let (output, document) = exec(folder.path(), flags, script);
        assert_eq!(output.status.code(), Some(code), "{script}: {}", stderr(&output));
        assert_eq!(document["exit_code"], code, "{script}");
        let row = &rows(&document)[0];
        assert_eq!(row["factors"]["ended"].as_str(), ended, "{script}");
        assert_eq!(figure(row, "duration").is_some(), code == 0, "{script}: {row}");
    }
    for (program, code, word) in [("./none", 127, "No such file"), ("/", 126, "cannot be started")]
    {
        let output = run(folder.path(), &["exec", program]);
        assert_eq!(output.status.code(), Some(code));
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
    assert_eq!(run(folder.path(), &["exec"]).status.code(), Some(2));
    let bad = run(folder.path(), &["exec", "--steps", "(", "--", "true"]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(stderr(&bad).contains("--steps"), "{}", stderr(&bad));
}

#[test]
fn lines_make_steps_tokens_and_losses() {
    let folder = tempfile::tempdir().unwrap();
    // Each step waits for its end: a pause keeps the lines apart on any host.
    let script = "for n in 1 2 3 4; do printf '\\377 step %s loss %s tokens=64\\n' $n $((9 - n)); \
                  sleep 0.05; done";
    let flags = ["--steps", r"step (\d+)", "--tokens", r"tokens=(\d+)", "--loss", r"loss (\S+)"];
    let (_, document) = exec(folder.path(), &flags, script);
    let row = &rows(&document)[0];
    let counted = ["steps", "total_tokens", "first loss", "loss"].map(|name| figure(row, name));
    assert_eq!(counted, [Some(4.0), Some(256.0), Some(8.0), Some(5.0)]);
    let [rate, tokens, time] =
        ["step_rate", "total_rate", "rated time"].map(|name| figure(row, name).unwrap());
    // Three steps lie behind the first line.
    assert!((rate * time - 3.0).abs() < 1e-9 && (tokens / rate - 64.0).abs() < 1e-9);
    let marks = &row["unknown"]["progress"]["steps"];
    assert_eq!(*marks, serde_json::json!([1.0, 2.0, 3.0, 4.0]));
    // The same as JSON lines, and what is looked for and not there.
    let script = r#"echo '{"step": 5, "t": {"loss": 2.5}}'; echo '{"step": 6}'; echo '{'"#;
    let (_, document) = exec(folder.path(), &["--json-lines", "step=.step,loss=.t.loss"], script);
    assert_eq!(figure(&rows(&document)[0], "loss"), Some(2.5));
    let (_, document) = exec(folder.path(), &["--steps", "step", "--loss", "l=(.)"], "echo none");
    assert!(remarks(&document).contains("no line of the output contained step"), "{document}");
    assert_eq!(figure(&rows(&document)[0], "step_rate"), None);
}

#[test]
#[ignore = "not a test: a process that fills memory, for the tests of exec"]
fn fills_memory() {
    if std::env::var_os("IFM_FILL").is_some() {
        let filled = vec![1_u8; FILLED];
        println!("filled {}", filled.iter().filter(|byte| **byte == 1).count());
    }
}

#[test]
fn memory_is_that_of_all_its_processes() {
    let folder = tempfile::tempdir().unwrap();
    let own = std::env::current_exe().unwrap();
    let output = program(folder.path())
        .args(["exec", "--json", "--"])
        .arg(own)
        .args(["--ignored", "--exact", "exec::fills_memory", "--nocapture"])
        .env("IFM_FILL", "1")
        .output()
        .unwrap();
    assert!(stderr(&output).contains(&format!("filled {FILLED}")), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &rows(&document)[0];
    let bytes = figure(row, "host_memory").unwrap();
    assert!((FILLED as f64..2.0 * FILLED as f64).contains(&bytes), "{bytes}");
    assert!(figure(row, "processor time, user").unwrap() > 0.0, "{row}");
    assert_eq!(figure(row, "memory"), None, "nothing measured GPUs");
}

/// Starts a command that waits, and says when it does.
fn waiting(folder: &Path, flags: &[&str], script: &str) -> (Running, BufReader<impl Read>) {
    let mut child = program(folder)
        .args(["exec", "--name", "stopped"])
        .args(flags)
        .args(["--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("step 1"), "{line}");
    (Running(child), lines)
}

fn signal(child: &Running, name: &str) {
    let id = child.0.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

#[test]
fn a_signal_ends_the_whole_group_and_what_was_measured_is_kept() {
    for (name, code, word) in [("-INT", 130, "Ctrl-C"), ("-TERM", 143, "SIGTERM")] {
        let folder = tempfile::tempdir().unwrap();
        // A child of its own, and one in a session of its own, which no signal of a group reaches.
        let script =
            "sleep 1000 & setsid sleep 1000 & echo $! > pid; echo step 1; echo step 2; wait";
        let (mut child, mut lines) = waiting(folder.path(), &["--steps", "step (.)"], script);
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        signal(&child, name);
        assert_eq!(child.0.wait().unwrap().code(), Some(code));
        // Both ends of the pipe are gone: nothing of the command lives.
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
        let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
        let shown = stdout(&run(folder.path(), &["report", "stopped", "--format", "md"]));
        assert!(shown.contains(word), "{shown}");
    }
}

#[test]
fn a_command_that_does_not_listen_is_killed_by_the_second_signal() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' INT; echo step 1; while :; do sleep 1000; done";
    let (mut child, lines) = waiting(folder.path(), &[], script);
    signal(&child, "-INT");
    // Two signals of a kind that come at once are one.
    let told = BufReader::new(child.0.stderr.take().unwrap()).lines();
    assert!(told.map_while(Result::ok).any(|line| line.contains("again to kill")));
    signal(&child, "-INT");
    assert_eq!(child.0.wait().unwrap().code(), Some(130));
    drop(lines);
}

#[test]
fn a_command_ends_with_us_even_if_we_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let script = "setsid sleep 1000 & echo $! > pid; echo step 1; wait";
    let (mut child, _lines) = waiting(folder.path(), &[], script);
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
    signal(&child, "-KILL");
    child.0.wait().unwrap();
    let lives = || {
        let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    // The guard takes its time; this loop never ends if the command is not killed.
    while lives() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn repeats_are_compared_ranked_and_gated() {
    let folder = tempfile::tempdir().unwrap();
    let four = ["--repeat", "4"];
    for (name, pause) in [("fast", "0.01"), ("slow", "0.4")] {
        let flags = [&four[..], &["--name", name, "--tag", "model=tiny"]].concat();
        let (output, document) = exec(folder.path(), &flags, &format!("sleep {pause}"));
        assert_eq!((output.status.code(), rows(&document).len()), (Some(0), 4));
    }
    let compared = run(folder.path(), &["compare", "fast", "slow", "--metric", "time", "--json"]);
    let found: Value = serde_json::from_slice(&compared.stdout)
        .unwrap_or_else(|_| panic!("{}", stderr(&compared)));
    let row = &found["pairs"][0]["rows"][0];
    assert_eq!((row["metric"].as_str(), row["unit"].as_str()), (Some("time"), Some("s")), "{row}");
    assert!(row["a"]["runs"] == 4 && row["ratio"]["low"].is_number(), "{row}");
    let ranked = run(folder.path(), &["rank", "slow", "fast", "--json"]);
    let found: Value =
        serde_json::from_slice(&ranked.stdout).unwrap_or_else(|_| panic!("{}", stderr(&ranked)));
    assert_eq!(found["metric"], "time", "{found}");
    // Each sleeps at least as long as requested.
    let gate = |limit: &str| {
        run(folder.path(), &["gate", "slow", "--max", &format!("time={limit}")]).status.code()
    };
    assert_eq!((gate("100ms"), gate("1000s")), (Some(1), Some(0)));
    let audited = run(folder.path(), &["audit", "fast"]);
    assert_eq!(audited.status.code(), Some(0), "{}", stdout(&audited));
    let page = stdout(&run(folder.path(), &["report", "fast", "slow", "--format", "md"]));
    assert!(
        page.contains("## Commands")
            && page.contains("8 runs of commands")
            && page.contains("| fast")
            && page.contains("tiny"),
        "{page}"
    );
}
