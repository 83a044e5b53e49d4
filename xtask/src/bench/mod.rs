//! `cargo xtask bench`: what the client costs, and how far its times are from the truth.
//!
//! Each benchmark runs the released binary on one processor against the paced server of
//! `ifm-truth` on another one, and holds what the client stored against what the server logged.
//! Both stamp on the same monotonic clock. The simplest possible client (`drain --parse`: read,
//! find and stamp every event, nothing else) runs in turn with it in the same session, because on
//! a shared machine only a ratio to such a limit means something from one day to the next.
//!
//! One file per benchmark, one line in [`BENCHMARKS`]. A benchmark is not a test: it asserts nothing
//! about time, it prints. What can be asserted without a clock (no allocation per event, equal
//! results for every split of the bytes) is tested in the crates themselves.

mod capacity;
mod ceiling;
mod child;
mod claims;
mod error;
mod lab;
mod long_prompts;
mod memory;
mod open_loop;
mod pair;
mod report;
mod runs_last;
mod short_search;
mod simulated;
mod simulation;
mod start_up;
mod statistics;
mod table;
mod timing;
mod upload;

use anyhow::{Context as _, Result, bail, ensure};
use lab::Lab;
use std::{fs, io::Write, path::PathBuf, process::ExitCode};
use table::Table;

/// What runs a benchmark: it says a line now and then, and gives its tables.
type Run = fn(&Lab, &mut dyn FnMut(&str)) -> Result<Vec<Table>>;

/// One benchmark: its name, what it shows, and what runs it.
struct Benchmark {
    name: &'static str,
    what: &'static str,
    run: Run,
}

/// Every benchmark, in the order in which they run. To add one, add its file and a line.
const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "ceiling",
        what: "token events per second and CPU per token, as fast as the server can",
        run: ceiling::run,
    },
    Benchmark {
        name: "timing",
        what: "error of TTFT, E2E and ITL at 1 to 1,024 paced streams",
        run: timing::run,
    },
    Benchmark {
        name: "long-prompts",
        what: "error of TTFT and memory with prompts of 50,000 tokens",
        run: long_prompts::run,
    },
    Benchmark {
        name: "upload",
        what: "when the last byte of a long request had arrived, and what sending it costs",
        run: upload::run,
    },
    Benchmark {
        name: "start-up",
        what: "from starting the process to its first request",
        run: start_up::run,
    },
    Benchmark {
        name: "open-loop",
        what: "arrivals at the server against the schedule, up to 5,000 requests per second",
        run: open_loop::plain,
    },
    Benchmark {
        name: "open-loop-precise",
        what: "the same with the flag --precise",
        run: open_loop::precise,
    },
    Benchmark {
        name: "capacity",
        what: "the search for the capacity: its shortest form against the longest, and known queues",
        run: capacity::run,
    },
    Benchmark {
        name: "claims",
        what: "false and missed statements of each command on results whose truth is known",
        run: claims::run,
    },
    Benchmark {
        name: "runs-last",
        what: "what a thread that runs last leaves of a processor to others",
        run: runs_last::run,
    },
    Benchmark {
        name: "report",
        what: "time and size of a report of up to 100 levels of 10,000 requests",
        run: report::run,
    },
    Benchmark {
        name: "simulation",
        what: "steps per second and memory of a server in virtual time",
        run: simulation::run,
    },
    Benchmark {
        name: "simulated",
        what: "what a simulated server says of its requests, and what is measured of them",
        run: simulated::run,
    },
    Benchmark { name: "memory", what: "peak memory at 1,000 streams", run: memory::run },
];

/// Repeats of each measurement unless asked otherwise.
const REPEATS: usize = 3;
/// Most repeats.
const REPEATS_MAX: usize = 100;

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    /// Names of benchmarks; empty for all.
    names: Vec<String>,
    repeats: usize,
    binary: Option<PathBuf>,
    /// Processors of the server and of the client.
    cpus: Option<(usize, usize)>,
    markdown: Option<PathBuf>,
}

