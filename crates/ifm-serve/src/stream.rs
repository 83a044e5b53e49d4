//! The body of a streamed answer: tokens from the engine to the connection, each one
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
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use axum::body::{Bytes, HttpBody};
use http_body::Frame;
use ifm_engine::{Event, EventReceiver, Token};

use crate::{
    error::ApiError,
    frames::{EventWriter, write_error},
    metrics::Metrics,
};

/// When the tokens of a request went out.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    metrics: Arc<Metrics>,
    arrival: Instant,
    first: Option<Instant>,
    last: Instant,
    tokens: u32,
}

impl Stopwatch {
    pub(crate) fn new(metrics: Arc<Metrics>, arrival: Instant) -> Self {
        Self { metrics, arrival, first: None, last: arrival, tokens: 0 }
    }

    /// Notes a token; `is_last` notes the request as well.
    pub(crate) fn token(&mut self, is_last: bool) {
        let now = Instant::now();
        self.tokens += 1;
        match self.first {
            None => {
                self.first = Some(now);
                self.metrics.first_token.record(now - self.arrival);
            }
            Some(_) => self.metrics.between_tokens.record(now - self.last),
        }
        self.last = now;
        if is_last {
            self.metrics.request.record(now - self.arrival);
            if let (Some(first), gaps @ 1..) = (self.first, self.tokens - 1) {
                self.metrics.per_output_token.record((now - first) / gaps);
            }
        }
    }

    pub(crate) fn tokens(&self) -> usize {
        self.tokens as usize
    }
}

/// The body.
#[derive(Debug)]
pub(crate) struct EventBody {
    events: EventReceiver,
    writer: EventWriter,
    stopwatch: Stopwatch,
    /// The last event is to be flushed before the next one.
    flushes: bool,
    is_done: bool,
}

impl EventBody {
    pub(crate) fn new(events: EventReceiver, writer: EventWriter, stopwatch: Stopwatch) -> Self {
        Self { events, writer, stopwatch, flushes: false, is_done: false }
    }

    fn write(&mut self, event: Option<Event>) -> Bytes {
        // An event with its framing has about 200 bytes.
        let mut out = Vec::with_capacity(512);
        match event {
            Some(Event::Token(token)) => self.write_token(&mut out, &token),
            Some(Event::Failed(reason)) => {
                write_error(&mut out, &ApiError::internal(reason).to_json());
                self.is_done = true;
            }
            None => {
                let error = ApiError::internal("The engine has stopped.");
                write_error(&mut out, &error.to_json());
                self.is_done = true;
            }
        }
        out.into()
    }

    fn write_token(&mut self, out: &mut Vec<u8>, token: &Token) {
        if self.stopwatch.tokens() == 0 {
            self.writer.write_role(out);
        }
        self.stopwatch.token(token.finish.is_some());
        let finish = token.finish.as_ref();
        self.writer.write_token(out, &token.text, self.stopwatch.tokens(), finish);
        if let Some(finish) = finish {
            self.writer.write_end(out, finish);
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
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let event = ready!(self.events.poll_recv(context));
        let bytes = self.write(event);
        self.flushes = true;
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}
