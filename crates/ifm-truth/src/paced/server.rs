//! The event loop: requests in, tokens out.

use super::pace::Pace;
use super::queue::Stations;
use super::stream::{Stream, Turn};
use super::template::Template;
use super::{PacedLog, PacedOptions, Served, TokenStamp};
use crate::listen::{Arrival, Stamper, accept};
use crate::request::{Progress, Request, RequestReader};
use crate::truth::Api;
use ifm_sys::{Interest, Poller, Ready, mono_ns, recv_stamped};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Poller token of the stop signal.
pub const STOP_TOKEN: u64 = u64::MAX;

/// Poller token of the listener.
const LISTEN_TOKEN: u64 = u64::MAX - 1;

/// Bytes per receive: the larger, the fewer system calls a long prompt takes.
const READ_BYTES: usize = 256 * 1024;

/// Bytes of the first receive of a request.
const FRONT_BYTES: usize = 64;

/// Input that a client may send ahead of the end of its former answer, bytes.
const AHEAD_BYTES_MAX: usize = 1 << 20;

/// Connections served between two checks of the clock of due times and at the poller.
const TURNS_PER_LOOK: usize = 256;

/// A connection by its place in the table and its number, which distinguishes it from a previous
/// holder of the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seat {
    place: u32,
    number: u64,
}

#[derive(Debug)]
struct Connection {
    number: u64,
    stream: TcpStream,
    accepted_ns: u64,
    reader: RequestReader,
    first_byte: Option<Arrival>,
    requests: u32,
    answer: Option<(Stream, Served)>,
    waits_for_room: bool,
    /// Whether it is not read for a while.
    rests: bool,
    /// Input that came while an answer was on its way.
    ahead: Vec<u8>,
    ahead_arrival: Option<Arrival>,
}

/// The outcome of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It waits for its client or for room.
    Waits,
    /// It waits for a due time.
    Due(u64),
    /// It has more to send at once.
    Runs,
    Ends,
}

/// The loop's state.
#[derive(Debug)]
pub struct Server {
    options: PacedOptions,
    chat: Arc<Template>,
    completions: Arc<Template>,
    listener: TcpListener,
    poller: Poller,
    connections: Vec<Option<Connection>>,
    free: Vec<u32>,
    accepted: u64,
    due: BinaryHeap<Reverse<(u64, Seat)>>,
    running: VecDeque<Seat>,
    buffer: Vec<u8>,
    front: Vec<u8>,
    stamper: Stamper,
    stations: Option<Stations>,
    /// Requests whose answer was begun.
    begun: u64,
    stamps: usize,
    log: PacedLog,
}

impl Server {
    pub fn new(options: PacedOptions, listener: TcpListener, poller: Poller) -> io::Result<Server> {
        poller.add(&listener, LISTEN_TOKEN, Interest::Read)?;
        Ok(Server {
            stations: options.stations.map(Stations::new),
            options,
            chat: Arc::new(Template::new(Api::Chat)),
            completions: Arc::new(Template::new(Api::Completions)),
            listener,
            poller,
            connections: Vec::new(),
            free: Vec::new(),
            accepted: 0,
            due: BinaryHeap::new(),
            running: VecDeque::new(),
            buffer: Vec::with_capacity(READ_BYTES),
            front: Vec::with_capacity(FRONT_BYTES),
            stamper: Stamper::default(),
            begun: 0,
            stamps: 0,
            log: PacedLog::default(),
        })
    }

    /// Serves until the stop signal. An error of the poller ends the server too: clients then
    /// see their connections close.
    pub fn run(mut self) -> PacedLog {
        if let Some(cpu) = self.options.cpu {
            // A processor that does not exist leaves the thread where it is.
            ifm_sys::thread::pin_to(&[cpu]).ok();
        }
        ifm_sys::thread::sharpen_timers();
        while self.look() {
            for _ in 0..self.running.len().min(TURNS_PER_LOOK) {
                if let Some(seat) = self.running.pop_front() {
                    self.with(seat, Server::send_burst);
                }
            }
            let now_ns = mono_ns();
            while let Some(Reverse((due_ns, seat))) = self.due.peek().copied() {
                if due_ns > now_ns {
                    break;
                }
                self.due.pop();
                self.running.push_back(seat);
            }
        }
        for connection in std::mem::take(&mut self.connections).into_iter().flatten() {
            self.drop_connection(connection);
        }
        self.log.cpu_ns = ifm_sys::thread_cpu_ns();
        self.log
    }

