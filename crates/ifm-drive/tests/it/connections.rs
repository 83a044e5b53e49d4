//! Connections that servers close between requests: what is counted, and which time is lost.

use crate::support::{plan, post, run};
use ifm_core::outcome::Outcome;
use ifm_drive::Target;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\
                      \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Reads one request; false where the connection ends before it.
fn read_request(stream: &mut TcpStream) -> bool {
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    while !request.ends_with(b"\"messages\":[]}") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return false,
            Ok(read) => request.extend_from_slice(&buffer[..read]),
        }
    }
    true
}

fn answer(stream: &mut TcpStream, connection: &str) {
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: {connection}\r\n\
         content-length: {}\r\n\r\n{ANSWER}",
        ANSWER.len()
    );
    stream.write_all(response.as_bytes()).unwrap();
}

/// A server that answers one request of each connection, and closes it unread when the next one has
/// come or, where it says so, at once.
fn server(connection: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if read_request(&mut stream) {
                answer(&mut stream, connection);
                if connection == "keep-alive" {
                    read_request(&mut stream);
                }
            }
        }
    });
    address
}

#[test]
fn time_on_a_closed_connection_is_kept_and_part_of_the_request() {
    let mut plan = plan(server("keep-alive"));
    plan.requests = Some(4);
    let (records, result) = run(&plan, post("/v1/chat/completions"));
    assert_eq!(records.len(), 4);
    assert_eq!(records[0].dead_connection_ns, None);
    for record in &records[1..] {
        assert_eq!(record.outcome, Outcome::Ok, "{:?}", record.error);
        let lost_ns = record.dead_connection_ns.expect("the server closed the connection");
        let wait_ns = record.first_token_ns().expect("a token") - record.start_ns;
        let connect_ns = record.connect_ns.expect("a new connection");
        assert!(0 < lost_ns && lost_ns + connect_ns <= wait_ns, "{lost_ns} of {wait_ns}");
    }
    let counts = &result.evidence.counts;
    assert_eq!((counts.connections, counts.reconnects), (Some(4), 3));
}

#[test]
fn connections_are_counted_when_a_server_closes_each() {
    let mut plan = plan(server("close"));
    plan.requests = Some(4);
    let (records, result) = run(&plan, post("/v1/chat/completions"));
    let counts = &result.evidence.counts;
    assert_eq!((counts.connections, counts.reconnects), (Some(4), 0));
    let opened = records.iter().filter(|record| record.connect_ns.is_some()).count();
    let lost = records.iter().filter(|record| record.dead_connection_ns.is_some()).count();
    assert_eq!((opened, lost), (3, 0));
}

#[test]
fn fresh_connections_lose_no_time() {
    let mut plan = plan(server("keep-alive"));
    plan.requests = Some(4);
    plan.target = Target { fresh_connections: true, ..plan.target };
    let (records, result) = run(&plan, post("/v1/chat/completions"));
    assert!(records.iter().all(|record| record.dead_connection_ns.is_none()));
    assert!(records.iter().all(|record| record.connect_ns.is_some()));
    assert_eq!(result.evidence.counts.connections, Some(4));
}
