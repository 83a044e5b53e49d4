//! Sends one question at a time to a server, outside any load, and returns the raw response with the time
//! of each read. The run's own decoder reads it afterwards, so that a question before a run sees what the
//! run will see.
//!
//! Blocking, with one connection that is kept open between questions. Every question has a time limit,
//! and the user's limits for requests also apply.

use crate::url::BaseUrl;
use ifm_core::outcome::TimeoutKind;
use ifm_core::spec::LimitSpec;
use ifm_drive::TlsTarget;
use ifm_terminal::secrets::Secrets;
use ifm_wire::{Answer, EndCause, ExchangeDecoder, Expect, ResponseReader, Step};
use rustls::{ClientConnection, ProtocolVersion, StreamOwned};
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of bytes of an answer to keep; a longer answer is cut off.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Maximum number of bytes per read.
const READ_BYTES: usize = 64 * 1024;

/// The server, and what to show of its answers.
#[derive(Clone)]
pub struct Endpoint {
    /// Base URL, for the `Host` header and the paths.
    pub url: BaseUrl,
    /// Its address.
    pub address: SocketAddr,
    /// TLS, if the URL asks for it.
    pub tls: Option<TlsTarget>,
    /// Value of the `Authorization` header. Never stored, never printed.
    pub authorization: Option<String>,
    /// More headers. Never stored, never printed.
    pub headers: Vec<(String, String)>,
    /// What to redact in the server's text.
    pub secrets: Arc<Secrets>,
}

/// Time limits of single requests, as in a load. Absent means none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallLimits {
    /// TCP and TLS handshake.
    pub connect: Option<Duration>,
    /// Start to first token.
    pub first_token: Option<Duration>,
    /// Silence after the first token; also before it if `first_token` is absent.
    pub idle: Option<Duration>,
    /// Whole request.
    pub total: Option<Duration>,
}

impl CallLimits {
    /// The limits of a load.
    pub fn of(spec: &LimitSpec) -> CallLimits {
        let span = |seconds: Option<f64>| Duration::try_from_secs_f64(seconds?).ok();
        CallLimits {
            connect: span(spec.connect_s),
            first_token: span(spec.first_token_s),
            idle: span(spec.idle_s),
            total: span(spec.total_s),
        }
    }
}

/// When to give up on an exchange.
struct Deadlines {
    /// The end of the whole exchange.
    until: Instant,
    /// The first token; absent if it is not awaited.
    first_token: Option<Instant>,
    /// Maximum silence after it.
    idle: Option<Duration>,
    /// Finds the first token; absent if it is not awaited.
    decoder: Option<ExchangeDecoder>,
    last_read: Instant,
}

impl Deadlines {
    fn has_token(&self) -> bool {
        self.decoder.as_ref().is_none_or(ExchangeDecoder::has_token)
    }

    /// The next time at which to give up on the exchange, and the limit that it would then exceed.
    fn next(&self) -> (Instant, TimeoutKind) {
        let idle = self.idle.map(|idle| (self.last_read + idle, TimeoutKind::Idle));
        let first = self.first_token.map(|first| (first, TimeoutKind::FirstToken));
        let next = if self.has_token() { idle } else { first.or(idle) };
        let total = (self.until, TimeoutKind::Total);
        next.filter(|(at, _)| *at < self.until).unwrap_or(total)
    }

    fn feed(&mut self, bytes: &[u8], at_ns: u64) {
        self.last_read = Instant::now();
        if let Some(decoder) = &mut self.decoder {
            decoder.feed(bytes, at_ns);
        }
    }
}

/// Asks one question after another.
pub struct Caller {
    endpoint: Endpoint,
    limits: CallLimits,
    connection: Option<Connection>,
    calls: u32,
    tls_version: Option<ProtocolVersion>,
}

enum Connection {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// The response to one question. Times are on the monotonic clock, nanoseconds.
pub struct Reply {
    secrets: Arc<Secrets>,
    reads: Vec<(Vec<u8>, u64)>,
    cause: EndCause,
    /// When sending began, on an open connection.
    pub start_ns: u64,
    /// When its last byte was passed to the system; equal to `start_ns` if that was not reached.
    pub sent_ns: u64,
    /// When the answer ended, or was given up on.
    pub end_ns: u64,
    /// Time to connect, TLS included; absent if a connection was already open.
    pub connect_ns: Option<u64>,
}

impl Caller {
    /// Does not send anything yet.
    pub fn new(endpoint: Endpoint) -> Caller {
        let limits = CallLimits::default();
        Caller { endpoint, limits, connection: None, calls: 0, tls_version: None }
    }

