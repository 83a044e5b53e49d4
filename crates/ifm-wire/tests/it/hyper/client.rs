//! hyper's client connection over bytes in memory, polled manually until there is no progress.

use super::compare::{End, Seen};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::rt::{Read, ReadBufCursor, Write};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Rounds of polling without any change after which nothing will change.
const QUIET_ROUNDS: usize = 4;

/// What the server side of the connection does.
#[derive(Debug, Default)]
struct Server {
    /// Pieces still to be received, each by reads of its own.
    parts: VecDeque<Vec<u8>>,
    /// Whether the request has come: before, the server says nothing.
    asked: bool,
    /// Whether the connection ends behind the last piece.
    closes: bool,
    /// Reads that brought something, to tell movement from rest.
    moves: usize,
}

#[derive(Clone, Default)]
struct Link(Rc<RefCell<Server>>);

impl Read for Link {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let server = &mut *self.0.borrow_mut();
        if !server.asked {
            return Poll::Pending;
        }
        let Some(part) = server.parts.front_mut() else {
            return if server.closes { Poll::Ready(Ok(())) } else { Poll::Pending };
        };
        let count = part.len().min(buffer.remaining());
        buffer.put_slice(&part[..count]);
        part.drain(..count);
        if part.is_empty() {
            server.parts.pop_front();
        }
        server.moves += 1;
        Poll::Ready(Ok(()))
    }
}

impl Write for Link {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let server = &mut *self.0.borrow_mut();
        server.asked |= bytes.windows(4).any(|four| four == b"\r\n\r\n");
        server.moves += 1;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Polls a future once; returns its result if it is ready.
fn poll<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// The state of the response as hyper reports it.
#[derive(Default)]
struct Response {
    status: Option<u16>,
    incoming: Option<Incoming>,
    body: Vec<u8>,
    complete: bool,
    failed: bool,
}

impl Response {
    fn is_over(&self) -> bool {
        self.complete || self.failed
    }

    /// Takes what there is of the body; true if something came.
    fn poll_body(&mut self) -> bool {
        let Some(incoming) = &mut self.incoming else { return false };
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(incoming).poll_frame(&mut context) {
            Poll::Pending => return false,
            Poll::Ready(None) => self.complete = true,
            Poll::Ready(Some(Err(_))) => self.failed = true,
            Poll::Ready(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    self.body.extend_from_slice(&data);
                }
                return true;
            }
        }
        self.incoming = None;
        true
    }
}

/// What hyper makes of these pieces, received one after another.
pub fn read(parts: &[Vec<u8>]) -> Seen {
    let link = Link::default();
    link.0.borrow_mut().parts = parts.iter().filter(|part| !part.is_empty()).cloned().collect();
    let mut builder = http1::Builder::new();
    builder
        .max_headers(128)
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true);
    let mut handshake = pin!(builder.handshake::<_, String>(link.clone()));
    let (mut sender, connection) =
        poll(handshake.as_mut()).expect("a handshake needs no bytes").expect("no bytes, no error");
    let mut connection = pin!(connection);
    let mut connection_over = poll(connection.as_mut()).is_some();
    let request = hyper::Request::post("/").body("{}".to_owned()).expect("a valid request");
    let mut sending = pin!(sender.send_request(request));
    let mut response = Response::default();
    let mut answered = false;
    let mut reusable = None;
    let mut quiet = 0;
    // First with the connection left open; what is not complete by then sees it close.
    loop {
        let moves = link.0.borrow().moves;
        connection_over = connection_over || poll(connection.as_mut()).is_some();
        if !answered && let Some(result) = poll(sending.as_mut()) {
            answered = true;
            match result {
                Ok(head) => {
                    response.status = Some(head.status().as_u16());
                    response.incoming = Some(head.into_body());
                }
                Err(_) => response.failed = true,
            }
            quiet = 0;
        }
        let moved = response.poll_body() || link.0.borrow().moves != moves;
        quiet = if moved { 0 } else { quiet + 1 };
        if quiet < QUIET_ROUNDS {
            continue;
        }
        if reusable.is_none() && !response.is_over() {
            reusable = Some(false);
            link.0.borrow_mut().closes = true;
            quiet = 0;
            continue;
        }
        break;
    }
    let closed = link.0.borrow().closes;
    let end = match (response.complete, closed) {
        (true, false) => End::Complete,
        (true, true) => End::CompleteAtClose,
        (false, _) => End::Error,
    };
    let reusable = end == End::Complete && !connection_over && sender.is_ready();
    Seen { status: response.status, body: response.body, end, reusable }
}
