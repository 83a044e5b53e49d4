//! Which connection has waited longest for a request.
//!
//! A connection is busy from the head of a request to the end of its answer. All others wait, and the one that has
//! waited longest ends where there are too many: it is idle, or it sends its head slowly.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use tokio::task::{AbortHandle, Id};

/// Value of a connection that is busy; the others hold when they began to wait.
const BUSY: u64 = u64::MAX;

/// Whether a connection waits for a request, and since when.
#[derive(Debug, Clone)]
pub(crate) struct Activity {
    waits_since: Arc<AtomicU64>,
    clock: Arc<AtomicU64>,
}

impl Activity {
    fn new(clock: &Arc<AtomicU64>) -> Activity {
        let activity =
            Activity { waits_since: Arc::new(AtomicU64::new(BUSY)), clock: Arc::clone(clock) };
        activity.wait();
        activity
    }

    fn wait(&self) {
        // A number that only grows orders connections as well as a time does.
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        self.waits_since.store(now, Ordering::Relaxed);
    }

    /// Marks the connection as busy until the value is dropped.
    pub(crate) fn begin(&self) -> Busy {
        self.waits_since.store(BUSY, Ordering::Relaxed);
        Busy(self.clone())
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Busy(Activity);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// The open connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: HashMap<Id, (AbortHandle, Activity)>,
    clock: Arc<AtomicU64>,
}

impl Connections {
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// The activity of a connection that is about to be added.
    pub(crate) fn activity(&self) -> Activity {
        Activity::new(&self.clock)
    }

    pub(crate) fn add(&mut self, task: AbortHandle, activity: Activity) {
        self.open.insert(task.id(), (task, activity));
    }

    pub(crate) fn remove(&mut self, task: Id) {
        self.open.remove(&task);
    }

    /// Ends the connection that has waited longest for a request; false if all are busy.
    pub(crate) fn end_longest_waiting(&mut self) -> bool {
        let waiting = self
            .open
            .iter()
            .map(|(id, (_, activity))| (activity.waits_since.load(Ordering::Relaxed), *id));
        let longest = waiting.filter(|(since, _)| *since != BUSY).min_by_key(|(since, _)| *since);
        let Some((task, _)) = longest.and_then(|(_, id)| self.open.remove(&id)) else {
            return false;
        };
        task.abort();
        true
    }
}

/// The body of an answer, whose connection is busy until it ends.
#[derive(Debug)]
pub(crate) struct Answer<B> {
    pub(crate) inner: B,
    pub(crate) _busy: Busy,
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