    /// Applies these limits to each question, in addition to its own.
    pub fn with_limits(self, limits: CallLimits) -> Caller {
        Caller { limits, ..self }
    }

    /// The limits that apply to each question.
    pub fn limits(&self) -> CallLimits {
        self.limits
    }

    /// The server that it asks.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Questions asked so far.
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// The negotiated version of TLS.
    pub fn tls_version(&self) -> Option<&'static str> {
        match self.tls_version? {
            ProtocolVersion::TLSv1_2 => Some("1.2"),
            ProtocolVersion::TLSv1_3 => Some("1.3"),
            _ => None,
        }
    }

    /// Asks for a document at a path from the server's root.
    pub fn get(&mut self, path: &str, more: &[(&str, &str)], limit: Duration) -> Reply {
        let head = self.head("GET", path, more);
        self.send(&[head.as_bytes(), b"\r\n"].concat(), limit)
    }

    /// Sends a JSON document to a path from the server's root.
    pub fn post(&mut self, path: &str, body: &Value, limit: Duration) -> Reply {
        let body = body.to_string();
        let length = body.len().to_string();
        let more = [("Content-Type", "application/json"), ("Content-Length", length.as_str())];
        let head = self.head("POST", path, &more);
        self.send(&[head.as_bytes(), b"\r\n", body.as_bytes()].concat(), limit)
    }

    fn head(&self, method: &str, path: &str, more: &[(&str, &str)]) -> String {
        let endpoint = &self.endpoint;
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: inferometer\r\n",
            endpoint.url.authority()
        );
        let key = endpoint.authorization.as_deref().map(|value| ("Authorization", value));
        let own = endpoint.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in key.into_iter().chain(own).chain(more.iter().copied()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head
    }

    /// Opens the connection if none is open, so that the next request starts at once. If this
    /// fails, that request fails again, with a reason.
    pub fn open(&mut self, limit: Duration) {
        if self.connection.is_none() {
            self.connection = self.connect(Instant::now() + limit).ok();
        }
    }

    /// Sends a whole request as bytes and waits for the whole answer, with `limit` for both
    /// together.
    pub fn send(&mut self, request: &[u8], limit: Duration) -> Reply {
        // The answer is not a stream of tokens: the first one is all of it.
        let limit = self.limits.first_token.map_or(limit, |first| first.min(limit));
        self.send_and_watch(request, None, limit)
    }

    /// Sends a request of an API and waits for the whole answer. Its first token and its silences have
    /// their own limits.
    pub fn ask(&mut self, request: &[u8], expect: Expect, limit: Duration) -> Reply {
        self.send_and_watch(request, Some(expect), limit)
    }

    fn send_and_watch(&mut self, request: &[u8], expect: Option<Expect>, limit: Duration) -> Reply {
        self.calls += 1;
        let limit = self.limits.total.map_or(limit, |total| total.min(limit));
        let until = Instant::now() + limit;
        let was_open = self.connection.is_some();
        let reply = self.exchange(request, expect, until);
        // The server may have closed an idle connection: that is not an answer.
        let is_stale = was_open && reply.reads.is_empty() && !reply.is_late();
        if is_stale { self.exchange(request, expect, until) } else { reply }
    }

    fn exchange(&mut self, request: &[u8], expect: Option<Expect>, until: Instant) -> Reply {
        let opened_ns = ifm_sys::mono_ns();
        let is_kept = self.connection.is_some();
        let connected = match self.connection.take() {
            Some(connection) => Ok(connection),
            None => {
                let connect = self.limits.connect.map(|connect| Instant::now() + connect);
                self.connect(connect.map_or(until, |connect| connect.min(until)))
            }
        };
        let start_ns = ifm_sys::mono_ns();
        let begun = Instant::now();
        let mut deadlines = Deadlines {
            until,
            first_token: self.limits.first_token.map(|first| begun + first),
            idle: self.limits.idle,
            decoder: expect.map(ExchangeDecoder::new),
            last_read: begun,
        };
        let mut reply = Reply {
            secrets: self.endpoint.secrets.clone(),
            reads: Vec::new(),
            cause: EndCause::Complete,
            start_ns,
            sent_ns: start_ns,
            end_ns: 0,
            connect_ns: None,
        };
        reply.connect_ns = (!is_kept).then(|| reply.start_ns - opened_ns);
        reply.cause = match connected {
            Ok(mut connection) => {
                match converse(&mut connection, request, &mut deadlines, &mut reply) {
                    Ok(is_kept) => {
                        self.connection = is_kept.then_some(connection);
                        EndCause::Complete
                    }
                    Err(cause) => cause,
                }
            }
            Err(error) => cause_of(&error, TimeoutKind::Connect),
        };
        reply.end_ns = ifm_sys::mono_ns();
        reply
    }

