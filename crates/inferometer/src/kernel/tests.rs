//! Providers that do what none should, as a few lines of shell: each is a row with one clear sentence,
//! and the rest is measured.

use super::course::{Ask, Done, measure};
use super::masks::Masks;
use super::protocol::{Case, Load, Operation, Pass, VERSION};
use super::provider::Provider;
use super::sheet::{line, sheet};
use crate::interrupt::Interrupts;
use crate::program::Limits;
use ifm_core::sheet::{Factors, RemarkKind, RowRole};
use std::time::Duration;

/// What every stand-in knows: to be ready, to prepare a copy of the same number, to time two runs.
const KNOWN: &str = r#"
ready() { read -r load; echo '{"is":"ready","provider":"stand-in","device":"cpu"}'; }
prepare() {
    read -r order || exit 0
    file=${order##*\"check\":\"}; file=${file%%\"*}
    head -c ${1:-2048} /dev/zero > "$file"
    echo '{"is":"prepared"}'
}
run() { read -r order || exit 0; echo '{"is":"timed","wall_ns":['$1']}'; }
"#;

fn ask(script: &str, cases: usize, repeats: u32) -> Ask {
    let case = Case {
        implementation: "copy".to_owned(),
        kind: "f32".to_owned(),
        operation: Operation::Bandwidth { bytes: 1 << 20 },
    };
    // Longer than any host takes.
    let limit = Duration::from_secs(60);
    let words = ["sh", "-c", &format!("{KNOWN}{script}")].map(str::to_owned).to_vec();
    Ask {
        providers: vec![Provider::Command(words)],
        load: Load { protocol: VERSION, threads: None, instructions: None, device: None },
        cases: vec![(0, case); cases],
        masks: Masks::default(),
        repeats,
        warm_up: 0,
        flush_bytes: 0,
        budget: limit,
        replaces: false,
        reference: "command:copy".to_owned(),
        times: true,
        folder: tempfile::tempdir().expect("a folder"),
        limits: Limits {
            start: limit,
            repeat: limit,
            grace: Duration::from_millis(500),
            guard: None,
            interrupts: Interrupts::default(),
        },
    }
}

fn measured(script: &str, cases: usize, repeats: u32) -> Vec<Done> {
    measure(&ask(script, cases, repeats), |_, _| ())
}

#[test]
fn what_a_provider_does_wrong_is_a_sentence() {
    for (script, said) in [
        (
            "echo 'no licence' >&2; exit 3",
            "the provider ended (exit status: 3); it said: no licence",
        ),
        (
            "read -r l; echo hello",
            "the provider printed \"hello\", which is no line of the protocol",
        ),
        (
            "read -r l; kill -9 $$",
            "the provider was killed, as the kernel does when memory runs out",
        ),
        ("read -r l; echo '{\"is\":\"cannot\",\"why\":\"no torch here\"}'", "no torch here"),
        ("ready; run 5", "the provider answered out of turn"),
        ("ready; read -r o; echo '{\"is\":\"prepared\"}'", "the provider wrote no file to check"),
        (
            "ready; prepare 100",
            "the provider wrote 100 bytes to check its results by, and not 2048",
        ),
        ("ready; prepare; run 5,5", "the provider told 2 wall times of 1 runs"),
        ("ready; prepare; run 0", "the provider told a wall time of 0 ns"),
        ("ready; prepare; run 99999999999999", "the provider told 99999999999999 ns for runs that"),
        (
            "ready; prepare; read -r o; head -c 20000000 /dev/zero",
            "the provider printed a line of more than 16777216 bytes",
        ),
        (
            "ready; prepare; read -r o; exec >&-; exec sleep 60",
            "the provider closed its output, and",
        ),
    ] {
        let all = measured(script, 1, 1);
        let why = all[0].why().unwrap_or_default();
        assert!(why.starts_with(said) && !all[0].is_timed(), "{script}: {why}");
    }
}

#[test]
fn a_provider_that_is_lost_is_started_again_and_the_rest_is_measured() {
    // The first process dies in its first case, the second goes on.
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("mark");
    let script = format!(
        "mark={}; ready; if [ ! -e $mark ]; then touch $mark; exit 1; fi; \
         while true; do prepare; run 700; run 900; done",
        mark.display()
    );
    let ask = ask(&script, 3, 2);
    let all = measure(&ask, |_, _| ());
    let why = all[0].why().unwrap_or_default();
    assert!(why.starts_with("the provider ended (exit status: 1)"), "{why}");
    assert!(all[1].is_timed() && all[2].is_timed());
    let told = line(&ask, &all, 1);
    assert!(
        told.starts_with("copy by command, f32 1048576 bytes: 0.000800 ms ± 0.000141, 2621"),
        "{told}"
    );
    let sheet = sheet(&ask, "a", &Factors::default(), &all);
    let roles: Vec<RowRole> = sheet.parts[0].rows.iter().map(|row| row.role).collect();
    assert_eq!(roles, [RowRole::Planned, RowRole::Measured, RowRole::Measured]);
    // A busy host adds a remark of its own.
    let of_cases = sheet.remarks.iter().filter(|remark| remark.kind == RemarkKind::Missing);
    let missing: Vec<&str> = of_cases.map(|remark| remark.text.as_str()).collect();
    assert_eq!(missing.len(), 1);
    assert!(
        missing[0].starts_with("copy by command, f32 1048576 bytes, forward: the provider"),
        "{missing:?}"
    );
}

#[test]
fn a_provider_that_is_not_there_is_looked_for_once() {
    let mut ask = ask("", 2, 1);
    ask.providers = vec![Provider::Command(vec!["/no/such/provider".to_owned()])];
    for done in measure(&ask, |_, _| ()) {
        let why = done.why().unwrap_or_default();
        assert!(why.starts_with("/no/such/provider cannot be started: "), "{why}");
        assert_eq!(done.passes[&Pass::Forward].runs, []);
    }
}

#[test]
fn what_is_wrong_is_not_timed() {
    // `a = b` where `b` is not what `a` is.
    let script = r#"ready
        read -r order; file=${order##*\"check\":\"}; file=${file%%\"*}
        { head -c 1024 /dev/zero; head -c 1024 /dev/zero | tr '\0' '?'; } > "$file"
        echo '{"is":"prepared"}'; run 5"#;
    let all = measured(script, 1, 1);
    let why = all[0].why().unwrap_or_default();
    assert!(why.starts_with("wrong: the relative error of copy is 1.0e0"), "{why}");
    assert!(!all[0].is_timed() && all[0].check.is_some());
}
