//! Threads that share the work of one product.
//!
//! A job is open while its items last: every thread that is awake takes some, and the caller waits
//! only for threads that are working on some. A thread that the system has preempted takes none and
//! delays no one; one that is preempted while it works delays the job by what it has taken.
//!
//! Not here: what an item is (`schedule`).

use std::{
    fmt,
    ops::Range,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Acquire, Relaxed, SeqCst},
        },
    },
    thread::{self, JoinHandle},
};

/// Looks at the gate before a thread goes to sleep: some ten microseconds, about the time
/// between two products.
const SPINS: usize = 1000;
/// Minimum number of times that a thread takes work in a job, if all are equally quick: more share
/// better, fewer cost less.
const TURNS: usize = 6;
/// What it takes is at most this part of its share of what is left: towards the end of a job threads take less
/// and less, and end together.
const TURNS_LEFT: usize = 2;

/// The lowest bit of the gate: a job is open.
const OPEN: usize = 1;
/// Threads at work on it, in units of this; 15 bits.
const INSIDE: usize = 2;
const INSIDE_MASK: usize = 0xFFFE;
/// The number of the job, in units of this.
const JOB: usize = 0x1_0000;

/// A fixed number of threads, the caller's among them.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// One job at a time.
    turn: Mutex<()>,
}

struct Shared {
    gate: AtomicUsize,
    /// The first item that has not been taken.
    next: AtomicUsize,
    job: Mutex<Job>,
    sleepers: AtomicUsize,
    sleep: Mutex<()>,
    wake: Condvar,
    stop: AtomicBool,
    panicked: AtomicBool,
}

/// What is done; meaningful while the gate is open.
#[derive(Clone, Copy)]
struct Job {
    work: Work,
    items: usize,
    threads: usize,
}

impl Job {
    /// How many items are taken when those before `next` are.
    fn share(&self, next: usize) -> usize {
        let whole = self.items / (self.threads * TURNS);
        let left = self.items.saturating_sub(next) / (self.threads * TURNS_LEFT);
        whole.min(left).max(1)
    }
}

/// The caller's closure, whose lifetime the gate guards.
#[derive(Clone, Copy)]
struct Work(*const Shares<'static>);

type Shares<'a> = dyn Fn(Range<usize>) + Sync + 'a;

// SAFETY: the closure is `Sync`; it runs only between the opening of the gate and the moment when
// no thread is inside any more, and `Pool::run` outlives that.
unsafe impl Send for Work {}

fn nothing(_: Range<usize>) {}

impl fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pool").field("threads", &self.threads()).finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// A pool of this many threads, at least one. Threads that the system refuses are
    /// left out: [`Pool::threads`] says how many there are.
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared {
            gate: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            job: Mutex::new(Job { work: Work(&nothing), items: 0, threads: 1 }),
            sleepers: AtomicUsize::new(0),
            sleep: Mutex::new(()),
            wake: Condvar::new(),
            stop: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
        });
        let workers = (1..threads)
            .map_while(|index| {
                let shared = Arc::clone(&shared);
                let name = format!("compute-{index}");
                thread::Builder::new().name(name).spawn(move || shared.serve()).ok()
            })
            .collect();
        Self { shared, workers, turn: Mutex::new(()) }
    }

    /// Threads that work, the caller's among them.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `work` with ranges that cover `0..items` once; returns when all is done.
    ///
    /// # Panics
    /// When `work` does, in any thread.
    pub fn run(&self, items: usize, work: impl Fn(Range<usize>) + Sync) {
        if self.workers.is_empty() || items <= 1 {
            if items > 0 {
                work(0..items);
            }
            return;
        }
        let _turn = lock(&self.turn);
        let shared = &*self.shared;
        let work: &Shares<'_> = &work;
        // SAFETY: only the lifetime changes. The gate is closed and empty again before this
        // function returns or unwinds (`Closing`).
        let work =
            Work(unsafe { std::mem::transmute::<*const Shares<'_>, *const Shares<'static>>(work) });
        let job = Job { work, items, threads: self.threads() };
        *lock(&shared.job) = job;
        shared.next.store(0, Relaxed);
        shared.panicked.store(false, Relaxed);
        let closing = Closing(shared);
        shared.gate.fetch_add(JOB | OPEN, SeqCst);
        if shared.sleepers.load(SeqCst) > 0 {
            drop(lock(&shared.sleep));
            shared.wake.notify_all();
        }
        shared.work_on(job);
        drop(closing);
        assert!(!shared.panicked.load(SeqCst), "a thread of the pool panicked");
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        drop(lock(&self.shared.sleep));
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            // Panics of work have been reported by `run`.
            drop(worker.join());
        }
    }
}

/// Floats that threads write without overlap.
struct Apart(*mut f32);

// SAFETY: each thread makes slices of the rows that it has taken, which no other thread takes.
unsafe impl Sync for Apart {}

