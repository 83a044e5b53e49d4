//! Plays cases to any client: the bytes of a case at their times after the request's arrival.
//!
//! One thread, one event loop. A client picks a case by its base URL: everything under
//! `/case/NAME` answers with that case, so any OpenAI client can be pointed at it, with or
//! without `/v1` at the end. `GET /cases` lists the suite. The server logs when each request
//! arrived (the kernel's stamp of its last byte) and when each write began and ended, so that a
//! test can allow for the server's own lateness instead of guessing it. What the client said is
//! not here.

mod route;
mod server;

use crate::case::Case;
use crate::listen::{Arrival, listen};
use ifm_sys::Poller;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bounds and placement of a scripted server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedOptions {
    /// Port on loopback; 0 picks a free one.
    pub port: u16,
    /// Connections held at the same time; further ones are closed at once.
    pub connections_max: usize,
    /// Largest request body, bytes.
    pub body_bytes_max: u64,
    /// Bytes of each request body kept in the log.
    pub body_kept_bytes_max: usize,
    /// Exchanges kept in the log; further ones are counted only.
    pub exchanges_max: usize,
    /// How long before a due time the server stops sleeping and polls, nanoseconds.
    pub spin_ns: u64,
    /// Processor that the server's thread is tied to.
    pub cpu: Option<usize>,
    /// Names of the cases that `/turns` plays: the first to the first request, and so on, beginning
    /// again at the end. A request counts when it has come whole.
    pub turns: Vec<&'static str>,
}

impl ScriptedOptions {
    /// Bounds fit for a test or a conformance run: a free port, 256 connections, bodies of 16 MB
    /// of which 64 KB are kept, 10,000 exchanges, 60 µs of polling, no fixed processor, no turns.
    pub fn for_tests() -> ScriptedOptions {
        ScriptedOptions {
            port: 0,
            connections_max: 256,
            body_bytes_max: 16 << 20,
            body_kept_bytes_max: 64 << 10,
            exchanges_max: 10_000,
            spin_ns: 60_000,
            cpu: None,
            turns: Vec::new(),
        }
    }
}

/// One write of a case: when it was due and when it happened, nanoseconds on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct WriteStamp {
    /// Milliseconds after the request's arrival at which the case schedules it.
    pub at_ms: u64,
    /// The same as a point in time.
    pub due_ns: u64,
    /// Taken right before the first byte was handed to the kernel.
    pub start_ns: u64,
    /// Taken right after the last byte was handed to the kernel.
    pub done_ns: u64,
}

impl WriteStamp {
    /// How late the last byte of the write was.
    pub fn lateness_ns(&self) -> u64 {
        self.done_ns.saturating_sub(self.due_ns)
    }
}

/// One request and what the server did about it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Exchange {
    /// Name of the case.
    pub case: &'static str,
    /// Connection, numbered from 0 in order of acceptance.
    pub connection: u64,
    /// Number of the request on its connection, from 0.
    pub request: u32,
    /// When the connection was accepted, nanoseconds on the monotonic clock.
    pub accepted_ns: u64,
    /// When the last byte of the request arrived: time 0 of the case.
    pub arrival: Arrival,
    /// Requested path, without the query.
    pub path: String,
    /// Bytes of the request body.
    pub body_bytes: u64,
    /// The body's first bytes, up to the server's bound.
    #[serde(skip)]
    pub body: Vec<u8>,
    /// The writes that happened, in order.
    pub writes: Vec<WriteStamp>,
    /// Whether the client went away before the last step; a client that reaches its limit does.
    pub left_early: bool,
}

impl Exchange {
    /// How late the server was at worst.
    pub fn lateness_ns_max(&self) -> u64 {
        self.writes.iter().map(WriteStamp::lateness_ns).max().unwrap_or(0)
    }
}

/// What has been logged so far.
#[derive(Debug, Default)]
struct Log {
    /// Requests that have come whole, by case.
    asked: HashMap<&'static str, u64>,
    exchanges: Vec<Exchange>,
    left_out: u64,
}

/// The log, and a bell that rings when it grows.
#[derive(Debug, Default)]
struct SharedLog {
    log: Mutex<Log>,
    grown: Condvar,
}

impl SharedLog {
    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_request(&self, case: &'static str) {
        *self.lock().asked.entry(case).or_default() += 1;
    }

    fn push(&self, exchange: Exchange, exchanges_max: usize) {
        let mut log = self.lock();
        if log.exchanges.len() < exchanges_max {
            log.exchanges.push(exchange);
        } else {
            log.left_out += 1;
        }
        drop(log);
        self.grown.notify_all();
    }
}

/// A running scripted server. It stops when this is dropped.
#[derive(Debug)]
pub struct Scripted {
    address: SocketAddr,
    log: Arc<SharedLog>,
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Scripted {
    /// Starts a server that plays these cases.
    ///
    /// # Errors
    /// The kernel's, for instance when the port is taken.
    pub fn start(cases: Vec<Case>, options: ScriptedOptions) -> io::Result<Scripted> {
        let (listener, address) = listen(options.port)?;
        let poller = Poller::new(256)?;
        let (stop, stopped) = crate::listen::stop_pair(&poller, server::STOP_TOKEN)?;
        let log = Arc::new(SharedLog::default());
        let server = server::Server::new(cases, options, listener, poller, log.clone())?;
        let thread =
            std::thread::Builder::new().name("truth-scripted".to_owned()).spawn(move || {
                // The far end lives as long as the loop, which ends when the near end is dropped.
                let _watched = stopped;
                server.run();
            })?;
        Ok(Scripted { address, log, stop: Some(stop), thread: Some(thread) })
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Base URL of a case, without `/v1` and without a slash at the end.
    pub fn base_url(&self, case: &str) -> String {
        format!("http://{}/case/{case}", self.address)
    }

    /// Base URL at which the cases of [`ScriptedOptions::turns`] take turns.
    pub fn turns_url(&self) -> String {
        format!("http://{}/turns", self.address)
    }

    /// Requests for a case that have come whole, answered or not.
    pub fn asked(&self, case: &str) -> u64 {
        self.log.lock().asked.get(case).copied().unwrap_or(0)
    }

    /// The exchanges that are over, in the order in which they ended. An exchange is over when
    /// its last step is done or its client has gone.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.log.lock().exchanges.clone()
    }

    /// Writes the exchanges that are over, one JSON object per line, without request bodies.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_jsonl(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for exchange in &self.log.lock().exchanges {
            writeln!(out, "{}", serde_json::to_string(exchange)?)?;
        }
        Ok(())
    }

    /// Exchanges that were not kept because the log was full.
    pub fn left_out(&self) -> u64 {
        self.log.lock().left_out
    }

    /// Waits until at least `count` exchanges of a case are over, and returns them; fewer when
    /// the time is up. A client can be done a little before the server has noted it.
    pub fn wait_for(&self, case: &str, count: usize, timeout: Duration) -> Vec<Exchange> {
        let deadline = Instant::now() + timeout;
        let mut log = self.log.lock();
        loop {
            let found = log.exchanges.iter().filter(|exchange| exchange.case == case);
            let left = deadline.saturating_duration_since(Instant::now());
            if found.clone().count() >= count || left.is_zero() {
                return found.cloned().collect();
            }
            log = self.log.grown.wait_timeout(log, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the server's thread has been reported by the runtime already.
            thread.join().ok();
        }
    }
}
