//! What the threads of a level share: bounded queues, the stop, counters, and the start line.

use crate::plan::{LevelPlan, Progress, Stop, StopLevel};
use crate::slot::{Message, Segment};
use crossbeam_queue::ArrayQueue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// Memory of what is under way to the decoder: a decoder that a disk holds up for seconds does not
/// hold up the shards, and one that is too slow does not fill the memory.
const WAITING_BYTES_MAX: usize = 128 << 20;
/// Messages under way, so that the smallest of them fit into that memory.
const MESSAGES_MAX: usize = WAITING_BYTES_MAX / Message::HELD_BYTES_MIN;
/// Spent segments that are kept for another use. Those that only a wait made necessary go.
const SPARE_MAX: usize = 2048;

/// What the threads of a level share.
#[derive(Debug)]
pub(crate) struct Shared {
    messages: ArrayQueue<Message>,
    waiting_bytes: AtomicUsize,
    pub spare_segments: ArrayQueue<Box<Segment>>,
    pub stop: Stop,
    pub progress: Arc<Progress>,
    pub shards_done: AtomicBool,
    /// By slot: one more than the `seq` of the last request known to have a token.
    pub first_token_of: Vec<AtomicU32>,
    /// By slot: one more than the `seq` of the last request whose answer exceeds a bound.
    pub refused_of: Vec<AtomicU32>,
    shards: usize,
    ready: AtomicUsize,
}

impl Shared {
    pub fn new(plan: &LevelPlan, stop: Stop, progress: Arc<Progress>) -> Shared {
        Shared::of(plan.slots as usize, plan.shards, stop, progress)
    }

    fn of(slots: usize, shards: usize, stop: Stop, progress: Arc<Progress>) -> Shared {
        let spare_segments = ArrayQueue::new(slots + SPARE_MAX);
        for _ in 0..slots.min(SPARE_MAX) / 2 + 8 {
            let _ = spare_segments.push(Box::new(Segment::new()));
        }
        Shared {
            messages: ArrayQueue::new(MESSAGES_MAX),
            waiting_bytes: AtomicUsize::new(0),
            spare_segments,
            stop,
            progress,
            shards_done: AtomicBool::new(false),
            first_token_of: (0..slots).map(|_| AtomicU32::new(0)).collect(),
            refused_of: (0..slots).map(|_| AtomicU32::new(0)).collect(),
            shards,
            ready: AtomicUsize::new(0),
        }
    }

    /// Hands a message to the decoder; it comes back where too much is under way already.
    pub fn post(&self, message: Message) -> Result<(), Message> {
        let bytes = message.held_bytes();
        let waiting = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        // One that is larger than all of the memory still gets through, alone.
        let posted = match waiting > 0 && waiting + bytes > WAITING_BYTES_MAX {
            true => Err(message),
            false => self.messages.push(message),
        };
        if posted.is_err() {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        posted
    }

    /// The oldest message to the decoder.
    pub fn next_message(&self) -> Option<Message> {
        let message = self.messages.pop()?;
        self.waiting_bytes.fetch_sub(message.held_bytes(), Ordering::Relaxed);
        Some(message)
    }

    /// Waits until every shard has opened its connections.
    pub fn wait_for_start(&self) {
        self.ready.fetch_add(1, Ordering::AcqRel);
        while self.ready.load(Ordering::Acquire) < self.shards
            && self.stop.level() < StopLevel::Cancel
        {
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot::SEGMENT_BYTES;

    fn message(bytes: usize) -> Message {
        let mut segment = Box::new(Segment::new());
        segment.bytes.resize(bytes, b'x');
        Message::Part { slot: 0, seq: 0, tokens_asked: None, segment }
    }

    fn posted(shared: &Shared, bytes: usize) -> usize {
        std::iter::from_fn(|| shared.post(message(bytes)).ok()).take(100_000).count()
    }

    #[test]
    fn what_waits_for_the_decoder_is_bounded_in_memory() {
        let shared = Shared::of(1, 1, Stop::default(), Arc::default());
        let small = posted(&shared, 100);
        assert_eq!(small, MESSAGES_MAX, "many short answers wait");
        while shared.next_message().is_some() {}
        let large = posted(&shared, SEGMENT_BYTES);
        assert!(large < WAITING_BYTES_MAX / SEGMENT_BYTES && large > 1_500, "{large}");
        assert!(shared.next_message().is_some());
        assert_eq!(posted(&shared, SEGMENT_BYTES), 1, "as many as were taken");
    }

    #[test]
    fn a_message_beyond_the_bound_goes_alone() {
        let shared = Shared::of(1, 1, Stop::default(), Arc::default());
        assert!(shared.post(message(WAITING_BYTES_MAX)).is_ok());
        assert!(shared.post(message(1)).is_err());
        assert!(shared.next_message().is_some());
        assert!(shared.post(message(1)).is_ok());
    }
}
