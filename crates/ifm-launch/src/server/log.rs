//! The output of a server: kept in a file, without secrets, and bounded. The beginning and the end
//! stay; the file states how much was left out between them.

use ifm_terminal::exit::Failure;
use ifm_terminal::secrets::Secrets;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Bytes that are kept of the beginning.
const HEAD: u64 = 8 * 1024 * 1024;
/// Bytes that are kept of the end: up to twice as many while the server runs.
const TAIL: u64 = 8 * 1024 * 1024;
/// Longest piece that is looked through for secrets at once; a line is taken as a whole up to this.
const PIECE: usize = 64 * 1024;
/// Bytes of the end in which the last line is looked for.
const LOOK: u64 = 64 * 1024;
/// Number of last lines among which a line with an error is preferred.
const LINES: usize = 60;
/// Longest line that is repeated, characters.
const LINE_CHARS_MAX: usize = 300;

/// A log that is being written.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    ended: Receiver<()>,
}

impl Log {
    /// A new file, and the pipe whose every byte goes into it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path, secrets: Secrets) -> Result<(Log, std::io::PipeWriter), Failure> {
        let cannot = |error: std::io::Error| {
            Failure::files(format!("the log {} cannot be written: {error}", path.display()))
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(cannot)?;
        }
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            // A server may write what it was asked.
            .mode(0o600)
            .open(path)
            .map_err(cannot)?;
        let (mut reader, writer) = std::io::pipe().map_err(cannot)?;
        let (tell, ended) = channel();
        thread::spawn(move || {
            let mut bounded = Bounded::new(file, HEAD, TAIL);
            copy(&mut reader, &mut bounded, &secrets);
            bounded.finish();
            // The receiver may be gone.
            let _ = tell.send(());
        });
        Ok((Log { path: path.to_owned(), ended }, writer))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until everything is in the file, but no longer than `patience`: a process that cannot be
    /// ended may hold the pipe.
    pub fn finish(&self, patience: Duration) -> bool {
        !matches!(self.ended.recv_timeout(patience), Err(RecvTimeoutError::Timeout))
    }

    /// The last meaningful line: one that reports an error, if there is one near the end.
    pub fn last_line(&self) -> Option<String> {
        last_line(&end_of(&self.path)?)
    }

    /// The line near the end in which a program refuses its command line, in the words of usual parsers.
    pub fn refused_argument(&self) -> Option<String> {
        let end = end_of(&self.path)?;
        let lines = end.split(['\n', '\r']).map(str::trim).rev();
        lines.take(LINES).find(|line| is_refusal(line)).map(str::to_owned)
    }

    /// Whether it ends with talk of a port that another process has, in the words of usual servers.
    pub fn says_port_taken(&self) -> bool {
        let end = end_of(&self.path).unwrap_or_default().to_lowercase();
        let words = ["address already in use", "address in use", "eaddrinuse", "couldn't bind"];
        words.iter().any(|words| end.contains(words))
    }
}

/// Copies to the end, line by line, so that no secret is cut in two.
fn copy(reader: &mut impl Read, bounded: &mut Bounded, secrets: &Secrets) {
    let mut buffer = vec![0; PIECE];
    let mut kept: Vec<u8> = Vec::new();
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        kept.extend_from_slice(&buffer[..count]);
        let whole = kept.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map(|at| at + 1);
        let length = match whole {
            _ if count == 0 || kept.len() > PIECE => kept.len(),
            whole => whole.unwrap_or(0),
        };
        let piece: Vec<u8> = kept.drain(..length).collect();
        let text = String::from_utf8_lossy(&piece);
        bounded.write(secrets.blot(&text).as_bytes());
        if count == 0 {
            return;
        }
    }
}

/// A file with a beginning and an end.
struct Bounded {
    file: File,
    head: u64,
    tail: u64,
    /// Bytes in the file.
    length: u64,
    /// Bytes that were left out.
    left_out: u64,
    is_broken: bool,
}

impl Bounded {
    fn new(file: File, head: u64, tail: u64) -> Bounded {
        Bounded { file, head, tail, length: 0, left_out: 0, is_broken: false }
    }

    /// Where the end begins: after the line that says what was left out, if something was.
    fn tail_start(&self) -> u64 {
        self.head + if self.left_out > 0 { mark(0).len() as u64 } else { 0 }
    }

    fn write(&mut self, bytes: &[u8]) {
        // On a full disk the server goes on, and its log ends.
        if self.is_broken || self.file.write_all(bytes).is_err() {
            self.is_broken = true;
            return;
        }
        self.length += bytes.len() as u64;
        if self.length > self.tail_start() + 2 * self.tail {
            self.shorten();
        }
    }

