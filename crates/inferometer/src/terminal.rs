//! The two streams: results on standard output, everything else on standard error.

use ifm_report::TerminalStyle;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

/// Width that is assumed where the terminal does not tell.
const DEFAULT_WIDTH: usize = 100;

/// Why standard output could not be written, once.
static OUTPUT_FAILURE: OnceLock<String> = OnceLock::new();

/// Prints to standard output and says whether more is wanted. A closed pipe is no failure, its
/// reader wants no more; any other is kept for the end of the program.
pub fn print(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => true,
        Err(error) => {
            if error.kind() != ErrorKind::BrokenPipe {
                OUTPUT_FAILURE.get_or_init(|| error.to_string());
            }
            false
        }
    }
}

/// Why standard output could not be written, if that happened.
pub fn output_failure() -> Option<&'static str> {
    OUTPUT_FAILURE.get().map(String::as_str)
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
