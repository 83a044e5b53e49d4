//! Plans: many cells from one file, servers and conditions among them, killed and resumed.

use crate::support::{Running, program, run, stderr, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for something that another process does.
const PATIENCE: Duration = Duration::from_secs(120);

/// An embedded engine as small as they come, two numbers of users, twice.
const SMALL: &str = r#"
[plan]
name = "small"
repeats = 2
order = "interleaved"
flags = ["--warmup", "0"]

[[server]]
name = "nano"
kind = "embedded"
model = "nano"
parameters = { max-batch = [1, 2] }

[[workload]]
workload = "16/4"

[[load]]
users = [1, 2]
requests = 4
"#;

fn write(folder: &Path, text: &str) {
    fs::write(folder.join("plan.toml"), text).unwrap();
}

fn plan(folder: &Path, words: &[&str]) -> Output {
    run(folder, &[&["plan"], words].concat())
}

/// What `plan show --json` says.
fn shown(folder: &Path, name: &str) -> Value {
    let output = plan(folder, &["show", name, "--json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
}

/// A field of every cell.
fn of_cells<'a>(document: &'a Value, field: &str) -> Vec<&'a Value> {
    document["cells"].as_array().unwrap().iter().map(|cell| &cell[field]).collect()
}

#[track_caller]
fn assert_all_done(document: &Value, cells: usize) {
    assert!(of_cells(document, "state").iter().all(|state| *state == "done"), "{document:#}");
    let runs: BTreeSet<&str> =
        of_cells(document, "run").iter().map(|run| run.as_str().unwrap()).collect();
    assert_eq!(runs.len(), cells, "each cell has a run of its own");
}

/// Waits for an event.
#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_plan_that_is_killed_goes_on_where_it_was_and_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), SMALL);
    let mut command = program(folder.path());
    command.args(["plan", "run", "plan.toml"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = Running(command.spawn().unwrap());
    let kept = folder.path().join("runs/.plans/small");
    let journal = || fs::read_to_string(kept.join("journal.jsonl")).unwrap_or_default();
    wait_until("a first cell is done", || journal().contains("\"event\":\"done\""));
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    // Its server ends although no process could ask it to.
    let facts: Value =
        serde_json::from_slice(&fs::read(kept.join("logs/facts-1.json")).unwrap()).unwrap();
    let server = format!("/proc/{}", facts["server"]["pid"]);
    wait_until("the server ends", || !Path::new(&server).exists());
    let done_before = journal().matches("\"event\":\"done\"").count();
    let resumed = plan(folder.path(), &["resume", "small"]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    let document = shown(folder.path(), "small");
    assert_all_done(&document, 8);
    assert_eq!(document["left"]["cells"], 0);
    let done = stderr(&resumed).matches(": done in ").count();
    assert_eq!(done_before + done, 8, "nothing is measured twice: {}", stderr(&resumed));
    let manifests = fs::read_dir(folder.path().join("runs")).unwrap().filter_map(|entry| {
        let text = fs::read(entry.unwrap().path().join("manifest.json")).ok()?;
        serde_json::from_slice::<Value>(&text).ok()
    });
    let complete: Vec<Value> = manifests.filter(|run| run["state"] == "complete").collect();
    assert_eq!(complete.len(), 8);
    for run in &complete {
        assert_eq!(run["facts"]["server"]["kind"], "inferometer");
        assert!(run["facts"]["server"]["start_up"]["first_token_s"].as_f64() > Some(0.0));
        assert!(run["tags"]["max-batch"].is_string(), "parameters are tags: {}", run["tags"]);
    }
    // What is done is not done again, also when the plan grows.
    write(folder.path(), &SMALL.replace("users = [1, 2]", "users = [1, 2, 3]"));
    let grown = plan(folder.path(), &["run", "plan.toml", "-o", "r.html"]);
    assert_eq!(stderr(&grown).matches(": done in ").count(), 4, "{}", stderr(&grown));
    let page = fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(page.contains("max-batch 2"), "the parameter distinguishes the curves");
}

#[test]
fn what_fails_costs_its_own_cells_and_is_named_in_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let broken = r#"
[[server]]
name = "broken"
kind = "command"
model = "m"
command = ["sh", "-c", "echo out of memory >&2; exit 3 # {port}"]
ready-within = "60s"
"#;
    let text =
        SMALL.replace("[1, 2]\n", "[1]\n").replace("repeats = 2", "repeats = 1\nretries = 1");
    write(folder.path(), &format!("{text}{broken}"));
    let output = plan(folder.path(), &["run", "plan.toml", "-o", "r.md"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let document = shown(folder.path(), "small");
    let cells = document["cells"].as_array().unwrap();
    for cell in cells {
        let is_broken = cell["factors"]["server"] == "broken";
        assert_eq!(cell["state"], if is_broken { "failed" } else { "done" }, "{cell}");
        if is_broken {
            let reason = cell["reason"].as_str().unwrap();
            assert!(reason.contains("exited with code 3"), "{reason}");
            assert!(reason.contains("out of memory"), "{reason}");
            assert_eq!(cell["tries"], 2, "it is tried again once");
        }
    }
    let report = fs::read_to_string(folder.path().join("r.md")).unwrap();
    assert!(report.contains("Cells without a result") && report.contains("out of memory"));
}

#[test]
fn resume_tries_failed_cells_again_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    // The server refuses its command line until a file is there, and counts its starts.
    let program = env!("CARGO_BIN_EXE_inferometer");
    let server = format!(
        r#"
[[server]]
name = "refusing"
kind = "command"
model = "nano"
command = ["sh", "-c", "echo x >> starts; [ -e fixed ] || {{ echo 'serve: error: unrecognized arguments: --bad' >&2; exit 2; }}; exec {program} serve --port {{port}}"]
folder = "."
ready-within = "60s"
"#
    );
    let head = SMALL.split("[[server]]").next().unwrap();
    let tail = &SMALL[SMALL.find("[[workload]]").or(SMALL.find("[[load]]")).unwrap()..];
    let head = head.replace("repeats = 2", "repeats = 1\nretries = 2");
    write(folder.path(), &format!("{head}{server}\n{tail}"));
    let starts = || {
        let text = fs::read_to_string(folder.path().join("starts")).unwrap_or_default();
        text.lines().count()
    };
    let output = plan(folder.path(), &["run", "plan.toml"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_eq!(starts(), 1, "a refused command line is not tried a second time");
    let said = stdout(&output);
    assert!(said.contains("2 cells failed: ") && said.contains("unrecognized arguments: --bad"));
    assert!(said.contains("inferometer plan resume small") && !said.contains("2 of 2"));
    let document = shown(folder.path(), "small");
    assert_eq!((&document["left"]["cells"], &document["left"]["failed"]), (&0.into(), &2.into()));
    // Not before the user asks for it, and then one round.
    plan(folder.path(), &["run", "plan.toml"]);
    plan(folder.path(), &["resume", "small", "--skip-failed"]);
    assert_eq!(starts(), 1);
    let again = plan(folder.path(), &["resume", "small"]);
    assert_eq!((again.status.code(), starts()), (Some(3), 2), "{}", stderr(&again));
    let said = stderr(&again);
    assert!(said.contains("trying 2 failed cells again; the last try: "), "{said}");
    fs::write(folder.path().join("fixed"), "").unwrap();
    let fixed = plan(folder.path(), &["resume", "small"]);
    assert!(fixed.status.success(), "{}", stderr(&fixed));
    assert_all_done(&shown(folder.path(), "small"), 2);
    let nothing = plan(folder.path(), &["resume", "small"]);
    assert!(nothing.status.success() && stdout(&nothing).contains("2 of 2 cells measured"));
}

#[test]
fn hooks_are_undone_and_observed_states_are_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let conditions = r#"
[[condition]]
name = "mode"
values = ["a", "b"]
before = ["sh", "-c", "echo {value} >>modes"]
after = ["sh", "-c", "echo undone >>modes"]

[[condition]]
name = "boot"
values = ["first", "second"]
read = ["cat", "boot"]
"#;
    let text = SMALL
        .replace("parameters = { max-batch = [1, 2] }", "")
        .replace("repeats = 2", "repeats = 1")
        .replace("users = [1, 2]", "users = [1]");
    write(folder.path(), &format!("{text}{conditions}"));
    let states = |document: &Value, boot: &str| -> Vec<String> {
        let cells = document["cells"].as_array().unwrap().iter();
        let of = cells.filter(|cell| cell["factors"]["boot"] == boot);
        of.map(|cell| cell["state"].as_str().unwrap().to_owned()).collect()
    };
    fs::write(folder.path().join("boot"), "first\n").unwrap();
    let output = plan(folder.path(), &["run", "plan.toml"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let document = shown(folder.path(), "small");
    assert_eq!(states(&document, "first"), ["done", "done"]);
    assert_eq!(states(&document, "second"), ["open", "open"]);
    let modes = fs::read_to_string(folder.path().join("modes")).unwrap();
    assert_eq!(modes, "a\nb\nundone\n");
    // The other state is another machine's, with a store of its own.
    fs::write(folder.path().join("boot"), "second\n").unwrap();
    let other = plan(folder.path(), &["run", "plan.toml", "--store", "other"]);
    assert_eq!(other.status.code(), Some(3), "{}", stderr(&other));
    for _ in 0..2 {
        let collected = plan(folder.path(), &["collect", "small", "other"]);
        assert!(collected.status.success(), "{}", stderr(&collected));
        assert_all_done(&shown(folder.path(), "small"), 4);
    }
}

#[test]
fn a_plan_is_checked_and_written_for_clusters_without_sending_anything() {
    let folder = tempfile::tempdir().unwrap();
    let listed = stdout(&plan(folder.path(), &["init"]));
    for kind in listed.lines().map(|line| line.split_whitespace().next().unwrap()) {
        let made = plan(folder.path(), &["init", kind]);
        assert!(made.status.success(), "{}", stderr(&made));
        let checked = plan(folder.path(), &["check", &format!("{kind}.toml")]);
        assert!(stdout(&checked).starts_with(&format!("plan {kind}: ")), "{}", stdout(&checked));
    }
    let cluster = "[kubernetes]\nimage = \"i\"\nvolume = \"v\"\n[slurm]\npartition = \"gpu\"\n";
    write(folder.path(), &format!("{SMALL}{cluster}"));
    let commands = stdout(&plan(folder.path(), &["check", "plan.toml", "--commands"]));
    assert_eq!(commands.matches("inferometer run --base-url URL").count(), 8, "{commands}");
    let yaml = stdout(&plan(folder.path(), &["run", "plan.toml", "--k8s", "-"]));
    assert!(yaml.contains("completions: 4"), "a pod for each start of a server: {yaml}");
    let written = plan(folder.path(), &["run", "plan.toml", "--slurm=write"]);
    assert!(stderr(&written).contains("an array of 4 tasks"), "{}", stderr(&written));
    let script = fs::read_to_string(folder.path().join("runs/.plans/small/slurm.sh")).unwrap();
    assert!(script.contains("--array=0-3") && script.contains("--partition=gpu"), "{script}");
    // A task measures its own cells alone.
    let task = plan(folder.path(), &["run", "plan.toml", "--task", "1"]);
    assert!(task.status.success(), "{}", stderr(&task));
    let document = shown(folder.path(), "small");
    for cell in document["cells"].as_array().unwrap() {
        assert_eq!(cell["state"], if cell["task"] == 1 { "done" } else { "open" }, "{cell}");
    }
}

#[test]
fn plans_that_cannot_be_meant_end_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    for (text, expect) in [
        ("[plan]\nname = 1", "line 2"),
        (&SMALL.replace("kind = \"embedded\"", "kind = \"vlm\""), "unknown kind of server"),
        (&SMALL.replace("users = [1, 2]", ""), "exactly one of users"),
        (&format!("{SMALL}[[exclude]]\nuser = 1\n"), "this plan has no factor user"),
    ] {
        write(folder.path(), text);
        let output = plan(folder.path(), &["run", "plan.toml"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(expect), "{expect}: {}", stderr(&output));
    }
    let unknown = plan(folder.path(), &["show", "nothing"]);
    assert!(stderr(&unknown).contains("no plan of this name was run"), "{}", stderr(&unknown));
}
