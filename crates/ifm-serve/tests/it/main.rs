//! The server from outside, over plain sockets.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::OnceLock,
};

use ifm_engine::{Engine, EngineHandle, EngineOptions, ModelSource, Preset, Quantization};
use ifm_serve::{ServeOptions, Server};
use serde_json::{Value, json};

mod answers;
mod audio;
mod browsers;
mod errors;
mod faults;
mod foreign;
mod media;
mod operations;
mod simulated;
mod streams;

fn start_engine(options: EngineOptions) -> EngineHandle {
    let source =
        ModelSource::Preset { preset: Preset::Nano, quantization: Quantization::Q8_0, seed: 1 };
    Engine::load(&source, options).expect("nano starts")
}

fn options() -> EngineOptions {
    EngineOptions { context: Some(512), max_batch: 16, ..EngineOptions::suggested() }
}

fn serve_options(engine: EngineHandle) -> ServeOptions {
    ServeOptions {
        body_bytes_max: 100_000,
        ..ServeOptions::new(SocketAddr::from(([127, 0, 0, 1], 0)), engine)
    }
}

/// The value of a sample, by the start of its line.
fn sample(page: &str, start: &str) -> f64 {
    page.lines()
        .find(|line| line.starts_with(start))
        .and_then(|line| line.rsplit(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("no {start} in: {page}"))
}

/// The server that tests share when they do not look at its counters.
fn shared() -> SocketAddr {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let start = || Server::start(serve_options(start_engine(options()))).expect("starts");
    SERVER.get_or_init(start).address()
}

/// An answer: status, head, the chunks of the body as they were framed.
struct Answer {
    status: u16,
    head: String,
    chunks: Vec<String>,
}

impl Answer {
    fn text(&self) -> String {
        self.chunks.concat()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    /// The objects of an event stream; asserts its end.
    fn events(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", self.text());
        let text = self.text();
        let text = text.strip_suffix("data: [DONE]\n\n").expect("a stream ends with [DONE]");
        text.split_terminator("\n\n").map(parse_event).collect()
    }
}

fn parse_event(event: &str) -> Value {
    let data = event.strip_prefix("data: ").expect("one data line");
    serde_json::from_str(data).expect("valid JSON")
}

fn send(address: SocketAddr, head: &str, body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("connects");
    let head = format!(
        "{head}\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("sends");
    // A server that refuses the head may close before it has read the body.
    let _ = stream.write_all(body);
    stream
}

fn receive(stream: TcpStream) -> Answer {
    let mut reader = BufReader::new(stream);
    let head = read_head(&mut reader);
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    let mut chunks = Vec::new();
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        while let Some(chunk) = read_chunk(&mut reader) {
            chunks.push(chunk);
        }
    } else {
        let mut body = String::new();
        reader.read_to_string(&mut body).expect("text");
        chunks.push(body);
    }
    Answer { status, head, chunks }
}

fn read_head(reader: &mut impl BufRead) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).expect("a head") > 0, "closed in the head: {head}");
    }
    head
}

fn read_chunk(reader: &mut impl BufRead) -> Option<String> {
    let mut size = String::new();
    reader.read_line(&mut size).expect("a size");
    let size = usize::from_str_radix(size.trim(), 16).expect("hexadecimal");
    let mut chunk = vec![0; size + 2];
    reader.read_exact(&mut chunk).expect("a whole chunk");
    chunk.truncate(size);
    (size > 0).then(|| String::from_utf8(chunk).expect("text"))
}

fn get(address: SocketAddr, path: &str) -> Answer {
    receive(send(address, &format!("GET {path} HTTP/1.1"), b""))
}

fn post(address: SocketAddr, path: &str, body: &Value) -> Answer {
    post_bytes(address, path, body.to_string().as_bytes())
}

fn post_bytes(address: SocketAddr, path: &str, body: &[u8]) -> Answer {
    let head = format!("POST {path} HTTP/1.1\r\nContent-Type: application/json");
    receive(send(address, &head, body))
}

/// A greedy chat of a fixed length.
fn chat(text: &str, max_tokens: usize) -> Value {
    json!({
        "model": "nano",
        "messages": [{"role": "user", "content": text}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "ignore_eos": true,
    })
}

fn with(mut body: Value, fields: &Value) -> Value {
    for (name, value) in fields.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}
