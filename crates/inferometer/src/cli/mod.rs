//! The command line: one file per command, each from its flags to one call of a library.

pub mod aliases;
mod arrival_args;
pub mod audit;
pub mod capacity;
pub mod compare;
pub mod conform;
pub mod demo;
mod ending_args;
pub mod export;
pub mod gate;
pub mod import;
pub mod levels;
pub mod limit;
pub mod load_args;
mod measured;
pub mod pacing_args;
pub mod probe;
pub mod rank;
mod repeats;
pub mod report;
pub mod resolve;
pub mod run;
pub mod runs;
pub mod schema;
pub mod serve;
mod sides;
pub mod sweep;
mod telemetry_args;
pub mod ui;
pub mod workload;
pub mod workload_args;

use crate::exit::{Code, Failure};
use clap::{Parser, Subcommand};

/// Benchmark LLM servers and believe the numbers.
///
/// Without a command: starts the embedded engine as a server, measures it at 1, 2, 4 and 8 users,
/// and prints what it found. Needs no GPU, no server and no network.
#[derive(Debug, Parser)]
#[command(name = "inferometer", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure the embedded engine: needs nothing (this is also what no command does)
    Demo(demo::DemoArgs),
    /// Measure a server at one load
    #[command(after_help = run::SHAPES)]
    Run(run::RunArgs),
    /// Measure a server at several loads, in one table
    Sweep(sweep::SweepArgs),
    /// Find the highest load that meets a latency target: on a server, or in results
    Capacity(capacity::CapacityArgs),
    /// Tell what a server is and can do, in some seconds
    Probe(probe::ProbeArgs),
    /// Offer the embedded engine as an OpenAI-compatible server
    Serve(serve::ServeArgs),
    /// Show what a workload would send, or list workloads; sends nothing
    Workload(workload::WorkloadCommand),
    /// Compare results with a baseline: what differs, and how sure that is
    Compare(compare::CompareArgs),
    /// Rank results by a metric, with shared ranks where no difference is shown
    Rank(rank::RankArgs),
    /// Check a result against thresholds; the exit code says whether it passes
    Gate(gate::GateArgs),
    /// Read results of other tools: files, folders, printed text
    Import(import::ImportArgs),
    /// Write results in the files of other tools, by their definitions
    Export(export::ExportArgs),
    /// Tell what in results cannot be right, is noise, or does not follow
    Audit(audit::AuditArgs),
    /// Put any client through streams with a known answer, and count what it gets right
    Conform(conform::ConformArgs),
    /// Tell what a machine and a model can do at most, by bandwidth and arithmetic alone
    Limit(limit::LimitArgs),
    /// Show the run store as a web page of this machine: list, compare, watch, import
    Ui(ui::UiArgs),
    /// List, show, name, tag, seal or remove stored runs
    Runs(runs::RunsArgs),
    /// Write a stored run as a document: HTML, Markdown, JSON, CSV, SVG, PNG, or vLLM's block
    Report(report::ReportArgs),
    /// Print the JSON Schema of a format that this program writes, or list them
    Schema(schema::SchemaArgs),
}

/// Runs the command that the words ask for.
///
/// # Errors
/// What the user has to know.
pub fn dispatch(cli: Cli, words: &[String]) -> Result<Code, Failure> {
    match cli.verb.unwrap_or_else(|| Verb::Demo(demo::DemoArgs::default())) {
        Verb::Demo(args) => demo::run(&args, words),
        Verb::Run(args) => run::run(&args, words),
        Verb::Sweep(args) => sweep::run(&args, words),
        Verb::Capacity(args) => capacity::run(&args, words),
        Verb::Probe(args) => probe::run(&args),
        Verb::Serve(args) => serve::run(&args),
        Verb::Workload(args) => workload::run(&args),
        Verb::Compare(args) => compare::run(&args),
        Verb::Rank(args) => rank::run(&args),
        Verb::Gate(args) => gate::run(&args, words),
        Verb::Import(args) => import::run(&args),
        Verb::Export(args) => export::run(&args),
        Verb::Audit(args) => audit::run(&args),
        Verb::Conform(args) => conform::run(&args),
        Verb::Limit(args) => limit::run(&args),
        Verb::Ui(args) => ui::run(&args),
        Verb::Runs(args) => runs::run(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Schema(args) => schema::run(&args),
    }
}
