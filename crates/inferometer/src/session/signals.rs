//! Ctrl-C and similar signals: first an orderly end, then a quick one, then an immediate exit.

use crate::exit::Code;
use crate::terminal::{self, say};
use ifm_core::words::counted;
use ifm_drive::{Progress, Stop, StopLevel};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Time limit for requests in flight after the first Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

/// Watches the signals of this process.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    caught: Arc<AtomicU8>,
}

impl Signals {
    /// Starts to watch: the first SIGINT drains for up to five seconds, the second cancels, the
    /// third exits at once; SIGTERM cancels. If watching is not possible, signals end the process
    /// as usual, and the journal keeps finished requests.
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

    /// The exit code of the received signal, if any.
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
