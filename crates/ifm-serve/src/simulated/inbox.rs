//! What the handles tell the thread of a simulation, and when it is woken for it.
//!
//! A request needs the thread only when it has reached the scheduler. In a burst the thread sleeps until
//! then, and the processor reads requests instead of changing between two threads for each of them.
//!
//! Not here: what the thread does (`driver`).

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering, fence},
        mpsc::{Receiver, Sender, TryRecvError, channel},
    },
    thread::Thread,
    time::Instant,
};

/// The thread looks at what it is told before it sleeps.
const AWAKE: u64 = 0;
/// The thread sleeps until it is woken.
const NEVER: u64 = u64::MAX;

/// The side of the handles. The thread ends when it is dropped.
#[derive(Debug)]
pub(super) struct Inbox<T> {
    /// There until the inbox is dropped.
    news: Option<Sender<T>>,
    bed: Arc<Bed>,
    thread: Thread,
}

/// The side of the thread.
#[derive(Debug)]
pub(super) struct Sleeper<T> {
    news: Receiver<T>,
    bed: Arc<Bed>,
}

/// How long the thread sleeps.
#[derive(Debug)]
struct Bed {
    start: Instant,
    /// When it wakes by itself, nanoseconds since the start.
    wakes_ns: AtomicU64,
}

impl Bed {
    fn ns(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.start).as_nanos()).unwrap_or(NEVER - 1)
    }

    /// Whether the thread would sleep over what is needed at an instant.
    fn is_to_be_woken(&self, needed: Instant) -> bool {
        self.ns(needed) < self.wakes_ns.load(Ordering::Relaxed)
    }
}

/// Both sides; `start` gives the thread its side.
///
/// # Errors
/// Those of `start`.
pub(super) fn inbox<T>(
    start: impl FnOnce(Sleeper<T>) -> io::Result<Thread>,
) -> io::Result<Inbox<T>> {
    let (sender, news) = channel();
    let bed = Arc::new(Bed { start: Instant::now(), wakes_ns: AtomicU64::new(AWAKE) });
    let thread = start(Sleeper { news, bed: Arc::clone(&bed) })?;
    Ok(Inbox { news: Some(sender), bed, thread })
}

impl<T> Inbox<T> {
    /// Tells the thread something that it is to know at an instant. Whether it is still there.
    pub(super) fn tell(&self, news: T, needed: Instant) -> bool {
        let is_told = self.news.as_ref().is_some_and(|it| it.send(news).is_ok());
        // Either the thread sees the news before it sleeps, or this sees how long it sleeps.
        fence(Ordering::SeqCst);
        if self.bed.is_to_be_woken(needed) {
            self.thread.unpark();
        }
        is_told
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        drop(self.news.take());
        self.thread.unpark();
    }
}

impl<T> Sleeper<T> {
    /// Sleeps until an instant, or until something is needed before, and takes what was told. Whether
    /// anybody can still tell something.
    pub(super) fn wait(&self, until: Option<Instant>, mut take: impl FnMut(T)) -> bool {
        let wakes_ns = until.map_or(NEVER, |until| self.bed.ns(until));
        self.bed.wakes_ns.store(wakes_ns, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let Some(news) = self.take(&mut take) else { return false };
        if news == 0 {
            match until {
                None => std::thread::park(),
                Some(until) => {
                    std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
                }
            }
        }
        self.bed.wakes_ns.store(AWAKE, Ordering::Relaxed);
        self.take(&mut take).is_some()
    }

    /// Takes what was told; how much it was. Nothing where nobody can tell anything any more.
    fn take(&self, take: &mut impl FnMut(T)) -> Option<usize> {
        for news in 0.. {
            match self.news.try_recv() {
                Ok(one) => take(one),
                Err(TryRecvError::Empty) => return Some(news),
                Err(TryRecvError::Disconnected) => break,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc::RecvTimeoutError, time::Duration};

    /// A thread that tells each time when it has been told something.
    fn thread(until: Option<Instant>) -> (Inbox<()>, Receiver<()>) {
        let (woke, wakes) = channel();
        let start = move |sleeper: Sleeper<()>| {
            let run = move || {
                let mut told = 0;
                while sleeper.wait(until, |()| told += 1) {
                    for _ in 0..std::mem::take(&mut told) {
                        // The receiver is gone at the end of a test.
                        let _ = woke.send(());
                    }
                }
            };
            Ok(std::thread::spawn(run).thread().clone())
        };
        (inbox(start).expect("a thread"), wakes)
    }

    #[test]
    fn nobody_is_woken_who_wakes_in_time() {
        let start = Instant::now();
        let bed = Bed { start, wakes_ns: AtomicU64::new(AWAKE) };
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!bed.is_to_be_woken(start) && !bed.is_to_be_woken(at(9)), "it is awake");
        bed.wakes_ns.store(bed.ns(at(2)), Ordering::Relaxed);
        assert_eq!([1, 2, 3].map(|needed| bed.is_to_be_woken(at(needed))), [true, false, false]);
        bed.wakes_ns.store(NEVER, Ordering::Relaxed);
        assert!(bed.is_to_be_woken(at(1 << 32)), "nothing else wakes it");
    }

    #[test]
    fn what_is_needed_before_wakes_it() {
        let (inbox, wakes) = thread(Some(Instant::now() + Duration::from_secs(600)));
        for _ in 0..1000 {
            assert!(inbox.tell((), Instant::now()));
            assert!(wakes.recv_timeout(Duration::from_secs(60)).is_ok());
        }
    }

    #[test]
    fn an_idle_thread_is_woken_for_everything() {
        let (inbox, wakes) = thread(None);
        for _ in 0..1000 {
            assert!(inbox.tell((), Instant::now() + Duration::from_secs(600)));
            assert!(wakes.recv_timeout(Duration::from_secs(60)).is_ok());
        }
        drop(inbox);
        // The thread ends, and its side of the channel with it.
        let ended = loop {
            match wakes.recv_timeout(Duration::from_secs(60)) {
                Ok(_) => {}
                Err(ended) => break ended,
            }
        };
        assert_eq!(ended, RecvTimeoutError::Disconnected);
    }
}
