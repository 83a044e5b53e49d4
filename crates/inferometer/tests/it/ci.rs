//! The script of CI jobs, run as a runner runs it: with its variables, and with fake programs for
//! inferometer, curl and the server.

use crate::support::{served, stderr, stdout};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/ci.sh");

/// A program that keeps its words, a line for each word, and writes what a gate would write.
const PROGRAM: &str = r#"#!/bin/sh
for word in "$@"; do printf '%s\n' "$word"; done >> words
case $1 in
    --version) echo 'inferometer 0.1.0' ;;
    gate)
        while [ $# -gt 0 ]; do
            case $1 in --md) printf '## FAIL new\n\n| a | "b" \\[1\\] |\n' ;; --junit) echo '<x/>' > "$2" ;; esac
            shift
        done
        exit "${GATE_CODE:-0}"
        ;;
    sweep) exit "${SWEEP_CODE:-0}" ;;
esac
"#;

/// A curl that records its arguments and its key; the comments that it returns come from
/// `comments`.
const CURL: &str = r#"#!/bin/sh
printf '%s\n' "$*" >> asked
while [ $# -gt 0 ]; do
    case $1 in --config) cat "$2" >> keys ;; --data-binary) cat "${2#@}" >> sent ;; GET) cat comments 2>/dev/null ;; esac
    shift
done
"#;