/// Runs the benchmarks that the arguments name, or all.
///
/// # Errors
/// When an argument makes no sense, a binary is missing, the machine has only one processor, or a
/// run fails.
pub fn run(arguments: Vec<String>, out: &mut dyn Write) -> Result<ExitCode> {
    if arguments.first().is_some_and(|first| first == child::MEASURE) {
        return child::measure(&arguments[1..], out);
    }
    if arguments.first().is_some_and(|first| first == simulation::SIMULATE) {
        return simulation::simulate(&arguments[1..], out);
    }
    if arguments.iter().any(|argument| matches!(argument.as_str(), "help" | "--help" | "-h")) {
        write!(out, "{}", usage())?;
        return Ok(ExitCode::SUCCESS);
    }
    let request = parse(arguments)?;
    let lab = Lab::new(request.repeats, request.binary, request.cpus)?;
    let mut page = lab.describe();
    writeln!(out, "{page}")?;
    for benchmark in BENCHMARKS {
        if !request.names.is_empty() && !request.names.iter().any(|name| name == benchmark.name) {
            continue;
        }
        let mut say = |line: &str| {
            // What has been measured so far is shown while the rest is on its way.
            let _ = writeln!(std::io::stderr(), "{}: {line}", benchmark.name);
        };
        let tables = (benchmark.run)(&lab, &mut say)
            .with_context(|| format!("the benchmark {} failed", benchmark.name))?;
        for table in tables {
            let text = table.to_markdown();
            writeln!(out, "{text}")?;
            page.push('\n');
            page.push_str(&text);
        }
    }
    let load = lab::load_line("at the end");
    writeln!(out, "{load}")?;
    page.push_str(&format!("\n{load}\n"));
    if let Some(path) = request.markdown {
        fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn usage() -> String {
    let mut text = String::from("Usage: cargo xtask bench [NAME...] [FLAGS]\n\nBenchmarks:\n");
    for benchmark in BENCHMARKS {
        text.push_str(&format!("  {:17}  {}\n", benchmark.name, benchmark.what));
    }
    text.push_str(&format!(
        "\nFlags:\n  \
         --repeats N            runs of each measurement; medians are shown ({REPEATS})\n  \
         --binary FILE          the client (the release build of inferometer)\n  \
         --cpus SERVER,CLIENT   processors (the first two that are allowed)\n  \
         --markdown FILE        also write the tables to a file\n"
    ));
    text
}

fn parse(arguments: Vec<String>) -> Result<Request> {
    let mut request = Request { repeats: REPEATS, ..Request::default() };
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            let text = format!("{argument} needs a value; see cargo xtask bench --help");
            arguments.next().context(text)
        };
        match argument.as_str() {
            "--repeats" => {
                let text = value()?;
                let repeats = text.parse().ok().filter(|count| (1..=REPEATS_MAX).contains(count));
                let text = format!("--repeats {text} is not a number from 1 to {REPEATS_MAX}");
                request.repeats = repeats.context(text)?;
            }
            "--binary" => request.binary = Some(value()?.into()),
            "--markdown" => request.markdown = Some(value()?.into()),
            "--cpus" => {
                let text = value()?;
                let pair = text.split_once(',').and_then(|(server, client)| {
                    Some((server.trim().parse().ok()?, client.trim().parse().ok()?))
                });
                let (server, client) = pair.with_context(|| {
                    format!("--cpus {text} is not a pair of processors like 0,1")
                })?;
                ensure!(server != client, "--cpus {text}: server and client need one each");
                request.cpus = Some((server, client));
            }
            name if BENCHMARKS.iter().any(|benchmark| benchmark.name == name) => {
                request.names.push(argument);
            }
            other => bail!("unknown benchmark or flag '{other}'; see cargo xtask bench --help"),
        }
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Request, String> {
        let words = text.split_whitespace().map(str::to_owned).collect();
        parse(words).map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_are_understood_or_named() {
        let all = Request { repeats: REPEATS, ..Request::default() };
        assert_eq!(parsed(""), Ok(all));
        let some = parsed("start-up timing --repeats 5 --cpus 2,3 --markdown x.md --binary b");
        let some = some.unwrap();
        assert_eq!(some.names, ["start-up", "timing"]);
        assert_eq!((some.repeats, some.cpus), (5, Some((2, 3))));
        for (text, part) in [
            ("decode", "'decode'"),
            ("--repeats 0", "--repeats 0"),
            ("--repeats", "needs a value"),
            ("--cpus 1", "--cpus 1"),
            ("--cpus 1,1", "one each"),
        ] {
            let message = parsed(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn help_names_every_benchmark() {
        let mut out = Vec::new();
        run(vec!["--help".to_owned()], &mut out).expect("help needs nothing");
        let text = String::from_utf8(out).expect("text");
        for benchmark in BENCHMARKS {
            assert!(text.contains(&format!("  {} ", benchmark.name)), "{text}");
        }
    }
}
