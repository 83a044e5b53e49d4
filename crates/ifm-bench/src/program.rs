//! A program started for a measurement: its lines, its standard error, and its end, including its
//! child processes.
//!
//! There is one way to start, query and end such a program: engines and kernel providers, which answer
//! requests, and tools that print results. Not here: what the lines mean (`engine`, `kernel`).

use crate::interrupts::{Interrupts, Urge};
use crate::process_tree::{TOKEN, Tree};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum length of a line, bytes.
const LINE_MAX: u64 = 16 << 20;
/// Maximum number of waiting lines; beyond it, the program waits.
const LINES_MAX: usize = 4;
/// Number of last lines of standard error to keep.
const TAIL_LINES: usize = 20;
/// Maximum number of characters shown of a line.
const SHOWN_CHARS: usize = 200;
/// Time between two checks for Ctrl-C, and for the end of a process.
const LOOK: Duration = Duration::from_millis(20);
/// The signal that the kernel sends when memory runs out, and that others send to kill a program.
const KILLED: i32 = 9;

/// Ends processes if this one dies before it can.
pub trait Guard: Debug + Send + Sync {
    /// From here on, these processes are ended if this one dies. Absent if that cannot be had.
    fn hold(&self, tree: &Tree) -> Option<Box<dyn Held>>;
}

/// Processes that are ended when this is dropped.
pub trait Held: Debug + Send {
    /// Leaves them alone: they have ended.
    fn forget(self: Box<Self>);
}

/// Time limits, and the guard that ends the processes if this one dies.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Until the model is loaded.
    pub start: Duration,
    /// One repeat.
    pub repeat: Duration,
    /// Grace period for a program to exit after its input has ended, and again after a signal.
    pub grace: Duration,
    /// Ends the processes if this one dies.
    pub guard: Option<Arc<dyn Guard>>,
    /// Ctrl-C.
    pub interrupts: Interrupts,
}

/// The number of seconds in a flag.
///
/// # Errors
/// It is not a valid time.
pub fn span(seconds: f64, flag: &str) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{flag} needs seconds, not {seconds}"))
}

/// Why there is no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLine {
    /// It ended, or closed its output: see [`Program::how_it_ended`].
    Closed,
    /// A line was too long.
    TooLong,
    /// Ctrl-C, twice.
    Interrupted,
    /// It took too long.
    Late,
}

impl NoLine {
    /// As text, for a program with this time limit.
    pub fn words(self, who: &str, limit: Duration) -> String {
        match self {
            NoLine::Closed => format!("the {who} closed its output"),
            NoLine::TooLong => format!("the {who} printed a line of more than {LINE_MAX} bytes"),
            NoLine::Interrupted => "interrupted".to_owned(),
            NoLine::Late => format!("the {who} did not answer within {} s", limit.as_secs_f64()),
        }
    }
}

/// A running program. It ends, with its children, when this is dropped.
#[derive(Debug)]
pub struct Program {
    who: &'static str,
    child: std::process::Child,
    input: Option<ChildStdin>,
    lines: Receiver<Result<String, NoLine>>,
    errors: Arc<Mutex<VecDeque<String>>>,
    error_reader: Option<JoinHandle<()>>,
    tree: Tree,
    held: Vec<Box<dyn Held>>,
    grace: Duration,
    interrupts: Interrupts,
}

