//! Making things ahead of whoever asks for them, on several threads and within a bound of memory.
//!
//! What is made depends on its number alone, so that it makes no difference who makes it. Whoever asks
//! for a number that nobody has begun makes it himself.
//!
//! Not here: what is made (`dress`).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

/// Things that are ready at most.
const READY_MAX: usize = 1024;
/// Maximum bytes of media that are ready, in addition to those that are needed at once.
const READY_BYTES_MAX: u64 = 16 << 20;
/// Bytes of things that are ready at most, needed at once or not.
const NEEDED_BYTES_MAX: u64 = 1 << 30;
/// Threads at most: more than keep one client busy.
const THREADS_MAX: usize = 8;

/// Says whether somebody who waits is to wait on.
type GoOn<'a> = &'a dyn Fn() -> bool;

/// Makes the thing with a number, and says how many bytes it has; nothing where there is none.
type Make<T> = dyn Fn(u32) -> Option<(T, u64)> + Send + Sync;

/// Makes things ahead. The threads begin with the first question and end with this.
pub(super) struct Ahead<T> {
    shared: Arc<Shared<T>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared<T> {
    make: Box<Make<T>>,
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    /// What is asked for next, most likely; nothing before it is kept.
    base: u32,
    /// What is begun next.
    next: u32,
    /// What stands before it is asked for at once.
    needed: u32,
    /// Bytes of the last one that was made.
    last_bytes: u64,
    ready: BTreeMap<u32, (T, u64)>,
    bytes: u64,
    begun: BTreeSet<u32>,
    /// Nothing is begun any more: there is none, or this has come to its end.
    is_over: bool,
}

impl<T> State<T> {
    /// Leaves out what was passed over.
    fn forget(&mut self, base: u32) {
        self.base = base;
        let kept = self.ready.split_off(&base);
        let bytes: u64 = self.ready.values().map(|(_, bytes)| bytes).sum();
        self.bytes -= bytes;
        self.ready = kept;
    }

    /// Where somebody went elsewhere, what follows there is made next.
    fn turn_to(&mut self, number: u32, following: u32) {
        if number >= self.next || number < self.base {
            self.next = following;
            self.ready.clear();
            self.bytes = 0;
            self.base = following;
        }
    }

    /// What is begun next, if there is room for it.
    fn begin(&mut self) -> Option<u32> {
        let is_needed = self.next < self.needed;
        let most = if is_needed { NEEDED_BYTES_MAX } else { READY_BYTES_MAX };
        // One is always ready, however large.
        let is_full = self.ready.len() + self.begun.len() >= READY_MAX
            || self.bytes > 0 && self.bytes + self.last_bytes > most;
        if is_full || self.is_over {
            return None;
        }
        let number = self.next;
        self.next = number.checked_add(1)?;
        self.begun.insert(number);
        Some(number)
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'guard>(&self, state: MutexGuard<'guard, State<T>>) -> MutexGuard<'guard, State<T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread does.
    fn work(&self) {
        let mut state = self.lock();
        while !state.is_over {
            state = match state.begin() {
                Some(number) => self.make(number, state),
                None => self.wait(state),
            };
        }
    }

    /// Makes what was begun.
    fn make<'guard>(
        &'guard self,
        number: u32,
        state: MutexGuard<'guard, State<T>>,
    ) -> MutexGuard<'guard, State<T>> {
        drop(state);
        let made = (self.make)(number);
        let mut state = self.lock();
        state.begun.remove(&number);
        match made {
            Some((thing, bytes)) if number >= state.base => {
                state.bytes += bytes;
                state.last_bytes = bytes;
                if let Some((_, former)) = state.ready.insert(number, (thing, bytes)) {
                    state.bytes -= former;
                }
            }
            Some(_) => {}
            None => state.is_over = true,
        }
        self.changed.notify_all();
        state
    }
}

