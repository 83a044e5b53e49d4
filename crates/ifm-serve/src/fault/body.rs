//! The body of an answer that meets with a fault: pauses, cuts, several events at once.
//!
//! It stands around the body of a healthy answer, of which every frame is one event (or
//! all of a whole answer), and changes what passes through.
//!
//! Not here: which answers (`fate`).

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::{Cut, Fate, HowCut, fate::Pause};
use crate::{error::ApiError, frames::Api, socket::Connection};

/// The body.
#[derive(Debug)]
pub(crate) struct FaultBody {
    healthy: Body,
    connection: Connection,
    /// Number of the event before which the answer breaks off.
    cut: Option<(usize, HowCut)>,
    /// Number of the event before which the answer pauses.
    pause: Option<(usize, Pause)>,
    pausing: Option<Pin<Box<Sleep>>>,
    /// The event that waits for the end of the pause.
    next: Option<Bytes>,
    /// Events that came.
    events: usize,
    /// Events that wait to go out together.
    gathered: Vec<u8>,
    gathered_events: usize,
    events_per_write: usize,
    /// Whose errors are written.
    api: Api,
    is_done: bool,
}

impl FaultBody {
    /// A body of about so many events.
    pub(crate) fn new(
        healthy: Body,
        fate: &Fate,
        connection: Connection,
        events: usize,
        api: Api,
    ) -> Self {
        // Behind the first and before the last.
        let number = |place: f64| 1 + (place * events.saturating_sub(1) as f64) as usize;
        Self {
            healthy,
            connection,
            cut: fate.cut.map(|Cut { how, place }| (number(place), how)),
            pause: fate.pause.map(|pause| (number(pause.place), pause)),
            pausing: None,
            next: None,
            events: 0,
            gathered: Vec::new(),
            gathered_events: 0,
            events_per_write: fate.events_per_write,
            api,
            is_done: false,
        }
    }

    /// Whether something is due at the event that has come: at its number, or at the last
    /// one of an answer that ended sooner.
    fn is_due(&self, number: usize) -> bool {
        self.events > number || self.healthy.is_end_stream()
    }

    /// Takes an event; gives what goes out for it.
    fn pass(&mut self, event: &Bytes) -> Option<Bytes> {
        if let Some((number, how)) = self.cut
            && self.is_due(number)
        {
            self.is_done = true;
            match how {
                HowCut::Reset => self.connection.end_with_reset(),
                HowCut::Error => {
                    let error = ApiError::internal("The stream broke off (a fault on demand).");
                    self.api.write_error(&mut self.gathered, &error.to_json());
                }
                HowCut::Truncate => {}
            }
            return Some(std::mem::take(&mut self.gathered).into());
        }
        self.gathered.extend_from_slice(event);
        self.gathered_events += 1;
        if self.gathered_events < self.events_per_write && !self.healthy.is_end_stream() {
            return None;
        }
        self.gathered_events = 0;
        Some(std::mem::take(&mut self.gathered).into())
    }

    /// What ends the body behind its last frame.
    fn end(&self) -> Option<Result<Frame<Bytes>, axum::Error>> {
        matches!(self.cut, Some((_, HowCut::Reset))).then(|| {
            let reset = io::Error::new(io::ErrorKind::ConnectionReset, "a fault on demand");
            Err(axum::Error::new(reset))
        })
    }
}

impl HttpBody for FaultBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            if self.is_done {
                return Poll::Ready(self.end());
            }
            if let Some(pausing) = &mut self.pausing {
                ready!(pausing.as_mut().poll(context));
                self.pausing = None;
            }
            let event = match self.next.take() {
                Some(event) => event,
                None => match ready!(Pin::new(&mut self.healthy).poll_frame(context)) {
                    Some(Ok(frame)) => {
                        self.events += 1;
                        // Answers have no trailers.
                        frame.into_data().unwrap_or_default()
                    }
                    end => return Poll::Ready(end),
                },
            };
            if let Some((number, pause)) = self.pause
                && self.is_due(number)
            {
                self.pause = None;
                self.pausing = Some(Box::pin(sleep(pause.length)));
                self.next = Some(event);
                continue;
            }
            match self.pass(&event) {
                Some(bytes) if !bytes.is_empty() => {
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                _ => {}
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.healthy.size_hint()
    }
}
