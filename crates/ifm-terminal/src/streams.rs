//! The two streams: results on standard output, everything else on standard error. It also tracks
//! what the terminal shows while a load runs, so that neither stream writes into it.
//!
//! Not here: the content of a progress line and of a full screen (`live`).

use crate::secrets::Secrets;
use ifm_report::TerminalStyle;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, RwLock, TryLockError};

/// Default width if the terminal does not report one.
const DEFAULT_WIDTH: usize = 100;
/// Maximum number of messages to standard error held back while the full screen is active.
const HELD_MESSAGES_MAX: usize = 1_000;

/// Why standard output could not be written, once.
static OUTPUT_FAILURE: OnceLock<String> = OnceLock::new();

/// What the terminal currently shows.
static STAGE: Mutex<Stage> = Mutex::new(Stage {
    has_line: false,
    leave_screen: None,
    output: String::new(),
    messages: Vec::new(),
});

struct Stage {
    /// A progress line in the last row.
    has_line: bool,
    /// The full screen; how to leave it.
    leave_screen: Option<fn()>,
    /// Results that wait until the full screen ends.
    output: String,
    /// Messages that wait.
    messages: Vec<String>,
}

fn stage() -> MutexGuard<'static, Stage> {
    STAGE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Stage {
    fn clear_line(&mut self) {
        if std::mem::take(&mut self.has_line) {
            // With standard error closed there is nothing to clear.
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }

    fn end_screen(&mut self) {
        let Some(leave) = self.leave_screen.take() else { return };
        leave();
        for message in std::mem::take(&mut self.messages) {
            let _ = writeln!(std::io::stderr().lock(), "{message}");
        }
        write_out(&std::mem::take(&mut self.output));
    }
}

/// Prints to standard output, and returns whether more output is wanted. A closed pipe is not a
/// failure, since its reader needs no more. Any other error is kept for the end of the program.
/// While the full screen is on the same terminal, the text waits.
///
/// Text that quotes a server or a file steers neither the terminal nor a CI system. JSON keeps its meaning: what
/// would steer is escaped.
pub fn print(text: &str) -> bool {
    if is_json(text) {
        return print_as_is(&escaped(text));
    }
    let is_terminal = std::io::stdout().is_terminal();
    let text = harmless(text, wants_color(false, is_terminal));
    print_as_is(&if is_ascii(is_terminal) { ifm_report::ascii(&text) } else { text })
}

fn print_as_is(text: &str) -> bool {
    if !std::io::stdout().is_terminal() {
        // A slow reader blocks only its writer.
        return write_out(text);
    }
    let mut stage = stage();
    if stage.leave_screen.is_some() {
        stage.output.push_str(text);
        return true;
    }
    stage.clear_line();
    write_out(text)
}

/// Prints one JSON document, indented.
pub fn print_document(document: &impl serde::Serialize) {
    // The keys of every document are text, and its numbers always serialize.
    let text = serde_json::to_string_pretty(document).unwrap_or_default();
    print_as_is(&format!("{}\n", escaped(&text)));
}

/// Whether a text is one value of JSON, or several in lines.
fn is_json(text: &str) -> bool {
    text.starts_with(['{', '['])
        && serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>().all(|one| one.is_ok())
}

/// JSON whose strings escape what would steer a terminal, or what it may not be able to show. Between its strings JSON
/// has no such character.
fn escaped(json: &str) -> Cow<'_, str> {
    escaped_to(json, is_ascii(std::io::stdout().is_terminal()))
}

fn escaped_to(json: &str, is_ascii: bool) -> Cow<'_, str> {
    let steers = |c: char| !matches!(c, '\n' | '\t' | '\r') && ifm_report::harmless(c) != c;
    let is_escaped = |c: char| steers(c) || is_ascii && !c.is_ascii();
    if !json.contains(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match is_escaped(c) {
            // Two units for a character beyond the first plane.
            true => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| text.push_str(&format!("\\u{unit:04x}"))),
            false => text.push(c),
        }
    }
    Cow::Owned(text)
}

fn write_out(text: &str) -> bool {
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

/// Text that may quote a server or a file, as it goes to a terminal or to the log of a CI system: only
/// colors steer the terminal, and no line is a command of the CI system.
fn harmless(text: &str, has_colors: bool) -> String {
    let mut clean = String::with_capacity(text.len());
    let lines_end = text.matches('\n').count();
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            clean.push('\n');
        }
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let color = color_bytes(rest);
            if color > 0 && has_colors {
                clean.push_str(&rest[..color]);
                rest = &rest[color..];
                continue;
            }
            let is_line_end = rest == "\r" && number < lines_end;
            clean.push(if c == '\t' || is_line_end { c } else { ifm_report::harmless(c) });
            rest = &rest[c.len_utf8()..];
        }
    }
    without_commands(&clean).into_owned()
}

