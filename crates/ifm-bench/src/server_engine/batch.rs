//! Requests that begin together, each on a connection and a thread of its own.

use crate::disturbance::{Disturbance, Watch};
use crate::engine::Trouble;
use crate::interrupts::Urge;
use crate::program::Limits;
use ifm_core::order::Order as _;
use ifm_probe::traced_client::{Caller, Reply};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// Between two looks at Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// What came back, in the order of the requests.
pub struct Sent {
    /// The answers.
    pub replies: Vec<Reply>,
    /// How long it took, connecting included, nanoseconds.
    pub wall_ns: u64,
    /// What took the processor from the thread of the first request.
    pub disturbance: Option<Disturbance>,
}

/// Sends all requests at once. `callers` keep their connections; there are made as many as needed.
///
/// # Errors
/// Ctrl-C, pressed twice.
pub fn send(
    callers: &mut Vec<Caller>,
    requests: Vec<Vec<u8>>,
    limits: &Limits,
    new: impl Fn() -> Caller,
) -> Result<Sent, Trouble> {
    let count = requests.len();
    while callers.len() < count {
        callers.push(new());
    }
    let begun_ns = ifm_sys::mono_ns();
    let barrier = Arc::new(Barrier::new(count));
    let (sender, receiver) = channel();
    for (index, (mut caller, bytes)) in callers.drain(..count).zip(requests).enumerate() {
        let (barrier, sender, limit) = (barrier.clone(), sender.clone(), limits.repeat);
        std::thread::spawn(move || {
            caller.open(limit);
            let watch = (index == 0).then(|| Watch::begin(std::process::id()));
            barrier.wait();
            let reply = caller.send(&bytes, limit);
            let disturbance = watch.and_then(Watch::end);
            // Whoever waits for it may have gone.
            let _ = sender.send((index, caller, reply, disturbance));
        });
    }
    drop(sender);
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        match receiver.recv_timeout(LOOK) {
            Ok(one) => all.push(one),
            Err(RecvTimeoutError::Timeout) if limits.interrupts.urge() == Urge::Now => {
                return Err(Trouble::Lost("interrupted".to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Trouble::Lost("a thread of the batch ended early".to_owned()));
            }
        }
    }
    all.order_by_key(|(index, ..)| *index);
    let wall_ns = ifm_sys::mono_ns() - begun_ns;
    let mut sent = Sent { replies: Vec::with_capacity(count), wall_ns, disturbance: None };
    for (_, caller, reply, disturbance) in all {
        callers.push(caller);
        sent.replies.push(reply);
        sent.disturbance = sent.disturbance.or(disturbance);
    }
    Ok(sent)
}
