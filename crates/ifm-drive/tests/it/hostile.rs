//! Servers that do not end their answers: each request ends with a sentence, without any time limit.

use crate::support::{plan, post, run};
use ifm_core::Outcome;
use ifm_drive::LevelPlan;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

const SLOTS: u32 = 8;

/// A server whose every answer is this head and then the rest again and again.
fn endless(head: &'static str, rest: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let part = rest.repeat(65536_usize.div_ceil(rest.len()));
                let mut request = [0; 4096];
                let mut is_open = stream.read(&mut request).is_ok_and(|read| read > 0)
                    && stream.write_all(head.as_bytes()).is_ok();
                // Until the client hangs up.
                while is_open {
                    is_open = stream.write_all(part.as_bytes()).is_ok();
                }
            });
        }
    });
    address
}

#[test]
fn an_answer_without_end_ends_its_request_and_the_level() {
    const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ";
    const FAILED: &str = "HTTP/1.1 500 X\r\ncontent-type: text/plain\r\n\r\nno memory ";
    const INTERIM: &str = "HTTP/1.1 102 Processing\r\n\r\n";
    for (head, rest, outcome, reason) in [
        (EVENTS, "x", Outcome::InBandError, "more than 32 MiB in one event"),
        (FAILED, "x", Outcome::HttpError, "HTTP 500: no memory x"),
        (INTERIM, INTERIM, Outcome::TransportError, "more than 64 interim (1xx) responses"),
    ] {
        let address = endless(head, rest);
        let requests = Some(SLOTS);
        let plan = LevelPlan { slots: SLOTS, requests, ..plan(address) };
        let (records, result) = run(&plan, post("/v1/chat/completions"));
        assert!(!records.is_empty(), "{reason}");
        for record in &records {
            let error = record.error.as_deref().unwrap_or_default();
            assert_eq!(record.outcome, outcome, "{error}");
            assert!(error.contains(reason), "{error}");
            assert!(record.events.is_empty() && record.text.is_none(), "{error}");
        }
        if outcome == Outcome::InBandError {
            assert!(result.gave_up.is_some_and(|why| why.contains(reason)), "{reason}");
        }
    }
}
