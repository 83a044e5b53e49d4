//! The full screen: entering and leaving it, keys, and when it is drawn.
//!
//! It is drawn on standard error, so that standard output contains only the result. Every way out
//! leaves it: the end of the run, a signal, an error, a panic. Not here: what it shows (`draw`).

use super::PERIOD;
use super::board::Board;
use super::draw::{self, Look};
use crate::LiveTerminal;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use signal_hook::consts::SIGINT;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for a key before the end of the run is looked at.
const KEY_WAIT: Duration = Duration::from_millis(100);
/// A second `q` counts after this: a key that is held down repeats.
const KEY_REST: Duration = Duration::from_millis(700);

/// The full screen, while it is open.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Canvas>>,
    shared: &'static dyn LiveTerminal,
    look: Look,
    /// How often `q` was taken, and when last.
    quits: (u32, Option<Instant>),
}

impl Screen {
    /// Enters the full screen.
    ///
    /// # Errors
    /// The terminal cannot do it.
    pub fn open(
        color: bool,
        ascii: bool,
        shared: &'static dyn LiveTerminal,
    ) -> std::io::Result<Screen> {
        enable_raw_mode()?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            shared.end_screen();
            before(panic);
        }));
        shared.begin_screen(leave);
        let opened =
            execute!(std::io::stderr(), EnterAlternateScreen, cursor::Hide).and_then(|()| {
                Terminal::new(CrosstermBackend::new(Canvas { frame: Vec::new(), shared }))
            });
        match opened {
            Ok(terminal) => {
                let look = Look { color, ascii, help: false };
                Ok(Screen { terminal, shared, look, quits: (0, None) })
            }
            Err(error) => {
                shared.end_screen();
                Err(error)
            }
        }
    }

    /// Draws and takes keys until the run is over or the screen is gone.
    ///
    /// # Errors
    /// The terminal cannot be read or written any more.
    pub fn show(&mut self, board: &Board, over: &AtomicBool) -> std::io::Result<()> {
        while !over.load(Ordering::Relaxed) && self.shared.has_screen() {
            let now_ns = ifm_sys::mono_ns();
            board.sample(now_ns);
            let mut view = board.view(now_ns);
            view.message = self.shared.waiting_message();
            let look = self.look;
            self.terminal.draw(|frame| draw::draw(frame, &view, &look))?;
            self.take_keys(over)?;
        }
        Ok(())
    }

    /// Takes keys until the next picture is due.
    fn take_keys(&mut self, over: &AtomicBool) -> std::io::Result<()> {
        let due = Instant::now() + PERIOD;
        while !over.load(Ordering::Relaxed) {
            let wait = due.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                break;
            }
            if event::poll(wait.min(KEY_WAIT))?
                && let Event::Key(key) = event::read()?
                && key.kind != KeyEventKind::Release
            {
                self.take(key);
            }
        }
        Ok(())
    }

    fn take(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => interrupt(),
            KeyCode::Char('q' | 'Q') => {
                let (quits, last) = self.quits;
                if quits < 2 && last.is_none_or(|last| last.elapsed() > KEY_REST) {
                    self.quits = (quits + 1, Some(Instant::now()));
                    interrupt();
                }
            }
            KeyCode::Char('?' | 'h') => self.look.help = !self.look.help,
            KeyCode::Esc => self.look.help = false,
            _ => {}
        }
    }
}

/// The signal that Ctrl-C sends where the terminal does not take keys one by one.
fn interrupt() {
    // It cannot fail: the signal exists.
    let _ = signal_hook::low_level::raise(SIGINT);
}

/// Gives the terminal back. Failed writes have no reader and are ignored.
fn leave() {
    let _ = execute!(std::io::stderr(), LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// Collects a frame and writes it at once, if the screen is still open.
#[derive(Debug)]
struct Canvas {
    frame: Vec<u8>,
    shared: &'static dyn LiveTerminal,
}

impl Write for Canvas {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.shared.paint_screen(&std::mem::take(&mut self.frame))
    }
}
