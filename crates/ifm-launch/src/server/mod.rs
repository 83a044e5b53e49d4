//! Servers that inferometer starts: on a free port, in a group of processes of their own, with their output
//! kept, ended with it however it ends, and waited for until they are ready and warm.
//!
//! One row for each kind in `kind`. Not here: asking a server what it is (`ifm_probe::server`), and what a plan
//! does with it.

mod ask;
mod cold;
mod kind;
mod log;
mod order;
mod ready;

#[cfg(test)]
mod tests;

pub use ask::{Ask, Container};
pub use cold::cool;
pub use kind::Kind;

use crate::guard::{Guard, Held, Undo};
use ifm_bench::process_tree::Tree;
use ifm_core::StartUp;
use ifm_core::manifest::ServerInfo;
use ifm_probe::traced_client::{Caller, Endpoint};
use ifm_probe::url::BaseUrl;
use ifm_terminal::exit::{Code, Failure};
use ifm_terminal::secrets::Secrets;
use log::Log;
use order::Order;
use ready::{Unready, Wait};
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Ports that are tried where another process takes the one that was free.
const PORTS: u32 = 3;
/// How long the last bytes of a log may take.
const LOG: Duration = Duration::from_secs(2);
/// How long a port may take to be free again.
const PORT: Duration = Duration::from_secs(5);
/// How long a server may take to empty its caches; it refuses while a request is under way.
const RESET: Duration = Duration::from_secs(10);

/// A server that we started, ready and warm. It ends when this is dropped.
#[derive(Debug)]
pub struct Launched {
    /// Base URL.
    pub url: String,
    /// The model to ask for.
    pub model: String,
    /// What it says about itself.
    pub info: ServerInfo,
    /// How long it took.
    pub start_up: StartUp,
    /// What was typed, without secrets.
    pub command: Vec<String>,
    /// Its own process; it may have started others.
    pub pid: u32,
    endpoint: BareEndpoint,
    reset: Option<&'static str>,
    process: Running,
}

/// How a server was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// It did not end when it was asked to, and was killed.
    pub was_killed: bool,
    /// None of its processes is left.
    pub is_gone: bool,
    /// Its port can be taken again.
    pub is_port_free: bool,
}

/// What became of a server's caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reset {
    /// They are empty, by this path.
    Done(&'static str),
    /// They are not, for this reason: only different prompts keep runs apart.
    Not(String),
}

/// Where it is, without what must not be printed.
struct BareEndpoint(Endpoint);

impl std::fmt::Debug for BareEndpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.0.url)
    }
}

/// The processes of a server, ready or not.
#[derive(Debug)]
struct Running {
    child: Child,
    tree: Tree,
    log: Log,
    port: u16,
    /// Released in this order: the processes, then the container.
    held: Vec<Held>,
}

/// Starts a server and waits until it is ready and warm.
///
/// # Errors
/// Why it is not: one sentence, with the last line of its log. Nothing of it runs then.
pub fn start(guard: &Guard, ask: &Ask) -> Result<Launched, Failure> {
    let secrets = Arc::new(ask.secrets()?);
    ifm_terminal::streams::hide(&secrets);
    let mut tries = if ask.port.is_some() { 1 } else { PORTS };
    loop {
        tries -= 1;
        let port = match ask.port {
            Some(port) => port,
            None => free_port()?,
        };
        if !is_free(port) {
            // Another process took the port meanwhile: try the next one.
            if tries > 0 {
                continue;
            }
            return Err(Failure::server(format!(
                "{} cannot be started: port {port} is taken",
                ask.kind.name
            ))
            .hint("end what listens there, or name no port for a free one"));
        }
        match attempt(guard, ask, port, &secrets) {
            Err(Attempt { is_port_taken: true, .. }) if tries > 0 => {}
            Err(failed) => return Err(failed.failure),
            Ok(launched) => return Ok(launched),
        }
    }
}

