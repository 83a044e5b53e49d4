//! The event loop: requests in, steps out at their times.

use super::route::{Answer, Routes, error};
use super::{Exchange, ScriptedOptions, SharedLog, WriteStamp};
use crate::case::{Action, Case, Step};
use crate::listen::{Arrival, Stamper, accept};
use crate::request::{Progress, Request, RequestReader};
use ifm_sys::socket::send;
use ifm_sys::{Interest, Poller, Ready, mono_ns, recv_stamped};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Poller token of the stop signal.
pub const STOP_TOKEN: u64 = u64::MAX;

/// Poller token of the listener.
const LISTEN_TOKEN: u64 = u64::MAX - 1;

/// Bytes per receive.
const READ_BYTES: usize = 256 * 1024;

/// Input that a client may send ahead of the answer to its former request, bytes.
const AHEAD_BYTES_MAX: usize = 1 << 20;

/// A case being played.
#[derive(Debug)]
struct Play {
    answer: Answer,
    request: Request,
    arrival: Arrival,
    next: usize,
    /// Bytes of the next step that have gone out, and when it began.
    sent: usize,
    start_ns: u64,
    writes: Vec<WriteStamp>,
}

impl Play {
    fn due_ns(&self, step: &Step) -> u64 {
        self.arrival.at_ns + step.at_ms * 1_000_000
    }
}

#[derive(Debug)]
struct Connection {
    /// Number in order of acceptance; also the poller's token and the key into the table.
    number: u64,
    stream: TcpStream,
    accepted_ns: u64,
    reader: RequestReader,
    requests: u32,
    play: Option<Play>,
    waits_for_room: bool,
    /// Input that came while a case was being played.
    ahead: Vec<u8>,
    ahead_arrival: Option<Arrival>,
}

/// The outcome of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lives,
    Ends,
}

/// The loop's state.
#[derive(Debug)]
pub struct Server {
    routes: Routes,
    options: ScriptedOptions,
    listener: TcpListener,
    poller: Poller,
    log: Arc<SharedLog>,
    connections: std::collections::HashMap<u64, Connection>,
    accepted: u64,
    due: BinaryHeap<Reverse<(u64, u64)>>,
    buffer: Vec<u8>,
    stamper: Stamper,
}

impl Server {
    pub fn new(
        cases: Vec<Case>,
        options: ScriptedOptions,
        listener: TcpListener,
        poller: Poller,
        log: Arc<SharedLog>,
    ) -> io::Result<Server> {
        poller.add(&listener, LISTEN_TOKEN, Interest::Read)?;
        Ok(Server {
            routes: Routes::new(cases, options.turns.clone()),
            options,
            listener,
            poller,
            log,
            connections: std::collections::HashMap::new(),
            accepted: 0,
            due: BinaryHeap::new(),
            buffer: Vec::with_capacity(READ_BYTES),
            stamper: Stamper::default(),
        })
    }

    /// Serves until the stop signal. An error of the poller ends the server too: clients then
    /// see their connections close.
    pub fn run(mut self) {
        if let Some(cpu) = self.options.cpu {
            // A processor that does not exist leaves the thread where it is.
            ifm_sys::thread::pin_to(&[cpu]).ok();
        }
        ifm_sys::thread::sharpen_timers();
        loop {
            self.play_due();
            let Ok(count) = self.poller.wait(self.timeout_ns()) else { return };
            for index in 0..count {
                let ready = self.poller.ready(index);
                match ready.token {
                    STOP_TOKEN => return,
                    LISTEN_TOKEN => self.accept_all(),
                    _ => self.serve(ready),
                }
            }
        }
    }

    /// Sleeps until shortly before the next due time, then polls until it has come.
    fn timeout_ns(&self) -> Option<u64> {
        let Reverse((due_ns, _)) = self.due.peek()?;
        Some(due_ns.saturating_sub(mono_ns()).saturating_sub(self.options.spin_ns))
    }

