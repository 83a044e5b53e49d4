//! `inferometer plan`: an experiment of many cells from one file.

use super::plan_report;
use super::report::{self, ReportArgs};
use crate::cli::args::page::PageArgs;
use crate::cli::args::quiet::QuietArgs;
use crate::cli::id_list::{Entry, List};
use crate::exit::{Code, Failure};
use crate::output::OwnFormats;
use crate::plan::{self, Experiment, Limits, cluster, document::PlanDocument, text};
use crate::session::store_root;
use crate::terminal;
use clap::{Args, Subcommand, ValueEnum};
use ifm_core::duration::seconds;
use ifm_plan::{Fate, Journal, TEMPLATES};
use ifm_report::page::Page;
use ifm_store::Store;
use std::path::PathBuf;

/// The commands of `plan`.
#[derive(Debug, Args)]
pub struct PlanCommand {
    #[command(subcommand)]
    verb: PlanVerb,
}

#[derive(Debug, Subcommand)]
enum PlanVerb {
    /// Write a starter plan, or list the kinds of plans
    Init(InitArgs),
    /// Show a plan's cells, time and cost; starts and sends nothing
    Check(CheckArgs),
    /// Measure the remaining cells of a plan
    Run(RunArgs),
    /// Continue a plan, and retry its failed cells
    Resume(ResumeArgs),
    /// Show the state of each cell, and write the report
    Show(ShowArgs),
    /// Copy a plan's runs from other machines' stores into this one
    Collect(CollectArgs),
}

/// The plan, and where its runs are.
#[derive(Debug, Args)]
struct PlanArgs {
    /// Plan file, or the name of a plan that was run before
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

/// The run store and the output format.
#[derive(Debug, Args)]
struct OutputArgs {
    /// One JSON document on standard output
    #[arg(long)]
    json: bool,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,
}

impl OutputArgs {
    fn open(&self, plan: &std::path::Path) -> Result<Experiment, Failure> {
        Experiment::open(plan, Store::at(store_root(self.store.as_ref())))
    }

    /// Prints the state of a plan.
    fn tell(&self, of: &Experiment, shows_all: bool) -> Result<(), Failure> {
        let journal = of.journal()?;
        match self.json {
            true => terminal::print_document(&PlanDocument::new(of, &journal)),
            false => {
                let text =
                    [text::cells(of, &journal, shows_all), text::costs(of, &journal)].concat();
                terminal::print(&terminal::folded(&text));
            }
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
struct InitArgs {
    /// Kind of plan [default: list the kinds]
    #[arg(value_name = "KIND")]
    kind: Option<String>,

    /// File to write, "-" for standard output [default: KIND.toml]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct CheckArgs {
    #[command(flatten)]
    plan: PlanArgs,

    /// Show the command of each cell, to copy
    #[arg(long)]
    commands: bool,

    /// Show every cell, however many
    #[arg(long, conflicts_with_all = ["commands", "simulate"])]
    all: bool,

    /// Simulate all cells and print their report
    ///
    /// Each server is simulated with its own kind, weight format and limits. Flags after -- replace
    /// these settings and add the machine and the model: -- --gpu l40s --model llama-3.1-8b
    #[arg(long, conflicts_with = "commands")]
    simulate: bool,

    /// Report of the simulation to write [default: text on standard output]
    #[arg(short, long, value_name = "FILE", requires = "simulate")]
    out: Vec<PathBuf>,

    /// Flags for `--simulate`, after `--`, e.g. `-- --gpu l40s`
    #[arg(last = true, value_name = "FLAGS", requires = "simulate")]
    flags: Vec<String>,
}

/// How to use a script for Slurm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SlurmWord {
    /// Write it and submit it with sbatch
    Submit,
    /// Only write it
    Write,
}

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    plan: PlanArgs,

    #[command(flatten)]
    how: HowArgs,

    /// Submit remaining cells as a Slurm array, one task per server start
    #[arg(long, value_enum, conflicts_with_all = ["out", "budget", "json"], num_args = 0..=1, require_equals = true, default_missing_value = "submit", value_name = "HOW")]
    slurm: Option<SlurmWord>,

    /// Write a Kubernetes Indexed Job to this file; "-" for standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["slurm", "out", "budget", "json"])]
    k8s: Option<PathBuf>,

    /// Measure only the cells of this task, from 0; for cluster tasks
    #[arg(long, value_name = "N", conflicts_with_all = ["slurm", "k8s"])]
    task: Option<usize>,
}

#[derive(Debug, Args)]
struct ResumeArgs {
    #[command(flatten)]
    plan: PlanArgs,

