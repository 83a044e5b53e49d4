//! The feeder: makes requests ahead of the shards, on its own thread, within bounds.

use crate::plan::{
    Answered, LevelPlan, Loop, NextAsk, Offer, RequestMeta, RequestSource, Stop, StopLevel,
    phase_of,
};
use crossbeam_queue::ArrayQueue;
use ifm_core::record::Phase;
use ifm_wire::RequestBytes;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Most bytes of requests made ahead.
const AHEAD_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How long the feeder rests when it is far enough ahead.
const REST: Duration = Duration::from_micros(300);
/// How long it rests when the source waits for an answer or for the end of a pause.
const REST_FOR_ANSWER: Duration = Duration::from_micros(100);

/// How long before the first due time of an open loop requests are made, so that some are ready.
const LEAD_NS: u64 = 50_000_000;

/// A request ready to be sent.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub seq: u32,
    pub phase: Phase,
    pub meta: RequestMeta,
    pub bytes: RequestBytes,
    /// Memory that it held when it was made, bytes.
    pub held_bytes: usize,
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
    spent: ArrayQueue<RequestBytes>,
    ahead_bytes: AtomicUsize,
    warmup_requests: u32,
    warmup_left: AtomicU32,
    duration_ns: Option<u64>,
    /// Monotonic time of the first measured request; 0 before.
    measure_start_ns: AtomicU64,
    /// Monotonic time at which the shards first learned that nothing more comes; 0 before.
    send_end_ns: AtomicU64,
    /// Monotonic time of the latest request that a shard began.
    last_begun_ns: AtomicU64,
    exhausted: AtomicBool,
    /// Monotonic time at which the sink had enough; 0 before.
    enough_ns: AtomicU64,
    /// Whether requests have due times.
    is_open: bool,
    /// Whether it runs before all threads but the shards.
    is_precise: bool,
    /// Requests of an open loop for which there was no time.
    unsent: Mutex<Vec<Prepared>>,
    /// Whether the source had nothing more before the level was to end.
    ran_out: AtomicBool,
    /// Answers on their way back to a source that follows conversations; absent for others.
    answers: Option<ArrayQueue<Answered>>,
    stop: Stop,
    failure: Mutex<Option<String>>,
}

impl Feed {
    pub fn new(plan: &LevelPlan, stop: Stop) -> Feed {
        let slots = plan.slots as usize;
        // At most one request of each slot waits for its follow-up.
        let answers = plan.follows_answers.then(|| ArrayQueue::new(slots + 1));
        let is_open = plan.arrivals == Loop::Open;
        let feed = Feed::of(slots, plan.warmup_requests, plan.duration_ns, is_open, answers, stop);
        Feed { is_precise: plan.precise, ..feed }
    }