    fn play_due(&mut self) {
        while let Some(Reverse((due_ns, number))) = self.due.peek().copied() {
            if due_ns > mono_ns() {
                return;
            }
            self.due.pop();
            self.with(number, |server, connection| server.play(connection));
        }
    }

    /// Runs something on a connection and drops the connection if that ends it.
    fn with(&mut self, number: u64, act: impl FnOnce(&mut Server, &mut Connection) -> Fate) {
        let Some(mut connection) = self.connections.remove(&number) else { return };
        if act(self, &mut connection) == Fate::Lives {
            self.connections.insert(number, connection);
        } else {
            self.note(&mut connection, true);
        }
    }

    fn accept_all(&mut self) {
        while let Ok(Some(stream)) = accept(&self.listener) {
            if self.connections.len() >= self.options.connections_max {
                continue;
            }
            let number = self.accepted;
            if self.poller.add(&stream, number, Interest::Read).is_err() {
                continue;
            }
            self.accepted += 1;
            let options = &self.options;
            let reader = RequestReader::new(options.body_bytes_max, options.body_kept_bytes_max);
            let connection = Connection {
                number,
                stream,
                accepted_ns: mono_ns(),
                reader,
                requests: 0,
                play: None,
                waits_for_room: false,
                ahead: Vec::new(),
                ahead_arrival: None,
            };
            self.connections.insert(number, connection);
        }
    }

    fn serve(&mut self, ready: Ready) {
        self.with(ready.token, |server, connection| {
            if ready.writable && connection.waits_for_room {
                connection.waits_for_room = false;
                let token = connection.number;
                if server.poller.modify(&connection.stream, token, Interest::Read).is_err() {
                    return Fate::Ends;
                }
                if server.play(connection) == Fate::Ends {
                    return Fate::Ends;
                }
            }
            if ready.readable { server.read(connection) } else { Fate::Lives }
        });
    }

