//! The simplest clients that can be: they show what the machine itself allows.
//!
//! One thread, one event loop, a closed loop of requests over a fixed number of connections.
//! [`Depth::Drain`] reads and throws away; [`Depth::Parse`] also finds the end of every event and
//! keeps a stamp of it. Neither understands an event, stores a body or checks an answer, so no
//! useful client can be cheaper: their figures are the limit to compare a client's own with.
//! The end of an answer is taken to be the chunked coding's `0 CR LF CR LF` at the end of a read,
//! which holds for the servers of this crate.

use crate::listen::Stamper;
use ifm_sys::{Interest, Poller, mono_ns, recv_stamped, thread_cpu_ns};
use memchr::memmem::Finder;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};

/// How far a client looks into what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Reads and discards.
    Drain,
    /// Finds and stamps the end of every event.
    Parse,
}

/// What to load a server with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainOptions {
    /// The server.
    pub address: SocketAddr,
    /// Path to post to.
    pub path: String,
    /// Connections, each with one request at a time.
    pub connections: usize,
    /// Requests on each connection, one after the other.
    pub requests: usize,
    /// Tokens that each request asks for.
    pub tokens: u32,
    /// Bytes of prompt in each request.
    pub prompt_bytes: usize,
    /// Bytes per receive.
    pub read_bytes: usize,
    /// How far to look.
    pub depth: Depth,
    /// Processor to tie the calling thread to.
    pub cpu: Option<usize>,
}

impl DrainOptions {
    /// The benchmark's usual load: 64 connections, one request of 256 tokens each, 64 KB reads.
    pub fn new(address: SocketAddr, depth: Depth) -> DrainOptions {
        DrainOptions {
            address,
            path: "/v1/chat/completions".to_owned(),
            connections: 64,
            requests: 1,
            tokens: 256,
            prompt_bytes: 200,
            read_bytes: 64 * 1024,
            depth,
            cpu: None,
        }
    }
}

/// What it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct DrainReport {
    /// Requests that were answered to the end.
    pub requests: u64,
    /// Tokens that the requests asked for, which a server of this crate delivers.
    pub tokens: u64,
    /// Events found, those without a token among them; absent unless they were looked for.
    pub events: Option<u64>,
    /// Bytes read.
    pub bytes: u64,
    /// Receive calls that returned bytes.
    pub reads: u64,
    /// Of those, with a kernel stamp.
    pub stamped_reads: u64,
    /// From the first request to the end of the last answer, nanoseconds. Connecting is not in it.
    pub wall_ns: u64,
    /// CPU time of the thread over the same time, nanoseconds.
    pub cpu_ns: u64,
}

impl DrainReport {
    /// Tokens per second of wall time.
    pub fn tokens_per_s(&self) -> f64 {
        self.tokens as f64 * 1e9 / self.wall_ns.max(1) as f64
    }

    /// CPU seconds for a million tokens.
    pub fn cpu_s_per_million_tokens(&self) -> f64 {
        self.cpu_ns as f64 / 1e3 / self.tokens.max(1) as f64
    }

    /// Tokens per read, on average.
    pub fn tokens_per_read(&self) -> f64 {
        self.tokens as f64 / self.reads.max(1) as f64
    }
}

/// Ends of the chunked coding: an answer is over when its bytes end like this.
const LAST_CHUNK: [u8; 5] = *b"0\r\n\r\n";

/// How an answer worth counting begins.
const OK_HEAD: &[u8] = b"HTTP/1.1 200";

#[derive(Debug)]
struct Client {
    stream: TcpStream,
    requests_left: usize,
    /// The last bytes of the answer so far.
    tail: [u8; 5],
    /// Stamps of the events of the answer so far.
    stamps: Vec<u64>,
}

