//! `inferometer sweep URL`: several loads, one table.

use super::arrival_args::ArrivalArgs;
use super::ending_args::EndingArgs;
use super::levels;
use super::load_args::LoadArgs;
use crate::course::Course;
use crate::exit::{Code, Failure};
use crate::resolve::resolve;
use crate::session::execute;
use clap::Args;

/// The levels that are tried when none is named: they end early when more users bring nothing.
const DEFAULT_LEVELS: &str = "1..256";

/// Flags of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    #[command(flatten)]
    load: LoadArgs,

    /// Users at each level: 1,2,8 or 1..32 (doubling) or 4..16:4 [default: 1..256, ending early
    /// when two doublings bring less than 5 % or more than 1 % of the requests fail]
    #[arg(help_heading = "Load", short, long, aliases = ["max-concurrency", "num-concurrent-requests"], value_name = "LIST", conflicts_with_all = ["rate", "ramp", "steps"])]
    concurrency: Option<String>,

    #[command(flatten)]
    arrivals: ArrivalArgs,

    #[command(flatten)]
    ending: EndingArgs,
}

/// Runs the command.
pub fn run(args: &SweepArgs, words: &[String]) -> Result<Code, Failure> {
    let list = args.concurrency.as_deref().unwrap_or(DEFAULT_LEVELS);
    let users = levels::parse(list)
        .map_err(|error| Failure::usage(format!("--concurrency {list}: {error}")))?;
    let schedules = args.arrivals.schedules(0)?;
    let is_open_loop = !schedules.is_empty();
    let levels = match is_open_loop {
        true => args.ending.open_levels(schedules, args.arrivals.max_in_flight)?,
        false => args.ending.levels(&users)?,
    };
    let mut job = resolve(&args.load, &levels, words)?;
    if args.concurrency.is_none() && !is_open_loop {
        job.course = Course::UntilPlateau;
    }
    execute(job)
}
