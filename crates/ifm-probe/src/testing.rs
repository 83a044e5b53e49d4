//! A server that answers by a function, child processes, and waiting for conditions, for the tests
//! of this crate and of its callers.
#![allow(clippy::unwrap_used, reason = "only tests use it")]

use crate::preflight::{FieldRules, Preflight};
use crate::traced_client::{Caller, Endpoint};
use crate::url::BaseUrl;
use ifm_core::spec::Api;
use ifm_wire::request::TemplateSpec;
use ifm_wire::{Expect, RequestTemplate};
use serde_json::{Map, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A process that is an ignored test of this binary.
pub fn process(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", test]);
    command
}

/// The common part of chat requests, streamed or not.
pub fn chat_template(stream: bool) -> RequestTemplate {
    RequestTemplate::new(&TemplateSpec {
        api: Api::Chat,
        host: "h",
        path: "/v1/chat/completions",
        model: "m",
        authorization: None,
        headers: &[],
        stream,
        ignore_eos: false,
        temperature: None,
        extra_body: &Map::new(),
    })
    .unwrap()
}

/// Preflight requests for whole chat answers.
pub fn preflight(endpoint: Endpoint) -> Preflight {
    let expect = Expect { api: Api::Chat, keep_text: false, stream: false };
    let caller = Caller::new(endpoint);
    Preflight::new(caller, chat_template(false), expect, FieldRules::default())
}

/// Waits until a condition holds; the limit is for conditions that never will.
#[track_caller]
pub fn eventually(mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < until, "it is not so after two minutes");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// One request as the server saw it.
pub struct Asked {
    /// `GET` or `POST`.
    pub method: String,
    /// The path.
    pub path: String,
    /// The body; null without one.
    pub body: Value,
}

/// The server's answer.
pub enum Said {
    /// A JSON document with this status.
    Json(u16, Value),
    /// A stream of events, followed by the end mark of OpenAI's APIs.
    Events(Vec<Value>),
    /// The same with a pause before each event; answers with the same lock are sent one after
    /// another.
    Paced(Vec<Value>, Duration, Option<Arc<Mutex<()>>>),
    /// Raw bytes, after which the connection is closed.
    Cut(String),
    /// Nothing: the connection stays open and silent.
    Silence,
}

/// Starts a server that answers each request by `say`, and keeps connections open.
pub fn server(say: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || answer(&listener, say));
    let (url, _) = BaseUrl::parse(&format!("http://{address}")).unwrap();
    Endpoint {
        url,
        address,
        tls: None,
        authorization: None,
        headers: Vec::new(),
        secrets: Arc::default(),
    }
}

/// Answers each request to a listener by `say`, forever.
pub fn answer(listener: &TcpListener, say: impl Fn(&Asked) -> Said + Send + Sync + 'static) {
    let say = Arc::new(say);
    for stream in listener.incoming() {
        let (stream, say) = (stream.unwrap(), say.clone());
        std::thread::spawn(move || serve(stream, &*say));
    }
}

fn serve(mut stream: TcpStream, say: &dyn Fn(&Asked) -> Said) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(asked) = read(&mut reader) {
        let said = match say(&asked) {
            Said::Silence => {
                // Until the client disconnects.
                let _ = reader.read(&mut [0]);
                return;
            }
            Said::Cut(bytes) => {
                // The client may have disconnected.
                let _ = stream.write_all(bytes.as_bytes());
                return;
            }
            Said::Paced(events, pause, lock) => {
                let held = lock.as_ref().map(|lock| lock.lock().unwrap());
                // The client may have disconnected.
                if write_paced(&mut stream, events, pause).is_err() {
                    return;
                }
                drop(held);
                continue;
            }
            Said::Json(status, body) => with_length(status, "application/json", &body.to_string()),
            Said::Events(events) => with_length(200, "text/event-stream", &lines(events).concat()),
        };
        // The client may have disconnected.
        if stream.write_all(said.as_bytes()).is_err() {
            return;
        }
    }
}

fn lines(events: Vec<Value>) -> Vec<String> {
    let end = std::iter::once("data: [DONE]\n\n".to_owned());
    events.iter().map(|event| format!("data: {event}\n\n")).chain(end).collect()
}

fn write_paced(stream: &mut TcpStream, events: Vec<Value>, pause: Duration) -> std::io::Result<()> {
    let lines = lines(events);
    let length: usize = lines.iter().map(String::len).sum();
    let head = "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nContent-Length:";
    stream.set_nodelay(true)?;
    stream.write_all(format!("{head} {length}\r\n\r\n").as_bytes())?;
    for line in lines {
        std::thread::sleep(pause);
        stream.write_all(line.as_bytes())?;
    }
    Ok(())
}

fn with_length(status: u16, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut length = 0;
    loop {
        let mut field = String::new();
        reader.read_line(&mut field).ok().filter(|bytes| *bytes > 0)?;
        let Some((name, value)) = field.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { method, path, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}