/// Text in which no line is a command of a CI system: GitHub Actions and Azure Pipelines run lines such
/// as `::add-mask::x` and `##[error]x`.
fn without_commands(text: &str) -> Cow<'_, str> {
    let begins = |line: &str| line.trim_start().starts_with("::");
    if !text.contains("##[") && !text.split(['\n', '\r']).any(begins) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive(['\n', '\r']).map(|line| match begins(line) {
        true => line.replacen("::", ": :", 1),
        false => line.to_owned(),
    });
    Cow::Owned(lines.collect::<String>().replace("##[", "## ["))
}

/// Length of the color code at the beginning of a text; 0 without one.
fn color_bytes(text: &str) -> usize {
    let Some(codes) = text.strip_prefix("\x1b[") else { return 0 };
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';');
    match end {
        Some(end) if codes[end..].starts_with('m') => end + 3,
        _ => 0,
    }
}

/// Secrets that no message shows.
static SECRETS: RwLock<Option<Secrets>> = RwLock::new(None);

/// Keeps secrets out of all messages from here on. Those that may be words of a sentence stay.
pub fn hide(secrets: &Secrets) {
    let mut hidden = SECRETS.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    let known = hidden.take().unwrap_or_default();
    *hidden = Some(known.and(&secrets.without_words()));
}

/// Prints one line to standard error, or buffers it while the full screen is shown.
pub fn say(line: &str) {
    let hidden = SECRETS.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    let line = hidden.as_ref().map_or(Cow::Borrowed(line), |secrets| secrets.blot(line));
    let is_terminal = std::io::stderr().is_terminal();
    let line = harmless(&line, is_terminal);
    let line = if is_ascii(is_terminal) { ifm_report::ascii(&line) } else { line };
    let line = match is_terminal || std::env::var_os("COLUMNS").is_some() {
        true => folded_to(&line, width(is_terminal)).into_owned(),
        false => line,
    };
    let mut stage = stage();
    if stage.leave_screen.is_some() {
        if stage.messages.len() < HELD_MESSAGES_MAX {
            stage.messages.push(line);
        }
        return;
    }
    stage.clear_line();
    // With standard error closed, messages go nowhere.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Whether progress output is disabled.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Disables progress output from here on: `--quiet`.
pub fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Whether the user allows only ASCII.
static IS_ASCII: AtomicBool = AtomicBool::new(false);

/// Limits both streams to ASCII from here on: `--ascii`.
pub fn be_ascii() {
    IS_ASCII.store(true, Ordering::Relaxed);
}

/// Whether a stream is limited to ASCII: by `--ascii`, or as a terminal whose locale has another encoding than UTF-8. A
/// file or a pipe is UTF-8 in every locale, so that a log of a cron job has the same bytes as any other.
pub fn is_ascii(is_terminal: bool) -> bool {
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into());
    IS_ASCII.load(Ordering::Relaxed) || is_terminal && has_other_encoding(variable)
}

/// Whether the environment names a locale whose encoding is not UTF-8, by the variables of POSIX in their order. Without
/// any of them, as in most containers, nothing is known of the terminal.
fn has_other_encoding(variable: impl Fn(&str) -> Option<String>) -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names.into_iter().filter_map(variable).find(|value| !value.is_empty());
    let is_utf8 = |locale: String| {
        let name = locale.to_ascii_lowercase();
        name.contains("utf-8") || name.contains("utf8")
    };
    locale.is_some_and(|locale| !is_utf8(locale))
}

/// Prints a progress message, unless progress output is disabled.
pub fn tell(line: &str) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        say(line);
    }
}

/// Prints a warning.
pub fn warn(sentence: &str) {
    say(&format!("warning: {sentence}"));
}

/// Shows a line that the next one replaces, if standard error is a terminal.
pub fn show_line(line: &str) {
    let line =
        if is_ascii(true) { Cow::Owned(ifm_report::ascii(line)) } else { Cow::Borrowed(line) };
    let mut stage = stage();
    stage.has_line = true;
    // With standard error closed, messages go nowhere.
    let _ = write!(std::io::stderr().lock(), "\r{line}\x1b[K");
}

/// Shows a progress line cut to the terminal's width, if standard error is a terminal; a log gets
/// none.
pub fn show_progress(line: &str) {
    let is_quiet = IS_QUIET.load(Ordering::Relaxed);
    if !is_quiet && std::io::stderr().is_terminal() && !is_dumb() {
        // Standard output may go elsewhere. The last column stays free: some terminals wrap when it is written.
        let room = ifm_sys::host::terminal_columns(std::io::stderr()).map_or(80, usize::from);
        let room = room.saturating_sub(1);
        show_line(&line.chars().take(room).collect::<String>());
    }
}