    fn connect(&mut self, until: Instant) -> std::io::Result<Connection> {
        let socket = TcpStream::connect_timeout(&self.endpoint.address, left(until)?)?;
        socket.set_nodelay(true)?;
        let Some(tls) = &self.endpoint.tls else { return Ok(Connection::Plain(socket)) };
        let session = tls.session().map_err(std::io::Error::other)?;
        let mut stream = StreamOwned::new(session, socket);
        while stream.conn.is_handshaking() {
            set_limits(&stream.sock, until)?;
            stream.conn.complete_io(&mut stream.sock)?;
        }
        self.tls_version = stream.conn.protocol_version();
        Ok(Connection::Tls(Box::new(stream)))
    }
}

/// Sends and reads to the end of the answer; true if the connection can be reused.
fn converse(
    connection: &mut Connection,
    request: &[u8],
    deadlines: &mut Deadlines,
    reply: &mut Reply,
) -> Result<bool, EndCause> {
    let (until, kind) = deadlines.next();
    let broken = |error: std::io::Error| cause_of(&error, kind);
    connection.limit(until).map_err(broken)?;
    connection.write_all(request).map_err(broken)?;
    reply.sent_ns = ifm_sys::mono_ns();
    let mut reader = ResponseReader::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut kept = 0;
    while !reader.is_complete() {
        let (until, kind) = deadlines.next();
        let broken = |error: std::io::Error| cause_of(&error, kind);
        connection.limit(until).map_err(broken)?;
        let bytes = match connection.read(&mut buffer) {
            Ok(0) => return closed(&mut reader),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // TLS closed without close_notify: the framing shows whether the answer was complete.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return closed(&mut reader),
            Err(error) => return Err(broken(error)),
        };
        let mut input = &buffer[..bytes];
        let at_ns = ifm_sys::mono_ns();
        deadlines.feed(input, at_ns);
        reply.reads.push((input.to_vec(), at_ns));
        kept += bytes;
        if kept > ANSWER_BYTES_MAX {
            return Err(EndCause::Cancelled);
        }
        loop {
            match reader.step(&mut input) {
                Ok(Step::NeedMore | Step::End) => break,
                Ok(Step::Head | Step::Body(_)) => {}
                Err(error) => return Err(EndCause::Broken(error.to_string())),
            }
        }
    }
    Ok(reader.head().is_some_and(|head| head.keep_alive))
}

/// The connection has ended, and with it a body without any other framing.
fn closed(reader: &mut ResponseReader) -> Result<bool, EndCause> {
    reader.end_of_connection().map(|()| false).map_err(|_| EndCause::Closed)
}

impl Connection {
    fn limit(&self, until: Instant) -> std::io::Result<()> {
        match self {
            Connection::Plain(socket) => set_limits(socket, until),
            Connection::Tls(stream) => set_limits(&stream.sock, until),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Connection::Plain(socket) => socket.write_all(bytes),
            Connection::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Connection::Plain(socket) => socket.read(buffer),
            Connection::Tls(stream) => stream.read(buffer),
        }
    }
}

fn left(until: Instant) -> std::io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn set_limits(socket: &TcpStream, until: Instant) -> std::io::Result<()> {
    let left = left(until)?;
    socket.set_read_timeout(Some(left))?;
    socket.set_write_timeout(Some(left))
}

fn cause_of(error: &std::io::Error, kind: TimeoutKind) -> EndCause {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => EndCause::TimedOut(kind),
        _ => EndCause::Broken(error.to_string()),
    }
}

