//! A stream of JSON lines over a socket, from the first byte to the record.

use crate::support::{plan, post, run};
use ifm_core::outcome::Outcome;
use ifm_core::record::{CountSource, Counted};
use ifm_core::spec::Api;
use ifm_wire::Expect;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;

/// Answers one request with these pieces, each sent on its own, and closes the connection.
fn answer(pieces: Vec<String>) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !request.ends_with(b"\"messages\":[]}") {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "a whole request");
            request.extend_from_slice(&buffer[..read]);
        }
        for piece in pieces {
            stream.write_all(piece.as_bytes()).unwrap();
        }
    });
    (address, server)
}

#[test]
fn a_stream_of_lines_becomes_a_record() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n\
                transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    let said = |text: &str| {
        format!(
            r#"{{"model":"m","message":{{"role":"assistant","content":"{text}"}},"done":false}}"#
        )
    };
    let done = r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"length","prompt_eval_count":7,"eval_count":5}"#;
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    // The second line arrives in two chunks, and the last one in another chunk with its end.
    let second = said("b");
    let pieces = vec![
        head.to_owned(),
        chunk(&format!("{}\n", said("a"))),
        chunk(&second[..20]),
        chunk(&format!("{}\n", &second[20..])),
        chunk(done),
        chunk("\n"),
        "0\r\n\r\n".to_owned(),
    ];
    for (pieces, outcome) in
        [(pieces.clone(), Outcome::Ok), (pieces[..4].to_vec(), Outcome::TransportError)]
    {
        let (address, server) = answer(pieces);
        let mut plan = plan(address);
        plan.expect = Expect { api: Api::OllamaChat, keep_text: true, stream: true };
        let (records, _) = run(&plan, post("/api/chat"));
        server.join().unwrap();
        let record = &records[0];
        assert_eq!(record.outcome, outcome, "{:?}", record.error);
        assert_eq!((record.streamed, record.events.len()), (true, 2));
        assert_eq!(record.text.as_deref(), Some("ab"));
        let counted = match outcome {
            Outcome::Ok => Counted { tokens: 5, from: CountSource::FinalUsage },
            _ => Counted { tokens: 2, from: CountSource::Events },
        };
        assert_eq!(record.output_tokens, Some(counted));
    }
}