/// Removes the line that [`show_line`] showed.
pub fn clear_line() {
    stage().clear_line();
}

/// Starts the full screen. Output waits from here on.
pub fn begin_screen(leave: fn()) {
    let mut stage = stage();
    stage.clear_line();
    stage.leave_screen = Some(leave);
}

/// Whether the full screen is active.
pub fn has_screen() -> bool {
    stage().leave_screen.is_some()
}

/// Writes a picture to the full screen, if it is still active.
///
/// # Errors
/// The terminal cannot be written.
pub fn paint_screen(bytes: &[u8]) -> std::io::Result<()> {
    let stage = stage();
    if stage.leave_screen.is_none() {
        return Ok(());
    }
    let mut terminal = std::io::stderr().lock();
    terminal.write_all(bytes).and_then(|()| terminal.flush())
}

/// Leaves the full screen, if it is active, and prints what has waited. Any thread may call this at
/// any time.
pub fn end_screen() {
    stage().end_screen();
}

/// Clears the terminal for a thread that may be in the middle of writing to it: then nothing is cleared.
pub fn give_back() {
    let mut stage = match STAGE.try_lock() {
        Ok(stage) => stage,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    stage.end_screen();
    stage.clear_line();
}

/// The last message that waits for the end of the full screen.
pub fn waiting_message() -> Option<String> {
    stage().messages.last().map(|message| message.trim().to_owned())
}

/// How results are printed here: colors only on a terminal that supports them.
pub fn style(no_color: bool, ascii: bool) -> TerminalStyle {
    let is_terminal = std::io::stdout().is_terminal();
    let color = wants_color(no_color, is_terminal);
    let ascii = ascii || is_ascii(is_terminal);
    TerminalStyle { width: width(is_terminal), color, ascii, verbose: false }
}

/// Whether a stream shows colors.
pub fn wants_color(no_color: bool, is_terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !no_color && !set("NO_COLOR") && (set("CLICOLOR_FORCE") || (is_terminal && !is_dumb()))
}

/// Whether the terminal can only print lines.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Whether standard output is a terminal, or COLUMNS gives its width.
pub fn is_read_by_people() -> bool {
    std::io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some()
}

fn width(is_terminal: bool) -> usize {
    if let Some(columns) = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()) {
        return columns;
    }
    // Either stream may go elsewhere.
    let columns = || {
        ifm_sys::host::terminal_columns(std::io::stdout())
            .or_else(|| ifm_sys::host::terminal_columns(std::io::stderr()))
    };
    is_terminal.then(columns).flatten().map_or(DEFAULT_WIDTH, usize::from)
}

/// Columns of a line of words.
const WIDTH: usize = 96;

/// A sentence in lines of up to 96 columns: the first begins with `lead`, the others are indented
/// by its width.
pub fn wrapped(lead: &str, sentence: &str) -> String {
    wrapped_to(lead, sentence, width(std::io::stderr().is_terminal()).min(WIDTH))
}

fn wrapped_to(lead: &str, sentence: &str, width: usize) -> String {
    let indent = " ".repeat(lead.chars().count());
    let (mut text, mut line, mut has_word) = (String::new(), lead.to_owned(), false);
    // A number is not taken apart at the space between its thousands.
    for word in sentence.split([' ', '\n']).filter(|word| !word.is_empty()) {
        if has_word && line.chars().count() + 1 + word.chars().count() > width {
            text.push_str(&format!("{line}\n"));
            (line, has_word) = (indent.clone(), false);
        }
        if has_word {
            line.push(' ');
        }
        line.push_str(word);
        has_word = true;
    }
    text + &line + "\n"
}

/// Text whose lines fit standard output, if people read it; a file or a pipe gets every line whole.
pub fn folded(text: &str) -> Cow<'_, str> {
    match is_read_by_people() {
        true => folded_to(text, width(std::io::stdout().is_terminal())),
        false => Cow::Borrowed(text),
    }
}

/// Text whose lines are up to `width` columns where words allow. The rest of a long line is indented to its last column of
/// text. Commands stay on one line: they are there to be copied.
fn folded_to(text: &str, width: usize) -> Cow<'_, str> {
    if text.lines().all(|line| line.chars().count() <= width) {
        return Cow::Borrowed(text);
    }
    let mut folded = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let (lead, rest) = line.split_at(lead_bytes(line, width));
        if line.trim_end().chars().count() <= width || rest.starts_with("inferometer ") {
            folded.push_str(line);
        } else {
            let lines = wrapped_to(lead, rest, width);
            folded.push_str(if line.ends_with('\n') { &lines } else { lines.trim_end() });
        }
    }
    Cow::Owned(folded)
}