    fn read(&mut self, connection: &mut Connection) -> Fate {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let received = recv_stamped(&connection.stream, &mut buffer);
        let fate = match received {
            Ok(received) if received.bytes == 0 => Fate::Ends,
            Ok(received) => {
                let arrival = self.stamper.arrival(received, mono_ns());
                if connection.play.is_some() {
                    connection.ahead.extend_from_slice(&buffer);
                    connection.ahead_arrival = Some(arrival);
                    if connection.ahead.len() > AHEAD_BYTES_MAX { Fate::Ends } else { Fate::Lives }
                } else {
                    connection.ahead_arrival = Some(arrival);
                    match self.feed(connection, &buffer, arrival) {
                        Fate::Lives => self.play(connection),
                        Fate::Ends => Fate::Ends,
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Fate::Lives,
            Err(_) => Fate::Ends,
        };
        self.buffer = buffer;
        fate
    }

    /// Gives input to the connection's reader; a complete request gets its answer prepared. What
    /// follows the request is kept for later.
    fn feed(&mut self, connection: &mut Connection, input: &[u8], arrival: Arrival) -> Fate {
        let (answer, request) = match connection.reader.feed(input) {
            Ok(Progress::More) => return Fate::Lives,
            Ok(Progress::WantsContinue) => {
                let leave = b"HTTP/1.1 100 Continue\r\n\r\n";
                // Without this a client sends its body anyway after a while.
                send(&connection.stream, leave, false).ok();
                return Fate::Lives;
            }
            Ok(Progress::Complete(used)) => {
                connection.ahead = input.get(used..).unwrap_or_default().to_vec();
                let request = connection.reader.take();
                let answer = self.routes.answer(&request);
                if let Some(case) = answer.case {
                    self.log.count_request(case);
                }
                (answer, request)
            }
            Err(problem) => {
                let mut answer = error("400 Bad Request", &problem.to_string());
                let close = Step { at_ms: 0, action: Action::Close };
                answer.steps = answer.steps.iter().cloned().chain([close]).collect();
                (answer, Request::default())
            }
        };
        connection.play = Some(Play {
            answer,
            request,
            arrival,
            next: 0,
            sent: 0,
            start_ns: 0,
            writes: Vec::new(),
        });
        Fate::Lives
    }

    /// Plays what is due, and goes on with requests that came during an answer.
    fn play(&mut self, connection: &mut Connection) -> Fate {
        while connection.play.is_some() {
            let fate = self.play_steps(connection);
            if fate == Fate::Ends || connection.play.is_some() {
                return fate;
            }
            let ahead = std::mem::take(&mut connection.ahead);
            if let Some(arrival) = connection.ahead_arrival.filter(|_| !ahead.is_empty())
                && self.feed(connection, &ahead, arrival) == Fate::Ends
            {
                return Fate::Ends;
            }
        }
        Fate::Lives
    }

    /// Does every step that is due, then waits for the next one. After the last one nothing is
    /// left to play.
    fn play_steps(&mut self, connection: &mut Connection) -> Fate {
        while let Some(play) = &mut connection.play {
            let steps = play.answer.steps.clone();
            let Some(step) = steps.get(play.next) else {
                self.note(connection, false);
                return Fate::Lives;
            };
            let due_ns = play.due_ns(step);
            if due_ns > mono_ns() {
                self.due.push(Reverse((due_ns, connection.number)));
                return Fate::Lives;
            }
            match &step.action {
                Action::Send(bytes) => match send_step(&connection.stream, play, step, bytes) {
                    Ok(true) => {}
                    Ok(false) => {
                        connection.waits_for_room = true;
                        let both = Interest::ReadWrite;
                        let token = connection.number;
                        let watched = self.poller.modify(&connection.stream, token, both);
                        return if watched.is_ok() { Fate::Lives } else { Fate::Ends };
                    }
                    Err(_) => return Fate::Ends,
                },
                Action::Close | Action::Reset => {
                    if step.action == Action::Reset {
                        // A socket that refuses the option is closed in order instead, which the
                        // client under test then reports, and the test shows.
                        ifm_sys::socket::reset_on_close(&connection.stream).ok();
                    }
                    self.note(connection, false);
                    return Fate::Ends;
                }
            }
        }
        Fate::Lives
    }

    /// Logs the exchange that is being played, if it is one of a case.
    fn note(&mut self, connection: &mut Connection, left_early: bool) {
        let Some(play) = connection.play.take() else { return };
        let Some(case) = play.answer.case else { return };
        let exchange = Exchange {
            case,
            connection: connection.number,
            request: connection.requests,
            accepted_ns: connection.accepted_ns,
            arrival: play.arrival,
            path: play.request.path,
            body_bytes: play.request.body_bytes,
            body: play.request.body,
            writes: play.writes,
            left_early,
        };
        connection.requests += 1;
        self.log.push(exchange, self.options.exchanges_max);
    }
}

/// Hands what is left of a step to the kernel; whether all of it went.
///
/// A write that is followed at once by an orderly close goes out together with it, so that a
/// client never sees the one without the other.
fn send_step(stream: &TcpStream, play: &mut Play, step: &Step, bytes: &[u8]) -> io::Result<bool> {
    let closes_next = play
        .answer
        .steps
        .get(play.next + 1)
        .is_some_and(|next| next.action == Action::Close && next.at_ms == step.at_ms);
    if play.sent == 0 {
        play.start_ns = mono_ns();
    }
    while let Some(rest) = bytes.get(play.sent..).filter(|rest| !rest.is_empty()) {
        match send(stream, rest, closes_next) {
            Ok(count) => play.sent += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let due_ns = play.due_ns(step);
    let stamp =
        WriteStamp { at_ms: step.at_ms, due_ns, start_ns: play.start_ns, done_ns: mono_ns() };
    play.writes.push(stamp);
    play.sent = 0;
    play.next += 1;
    Ok(true)
}
