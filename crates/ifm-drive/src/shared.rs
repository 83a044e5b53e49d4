//! What the threads of a level share: bounded queues, the stop, counters, and the start line.

use crate::plan::{LevelPlan, Progress, Stop, StopLevel};
use crate::slot::{Message, Segment};
use crossbeam_queue::ArrayQueue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// Messages under way to the decoder. Each holds at most one segment of 64 KiB and its stamps,
/// so this bounds the memory behind a slow decoder to about 150 MB.
const MESSAGES_MAX: usize = 2048;

/// What the threads of a level share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub messages: ArrayQueue<Message>,
    pub spare_segments: ArrayQueue<Box<Segment>>,
    pub stop: Stop,
    pub progress: Arc<Progress>,
    pub shards_done: AtomicBool,
    /// By slot: one more than the `seq` of the last request known to have a token.
    pub first_token_of: Vec<AtomicU32>,
    shards: usize,
    ready: AtomicUsize,
}

impl Shared {
    pub fn new(plan: &LevelPlan, stop: Stop, progress: Arc<Progress>) -> Shared {
        let slots = plan.slots as usize;
        let spare_segments = ArrayQueue::new(slots + MESSAGES_MAX);
        for _ in 0..slots.min(MESSAGES_MAX) / 2 + 8 {
            let _ = spare_segments.push(Box::new(Segment::new()));
        }
        Shared {
            messages: ArrayQueue::new(MESSAGES_MAX),
            spare_segments,
            stop,
            progress,
            shards_done: AtomicBool::new(false),
            first_token_of: (0..slots).map(|_| AtomicU32::new(0)).collect(),
            shards: plan.shards,
            ready: AtomicUsize::new(0),
        }
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