/// Bytes of a line before the text that its continuation aligns with: up to the last gap of two spaces in the first half, or
/// a word such as "warning: ".
fn lead_bytes(line: &str, width: usize) -> usize {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let half = line.char_indices().nth(width / 2).map_or(line.len(), |(at, _)| at);
    let gap = line[indent..half].rfind("  ").map(|at| indent + at + 2);
    let marks = ["warning: ", "error: ", "hint: ", "note: ", "- ", "· "];
    let mark = marks.iter().find(|mark| line[indent..].starts_with(**mark));
    gap.unwrap_or(indent + mark.map_or(0, |mark| mark.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_with_another_encoding_gets_ascii() {
        for (variables, expect) in [
            (vec![], false),
            (vec![("LANG", "")], false),
            (vec![("LANG", "C")], true),
            (vec![("LANG", "POSIX")], true),
            (vec![("LANG", "C.UTF-8")], false),
            (vec![("LANG", "en_US.utf8")], false),
            (vec![("LANG", "de_DE@euro")], true),
            (vec![("LANG", "en_US.ISO-8859-1")], true),
            (vec![("LC_CTYPE", "UTF-8")], false),
            (vec![("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], true),
            (vec![("LC_ALL", ""), ("LC_CTYPE", "C"), ("LANG", "en_US.UTF-8")], true),
            (vec![("LC_CTYPE", "en_US.UTF-8"), ("LANG", "C")], false),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(has_other_encoding(variable), expect, "{variables:?}");
        }
    }

    #[test]
    fn json_in_ascii_keeps_its_meaning() {
        let json = r#"{"a":"µ\u2026","b":"𝄞"}"#;
        let ascii = escaped_to(json, true);
        assert!(ascii.is_ascii(), "{ascii}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&ascii), read(json));
        assert_eq!(escaped_to(json, false), json);
    }

    #[test]
    fn what_is_quoted_steers_neither_terminal_nor_ci() {
        assert_eq!(harmless("warning: a\tb\n  c", true), "warning: a\tb\n  c");
        assert_eq!(harmless("\x1b[1;31mred\x1b[0m", true), "\x1b[1;31mred\x1b[0m");
        assert_eq!(harmless("x\x1b]0;title\x07\x1b[2J\u{202e}y", true), "x?]0;title??[2J?y");
        assert_eq!(harmless("x\n::error title=PWN::y", true), "x\n: :error title=PWN::y");
        assert_eq!(harmless("  ::add-mask::x", true), "  : :add-mask::x");
        assert_eq!(harmless("a ##[error]b and std::fmt", true), "a ## [error]b and std::fmt");
        assert_eq!(harmless("\x1b[", true), "?[");
        assert_eq!(harmless("\x1b[31mred", false), "?[31mred", "a log has no colors");
        assert_eq!(without_commands("a,b\r::error::x\n  ::y\n"), "a,b\r: :error::x\n  : :y\n");
        assert!(matches!(without_commands("a::b\n[::1]:80 x ::y"), Cow::Borrowed(_)));
    }

    #[test]
    fn long_lines_are_folded_to_their_last_column() {
        let text = "warning: one two three four five\n  chat  a conversation of tokens\nshort\n";
        let folded = "warning: one two\n         three four\n         five\n  chat  a\n        conversation\n        of tokens\nshort\n";
        assert_eq!(folded_to(text, 20), folded);
        assert_eq!(
            folded_to("  inferometer run http://127.0.0.1:8000", 20),
            "  inferometer run http://127.0.0.1:8000"
        );
        assert_eq!(folded_to("- a bullet of several words", 16), "- a bullet of\n  several words");
        assert_eq!(folded_to("12\u{202f}345 12\u{202f}345", 8), "12\u{202f}345\n12\u{202f}345");
    }

    #[test]
    fn json_escapes_what_steers_and_keeps_its_meaning() {
        let json = "{\"a\": \"x\u{202e}\u{9b}y\"}\n{\"b\": 1}\n";
        assert!(is_json(json));
        let text = escaped(json);
        assert_eq!(text, "{\"a\": \"x\\u202e\\u009by\"}\n{\"b\": 1}\n");
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["a"], "x\u{202e}\u{9b}y");
        for text in ["[1] note", "{text}", "a", "", "{\"a\": 1} b"] {
            assert!(!is_json(text), "{text}");
        }
    }

    #[test]
    fn line_ends_of_files_stay_and_other_returns_go() {
        assert_eq!(harmless("a,b\r\nc\r\n", false), "a,b\r\nc\r\n");
        assert_eq!(harmless("a\rb\r", false), "a?b?");
    }
}
