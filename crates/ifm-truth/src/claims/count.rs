//! Counts, and the threads that make them.

use super::program::{ClaimError, Program};
use std::path::Path;

/// How many of some were so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    /// Those that were.
    pub hits: u32,
    /// All.
    pub of: u32,
}

impl Share {
    pub(super) fn add(&mut self, is_hit: bool) {
        self.hits += u32::from(is_hit);
        self.of += 1;
    }

    /// In percent; absent of none.
    pub fn percent(self) -> Option<f64> {
        (self.of > 0).then(|| 100.0 * f64::from(self.hits) / f64::from(self.of))
    }
}

/// How often an interval held the truth, of those that were given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Intervals that held it, of all intervals.
    pub held: Share,
    /// Intervals, of all values.
    pub given: Share,
}

impl Coverage {
    pub(super) fn add(&mut self, bounds: Option<(f64, f64)>, truth: f64) {
        self.given.add(bounds.is_some());
        if let Some((low, high)) = bounds {
            self.held.add(low <= truth && truth <= high);
        }
    }
}

/// What is added up over the halves of the work.
pub(super) trait Sum: Default + Send {
    fn sum(&mut self, other: Self);
}

impl Sum for Share {
    fn sum(&mut self, other: Share) {
        self.hits += other.hits;
        self.of += other.of;
    }
}

impl Sum for Coverage {
    fn sum(&mut self, other: Coverage) {
        self.held.sum(other.held);
        self.given.sum(other.given);
    }
}

/// Processes at a time.
const THREADS: u32 = 2;

/// Counts `each` of `count` trials, each thread in a folder of its own below `folder`.
pub(super) fn counted<T: Sum>(
    program: &Path,
    folder: &Path,
    count: u32,
    each: impl Fn(&Program, u32, &mut T) -> Result<(), ClaimError> + Sync,
) -> Result<T, ClaimError> {
    let part = |thread: u32| {
        let folder = folder.join(format!("thread-{thread}"));
        std::fs::create_dir_all(&folder)
            .map_err(|source| ClaimError::Host { what: folder.display().to_string(), source })?;
        let program = Program { path: program, folder };
        let mut found = T::default();
        for trial in (0..count).filter(|trial| trial % THREADS == thread) {
            each(&program, trial, &mut found)?;
        }
        Ok(found)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || part(thread))).collect();
        let mut all = T::default();
        for thread in threads {
            match thread.join() {
                Ok(found) => all.sum(found?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })
}

/// Seed of a result: no two results have the same, within a trial or across trials.
pub(super) fn seed(trial: u32, side: u32, run: u32) -> u64 {
    (u64::from(trial) * 64 + u64::from(side)) * 64 + u64::from(run)
}
