//! A process that undoes the setup of this one if this one dies, from any signal, SIGKILL included.
//!
//! It lives in its own session and ignores the signals that end programs. From its standard input it
//! reads what is held and what is released, one JSON object per line. When that input ends, it undoes
//! what is still held, the latest first, and exits.

use ifm_bench::process_tree::Tree;
use ifm_bench::program;
use ifm_telemetry::control::Restore;
use ifm_terminal::exit::{Code, Failure};
use ifm_terminal::streams as terminal;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the process prints once it is ready.
const READY: &str = "guarding";
/// Time limit of a command.
pub const COMMAND: Duration = Duration::from_secs(60);

/// What to undo.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "undo", rename_all = "snake_case")]
pub enum Undo {
    /// Ends the processes of a server.
    EndServer(Tree),
    /// Restores a GPU's power limit.
    PowerLimit {
        /// Which GPU.
        gpu: u32,
        /// The original limit.
        milliwatts: u32,
    },
    /// Unlocks a GPU's clocks.
    Clocks {
        /// Which GPU.
        gpu: u32,
    },
    /// Runs a command.
    Command {
        /// Program and arguments.
        words: Vec<String>,
    },
}

impl Undo {
    /// Undoes it.
    ///
    /// # Errors
    /// What was not restored, in one sentence.
    pub fn now(&self) -> Result<(), String> {
        match self {
            Undo::EndServer(tree) => match tree.end().is_gone {
                true => Ok(()),
                false => Err("processes of a server that was started do not end".to_owned()),
            },
            Undo::PowerLimit { .. } | Undo::Clocks { .. } => restore(self),
            Undo::Command { words } => run(words, COMMAND),
        }
    }
}

/// Restores a GPU's setting.
fn restore(undo: &Undo) -> Result<(), String> {
    let what = match *undo {
        Undo::PowerLimit { gpu, milliwatts } => Restore::PowerLimit { gpu, milliwatts },
        Undo::Clocks { gpu } => Restore::Clocks { gpu },
        Undo::EndServer { .. } | Undo::Command { .. } => return Ok(()),
    };
    let library = ifm_machine::facts::library();
    ifm_telemetry::control::restore(library.as_deref(), what).map_err(|error| error.to_string())
}

/// Runs a command to its end, or kills it after a time.
///
/// # Errors
/// It does not start, fails, or does not end.
pub fn run(words: &[String], limit: Duration) -> Result<(), String> {
    let shown = words.join(" ");
    let (program, rest) = words.split_first().ok_or("an empty command")?;
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).process_group(0);
    // The output of this process may be a document.
    command.stdout(std::io::stderr());
    let mut child = command.spawn().map_err(|error| format!("`{shown}` did not start: {error}"))?;
    let until = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("`{shown}` failed: {status}")),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                ifm_sys::process::end_group(child.id());
                // It was killed: there is no more to learn.
                let _ = child.wait();
                return Err(format!("`{shown}` did not end within {} s", limit.as_secs_f64()));
            }
            Err(error) => return Err(format!("cannot wait for `{shown}`: {error}")),
        }
    }
}

/// A message to the process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Hold { id: u64, undo: Undo },
    Release { id: u64 },
}

/// The running process. It ends with the last of its handles and of the held items.
#[derive(Debug, Clone)]
pub struct Guard(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    child: Mutex<Child>,
    lines: Mutex<Option<ChildStdin>>,
    /// Kept open: its output must not end it.
    _said: Mutex<BufReader<ChildStdout>>,
    next: AtomicU64,
}

impl Guard {
    /// Starts the process.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start() -> Result<Guard, Failure> {
        let cannot = |why: String| {
            Failure::new(Code::Internal, format!("the guard process did not start: {why}"))
        };
        let mut command = command().map_err(|error| cannot(error.to_string()))?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| cannot(error.to_string()))?;
        let lines = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| cannot("it has no output".to_owned()))?;
        let mut said = BufReader::new(stdout);
        if !said.by_ref().lines().any(|line| line.is_ok_and(|line| line.trim() == READY)) {
            // It has ended, or is of no use.
            let _ = child.kill();
            let _ = child.wait();
            return Err(cannot("it exited at once".to_owned()));
        }
        let (child, lines) = (Mutex::new(child), Mutex::new(lines));
        let inner = Inner { child, lines, _said: Mutex::new(said), next: AtomicU64::new(0) };
        Ok(Guard(Arc::new(inner)))
    }

    /// The process ID. The process is a child of this one, and not part of what is measured.
    pub fn id(&self) -> u32 {
        self.0.child.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).id()
    }

    /// From here on, this is undone if this process dies in any way. Hold first, then set up.
    ///
    /// # Errors
    /// The guard process has gone.
    pub fn hold(&self, undo: Undo) -> Result<Held, Failure> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let line = Line::Hold { id, undo: undo.clone() };
        self.0.write(&line).map_err(|error| {
            Failure::new(Code::Internal, format!("the guard process has gone: {error}"))
        })?;
        Ok(Held { guard: self.clone(), id, undo: Some(undo) })
    }
}

