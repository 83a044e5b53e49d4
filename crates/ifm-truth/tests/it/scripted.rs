//! The scripted server against plain blocking sockets.

use crate::client::{Reply, ask, ask_on, connect};
use ifm_truth::scripted::{Scripted, ScriptedOptions};
use ifm_truth::{Action, Api, Case, Class, Limits, Step, Truth, cases, slower_and_slower};
use std::io::{ErrorKind, Write};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(600);

/// What the case puts on the wire.
fn wire(case: &Case) -> Vec<u8> {
    let sends = case.steps.iter().filter_map(|step| match &step.action {
        Action::Send(bytes) => Some(bytes.as_slice()),
        Action::Close | Action::Reset => None,
    });
    sends.flatten().copied().collect()
}

fn start(cases: Vec<Case>) -> Scripted {
    Scripted::start(cases, ScriptedOptions::for_tests()).unwrap()
}

/// A short case of its own, so that the server's tests do not wait for the suite's times.
fn short(name: &'static str, steps: Vec<Step>) -> Case {
    Case {
        name,
        class: Class::Plain,
        what: "",
        why: "",
        api: Api::Chat,
        limits: Limits::default(),
        requests: 1,
        steps,
        truth: Truth::complete(0, 0, 0, None),
    }
}

fn send(at_ms: u64, bytes: &[u8]) -> Step {
    Step { at_ms, action: Action::Send(bytes.to_vec()) }
}

/// Plays a case to a plain socket: whether its exact bytes came. A reset takes away what a busy host has
/// not read yet; it does not where the case is slow enough.
fn is_played(case: &Case) -> Result<(), String> {
    let server = start(vec![case.clone()]);
    let path = format!("/case/{}{}", case.name, case.api.path());
    let expected = wire(case);
    let reply = ask(server.address(), &path, "{\"x\": 1}", expected.len());
    let exchanges = server.wait_for(case.name, 1, LONG);
    let exchange = &exchanges[0];
    assert_eq!((exchange.body_bytes, exchange.body.as_slice()), (8, &b"{\"x\": 1}"[..]));
    let sends = case.steps.iter().filter(|step| matches!(step.action, Action::Send(_)));
    assert_eq!(exchange.writes.len(), sends.clone().count(), "{}", case.name);
    for (stamp, step) in exchange.writes.iter().zip(sends) {
        assert_eq!(stamp.at_ms, step.at_ms);
        assert_eq!(stamp.due_ns, exchange.arrival.at_ns + step.at_ms * 1_000_000);
        assert!(stamp.due_ns <= stamp.start_ns && stamp.start_ns <= stamp.done_ns);
    }
    assert!(exchange.writes.is_sorted_by_key(|stamp| stamp.start_ns));
    assert_eq!((server.exchanges().len(), server.left_out()), (1, 0));
    match reply.bytes == expected {
        true => Ok(()),
        false => Err(format!("{} of {} bytes", reply.bytes.len(), expected.len())),
    }
}

#[test]
fn every_case_puts_its_exact_bytes_on_the_wire_no_write_before_its_time() {
    // All at the same time: the suite's own times are what the test lasts.
    std::thread::scope(|scope| {
        for case in &cases::suite() {
            let case = case.clone();
            scope.spawn(move || {
                slower_and_slower(|factor| is_played(&case.slower(factor)))
                    .unwrap_or_else(|error| panic!("{}: {error}", case.name))
            });
        }
    });
}

#[test]
fn a_close_is_an_orderly_end_and_a_reset_is_a_reset() {
    let path = |name: &str| format!("/case/{name}/v1/chat/completions");
    let close = Step { at_ms: 1, action: Action::Close };
    let server = start(vec![short("closes", vec![send(1, b"bytes"), close])]);
    let closed = ask(server.address(), &path("closes"), "", usize::MAX);
    assert_eq!((closed.bytes.as_slice(), closed.end), (&b"bytes"[..], Ok(())));
    let reset = Step { at_ms: 20, action: Action::Reset };
    let resets = short("resets", vec![send(0, b"bytes"), reset]);
    slower_and_slower(|factor| {
        let server = start(vec![resets.slower(factor)]);
        let reset = ask(server.address(), &path("resets"), "", usize::MAX);
        assert_eq!(reset.end, Err(ErrorKind::ConnectionReset));
        if reset.bytes == b"bytes" { Ok(()) } else { Err(format!("{:?}", reset.bytes)) }
    })
    .unwrap();
}

#[test]
fn one_connection_carries_many_requests_and_the_log_counts_them() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let server = start(vec![short("kept", vec![send(0, answer), send(1, b"")])]);
    let mut stream = connect(server.address());
    for _ in 0..3 {
        let Reply { bytes, .. } =
            ask_on(&mut stream, "/case/kept/v1/chat/completions", "{}", answer.len());
        assert_eq!(bytes, answer);
    }
    let exchanges = server.wait_for("kept", 3, LONG);
    let numbers: Vec<_> =
        exchanges.iter().map(|exchange| (exchange.connection, exchange.request)).collect();
    assert_eq!(numbers, [(0, 0), (0, 1), (0, 2)]);
}

#[test]
fn a_request_sent_ahead_is_answered_after_the_first_one() {
    let server = start(vec![
        short("first", vec![send(0, b"one,"), send(20, b"two,")]),
        short("second", vec![send(0, b"three")]),
    ]);
    let mut stream = connect(server.address());
    let head = |name: &str| {
        format!("POST /case/{name}/v1/chat/completions HTTP/1.1\r\ncontent-length: 1\r\n\r\nx")
    };
    let both = [head("first"), head("second")].concat();
    stream.write_all(both.as_bytes()).unwrap();
    assert_eq!(crate::client::read(&mut stream, 13).0, b"one,two,three");
    assert_eq!(server.wait_for("second", 1, LONG)[0].request, 1);
}

#[test]
fn a_client_that_leaves_is_noted() {
    let server = start(vec![short("long", vec![send(0, b"x"), send(600_000, b"y")])]);
    let path = "/case/long/v1/chat/completions";
    let reply = ask(server.address(), path, "", 1);
    assert_eq!(reply.bytes, b"x");
    let exchange = &server.wait_for("long", 1, LONG)[0];
    assert!(exchange.left_early);
    let mut log = Vec::new();
    server.write_jsonl(&mut log).unwrap();
    let line: serde_json::Value = serde_json::from_slice(&log).unwrap();
    assert_eq!((&line["case"], &line["left_early"]), (&"long".into(), &true.into()));
    assert_eq!(exchange.writes.len(), 1);
}

#[test]
fn pages_of_the_server_itself_answer_and_nonsense_is_refused() {
    let server = start(cases::suite());
    let get = |path: &str| {
        let mut stream = connect(server.address());
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        String::from_utf8(crate::client::read(&mut stream, usize::MAX).0).unwrap()
    };
    assert!(get("/cases").contains("\"name\":\"baseline\""));
    assert!(get("/case/baseline/v1/models").contains("\"id\":\"mock\""));
    assert!(get("/nothing").starts_with("HTTP/1.1 404 "));
    let mut stream = connect(server.address());
    stream.write_all(b"\x16\x03\x01 not http\r\n\r\n").unwrap();
    let (bytes, _) = crate::client::read(&mut stream, usize::MAX);
    assert!(bytes.starts_with(b"HTTP/1.1 400 "));
    assert!(server.exchanges().is_empty());
}