impl Program {
    /// Starts a program with its arguments; `who` is its name in messages, such as `engine`.
    ///
    /// # Errors
    /// It cannot be started, in one sentence.
    pub fn start(who: &'static str, words: &[String], limits: &Limits) -> Result<Program, String> {
        let (program, rest) = words.split_first().ok_or("there is no command")?;
        let mut tree = Tree::planned().with_grace(limits.grace);
        let hold = |tree: &Tree| limits.guard.as_ref()?.hold(tree);
        let mut held: Vec<Box<dyn Held>> = hold(&tree).into_iter().collect();
        let mut child = Command::new(program)
            .args(rest)
            .env(TOKEN, &tree.token)
            // Ctrl-C reaches only this process.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{program} cannot be started: {error}"))?;
        tree = tree.with_head(child.id());
        held.extend(hold(&tree));
        let errors = Arc::new(Mutex::new(VecDeque::new()));
        let error_reader = child.stderr.take().map(|pipe| {
            let errors = errors.clone();
            std::thread::spawn(move || keep_tail(pipe, &errors))
        });
        let (sender, lines) = sync_channel(LINES_MAX);
        if let Some(pipe) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut pipe = BufReader::new(pipe);
                while let Some(line) = line_of(&mut pipe) {
                    let is_last = line.is_err();
                    if sender.send(line).is_err() || is_last {
                        break;
                    }
                }
            });
        }
        let input = child.stdin.take();
        Ok(Program {
            who,
            child,
            input,
            lines,
            errors,
            error_reader,
            tree,
            held,
            grace: limits.grace,
            interrupts: limits.interrupts.clone(),
        })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends one line of JSON, and waits for one as the answer. After any other answer, the program
    /// can no longer be used: its input is closed, so that no later answer is matched to the wrong
    /// request.
    ///
    /// # Errors
    /// Why there is no answer, in one sentence.
    pub fn ask<A: DeserializeOwned>(
        &mut self,
        order: &impl Serialize,
        limit: Duration,
    ) -> Result<A, String> {
        let answer = self.try_ask(order, limit);
        if answer.is_err() {
            self.end_input();
        }
        answer
    }

    fn try_ask<A: DeserializeOwned>(
        &mut self,
        order: &impl Serialize,
        limit: Duration,
    ) -> Result<A, String> {
        let who = self.who;
        if let Ok(Ok(line)) = self.lines.try_recv() {
            return Err(format!("the {who} printed \"{}\" before it was asked", shown(&line)));
        }
        let line = serde_json::to_string(order).map_err(|error| error.to_string())?;
        if !self.say(&line) {
            return Err(self.how_it_ended());
        }
        match self.line(limit) {
            Ok(line) => serde_json::from_str(&line).map_err(|_| {
                format!(
                    "the {who} printed \"{}\", which is not a line of the protocol",
                    shown(&line)
                )
            }),
            Err(NoLine::Closed) => Err(self.how_it_ended()),
            Err(none) => Err(none.words(who, limit)),
        }
    }

    /// Writes a line to its input; false if the input is closed.
    fn say(&mut self, line: &str) -> bool {
        let written = self.input.as_mut().map(|input| writeln!(input, "{line}"));
        matches!(written, Some(Ok(())))
    }

    /// Closes its input.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// Its next line.
    ///
    /// # Errors
    /// Why there is no line.
    pub fn line(&self, limit: Duration) -> Result<String, NoLine> {
        let until = Instant::now().checked_add(limit);
        loop {
            match self.lines.recv_timeout(LOOK.min(limit)) {
                Ok(line) => return line,
                Err(RecvTimeoutError::Disconnected) => return Err(NoLine::Closed),
                Err(RecvTimeoutError::Timeout) if self.interrupts.urge() == Urge::Now => {
                    return Err(NoLine::Interrupted);
                }
                Err(RecvTimeoutError::Timeout)
                    if until.is_some_and(|until| Instant::now() >= until) =>
                {
                    return Err(NoLine::Late);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// How it ended, after waiting up to its grace period; absent while it runs.
    pub fn status(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + self.grace;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }

    /// How a program without a line ended, and its last message, in one sentence.
    pub fn how_it_ended(&mut self) -> String {
        let (who, status) = (self.who, self.status());
        let how = match status {
            Some(status) if status.signal() == Some(KILLED) => {
                format!("the {who} was killed, as the kernel does when memory runs out")
            }
            Some(status) => format!("the {who} ended ({status})"),
            None => format!("the {who} closed its output, and runs on"),
        };
        self.last_words().map_or(how.clone(), |last| format!("{how}; it said: {last}"))
    }

    /// The last lines of its standard error, the latest last.
    pub fn errors(&mut self) -> Vec<String> {
        // The output of an ended program is read completely; its children may keep the pipe open.
        let until = Instant::now() + self.grace;
        let is_read = |reader: &JoinHandle<()>| reader.is_finished();
        while !self.error_reader.as_ref().is_none_or(is_read)
            && matches!(self.child.try_wait(), Ok(Some(_)))
            && Instant::now() < until
        {
            std::thread::sleep(LOOK);
        }
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.iter().cloned().collect()
    }

    fn last_words(&mut self) -> Option<String> {
        self.errors().into_iter().rev().find(|line| !line.trim().is_empty())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It exits when its input ends; otherwise it is ended.
        self.end_input();
        let until = Instant::now() + self.grace;
        while matches!(self.child.try_wait(), Ok(None))
            && Instant::now() < until
            && self.interrupts.urge() != Urge::Now
        {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.tree.end();
        // It has ended: there is no more to learn.
        let _ = self.child.wait();
        self.held.drain(..).for_each(|held| held.forget());
    }
}

/// The shown part of a line.
fn shown(line: &str) -> String {
    line.trim().chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect()
}

/// A line without its line ending; absent at the end of the pipe.
fn line_of(pipe: &mut impl BufRead) -> Option<Result<String, NoLine>> {
    let mut bytes = Vec::new();
    let read = pipe.take(LINE_MAX).read_until(b'\n', &mut bytes).ok()? as u64;
    if read == LINE_MAX && !bytes.ends_with(b"\n") {
        return Some(Err(NoLine::TooLong));
    }
    (read > 0).then(|| Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned()))
}

/// Keeps the last lines, of each only the shown part: a line may have no end.
fn keep_tail(pipe: impl Read, tail: &Mutex<VecDeque<String>>) {
    let mut pipe = BufReader::new(pipe);
    while let Some(line) = line_of(&mut pipe) {
        // A part of a line without an end, such as a progress bar.
        let Ok(line) = line else { continue };
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.len() == TAIL_LINES {
            tail.pop_front();
        }
        tail.push_back(shown(&line));
    }
}