impl Pool {
    /// Calls `work` once for each row of `width` floats, with its number, on all threads. Few rows are
    /// worked on by the caller alone.
    ///
    /// # Panics
    /// As [`Pool::run`].
    pub fn rows(&self, data: &mut [f32], width: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
        /// Rows of a layer that are not worth waking a thread for.
        const FEW: usize = 8;
        let count = data.len() / width.max(1);
        if count <= FEW {
            data.chunks_exact_mut(width.max(1)).enumerate().for_each(|(row, out)| work(row, out));
            return;
        }
        let start = Apart(data.as_mut_ptr());
        self.run(count, |range| {
            let start = &start;
            for row in range {
                // SAFETY: the row lies inside `data`, which is borrowed until `run` returns, and `run`
                // gives each number to one thread.
                let out =
                    unsafe { std::slice::from_raw_parts_mut(start.0.add(row * width), width) };
                work(row, out);
            }
        });
    }
}

/// Closes the gate and waits until no thread is inside.
struct Closing<'a>(&'a Shared);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.gate.fetch_and(!OPEN, SeqCst);
        let mut spins = 0;
        while self.0.gate.load(Acquire) & INSIDE_MASK != 0 {
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

impl Shared {
    /// Takes items until there are none.
    fn work_on(&self, job: Job) {
        let take = |next: usize| (next < job.items).then(|| next + job.share(next));
        while let Ok(start) = self.next.fetch_update(Relaxed, Relaxed, take) {
            // SAFETY: this thread is inside the gate, or is the caller's: see `Work`.
            let work = unsafe { &*job.work.0 };
            work(start..(start + job.share(start)).min(job.items));
        }
    }

    /// A worker's life.
    fn serve(&self) {
        let mut seen = 0;
        while let Some(gate) = self.wait(seen) {
            // Enter, unless the job is over or another worker came or went meanwhile.
            if self.gate.compare_exchange(gate, gate + INSIDE, SeqCst, SeqCst).is_err() {
                continue;
            }
            seen = gate / JOB;
            let job = *lock(&self.job);
            if panic::catch_unwind(AssertUnwindSafe(|| self.work_on(job))).is_err() {
                self.panicked.store(true, SeqCst);
                // What is left need not be done: the caller panics.
                self.next.store(usize::MAX / 2, Relaxed);
            }
            self.gate.fetch_sub(INSIDE, SeqCst);
        }
    }

    /// Waits for a job other than `seen`; `None` when the pool ends.
    fn wait(&self, seen: usize) -> Option<usize> {
        let fresh = || {
            let gate = self.gate.load(SeqCst);
            (gate & OPEN != 0 && gate / JOB != seen).then_some(gate)
        };
        for _ in 0..SPINS {
            if let Some(gate) = fresh() {
                return Some(gate);
            }
            std::hint::spin_loop();
        }
        let mut guard = lock(&self.sleep);
        self.sleepers.fetch_add(1, SeqCst);
        let gate = loop {
            if self.stop.load(SeqCst) {
                break None;
            }
            if let Some(gate) = fresh() {
                break Some(gate);
            }
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        };
        self.sleepers.fetch_sub(1, SeqCst);
        gate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_apart_and_each_is_worked_on_once() {
        for (threads, count) in [(1, 100), (3, 100), (3, 5), (2, 0)] {
            let mut data = vec![1.0; count * 7];
            Pool::new(threads).rows(&mut data, 7, |row, out| {
                out.iter_mut().for_each(|value| *value += row as f32);
            });
            let expected = (0..count).flat_map(|row| [1.0 + row as f32; 7]);
            assert_eq!(data, expected.collect::<Vec<_>>(), "{threads} threads, {count} rows");
        }
    }

    #[test]
    fn every_item_is_worked_on_once() {
        for threads in [1, 2, 5] {
            let pool = Pool::new(threads);
            assert_eq!(pool.threads(), threads);
            for items in [0, 1, 2, 7, 100, 1000] {
                let counts: Vec<AtomicUsize> = (0..items).map(|_| AtomicUsize::new(0)).collect();
                pool.run(items, |range| {
                    counts[range].iter().for_each(|count| {
                        count.fetch_add(1, Relaxed);
                    });
                });
                assert!(counts.iter().all(|count| count.load(Relaxed) == 1), "{threads} {items}");
            }
        }
    }

    #[test]
    fn all_threads_take_part_and_none_is_waited_for_that_does_not() {
        let pool = Pool::new(3);
        let names = Mutex::new(std::collections::BTreeSet::new());
        // Each holds its item until all three have one.
        let here = AtomicUsize::new(0);
        pool.run(3, |_| {
            here.fetch_add(1, SeqCst);
            while here.load(SeqCst) < 3 {
                thread::yield_now();
            }
            lock(&names).insert(thread::current().name().map(str::to_owned));
        });
        assert_eq!(lock(&names).len(), 3);
    }

    #[test]
    fn a_panic_comes_back_and_the_pool_goes_on() {
        let pool = Pool::new(2);
        let caught = panic::catch_unwind(AssertUnwindSafe(|| {
            pool.run(100, |range| assert!(!range.contains(&57), "an item fails"));
        }));
        assert!(caught.is_err());
        let sum = AtomicUsize::new(0);
        pool.run(100, |range| {
            sum.fetch_add(range.len(), Relaxed);
        });
        assert_eq!(sum.load(Relaxed), 100);
    }

    #[test]
    fn callers_take_turns() {
        let (pool, sum) = (Pool::new(2), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        pool.run(10, |range| {
                            sum.fetch_add(range.len(), Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(sum.load(Relaxed), 4 * 50 * 10);
    }
}
