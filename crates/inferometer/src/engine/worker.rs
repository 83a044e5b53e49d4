//! An engine in a child process that speaks the protocol: started, asked, watched, ended with all that
//! it started.
//!
//! What it prints on standard error is kept for the sentence that says why it failed. Not here: what
//! the lines mean (`protocol`).

use super::case::Case;
use super::noise::Watch;
use super::protocol::{About, Answer, Load, Order};
use super::{Engine, Repeat, Setup, Trouble};
use crate::guard::{Guard, Held, Undo};
use crate::interrupt::{Interrupts, Urge};
use crate::tree::{TOKEN, Tree};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest line that an engine may print, bytes.
const LINE_MAX: u64 = 16 << 20;
/// Last lines of standard error that are kept.
const TAIL_LINES: usize = 20;
/// Characters of a line that are shown.
const SHOWN_CHARS: usize = 200;
/// Between two looks at Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);
/// How long the end of a process may take to be known.
const END: Duration = Duration::from_secs(2);

/// How long things may take, and who ends them if we die.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Until the model is loaded.
    pub start: Duration,
    /// One repeat.
    pub repeat: Duration,
    /// Ends the processes if this one dies.
    pub guard: Option<Guard>,
    /// Ctrl-C.
    pub interrupts: Interrupts,
}

/// The words that start the embedded engine as a worker.
///
/// # Errors
/// This program cannot find itself.
pub fn embedded() -> Result<Vec<String>, String> {
    // By this name a program that was replaced on disk still starts itself.
    let own = "/proc/self/exe";
    std::fs::metadata(own).map_err(|error| format!("cannot start ourselves: {error}"))?;
    Ok([own, "engine-worker"].map(str::to_owned).to_vec())
}

/// The source of a shipped adapter.
pub fn adapter(name: &str) -> Option<&'static str> {
    match name {
        "vllm" => Some(include_str!("adapter/vllm.py")),
        "sglang" => Some(include_str!("adapter/sglang.py")),
        _ => None,
    }
}

/// A running engine.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Arc<Mutex<VecDeque<String>>>,
    tree: Tree,
    held: Vec<Held>,
    about: About,
    limits: Limits,
    seed: u64,
}

impl Worker {
    /// Starts a command and has it load the model.
    ///
    /// # Errors
    /// Why it does not run, in one sentence.
    pub fn start(words: &[String], setup: &Setup, limits: &Limits) -> Result<Worker, String> {
        let (program, rest) = words.split_first().ok_or("there is no command")?;
        let mut tree = Tree::planned().with_grace(END);
        let hold = |tree: &Tree| limits.guard.as_ref()?.hold(Undo::EndServer(tree.clone())).ok();
        let mut held: Vec<Held> = hold(&tree).into_iter().collect();
        let mut child = Command::new(program)
            .args(rest)
            .env(TOKEN, &tree.token)
            // Ctrl-C goes to us alone.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{program} cannot be started: {error}"))?;
        tree = tree.with_head(child.id());
        held.extend(hold(&tree));
        let errors = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(pipe) = child.stderr.take() {
            let errors = errors.clone();
            std::thread::spawn(move || keep_tail(pipe, &errors));
        }
        let (sender, lines) = channel();
        if let Some(pipe) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut pipe = BufReader::new(pipe);
                while let Some(line) = line_of(&mut pipe) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let input = child.stdin.take();
        let about = About::default();
        let mut worker = Worker {
            child,
            input,
            lines,
            errors,
            tree,
            held,
            about,
            limits: limits.clone(),
            seed: 0,
        };
        let answer = worker.ask(&Order::Load(Load::of(setup)), worker.limits.start);
        match answer.map_err(|trouble| trouble.why().to_owned())? {
            Answer::Ready(about) => worker.about = *about,
            Answer::Cannot { why } => return Err(why),
            Answer::Ran { .. } => return Err("the engine ran before it was asked to".to_owned()),
        }
        Ok(worker)
    }

