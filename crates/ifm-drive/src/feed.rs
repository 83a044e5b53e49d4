//! The feeder: makes requests ahead of the shards, on its own thread, within bounds.

use crate::plan::{RequestMeta, RequestSource, Stop, StopLevel, phase_of};
use crossbeam_queue::ArrayQueue;
use ifm_core::record::Phase;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Most bytes of requests made ahead.
const AHEAD_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How long the feeder rests when it is far enough ahead.
const REST: Duration = Duration::from_micros(300);

/// A request ready to be sent.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub seq: u32,
    pub phase: Phase,
    pub meta: RequestMeta,
    pub bytes: Vec<u8>,
}

/// What a shard gets when it asks for a request.
#[derive(Debug)]
pub(crate) enum Claim {
    /// Send this.
    Request(Box<Prepared>),
    /// Nothing now: warm-up is still under way, or the feeder is behind.
    Later { starved: bool },
    /// Nothing any more.
    Never,
}

/// The requests between the feeder and the shards, and the phases of the level.
#[derive(Debug)]
pub(crate) struct Feed {
    warmup: ArrayQueue<Box<Prepared>>,
    measure: ArrayQueue<Box<Prepared>>,
    /// Spent buffers.
    spent: ArrayQueue<Vec<u8>>,
    ahead_bytes: AtomicUsize,
    warmup_requests: u32,
    warmup_left: AtomicU32,
    duration_ns: Option<u64>,
    /// Monotonic time of the first measured request; 0 before.
    measure_start_ns: AtomicU64,
    /// Monotonic time at which the shards were first told that nothing more comes; 0 before.
    send_end_ns: AtomicU64,
    exhausted: AtomicBool,
    stop: Stop,
    failure: Mutex<Option<String>>,
}

impl Feed {
    pub fn new(slots: u32, warmup: u32, duration_ns: Option<u64>, stop: Stop) -> Feed {
        let depth = (slots as usize * 4).clamp(256, 16 * 1024);
        Feed {
            warmup: ArrayQueue::new(depth),
            measure: ArrayQueue::new(depth),
            spent: ArrayQueue::new(depth),
            ahead_bytes: AtomicUsize::new(0),
            warmup_requests: warmup,
            warmup_left: AtomicU32::new(warmup),
            duration_ns,
            measure_start_ns: AtomicU64::new(0),
            send_end_ns: AtomicU64::new(0),
            exhausted: AtomicBool::new(false),
            stop,
            failure: Mutex::new(None),
        }
    }

    /// The feeder's thread: makes `requests` measured requests (or goes on until stopped) behind
    /// the warm-up.
    pub fn fill(&self, source: &mut dyn RequestSource, first_seq: u32, requests: Option<u32>) {
        let total = requests.map_or(u32::MAX, |count| count.saturating_add(self.warmup_requests));
        for position in 0..total {
            let mut bytes = self.spent.pop().unwrap_or_default();
            let meta = match source.next(&mut bytes) {
                Ok(meta) => meta,
                Err(error) => {
                    self.fail(error);
                    break;
                }
            };
            let seq = first_seq.saturating_add(position);
            let phase = phase_of(position, self.warmup_requests);
            self.ahead_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
            let queue = match phase {
                Phase::Warmup => &self.warmup,
                Phase::Measure => &self.measure,
            };
            let mut prepared = Box::new(Prepared { seq, phase, meta, bytes });
            while let Err(back) = queue.push(prepared) {
                prepared = back;
                if self.is_over() {
                    return self.exhausted.store(true, Ordering::Release);
                }
                std::thread::sleep(REST);
            }
            while self.ahead_bytes.load(Ordering::Relaxed) > AHEAD_BYTES_MAX && !self.is_over() {
                std::thread::sleep(REST);
            }
            if self.is_over() {
                break;
            }
        }
        self.exhausted.store(true, Ordering::Release);
    }

    fn fail(&self, error: String) {
        self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(error);
        self.stop.raise(StopLevel::Drain);
    }