impl<T: Send + 'static> Ahead<T> {
    /// Makes things by `make`.
    pub(super) fn new(make: impl Fn(u32) -> Option<(T, u64)> + Send + Sync + 'static) -> Self {
        let state = State {
            base: 0,
            next: 0,
            needed: 0,
            last_bytes: 0,
            ready: BTreeMap::new(),
            bytes: 0,
            begun: BTreeSet::new(),
            is_over: false,
        };
        let shared =
            Shared { make: Box::new(make), state: Mutex::new(state), changed: Condvar::new() };
        Self { shared: Arc::new(shared), threads: Mutex::new(Vec::new()) }
    }

    /// The thing with a number, where it was made ahead; nothing where the caller has to make it.
    pub(super) fn take(&self, number: u32) -> Option<T> {
        self.start(number);
        let mut state = self.shared.lock();
        while state.begun.contains(&number) {
            state = self.shared.wait(state);
        }
        let found = state.ready.remove(&number);
        let following = number.saturating_add(1);
        if let Some((_, bytes)) = &found {
            state.bytes -= bytes;
            state.forget(following);
        } else {
            state.turn_to(number, following);
        }
        self.shared.changed.notify_all();
        found.map(|(thing, _)| thing)
    }

    /// Makes the things from a number on before they are asked for, on the caller's thread too: until
    /// those that are `needed` at once are begun, or as many as there are or there is room for, or until
    /// it is to wait no longer.
    pub(super) fn fill(&self, number: u32, needed: u32, go_on: GoOn<'_>) {
        self.start(number);
        let mut state = self.shared.lock();
        state.turn_to(number, number);
        state.needed = number.saturating_add(needed);
        self.shared.changed.notify_all();
        while go_on() && state.next < number.saturating_add(needed) {
            let Some(next) = state.begin() else { return };
            state = self.shared.make(next, state);
        }
    }

    /// Starts the threads, once: on half of the processors, for the load needs the others.
    fn start(&self, number: u32) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if !threads.is_empty() {
            return;
        }
        self.shared.lock().next = number;
        self.shared.lock().base = number;
        let count = thread::available_parallelism().map_or(1, usize::from) / 2;
        for _ in 0..count.clamp(1, THREADS_MAX) {
            let shared = self.shared.clone();
            let thread = thread::Builder::new().name("media".to_owned());
            // Without threads everything is made when it is asked for.
            let started = thread.spawn(move || shared.work());
            threads.extend(started);
        }
    }
}

impl<T> Drop for Ahead<T> {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A thread that panicked has made nothing, and whoever asked has made it again.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Asks for numbers in any order, as levels do that begin again behind what was sent.
    #[test]
    fn every_number_is_made_whoever_asks_and_when() {
        let ahead = Ahead::new(|number| (number < 60).then_some((number * 7, 1)));
        for number in (0..20).chain(10..30).chain([5, 6, 50]).chain(40..60) {
            let found = ahead.take(number).unwrap_or(number * 7);
            assert_eq!(found, number * 7);
        }
        assert_eq!(ahead.take(60), None);
        assert_eq!(ahead.take(3), None);
    }

    #[test]
    fn what_is_wanted_is_ready_before_it_is_asked_for() {
        let ahead = Ahead::new(|number| (number < 60).then_some((number, 1)));
        let taken = |from: u32, wanted: u32, goes_on: bool| {
            ahead.fill(from, wanted, &|| goes_on);
            let state = ahead.shared.lock();
            (from..from + wanted).filter(|number| *number < state.next).count()
        };
        assert_eq!(taken(0, 20, true), 20);
        assert_eq!(taken(5, 20, true), 20, "a level begins again behind what was sent");
        assert_eq!(taken(50, 20, true), 11, "the eleventh is the one that is not there");
        assert_eq!(ahead.take(59), Some(59));
    }

    /// What is needed at once may be more than what waits; what follows it has to fit.
    #[test]
    fn what_is_needed_is_made_whatever_it_holds() {
        let ahead = Ahead::new(|number| Some((number, READY_BYTES_MAX / 2)));
        ahead.fill(0, 20, &|| true);
        let begun = |ahead: &Ahead<u32>| ahead.shared.lock().next;
        assert_eq!(begun(&ahead), 20);
        // All of them are more than what may wait, until nearly all were taken.
        for number in 0..18 {
            assert_eq!(ahead.take(number), Some(number));
            assert_eq!(begun(&ahead), 20, "{number}");
        }
    }

    #[test]
    fn nothing_is_made_beyond_the_bound() {
        let made = Arc::new(AtomicU32::new(0));
        let counted = made.clone();
        let ahead = Ahead::new(move |number| {
            counted.fetch_add(1, Ordering::SeqCst);
            Some((number, READY_BYTES_MAX / 4))
        });
        for number in 0..100 {
            assert_eq!(ahead.take(number).unwrap_or(number), number);
        }
        drop(ahead);
        // Those that were asked for, four that were ready, and one in each thread's hands.
        assert!(made.load(Ordering::SeqCst) <= 100 + 4 + THREADS_MAX as u32);
    }
}