/// Whether a server ended because it does not know its command line: another start ends likewise.
pub fn refuses_command(failure: &Failure) -> bool {
    let sentence = failure.sentence();
    sentence.contains(" exited with code ") && log::is_refusal(sentence)
}

/// Why an attempt failed.
struct Attempt {
    failure: Failure,
    /// Another process took the port meanwhile.
    is_port_taken: bool,
}

impl From<Failure> for Attempt {
    fn from(failure: Failure) -> Attempt {
        Attempt { failure, is_port_taken: false }
    }
}

fn attempt(
    guard: &Guard,
    ask: &Ask,
    port: u16,
    secrets: &Arc<Secrets>,
) -> Result<Launched, Attempt> {
    let tree = Tree::planned().with_grace(ask.grace);
    let order = Order::of(ask, port, &tree.token)?;
    let (url, _) = BaseUrl::parse(&format!("http://127.0.0.1:{port}"))?;
    let endpoint = Endpoint {
        url: url.clone(),
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        tls: None,
        authorization: ask.key()?.map(|key| format!("Bearer {key}")),
        headers: Vec::new(),
        secrets: secrets.clone(),
    };
    let (mut process, start_ns) = Running::start(guard, ask, &order, tree, port, secrets)?;
    let mut start_up = StartUp::default();
    let mut status = None;
    let mut goes_on = || {
        status = process.child.try_wait().ok().flatten();
        status.is_none() && !ask.stop.load(Ordering::Relaxed)
    };
    let mut wait = Wait { ask, endpoint: endpoint.clone(), start_ns, goes_on: &mut goes_on };
    match wait.until_warm(&mut start_up) {
        Ok(inspection) => Ok(Launched {
            url: url.to_string(),
            model: inspection.model,
            info: inspection.info,
            start_up,
            command: order.words.iter().map(|word| secrets.blot(word).into_owned()).collect(),
            pid: process.child.id(),
            endpoint: BareEndpoint(endpoint),
            reset: ask.kind.reset,
            process,
        }),
        Err(unready) => {
            // An answer that broke off may have been its end.
            let status = status.or_else(|| process.child.try_wait().ok().flatten());
            let took_s = ifm_sys::mono_ns().saturating_sub(start_ns) as f64 / 1e9;
            Err(process.failed(ask, &unready, status, took_s))
        }
    }
}

impl Running {
    fn start(
        guard: &Guard,
        ask: &Ask,
        order: &Order,
        tree: Tree,
        port: u16,
        secrets: &Secrets,
    ) -> Result<(Running, u64), Failure> {
        let (log, pipe) = Log::open(&ask.log, secrets.clone())?;
        let program = order.words.first().map_or("", String::as_str);
        let cannot = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::server(format!(
                "{} cannot be started: there is no program \"{program}\"",
                ask.kind.name
            ))
            .hint(ask.kind.install),
            _ => Failure::server(format!("{} cannot be started: {error}", ask.kind.name)),
        };
        let mut held = Vec::new();
        if let Some((program, name)) = &order.container {
            // Usually it has ended with the program that ran it.
            let line = r#""$0" rm --force "$1" >/dev/null 2>&1 || true"#;
            let words = ["sh", "-c", line, program, name].map(str::to_owned).to_vec();
            held.push(guard.hold(Undo::Command { words })?);
        }
        let planned = guard.hold(Undo::EndServer(tree.clone()))?;
        let mut command = Command::new(program);
        command
            .args(order.words.iter().skip(1))
            .envs(order.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(pipe.try_clone().map_err(cannot)?)
            .stderr(pipe)
            // Ctrl-C goes to the terminal's whole group: a server ends when we end it.
            .process_group(0);
        if let Some(folder) = &ask.folder {
            command.current_dir(folder);
        }
        let start_ns = ifm_sys::mono_ns();
        let child = command.spawn().map_err(cannot)?;
        let tree = tree.with_head(child.id());
        held.push(guard.hold(Undo::EndServer(tree.clone()))?);
        planned.forget();
        held.reverse();
        Ok((Running { child, tree, log, port, held }, start_ns))
    }

