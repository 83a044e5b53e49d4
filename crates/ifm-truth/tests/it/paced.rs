//! The paced server against plain sockets and the reference clients.

use crate::client::{ask, connect, read};
use ifm_truth::drain::{Depth, DrainOptions, drain};
use ifm_truth::paced::{Pace, PacedOptions, Served, run_paced};
use std::io::Write;

const FAST: Pace = Pace { ttft_ns: 0, itl_ns: 0, coalesce: true, burst: 1, usage: true };
const CHAT: &str = "/v1/chat/completions";

fn body(tokens: u32) -> String {
    format!("{{\"stream\": true, \"max_tokens\": {tokens}, \"prompt\": \"x\"}}")
}

/// Reads answers up to the last chunk.
fn answer(stream: &mut std::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"0\r\n\r\n") {
        let (more, end) = read(stream, 1);
        assert!(end.is_ok() && !more.is_empty());
        bytes.extend(more);
    }
    String::from_utf8(bytes).unwrap()
}

fn post(stream: &mut std::net::TcpStream, path: &str, body: &str) {
    let length = body.len();
    write!(stream, "POST {path} HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
}

/// What must hold of every answer that went out whole.
fn check(served: &Served) {
    let times: Vec<u64> = served.token_times_ns().collect();
    assert_eq!(times.len(), served.tokens as usize);
    assert!(times.is_sorted());
    assert_eq!(served.first_token_ns(), times.first().copied());
    assert_eq!(served.last_token_ns(), times.last().copied());
    for (token, at_ns) in times.iter().enumerate() {
        let due_ns = served.arrival.at_ns + served.pace.due_ns(token as u32);
        assert!(*at_ns >= due_ns, "token {token} was written before it was due");
    }
    assert!(served.head_ns.unwrap() >= served.arrival.at_ns);
    assert!(served.first_byte.at_ns <= served.arrival.at_ns);
    assert!(served.done_ns.unwrap() >= *times.last().unwrap());
}

#[test]
fn an_answer_has_the_tokens_asked_for_at_the_pace_asked_for() {
    let server = run_paced(PacedOptions::for_benchmarks(FAST)).unwrap();
    let mut stream = connect(server.address());
    for path in ["/pace/ttft_ms=20,itl_ms=2/v1/chat/completions", "/v1/completions?ttft_ms=10"] {
        post(&mut stream, path, &body(10));
        let text = answer(&mut stream);
        let words = text.matches("\"content\":\" ").count() + text.matches("\"text\":\" ").count();
        assert_eq!(words, 10);
        assert!(text.contains("\"completion_tokens\":10}") && text.contains("data: [DONE]"));
    }
    let log = server.stop();
    assert_eq!(log.served.len(), 2);
    log.served.iter().for_each(check);
    let [chat, completions] = &log.served[..] else { panic!("two requests") };
    assert_eq!((chat.api, chat.pace.ttft_ns, chat.pace.itl_ns), ("chat", 20_000_000, 2_000_000));
    assert_eq!((completions.api, completions.pace.ttft_ns), ("completions", 10_000_000));
    assert_eq!((chat.connection, chat.request, completions.request), (0, 0, 1));
}

#[test]
fn a_large_prompt_in_pieces_arrives_with_its_last_byte() {
    let server = run_paced(PacedOptions::for_benchmarks(FAST)).unwrap();
    let mut stream = connect(server.address());
    let prompt = format!("{{\"prompt\": \"{}\", \"stream\": true, ", "word ".repeat(50_000));
    let end = "\"max_completion_tokens\": 3}";
    let length = prompt.len() + end.len();
    write!(stream, "POST {CHAT} HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{prompt}").unwrap();
    // The server answers another connection meanwhile: it has read what there was of the first.
    let whole = ask(server.address(), CHAT, &body(1), 1).bytes;
    assert!(whole.starts_with(b"HTTP/1.1 200 OK"));
    let before_end_ns = ifm_sys::mono_ns();
    stream.write_all(end.as_bytes()).unwrap();
    assert_eq!(answer(&mut stream).matches("\"content\":\" ").count(), 3);
    let log = server.stop();
    let served = log.served.iter().find(|served| served.connection == 0).unwrap();
    check(served);
    assert_eq!(served.body_bytes, length as u64);
    // Slack for the reading of the two clocks that the kernel's stamp goes through.
    assert!(served.arrival.at_ns + 200_000 >= before_end_ns || !served.arrival.by_kernel);
    assert!(served.first_byte.at_ns < before_end_ns);
}

#[test]
fn the_reference_clients_find_every_event_of_every_answer() {
    let server = run_paced(PacedOptions::for_benchmarks(FAST)).unwrap();
    for coalesce in [true, false] {
        for depth in [Depth::Drain, Depth::Parse] {
            let mut options = DrainOptions::new(server.address(), depth);
            options.path = format!("/pace/coalesce={coalesce},burst=3{CHAT}");
            options.connections = 16;
            options.requests = 3;
            options.tokens = 200;
            options.read_bytes = 4_000;
            let report = drain(&options).unwrap();
            assert_eq!((report.requests, report.tokens), (48, 48 * 200));
            // Role, finish, usage and end mark are events without a token.
            let events = (depth == Depth::Parse).then_some(48 * 204);
            assert_eq!(report.events, events);
            assert!(report.reads > 0 && report.bytes > 48 * 200 * 200);
            assert!(report.cpu_ns > 0 && report.wall_ns > 0);
        }
    }
    let log = server.stop();
    assert_eq!(log.served.len(), 4 * 48);
    log.served.iter().for_each(check);
    let mut text = Vec::new();
    log.write_jsonl(&mut text).unwrap();
    let lines = String::from_utf8(text).unwrap();
    assert_eq!(lines.lines().count(), 4 * 48);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["token_ns"].as_array().unwrap().len(), 200);
}