/// Loads the server from the calling thread until every request is answered.
///
/// # Errors
/// The kernel's; `UnexpectedEof` when the server closes within an answer, `InvalidData` when it
/// answers with another status than 200.
pub fn drain(options: &DrainOptions) -> io::Result<DrainReport> {
    if let Some(cpu) = options.cpu {
        ifm_sys::thread::pin_to(&[cpu])?;
    }
    let request = request_of(options);
    let mut poller = Poller::new(256)?;
    let mut clients = Vec::with_capacity(options.connections);
    for number in 0..options.connections {
        let stream = TcpStream::connect(options.address)?;
        stream.set_nodelay(true)?;
        if options.depth == Depth::Parse {
            // Without stamps the time of the read is taken, as a client would.
            ifm_sys::enable_stamps(&stream).ok();
        }
        poller.add(&stream, number as u64, Interest::Read)?;
        let stamps = Vec::with_capacity(options.tokens as usize + 8);
        clients.push(Client { stream, requests_left: options.requests, tail: [0; 5], stamps });
    }
    let mut report = DrainReport {
        requests: 0,
        tokens: 0,
        events: (options.depth == Depth::Parse).then_some(0),
        bytes: 0,
        reads: 0,
        stamped_reads: 0,
        wall_ns: 0,
        cpu_ns: 0,
    };
    let (start_ns, start_cpu_ns) = (mono_ns(), thread_cpu_ns());
    let mut busy = 0;
    for client in clients.iter_mut().filter(|client| client.requests_left > 0) {
        client.stream.write_all(&request)?;
        busy += 1;
    }
    let mut reading = Reading {
        buffer: Vec::with_capacity(options.read_bytes.max(1)),
        stamper: Stamper::default(),
        blank_line: Finder::new(b"\n\n"),
    };
    while busy > 0 {
        let count = poller.wait(None)?;
        for index in 0..count {
            let place = poller.ready(index).token as usize;
            let Some(client) = clients.get_mut(place) else { continue };
            if !reading.read(client, &mut report)? {
                continue;
            }
            report.requests += 1;
            report.tokens += u64::from(options.tokens);
            client.requests_left -= 1;
            client.stamps.clear();
            client.tail = [0; 5];
            if client.requests_left > 0 {
                client.stream.write_all(&request)?;
            } else {
                busy -= 1;
            }
        }
    }
    report.wall_ns = mono_ns() - start_ns;
    report.cpu_ns = thread_cpu_ns() - start_cpu_ns;
    Ok(report)
}

fn request_of(options: &DrainOptions) -> Vec<u8> {
    let body = format!(
        "{{\"model\":\"truth-model\",\"stream\":true,\"stream_options\":{{\"include_usage\":true}},\
         \"max_tokens\":{},\"messages\":[{{\"role\":\"user\",\"content\":\"{}\"}}]}}",
        options.tokens,
        "x".repeat(options.prompt_bytes)
    );
    let (path, address, length) = (&options.path, options.address, body.len());
    format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// What reading needs, shared by all connections.
struct Reading<'a> {
    buffer: Vec<u8>,
    stamper: Stamper,
    blank_line: Finder<'a>,
}

impl Reading<'_> {
    /// One receive; whether the answer is over.
    fn read(&mut self, client: &mut Client, report: &mut DrainReport) -> io::Result<bool> {
        self.buffer.clear();
        let received = match recv_stamped(&client.stream, &mut self.buffer) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        if received.bytes == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection within an answer",
            ));
        }
        if client.tail == [0; 5] && !self.buffer.starts_with(OK_HEAD) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the server did not answer with status 200: check the path and the pace in it",
            ));
        }
        report.bytes += received.bytes as u64;
        report.reads += 1;
        report.stamped_reads += u64::from(received.kernel_real_ns.is_some());
        if let Some(events) = &mut report.events {
            let arrival = self.stamper.arrival(received, mono_ns());
            let before = client.stamps.len();
            // A blank line whose two halves came in two reads.
            if client.tail[4] == b'\n' && self.buffer.first() == Some(&b'\n') {
                client.stamps.push(arrival.at_ns);
            }
            client.stamps.extend(self.blank_line.find_iter(&self.buffer).map(|_| arrival.at_ns));
            *events += (client.stamps.len() - before) as u64;
        }
        let fresh = self.buffer.len().min(5);
        client.tail.rotate_left(fresh);
        for (slot, byte) in client.tail.iter_mut().rev().zip(self.buffer.iter().rev()).take(fresh) {
            *slot = *byte;
        }
        Ok(client.tail == LAST_CHUNK)
    }
}