impl Reply {
    /// The response as the run's decoder reads it.
    pub fn answer(&self, expect: Expect) -> Answer {
        let mut decoder = ExchangeDecoder::new(expect);
        self.reads.iter().for_each(|(bytes, at_ns)| decoder.feed(bytes, *at_ns));
        let mut answer = decoder.finish(self.cause.clone(), expect);
        self.secrets.blot_answer(&mut answer);
        answer
    }

    /// All received bytes.
    pub fn response(&self) -> Vec<u8> {
        self.reads.iter().flat_map(|(bytes, _)| bytes).copied().collect()
    }

    /// Whether the connection failed, or ended before the answer did.
    pub fn is_cut(&self) -> bool {
        matches!(self.cause, EndCause::Broken(_) | EndCause::Closed)
    }

    /// Whether a time limit ended it.
    pub fn is_late(&self) -> bool {
        matches!(self.cause, EndCause::TimedOut(_))
    }

    /// The status, once a response head was received.
    pub fn status(&self) -> Option<u16> {
        let line = self.head();
        line.lines().next()?.split(' ').nth(1)?.parse().ok()
    }

    /// Whether the status is success and the answer is complete.
    pub fn is_success(&self) -> bool {
        self.cause == EndCause::Complete
            && self.status().is_some_and(|status| (200..300).contains(&status))
    }

    /// The value of a header field, as sent.
    pub fn header(&self, name: &str) -> Option<String> {
        let head = self.head();
        let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let (_, value) = fields.find(|(found, _)| found.trim().eq_ignore_ascii_case(name))?;
        Some(self.secrets.blot(value.trim()).into_owned())
    }

    fn head(&self) -> String {
        let mut head = Vec::new();
        for (bytes, _) in &self.reads {
            head.extend_from_slice(bytes);
            if let Some(end) = head.windows(4).position(|part| part == b"\r\n\r\n") {
                head.truncate(end);
                break;
            }
        }
        String::from_utf8_lossy(&head).into_owned()
    }

    /// The body without its framing, as far as it was received.
    pub fn body(&self) -> Vec<u8> {
        let mut reader = ResponseReader::new();
        let mut body = Vec::new();
        for (bytes, _) in &self.reads {
            let mut input = bytes.as_slice();
            while let Ok(step) = reader.step(&mut input) {
                match step {
                    Step::Body(part) => body.extend_from_slice(part),
                    Step::Head => {}
                    Step::NeedMore | Step::End => break,
                }
            }
        }
        body
    }

    /// From the first byte sent to the end of the answer, nanoseconds.
    pub fn took_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Why there is no valid answer, in one sentence without an end mark.
    pub fn fault(&self) -> String {
        let says = ifm_wire::dialect::error_sentence(&self.body());
        let says = self.secrets.blot(&says);
        match (&self.cause, self.status()) {
            (EndCause::TimedOut(TimeoutKind::Connect), _) => {
                let took_ns = self.connect_ns.unwrap_or_default();
                format!("no connection within {:.1} s", took_ns as f64 / 1e9)
            }
            (EndCause::TimedOut(TimeoutKind::Idle), _) => {
                format!("the answer stopped: gave up after {:.1} s", self.took_ns() as f64 / 1e9)
            }
            (EndCause::TimedOut(_), _) => {
                format!("no answer within {:.1} s", self.took_ns() as f64 / 1e9)
            }
            (EndCause::Cancelled, _) => "an answer that does not end".to_owned(),
            (EndCause::Refused, _) => "the answer is too large".to_owned(),
            (EndCause::Broken(error), _) => format!("the connection broke: {error}"),
            (EndCause::Closed, _) => "the connection was closed during the answer".to_owned(),
            (EndCause::Complete, Some(status)) if says.is_empty() => format!("HTTP {status}"),
            (EndCause::Complete, Some(status)) => format!("HTTP {status}: {says}"),
            (EndCause::Complete, None) => "no HTTP".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::spec::Api;
    use std::net::TcpListener;

    /// A server that returns these bytes to one connection after another, and closes it.
    fn canned(answers: &'static [&'static str]) -> Caller {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 4096];
                assert!(stream.read(&mut request).unwrap() > 0);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let (url, _) = BaseUrl::parse(&format!("http://{address}")).unwrap();
        let headers = vec![("X-Mine".to_owned(), "1".to_owned())];
        let secrets = Arc::default();
        Caller::new(Endpoint { url, address, tls: None, authorization: None, headers, secrets })
    }

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn an_answer_is_there_raw_and_decoded() {
        let mut caller =
            canned(&["HTTP/1.1 200 OK\r\nServer: x\r\n\r\n{\"choices\":[{\"index\":0,\
             \"text\":\"a b\",\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":7}  }"]);
        let reply = caller.get("/v1/completions", &[], LIMIT);
        assert!(reply.is_success(), "{}", reply.fault());
        assert_eq!((reply.status(), reply.header("SERVER").as_deref()), (Some(200), Some("x")));
        assert!(reply.body().ends_with(b"}  }"));
        let answer = reply.answer(Expect { api: Api::Completions, keep_text: true, stream: true });
        assert_eq!(answer.prompt_tokens.unwrap().tokens, 7);
        assert_eq!((answer.text.as_deref(), caller.calls()), (Some("a b"), 1));
    }

