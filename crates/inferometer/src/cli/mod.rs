//! The command line: one file per command, each from its flags to one call of a library.

pub mod args;
pub mod audit;
pub mod calibrate;
pub mod capacity;
mod capacity_of_results;
pub mod compare;
pub mod compat;
pub mod conform;
pub mod demo;
mod doctor;
pub mod engine;
pub mod exec;
pub mod export;
mod export_sessions;
pub mod facts;
pub mod gate;
mod growing_document;
mod guard;
pub mod help;
pub mod history;
mod id_list;
pub mod import;
pub mod kernel;
pub mod limit;
pub mod plan;
mod plan_report;
pub mod predict;
pub mod probe;
pub mod project;
pub mod rank;
pub mod report;
mod rerun;
pub mod run;
mod run_list;
pub mod runs;
pub mod schema;
pub mod serve;
mod serve_simulated;
mod sides;
pub mod sweep;
pub mod ui;
pub mod workload;

use crate::exit::{Code, Failure};
use clap::{Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

/// Benchmark LLM servers with numbers you can trust.
#[derive(Debug, Parser)]
#[command(name = "inferometer", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// The flags of a command as a program of its own, so that defaults are read in one place.
#[derive(Debug, Parser)]
struct Alone<T: Args> {
    #[command(flatten)]
    args: T,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure the embedded engine; needs no server and no GPU
    Demo(demo::DemoArgs),
    /// Measure a server at one load
    #[command(after_help = run::SHAPES)]
    Run(run::RunArgs),
    /// Measure a server at several loads, in one table
    Sweep(sweep::SweepArgs),
    /// Find the highest load that meets a latency target
    Capacity(capacity::CapacityArgs),
    /// Run an experiment of many cells from one file
    Plan(plan::PlanCommand),
    /// Predict performance without the hardware or the server
    Predict(Box<predict::PredictArgs>),
    /// Calibrate predictions against a real server
    Calibrate(Box<calibrate::CalibrateArgs>),
    /// Identify a server and its features in a few seconds
    Probe(probe::ProbeArgs),
    /// Repeat a stored run, with flags changed
    Rerun(rerun::RerunArgs),
    /// Serve the embedded engine or a simulated server
    #[command(after_help = serve::SIMULATED)]
    Serve(serve::ServeArgs),
    /// Run a simulated server with OpenAI's API; nothing is computed
    #[command(hide = true, name = serve_simulated::VERB, override_usage = serve_simulated::USAGE)]
    ServeSimulated(Box<serve_simulated::ServeSimulatedArgs>),
    /// Preview what a workload would send, or list workloads
    Workload(workload::WorkloadCommand),
    /// Compare results with a baseline, with intervals
    Compare(compare::CompareArgs),
    /// Rank results by a metric; ties have no proven difference
    Rank(rank::RankArgs),
    /// Check a result against thresholds, for CI
    Gate(gate::GateArgs),
    /// Run a command line of vllm bench serve, guidellm, …
    As(compat::AsArgs),
    /// Dry run of `as`, with differences in definition
    Translate(compat::TranslateArgs),
    /// Show how stored runs changed over time
    History(history::HistoryArgs),
    /// Import results of other tools: files and printed text
    Import(import::ImportArgs),
    /// Write results in other tools' formats, or send them
    Export(export::ExportArgs),
    /// Check results for errors, noise and unsupported claims
    Audit(audit::AuditArgs),
    /// Test a client against streams with known answers
    Conform(conform::ConformArgs),
    /// Show the facts of this machine that results record
    Facts(facts::FactsArgs),
    /// Check what on this machine distorts measurements
    Doctor(doctor::DoctorArgs),
    /// Compute the upper bounds of a model's speed on a machine
    Limit(limit::LimitArgs),
    /// Measure an engine without a server, as llama-bench does
    Engine(Box<engine::EngineArgs>),
    /// Measure kernels: attention, products, bandwidth
    Kernel(Box<kernel::KernelCommand>),
    /// Measure any command: time, memory, energy, rates
    Exec(exec::ExecArgs),
    /// Open the run store as a local web page
    Ui(ui::UiArgs),
    /// List, show, rename, tag, seal or remove stored runs
    Runs(runs::RunsArgs),
    /// Write a report: HTML, Markdown, JSON, CSV, SVG or PNG
    Report(report::ReportArgs),
    /// Print the JSON Schema of an output format, or list them
    Schema(schema::SchemaArgs),
    /// Print a shell completion script
    Completions(help::completions::CompletionsArgs),
    /// Show a manual page, or write all pages to a folder
    Man(help::manual::ManArgs),
    /// Print completions for the word at the cursor
    #[command(hide = true)]
    Complete(help::completions::CompleteArgs),
    /// Undo the setup of a process that died; started by inferometer
    #[command(hide = true)]
    Guard,
    /// Run the engine or the kernels as a worker; started by inferometer
    #[command(hide = true)]
    Worker {
        #[arg(value_parser = ["kernels"])]
        what: Option<String>,
    },
}

/// The command line as parsed and as shown in its help.
pub fn command() -> Command {
    help::command_groups::apply(help::long_help::apply(help::short_help::apply(Cli::command())))
}

/// Parses the words of a command line, program name first, without a project file.
///
/// # Errors
/// An invalid command line, and requests for help and version.
#[cfg(test)]
pub fn parse(words: &[String]) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command().try_get_matches_from(words)?)
}

