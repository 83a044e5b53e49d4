//! The body of a request, metered: the time that it takes, and the bytes of all bodies together.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use hyper::body::{Bytes, Incoming};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::limits::{Limits, Refusal};

/// Bytes of all bodies that have arrived for unanswered requests.
#[derive(Debug, Default)]
pub(crate) struct Ledger(AtomicU64);

/// The bytes of one request, returned to the ledger when the value is dropped, and why the request is refused.
#[derive(Debug)]
pub(crate) struct Share {
    ledger: Arc<Ledger>,
    bytes: AtomicU64,
    refusal: AtomicU8,
}

impl Share {
    pub(crate) fn new(ledger: &Arc<Ledger>) -> Arc<Share> {
        let ledger = Arc::clone(ledger);
        Arc::new(Share { ledger, bytes: AtomicU64::new(0), refusal: AtomicU8::new(0) })
    }

    /// Why the request is refused, if it is.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        match self.refusal.load(Ordering::Relaxed) {
            1 => Some(Refusal::Slow),
            2 => Some(Refusal::Full),
            _ => None,
        }
    }

    fn refuse(&self, refusal: Refusal) -> std::io::Error {
        let code = match refusal {
            Refusal::Slow => 1,
            Refusal::Full => 2,
        };
        self.refusal.store(code, Ordering::Relaxed);
        std::io::Error::other(refusal.sentence())
    }

    fn take(&self, bytes: u64, bytes_max: u64) -> bool {
        let all = self.ledger.0.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        all <= bytes_max
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.ledger.0.fetch_sub(self.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// A body that ends with an error at its limits.
#[derive(Debug)]
pub(crate) struct Metered {
    inner: Incoming,
    share: Arc<Share>,
    limits: Limits,
    start: Instant,
    received: u64,
    /// Only for a body that was waited for.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Metered {
    pub(crate) fn new(inner: Incoming, share: Arc<Share>, limits: Limits) -> Metered {
        Metered { inner, share, limits, start: Instant::now(), received: 0, deadline: None }
    }

    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let until = self.start + self.limits.body_time(self.received);
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if deadline.deadline() != until {
            deadline.as_mut().reset(until);
        }
        deadline.as_mut().poll(context).is_ready()
    }
}

impl Body for Metered {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.inner).poll_frame(context);
        match polled {
            Poll::Pending if this.is_late(context) => {
                Poll::Ready(Some(Err(this.share.refuse(Refusal::Slow).into())))
            }
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
                this.received += bytes;
                if this.share.take(bytes, this.limits.bodies_bytes) {
                    Poll::Ready(Some(Ok(frame)))
                } else {
                    Poll::Ready(Some(Err(this.share.refuse(Refusal::Full).into())))
                }
            }
            Poll::Ready(other) => Poll::Ready(other.map(|error| error.map_err(Into::into))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
