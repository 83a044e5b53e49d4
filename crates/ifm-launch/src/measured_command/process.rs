//! One run of a command: started in a group of its own, heard, measured, ended with all of it.
//!
//! This process adopts what loses its parent, so that everything the command started is found
//! below it, in whatever session. Not here: what is made of it (`row`).

use super::memory::{Seen, Watch};
use super::output::{self, Heard, Shared, Stream};
use super::pattern::Patterns;
use crate::guard::{Guard, Held, Undo};
use ifm_bench::process_tree::{TOKEN, Tree};
use ifm_core::words::counted;
use ifm_sys::family::{self, Ended};
use ifm_sys::process::end_group;
use ifm_terminal::streams::{say, warn};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long a command that was asked to end may take to do so.
const GRACE: Duration = Duration::from_secs(10);
/// How long what it leaves behind may take to end by itself, and how often that is looked at.
const LEFT_GRACE: Duration = Duration::from_secs(2);
const LEFT_LOOK: Duration = Duration::from_millis(20);
/// A process begins with the largest memory of this one in its account, which is off by the pages
/// that processors have not added yet: only what is larger by this much is its own, bytes.
const OWN_MARGIN: u64 = 16 << 20;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Code(i32),
    /// By this signal, which inferometer did not send.
    Signal(i32),
    /// Its time was over.
    TimedOut,
    /// By Ctrl-C.
    Interrupted,
    /// The system asked us to end.
    Terminated,
}

impl End {
    /// Exit code of the program for it, as shells and `timeout` count.
    pub fn code(self) -> u8 {
        match self {
            End::Code(code) => code as u8,
            End::Signal(signal) => 128 + signal as u8,
            End::TimedOut => 124,
            End::Interrupted => 130,
            End::Terminated => 143,
        }
    }

    /// Whether nothing more is to be started.
    pub fn is_stop(self) -> bool {
        matches!(self, End::Interrupted | End::Terminated)
    }
}

/// A command that could not be started.
#[derive(Debug)]
pub struct NotStarted {
    /// Exit code of the program, as shells count: 127 for one that is not there, else 126.
    pub code: u8,
    /// Why.
    pub sentence: String,
}

/// What a run did.
#[derive(Debug)]
pub struct ProcessStats {
    /// How it ended.
    pub end: End,
    /// From before the start to the end, nanoseconds of the monotonic clock.
    pub span_ns: (u64, u64),
    /// Time on processors of all its processes in user mode and in the kernel, nanoseconds.
    pub cpu_ns: (u64, u64),
    /// Memory as it was sampled.
    pub memory: Seen,
    /// Largest resident memory of one process, by the kernel's account; absent where it is hardly
    /// more than what a process begins with from this one.
    pub largest: Option<u64>,
    /// What it printed.
    pub heard: Heard,
    /// Processes that it left behind and that were ended.
    pub left_behind: usize,
}

/// What is run.
#[derive(Debug)]
pub struct Order<'a> {
    /// The words of the command.
    pub words: &'a [String],
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Whether it gets our standard input.
    pub has_input: bool,
    /// Where its standard output goes.
    pub output: Stream,
    /// What is looked for in its lines.
    pub patterns: Arc<Patterns>,
}

/// What wakes the one who waits.
enum Event {
    Ended(io::Result<Ended>, u64),
    Signal(i32),
}

/// Runs commands, one at a time, and hears the signals that this process gets.
pub struct Runner {
    sender: Sender<Event>,
    events: Receiver<Event>,
    guard: Option<Guard>,
}

