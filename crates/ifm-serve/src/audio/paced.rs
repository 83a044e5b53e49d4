//! A body whose pieces go out at stated times.
//!
//! Not here: what the pieces are.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Bytes, HttpBody};
use http_body::Frame;
use tokio::time::{Instant, Sleep, sleep_until};

use super::under_way::UnderWay;

/// The body.
#[derive(Debug)]
pub(super) struct PacedBody {
    start: Instant,
    /// When each piece is due after the start, and what it is.
    pieces: VecDeque<(Duration, Bytes)>,
    sleep: Pin<Box<Sleep>>,
    under_way: UnderWay,
    has_begun: bool,
}

impl PacedBody {
    /// Begins now.
    pub(super) fn new(pieces: VecDeque<(Duration, Bytes)>, under_way: UnderWay) -> Self {
        let start = Instant::now();
        let first = pieces.front().map_or(Duration::ZERO, |(due, _)| *due);
        let sleep = Box::pin(sleep_until(start + first));
        Self { start, pieces, sleep, under_way, has_begun: false }
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.pieces.is_empty() {
            return Poll::Ready(None);
        }
        ready!(self.sleep.as_mut().poll(context));
        let piece = self.pieces.pop_front();
        if !std::mem::replace(&mut self.has_begun, true) {
            self.under_way.first();
        }
        if self.pieces.is_empty() {
            self.under_way.end();
        }
        if let Some((due, _)) = self.pieces.front() {
            let next = self.start + *due;
            self.sleep.as_mut().reset(next);
        }
        Poll::Ready(piece.map(|(_, bytes)| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }
}