#[test]
fn a_full_log_and_a_full_server_say_what_they_left_out() {
    let mut options = PacedOptions::for_benchmarks(Pace { coalesce: false, ..FAST });
    options.stamps_max = 5;
    options.connections_max = 1;
    options.tokens_max = 8;
    let server = run_paced(options).unwrap();
    let mut stream = connect(server.address());
    post(&mut stream, CHAT, &body(1_000));
    assert_eq!(answer(&mut stream).matches("\"content\":\" ").count(), 8);
    let (bytes, _) = read(&mut connect(server.address()), 1);
    assert!(bytes.is_empty());
    let log = server.stop();
    assert_eq!(log.connections_refused, 1);
    let served = &log.served[0];
    assert_eq!((served.stamps.len(), served.stamps_left_out), (5, 3));
    assert_eq!(served.last_token_ns(), None);
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let server = run_paced(PacedOptions::for_benchmarks(FAST)).unwrap();
    let page = |path: &str, body: &str, wanted: &str| {
        let mut stream = connect(server.address());
        post(&mut stream, path, body);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let text = String::from_utf8(read(&mut stream, usize::MAX).0).unwrap();
        assert!(text.contains(wanted), "{text}");
    };
    page(CHAT, "{\"max_tokens\": 3}", "set stream to true");
    page("/pace/speed=1/v1/completions", &body(1), "unknown pace setting: speed");
    page("/v1/embeddings", &body(1), "HTTP/1.1 404");
    let mut options = DrainOptions::new(server.address(), Depth::Drain);
    options.path = "/v1/nothing".to_owned();
    options.connections = 1;
    assert_eq!(drain(&options).unwrap_err().kind(), std::io::ErrorKind::InvalidData);
    let log = server.stop();
    assert_eq!((log.requests_refused, log.served.len()), (4, 0));
}

#[test]
fn answers_wait_for_a_station_in_the_order_of_their_requests() {
    let pace = Pace { ttft_ns: 10_000_000, itl_ns: 2_000_000, ..FAST };
    let options = PacedOptions { stations: Some(2), ..PacedOptions::for_benchmarks(pace) };
    let server = run_paced(options).unwrap();
    let mut streams: Vec<_> = (0..5).map(|_| connect(server.address())).collect();
    for stream in &mut streams {
        post(stream, CHAT, &body(6));
    }
    streams.iter_mut().for_each(|stream| assert!(answer(stream).contains("data: [DONE]")));
    let mut served = server.stop().served;
    assert_eq!(served.len(), 5);
    served.sort_by_key(|served| served.begin_ns);
    // Each holds a station for 10 ms and five gaps of 2 ms.
    for (place, one) in served.iter().enumerate() {
        let freed_ns =
            place.checked_sub(2).map_or(0, |before| served[before].begin_ns + 20_000_000);
        assert_eq!(one.begin_ns, freed_ns.max(one.arrival.at_ns), "{place}");
        for (token, at_ns) in one.token_times_ns().enumerate() {
            assert!(at_ns >= one.begin_ns + one.pace.due_ns(token as u32));
        }
    }
}
