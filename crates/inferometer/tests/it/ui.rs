//! The page over the store as a command, and the names and tags that it shares with `runs`.

use crate::support::{Running, program, run, stderr, stdout, store};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

#[test]
fn the_page_is_served_until_ctrl_c_and_to_this_machine_alone() {
    let folder = tempfile::tempdir().unwrap();
    let child = program(folder.path())
        .arg("ui")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut page = Running(child);
    let mut line = String::new();
    BufReader::new(page.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (address, target) =
        line.trim().strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{line}");
    let status = |target: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let ask = format!("GET /{target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!((status(""), status(target)), ("403".to_owned(), "303".to_owned()));
    let sent = Command::new("kill").args(["-INT", &page.0.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(page.0.wait().unwrap().code(), Some(0));
    for host in ["0.0.0.0", "::", "192.0.2.1"] {
        let refused = run(folder.path(), &["ui", "--host", host]);
        assert_eq!(refused.status.code(), Some(2), "{host}");
        assert!(stderr(&refused).contains("other machines"), "{}", stderr(&refused));
    }
}

#[test]
fn runs_get_names_and_tags() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "made up", &[1], (5.0, 1.0));
    let done = |words: &[&str]| {
        let output = run(folder.path(), words);
        assert_eq!(output.status.code(), Some(0), "{words:?} {}", stderr(&output));
        stdout(&output)
    };
    done(&["runs", "rename", "last", "calm"]);
    assert_eq!(done(&["runs", "tag", "calm", "night", "fp8"]), "night\nfp8\n");
    assert_eq!(done(&["runs", "tag", "calm", "night", "--remove"]), "fp8\n");
    assert_eq!(done(&["runs", "tag", "calm"]), "fp8\n");
    let list = done(&["runs", "list"]);
    assert!(list.contains("calm") && list.contains("#fp8"), "{list}");
    for bad in [&["runs", "tag", "calm", "a,b"], &["runs", "rename", "calm", "a\nb"]] {
        assert_eq!(run(folder.path(), bad).status.code(), Some(2), "{bad:?}");
    }
    done(&["runs", "rename", "calm", ""]);
    assert_eq!(run(folder.path(), &["runs", "show", "calm"]).status.code(), Some(2));
}