    /// Why the source failed, if it did.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// A shard asks for the next request of a free slot.
    pub fn claim(&self, now_ns: u64) -> Claim {
        if self.is_over_at(now_ns) {
            return self.never(now_ns);
        }
        // The order of the two reads matters: what was queued before the flag was set is seen.
        let exhausted = self.exhausted.load(Ordering::Acquire);
        if let Some(prepared) = self.warmup.pop() {
            return self.hand_over(prepared);
        }
        if self.warmup_left.load(Ordering::Acquire) > 0 {
            return match exhausted && self.measure.is_empty() && self.failure().is_some() {
                true => self.never(now_ns),
                false => Claim::Later { starved: false },
            };
        }
        match self.measure.pop() {
            Some(prepared) => {
                let _ = self.measure_start_ns.compare_exchange(
                    0,
                    now_ns,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                self.hand_over(prepared)
            }
            None if exhausted => self.never(now_ns),
            None => Claim::Later { starved: true },
        }
    }

    fn hand_over(&self, prepared: Box<Prepared>) -> Claim {
        self.ahead_bytes.fetch_sub(prepared.bytes.len(), Ordering::Relaxed);
        Claim::Request(prepared)
    }

    fn never(&self, now_ns: u64) -> Claim {
        let _ = self.send_end_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
        Claim::Never
    }

    /// A warm-up request has ended, in whatever way.
    pub fn warmup_ended(&self) {
        self.warmup_left.fetch_sub(1, Ordering::Release);
    }

    /// Gives a buffer back.
    pub fn recycle(&self, bytes: Vec<u8>) {
        // A full pool drops the buffer.
        let _ = self.spent.push(bytes);
    }

    /// When the first measured request was handed over; absent before.
    pub fn measure_start_ns(&self) -> Option<u64> {
        Some(self.measure_start_ns.load(Ordering::Relaxed)).filter(|start| *start > 0)
    }

    /// When sending ended; absent before.
    pub fn send_end_ns(&self) -> Option<u64> {
        Some(self.send_end_ns.load(Ordering::Relaxed)).filter(|end| *end > 0)
    }

    fn is_over(&self) -> bool {
        self.is_over_at(ifm_sys::mono_ns())
    }

    fn is_over_at(&self, now_ns: u64) -> bool {
        if self.stop.level() > StopLevel::Run {
            return true;
        }
        match (self.duration_ns, self.measure_start_ns()) {
            (Some(duration), Some(start)) => now_ns >= start.saturating_add(duration),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count(u32, u32);

    impl RequestSource for Count {
        fn next(&mut self, buffer: &mut Vec<u8>) -> Result<RequestMeta, String> {
            if self.0 == self.1 {
                return Err("no more text".to_owned());
            }
            self.0 += 1;
            buffer.clear();
            buffer.push(b'x');
            let item = self.0;
            Ok(RequestMeta { item, prompt_tokens_asked: None, output_tokens_asked: None })
        }
    }

    fn seq(claim: Claim) -> Option<(u32, Phase)> {
        match claim {
            Claim::Request(prepared) => Some((prepared.seq, prepared.phase)),
            _ => None,
        }
    }

    #[test]
    fn nothing_is_measured_before_the_warm_up_has_ended() {
        let feed = Feed::new(1, 2, None, Stop::default());
        feed.fill(&mut Count(0, 10), 100, Some(1));
        assert_eq!(seq(feed.claim(1)), Some((100, Phase::Warmup)));
        assert_eq!(seq(feed.claim(2)), Some((101, Phase::Warmup)));
        feed.warmup_ended();
        assert!(matches!(feed.claim(3), Claim::Later { starved: false }));
        feed.warmup_ended();
        assert_eq!(seq(feed.claim(4)), Some((102, Phase::Measure)));
        assert_eq!(feed.measure_start_ns(), Some(4));
        assert!(matches!(feed.claim(5), Claim::Never));
        assert_eq!(feed.send_end_ns(), Some(5));
    }

    #[test]
    fn the_duration_counts_from_the_first_measured_request() {
        let feed = Feed::new(1, 0, Some(10), Stop::default());
        feed.measure
            .push(Box::new(Prepared {
                seq: 0,
                phase: Phase::Measure,
                meta: RequestMeta { item: 0, prompt_tokens_asked: None, output_tokens_asked: None },
                bytes: vec![],
            }))
            .unwrap();
        assert!(seq(feed.claim(1000)).is_some());
        assert!(matches!(feed.claim(1009), Claim::Later { starved: true }));
        assert!(matches!(feed.claim(1010), Claim::Never));
    }

    #[test]
    fn a_source_that_fails_ends_the_level_and_says_why() {
        let stop = Stop::default();
        let feed = Feed::new(1, 0, None, stop.clone());
        feed.fill(&mut Count(0, 1), 0, Some(5));
        assert_eq!(stop.level(), StopLevel::Drain);
        assert_eq!(feed.failure().as_deref(), Some("no more text"));
        assert!(matches!(feed.claim(1), Claim::Never));
    }
}
