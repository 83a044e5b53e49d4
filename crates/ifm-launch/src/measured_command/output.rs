//! What a command prints: passed on as it is, cut into lines, its last lines kept.
//!
//! A line ends with a line feed, or with a carriage return, as progress bars use it.

use super::pattern::Patterns;
use super::progress::Progress;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Longest line that is read for progress, bytes: of a longer one the rest is not.
const LINE_BYTES_MAX: usize = 1 << 16;
/// Last lines that are kept, and the characters of each.
const TAIL_LINES: usize = 30;
const TAIL_CHARS: usize = 300;
/// Bytes of one read.
const READ_BYTES: usize = 1 << 16;

/// Where output is passed on to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What was heard so far of both streams.
#[derive(Debug, Default)]
pub struct Heard {
    /// Values found in lines.
    pub progress: Progress,
    /// Bytes that were printed.
    pub bytes: u64,
    /// Lines that were printed, empty ones left out.
    pub lines: u64,
    /// Lines that were too long.
    pub cut: u64,
    /// The last lines; whether a carriage return ended one, so that the next one replaces it.
    tail: VecDeque<(String, bool)>,
    reads: u64,
}

impl Heard {
    /// The last lines.
    pub fn tail(&self) -> Vec<String> {
        self.tail.iter().map(|(line, _)| line.clone()).collect()
    }

    fn line(&mut self, line: &[u8], is_redrawn: bool, patterns: &Patterns, at_ns: u64) {
        if line.trim_ascii().is_empty() {
            // Behind a carriage return a line feed keeps the line, as at the ends of Windows.
            if let Some((_, is_open)) = self.tail.back_mut().filter(|_| !is_redrawn) {
                *is_open = false;
            }
            return;
        }
        self.lines += 1;
        let told = patterns.read(line);
        if !told.is_empty() {
            self.progress.add(&told, at_ns, self.reads);
        }
        let head = line.get(..4 * TAIL_CHARS).unwrap_or(line);
        let text = String::from_utf8_lossy(head);
        let clean: String = text.chars().filter(|c| !c.is_control()).take(TAIL_CHARS).collect();
        if self.tail.back().is_some_and(|(_, is_open)| *is_open) {
            self.tail.pop_back();
        } else if self.tail.len() == TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back((clean, is_redrawn));
    }
}

/// What both pipes share.
pub type Shared = Arc<Mutex<Heard>>;

/// What was heard, for one look.
pub fn lock(heard: &Shared) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cuts bytes into lines, whatever pieces they come in.
#[derive(Debug, Default)]
struct Lines {
    open: Vec<u8>,
    is_cut: bool,
}

impl Lines {
    /// Hands each line on that ends in these bytes, and whether a carriage return ended it.
    fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8], bool, bool)) {
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, rest) = bytes.split_at(end);
            self.keep(line);
            let is_feed = rest.first() == Some(&b'\n');
            each(&self.open, !is_feed, self.is_cut);
            self.open.clear();
            self.is_cut = false;
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX.saturating_sub(self.open.len()).min(bytes.len());
        self.is_cut |= room < bytes.len();
        self.open.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }
}

/// Passes a pipe on until it ends. If our own reader closes, only the passing on stops, not the
/// command.
pub fn pass(
    mut from: impl Read,
    to: Stream,
    patterns: &Patterns,
    heard: &Shared,
    now_ns: impl Fn() -> u64,
) {
    let mut buffer = vec![0; READ_BYTES];
    let mut lines = Lines::default();
    let mut is_wanted = true;
    loop {
        let bytes = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => buffer.get(..count).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let at_ns = now_ns();
        is_wanted = is_wanted && write(to, bytes).is_ok();
        let mut heard = lock(heard);
        heard.bytes += bytes.len() as u64;
        heard.reads += 1;
        lines.feed(bytes, |line, is_redrawn, is_cut| {
            heard.cut += u64::from(is_cut);
            heard.line(line, is_redrawn, patterns, at_ns);
        });
    }
    // The last line may lack its end.
    let at_ns = now_ns();
    let mut heard = lock(heard);
    lines.feed(b"\n", |line, _, is_cut| {
        heard.cut += u64::from(is_cut);
        heard.line(line, false, patterns, at_ns);
    });
}

fn write(to: Stream, bytes: &[u8]) -> std::io::Result<()> {
    let all = |stream: &mut dyn Write| stream.write_all(bytes).and_then(|()| stream.flush());
    match to {
        Stream::Out => all(&mut std::io::stdout().lock()),
        Stream::Err => all(&mut std::io::stderr().lock()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::pattern::Field;
    use super::*;

    fn cut(text: &[u8], size: usize) -> Vec<(Vec<u8>, bool, bool)> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for piece in text.chunks(size).chain([&b"\n"[..]]) {
            lines.feed(piece, |line, redrawn, cut| found.push((line.to_vec(), redrawn, cut)));
        }
        found
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let text = b"a\nbb\rcc\r\n\xff\x00d\n\nlast";
        let whole = cut(text, text.len());
        let lines: Vec<&[u8]> = whole.iter().map(|(line, ..)| line.as_slice()).collect();
        assert_eq!(lines, [&b"a"[..], b"bb", b"cc", b"", b"\xff\x00d", b"", b"last"]);
        assert!(whole[1].1 && !whole[0].1);
        for size in 1..text.len() {
            assert_eq!(cut(text, size), whole, "in pieces of {size}");
        }
        let long = vec![b'x'; 3 * LINE_BYTES_MAX];
        assert_eq!(cut(&long, 1000), [(vec![b'x'; LINE_BYTES_MAX], false, true)]);
    }

    #[test]
    fn the_last_lines_are_kept_without_what_steers_a_terminal() {
        let mut patterns = Patterns::default();
        patterns.add_text(Field::Step, r"step (\d+)").unwrap();
        let mut heard = Heard::default();
        let mut tell = |text: &str, redrawn| heard.line(text.as_bytes(), redrawn, &patterns, 0);
        (0..100).for_each(|n| tell(&format!("step {n}"), false));
        (0..100).for_each(|n| tell(&format!("bar {n}"), true));
        tell("\x1b[2J done", false);
        tell("of Windows", true);
        tell("", false);
        tell(&"é".repeat(5000), false);
        let tail = heard.tail();
        assert_eq!((tail.len(), heard.lines), (TAIL_LINES, 203));
        assert_eq!(tail[TAIL_LINES - 4..TAIL_LINES - 1], ["step 99", "[2J done", "of Windows"]);
        assert_eq!(tail[TAIL_LINES - 1].chars().count(), TAIL_CHARS);
        assert_eq!(heard.progress.seen(), 100);
    }
}