impl Inner {
    fn write(&self, line: &Line) -> std::io::Result<()> {
        let text = serde_json::to_string(line)? + "\n";
        let mut lines = self.lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match lines.as_mut() {
            Some(pipe) => pipe.write_all(text.as_bytes()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let lines = self.lines.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        drop(lines.take());
        let child = self.child.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Nothing is held any more: it exits at once.
        let _ = child.wait();
    }
}

/// Something that is undone when this is dropped.
#[derive(Debug)]
pub struct Held {
    guard: Guard,
    id: u64,
    undo: Option<Undo>,
}

impl Held {
    /// Cancels the undo.
    pub fn forget(mut self) {
        self.undo = None;
    }
}

impl program::Guard for Guard {
    fn hold(&self, tree: &Tree) -> Option<Box<dyn program::Held>> {
        let held = Guard::hold(self, Undo::EndServer(tree.clone())).ok()?;
        Some(Box::new(held))
    }
}

impl program::Held for Held {
    fn forget(self: Box<Self>) {
        Held::forget(*self);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Held until it is done: if this process dies meanwhile, the guard does it.
        if let Some(Err(sentence)) = self.undo.take().map(|undo| undo.now()) {
            terminal::warn(&sentence);
        }
        // Without a guard process there is nothing to release.
        let _ = self.guard.0.write(&Line::Release { id: self.id });
    }
}

/// The guard process itself: reads until its input ends, then undoes what is held.
///
/// # Errors
/// It cannot detach from the signals that end its parent.
pub fn guard() -> Result<Code, Failure> {
    let internal = |error: std::io::Error| Failure::new(Code::Internal, error.to_string());
    ifm_sys::process::lead_session().map_err(internal)?;
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        // Recorded, and otherwise ignored.
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map_err(internal)?;
    }
    terminal::print(&format!("{READY}\n"));
    let mut held: Vec<(u64, Undo)> = Vec::new();
    // A read error also counts as the end.
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Line::Hold { id, undo }) => held.push((id, undo)),
            Ok(Line::Release { id }) => held.retain(|(other, _)| *other != id),
            // An incomplete line: the writer died while writing it, before it took effect.
            Err(_) => {}
        }
    }
    for (_, undo) in held.iter().rev() {
        if let Err(sentence) = undo.now() {
            terminal::warn(&sentence);
        }
    }
    Ok(Code::Done)
}

#[cfg(not(test))]
fn command() -> std::io::Result<Command> {
    let mut command = crate::own_program::own_command()?;
    command.arg("guard");
    Ok(command)
}

/// The test binary is not inferometer: the process lives among its tests.
#[cfg(test)]
fn command() -> std::io::Result<Command> {
    Ok(ifm_probe::testing::process("guard::tests::the_process"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_bench::process_tree::TOKEN;
    use ifm_probe::testing;
    use std::path::Path;

    #[test]
    #[ignore = "not a test: the guard process of the tests of this crate"]
    fn the_process() {
        guard().unwrap();
        // Nothing reads the output of the test harness.
        std::process::exit(0);
    }

    fn touch(path: &Path) -> Undo {
        Undo::Command { words: ["touch", path.to_str().unwrap()].map(str::to_owned).to_vec() }
    }

    #[test]
    fn what_is_held_is_undone_and_what_is_forgotten_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let guard = Guard::start().unwrap();
        let dropped = guard.hold(touch(&path("dropped"))).unwrap();
        guard.hold(touch(&path("forgotten"))).unwrap().forget();
        assert!(!path("dropped").exists());
        drop(dropped);
        assert!(path("dropped").exists());
        std::fs::remove_file(path("dropped")).unwrap();
        drop(guard);
        assert!(!path("forgotten").exists() && !path("dropped").exists(), "released");
    }

    #[test]
    fn a_command_that_fails_or_hangs_is_told() {
        let words = |line: &str| ["sh", "-c", line].map(str::to_owned).to_vec();
        let limit = Duration::from_secs(60);
        assert_eq!(run(&words("exit 0"), limit), Ok(()));
        assert!(run(&words("exit 3"), limit).unwrap_err().contains("exit status: 3"));
        let late = run(&words("sleep 600"), Duration::from_millis(20)).unwrap_err();
        assert!(late.contains("did not end within 0.02 s"), "{late}");
        assert!(run(&["/no/such/program".to_owned()], limit).unwrap_err().contains("not start"));
    }

    /// Holds a process and a file, says so, and waits to be killed.
    #[test]
    #[ignore = "not a test: the process that the test below kills"]
    fn the_holder() {
        let guard = Guard::start().unwrap();
        let path = std::env::var("IFM_TEST_PATH").unwrap();
        let _file = guard.hold(touch(Path::new(&path))).unwrap();
        let tree = Tree::planned().with_grace(Duration::from_millis(50));
        let _before = guard.hold(Undo::EndServer(tree.clone())).unwrap();
        // Two that do not end when asked, one of them in its own session.
        let stubborn = "trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; \
                        done' & while :; do sleep 1; done";
        let mut child = Command::new("sh")
            .args(["-c", stubborn])
            .env(TOKEN, &tree.token)
            .process_group(0)
            .spawn()
            .unwrap();
        let _held = guard.hold(Undo::EndServer(tree.with_head(child.id()))).unwrap();
        println!("token {}", tree.token);
        child.wait().unwrap();
    }

    #[test]
    fn what_a_killed_process_held_is_undone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("undone");
        let mut holder = testing::process("guard::tests::the_holder")
            .env("IFM_TEST_PATH", &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines().map(Result::unwrap);
        let token = lines.find_map(|line| line.strip_prefix("token ").map(str::to_owned)).unwrap();
        let tree = Tree { pgid: None, started: None, token, grace_ms: 0 };
        // Both have begun.
        testing::eventually(|| tree.count() >= 2);
        holder.kill().unwrap();
        holder.wait().unwrap();
        testing::eventually(|| !tree.runs());
        testing::eventually(|| path.exists());
    }

    #[test]
    fn a_number_that_went_to_another_process_is_left_alone() {
        let mut other = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let mut tree = Tree::planned().with_grace(Duration::from_millis(50)).with_head(other.id());
        assert!(tree.runs());
        tree.started = tree.started.map(|ticks| ticks + 1);
        assert!(!tree.runs());
        assert!(tree.end().is_gone && other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