/// A parsed command line, with what the project file adds to it.
pub struct Read {
    /// The requested command.
    pub cli: Cli,
    /// Its words, program name first.
    pub words: Vec<String>,
}

/// Parses the words that the program was started with.
///
/// # Errors
/// Invalid words or an invalid project file, and requests for help and version.
pub fn read(words: &[String]) -> Result<Read, Refused> {
    let parsed = serve::told_apart(engine::spelled_out(compat::spelled_out(words.to_vec())));
    read_as(words, parsed, &[])
}

/// The same for words that are parsed in another form. If `only` names keys, only these keys of the project file
/// are used.
///
/// # Errors
/// As [`read`].
pub fn read_as(words: &[String], parsed: Vec<String>, only: &[&str]) -> Result<Read, Refused> {
    let project::Line { words, matches, settings } = project::read(words, parsed, only)?;
    let cli = Cli::from_arg_matches(&matches)?;
    if project::is_quiet(&matches) {
        crate::terminal::be_quiet();
    }
    if project::has_switch(&matches, "ascii") {
        crate::terminal::be_ascii();
    }
    crate::job::call_settings::keep(settings);
    Ok(Read { cli, words })
}

pub use help::mistakes::explained;
pub use project::Refused;

/// Runs the requested command, and returns the exit code: inferometer's own, or that of a measured
/// command.
///
/// # Errors
/// The error to report to the user.
pub fn dispatch(cli: Cli, words: &[String]) -> Result<u8, Failure> {
    let Some(verb) = cli.verb else {
        // As `-h` does, clap decides whether the terminal gets styles.
        if command().print_help().is_err() {
            crate::terminal::print(&command().render_help().to_string());
        }
        return Ok(Code::Done as u8);
    };
    let code = match verb {
        Verb::Demo(args) => demo::run(&args, words),
        Verb::Run(args) => run::run(&args, words),
        Verb::Sweep(args) => sweep::run(&args, words),
        Verb::Capacity(args) => capacity::run(&args, words),
        Verb::Plan(args) => plan::run(&args),
        Verb::Predict(args) => predict::run(&args, words),
        Verb::Calibrate(args) => calibrate::run(&args),
        Verb::Probe(args) => probe::run(&args),
        Verb::Serve(args) => serve::run(&args),
        Verb::ServeSimulated(args) => serve_simulated::run(&args),
        Verb::Workload(args) => workload::run(&args),
        Verb::Compare(args) => compare::run(&args, words),
        Verb::Rank(args) => rank::run(&args, words),
        Verb::Gate(args) => gate::run(&args, words),
        Verb::As(args) => return compat::run(&args),
        Verb::Translate(args) => compat::translate(&args),
        Verb::History(args) => history::run(&args),
        Verb::Import(args) => import::run(&args),
        Verb::Export(args) => export::run(&args),
        Verb::Audit(args) => audit::run(&args, words),
        Verb::Conform(args) => conform::run(&args),
        Verb::Facts(args) => facts::run(&args),
        Verb::Doctor(args) => doctor::run(&args),
        Verb::Limit(args) => limit::run(&args, words),
        Verb::Ui(args) => ui::run(&args),
        Verb::Runs(args) => runs::run(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Schema(args) => schema::run(&args),
        Verb::Completions(args) => Ok(help::completions::run(&args)),
        Verb::Man(args) => help::manual::run(&args),
        Verb::Complete(args) => help::completions::complete(&args),
        Verb::Guard => guard::run(),
        Verb::Engine(args) => engine::run(&args),
        Verb::Kernel(command) => kernel::run(&command),
        Verb::Worker { what } => {
            let print = |answer: &str| {
                crate::terminal::print(answer);
            };
            match what {
                None => ifm_bench::engine::serve_worker(print),
                Some(_) => ifm_bench::kernel::serve_worker(print),
            }
            Ok(Code::Done)
        }
        Verb::Exec(args) => return exec::run(&args),
        Verb::Rerun(args) => return rerun::run(&args),
    }?;
    Ok(code as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Lines of a terminal of usual height, minus its prompt.
    const SCREEN_LINES: usize = 40;

    /// Commands that print no results: they write a file, run a server, or print a sentence.
    const WITHOUT_DOCUMENT: [&str; 17] = [
        "as",
        "complete",
        "completions",
        "export",
        "guard",
        "man",
        "plan init",
        "rerun",
        "runs rename",
        "runs restore",
        "runs rm",
        "runs seal",
        "runs tag",
        "serve",
        "serve-simulated",
        "ui",
        "worker",
    ];

    /// Every command with its words, subcommands included.
    fn commands() -> Vec<(String, Command)> {
        fn below(path: &str, command: &Command, all: &mut Vec<(String, Command)>) {
            for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
                let path = format!("{path} {}", sub.get_name()).trim().to_owned();
                below(&path, sub, all);
                all.push((path, sub.clone()));
            }
        }
        let mut all = Vec::new();
        let mut program = command().term_width(100);
        program.build();
        below("", &program, &mut all);
        all.push((String::new(), program));
        all
    }

    fn has(command: &Command, long: &str) -> bool {
        command.get_arguments().any(|arg| arg.get_long() == Some(long))
    }

    #[test]
    fn short_help_fits_on_a_screen() {
        for (path, mut command) in commands() {
            let help = command.render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= SCREEN_LINES, "{path} -h has {lines} lines:\n{help}");
            let widest = help.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(100), "{path} -h is too wide:\n{help}");
        }
    }

    #[test]
    fn the_flags_of_every_day_are_flags() {
        for (name, shown) in help::short_help::EVERYDAY {
            let (_, command) = commands().into_iter().find(|(path, _)| path == name).expect(name);
            for id in *shown {
                let arg = command.get_arguments().find(|arg| arg.get_id() == *id);
                assert!(arg.is_some_and(|arg| !arg.is_hide_set()), "{name}: {id}");
            }
        }
    }

    #[test]
    fn examples_are_command_lines() {
        for (name, examples) in help::short_help::EXAMPLES {
            for example in *examples {
                let line = example.split(" < ").next().expect("a command");
                let words = line.split_whitespace().map(|word| word.trim_matches('\''));
                let words: Vec<String> =
                    ["inferometer"].into_iter().chain(words).map(str::to_owned).collect();
                assert_eq!(words[1], *name);
                assert!(parse(&words).is_ok(), "{example}: {}", parse(&words).unwrap_err());
            }
        }
    }

    #[test]
    fn json_means_the_same_everywhere_and_has_a_schema() {
        let described = schema::described();
        let mut with_json = BTreeSet::new();
        for (path, command) in commands() {
            // A group of commands prints nothing itself, except `runs`.
            let is_group = command.has_subcommands() && !has(&command, "json");
            if is_group || WITHOUT_DOCUMENT.contains(&path.as_str()) {
                assert!(!has(&command, "json"), "{path}");
                continue;
            }
            let json = command.get_arguments().find(|arg| arg.get_long() == Some("json"));
            let json = json.unwrap_or_else(|| panic!("{path} has no --json"));
            let help = json.get_help().expect("help").to_string();
            assert!(
                help.contains("JSON document on standard output")
                    || help.starts_with("The same as --format json"),
                "{path} --json: {help}"
            );
            with_json.insert(path);
        }
        for path in &with_json {
            assert!(described.contains(path.as_str()), "{path} --json has no schema");
        }
        for path in described {
            let command = path.split(" --").next().expect("a command");
            assert!(with_json.contains(command), "the schema of {path}");
        }
    }

    #[test]
    fn words_that_begin_a_list_are_enough() {
        let parsed = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            parse(&words)
        };
        assert!(parsed("inferometer runs").is_ok());
        assert!(parsed("inferometer runs --json").is_ok());
        assert!(parsed("inferometer").is_ok());
        assert!(parsed("inferometer nothing").is_err());
    }
}
