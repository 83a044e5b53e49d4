//! The run while it goes on: a progress line, or the full screen.
//!
//! ```text
//! decoder ──records──► Board ◄──levels── session
//!                        │ sample and view, four times a second
//!                        ▼
//!              thread of low priority ──► line, or screen
//! ```
//!
//! A [`View`](view::View) is a plain value; the line and the picture are pure functions of it. Not
//! here: the samples that are stored with a run, results, and the terminal that all messages of the
//! program share, which the caller lends as a [`LiveTerminal`] (`inferometer`).
#![forbid(unsafe_code)]

mod board;
mod draw;
mod estimate;
mod line;
mod past;
mod screen;
mod terminal;
pub mod view;
mod words;

pub use board::{Board, load_words};
pub use terminal::LiveTerminal;
pub use view::{LevelCount, RunFacts};

use screen::Screen;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use view::Stage;

/// Time between two pictures.
const PERIOD: Duration = Duration::from_millis(250);
/// Pictures between two lines where the lines do not replace each other.
const PERIODS_PER_LOG_LINE: u64 = 40;
/// How much nicer than the rest the thread is that shows.
const NICE_STEPS: i32 = 15;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Not at all.
    Quiet,
    /// A line every ten seconds.
    Log,
    /// A line that is replaced.
    Line {
        /// Only ASCII.
        ascii: bool,
    },
    /// The full screen.
    Screen {
        /// Colours.
        color: bool,
        /// Only ASCII.
        ascii: bool,
    },
}

/// The thread that shows progress. It ends with this, and leaves the terminal as it was.
#[derive(Debug)]
pub struct Live {
    terminal: &'static dyn LiveTerminal,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Shows what the board knows, in this manner, until [`Live::finish`].
    pub fn start(board: &Arc<Board>, manner: Manner, terminal: &'static dyn LiveTerminal) -> Live {
        let over = Arc::new(AtomicBool::new(false));
        if manner == Manner::Quiet {
            return Live { terminal, over, thread: None };
        }
        let (board, is_over) = (board.clone(), over.clone());
        let thread = std::thread::spawn(move || {
            ifm_sys::thread::be_nice(NICE_STEPS);
            show(&board, manner, &is_over, terminal);
        });
        Live { terminal, over, thread: Some(thread) }
    }

    /// Whether anything is shown.
    pub fn is_watched(&self) -> bool {
        self.thread.is_some()
    }

    /// Ends the showing.
    pub fn finish(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic in there has been reported, and does not affect the run.
            let _ = thread.join();
        }
        self.terminal.end_screen();
        self.terminal.clear_line();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.finish();
    }
}

fn show(board: &Board, manner: Manner, over: &AtomicBool, terminal: &'static dyn LiveTerminal) {
    let mut manner = manner;
    if let Manner::Screen { color, ascii } = manner {
        match Screen::open(color, ascii, terminal) {
            Ok(mut screen) => match screen.show(board, over) {
                Ok(()) => return,
                Err(_) => terminal.end_screen(),
            },
            Err(error) => {
                terminal.warn(&format!(
                    "the full screen cannot be used ({error}): progress lines are shown instead"
                ));
            }
        }
        manner = Manner::Line { ascii };
    }
    show_lines(board, manner, over, terminal);
}

fn show_lines(board: &Board, manner: Manner, over: &AtomicBool, terminal: &dyn LiveTerminal) {
    let mut periods_of_level = 0;
    let mut level = 0;
    loop {
        std::thread::park_timeout(PERIOD);
        if over.load(Ordering::Relaxed) {
            return;
        }
        let now_ns = ifm_sys::mono_ns();
        board.sample(now_ns);
        let view = board.view(now_ns);
        let Some(known) = view.level.as_ref().filter(|level| level.stage != Stage::Ended) else {
            terminal.clear_line();
            continue;
        };
        if known.number != level {
            (level, periods_of_level) = (known.number, 0);
        }
        periods_of_level += 1;
        match manner {
            Manner::Line { ascii } => {
                let width = ifm_sys::host::terminal_columns(std::io::stderr()).unwrap_or(80);
                terminal.show_line(&line::on_terminal(&view, usize::from(width), ascii));
            }
            _ if periods_of_level % PERIODS_PER_LOG_LINE == 0 => {
                terminal.say(&line::in_log(&view));
            }
            _ => {}
        }
    }
}
