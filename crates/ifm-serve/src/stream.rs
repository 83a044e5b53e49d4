//! The body of a streamed answer: tokens from the backend to the connection, each one
//! sent at once and on its own.
//!
//! The connection flushes when the body says that it has nothing more for now. So
//! after every token the body says so, even if the next one is there already: a client
//! that reads fast enough sees each token in a read of its own, and the time between
//! two tokens is never hidden by a shared write. Dropping the body, which is what the
//! connection does when the client goes away, cancels the request.
//!
//! Not here: the bytes of an event (`frames`).

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::{Bytes, HttpBody};
use http_body::Frame;

use crate::{
    backend::Events,
    error::ApiError,
    event::{Event, Piece},
    frames::Frames,
    stopwatch::Stopwatch,
};

/// The body.
#[derive(Debug)]
pub(crate) struct EventBody {
    events: Events,
    writer: Box<dyn Frames>,
    stopwatch: Stopwatch,
    /// Tokens that an event has at least, unless the answer ends.
    tokens_per_event: usize,
    /// Tokens that wait for others of their event.
    gathered: Option<Piece>,
    /// The last event is to be flushed before the next one.
    flushes: bool,
    /// What came before the last event was flushed.
    next: Option<Option<Event>>,
    is_done: bool,
}

impl EventBody {
    pub(crate) fn new(
        events: Events,
        writer: Box<dyn Frames>,
        stopwatch: Stopwatch,
        tokens_per_event: usize,
    ) -> Self {
        let (gathered, flushes, next, is_done) = (None, false, None, false);
        Self { events, writer, stopwatch, tokens_per_event, gathered, flushes, next, is_done }
    }

    /// The bytes that go out for what came; none while an event waits for more tokens.
    fn write(&mut self, event: Option<Event>) -> Option<Bytes> {
        // An event with its framing has about 200 bytes.
        let mut out = Vec::with_capacity(512);
        let reason = match event {
            Some(Event::Piece(piece)) => {
                let piece = self.gather(piece)?;
                self.write_piece(&mut out, &piece);
                return Some(out.into());
            }
            Some(Event::Failed(reason)) => reason,
            None => "The engine has stopped.".to_owned(),
        };
        if let Some(piece) = self.gathered.take() {
            self.write_piece(&mut out, &piece);
        }
        self.writer.error(&mut out, &ApiError::internal(reason).to_json());
        self.is_done = true;
        Some(out.into())
    }

    /// Puts a piece to those that wait; gives them when they are enough.
    fn gather(&mut self, piece: Piece) -> Option<Piece> {
        let all = match self.gathered.take() {
            None => piece,
            Some(mut all) => {
                all.text.push_str(&piece.text);
                all.tokens += piece.tokens;
                all.due = piece.due;
                all.finish = piece.finish;
                all
            }
        };
        if all.finish.is_none() && all.tokens < self.tokens_per_event {
            self.gathered = Some(all);
            return None;
        }
        Some(all)
    }

    fn write_piece(&mut self, out: &mut Vec<u8>, piece: &Piece) {
        if self.stopwatch.tokens() == 0 {
            self.writer.begin(out);
        }
        self.stopwatch.note(piece);
        let finish = piece.finish.as_ref();
        self.writer.token(out, &piece.text, self.stopwatch.tokens(), finish);
        if let Some(finish) = finish {
            self.writer.end(out, finish, self.stopwatch.told(finish));
            self.is_done = true;
        }
    }
}

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.is_done {
            return Poll::Ready(None);
        }
        if self.flushes {
            self.flushes = false;
            // Mostly nothing is there yet, and the connection need not look again until it is.
            if let Poll::Ready(event) = self.events.poll_next(context) {
                self.next = Some(event);
                context.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
        loop {
            let event = match self.next.take() {
                Some(event) => event,
                None => ready!(self.events.poll_next(context)),
            };
            if let Some(bytes) = self.write(event) {
                self.flushes = true;
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_done
    }
}