    fn of(
        slots: usize,
        warmup: u32,
        duration_ns: Option<u64>,
        is_open: bool,
        answers: Option<ArrayQueue<Answered>>,
        stop: Stop,
    ) -> Feed {
        let depth = (slots * 4).clamp(256, 16 * 1024);
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
            last_begun_ns: AtomicU64::new(0),
            exhausted: AtomicBool::new(false),
            enough_ns: AtomicU64::new(0),
            is_open,
            is_precise: false,
            unsent: Mutex::new(Vec::new()),
            ran_out: AtomicBool::new(false),
            answers,
            stop,
            failure: Mutex::new(None),
        }
    }

    /// The feeder's thread: makes `requests` measured requests (or goes on until stopped) behind
    /// the warm-up.
    pub fn fill(&self, source: &mut dyn RequestSource, first_seq: u32, requests: Option<u32>) {
        ifm_sys::thread::sharpen_timers();
        if self.is_precise {
            // As the decoder: what a shard waits for must not starve behind it.
            let _ = ifm_sys::thread::run_second();
        }
        let total = requests.map_or(u32::MAX, |count| count.saturating_add(self.warmup_requests));
        let mut position = 0;
        let mut spare = None;
        while position < total && !self.is_over() {
            while let Some(answered) = self.answers.as_ref().and_then(ArrayQueue::pop) {
                source.answered(answered);
            }
            let mut bytes = spare.take().or_else(|| self.spent.pop()).unwrap_or_default();
            let phase = phase_of(position, self.warmup_requests);
            let seq = first_seq.saturating_add(position);
            let is_warm = self.warmup_left.load(Ordering::Acquire) == 0;
            let ask = NextAsk { phase, seq, now_ns: ifm_sys::mono_ns(), is_warm };
            match source.next(&ask, &mut bytes) {
                Ok(Offer::Request(meta)) => {
                    let held_bytes = bytes.held_bytes();
                    self.queue(Box::new(Prepared { seq, phase, meta, bytes, held_bytes }));
                    position += 1;
                }
                Ok(Offer::Later) => {
                    spare = Some(bytes);
                    std::thread::sleep(REST_FOR_ANSWER);
                }
                Ok(Offer::End) => {
                    self.ran_out.store(true, Ordering::Relaxed);
                    break;
                }
                Err(error) => {
                    self.fail(error);
                    break;
                }
            }
        }
        if self.is_open && self.stop.level() == StopLevel::Run {
            // The schedule went on although there was no time left.
            while position < total
                && let Some(meta) = source.skip()
            {
                let phase = phase_of(position, self.warmup_requests);
                let seq = first_seq.saturating_add(position);
                let skipped =
                    Prepared { seq, phase, meta, bytes: RequestBytes::default(), held_bytes: 0 };
                if self.is_due_after_enough(&skipped) {
                    break;
                }
                self.set_aside(skipped);
                position += 1;
            }
        }
        self.exhausted.store(true, Ordering::Release);
    }

    /// Sets a request aside for which there was no time.
    pub fn set_aside(&self, prepared: Prepared) {
        self.unsent.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(prepared);
    }

    /// The requests of an open loop that were due before the level ended and were never sent.
    pub fn take_unsent(&self, end_ns: u64) -> Vec<Prepared> {
        let mut unsent = self.unsent.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut unsent = std::mem::take(&mut *unsent);
        if self.is_open {
            unsent.extend(std::iter::from_fn(|| self.measure.pop()).map(|prepared| *prepared));
        }
        unsent.retain(|prepared| self.due_ns(prepared).is_some_and(|due_ns| due_ns <= end_ns));
        unsent
    }

    /// When a request is due, nanoseconds on the monotonic clock; absent where it may go at once.
    pub fn due_ns(&self, prepared: &Prepared) -> Option<u64> {
        let due_ns = prepared.meta.due_ns?;
        Some(self.measure_start_ns()?.saturating_add(due_ns))
    }

    /// Ends the level now as its duration would.
    pub fn end(&self, now_ns: u64) {
        let _ = self.enough_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn enough_ns(&self) -> Option<u64> {
        Some(self.enough_ns.load(Ordering::Relaxed)).filter(|at| *at > 0)
    }

    /// Whether the level was ended before a request was due: a schedule goes on for ever.
    fn is_due_after_enough(&self, prepared: &Prepared) -> bool {
        let due_ns = self.due_ns(prepared).unwrap_or(u64::MAX);
        self.enough_ns().is_some_and(|enough_ns| due_ns > enough_ns)
    }

    /// Puts a request in line, and waits while far enough ahead or until the level is over.
    fn queue(&self, mut prepared: Box<Prepared>) {
        self.ahead_bytes.fetch_add(prepared.held_bytes, Ordering::Relaxed);
        let queue = match prepared.phase {
            Phase::Warmup => &self.warmup,
            // What a probe sends is measured as far as a feed knows.
            Phase::Measure | Phase::Probe => &self.measure,
        };
        while let Err(back) = queue.push(prepared) {
            prepared = back;
            if self.is_over() {
                return self.set_aside(*prepared);
            }
            std::thread::sleep(REST);
        }
        while self.ahead_bytes.load(Ordering::Relaxed) > AHEAD_BYTES_MAX && !self.is_over() {
            std::thread::sleep(REST);
        }
    }

    /// Hands an answer back to the source, if it follows conversations.
    pub fn give_back(&self, answered: Answered) {
        if let Some(answers) = &self.answers
            && answers.push(answered).is_err()
        {
            self.fail("more answers than users wait to be followed".to_owned());
        }
    }

    /// Whether the source follows conversations.
    pub fn follows_answers(&self) -> bool {
        self.answers.is_some()
    }

    /// Whether the source had nothing more before the level was to end.
    pub fn ran_out(&self) -> bool {
        self.ran_out.load(Ordering::Relaxed)
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
            // Nothing was made after the warm-up, which may stay shorter than planned.
            return match exhausted && self.measure.is_empty() {
                true => self.never(now_ns),
                false => Claim::Later { starved: false },
            };
        }
        match self.measure.pop() {
            Some(prepared) => {
                let lead_ns = if self.is_open { LEAD_NS } else { 0 };
                let _ = self.measure_start_ns.compare_exchange(
                    0,
                    now_ns + lead_ns,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                self.hand_over(prepared)
            }
            None if exhausted => self.never(now_ns),
            None => Claim::Later { starved: self.answers.is_none() && !self.is_open },
        }
    }

    fn hand_over(&self, prepared: Box<Prepared>) -> Claim {
        self.ahead_bytes.fetch_sub(prepared.held_bytes, Ordering::Relaxed);
        Claim::Request(prepared)
    }

    fn never(&self, now_ns: u64) -> Claim {
        let _ = self.send_end_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
        Claim::Never
    }

    /// A shard begins a request that it was given, a little after it asked for it.
    pub fn begun(&self, start_ns: u64) {
        self.last_begun_ns.fetch_max(start_ns, Ordering::Relaxed);
    }

    /// A warm-up request has ended, in whatever way.
    pub fn warmup_ended(&self) {
        self.warmup_left.fetch_sub(1, Ordering::Release);
    }

    /// Gives a buffer back.
    pub fn recycle(&self, mut bytes: RequestBytes) {
        // What it shared is not held for the next one.
        bytes.clear();
        // A full pool drops the buffer.
        let _ = self.spent.push(bytes);
    }

    /// When the first measured request was handed over; absent before.
    pub fn measure_start_ns(&self) -> Option<u64> {
        Some(self.measure_start_ns.load(Ordering::Relaxed)).filter(|start| *start > 0)
    }

    /// Whether the feeder has nothing more to make.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted.load(Ordering::Acquire)
    }

    /// When sending ended; absent before. Never earlier than the start of a request: a request
    /// handed over in time may begin just after another slot has learned that there are no more.
    pub fn send_end_ns(&self) -> Option<u64> {
        let told_ns = Some(self.send_end_ns.load(Ordering::Relaxed)).filter(|end| *end > 0)?;
        Some(told_ns.max(self.last_begun_ns.load(Ordering::Relaxed)))
    }

    fn is_over(&self) -> bool {
        self.is_over_at(ifm_sys::mono_ns())
    }

    /// Whether nothing more is to be sent at that time.
    pub fn is_over_at(&self, now_ns: u64) -> bool {
        if self.stop.level() > StopLevel::Run || self.enough_ns().is_some() {
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

    fn meta(item: u32) -> RequestMeta {
        RequestMeta {
            item,
            due_ns: None,
            turn: None,
            class: None,
            known_tokens: None,
            prompt_tokens_asked: None,
            output_tokens_asked: None,
            results_asked: None,
            media: None,
            form: None,
        }
    }

    struct Count(u32, u32);

    /// The same, and then its end.
    struct Ends(Count);

    impl RequestSource for Ends {
        fn next(&mut self, ask: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
            if self.0.0 == self.0.1 {
                return Ok(Offer::End);
            }
            self.0.next(ask, buffer)
        }
    }

    impl RequestSource for Count {
        fn next(&mut self, _: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
            if self.0 == self.1 {
                return Err("no more text".to_owned());
            }
            self.0 += 1;
            buffer.clear();
            buffer.own_mut().push(b'x');
            let item = self.0;
            Ok(Offer::Request(meta(item)))
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
        let feed = Feed::of(1, 2, None, false, None, Stop::default());
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
        // The slot that was given the request begins it only now.
        feed.begun(6);
        feed.begun(4);
        assert_eq!(feed.send_end_ns(), Some(6));
    }

    #[test]
    fn a_source_that_ends_within_the_warm_up_ends_the_level() {
        let feed = Feed::of(1, 4, None, false, None, Stop::default());
        feed.fill(&mut Ends(Count(0, 1)), 0, None);
        assert_eq!(seq(feed.claim(1)), Some((0, Phase::Warmup)));
        assert!(matches!(feed.claim(2), Claim::Never));
        feed.warmup_ended();
        assert!(matches!(feed.claim(3), Claim::Never));
        assert!(feed.ran_out() && feed.measure_start_ns().is_none());
    }

    #[test]
    fn the_duration_counts_from_the_first_measured_request() {
        let feed = Feed::of(1, 0, Some(10), false, None, Stop::default());
        feed.measure
            .push(Box::new(Prepared {
                seq: 0,
                phase: Phase::Measure,
                meta: meta(0),
                bytes: RequestBytes::default(),
                held_bytes: 0,
            }))
            .unwrap();
        assert!(seq(feed.claim(1000)).is_some());
        assert!(matches!(feed.claim(1009), Claim::Later { starved: true }));
        assert!(matches!(feed.claim(1010), Claim::Never));
    }

    #[test]
    fn a_source_that_fails_ends_the_level_and_says_why() {
        let stop = Stop::default();
        let feed = Feed::of(1, 0, None, false, None, stop.clone());
        feed.fill(&mut Count(0, 1), 0, Some(5));
        assert_eq!(stop.level(), StopLevel::Drain);
        assert_eq!(feed.failure().as_deref(), Some("no more text"));
        assert!(matches!(feed.claim(1), Claim::Never));
    }
}