    /// Waits for clients, or for the next due time, and serves who is ready; false at the end.
    fn look(&mut self) -> bool {
        let rests = self.options.rest_ns.filter(|_| self.running.is_empty());
        if let Some(rest_ns) = rests {
            std::thread::sleep(std::time::Duration::from_nanos(rest_ns));
        }
        let timeout_ns = match self.due.peek() {
            _ if rests.is_some() => Some(0),
            _ if !self.running.is_empty() => Some(0),
            Some(Reverse((due_ns, _))) => {
                Some(due_ns.saturating_sub(mono_ns()).saturating_sub(self.options.spin_ns))
            }
            None => None,
        };
        let Ok(count) = self.poller.wait(timeout_ns) else { return false };
        for index in 0..count {
            let ready = self.poller.ready(index);
            match ready.token {
                STOP_TOKEN => return false,
                LISTEN_TOKEN => self.accept_all(),
                place => self.serve(place as u32, ready),
            }
        }
        true
    }

    /// Runs something on a connection and puts the connection where it then belongs.
    fn with(&mut self, seat: Seat, act: impl FnOnce(&mut Server, &mut Connection, u32) -> Fate) {
        let Some(slot) = self.connections.get_mut(seat.place as usize) else { return };
        if slot.as_ref().is_none_or(|connection| connection.number != seat.number) {
            return;
        }
        let Some(mut connection) = slot.take() else { return };
        match act(self, &mut connection, seat.place) {
            Fate::Ends => {
                self.drop_connection(connection);
                self.free.push(seat.place);
                return;
            }
            Fate::Waits => {}
            Fate::Due(due_ns) => self.due.push(Reverse((due_ns, seat))),
            Fate::Runs => self.running.push_back(seat),
        }
        if let Some(slot) = self.connections.get_mut(seat.place as usize) {
            *slot = Some(connection);
        }
    }

    fn drop_connection(&mut self, connection: Connection) {
        if let Some((_, served)) = connection.answer {
            self.log.served.push(served);
        }
    }

    fn accept_all(&mut self) {
        while let Ok(Some(stream)) = accept(&self.listener) {
            let held = self.connections.len() - self.free.len();
            if held >= self.options.connections_max {
                self.log.connections_refused += 1;
                continue;
            }
            let place = self.free.pop().unwrap_or(self.connections.len() as u32);
            if self.poller.add(&stream, u64::from(place), Interest::Read).is_err() {
                self.log.connections_refused += 1;
                continue;
            }
            let connection = Connection {
                number: self.accepted,
                stream,
                accepted_ns: mono_ns(),
                reader: RequestReader::new(self.options.body_bytes_max, 0),
                first_byte: None,
                requests: 0,
                answer: None,
                waits_for_room: false,
                rests: false,
                ahead: Vec::new(),
                ahead_arrival: None,
            };
            self.accepted += 1;
            match self.connections.get_mut(place as usize) {
                Some(slot) => *slot = Some(connection),
                None => self.connections.push(Some(connection)),
            }
        }
    }

    fn serve(&mut self, place: u32, ready: Ready) {
        let Some(Some(connection)) = self.connections.get(place as usize) else { return };
        let seat = Seat { place, number: connection.number };
        if ready.writable && connection.waits_for_room {
            self.with(seat, |server, connection, place| {
                connection.waits_for_room = false;
                let watched =
                    server.poller.modify(&connection.stream, u64::from(place), Interest::Read);
                if watched.is_ok() { Fate::Runs } else { Fate::Ends }
            });
        }
        if ready.readable {
            self.with(seat, Server::read);
        }
    }

