//! Ctrl-C and its relatives: first an orderly end, then a quick one, then out.

use crate::exit::Code;
use crate::terminal::{self, say};
use ifm_core::words::counted;
use ifm_drive::{Progress, Stop, StopLevel};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// How long requests in flight may take after the first Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

/// Watches the signals of this process.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    caught: Arc<AtomicU8>,
}

impl Signals {
    /// Starts to watch: the first SIGINT drains for up to five seconds, the second cancels, the
    /// third leaves at once; SIGTERM cancels. Where watching is not possible, signals end the
    /// process as ever, and the journal keeps what was finished.
    pub fn watch(stop: Stop, progress: Arc<Progress>) -> Signals {
        let signals = Signals::default();
        let Ok(mut stream) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else {
            return signals;
        };
        let caught = signals.caught.clone();
        std::thread::spawn(move || {
            let mut interrupts = 0;
            for signal in stream.forever() {
                if signal == SIGTERM {
                    caught.store(Code::Terminated as u8, Ordering::Relaxed);
                    stop.raise(StopLevel::Cancel);
                    continue;
                }
                interrupts += 1;
                caught.store(Code::Interrupted as u8, Ordering::Relaxed);
                match interrupts {
                    1 => drain(&stop, &progress),
                    2 => stop.raise(StopLevel::Cancel),
                    _ => {
                        terminal::end_screen();
                        std::process::exit(Code::Interrupted as i32)
                    }
                }
            }
        });
        signals
    }

    /// The exit code of the signal that came, if one did.
    pub fn code(&self) -> Option<Code> {
        match self.caught.load(Ordering::Relaxed) {
            0 => None,
            code if code == Code::Terminated as u8 => Some(Code::Terminated),
            _ => Some(Code::Interrupted),
        }
    }
}

fn drain(stop: &Stop, progress: &Progress) {
    let in_flight = progress.in_flight.load(Ordering::Relaxed);
    say(&format!(
        "\nfinishing {} (up to 5 s), Ctrl-C again to stop now",
        counted(in_flight, "request")
    ));
    stop.raise(StopLevel::Drain);
    let stop = stop.clone();
    std::thread::spawn(move || {
        std::thread::sleep(GRACE);
        stop.raise(StopLevel::Cancel);
    });
}