    #[test]
    fn a_connection_that_was_closed_meanwhile_is_opened_again() {
        const ANSWER: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno";
        let mut caller = canned(&[ANSWER, ANSWER]);
        for _ in 0..2 {
            let reply = caller.get("/x", &[], LIMIT);
            assert_eq!((reply.status(), reply.fault().as_str()), (Some(404), "HTTP 404: no"));
            assert!(reply.connect_ns.is_some());
        }
    }

    #[test]
    fn what_is_no_answer_is_told() {
        let fault = |answer: &'static [&'static str]| canned(answer).get("/", &[], LIMIT).fault();
        assert!(fault(&["SSH-2.0-x\r\n"]).contains("did not answer with HTTP"));
        assert!(fault(&["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab"]).contains("was closed"));
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut endpoint = canned(&[]).endpoint().clone();
        endpoint.address = silent.local_addr().unwrap();
        let reply = Caller::new(endpoint).get("/", &[], Duration::from_millis(20));
        assert!(reply.is_late() && reply.fault().starts_with("no answer within"));
    }

    /// A server that sends these parts of a stream, each after a pause, and then nothing.
    fn slow_stream(parts: &'static [(u64, &'static str)]) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            for (pause_ms, part) in parts {
                std::thread::sleep(Duration::from_millis(*pause_ms));
                stream.write_all(part.as_bytes()).unwrap();
            }
            // Until the client disconnects.
            let _ = stream.read(&mut [0]);
        });
        let (url, _) = BaseUrl::parse(&format!("http://{address}")).unwrap();
        let secrets = Arc::default();
        Endpoint { url, address, tls: None, authorization: None, headers: Vec::new(), secrets }
    }

    #[test]
    fn the_limits_of_a_load_hold_for_single_requests() {
        const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: wait\n\n";
        const TOKEN: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
        let short = Some(Duration::from_millis(60));
        let expect = Expect { api: Api::Chat, keep_text: false, stream: true };
        let ended = |parts, limits: CallLimits| {
            let mut caller = Caller::new(slow_stream(parts)).with_limits(limits);
            let reply = caller.ask(b"POST / HTTP/1.1\r\n\r\n", expect, LIMIT);
            assert!(reply.took_ns() < LIMIT.as_nanos() as u64 / 2, "{}", reply.fault());
            reply.cause
        };
        let late = |kind| EndCause::TimedOut(kind);
        let first_token = CallLimits { first_token: short, ..CallLimits::default() };
        // A comment is not a token.
        assert_eq!(ended(&[(0, HEAD)], first_token), late(TimeoutKind::FirstToken));
        let idle = CallLimits { idle: short, ..CallLimits::default() };
        let parts: &[(u64, &str)] = &[(0, HEAD), (0, TOKEN)];
        assert_eq!(ended(parts, idle), late(TimeoutKind::Idle));
        let total = CallLimits { total: short, ..CallLimits::default() };
        assert_eq!(ended(parts, total), late(TimeoutKind::Total));
        // Before the first token only its own limit applies.
        let both =
            CallLimits { first_token: Some(LIMIT / 4), idle: short, ..CallLimits::default() };
        assert_eq!(ended(&[(0, HEAD), (200, TOKEN)], both), late(TimeoutKind::Idle));
        let mut silent = Caller::new(slow_stream(&[])).with_limits(first_token);
        assert!(silent.get("/", &[], LIMIT).is_late());
    }
}
