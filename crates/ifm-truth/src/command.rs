//! The servers and the reference clients as commands, for a process of their own.
//!
//! A benchmark needs server and client on separate processors, so a developer tool starts
//! this in a child process. The first line a server writes is `listening ADDRESS`. The arguments
//! are read here and nowhere else; nothing is printed but to the writer that the caller gives.

use crate::drain::{Depth, DrainOptions, DrainReport, drain};
use crate::paced::{Pace, PaceError, PacedOptions, run_paced};
use crate::scripted::{Scripted, ScriptedOptions};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::sync::mpsc;
use std::time::Duration;
use thiserror::Error;

/// What can be asked for.
pub const USAGE: &str = "\
commands:
  cases                     list the suite
  scripted                  play the suite: base URL http://ADDRESS/case/NAME/v1
  paced                     stream tokens to many connections: base URL http://ADDRESS/v1
  drain --address ADDRESS   load a paced server with the simplest client and say what it cost
servers:
  --port N                  port on 127.0.0.1, 0 picks one (0)
  --cpu N                   tie the server to a processor
  --seconds N               stop after N seconds (600)
  --until-stdin-closes      stop when standard input ends
  --log FILE                write what happened, one JSON object per request and line
  --pace SETTINGS           paced: ttft_ms=200,itl_ms=20,coalesce=true,burst=1,usage=true
  --tokens N                paced: tokens of requests that ask for no number (16)
  --connections-max N       most connections at a time
  --rest-us N               paced: look for requests and due tokens only this often, which leaves
                            the host's processors free; tokens go out up to so much later
  --read-kb-s N             paced: bytes read of each connection in a second, in kB
  --stations N              paced: answers that are served at a time, the others in a queue
drain:
  --connections N (64)  --requests N per connection (1)  --tokens N (256)
  --prompt-bytes N (200)  --read-bytes N (65536)  --pace SETTINGS  --cpu N
  --parse                   find and stamp the end of every event";

