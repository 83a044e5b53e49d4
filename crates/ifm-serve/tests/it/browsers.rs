//! Requests that pages in a browser send, and names by which the server is reached.

use super::*;
use ifm_serve::{BrowserAccess, Limits};
use std::time::Duration;

/// A request with these header lines.
fn ask(address: SocketAddr, method: &str, path: &str, lines: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("connects");
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\n{lines}Connection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("sends");
    // A refusal may come before the body was read.
    let _ = stream.write_all(body.as_bytes());
    receive(stream)
}

#[test]
fn pages_of_other_sites_make_the_engine_compute_nothing() {
    let server = Server::start(serve_options(start_engine(options()))).expect("starts");
    let address = server.address();
    let body = chat("Count", 2).to_string();
    let json = "Content-Type: application/json\r\n";
    let chat = "/v1/chat/completions";
    for (lines, status) in [
        ("Host: evil.example\r\n", 403),
        ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
        ("Host: localhost\r\nOrigin: null\r\n", 403),
        ("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403),
    ] {
        for path in [chat, "/v1/completions", "/tokenize", "/api/chat", "/v1/messages"] {
            let answer = ask(address, "POST", path, &format!("{lines}{json}"), &body);
            assert_eq!(answer.status, status, "{lines} {path}: {}", answer.text());
            assert!(!answer.head.contains("access-control"), "{}", answer.head);
            // The reason is in the form of an error of the API.
            assert!(answer.json()["error"]["message"].is_string(), "{}", answer.text());
        }
        let models = ask(address, "GET", "/v1/models", lines, "");
        let is_foreign_page = lines.contains("Sec-Fetch");
        assert_eq!(models.status, if is_foreign_page { 200 } else { status }, "{lines}");
        // Monitoring reaches these by any name, and a page cannot read them.
        for path in ["/metrics", "/health", "/ping", "/version"] {
            let answer = ask(address, "GET", path, lines, "");
            assert_eq!(answer.status, 200, "{lines} {path}");
            assert!(!answer.head.contains("access-control"), "{}", answer.head);
        }
    }
    assert_eq!(sample(&get(address, "/metrics").text(), "vllm:generation_tokens_total"), 0.0);
    let ours = format!("Host: localhost\r\nOrigin: http://localhost:3000\r\n{json}");
    let answer = ask(address, "POST", chat, &ours, &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.head.contains("access-control-allow-origin: http://localhost:3000"));
    assert_eq!(ask(address, "POST", chat, "Host: 127.0.0.1:8000\r\n", &body).status, 200);
}

#[test]
fn a_key_admits_every_name_and_an_allowed_origin_is_shared() {
    let options = ServeOptions {
        api_key: Some("k".to_owned()),
        browsers: BrowserAccess {
            origins: vec!["https://chat.example".to_owned()],
            hosts: Vec::new(),
        },
        ..serve_options(start_engine(options()))
    };
    let server = Server::start(options).expect("starts");
    let address = server.address();
    let ask = |lines: &str| ask(address, "GET", "/v1/models", lines, "").status;
    assert_eq!(ask("Host: llm.example\r\nAuthorization: Bearer k\r\n"), 200);
    assert_eq!(ask("Host: llm.example\r\n"), 401);
    let with_key = "Host: h\r\nAuthorization: Bearer k\r\nOrigin: ";
    assert_eq!(ask(&format!("{with_key}https://chat.example\r\n")), 200);
    assert_eq!(ask(&format!("{with_key}https://evil.example\r\n")), 403);
}

#[test]
fn slow_clients_end_and_others_are_answered() {
    let limits = Limits {
        head: Duration::from_millis(500),
        body: Duration::from_millis(500),
        ..Limits::default()
    };
    let options = ServeOptions { limits, ..serve_options(start_engine(options())) };
    let server = Server::start(options).expect("starts");
    let address = server.address();
    let begin = |text: &str| {
        let mut stream = TcpStream::connect(address).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream.write_all(text.as_bytes()).expect("sends");
        stream
    };
    let mut halves: Vec<TcpStream> =
        (0..100).map(|_| begin("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nX")).collect();
    let body = "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{";
    let bodies: Vec<TcpStream> = (0..20).map(|_| begin(body)).collect();
    assert_eq!(get(address, "/health").status, 200);
    for stream in &mut halves {
        let mut rest = Vec::new();
        // A reset is an end too, a timeout is not.
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
    }
    for stream in bodies {
        let answer = receive(stream);
        assert_eq!(answer.status, 408, "{}", answer.text());
        assert!(answer.json()["error"]["message"].is_string());
    }
}