    /// Reads what there is. A new request's front is read separately, so that the kernel's stamp is
    /// that of its first segment and the time of the upload is known.
    fn read(&mut self, connection: &mut Connection, place: u32) -> Fate {
        if connection.answer.is_none() && connection.reader.is_idle() {
            let mut front = std::mem::take(&mut self.front);
            let fate = self.read_into(connection, place, &mut front);
            self.front = front;
            if fate != Fate::Waits {
                return fate;
            }
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let fate = self.read_into(connection, place, &mut buffer);
        self.buffer = buffer;
        fate
    }

    fn read_into(&mut self, connection: &mut Connection, place: u32, buffer: &mut Vec<u8>) -> Fate {
        buffer.clear();
        match recv_stamped(&connection.stream, buffer) {
            Ok(received) if received.bytes == 0 => Fate::Ends,
            Ok(received) => {
                let arrival = self.stamper.arrival(received, mono_ns());
                if connection.answer.is_some() {
                    connection.ahead.extend_from_slice(buffer);
                    connection.ahead_arrival = Some(arrival);
                    if connection.ahead.len() > AHEAD_BYTES_MAX { Fate::Ends } else { Fate::Waits }
                } else {
                    connection.ahead_arrival = Some(arrival);
                    match self.feed(connection, buffer, arrival) {
                        Fate::Ends => Fate::Ends,
                        _ => match self.next_request(connection) {
                            Fate::Runs => self.send(connection, place),
                            Fate::Waits => self.rest(connection, received.bytes),
                            fate => fate,
                        },
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Fate::Waits,
            Err(_) => Fate::Ends,
        }
    }

    /// Leaves a connection alone for as long as its reading pace requires after `bytes` bytes.
    fn rest(&mut self, connection: &mut Connection, bytes: usize) -> Fate {
        let Some(bytes_per_s) = self.options.read_bytes_per_s else { return Fate::Waits };
        if self.poller.remove(&connection.stream).is_err() {
            return Fate::Ends;
        }
        connection.rests = true;
        let rest_ns = (bytes as u64).saturating_mul(1_000_000_000) / bytes_per_s.max(1);
        Fate::Due(mono_ns() + rest_ns)
    }

    /// Gives input to the connection's reader; a complete request gets its answer prepared, or
    /// its page sent. What follows the request is kept for later.
    fn feed(&mut self, connection: &mut Connection, input: &[u8], arrival: Arrival) -> Fate {
        let first_byte = *connection.first_byte.get_or_insert(arrival);
        match connection.reader.feed(input) {
            Ok(Progress::More) => Fate::Waits,
            Ok(Progress::WantsContinue) => {
                write_all_now(&connection.stream, b"HTTP/1.1 100 Continue\r\n\r\n")
            }
            Ok(Progress::Complete(used)) => {
                connection.first_byte = None;
                connection.ahead = input.get(used..).unwrap_or_default().to_vec();
                let request = connection.reader.take();
                match self.route(&request) {
                    Ok((api, pace)) => {
                        self.begin(connection, api, pace, &request, (first_byte, arrival));
                        Fate::Runs
                    }
                    Err(page) => write_all_now(&connection.stream, &page),
                }
            }
            Err(problem) => {
                self.log.requests_refused += 1;
                write_all_now(&connection.stream, &page("400 Bad Request", &problem.to_string()));
                Fate::Ends
            }
        }
    }

    /// Goes on with input that came during the previous answer, until there is one to send.
    fn next_request(&mut self, connection: &mut Connection) -> Fate {
        while connection.answer.is_none() {
            let ahead = std::mem::take(&mut connection.ahead);
            let Some(arrival) = connection.ahead_arrival.filter(|_| !ahead.is_empty()) else {
                return Fate::Waits;
            };
            if self.feed(connection, &ahead, arrival) == Fate::Ends {
                return Fate::Ends;
            }
        }
        Fate::Runs
    }

    /// Endpoint and pace of a request, or the page that answers it.
    fn route(&mut self, request: &Request) -> Result<(Api, Pace), Vec<u8>> {
        let (pace_text, below) = match request.path.strip_prefix("/pace/") {
            Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
            None => ("", request.path.trim_start_matches('/')),
        };
        let api = match (request.method.as_str(), below.trim_start_matches("v1/")) {
            ("POST", "chat/completions") => Api::Chat,
            ("POST", "completions") => Api::Completions,
            ("GET", "health") => return Err(page("200 OK", "healthy")),
            ("GET", "models") => return Err(models()),
            _ => {
                self.log.requests_refused += 1;
                return Err(page("404 Not Found", "no such endpoint"));
            }
        };
        if !request.asks_stream {
            self.log.requests_refused += 1;
            return Err(page("400 Bad Request", "this server only streams: set stream to true"));
        }
        let later = self.options.later.filter(|(requests, _)| self.begun >= *requests);
        let pace = later.map_or(self.options.pace, |(_, pace)| pace).changed_by(pace_text);
        pace.and_then(|pace| pace.changed_by(&request.query)).map(|pace| (api, pace)).map_err(
            |problem| {
                self.log.requests_refused += 1;
                page("400 Bad Request", &problem.to_string())
            },
        )
    }

    fn begin(
        &mut self,
        connection: &mut Connection,
        api: Api,
        pace: Pace,
        request: &Request,
        (first_byte, arrival): (Arrival, Arrival),
    ) {
        let template = match api {
            Api::Chat => self.chat.clone(),
            Api::Completions => self.completions.clone(),
        };
        let asked = request.tokens_asked.unwrap_or(u64::from(self.options.tokens));
        let tokens = asked.clamp(1, u64::from(self.options.tokens_max)) as u32;
        let prompt_tokens = request.body_bytes / 4;
        let begin_ns = match &mut self.stations {
            Some(stations) => stations.take(arrival.at_ns, pace.due_ns(tokens - 1)),
            None => arrival.at_ns,
        };
        let stream = Stream::new(template, pace, begin_ns, tokens, prompt_tokens);
        let served = Served {
            connection: connection.number,
            request: connection.requests,
            id: request.id.clone(),
            api: api.word(),
            accepted_ns: connection.accepted_ns,
            first_byte,
            arrival,
            begin_ns,
            body_bytes: request.body_bytes,
            tokens,
            pace,
            head_ns: None,
            stamps: Vec::new(),
            stamps_left_out: 0,
            done_ns: None,
            blocked: 0,
        };
        self.begun += 1;
        connection.requests += 1;
        connection.answer = Some((stream, served));
    }

    /// As many sends as one turn has; a connection that rested is read again.
    fn send_burst(&mut self, connection: &mut Connection, place: u32) -> Fate {
        if std::mem::take(&mut connection.rests) {
            let watched = self.poller.add(&connection.stream, u64::from(place), Interest::Read);
            return if watched.is_ok() { Fate::Waits } else { Fate::Ends };
        }
        let burst = connection.answer.as_ref().map_or(1, |(_, served)| served.pace.burst);
        for _ in 1..burst {
            match self.send(connection, place) {
                Fate::Runs => {}
                fate => return fate,
            }
        }
        self.send(connection, place)
    }

    /// One send of what is due.
    fn send(&mut self, connection: &mut Connection, place: u32) -> Fate {
        let Some((stream, served)) = &mut connection.answer else { return Fate::Waits };
        let now_ns = mono_ns();
        let to = match stream.turn(now_ns) {
            Turn::SendTo(to) => to,
            Turn::WaitUntil(due_ns) => return Fate::Due(due_ns),
            Turn::Done => return Fate::Waits,
        };
        let parts = stream.parts(to);
        // The first part that is not empty up to the last: one part needs no gathering.
        let sent = match parts.iter().filter(|part| !part.is_empty()).count() {
            1 => {
                let part = parts.iter().find(|part| !part.is_empty()).map_or(&[][..], |part| part);
                (&connection.stream).write(part)
            }
            _ => (&connection.stream).write_vectored(&parts),
        };
        let bytes = match sent {
            Ok(bytes) => bytes as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Fate::Runs,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                served.blocked += 1;
                connection.waits_for_room = true;
                let both = Interest::ReadWrite;
                let watched = self.poller.modify(&connection.stream, u64::from(place), both);
                return if watched.is_ok() { Fate::Waits } else { Fate::Ends };
            }
            Err(_) => return Fate::Ends,
        };
        let before = stream.tokens_sent();
        stream.advance(bytes);
        served.head_ns = served.head_ns.or(stream.head_sent().then_some(now_ns));
        let tokens = stream.tokens_sent();
        if tokens > before {
            if self.stamps < self.options.stamps_max {
                self.stamps += 1;
                served.stamps.push(TokenStamp { tokens, at_ns: now_ns });
            } else {
                served.stamps_left_out += 1;
            }
        }
        match stream.turn(now_ns) {
            Turn::SendTo(_) => Fate::Runs,
            Turn::WaitUntil(due_ns) => Fate::Due(due_ns),
            Turn::Done => {
                served.done_ns = Some(mono_ns());
                self.log.served.extend(connection.answer.take().map(|(_, served)| served));
                self.next_request(connection)
            }
        }
    }
}

/// Sends something short; a client that has no room even for that is not worth waiting for.
fn write_all_now(mut stream: &TcpStream, bytes: &[u8]) -> Fate {
    match stream.write(bytes) {
        Ok(count) if count == bytes.len() => Fate::Waits,
        _ => Fate::Ends,
    }
}

fn json_page(status: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn page(status: &str, message: &str) -> Vec<u8> {
    let body = match status.starts_with('2') {
        true => serde_json::json!({ "status": message }),
        false => serde_json::json!({ "error": { "message": message } }),
    };
    json_page(status, &body.to_string())
}

fn models() -> Vec<u8> {
    json_page(
        "200 OK",
        "{\"object\":\"list\",\"data\":[{\"id\":\"truth-model\",\"object\":\"model\",\
         \"created\":1760000000,\"owned_by\":\"truth\"}]}",
    )
}
