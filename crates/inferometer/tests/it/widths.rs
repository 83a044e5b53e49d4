//! At 80, 100 and 160 columns no command prints a longer line, so that no terminal breaks a word.
//!
//! What is exempt has a form of its own: tables of other tools, commands to copy, and files.

use crate::support::{program, stderr, stdout, store_changed};

const WIDTHS: [usize; 3] = [80, 100, 160];

/// Measured runs with repeats, a prediction, and what reads them.
#[test]
fn no_line_is_wider_than_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str], width: usize| {
        let mut command = program(folder.path());
        let done = command.args(words).env("COLUMNS", width.to_string()).output().unwrap();
        assert_ne!(done.status.code(), Some(2), "{words:?}: {}", stderr(&done));
        format!("{}{}", stdout(&done), stderr(&done))
    };
    // Seven runs: a history with a band, and two sides with repeats.
    for number in 0..7 {
        let (name, ttft) = if number < 4 { ("base", 40.0) } else { ("other", 52.0) };
        store_changed(
            folder.path(),
            &format!("{name}{number}"),
            &[1, 8],
            ((ttft, 9.0), 10),
            |head| {
                head.name = Some(name.to_owned());
            },
        );
    }
    let predicted =
        ["predict", "--gpu", "l40s", "-m", "llama-3.1-8b", "-W", "256/32", "-c", "1,8,32"];
    check(&predicted, 80, &run(&predicted, 80));
    let commands: [&[&str]; 16] = [
        &["runs", "list"],
        &["runs", "show", "last"],
        &["report", "last"],
        &["report", "base", "other"],
        &["compare", "base", "other"],
        &["compare", "-v", "base", "other"],
        &["rank", "base", "other"],
        &["history"],
        &["history", "-v"],
        &["gate", "base", "--max", "ttft:p95<1s", "--min", "out_tok_s>3"],
        &["audit", "last"],
        &["limit", "--gpu", "l40s", "-m", "llama-3.1-8b"],
        &["predict", "--gpu", "l40s", "-m", "llama-3.1-8b", "-W", "64/16", "--price", "2.5"],
        &["capacity", "base", "--slo", "ttft:p95<1s"],
        &["schema"],
        &["--help"],
    ];
    for words in commands {
        for width in WIDTHS {
            check(words, width, &run(words, width));
        }
    }
}

fn check(words: &[&str], width: usize, printed: &str) {
    assert!(!printed.trim().is_empty(), "{words:?} prints nothing");
    let longest = printed.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
    assert!(longest.chars().count() <= width, "{words:?} at {width} columns:\n{longest}");
}
