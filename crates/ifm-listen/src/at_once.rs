//! A future that goes on at once where it woke itself.
//!
//! A connection that reads a request wakes itself twice: its two halves hand the body over to each other.
//! Through the queue of the runtime each time means a wait for all other requests of a burst, and a token that
//! comes meanwhile means the same wait, because its task is in line already.
//!
//! Not here: which task is next (`serve`).

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Times that a future may go on at once before others have their turn.
const ROUNDS_MAX: u32 = 8;

/// Not being polled.
const IDLE: u8 = 0;
/// The future is being polled.
const POLLED: u8 = 1;
/// It was woken while it was being polled.
const WOKEN: u8 = 2;

/// The future.
#[derive(Debug)]
pub(crate) struct AtOnce<F> {
    inner: Pin<Box<F>>,
    bell: Arc<Bell>,
    /// The same, in the form that the future is given.
    waker: Waker,
}

impl<F> AtOnce<F> {
    pub(crate) fn new(inner: F) -> Self {
        let bell = Arc::new(Bell { state: AtomicU8::new(IDLE), task: Mutex::new(None) });
        Self { inner: Box::pin(inner), waker: Waker::from(Arc::clone(&bell)), bell }
    }
}

impl<F: Future> Future for AtOnce<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        this.bell.belongs_to(context.waker());
        for _ in 0..ROUNDS_MAX {
            this.bell.state.store(POLLED, Ordering::Release);
            if let Poll::Ready(output) =
                this.inner.as_mut().poll(&mut Context::from_waker(&this.waker))
            {
                return Poll::Ready(output);
            }
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            if this.bell.state.compare_exchange(POLLED, IDLE, success, failure).is_ok() {
                return Poll::Pending;
            }
        }
        this.bell.state.store(IDLE, Ordering::Release);
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// The task to wake when the future can go on.
#[derive(Debug)]
struct Bell {
    state: AtomicU8,
    task: Mutex<Option<Waker>>,
}

impl Bell {
    fn belongs_to(&self, waker: &Waker) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if !task.as_ref().is_some_and(|task| task.will_wake(waker)) {
            *task = Some(waker.clone());
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        // Whoever polls looks here before it rests.
        if self.state.compare_exchange(POLLED, WOKEN, success, failure) == Err(IDLE)
            && let Some(task) = &*self.task.lock().unwrap_or_else(PoisonError::into_inner)
        {
            task.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        future::poll_fn,
        sync::atomic::{AtomicU32, AtomicUsize},
        time::Duration,
    };

    /// Counts how often its task is woken.
    #[derive(Debug, Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Wakes itself this number of times before it is ready.
    fn wakes_itself(times: u32) -> impl Future<Output = u32> {
        let mut polls = 0;
        poll_fn(move |context| {
            polls += 1;
            if polls > times {
                return Poll::Ready(polls);
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
    }

    #[test]
    fn what_wakes_itself_goes_on_without_its_task() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut future = AtOnce::new(wakes_itself(ROUNDS_MAX - 1));
        let polled = Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        assert_eq!(polled, Poll::Ready(ROUNDS_MAX));
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
    }

    /// A future that never rests lets others have their turn.
    #[test]
    fn others_have_their_turn() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut future = AtOnce::new(wakes_itself(ROUNDS_MAX));
        let mut poll = || Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        assert_eq!(poll(), Poll::Pending);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(poll(), Poll::Ready(ROUNDS_MAX + 1));
    }

    /// Whenever another thread wakes it, before a poll, in it or after it, nothing is missed.
    #[tokio::test]
    async fn no_news_of_another_thread_is_missed() {
        const NEWS: u32 = 20_000;
        let (told, seen) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (to_wake, wakers) = std::sync::mpsc::channel::<Waker>();
        let teller = std::thread::spawn({
            let told = Arc::clone(&told);
            move || {
                for waker in wakers {
                    told.fetch_add(1, Ordering::Release);
                    waker.wake();
                }
            }
        });
        let future = poll_fn(|context| {
            // Each news is asked for once, and the next one only when it was seen.
            let news = told.load(Ordering::Acquire);
            if news >= NEWS {
                return Poll::Ready(());
            }
            if seen.swap(news + 1, Ordering::AcqRel) != news + 1 {
                to_wake.send(context.waker().clone()).expect("a listener");
            }
            Poll::Pending
        });
        let ended = tokio::time::timeout(Duration::from_secs(60), AtOnce::new(future)).await;
        assert!(ended.is_ok(), "{} of {NEWS}", told.load(Ordering::Acquire));
        drop(to_wake);
        teller.join().expect("the other thread");
    }
}