    /// Says something and waits for the answer.
    fn ask(&mut self, order: &Order, limit: Duration) -> Result<Answer, Trouble> {
        let mut line =
            serde_json::to_string(order).map_err(|error| self.lost(&error.to_string()))?;
        line.push('\n');
        let written = self.input.as_mut().map(|input| input.write_all(line.as_bytes()));
        if !matches!(written, Some(Ok(()))) {
            return Err(self.ended());
        }
        let until = Instant::now() + limit;
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => {
                    return serde_json::from_str(&line).map_err(|_| {
                        let shown: String = line.trim().chars().take(SHOWN_CHARS).collect();
                        self.lost(&format!(
                            "the engine printed \"{shown}\", which is no line of the protocol"
                        ))
                    });
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) if self.limits.interrupts.urge() == Urge::Now => {
                    return Err(self.lost("interrupted"));
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                    return Err(self.lost(&format!(
                        "the engine did not answer within {} s",
                        limit.as_secs_f64()
                    )));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// It can no longer be used: its input closes, so that no later answer is taken for another's.
    fn lost(&mut self, why: &str) -> Trouble {
        self.input = None;
        Trouble::Lost(why.to_owned())
    }

    /// It has ended, or closed its output: how, and what it said last.
    fn ended(&mut self) -> Trouble {
        let until = Instant::now() + END;
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                Ok(status) => break status,
                Err(_) => break None,
            }
        };
        let how = match status {
            Some(status) => format!("the engine ended ({status})"),
            None => "the engine closed its output".to_owned(),
        };
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let last = errors.iter().rev().find(|line| !line.trim().is_empty()).cloned();
        drop(errors);
        self.lost(&last.map_or(how.clone(), |last| format!("{how}; it said: {last}")))
    }

    fn once(&mut self, case: &Case) -> Result<Repeat, Trouble> {
        self.seed += 1;
        let watch = Watch::begin(self.child.id());
        let begun_ns = ifm_sys::mono_ns();
        let answer = self.ask(&Order::Run { case: *case, seed: self.seed }, self.limits.repeat)?;
        let wall_ns = ifm_sys::mono_ns() - begun_ns;
        let disturbance = watch.end();
        let (prompt_ns, step_ns, cached) = match answer {
            Answer::Ran { prompt_ns, step_ns, cached_tokens } => {
                (prompt_ns, step_ns, cached_tokens)
            }
            Answer::Cannot { why } => return Err(Trouble::Cannot(why)),
            Answer::Ready(_) => return Err(self.lost("the engine answered out of turn")),
        };
        let (has_prompt, has_steps) = (case.prompt > 0, case.steps > 0);
        if has_prompt && prompt_ns.is_none_or(|time| time == 0)
            || has_steps && step_ns.len() != case.steps as usize
        {
            return Err(self.lost(&format!(
                "the engine told {} steps and {} for {} steps and {} prompt tokens",
                step_ns.len(),
                prompt_ns.map_or("no time".to_owned(), |time| format!("{time} ns")),
                case.steps,
                case.prompt
            )));
        }
        let steps_ns: u64 = step_ns.iter().sum();
        let told = prompt_ns.unwrap_or_default().saturating_add(steps_ns);
        if told > wall_ns {
            return Err(self
                .lost(&format!("the engine told {told} ns for what took {wall_ns} ns from here")));
        }
        Ok(Repeat {
            prompt_ns: prompt_ns.filter(|_| has_prompt),
            steps_ns: has_steps.then_some(steps_ns),
            step_ns,
            cached,
            wall_ns: Some(wall_ns),
            disturbance,
            ..Repeat::default()
        })
    }
}

impl Engine for Worker {
    fn about(&self) -> &About {
        &self.about
    }

    fn run(&mut self, case: &Case, times: u32) -> Result<Vec<Repeat>, Trouble> {
        (0..times).map(|_| self.once(case)).collect()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // By the end of its input it ends by itself; what does not is ended.
        self.input = None;
        let until = Instant::now() + END;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.tree.end();
        // It has ended: there is nothing else to learn.
        let _ = self.child.wait();
        self.held.drain(..).for_each(Held::forget);
    }
}

/// A line without its end; absent at the end of the pipe. One that is too long is cut.
fn line_of(pipe: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    let read = pipe.take(LINE_MAX).read_until(b'\n', &mut bytes).ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn keep_tail(pipe: impl Read, tail: &Mutex<VecDeque<String>>) {
    let mut pipe = BufReader::new(pipe);
    while let Some(line) = line_of(&mut pipe) {
        let clean = line.trim_end().chars().filter(|c| !c.is_control()).take(SHOWN_CHARS);
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.len() == TAIL_LINES {
            tail.pop_front();
        }
        tail.push_back(clean.collect());
    }
}
