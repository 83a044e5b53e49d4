//! Engines that do what no engine should, as a few lines of shell: each is a row with one clear
//! sentence, and the rest is measured.

use super::case::{Shape, Test};
use super::course::{Ask, Done, measure};
use super::{ADAPTERS, Limits, Setup, Which};
use crate::interrupts::Interrupts;
use std::path::Path;
use std::time::Duration;

/// Shell functions shared by all fake engines: be ready, accept an order, answer it correctly.
const KNOWN: &str = r#"
ready() { read -r load; echo '{"is":"ready","engine":"stand-in"}'; }
order() { read -r order || exit 0; seed=${order##*:}; seed=${seed%\}}; }
ran() { echo '{"is":"ran","seed":'$seed',"prompt_ns":1000,"step_ns":['$1']}'; }
"#;

fn setup() -> Setup {
    Setup {
        model: "a".to_owned(),
        batch_tokens: 64,
        pass_tokens: 64,
        kv: ("auto".to_owned(), "auto".to_owned()),
        sequences: 1,
        context: 64,
        ..Setup::default()
    }
}

fn measured(which: Which, tests: usize, repeats: u32) -> Vec<Done> {
    // Longer than any host takes.
    measured_within(Duration::from_secs(60), which, tests, repeats)
}

fn measured_within(limit: Duration, which: Which, tests: usize, repeats: u32) -> Vec<Done> {
    let test = Test { shape: Shape::Bench, prompt: 8, generated: 2, depth: 0 };
    let ask = Ask {
        which,
        setups: vec![setup()],
        tests: vec![test; tests],
        repeats,
        warms_up: false,
        in_rounds: false,
        replaces: false,
        pause: Duration::ZERO,
        limits: Limits {
            start: Duration::from_secs(60),
            repeat: limit,
            grace: Duration::from_millis(500),
            guard: None,
            interrupts: Interrupts::default(),
        },
    };
    measure(&ask, |_, _, _| ())
}

fn script(text: &str) -> Which {
    Which::Command(vec!["sh".to_owned(), "-c".to_owned(), format!("{KNOWN}{text}")])
}

fn shell(text: &str, tests: usize, repeats: u32) -> Vec<Done> {
    measured(script(text), tests, repeats)
}

#[test]
fn what_an_engine_does_wrong_is_a_sentence() {
    for (script, said) in [
        ("echo 'no licence' >&2; exit 3", "the engine ended (exit status: 3); it said: no licence"),
        (
            "read -r load; echo hello",
            "the engine printed \"hello\", which is not a line of the protocol",
        ),
        (
            "read -r load; kill -9 $$",
            "the engine was killed, as the kernel does when memory runs out",
        ),
        ("ready; order; ran 1", "the engine reported 1 step where 2 were requested"),
        ("ready; order; ran 1,0", "the engine reported a time of 0 ns"),
        (
            "ready; order; ran 1,9000000000",
            "the engine reported 9000001001 ns for a run that took ",
        ),
        ("ready; order; ran 1,18446744073709551615", "the engine reported 18446744073709551615 ns"),
        ("ready; order; seed=7; ran 1,1", "the engine answered run 7 instead of run 1"),
        (
            r#"ready; order; echo '{"is":"cannot","why":"late"}'"#,
            "the engine answered no run instead of run 1",
        ),
        (
            r#"ready; order; echo '{"is":"ran","seed":1,"prompt_ns":9,"step_ns":[1,1],"cached_tokens":8}'"#,
            "8 prompt tokens came from a cache that can contain at most 0",
        ),
        (
            "ready; order; head -c 20000000 /dev/zero",
            "the engine printed a line of more than 16777216 bytes",
        ),
        ("ready; order; exec >&-; exec sleep 60", "the engine closed its output, and runs on"),
    ] {
        let all = shell(script, 1, 1);
        let why = all[0].trouble.as_deref().unwrap_or_default();
        assert!(why.starts_with(said) && all[0].repeats.is_empty(), "{script}: {why}");
    }
}

#[test]
fn an_engine_that_is_not_there_is_looked_for_once() {
    let all = measured(Which::Command(vec!["/no/such/engine".to_owned()]), 2, 1);
    for done in &all {
        let why = done.trouble.as_deref().unwrap_or_default();
        assert!(why.starts_with("/no/such/engine cannot be started: "), "{why}");
    }
    assert_eq!(all.len(), 2);
}

#[test]
fn a_python_without_the_package_is_named() {
    for (name, source) in ADAPTERS {
        // Without the packages installed next to the interpreter.
        let words = ["python3", "-I", "-S", "-c", source].map(str::to_owned);
        let all = measured(Which::Command(words.to_vec()), 1, 1);
        let why = all[0].trouble.as_deref().unwrap_or_default();
        assert!(why.starts_with(&format!("{name} is not installed for /")), "{why}");
    }
}

#[test]
fn repeats_before_a_crash_are_kept_and_the_engine_is_started_anew() {
    let all = shell("ready; order; ran 1,1; order; ran 1,1; order; exit 9", 2, 3);
    for done in &all {
        assert_eq!((done.repeats.len(), done.about.is_some()), (2, true));
        assert_eq!(done.trouble.as_deref(), Some("the engine ended (exit status: 9)"));
    }
    assert_eq!(all.len(), 2);
}

#[test]
fn an_engine_that_cannot_stays() {
    // It counts what it is asked: one process answers both.
    let script = r#"ready; n=0; while order; do n=$((n+1))
        echo '{"is":"cannot","seed":'$seed',"why":"too little memory, '$n'"}'; done"#;
    let all = shell(script, 2, 1);
    let whys: Vec<&str> = all.iter().filter_map(|done| done.trouble.as_deref()).collect();
    assert_eq!(whys, ["too little memory, 1", "too little memory, 2"]);
}

#[test]
fn a_second_answer_is_not_taken_for_the_next_case() {
    // The third test has a new engine.
    let all = shell("ready; while order; do ran 1,1; ran 2,2; done", 3, 1);
    let sums: Vec<Option<u64>> =
        all.iter().map(|done| done.repeats.first().and_then(|one| one.steps_ns)).collect();
    assert_eq!(sums, [Some(2), None, Some(2)]);
    let why = all[1].trouble.as_deref().unwrap_or_default();
    let early = "before it was asked";
    assert!(why.contains(early) || why == "the engine answered run 1 instead of run 2", "{why}");
}

#[test]
fn what_hangs_is_killed_with_its_children() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("child");
    // Neither the end of its input nor a request to end moves it or its child.
    let text = format!(
        "trap '' TERM; sleep 600 & echo $! > '{}'; ready; while :; do wait; done",
        path.display()
    );
    let all = measured_within(Duration::from_millis(100), script(&text), 1, 1);
    assert_eq!(all[0].trouble.as_deref(), Some("the engine did not answer within 0.1 s"));
    let child = std::fs::read_to_string(path).expect("it was started");
    let child = ifm_sys::process::Process::of(child.trim().parse().expect("a number"));
    assert!(!child.is_some_and(|process| process.runs));
}

/// Every example of the page is a line of the protocol, and its example in Python speaks it.
#[test]
fn the_page_is_in_step() {
    use super::protocol::{Answer, Order};
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/engine-protocol.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let blocks = |language: &str| -> Vec<String> {
        let opening = format!("```{language}\n");
        let opened = page.split(&opening).skip(1);
        opened.filter_map(|rest| Some(rest.split_once("\n```")?.0.to_owned())).collect()
    };
    let lines: Vec<String> =
        blocks("json").iter().flat_map(|block| block.lines().map(str::to_owned)).collect();
    assert!(lines.len() >= 5, "{lines:?}");
    for line in &lines {
        // What is written again is the same: no field is unknown, none is left out.
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let again = match value.get("do") {
            Some(_) => serde_json::to_value(serde_json::from_str::<Order>(line).expect(line)),
            None => serde_json::to_value(serde_json::from_str::<Answer>(line).expect(line)),
        };
        assert_eq!(again.expect("JSON"), value, "{line}");
    }
    let source = blocks("python").concat();
    let words = ["python3", "-c", &source].map(str::to_owned);
    let all = measured(Which::Command(words.to_vec()), 1, 2);
    assert_eq!((all[0].repeats.len(), all[0].trouble.as_deref()), (2, None));
}
