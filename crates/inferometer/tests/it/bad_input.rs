//! What goes wrong, in one clear sentence and with a documented exit code.

use crate::support::{assert_measured, canned, paced, program, run, serve, stderr, stdout};
use ifm_truth::slower_and_slower;
use std::io::BufRead;

/// Runs the words, expects the code, and expects each of the texts in the error.
fn check(words: &[&str], code: i32, texts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), words);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {error}");
    for text in texts {
        assert!(error.contains(text), "{words:?}: no \"{text}\" in: {error}");
    }
    assert!(!error.contains("panicked"), "{error}");
}

#[test]
fn a_server_that_is_not_there_is_code_5() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    check(&["run", &url, "-n", "1"], 5, &["nothing listens at", "hint: start the server"]);
    check(&["run", "http://no-such-host.invalid", "-n", "1"], 5, &["cannot resolve the host"]);
}

#[test]
fn answers_that_are_no_openai_api_are_code_5() {
    for (answer, texts) in [
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", ["answered 404", "hint:"]),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 15\r\n\r\n<html>hi</html>",
            ["answered with text/html", "OpenAI-compatible"],
        ),
        ("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n", ["API key", "OPENAI_API_KEY"]),
        ("SSH-2.0-OpenSSH_9.2\r\n", ["request to http", "hint:"]),
    ] {
        check(&["run", &canned(answer), "-n", "1"], 5, &texts);
    }
}

#[test]
fn tls_to_a_plain_port_is_code_5() {
    let answer = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let url = canned(answer).replace("http://", "https://");
    check(&["run", &url, "-n", "1", "--insecure"], 5, &["hint:"]);
}

#[test]
fn a_server_that_goes_away_in_mid_run_is_code_5_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (server, url) = serve(folder.path(), &[]);
    let mut client = program(folder.path())
        // Several users notice sooner that the server is gone.
        .args(["run", &url, "-c", "8", "-n", "100000", "-W", "16/4", "--json=requests", "-w", "0"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(client.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"ok\""));
    drop(server);
    let finished = 1 + lines.count();
    let output = client.wait_with_output().unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(5), "{error}");
    assert!(error.contains("error: the server was lost: ") && error.contains("stored"), "{error}");
    let shown = stdout(&run(folder.path(), &["runs", "show", "last"]));
    assert!(shown.contains("partial: the server was lost"), "{shown}");
    let stored = run(folder.path(), &["report", "last", "--format", "requests"]);
    assert_eq!(stdout(&stored).lines().count(), finished);
}

#[test]
fn the_key_is_used_but_never_shown_or_stored() {
    const KEY: &str = "sk-very-secret-123";
    let folder = tempfile::tempdir().unwrap();
    let child = program(folder.path())
        .env("SERVER_KEY", KEY)
        .args(["serve", "--preset", "nano", "--port", "0", "--until-stdin-closes"])
        .args(["--api-key-env", "SERVER_KEY"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut running = crate::support::Running(child);
    let mut line = String::new();
    let stdout_pipe = running.0.stdout.take().unwrap();
    BufRead::read_line(&mut std::io::BufReader::new(stdout_pipe), &mut line).unwrap();
    let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();

    let without = run(folder.path(), &["run", &url, "-n", "2", "-W", "16/4"]);
    assert_eq!(without.status.code(), Some(5), "{}", stderr(&without));
    assert!(stderr(&without).contains("API key"), "{}", stderr(&without));
    let header = format!("x-api-key: {KEY}");
    let output = program(folder.path())
        .env("MY_KEY", KEY)
        .args(["run", &url, "-n", "2", "-W", "16/4", "--api-key-env", "MY_KEY", "-H", &header])
        .args(["--extra-body", &format!(r#"{{"user":"me","api_key":"{KEY}"}}"#)])
        .args(["-o", "r.html", "-o", "r.json"])
        .output()
        .unwrap();
    assert_measured(&output);
    assert!(!stdout(&output).contains(KEY) && !stderr(&output).contains(KEY));
    let mut files = vec![folder.path().to_owned()];
    let mut looked_at = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
            assert!(!found, "the key is in {}", path.display());
            looked_at += 1;
        }
    }
    assert!(looked_at >= 4, "manifest, requests and two reports");
}

#[test]
fn a_key_that_no_header_can_carry_is_code_2() {
    let folder = tempfile::tempdir().unwrap();
    for key in ["sk-a\nb", "sk-\u{e4}", "sk a"] {
        let output = program(folder.path())
            .env("OPENAI_API_KEY", key)
            .args(["run", "http://127.0.0.1:1", "-n", "1"])
            .output()
            .unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("OPENAI_API_KEY") && !error.contains(key), "{error}");
    }
}

#[test]
fn results_that_cannot_be_printed_are_code_74() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(1, 0);
    let url = format!("http://{}", server.address());
    for format in ["json", "requests", "vllm", "text"] {
        let output = program(folder.path())
            .args(["run", &url, "-n", "2", "-W", "16/4", "--format", format])
            .stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap())
            .output()
            .unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(74), "{format}: {error}");
        assert!(error.contains("standard output cannot be written"), "{format}: {error}");
    }
}

#[test]
fn a_format_without_checks_comes_with_a_warning() {
    let quiet = slower_and_slower(|factor| {
        let folder = tempfile::tempdir().unwrap();
        let server = paced(5 * factor, 0);
        let url = format!("http://{}", server.address());
        let words = ["run", &url, "-n", "2", "-W", "16/4", "-f", "vllm"];
        let words = [&words[..], &["--prompt-lengths", "tokenizer"]].concat();
        let error = stderr(&run(folder.path(), &words));
        assert!(error.contains("warning: 1 user: only 2 complete answers"), "{error}");
        let quiet = run(folder.path(), &[&words[..], &["-s"]].concat());
        // A host so busy that requests left late is reported, quiet or not.
        if quiet.status.success() { Ok(quiet) } else { Err(stderr(&quiet)) }
    });
    assert_eq!(stderr(&quiet.unwrap()), "");
}
