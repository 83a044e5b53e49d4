//! A server for the tests of this crate that answers by a function, processes that tests start, and
//! waiting for what happens.

use crate::caller::{Caller, Endpoint};
use crate::preflight::{FieldRules, Preflight};
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

/// A process that lives in this binary as an ignored test.
pub fn process(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", test]);
    command
}

/// What requests of a chat have in common, streamed or not.
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

/// Requests before a load of whole chat answers.
pub fn preflight(endpoint: Endpoint) -> Preflight {
    let expect = Expect { api: Api::Chat, keep_text: false, stream: false };
    let caller = Caller::new(endpoint);
    Preflight::new(caller, chat_template(false), expect, FieldRules::default())
}

/// Waits until something is so; the limit is for what will never be.
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
    /// The body; null where there is none.
    pub body: Value,
}

/// What it answers.
pub enum Said {
    /// A JSON document with this status.
    Json(u16, Value),
    /// A stream of events, with the end mark of OpenAI's APIs behind them.
    Events(Vec<Value>),
    /// The same with a pause before each event; those of one lock come one answer after the other.
    Paced(Vec<Value>, Duration, Option<Arc<Mutex<()>>>),
    /// Bytes as they are, after which the connection is closed.
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

/// Answers each request to a listener by `say`, for ever.
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
                // Until the client has gone.
                let _ = reader.read(&mut [0]);
                return;
            }
            Said::Cut(bytes) => {
                // The client may have gone.
                let _ = stream.write_all(bytes.as_bytes());
                return;
            }
            Said::Paced(events, pause, lock) => {
                let held = lock.as_ref().map(|lock| lock.lock().unwrap());
                // The client may have gone.
                if write_paced(&mut stream, events, pause).is_err() {
                    return;
                }
                drop(held);
                continue;
            }
            Said::Json(status, body) => with_length(status, "application/json", &body.to_string()),
            Said::Events(events) => with_length(200, "text/event-stream", &lines(events).concat()),
        };
        // The client may have gone.
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
