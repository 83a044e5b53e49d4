//! The live view of a job on the terminal of this process: in which manner, and the terminal that it
//! shares with all messages.
//!
//! Not here: what is shown (`ifm-live`).

use crate::job::Job;
use crate::output::Format;
use crate::terminal;
use ifm_live::{LiveTerminal, Manner};
use std::io::IsTerminal;

/// What was asked for, as far as the terminal can do it. Says so where it cannot.
pub fn manner(job: &Job) -> Manner {
    let is_terminal = std::io::stderr().is_terminal();
    let ascii = job.ascii || terminal::is_ascii(is_terminal);
    if job.quiet {
        return Manner::Quiet;
    }
    // Lines without end on the same terminal would have to wait for the end of the run.
    let is_shared = job.format == Format::Requests && std::io::stdout().is_terminal();
    if job.tui && is_terminal && !terminal::is_dumb() && !is_shared {
        let color = terminal::wants_color(job.no_color, is_terminal);
        return Manner::Screen { color, ascii };
    }
    if job.tui {
        terminal::warn(
            "--tui needs standard error to be a terminal of its own: progress lines are shown \
             instead",
        );
    }
    match is_terminal && !terminal::is_dumb() {
        true => Manner::Line { ascii },
        false => Manner::Log,
    }
}

/// Standard error, where messages wait for the end of the full screen.
#[derive(Debug)]
pub struct StandardError;

impl LiveTerminal for StandardError {
    fn say(&self, line: &str) {
        terminal::say(line);
    }

    fn warn(&self, sentence: &str) {
        terminal::warn(sentence);
    }

    fn show_line(&self, line: &str) {
        terminal::show_line(line);
    }

    fn clear_line(&self) {
        terminal::clear_line();
    }

    fn begin_screen(&self, leave: fn()) {
        terminal::begin_screen(leave);
    }

    fn has_screen(&self) -> bool {
        terminal::has_screen()
    }

    fn paint_screen(&self, bytes: &[u8]) -> std::io::Result<()> {
        terminal::paint_screen(bytes)
    }

    fn end_screen(&self) {
        terminal::end_screen();
    }

    fn waiting_message(&self) -> Option<String> {
        terminal::waiting_message()
    }
}