    fn finish(&mut self) {
        if self.length > self.tail_start() + self.tail && !self.is_broken {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        self.is_broken = self.try_shorten().is_err();
    }

    fn try_shorten(&mut self) -> std::io::Result<()> {
        let mut end = Vec::with_capacity(self.tail as usize);
        self.file.seek(SeekFrom::Start(self.length - self.tail))?;
        self.file.read_to_end(&mut end)?;
        self.left_out += self.length - self.tail - self.tail_start();
        let mark = mark(self.left_out);
        self.file.seek(SeekFrom::Start(self.head))?;
        self.file.write_all(mark.as_bytes())?;
        self.file.write_all(&end)?;
        self.length = self.tail_start() + end.len() as u64;
        self.file.set_len(self.length)
    }
}

/// The line between beginning and end, always of the same length.
fn mark(left_out: u64) -> String {
    format!("\n[inferometer left out {left_out:>20} bytes here]\n")
}

/// The end of a file, as text without colours.
fn end_of(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOOK))).ok()?;
    let mut end = Vec::new();
    file.read_to_end(&mut end).ok()?;
    Some(without_escapes(&String::from_utf8_lossy(&end)))
}

/// Whether a line says that a program does not know an argument or its value.
pub(super) fn is_refusal(line: &str) -> bool {
    const WORDS: [&str; 9] = [
        "unrecognized argument",
        "unrecognised argument",
        "unrecognized option",
        "unknown argument",
        "unknown option",
        "unexpected argument",
        "invalid argument:",
        "invalid choice",
        "no such option",
    ];
    let line = line.to_lowercase();
    WORDS.iter().any(|words| line.contains(words))
}

fn last_line(text: &str) -> Option<String> {
    let lines = text.split(['\n', '\r']).map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| line.chars().any(char::is_alphanumeric)).collect();
    let near = lines.get(lines.len().saturating_sub(LINES)..)?;
    let reports_error = |line: &&&str| {
        let line = line.to_lowercase();
        let words = [
            "error:",
            "error ",
            "error,",
            "exception",
            "fatal",
            "panic",
            "failed",
            "cannot",
            "denied",
        ];
        // What only points at another line is not it.
        words.iter().any(|word| line.contains(word)) && !line.contains("root cause above")
    };
    let line = near.iter().rev().find(reports_error).or(near.last())?;
    let shown: String = line.chars().take(LINE_CHARS_MAX).collect();
    Some(if shown.len() < line.len() { shown + "…" } else { shown })
}

/// The text without colours and movements of a terminal.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char == '\x1b' && chars.next_if_eq(&'[').is_some() {
            while chars.next().is_some_and(|char| !('@'..='~').contains(&char)) {}
        } else if char != '\x1b' {
            plain.push(char);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(120);

    #[test]
    fn a_log_is_kept_without_secrets_and_its_last_line_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/server.log");
        let secrets = Secrets::new(Some("Bearer sk-0123456789"), &[], &serde_json::Map::new());
        let (log, mut pipe) = Log::open(&path, secrets).unwrap();
        for part in ["key sk-01234", "56789\n\x1b[31mValueError: no\x1b[0m\n", "bye é\n---\n\n"] {
            pipe.write_all(part.as_bytes()).unwrap();
        }
        assert!(!log.finish(Duration::ZERO), "the pipe is open");
        drop(pipe);
        assert!(log.finish(WAIT));
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "key ***\n\x1b[31mValueError: no\x1b[0m\nbye é\n---\n\n");
        assert_eq!(log.last_line().as_deref(), Some("ValueError: no"));
        for (text, expect) in [
            ("", None),
            ("--\n", None),
            ("one\ntwo", Some("two")),
            ("50 %\r51 %\r", Some("51 %")),
            (
                "ValidationError: 1 error\n  Value error, no such\n  see there",
                Some("Value error, no such"),
            ),
            ("E: RuntimeError: failed. See root cause above.\nbye", Some("bye")),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(log.last_line().as_deref(), expect, "{text}");
        }
        std::fs::write(&path, "é".repeat(LINE_CHARS_MAX + 1)).unwrap();
        assert_eq!(log.last_line().unwrap(), "é".repeat(LINE_CHARS_MAX) + "…");
    }

    #[test]
    fn of_a_flood_the_beginning_and_the_end_are_kept() {
        for lines in [10, 24, 25, 30, 60, 100, 1000] {
            let mut bounded = Bounded::new(tempfile::tempfile().unwrap(), 100, 100);
            let all: Vec<String> = (0..lines).map(|line| format!("{line:7}\n")).collect();
            let mut highest = 0;
            for line in &all {
                bounded.write(line.as_bytes());
                highest = highest.max(bounded.file.metadata().unwrap().len());
            }
            bounded.finish();
            let mut text = String::new();
            bounded.file.rewind().unwrap();
            bounded.file.read_to_string(&mut text).unwrap();
            let all = all.concat();
            assert!(highest <= 300 + mark(0).len() as u64 + 8, "{highest}");
            match all.len() {
                0..=200 => assert_eq!(text, all),
                length => {
                    let mark = mark(length as u64 - 200);
                    assert_eq!(text, format!("{}{mark}{}", &all[..100], &all[length - 100..]));
                }
            }
        }
    }
}
