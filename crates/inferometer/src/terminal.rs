//! The two streams: results on standard output, everything else on standard error.

use ifm_report::TerminalStyle;
use std::io::{IsTerminal, Write};

/// Width that is assumed where the terminal does not tell.
const DEFAULT_WIDTH: usize = 100;

/// Prints to standard output. A closed pipe is not an error of ours.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    // A reader that has gone wants no more.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints one line to standard error.
pub fn say(line: &str) {
    // With standard error closed there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints a warning.
pub fn warn(sentence: &str) {
    say(&format!("warning: {sentence}"));
}

/// How results are printed here: colours only on a terminal that wants them.
pub fn style(no_color: bool, ascii: bool) -> TerminalStyle {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_terminal = std::io::stdout().is_terminal();
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let forced = set("CLICOLOR_FORCE");
    let color = !no_color && !set("NO_COLOR") && (forced || (is_terminal && !dumb));
    TerminalStyle { width: width(is_terminal), color, ascii }
}

fn width(is_terminal: bool) -> usize {
    if let Some(columns) = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()) {
        return columns;
    }
    match is_terminal.then(ifm_sys::host::terminal_columns).flatten() {
        Some(columns) => columns as usize,
        None => DEFAULT_WIDTH,
    }
}
