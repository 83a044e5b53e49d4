//! Streams tokens to thousands of connections, at a pace or as fast as the kernel takes them.
//!
//! One thread, one event loop, bytes rendered beforehand: the server for benchmarks of a client.
//! A request asks for its number of tokens in its body (`max_completion_tokens` or `max_tokens`)
//! and may ask for another pace in its URL: `/pace/ttft_ms=200,itl_ms=20/v1/chat/completions`,
//! or the same as a query. The log holds what happened: when each request arrived, when each
//! token was written. The prompt's token count in usage is a quarter of the body's bytes, since
//! nothing here reads a prompt.

mod pace;
pub mod queue;
mod server;
mod stream;
mod template;

pub use pace::{Pace, PaceError};

use crate::listen::{Arrival, listen, stop_pair};
use ifm_sys::Poller;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

/// Bounds, pace and placement of a paced server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacedOptions {
    /// Port on loopback; 0 picks a free one.
    pub port: u16,
    /// Pace of requests that ask for none.
    pub pace: Pace,
    /// Tokens of requests that ask for no number.
    pub tokens: u32,
    /// Most tokens that a request gets, whatever it asks for.
    pub tokens_max: u32,
    /// Connections held at the same time; further ones are closed at once.
    pub connections_max: usize,
    /// Largest request body, bytes.
    pub body_bytes_max: u64,
    /// Write stamps kept in the log, 16 bytes each; later ones are counted only.
    pub stamps_max: usize,
    /// How long before a due time the server stops sleeping and polls, nanoseconds.
    pub spin_ns: u64,
    /// How long the server rests before it checks its clients and due times, nanoseconds: a
    /// hypervisor takes processor time for each of thousands of short sleeps. Absent: it looks
    /// whenever something comes or is due.
    pub rest_ns: Option<u64>,
    /// Bytes that are read of each connection in a second: a server that takes its time over a long
    /// prompt. Absent: as fast as they come.
    pub read_bytes_per_s: Option<u64>,
    /// Processor that the server's thread is tied to.
    pub cpu: Option<usize>,
    /// Answers that are served at a time, the others waiting in the order in which they came: see
    /// [`queue`]. Absent: all at once.
    pub stations: Option<u32>,
    /// After this many requests have begun, the pace of those that ask for none: a server whose
    /// speed changes. Absent: it does not.
    pub later: Option<(u64, Pace)>,
}

impl PacedOptions {
    /// Bounds fit for a benchmark: a free port, 16 tokens unless asked, at most a million, 16,384
    /// connections, bodies of 64 MB, 16 million stamps, 50 µs of polling, no rests, all
    /// reading at once, no fixed processor, no queue, one speed.
    pub fn for_benchmarks(pace: Pace) -> PacedOptions {
        PacedOptions {
            port: 0,
            pace,
            tokens: 16,
            tokens_max: 1_000_000,
            connections_max: 16_384,
            body_bytes_max: 64 << 20,
            stamps_max: 16 << 20,
            spin_ns: 50_000,
            rest_ns: None,
            read_bytes_per_s: None,
            cpu: None,
            stations: None,
            later: None,
        }
    }
}

/// One write that completed tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenStamp {
    /// Tokens of the answer of which the last byte had gone out after this write.
    pub tokens: u32,
    /// Taken right before the write, nanoseconds on the monotonic clock.
    pub at_ns: u64,
}

/// One request and what the server did about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Connection, numbered from 0 in order of acceptance.
    pub connection: u64,
    /// Number of the request on its connection, from 0.
    pub request: u32,
    /// What the client calls it: its header `X-Request-Id`.
    pub id: Option<String>,
    /// `chat` or `completions`.
    pub api: &'static str,
    /// When the connection was accepted, nanoseconds on the monotonic clock.
    pub accepted_ns: u64,
    /// When the first segment of the request arrived.
    pub first_byte: Arrival,
    /// When the last byte of the request arrived: time 0 of the answer where there is no queue.
    pub arrival: Arrival,
    /// When a station was free for it: the arrival itself where there is no queue.
    pub begin_ns: u64,
    /// Bytes of the request body.
    pub body_bytes: u64,
    /// Tokens that the answer was to have.
    pub tokens: u32,
    /// How the answer was paced.
    pub pace: Pace,
    /// Taken right before the head was written.
    pub head_ns: Option<u64>,
    /// The writes that completed tokens, in order. May end early when the log is full.
    pub stamps: Vec<TokenStamp>,
    /// Stamps that the full log left out.
    pub stamps_left_out: u32,
    /// Taken right after the last byte was handed to the kernel; absent when the client left.
    pub done_ns: Option<u64>,
    /// Times that the kernel had no room for more, so that the client, or its host, was slower
    /// than the pace.
    pub blocked: u32,
}

