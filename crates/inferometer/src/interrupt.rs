//! Ctrl-C and SIGTERM while a plan, an engine or a kernel runs: received here, counted for whoever
//! has to end, and turned into an exit code.

use crate::exit::Code;
pub use ifm_bench::interrupts::{Interrupts, Urge};
use signal_hook::consts::{SIGINT, SIGTERM};

/// Starts to watch. If that is not possible, signals end the process, and its guard ends what it had
/// started.
pub fn watch() -> Interrupts {
    let signals = Interrupts::default();
    let Ok(mut stream) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else {
        return signals;
    };
    let of_thread = signals.clone();
    std::thread::spawn(move || {
        for signal in stream.forever() {
            match signal == SIGTERM {
                true => of_thread.count_termination(),
                false => of_thread.count_interrupt(),
            }
        }
    });
    signals
}

/// The exit code of the received signal, if any.
pub fn code(signals: &Interrupts) -> Option<Code> {
    if signals.is_terminated() {
        return Some(Code::Terminated);
    }
    (signals.urge() > Urge::None).then_some(Code::Interrupted)
}
