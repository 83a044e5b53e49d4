//! Completions in the shells themselves: their scripts are read, and a line in a real bash gets its words.

use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_inferometer");
/// A store with one run, called `embedded-engine`.
const STORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/store");

fn script(shell: &str) -> String {
    let output = Command::new(PROGRAM).args(["completions", shell]).output().expect("the program");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("text")
}

/// What bash would offer at the end of a line: as it calls completions, with the line taken apart at `=` and
/// `:` too.
fn in_bash(line: &str) -> Vec<String> {
    let ask = r#"
        source <(printf '%s' "$SCRIPT")
        COMP_LINE=$1
        COMP_POINT=${#COMP_LINE}
        words=${COMP_LINE//=/ = }
        words=${words//:/ : }
        read -ra COMP_WORDS <<< "$words"
        [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        COMP_WORDS[0]=$PROGRAM
        _inferometer
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", ask, "bash", line])
        .env("SCRIPT", script("bash"))
        .env("PROGRAM", PROGRAM)
        .env_remove("INFEROMETER_STORE")
        .stderr(Stdio::inherit())
        .output()
        .expect("bash");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn the_scripts_are_read_by_their_shells() {
    let mut read = Vec::new();
    for shell in ["bash", "zsh", "fish"] {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), script(shell)).expect("written");
        // `-n` reads a script and runs nothing, in all three.
        match Command::new(shell).arg("-n").arg(file.path()).output() {
            Ok(output) => {
                assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {output:?}");
                read.push(shell);
            }
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{shell}"),
        }
    }
    assert!(read.contains(&"bash"));
}

#[test]
fn a_real_bash_gets_the_runs_of_a_store_and_the_names_of_registries() {
    let report = in_bash(&format!("inferometer report --store {STORE} emb"));
    assert_eq!(report, ["embedded-engine"]);
    let by_id = in_bash(&format!("inferometer runs show --store={STORE} 20261120"));
    assert_eq!(by_id, ["20261120-235403-5f0e"]);
    let runs = in_bash(&format!("inferometer runs tag --store {STORE} "));
    for name in ["last", "embedded-engine", "workstation"] {
        assert!(runs.iter().any(|run| run == name), "{name}: {runs:?}");
    }
    assert_eq!(in_bash("inferometer swe"), ["sweep"]);
    assert_eq!(in_bash("inferometer limit --gpu l40s"), ["l40s"]);
    // Only the part after the sign is replaced.
    assert_eq!(in_bash("inferometer run --workload=sharegpt-c"), ["sharegpt-chat:"]);
    assert_eq!(in_bash("inferometer run --api custom:gem"), ["gemini"]);
    assert!(in_bash("inferometer run --seed ").is_empty());
}