/// A folder with fake programs.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    for (name, text) in [("inferometer", PROGRAM), ("curl", CURL)] {
        let path = folder.path().join("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// Runs the script in a folder with these variables and none of a runner that this test may be in.
fn ci(folder: &Path, variables: &[(&str, &str)]) -> Output {
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("sh");
    command.arg(SCRIPT).current_dir(folder);
    let is_of_runner = |name: &String| {
        ["GITHUB_", "CI_", "INFEROMETER_"].iter().any(|start| name.starts_with(start))
    };
    for (name, _) in std::env::vars().filter(|(name, _)| is_of_runner(name)) {
        command.env_remove(name);
    }
    command.env("PATH", format!("{}:{path}", folder.join("bin").display()));
    command.envs(variables.iter().copied()).output().unwrap()
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_default()
}

#[test]
fn the_code_of_the_gate_is_that_of_the_job() {
    for (gate, inconclusive, code, state) in [
        ("0", "", 0, "pass"),
        ("1", "", 1, "fail"),
        ("4", "", 4, "inconclusive"),
        ("4", "warn", 0, "inconclusive"),
        ("7", "", 7, "error"),
    ] {
        let folder = folder();
        let output = ci(
            folder.path(),
            &[
                ("GATE_CODE", gate),
                ("INFEROMETER_INCONCLUSIVE", inconclusive),
                ("INFEROMETER_LOAD", r#"-c 1,8 -W "a b" --tag 'x=$(touch ran)'"#),
                ("INFEROMETER_GATE", "--max itl.p99@8=50ms"),
                ("GITHUB_OUTPUT", "outputs"),
                ("GITHUB_SHA", "abc"),
            ],
        );
        assert_eq!(output.status.code(), Some(code), "{state}: {}", stderr(&output));
        let outputs = format!("state={state}\ncode={gate}\nresults=inferometer-results\n");
        assert_eq!(read(folder.path(), "outputs"), outputs);
        // Words in quotes hold together, and nothing in them is run.
        let words = read(folder.path(), "words");
        let sweep = "sweep\nhttp://127.0.0.1:8000\n--name\ninferometer\n-o\ninferometer-results/report.html\n\
                     --tag\ncommit=abc\n-c\n1,8\n-W\na b\n--tag\nx=$(touch ran)\n";
        assert!(words.contains(sweep), "{words}");
        assert!(words.ends_with("--max\nitl.p99@8=50ms\n"), "{words}");
        assert!(!folder.path().join("ran").exists());
    }
}

#[test]
fn what_does_not_work_decides_nothing() {
    for (variables, code, says) in [
        (&[("SWEEP_CODE", "6")][..], 6, "the measurement ended with code 6"),
        (&[("INFEROMETER_BIN", "nothing")], 2, "INFEROMETER_BIN names nothing"),
    ] {
        let folder = folder();
        let output =
            ci(folder.path(), &[variables, &[("INFEROMETER_GATE", "--max e2e=1s")]].concat());
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        assert_eq!(read(folder.path(), "inferometer-results/state"), "error\n");
        assert!(read(folder.path(), "inferometer-results/gate.md").contains(says));
    }
    // The last lines of a server that ends before it answers are reported.
    let folder = folder();
    fs::write(folder.path().join("bin/curl"), "#!/bin/sh\nexit 7\n").unwrap();
    let start = [("INFEROMETER_START", "echo no such model; exit 3")];
    let output = ci(folder.path(), &start);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("| no such model"), "{}", stderr(&output));
    // Without a threshold nothing is checked, and that is said.
    let folder = self::folder();
    let output = ci(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(read(folder.path(), "inferometer-results/state"), "none\n");
}

/// The log of a server is an artifact of the job, and its end is printed if the server does not start.
#[test]
fn the_log_of_a_server_holds_no_key_and_no_command_of_a_ci_system() {
    let folder = folder();
    fs::write(folder.path().join("bin/curl"), "#!/bin/sh\nexit 7\n").unwrap();
    let start = "echo --api-key flagsecret1; echo \"$HF_TOKEN and $HF_TOKEN, $INFEROMETER_PUSH_KEY\"; \
                 printf '::error::injected\\n  ::add-mask::a\\r::warning::b\\n##[error]c\\033]0;title\\007\\n'; \
                 : serve --api-key flagsecret1; exit 3";
    let keys = ["flagsecret1", "hf_abcdef0123", "p+us/h.key[1]&"];
    let output = ci(
        folder.path(),
        &[
            ("INFEROMETER_START", start),
            ("HF_TOKEN", keys[1]),
            ("INFEROMETER_PUSH_KEY", keys[2]),
            ("GITHUB_ACTIONS", "true"),
        ],
    );
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    let log = read(folder.path(), "inferometer-results/server.log");
    assert!(log.contains("*** and ***, ***") && log.contains("injected"), "{log}");
    for text in [&log, &stderr(&output), &stdout(&output)] {
        assert!(keys.iter().all(|key| !text.contains(key)), "{text}");
    }
    let said = stderr(&output);
    assert!(said.contains("| ::error::injected"), "{said}");
    for line in said.split(['\n', '\r']).map(str::trim_start) {
        assert!(!line.starts_with("::") && !line.contains("##["), "{line:?}");
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

/// A branch of a pull request may have a longer name than a tag.
#[test]
fn the_name_of_a_branch_fits_a_tag() {
    let folder = folder();
    let branch = format!("feature/{}", "\u{e9}x".repeat(100));
    let output = ci(folder.path(), &[("GITHUB_HEAD_REF", &branch)]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let words = read(folder.path(), "words");
    let tag = words.lines().find(|word| word.starts_with("ref=")).unwrap();
    assert!(tag.len() < 200 && tag.starts_with("ref=feature/x"), "{tag}");
}

#[test]
fn a_comment_is_written_anew_and_its_key_is_in_no_words() {
    let gate = ("INFEROMETER_GATE", "--max e2e=1s");
    let token = ("INFEROMETER_TOKEN", "sekret");
    let github = [
        gate,
        token,
        ("GITHUB_REPOSITORY", "o/r"),
        ("GITHUB_REF", "refs/pull/7/merge"),
        ("GITHUB_API_URL", "http://h"),
    ];
    let gitlab = [
        gate,
        token,
        ("CI_PROJECT_ID", "3"),
        ("CI_MERGE_REQUEST_IID", "9"),
        ("CI_API_V4_URL", "http://h/api/v4"),
    ];
    let of_github = r#"[{"url":"http://h/repos/o/r/issues/comments/5","id":5,"user":{"id":1},"body":"x"},
        {"url": "http://h/repos/o/r/issues/comments/6", "id": 6, "body": "<!-- inferometer: inferometer -->\n"}]"#;
    // GitLab writes angle brackets as numbers.
    let of_gitlab = r#"[{"id":11,"type":null,"body":"\u003c!-- inferometer: inferometer --\u003e","author":{"id":2}}]"#;
    for (variables, comments, asked) in [
        (
            github,
            "[]",
            "--request POST --header Content-Type: application/json --data-binary @inferometer-results/comment.json http://h/repos/o/r/issues/7/comments",
        ),
        (
            github,
            of_github,
            "--request PATCH --header Content-Type: application/json --data-binary @inferometer-results/comment.json http://h/repos/o/r/issues/comments/6",
        ),
        (
            gitlab,
            "[]",
            "--request POST --header Content-Type: application/json --data-binary @inferometer-results/comment.json http://h/api/v4/projects/3/merge_requests/9/notes",
        ),
        (
            gitlab,
            of_gitlab,
            "--request PUT --header Content-Type: application/json --data-binary @inferometer-results/comment.json http://h/api/v4/projects/3/merge_requests/9/notes/11",
        ),
    ] {
        let folder = folder();
        fs::write(folder.path().join("comments"), comments).unwrap();
        let output = ci(folder.path(), &variables);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let all = read(folder.path(), "asked");
        assert!(all.contains(asked), "{all}{}", stderr(&output));
        assert!(!all.contains("sekret") && read(folder.path(), "keys").contains("sekret"), "{all}");
        let sent: serde_json::Value = serde_json::from_str(&read(folder.path(), "sent")).unwrap();
        let text = sent["body"].as_str().unwrap();
        assert!(text.starts_with("<!-- inferometer: inferometer -->\n## FAIL new\n"), "{text}");
        assert!(text.contains(r#"| a | "b" \[1\] |"#), "{text}");
        // No key is left behind.
        let left = fs::read_dir(folder.path().join("inferometer-results")).unwrap();
        for entry in left.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            assert!(!fs::read_to_string(&entry).unwrap().contains("sekret"), "{entry:?}");
        }
    }
}

/// The lines that are indented deeper than the first of them, without that indent.
fn block<'t>(text: &'t str, head: &str) -> Vec<&'t str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let behind = text.split_once(head).unwrap_or_else(|| panic!("{head} in {text}")).1;
    let lines = || behind.lines().skip(1);
    let first = lines().next().map_or(0, indent);
    let inside = lines().take_while(|line| line.trim().is_empty() || indent(line) >= first);
    inside.map(|line| line.get(first..).unwrap_or_default()).collect()
}

/// The variables of the action's step as a runner fills them in, from inputs and their defaults.
fn filled_in(
    action: &str,
    inputs: &[(&str, &str)],
    contexts: &[(&str, &str)],
) -> Vec<(String, String)> {
    let mut known: Vec<(String, String)> = Vec::new();
    let mut name = "";
    for line in block(action, "\ninputs:") {
        match (line.strip_suffix(':'), line.trim().strip_prefix("default: ")) {
            (Some(input), _) if !line.starts_with(' ') => name = input,
            (_, Some(default)) => {
                known.push((format!("inputs.{name}"), default.trim_matches('\'').to_owned()));
            }
            _ => {}
        }
    }
    for (name, value) in inputs {
        let name = format!("inputs.{name}");
        known.iter_mut().find(|(known, _)| *known == name).expect("an input of the action").1 =
            (*value).to_owned();
    }
    known.extend(contexts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let value = |text: &str| {
        let mut text = text.to_owned();
        // A default may be an expression itself.
        while let Some((before, rest)) = text.clone().split_once("${{ ") {
            let (expression, after) = rest.split_once(" }}").expect("an end");
            let found = known.iter().find(|(name, _)| name == expression);
            let found = found.unwrap_or_else(|| panic!("the action has no {expression}"));
            text = format!("{before}{}{after}", found.1);
        }
        text
    };
    let pairs = block(action, "\n      env:").into_iter();
    pairs
        .filter_map(|line| line.split_once(": "))
        .map(|(name, text)| (name.to_owned(), value(text)))
        .collect()
}

/// Runs a step of a CI runner: its own variables, these, and no other.
fn step(folder: &Path, script: &[&str], variables: &[(String, String)]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-e", "-c", &script.join("\n")]).current_dir(folder).env_clear();
    command.env("PATH", std::env::var("PATH").unwrap()).env("HOME", folder).env("CI", "true");
    command.envs(variables.iter().cloned()).output().unwrap()
}

/// The steps themselves, unchanged from the action and the template, with the real program.
#[test]
fn the_steps_run_with_the_flags_of_the_program() {
    let integrations = Path::new(SCRIPT).parent().unwrap();
    let action = fs::read_to_string(integrations.join("github/action.yml")).unwrap();
    let template =
        fs::read_to_string(integrations.join("gitlab/inferometer.gitlab-ci.yml")).unwrap();
    let server = tempfile::tempdir().unwrap();
    let (_server, url) = served(server.path(), &["--preset", "nano"]);
    // So wide that any host keeps it; six requests may not be enough to be sure.
    let (load, gate) = ("-c 1 -n 6 --warmup 1 -W 16/4", "--max ttft.p50@1=3600s");
    let binary = env!("CARGO_BIN_EXE_inferometer");
    let path = integrations.join("github");
    for is_github in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let temp = folder.path().join("temp");
        let output = if is_github {
            let mut variables = filled_in(
                &action,
                &[
                    ("url", &url),
                    ("load", load),
                    ("gate", gate),
                    ("binary", binary),
                    ("inconclusive", "pass"),
                    ("comment", "never"),
                ],
                &[
                    ("runner.temp", temp.to_str().unwrap()),
                    ("github.action_path", path.to_str().unwrap()),
                    ("github.token", "sekret"),
                    ("github.event.pull_request.number", ""),
                ],
            );
            assert!(variables.len() > 15, "{variables:?}");
            for (name, value) in [
                ("GITHUB_ACTIONS", "true"),
                ("GITHUB_SHA", "abc"),
                ("GITHUB_REPOSITORY", "o/r"),
                ("GITHUB_OUTPUT", "outputs"),
                ("GITHUB_STEP_SUMMARY", "summary"),
            ] {
                variables.push((name.to_owned(), value.to_owned()));
            }
            step(folder.path(), &block(&action, "\n      run: |"), &variables)
        } else {
            let mut variables: Vec<(String, String)> = block(&template, "\n  variables:")
                .iter()
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            for (name, value) in [
                // Where the image has the script.
                ("INFEROMETER_SCRIPT", SCRIPT),
                ("INFEROMETER_BIN", binary),
                ("INFEROMETER_URL", &url),
                ("INFEROMETER_LOAD", load),
                ("INFEROMETER_GATE", gate),
                ("INFEROMETER_INCONCLUSIVE", "pass"),
                ("GITLAB_CI", "true"),
                ("CI_COMMIT_SHA", "abc"),
                ("CI_PROJECT_ID", "3"),
            ] {
                variables.retain(|(known, _)| known != name);
                variables.push((name.to_owned(), value.to_owned()));
            }
            step(folder.path(), &block(&template, "\n    - |"), &variables)
        };
        // A busy host may send late, which makes the run invalid.
        if output.status.code() == Some(6) {
            assert!(stderr(&output).contains("there is nothing to check"), "{}", stderr(&output));
            continue;
        }
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        let results = folder.path().join("inferometer-results");
        for name in
            ["report.html", "gate.md", "junit.xml", "metrics.txt", "result.json", "run.parquet"]
        {
            assert!(results.join(name).metadata().is_ok_and(|file| file.len() > 0), "{name}");
        }
        assert_eq!(read(folder.path(), "inferometer-results/state"), "pass\n");
        if is_github {
            let outputs = read(folder.path(), "outputs");
            assert!(outputs.starts_with("state=pass\ncode=0\n"), "{outputs}");
            assert!(!read(folder.path(), "summary").is_empty());
        }
    }
}