    /// Ends what has started, and returns why there is no server.
    fn failed(
        mut self,
        ask: &Ask,
        unready: &Unready,
        status: Option<ExitStatus>,
        took_s: f64,
    ) -> Attempt {
        self.end();
        let name = ask.kind.name;
        let sentence = match (unready, status) {
            _ if ask.stop.load(Ordering::Relaxed) => {
                return Failure::new(Code::Interrupted, format!("{name}: stopped at its start"))
                    .into();
            }
            (_, Some(status)) => {
                let how =
                    match (status.code(), std::os::unix::process::ExitStatusExt::signal(&status)) {
                        (Some(code), _) => format!("exited with code {code}"),
                        (None, Some(signal)) => format!("was ended by signal {signal}"),
                        (None, None) => "ended".to_owned(),
                    };
                format!("{name} {how} before it was ready, after {took_s:.1} s")
            }
            (Unready::Late(misses), None) => {
                format!("{name} {misses} within {} s", ask.ready_within.as_secs_f64())
            }
            (Unready::Broken(fault), None) => format!("{name} {fault}"),
            (Unready::Over, None) => format!("{name} ended before it was ready"),
        };
        let refused = status.and_then(|_| self.log.refused_argument());
        let last = refused.or_else(|| self.log.last_line());
        let says = last.as_ref().map(|line| format!("; its log says: {line}")).unwrap_or_default();
        Attempt {
            failure: Failure::server(format!("{sentence}{says}"))
                .hint(format!("all that it wrote is in {}", self.log.path().display())),
            is_port_taken: status.is_some() && self.log.says_port_taken(),
        }
    }

    /// Ends all processes; whether some had to be killed, and whether any is left.
    fn end(&mut self) -> ifm_bench::process_tree::Ended {
        let ended = self.tree.end();
        // The head has ended, or cannot be ended: then it is not waited for.
        if ended.is_gone {
            let _ = self.child.wait();
        }
        self.log.finish(LOG);
        // They find nothing left to do, but for a container.
        self.held.clear();
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.held.is_empty() {
            self.end();
        }
    }
}

impl Launched {
    /// Where its output is kept.
    pub fn log(&self) -> PathBuf {
        self.process.log.path().to_owned()
    }

    /// Whether its process runs; the processes that it started may have ended nevertheless.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.process.child.try_wait(), Ok(None))
    }

    /// The last line of its log that says something, for the sentence about its end.
    pub fn last_line(&self) -> Option<String> {
        self.process.log.last_line()
    }

    /// Empties its caches, where it can.
    pub fn reset_caches(&self) -> Reset {
        let Some(path) = self.reset else {
            return Reset::Not("the server has no way to empty its caches".to_owned());
        };
        let mut caller = Caller::new(self.endpoint.0.clone());
        let until = Instant::now() + RESET;
        loop {
            let reply = caller.post(path, &json!({}), RESET);
            if reply.is_success() {
                return Reset::Done(path);
            }
            // It refuses while a request is under way.
            if reply.status() != Some(400) || Instant::now() > until {
                return Reset::Not(format!("{path}: {}", reply.fault()));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Stops it: asks all of its processes to end, gives them time, kills those that are left.
    pub fn stop(mut self) -> Stopped {
        let ended = self.process.end();
        let until = Instant::now() + PORT;
        while !is_free(self.process.port) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        Stopped {
            was_killed: ended.was_killed,
            is_gone: ended.is_gone,
            is_port_free: is_free(self.process.port),
        }
    }
}

fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let port = listener.and_then(|listener| Ok(listener.local_addr()?.port()));
    port.map_err(|error| Failure::new(Code::Internal, format!("no port is free: {error}")))
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