impl Served {
    /// The write stamp of each token, nanoseconds on the monotonic clock.
    pub fn token_times_ns(&self) -> impl Iterator<Item = u64> + '_ {
        let mut before = 0;
        self.stamps.iter().flat_map(move |stamp| {
            let count = stamp.tokens - std::mem::replace(&mut before, stamp.tokens);
            std::iter::repeat_n(stamp.at_ns, count as usize)
        })
    }

    /// When the first token was written.
    pub fn first_token_ns(&self) -> Option<u64> {
        self.stamps.first().map(|stamp| stamp.at_ns)
    }

    /// When the last token was written; absent unless all of them were, and logged.
    pub fn last_token_ns(&self) -> Option<u64> {
        self.stamps.last().filter(|stamp| stamp.tokens == self.tokens).map(|stamp| stamp.at_ns)
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "connection": self.connection,
            "request": self.request,
            "id": self.id,
            "api": self.api,
            "accepted_ns": self.accepted_ns,
            "first_byte_ns": self.first_byte.at_ns,
            "arrival_ns": self.arrival.at_ns,
            "arrival_by_kernel": self.arrival.by_kernel,
            "begin_ns": self.begin_ns,
            "body_bytes": self.body_bytes,
            "tokens": self.tokens,
            "ttft_ns": self.pace.ttft_ns,
            "itl_ns": self.pace.itl_ns,
            "coalesce": self.pace.coalesce,
            "burst": self.pace.burst,
            "head_ns": self.head_ns,
            "done_ns": self.done_ns,
            "blocked": self.blocked,
            "stamps_left_out": self.stamps_left_out,
            "token_ns": self.token_times_ns().collect::<Vec<u64>>(),
        })
    }
}

/// What a paced server did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PacedLog {
    /// The requests, in the order in which they ended.
    pub served: Vec<Served>,
    /// CPU time of the server's thread, nanoseconds.
    pub cpu_ns: u64,
    /// Connections that were closed because there were too many.
    pub connections_refused: u64,
    /// Requests that were refused because they made no sense.
    pub requests_refused: u64,
}

impl PacedLog {
    /// Writes one JSON object per request and line. Times are nanoseconds on the machine's
    /// monotonic clock, which other processes of the same machine share.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_jsonl(&self, out: &mut dyn Write) -> io::Result<()> {
        for served in &self.served {
            writeln!(out, "{}", served.to_json())?;
        }
        Ok(())
    }
}

/// A running paced server. It stops when this is dropped.
#[derive(Debug)]
pub struct Paced {
    address: SocketAddr,
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<PacedLog>>,
}

/// Starts a paced server.
///
/// # Errors
/// The kernel's, for instance when the port is taken.
pub fn run_paced(options: PacedOptions) -> io::Result<Paced> {
    let (listener, address) = listen(options.port)?;
    let poller = Poller::new(1024)?;
    let (stop, stopped) = stop_pair(&poller, server::STOP_TOKEN)?;
    let server = server::Server::new(options, listener, poller)?;
    let thread = std::thread::Builder::new().name("truth-paced".to_owned()).spawn(move || {
        // The far end lives as long as the loop, which ends when the near end is dropped.
        let _watched = stopped;
        server.run()
    })?;
    Ok(Paced { address, stop: Some(stop), thread: Some(thread) })
}

impl Paced {
    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the server; what it did. Answers that are on their way are cut off and logged.
    pub fn stop(mut self) -> PacedLog {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<PacedLog> {
        self.stop.take();
        // A panic of the server's thread has been reported by the runtime already.
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        self.end();
    }
}