/// Why a command did not do what it was asked for.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is no such command.
    #[error("unknown command: {0}; hint: cases, scripted, paced or drain")]
    UnknownCommand(String),
    /// The command has no such flag, or the flag lacks its value.
    #[error("unknown flag or missing value: {0}")]
    UnknownFlag(String),
    /// A flag's value cannot be understood.
    #[error("bad value of {flag}: {value}")]
    BadValue {
        /// The flag.
        flag: String,
        /// The value.
        value: String,
    },
    /// A pace cannot be understood.
    #[error(transparent)]
    Pace(#[from] PaceError),
    /// The kernel refused something: a port, a file, a connection.
    #[error("{what} failed: {source}")]
    Host {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

fn host(what: &'static str) -> impl Fn(io::Error) -> CommandError {
    move |source| CommandError::Host { what, source }
}

/// Flags without a value.
const SWITCHES: [&str; 2] = ["--until-stdin-closes", "--parse"];

/// Flags as given.
#[derive(Debug)]
struct Flags(BTreeMap<String, String>);

impl Flags {
    fn read(mut args: impl Iterator<Item = String>, known: &[&str]) -> Result<Flags, CommandError> {
        let mut flags = BTreeMap::new();
        while let Some(flag) = args.next() {
            let value = match known.contains(&flag.as_str()) {
                true if SWITCHES.contains(&flag.as_str()) => Some(String::new()),
                true => args.next(),
                false => None,
            };
            match value {
                Some(value) => flags.insert(flag, value),
                None => return Err(CommandError::UnknownFlag(flag)),
            };
        }
        Ok(Flags(flags))
    }

    fn text(&self, flag: &str) -> Option<&str> {
        self.0.get(flag).map(String::as_str)
    }

    fn has(&self, flag: &str) -> bool {
        self.0.contains_key(flag)
    }

    /// The value of a flag, if it was given.
    fn value<T: std::str::FromStr>(&self, flag: &str) -> Result<Option<T>, CommandError> {
        let parse = |value: &str| {
            value.parse().map_err(|_| CommandError::BadValue {
                flag: flag.to_owned(),
                value: value.to_owned(),
            })
        };
        self.text(flag).map(parse).transpose()
    }

    /// Gives a setting the value of a flag, if it was given.
    fn set<T: std::str::FromStr>(&self, flag: &str, to: &mut T) -> Result<(), CommandError> {
        if let Some(value) = self.value(flag)? {
            *to = value;
        }
        Ok(())
    }
}

/// Runs one command. `args` begins with the command's name; `out` gets what there is to say.
///
/// # Errors
/// See [`CommandError`].
pub fn main_from_args(
    mut args: impl Iterator<Item = String>,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let command = args.next().unwrap_or_default();
    match command.as_str() {
        "cases" => list(Flags::read(args, &[])?, out),
        "scripted" => scripted(args, out),
        "paced" => paced(args, out),
        "drain" => run_drain(args, out),
        "help" | "--help" | "-h" => writeln!(out, "{USAGE}").map_err(host("writing")),
        _ => Err(CommandError::UnknownCommand(command)),
    }
}

fn list(_no_flags: Flags, out: &mut dyn Write) -> Result<(), CommandError> {
    for case in crate::cases::suite() {
        let (class, outcome) = (case.class.word(), case.truth.outcome.word());
        writeln!(out, "{class:9} {:29} {outcome:20} {}", case.name, case.what)
            .map_err(host("writing"))?;
    }
    Ok(())
}

/// Says where the server listens, and waits until it shall stop.
fn wait(
    flags: &Flags,
    address: impl std::fmt::Display,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    writeln!(out, "listening {address}").and_then(|()| out.flush()).map_err(host("writing"))?;
    let seconds = flags.value("--seconds")?.unwrap_or(600);
    let (ended, end) = mpsc::channel::<()>();
    if flags.has("--until-stdin-closes") {
        // The thread ends with standard input, at the latest with the process.
        std::thread::spawn(move || {
            let mut buffer = [0; 256];
            while io::stdin().read(&mut buffer).is_ok_and(|count| count > 0) {}
            drop(ended);
        });
        end.recv_timeout(Duration::from_secs(seconds)).ok();
    } else {
        std::thread::sleep(Duration::from_secs(seconds));
    }
    Ok(())
}

/// The log file that was asked for, if one was. It is made before the server starts.
fn log_file(flags: &Flags) -> Result<Option<BufWriter<File>>, CommandError> {
    let open = |path: &str| File::create(path).map(BufWriter::new);
    flags.text("--log").map(open).transpose().map_err(host("making the log file"))
}

fn scripted(args: impl Iterator<Item = String>, out: &mut dyn Write) -> Result<(), CommandError> {
    let known =
        ["--port", "--cpu", "--seconds", "--until-stdin-closes", "--log", "--connections-max"];
    let flags = Flags::read(args, &known)?;
    let mut options = ScriptedOptions::for_tests();
    flags.set("--port", &mut options.port)?;
    flags.set("--connections-max", &mut options.connections_max)?;
    options.cpu = flags.value("--cpu")?;
    let mut log = log_file(&flags)?;
    let server =
        Scripted::start(crate::cases::suite(), options).map_err(host("starting the server"))?;
    wait(&flags, server.address(), out)?;
    if let Some(log) = &mut log {
        server.write_jsonl(log).and_then(|()| log.flush()).map_err(host("writing the log"))?;
    }
    Ok(())
}

fn paced(args: impl Iterator<Item = String>, out: &mut dyn Write) -> Result<(), CommandError> {
    let known = [
        "--port",
        "--cpu",
        "--seconds",
        "--until-stdin-closes",
        "--log",
        "--connections-max",
        "--pace",
        "--tokens",
        "--stations",
        "--rest-us",
        "--read-kb-s",
    ];
    let flags = Flags::read(args, &known)?;
    let pace = Pace { ttft_ns: 0, itl_ns: 0, coalesce: false, burst: 1, usage: true };
    let pace = pace.changed_by(flags.text("--pace").unwrap_or_default())?;
    let mut options = PacedOptions::for_benchmarks(pace);
    flags.set("--port", &mut options.port)?;
    flags.set("--tokens", &mut options.tokens)?;
    flags.set("--connections-max", &mut options.connections_max)?;
    options.stations = flags.value("--stations")?;
    options.rest_ns = flags.value::<u32>("--rest-us")?.map(|rest_us| u64::from(rest_us) * 1_000);
    options.read_bytes_per_s = flags.value::<u32>("--read-kb-s")?.map(|kb| u64::from(kb) * 1_000);
    options.cpu = flags.value("--cpu")?;
    let mut log_out = log_file(&flags)?;
    // Where the limit cannot be raised, further connections are refused and counted.
    ifm_sys::host::raise_open_files();
    let server = run_paced(options).map_err(host("starting the server"))?;
    wait(&flags, server.address(), out)?;
    let log = server.stop();
    if let Some(file) = &mut log_out {
        log.write_jsonl(file).and_then(|()| file.flush()).map_err(host("writing the log"))?;
    }
    let summary = serde_json::json!({
        "requests": log.served.len(),
        "tokens": log.served.iter().map(|served| u64::from(served.tokens)).sum::<u64>(),
        "cpu_ns": log.cpu_ns,
        "connections_refused": log.connections_refused,
        "requests_refused": log.requests_refused,
    });
    writeln!(out, "{summary}").map_err(host("writing"))
}

fn run_drain(args: impl Iterator<Item = String>, out: &mut dyn Write) -> Result<(), CommandError> {
    let known = [
        "--address",
        "--cpu",
        "--connections",
        "--requests",
        "--tokens",
        "--prompt-bytes",
        "--read-bytes",
        "--pace",
        "--parse",
    ];
    let flags = Flags::read(args, &known)?;
    let Some(address) = flags.value("--address")? else {
        return Err(CommandError::UnknownFlag("--address".to_owned()));
    };
    let depth = if flags.has("--parse") { Depth::Parse } else { Depth::Drain };
    let mut options = DrainOptions::new(address, depth);
    flags.set("--connections", &mut options.connections)?;
    flags.set("--requests", &mut options.requests)?;
    flags.set("--tokens", &mut options.tokens)?;
    flags.set("--prompt-bytes", &mut options.prompt_bytes)?;
    flags.set("--read-bytes", &mut options.read_bytes)?;
    options.cpu = flags.value("--cpu")?;
    if let Some(pace) = flags.text("--pace") {
        options.path = format!("/pace/{pace}{}", options.path);
    }
    ifm_sys::host::raise_open_files();
    let report = drain(&options).map_err(host("draining"))?;
    writeln!(out, "{}", report_json(&report)).map_err(host("writing"))
}

fn report_json(report: &DrainReport) -> serde_json::Value {
    serde_json::json!({
        "requests": report.requests,
        "tokens": report.tokens,
        "events": report.events,
        "bytes": report.bytes,
        "reads": report.reads,
        "stamped_reads": report.stamped_reads,
        "wall_ns": report.wall_ns,
        "cpu_ns": report.cpu_ns,
        "tokens_per_s": report.tokens_per_s(),
        "cpu_s_per_million_tokens": report.cpu_s_per_million_tokens(),
        "tokens_per_read": report.tokens_per_read(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(args: &str) -> Result<String, CommandError> {
        let mut out = Vec::new();
        main_from_args(args.split_whitespace().map(str::to_owned), &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_suite_is_listed_and_nonsense_is_named() {
        assert_eq!(run("cases").unwrap().lines().count(), crate::cases::suite().len());
        assert!(run("--help").unwrap().contains("--until-stdin-closes"));
        for (args, part) in [
            ("", "unknown command"),
            ("serve", "unknown command: serve"),
            ("paced --speed 3", "--speed"),
            ("paced --port", "--port"),
            ("paced --port x", "bad value of --port: x"),
            ("paced --pace ttft=1", "unknown pace setting: ttft"),
            ("drain --parse", "--address"),
        ] {
            let message = run(args).unwrap_err().to_string();
            assert!(message.contains(part), "{args}: {message}");
        }
    }

    #[test]
    fn a_server_says_where_it_listens_and_a_client_what_it_cost() {
        let listening = run("paced --seconds 0 --cpu 0").unwrap();
        let (first, summary) = listening.split_once('\n').unwrap();
        assert!(first.starts_with("listening 127.0.0.1:"));
        assert!(summary.starts_with('{') && summary.contains("\"requests\":0"));
        assert!(run("scripted --seconds 0").unwrap().starts_with("listening 127.0.0.1:"));
        let pace = Pace { ttft_ns: 0, itl_ns: 0, coalesce: true, burst: 1, usage: true };
        let server = run_paced(PacedOptions::for_benchmarks(pace)).unwrap();
        let args = format!("drain --address {} --parse --connections 2", server.address());
        let report: serde_json::Value = serde_json::from_str(&run(&args).unwrap()).unwrap();
        assert_eq!(report["tokens"], 512);
    }
}