impl Runner {
    /// Begins to hear signals, and to adopt what loses its parent.
    pub fn start() -> Runner {
        let (sender, events) = channel();
        family::adopt_orphans();
        // Without it only a kill -9 of this process leaves the command running.
        let guard = Guard::start().map_err(|error| warn(&error.to_string())).ok();
        if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) {
            let sender = sender.clone();
            std::thread::spawn(move || {
                // Without a receiver the program is about to end.
                signals.forever().all(|signal| sender.send(Event::Signal(signal)).is_ok())
            });
        }
        Runner { sender, events, guard }
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(&self, order: &Order) -> Result<ProcessStats, NotStarted> {
        let tree = Tree::planned();
        let hold = |tree: Tree| self.guard.as_ref()?.hold(Undo::EndServer(tree)).ok();
        let by_token = hold(tree.clone());
        let begun_ns = ifm_sys::mono_ns();
        let mut child = start(order, &tree.token)?;
        let (pid, own) = (child.id(), ifm_sys::thread::peak_memory_bytes());
        let by_group = hold(tree.with_head(pid));
        let memory = Watch::start(self.guard.as_ref().map(Guard::id));
        let heard = Shared::default();
        let (done, pipes) = channel();
        let out = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn io::Read + Send>);
        let err = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn io::Read + Send>);
        for (pipe, to) in [(out, order.output), (err, Stream::Err)] {
            let Some(pipe) = pipe else { continue };
            let (heard, patterns, done) = (heard.clone(), order.patterns.clone(), done.clone());
            std::thread::spawn(move || {
                output::pass(pipe, to, &patterns, &heard, ifm_sys::mono_ns);
                // There may be no receiver any more for a pipe that other processes held open.
                let _ = done.send(());
            });
        }
        drop(done);
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            let ended = family::wait_for(pid);
            let _ = sender.send(Event::Ended(ended, ifm_sys::mono_ns()));
        });
        let (ended, ended_ns, cause) = self.wait(pid, order.timeout);
        let memory = memory.finish();
        let left_behind = self.end_left();
        by_token.into_iter().chain(by_group).for_each(Held::forget);
        let mut accounts = vec![ended];
        accounts.extend(std::iter::from_fn(family::reap));
        // With all of its processes gone the pipes end, unless another process holds one.
        let by = Instant::now() + LEFT_GRACE;
        while pipes.recv_timeout(by.saturating_duration_since(Instant::now())).is_ok() {}
        let sum = |time: fn(&Ended) -> u64| accounts.iter().map(time).sum();
        let largest = accounts.iter().map(|ended| ended.peak_bytes).max();
        let heard = std::mem::take(&mut *output::lock(&heard));
        Ok(ProcessStats {
            end: cause.unwrap_or(match (ended.status.code(), ended.status.signal()) {
                (Some(code), _) => End::Code(code),
                (None, signal) => End::Signal(signal.unwrap_or_default()),
            }),
            span_ns: (begun_ns, ended_ns),
            cpu_ns: (sum(|ended| ended.user_ns), sum(|ended| ended.system_ns)),
            memory,
            largest: largest.filter(|bytes| *bytes > own + OWN_MARGIN),
            heard,
            left_behind,
        })
    }

    /// Waits for the end, and ends the command at its time limit or on a signal.
    fn wait(&self, pid: u32, timeout: Option<Duration>) -> (Ended, u64, Option<End>) {
        let mut cause = None;
        // When the next thing is to be done to it: asked to end, then ended.
        let mut due = timeout.map(|span| Instant::now() + span);
        loop {
            let event = match due {
                None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => self.events.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            let asked = match event {
                Ok(Event::Ended(Ok(ended), at_ns)) => return (ended, at_ns, cause),
                Ok(Event::Ended(Err(error), at_ns)) => {
                    // Another wait collected the child's exit status: all that is known is that it
                    // is over.
                    warn(&format!("how the command ended is not known: {error}"));
                    let unknown = Ended {
                        status: ExitStatusExt::from_raw(0),
                        user_ns: 0,
                        system_ns: 0,
                        peak_bytes: 0,
                    };
                    return (unknown, at_ns, cause.or(Some(End::Signal(0))));
                }
                Ok(Event::Signal(SIGINT)) => End::Interrupted,
                Ok(Event::Signal(_)) => End::Terminated,
                Err(_) => End::TimedOut,
            };
            if cause.is_some() {
                end_group(pid);
                self.below().into_iter().for_each(family::end);
            } else if asked == End::Interrupted {
                say("\nending the command, Ctrl-C again to kill it");
                family::interrupt_group(pid);
            } else {
                family::terminate_group(pid);
            }
            cause = cause.or(Some(asked));
            due = Some(Instant::now() + GRACE);
        }
    }

    /// What runs below this process, the guard apart.
    fn below(&self) -> Vec<u32> {
        let guard = self.guard.as_ref().map(Guard::id);
        let mut all = family::descendants();
        all.retain(|process| Some(*process) != guard);
        all
    }

    /// Ends what a command left behind, after a while in which it may do so itself; says how many
    /// processes that were.
    fn end_left(&self) -> usize {
        let by = Instant::now() + LEFT_GRACE;
        let mut ended = 0;
        loop {
            let left = self.below();
            // One that cannot be ended is waited for no longer than that.
            if left.is_empty() || Instant::now() >= by + LEFT_GRACE {
                break;
            }
            if Instant::now() >= by {
                ended = ended.max(left.len());
                left.into_iter().for_each(family::end);
            }
            std::thread::sleep(LEFT_LOOK);
        }
        if ended > 0 {
            warn(&format!("the command left {} running: ended", counted(ended as u64, "program")));
        }
        ended
    }
}

fn start(order: &Order, token: &str) -> Result<std::process::Child, NotStarted> {
    let (program, rest) = order
        .words
        .split_first()
        .ok_or_else(|| NotStarted { code: 126, sentence: "there is no command".to_owned() })?;
    let mut command = Command::new(program);
    command
        .args(rest)
        // By it the guard finds what left the group.
        .env(TOKEN, token)
        // Ctrl-C of the terminal goes to us alone; what the command gets is ours to say.
        .process_group(0)
        .stdin(if order.has_input { Stdio::inherit() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if std::env::var_os("PYTHONUNBUFFERED").is_none() {
        // Python buffers lines while it writes to a pipe, which would distort the stamps.
        command.env("PYTHONUNBUFFERED", "1");
    }
    command.spawn().map_err(|error| NotStarted {
        code: if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 },
        sentence: format!("{program} cannot be started: {error}"),
    })
}
