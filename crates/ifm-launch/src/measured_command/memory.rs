//! Memory of the host that a command and all that it started use, sampled while it runs.
//!
//! The sum of the proportional shares of all processes below this one: pages that several of them
//! share count once. What rises and falls between two samples is not seen here; the kernel's own
//! account of each process (`ifm_sys::family`) sees that of one process.

use ifm_sys::family::{descendants, proportional_memory, resident_memory};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shortest time between two samples.
const PERIOD_MIN: Duration = Duration::from_millis(100);
/// Reading takes at most one part in this many of the time: it pauses a process for a moment.
const COST_PARTS: u32 = 20;
/// Of fewer samples the largest says nothing.
const SAMPLES_MIN: u64 = 5;

/// What was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Largest sum among the samples, bytes.
    largest: Option<u64>,
    /// Most processes at one time.
    pub processes: usize,
    /// Samples that could be read.
    pub samples: u64,
    /// Whether what is shared counted in full at some time, since the kernel did not report shares.
    pub has_whole: bool,
}

impl Seen {
    /// Largest sum among the samples, bytes; absent where there are too few.
    pub fn peak(&self) -> Option<u64> {
        self.largest.filter(|_| self.samples >= SAMPLES_MIN)
    }

    /// Adds a sample of these processes.
    fn add(&mut self, processes: &[u32]) {
        let (mut sum, mut count) = (0, 0);
        for process in processes {
            let share = proportional_memory(*process);
            let whole = if share.is_none() { resident_memory(*process) } else { None };
            self.has_whole |= whole.is_some();
            if let Some(bytes) = share.or(whole) {
                (sum, count) = (sum + bytes, count + 1);
            }
        }
        if count > 0 {
            self.samples += 1;
            self.largest = self.largest.max(Some(sum));
            self.processes = self.processes.max(count);
        }
    }
}

/// Sampling, until it is finished.
pub struct Watch {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<Seen>>,
}

impl Watch {
    /// Begins, without the process of a guard.
    pub fn start(guard: Option<u32>) -> Watch {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let of_thread = Arc::clone(&over);
        let work = std::thread::Builder::new().name("memory".to_owned());
        let thread = work.spawn(move || watch(guard, &of_thread.0, &of_thread.1)).ok();
        Watch { over, thread }
    }

    /// Ends, and gives what was seen.
    pub fn finish(mut self) -> Seen {
        *self.over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.1.notify_all();
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

fn watch(guard: Option<u32>, over: &Mutex<bool>, bell: &Condvar) -> Seen {
    let mut seen = Seen::default();
    loop {
        let begun = Instant::now();
        let mut processes = descendants();
        processes.retain(|process| Some(*process) != guard);
        seen.add(&processes);
        let pause = PERIOD_MIN.max(begun.elapsed() * COST_PARTS);
        let is_over = over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = bell.wait_timeout_while(is_over, pause, |is_over| !*is_over);
        if *waited.unwrap_or_else(PoisonError::into_inner).0 {
            return seen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_sum_is_over_all_and_a_process_that_has_gone_is_not_in_it() {
        let cat = || Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat");
        let mut both = [cat(), cat()];
        let of = |processes: &[u32]| {
            let mut seen = Seen::default();
            seen.add(processes);
            seen
        };
        let ids = both.each_ref().map(std::process::Child::id);
        let (one, two) = (of(&ids[..1]), of(&ids));
        assert_eq!((one.processes, two.processes, two.samples), (1, 2, 1));
        assert!(two.largest > one.largest && one.peak().is_none(), "{one:?} {two:?}");
        let often = Seen { samples: SAMPLES_MIN, ..two };
        assert_eq!(often.peak(), two.largest);
        both.iter_mut().for_each(|child| drop(child.stdin.take()));
        both.iter_mut().for_each(|child| assert!(child.wait().is_ok_and(|end| end.success())));
        assert_eq!(of(&ids), Seen::default());
    }
}