    /// Do not retry failed cells
    #[arg(long)]
    skip_failed: bool,

    #[command(flatten)]
    how: HowArgs,
}

/// Settings of one call.
#[derive(Debug, Args)]
struct HowArgs {
    /// Start no cell after this time, instead of the plan's budget
    ///
    /// The time of previous calls counts
    #[arg(long, value_parser = seconds, value_name = "SPAN")]
    budget: Option<f64>,

    /// Report to write at the end: .html, .md, .json, .csv, .svg or .png; repeatable
    #[arg(short, long, value_name = "FILE")]
    out: Vec<PathBuf>,

    #[command(flatten)]
    quiet: QuietArgs,
}

#[derive(Debug, Args)]
struct ShowArgs {
    #[command(flatten)]
    plan: PlanArgs,

    #[command(flatten)]
    files: PageArgs,

    /// Show every cell, however many
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
struct CollectArgs {
    #[command(flatten)]
    plan: PlanArgs,

    /// Run stores of other machines
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// An invalid plan, or a reason why none of its cells can be measured.
pub fn run(command: &PlanCommand) -> Result<Code, Failure> {
    match &command.verb {
        PlanVerb::Init(args) => init(args),
        PlanVerb::Check(args) => check(args),
        PlanVerb::Run(args) => {
            let of = args.plan.output.open(&args.plan.plan)?;
            if let Some(word) = args.slurm {
                return cluster::slurm(&of, &of.journal()?, word == SlurmWord::Submit);
            }
            if let Some(path) = &args.k8s {
                return cluster::kubernetes(&of, path);
            }
            let limits = Limits { task: args.task, budget_s: args.how.budget, ..Limits::default() };
            measure(&of, &args.how, &limits, &args.plan.output)
        }
        PlanVerb::Resume(args) => {
            let of = args.plan.output.open(&args.plan.plan)?;
            if of.folder.text().map_err(|error| Failure::files(error.to_string()))?.is_none() {
                let name = &of.plan.head.name;
                return Err(Failure::usage(format!("plan {name} was not run in this store"))
                    .hint("inferometer plan run begins it"));
            }
            let limits = Limits {
                budget_s: args.how.budget,
                tries_failed: !args.skip_failed,
                ..Limits::default()
            };
            measure(&of, &args.how, &limits, &args.plan.output)
        }
        PlanVerb::Show(args) => {
            args.files.check()?;
            let of = args.plan.output.open(&args.plan.plan)?;
            if !args.plan.output.json {
                terminal::print(&terminal::folded(&text::head(&of)));
            }
            args.plan.output.tell(&of, args.all)?;
            args.files.write(|| page(&of, &of.journal()?, &[]), &OwnFormats::default())?;
            Ok(Code::Done)
        }
        PlanVerb::Collect(args) => {
            let of = args.plan.output.open(&args.plan.plan)?;
            cluster::collect(&of, &args.folders)?;
            args.plan.output.tell(&of, false)?;
            Ok(Code::Done)
        }
    }
}

fn init(args: &InitArgs) -> Result<Code, Failure> {
    let Some(kind) = &args.kind else {
        let entries = TEMPLATES.iter().map(|template| Entry::new(template.word, template.about));
        List::new("plans", entries).tell(false);
        return Ok(Code::Done);
    };
    let Some(template) = TEMPLATES.iter().find(|template| template.word == kind) else {
        let words: Vec<&str> = TEMPLATES.iter().map(|template| template.word).collect();
        return Err(Failure::usage(format!("no kind of plan is named {kind}"))
            .hint(format!("there are {}", words.join(", "))));
    };
    let path = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{kind}.toml")));
    if path.as_os_str() == "-" {
        terminal::print(template.text);
        return Ok(Code::Done);
    }
    if path.exists() {
        return Err(Failure::usage(format!("{} exists already", path.display()))
            .hint("name another file with -o, or remove it"));
    }
    std::fs::write(&path, template.text)
        .map_err(|error| Failure::files(format!("cannot write {}: {error}", path.display())))?;
    terminal::say(&format!("wrote {}; then: inferometer plan check {0}", path.display()));
    Ok(Code::Done)
}

fn check(args: &CheckArgs) -> Result<Code, Failure> {
    let of = args.plan.output.open(&args.plan.plan)?;
    if args.simulate {
        args.out.iter().try_for_each(|path| crate::output::check_path(path))?;
        let plan::Simulated { of, journal, left_out } = plan::predicted(&of, &args.flags)?;
        if let (None, Some(reason)) = (journal.runs().next(), first_reason(&of, &journal)) {
            return Err(Failure::usage(format!("no cell can be simulated: {reason}"))
                .hint("put flags of `predict` after --: -- --gpu l40s --model llama-3.1-8b"));
        }
        match args.plan.output.json {
            true => terminal::print_document(&PlanDocument::new(&of, &journal)),
            false if args.out.is_empty() => plan_report::print(&page(&of, &journal, &left_out)?),
            false => {}
        }
        if !args.out.is_empty() {
            plan_report::write(&page(&of, &journal, &left_out)?, &args.out)?;
        }
        return Ok(Code::Done);
    }
    if args.commands && !args.plan.output.json {
        terminal::print(&text::commands(&of));
        return Ok(Code::Done);
    }
    if !args.plan.output.json {
        terminal::print(&terminal::folded(&text::head(&of)));
        terminal::print(&terminal::folded(&text::rights(&of)));
        terminal::print(&terminal::folded(&text::obstacles(&of)));
    }
    args.plan.output.tell(&of, args.all)?;
    Ok(Code::Done)
}

/// The reason why the first cell without a result has none.
fn first_reason(of: &Experiment, journal: &Journal) -> Option<String> {
    of.cells.iter().find_map(|cell| match journal.fate(&cell.key) {
        Fate::Failed { reason, .. } => Some(reason.clone()),
        _ => None,
    })
}

/// The report of a plan.
fn page(of: &Experiment, journal: &Journal, left_out: &[String]) -> Result<Page, Failure> {
    let args = ReportArgs::of_words(&["report".to_owned()])?;
    report::plan_page(of, journal, left_out, &args)
}

fn measure(
    of: &Experiment,
    how: &HowArgs,
    limits: &Limits,
    output: &OutputArgs,
) -> Result<Code, Failure> {
    how.out.iter().try_for_each(|path| crate::output::check_path(path))?;
    let code = plan::run(of, limits)?;
    let journal = of.journal()?;
    let has_results = journal.runs().next().is_some();
    // Each cell was reported when it ended.
    match output.json {
        true => terminal::print_document(&PlanDocument::new(of, &journal)),
        false => {
            if has_results {
                plan_report::print_answers(&page(of, &journal, &[])?);
            }
            if code != Code::Done {
                terminal::print(&terminal::folded(&text::costs(of, &journal)));
            }
            terminal::print(&terminal::folded(&text::end(of, &journal)));
        }
    }
    if !how.out.is_empty() && has_results {
        plan_report::write(&page(of, &journal, &[])?, &how.out)?;
    }
    let is_left =
        |cell: &ifm_plan::Cell| journal.next_attempt(&cell.key, of.plan.head.retries).is_some();
    if code != Code::Done && (output.json || of.cells.iter().any(is_left)) {
        terminal::say(&format!("then: inferometer plan resume {}", of.plan.head.name));
    }
    Ok(code)
}
